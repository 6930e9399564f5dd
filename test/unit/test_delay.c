/* Covers: src/queueing/delay.c */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/exact.h"
#include "base/rng.h"
#include "queueing/delay.h"

enum { DRAWS = 200000 };

static void expect_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance)) {
        fail_msg("%.12g is not %.12g", value, expected);
    }
}

static double delay_mean(const struct delay *delay)
{
    return delay->fixed + delay->wait;
}

static double draw(const struct delay *delay, struct rng *rng)
{
    const double unit = rng_unit(rng);
    if (delay->wait <= 0 || unit >= delay->busy) {
        return delay->fixed;
    }
    return delay->fixed + delay->wait / delay->busy * exact_exponential(rng);
}

/* Mean, spread and order of two delays, drawn, against what the functions say. */
static void check_pair(const struct delay *a, const struct delay *b, uint32_t index)
{
    struct rng rng = rng_stream(1, RNG_TEST, index);
    double sum = 0;
    double squares = 0;
    double larger = 0;
    for (uint32_t i = 0; i < DRAWS; i++) {
        const double one = draw(a, &rng);
        const double two = draw(b, &rng);
        const double most = one > two ? one : two;
        sum += most;
        squares += most * most;
        larger += one > two ? 1 : 0;
    }
    const double mean = sum / DRAWS;
    const double variance = squares / DRAWS - mean * mean;
    const struct delay most = delay_max(a, b);
    expect_near(delay_mean(&most), mean, 5 * sqrt(variance / DRAWS));
    expect_near(delay_variance(&most), variance, 0.04 * variance);
    expect_near(delay_exceeds(a, b), larger / DRAWS, 5 * 0.5 / sqrt(DRAWS));
    if (a->wait > 0 && b->wait > 0 && a->fixed != b->fixed) {
        expect_near(delay_exceeds(a, b) + delay_exceeds(b, a), 1, 0.3); /* Equal times are rare. */
    }
}

static void the_later_of_two_is_what_draws_say(ATTR_UNUSED void **state)
{
    const struct delay delays[] = {
        {.fixed = 10, .wait = 4, .busy = 0.5}, {.fixed = 8, .wait = 6, .busy = 0.7},
        {.fixed = 8, .wait = 3, .busy = 1},    {.fixed = 12, .wait = 0.5, .busy = 0.1},
        {.fixed = 9, .wait = 20, .busy = 0.9},
    };
    uint32_t index = 0;
    for (uint32_t i = 0; i < 5; i++) {
        for (uint32_t k = 0; k < 5; k++, index++) {
            check_pair(&delays[i], &delays[k], index);
        }
    }
}

/* A + W1 + W2 e^(-theta2 D) (1 - rho1 + rho1 theta1 / (theta1 + theta2)), as published. */
static void the_mean_of_the_later_is_the_closed_form(ATTR_UNUSED void **state)
{
    const struct delay a = delay_at(10, 4, 0.6);
    const struct delay b = delay_at(8, 5, 0.7);
    const double rate_a = 0.6 / 4;
    const double rate_b = 0.7 / 5;
    const double expected =
        10 + 4 + 5 * exp(-rate_b * 2) * (1 - 0.6 + 0.6 * rate_a / (rate_a + rate_b));
    struct delay most = delay_max(&a, &b);
    expect_near(delay_mean(&most), expected, 1e-12);
    most = delay_max(&b, &a);
    expect_near(delay_mean(&most), expected, 1e-12);
}

static void certain_delays_take_the_longer(ATTR_UNUSED void **state)
{
    const struct delay a = delay_at(10, 0, 0);
    const struct delay b = delay_at(8, 0, 0);
    const struct delay most = delay_max(&a, &b);
    expect_near(delay_mean(&most), 10, 0);
    expect_near(delay_variance(&most), 0, 0);
    expect_near(delay_exceeds(&a, &b), 1, 0);
    expect_near(delay_exceeds(&b, &a), 0, 0);
}

static void a_fit_keeps_mean_and_variance(ATTR_UNUSED void **state)
{
    const double variances[] = {0.01, 5, 15.9, 16, 16.1, 80};
    for (uint32_t i = 0; i < 6; i++) {
        const struct delay delay = delay_fit(3, 4, variances[i]);
        expect_near(delay_mean(&delay), 7, 1e-12);
        expect_near(delay_variance(&delay), variances[i], 1e-9);
        assert_true(delay.busy > 0 && delay.busy <= 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_later_of_two_is_what_draws_say),
        cmocka_unit_test(the_mean_of_the_later_is_the_closed_form),
        cmocka_unit_test(certain_delays_take_the_longer),
        cmocka_unit_test(a_fit_keeps_mean_and_variance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
