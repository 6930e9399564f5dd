/* When a measured rate is another one, and how it is rounded. */
#include "mixture/drift.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"

static void both_shares_and_chance_count(ATTR_UNUSED void **state)
{
    const double part = 0.02; /* Deviation of an average of 100: sqrt(100 * 0.02 / 1.98) = 1. */
    assert_false(drift_is_real(103.9, 100, part, 0.01));
    assert_true(drift_is_real(105, 100, part, 0.01));
    assert_true(drift_is_real(95, 100, part, 0.01)); /* Down as well as up. */
    assert_false(drift_is_real(105, 100, part, 0.06));
    assert_false(drift_is_real(105, 100, /* part */ 1, 0.01)); /* One second says little. */
    assert_true(drift_is_real(135, 100, part, 0.3)); /* The share is of what was expected, */
    assert_false(drift_is_real(75, 100, part, 0.3)); /* and not of what was measured. */
    assert_false(drift_is_real(0, 0, part, 0.3));
    assert_true(drift_is_real(2, 0, part, 0.3)); /* Something that was not expected. */
}

static void rates_are_rounded_to_quarters_of_a_doubling(ATTR_UNUSED void **state)
{
    assert_true(drift_round(1) == 1);
    assert_true(fabs(drift_round(1000) - 1024) < 1e-9);
    assert_true(fabs(drift_round(930) - 861.078) < 1e-3); /* 2^(39/4), */
    assert_true(drift_round(800) == drift_round(930));
    assert_true(drift_round(930) < drift_round(945)); /* up to 2^(39.5/4) = 939. */
    assert_true(fabs(drift_round(0.05) - 0.0525) < 1e-3);
    assert_true(drift_round(0) == 0);
    assert_true(drift_round(1e-9) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_shares_and_chance_count),
        cmocka_unit_test(rates_are_rounded_to_quarters_of_a_doubling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
