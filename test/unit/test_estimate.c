#include "profile/estimate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"

static void samples_become_a_point(ATTR_UNUSED void **state)
{
    static const int64_t samples[] = {2, 4, 4, 4, 5, 5, 7, 9}; /* Mean 5, variance 32 / 7. */
    struct estimate_times times = {0};
    for (uint32_t i = 0; i < 8; i++) {
        estimate_add(&times, samples[i] * 1000000);
    }
    const struct profile_point point = estimate_point(&times, /* items */ 3);
    assert_int_equal(point.items, 3);
    assert_int_equal(point.run_ns, 5000000);
    assert_int_equal(point.sd_ns, 2138090);
}

static void one_sample_has_no_spread(ATTR_UNUSED void **state)
{
    struct estimate_times times = {0};
    estimate_add(&times, 7);
    assert_int_equal(estimate_point(&times, 1).run_ns, 7);
    assert_int_equal(estimate_point(&times, 1).sd_ns, 0);
}

static void expect_fit(
    const struct estimate_bytes *samples, uint32_t count, uint64_t fixed, uint64_t per_item)
{
    uint64_t fixed_bytes;
    uint64_t per_item_bytes;
    estimate_workspace(samples, count, &fixed_bytes, &per_item_bytes);
    assert_int_equal(fixed_bytes, fixed);
    assert_int_equal(per_item_bytes, per_item);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(fixed_bytes + per_item_bytes * samples[i].items >= samples[i].bytes);
    }
}

static void the_line_is_above_every_sample(ATTR_UNUSED void **state)
{
    expect_fit(NULL, 0, 0, 0);
    expect_fit((const struct estimate_bytes[]){{1, 70}}, 1, 70, 0);
    expect_fit((const struct estimate_bytes[]){{1, 110}, {2, 120}, {8, 180}}, 3, 100, 10);
    expect_fit((const struct estimate_bytes[]){{1, 110}, {2, 150}, {8, 180}}, 3, 130, 10);
    expect_fit((const struct estimate_bytes[]){{1, 200}, {8, 90}}, 2, 200, 0); /* It may shrink. */
    expect_fit(
        (const struct estimate_bytes[]){{1, 10}, {8, 19}}, 2, 11, 1); /* Rounded, but above. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_become_a_point),
        cmocka_unit_test(one_sample_has_no_spread),
        cmocka_unit_test(the_line_is_above_every_sample),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
