/* Covers: src/queueing/waiting.c */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "queueing/toll.h"
#include "queueing/waiting.h"

static void expect_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance)) {
        fail_msg("%.12g is not %.12g", value, expected);
    }
}

/* A server of load 0.5 with services of 10: constant times wait half as long as exponential ones.
 */
static void one_class_waits_as_pollaczek_and_khinchine_say(ATTR_UNUSED void **state)
{
    expect_near(waiting_behind(0.5, 0, 0.05 * 100), 5, 1e-12);
    expect_near(waiting_behind(0.5, 0, 0.05 * 200), 10, 1e-12);
    expect_near(waiting_ahead(0.5, 0), 0, 0);
    assert_true(isinf(waiting_ahead(1, 5)));
}

/* Cobham's two classes: weighted by their work, waits sum up to what they are without classes. */
static void who_goes_ahead_makes_the_others_wait(ATTR_UNUSED void **state)
{
    const double residual = 5;
    expect_near(waiting_ahead(0.25, residual), 2.5 / 0.75, 1e-12);
    expect_near(waiting_behind(0.5, 0.25, residual), 2.5 / (0.75 * 0.5), 1e-12);
    expect_near(waiting_behind(0.5, 0, residual), waiting_ahead(0.5, residual), 1e-12);
    expect_near(
        0.3 * waiting_ahead(0.3, residual) + 0.5 * waiting_behind(0.8, 0.3, residual),
        0.8 * waiting_ahead(0.8, residual), 1e-12);
    assert_true(isinf(waiting_behind(1, 0.5, residual)));
}

/* All waits a unit of time. */
static double sum_waits(double load, double ahead, double residual, struct toll_waiters waiters)
{
    return waiters.behind * waiting_behind(load, ahead, residual) +
           waiters.ahead * waiting_ahead(ahead, residual);
}

/* A toll is what the others wait longer for one more job a unit of time. */
static void a_toll_is_the_slope_of_all_waits(ATTR_UNUSED void **state)
{
    const struct toll_waiters waiters = {.behind = 0.3, .ahead = 0.2};
    const double load = 0.7;
    const double ahead = 0.4;
    const double residual = 5;
    const double work = 2;
    const double work_ahead = 0.5;
    const double second = 9;
    const double step = 1e-6;
    const struct toll toll = toll_at(load, ahead, residual, waiters);
    const double more =
        sum_waits(load + step * work, ahead + step * work_ahead, residual + step * second, waiters);
    const double less =
        sum_waits(load - step * work, ahead - step * work_ahead, residual - step * second, waiters);
    const double slope = (more - less) / (2 * step);
    expect_near(toll_of(&toll, work, work_ahead, second), slope, 1e-6 * slope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_class_waits_as_pollaczek_and_khinchine_say),
        cmocka_unit_test(who_goes_ahead_makes_the_others_wait),
        cmocka_unit_test(a_toll_is_the_slope_of_all_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
