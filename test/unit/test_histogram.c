#include "base/histogram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/rng.h"
#include "dies.h"

enum { VALUES_MAX = 5000 };

static const double shares[] = {0.0, 0.001, 0.01, 0.07, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0};

static int compare_values(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left;
    const int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* The smallest of sorted @values that at least @thousandths of them do not exceed. */
static int64_t sorted_quantile(const int64_t *values, uint32_t count, uint32_t thousandths)
{
    const uint64_t rank = ((uint64_t)count * thousandths + 999) / 1000;
    return values[rank == 0 ? 0 : rank - 1];
}

static void an_empty_histogram_is_all_zero(ATTR_UNUSED void **state)
{
    static struct histogram histogram;
    histogram_init(&histogram);

    assert_int_equal(histogram_count(&histogram), 0);
    assert_int_equal(histogram_max(&histogram), 0);
    assert_int_equal(histogram_min(&histogram), 0);
    assert_int_equal(histogram_quantile(&histogram, 0.5), 0);
    assert_true(histogram_mean(&histogram) == 0.0);
}

static void small_values_are_kept_exactly(ATTR_UNUSED void **state)
{
    static struct histogram histogram;
    histogram_init(&histogram);
    for (int64_t value = 100; value > 0; value--) {
        histogram_add(&histogram, value);
    }

    for (uint32_t percent = 1; percent <= 100; percent++) {
        assert_int_equal(histogram_quantile(&histogram, percent / 100.0), percent);
    }
    assert_int_equal(histogram_quantile(&histogram, 0.0), 1);
    assert_int_equal(histogram_min(&histogram), 1);
    assert_int_equal(histogram_max(&histogram), 100);
    assert_true(histogram_mean(&histogram) == 50.5);
}

/* A single value below a huge one: its quantile is the end of its bucket. */
static int64_t bucket_end(int64_t value)
{
    static struct histogram histogram;
    histogram_init(&histogram);
    histogram_add(&histogram, value);
    histogram_add(&histogram, INT64_MAX);
    return histogram_quantile(&histogram, 0.5);
}

static void every_bucket_is_at_most_a_64th_of_its_values(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(3);

    for (uint32_t bits = 0; bits < 63; bits++) {
        const int64_t power = INT64_C(1) << bits;
        const int64_t edges[] = {power - 1, power, power + 1, power + power / 2, power + power / 3};
        for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
            const int64_t end = bucket_end(edges[i]);
            assert_true(end >= edges[i]);
            assert_true(end - edges[i] <= edges[i] / 64);
        }
        const int64_t value = (int64_t)rng_range(&rng, (uint64_t)power, 2 * (uint64_t)power - 1);
        const int64_t end = bucket_end(value);
        assert_true(end >= value);
        assert_true(end - value <= value / 64);
    }
}

static void buckets_follow_each_other_without_gap_or_overlap(ATTR_UNUSED void **state)
{
    int64_t value = 0;
    uint32_t buckets = 0;
    while (value < INT64_MAX / 2) {
        const int64_t end = bucket_end(value);
        assert_int_equal(bucket_end(end), end);
        value = end + 1;
        buckets++;
    }
    assert_true(buckets <= HISTOGRAM_BUCKETS);
    assert_true(buckets >= HISTOGRAM_BUCKETS - 128);
}

static void quantiles_agree_with_sorted_values(ATTR_UNUSED void **state)
{
    static struct histogram histogram;
    static int64_t values[VALUES_MAX];
    struct rng rng = rng_from_seed(4);

    for (uint32_t round = 0; round < 40; round++) {
        const uint32_t count = 1 + rng_below(&rng, VALUES_MAX - 1);
        const uint32_t bits = 4 + rng_below(&rng, 58);
        histogram_init(&histogram);
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t shift = 63 - rng_below(&rng, bits);
            values[i] = (int64_t)(rng_next(&rng) >> shift);
            histogram_add(&histogram, values[i]);
        }
        qsort(values, count, sizeof(values[0]), compare_values);
        assert_int_equal(histogram_count(&histogram), count);
        assert_int_equal(histogram_min(&histogram), values[0]);
        assert_int_equal(histogram_max(&histogram), values[count - 1]);
        for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
            const uint32_t thousandths = (uint32_t)(shares[i] * 1000 + 0.5);
            const int64_t exact = sorted_quantile(values, count, thousandths);
            const int64_t got = histogram_quantile(&histogram, shares[i]);
            assert_true(got >= exact);
            assert_true(got - exact <= exact / 64);
            assert_true(got <= values[count - 1]);
        }
    }
}

static void parts_merged_in_any_order_equal_the_whole(ATTR_UNUSED void **state)
{
    static struct histogram whole;
    static struct histogram parts[3];
    static struct histogram forwards;
    static struct histogram backwards;
    static const struct histogram empty;
    struct rng rng = rng_from_seed(5);

    for (uint32_t i = 0; i < 3000; i++) {
        const uint32_t part = rng_below(&rng, 3);
        const int64_t value = (int64_t)(rng_next(&rng) >> 1 >> rng_below(&rng, 60)) + 1;
        histogram_add(&whole, value);
        histogram_add(&parts[part], value);
    }
    for (uint32_t i = 0; i < 3; i++) {
        histogram_merge(&forwards, &parts[i]);
        histogram_merge(&forwards, &empty); /* Changes nothing, not even the minimum. */
        histogram_merge(&backwards, &parts[2 - i]);
    }
    assert_memory_equal(&forwards, &whole, sizeof(whole));
    assert_memory_equal(&backwards, &whole, sizeof(whole));
}

static void the_mean_does_not_overflow(ATTR_UNUSED void **state)
{
    static struct histogram histogram;
    histogram_init(&histogram);
    for (uint32_t i = 0; i < 1000; i++) {
        histogram_add(&histogram, INT64_MAX);
    }

    assert_true(histogram_mean(&histogram) == 0x1p63);
    assert_true(histogram_quantile(&histogram, 0.5) == INT64_MAX);
}

static void add_negative(void *argument)
{
    histogram_add(argument, -1);
}

static void ask_past_the_whole(void *argument)
{
    (void)histogram_quantile(argument, 1.5);
}

static void misuse_stops_the_program(ATTR_UNUSED void **state)
{
    static struct histogram histogram;
    assert_true(dies(add_negative, &histogram));
    assert_true(dies(ask_past_the_whole, &histogram));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_histogram_is_all_zero),
        cmocka_unit_test(small_values_are_kept_exactly),
        cmocka_unit_test(every_bucket_is_at_most_a_64th_of_its_values),
        cmocka_unit_test(buckets_follow_each_other_without_gap_or_overlap),
        cmocka_unit_test(quantiles_agree_with_sorted_values),
        cmocka_unit_test(parts_merged_in_any_order_equal_the_whole),
        cmocka_unit_test(the_mean_does_not_overflow),
        cmocka_unit_test(misuse_stops_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
