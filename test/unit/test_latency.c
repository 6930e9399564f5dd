/* Times in bins: sums, the later of two, percentiles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "policy/baselines/latency.h"

static double off(double a, double b)
{
    return a > b ? a - b : b - a;
}

static double total(const struct latency *latency)
{
    double sum = 0;
    for (uint32_t i = 0; i < LATENCY_BINS; i++) {
        sum += latency->mass[i];
    }
    return sum;
}

static void the_normal_share_is_right(void **state)
{
    (void)state;
    assert_true(off(latency_normal_share(0), 0.5) < 1e-7);
    assert_true(off(latency_normal_share(1.6448536), 0.95) < 1e-6);
    assert_true(off(latency_normal_share(-1.6448536), 0.05) < 1e-6);
    assert_true(latency_normal_share(-50) == 0);
    assert_true(latency_normal_share(50) == 1);
}

static void times_without_spread_add_up(void **state)
{
    (void)state;
    struct latency a;
    struct latency b;
    struct latency sum;
    latency_normal(300, 0, 10, &a);
    latency_normal(250, 0, 10, &b);
    latency_add(&a, &b, &sum);
    assert_int_equal(latency_quantile(&sum, 0.95, 10), 550);
    latency_normal(2000, 0, 10, &a); /* Past the last bin, and there it stays. */
    latency_add(&a, &b, &sum);
    assert_int_equal(latency_quantile(&sum, 0.95, 10), (LATENCY_BINS - 1) * 10);
}

static void spreads_add_as_squares(void **state)
{
    (void)state;
    struct latency a;
    struct latency b;
    struct latency sum;
    latency_normal(40000, 3000, 1000, &a);
    latency_normal(40000, 4000, 1000, &b);
    latency_add(&a, &b, &sum);
    /* 80000 and 1.645 times 5000; percentiles of the parts would add up to 91515. */
    const int64_t late_ns = latency_quantile(&sum, 0.95, 1000);
    assert_true(late_ns >= 88000 && late_ns <= 90000);
    assert_true(off(total(&sum), 1) < 1e-9);
}

static void a_join_waits_for_the_later(void **state)
{
    (void)state;
    struct latency a;
    struct latency b;
    latency_normal(40000, 4000, 1000, &a);
    latency_normal(40000, 4000, 1000, &b);
    latency_later(&a, &b);
    /* Half of the time neither is later than 0.5449 deviations: 42180. */
    const int64_t median_ns = latency_quantile(&a, 0.5, 1000);
    assert_true(median_ns >= 42000 && median_ns <= 43000);
    assert_true(off(total(&a), 1) < 1e-9);
    latency_zero(&b);
    const double before = a.mass[42];
    latency_later(&a, &b);
    assert_true(off(a.mass[42], before) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_normal_share_is_right),
        cmocka_unit_test(times_without_spread_add_up),
        cmocka_unit_test(spreads_add_as_squares),
        cmocka_unit_test(a_join_waits_for_the_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
