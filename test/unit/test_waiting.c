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

static void one_server_waits_as_pollaczek_and_khinchine_say(ATTR_UNUSED void **state)
{
    const struct service constant = service_constant(0.05, 10);
    const struct service exponential = service_exponential(0.05, 10);
    expect_near(waiting_mg1(&constant), 5, 1e-12); /* Half of what exponential times wait. */
    expect_near(waiting_mg1(&exponential), 10, 1e-12);
    expect_near(waiting_mean(0.5, 0), 0, 0);
}

/* M/M/1: a wait of 0 with probability 1 - load, else exponential with mean 1 / (mu - lambda). */
static void variances_are_those_of_exponential_waits(ATTR_UNUSED void **state)
{
    for (double load = 0.1; load < 0.95; load += 0.2) {
        const struct service service = service_exponential(load / 10, 10);
        const double long_wait = 10 / (1 - load);
        const double expected = load * (2 - load) * long_wait * long_wait;
        expect_near(waiting_mg1_variance(&service), expected, 1e-9 * expected);
    }
}

static void overload_waits_for_ever(ATTR_UNUSED void **state)
{
    const struct service service = service_constant(0.1, 10);
    assert_true(isinf(waiting_mg1(&service)));
    assert_true(isinf(waiting_mg1_variance(&service)));
    assert_true(isinf(waiting_mmn(0.2, 10, 2)));
    expect_near(waiting_all_busy(0.3, 10, 2), 1, 0);
}

/* By hand for two servers: C = 2 load^2 / (1 + load). For 80, against published tables. */
static void several_exponential_servers_are_erlangs(ATTR_UNUSED void **state)
{
    expect_near(waiting_all_busy(0.14, 10, 2), 2 * 0.49 / 1.7, 1e-12);
    expect_near(waiting_mmn(0.05, 10, 1), 10, 1e-12);
    const double loads[] = {0.8, 0.9, 0.95, 0.98};
    const double waits[] = {0.0022, 0.033, 0.137, 0.50}; /* In services. */
    const double digits[] = {0.00005, 0.0005, 0.0005, 0.005};
    for (uint32_t i = 0; i < 4; i++) {
        expect_near(waiting_mmn(80 * loads[i], 1, 80), waits[i], digits[i]);
    }
}

static void other_times_scale_with_their_second_moment(ATTR_UNUSED void **state)
{
    const struct service constant = service_constant(0.05, 10);
    const struct service exponential = service_exponential(0.18, 10);
    expect_near(waiting_mgn(&constant, 1), waiting_mg1(&constant), 1e-12);
    expect_near(waiting_mgn(&exponential, 2), waiting_mmn(0.18, 10, 2), 1e-12);
    const struct service nothing = {0};
    expect_near(waiting_mgn(&nothing, 3), 0, 0);
}

/* Cobham's two classes: weighted by their work, waits sum up to what they are without classes. */
static void who_goes_ahead_makes_the_others_wait(ATTR_UNUSED void **state)
{
    const double residual = 5;
    expect_near(waiting_ahead(0.25, residual), 2.5 / 0.75, 1e-12);
    expect_near(waiting_behind(0.5, 0.25, residual), 2.5 / (0.75 * 0.5), 1e-12);
    expect_near(waiting_behind(0.5, 0, residual), waiting_mean(0.5, residual), 1e-12);
    expect_near(
        0.3 * waiting_ahead(0.3, residual) + 0.5 * waiting_behind(0.8, 0.3, residual),
        0.8 * waiting_mean(0.8, residual), 1e-12);
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
        cmocka_unit_test(one_server_waits_as_pollaczek_and_khinchine_say),
        cmocka_unit_test(variances_are_those_of_exponential_waits),
        cmocka_unit_test(overload_waits_for_ever),
        cmocka_unit_test(several_exponential_servers_are_erlangs),
        cmocka_unit_test(other_times_scale_with_their_second_moment),
        cmocka_unit_test(who_goes_ahead_makes_the_others_wait),
        cmocka_unit_test(a_toll_is_the_slope_of_all_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
