#include "lab/statistics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"

static void near(double value, double expected, double tolerance)
{
    assert_true(fabs(value - expected) <= tolerance);
}

static void means_and_deviations_are_of_a_sample(ATTR_UNUSED void **state)
{
    static const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
    near(statistics_mean(values, 8), 5, 1e-12);
    near(statistics_deviation(values, 8), 2.13808993529940, 1e-12); /* sqrt(32 / 7) */
}

static void too_few_values_have_no_spread(ATTR_UNUSED void **state)
{
    static const double one = 3;
    assert_true(isnan(statistics_mean(&one, 0)));
    assert_true(isnan(statistics_deviation(&one, 1)));
    const struct interval interval = statistics_interval(&one, 1);
    near(interval.mean, 3, 0);
    assert_true(isnan(interval.half_width));
    assert_true(isnan(statistics_interval(&one, 0).mean));
}

static void student_is_as_tabulated(ATTR_UNUSED void **state)
{
    static const struct {
        uint32_t degrees;
        double t;
    } rows[] = {
        {1, 12.7062}, {2, 4.3027},  {3, 3.1824},   {4, 2.7764},    {5, 2.5706},       {7, 2.3646},
        {9, 2.2622},  {10, 2.2281}, {11, 2.2010},  {12, 2.1788},   {15, 2.1314},      {20, 2.0860},
        {30, 2.0423}, {60, 2.0003}, {120, 1.9799}, {1000, 1.9623}, {1000000, 1.9600},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        near(statistics_t95(rows[i].degrees), rows[i].t, 2e-4);
    }
}

static void student_falls_without_a_jump(ATTR_UNUSED void **state)
{
    for (uint32_t degrees = 2; degrees < 200; degrees++) {
        assert_true(statistics_t95(degrees) < statistics_t95(degrees - 1));
    }
}

static void intervals_are_students(ATTR_UNUSED void **state)
{
    static const double values[] = {10, 12, 14};
    const struct interval interval = statistics_interval(values, 3);
    near(interval.mean, 12, 1e-12);
    near(interval.half_width, 4.3027 * 2 / sqrt(3), 1e-9);
}

static void pairs_take_out_what_they_have_in_common(ATTR_UNUSED void **state)
{
    /* Seeds differ tenfold, but each pair by ten percent. */
    static const double baseline[] = {10, 100, 50};
    static const double faster[] = {9, 90, 45};
    struct interval interval = statistics_paired_percent(baseline, faster, 3);
    near(interval.mean, -10, 1e-9);
    near(interval.half_width, 0, 1e-9);
    interval = statistics_paired_percent(baseline, baseline, 3);
    near(interval.mean, 0, 0);
    static const double mixed[] = {11, 90, 50};
    interval = statistics_paired_percent(baseline, mixed, 3);
    near(interval.mean, 0, 1e-9);
    near(interval.half_width, 4.3027 * 10 / sqrt(3), 1e-9);
}

static void ratios_are_of_pairs_too(ATTR_UNUSED void **state)
{
    static const double baseline[] = {10, 100, 50};
    static const double slower[] = {20, 300, 200};
    struct interval interval = statistics_paired_ratio(baseline, slower, 3);
    near(interval.mean, 3, 1e-9);
    near(interval.half_width, 4.3027 / sqrt(3), 1e-9);
    interval = statistics_paired_ratio(baseline, slower, 1);
    near(interval.mean, 2, 1e-9);
    assert_true(isnan(interval.half_width));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_and_deviations_are_of_a_sample),
        cmocka_unit_test(too_few_values_have_no_spread),
        cmocka_unit_test(student_is_as_tabulated),
        cmocka_unit_test(student_falls_without_a_jump),
        cmocka_unit_test(intervals_are_students),
        cmocka_unit_test(pairs_take_out_what_they_have_in_common),
        cmocka_unit_test(ratios_are_of_pairs_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
