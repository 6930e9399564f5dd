/* Made-up series whose transient is known, many seeds each. */
#include "trace/warmup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/exact.h"
#include "base/rng.h"

enum { COUNT = 4000, SEEDS = 50 };

/* Noise of deviation 1 about a level that starts @height above 100 and decays. */
struct curve {
    double height;
    double factor;      /* The transient is multiplied by it at each step. */
    double correlation; /* Of each value with the one before. */
};

static uint64_t cut_of(const struct curve *curve, uint32_t seed)
{
    static double values[COUNT];
    struct rng rng = rng_stream(seed, RNG_TEST, 0);
    double transient = curve->height;
    double noise = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        noise = curve->correlation * noise + exact_normal(&rng);
        values[i] = 100 + transient + noise;
        transient *= curve->factor;
    }
    return warmup_of(values, COUNT);
}

static int compare(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* The cut that this share of the seeds does not exceed. */
static uint64_t cut_at_percent(const struct curve *curve, uint32_t percent)
{
    uint64_t cuts[SEEDS];
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        cuts[seed] = cut_of(curve, seed);
        assert_int_equal(cuts[seed] % WARMUP_BATCH, 0);
        assert_in_range(cuts[seed], 0, COUNT / 2);
    }
    qsort(cuts, SEEDS, sizeof(cuts[0]), compare);
    return cuts[(SEEDS - 1) * percent / 100];
}

static void a_stationary_series_loses_little(ATTR_UNUSED void **state)
{
    const struct curve flat = {0, 1, 0};
    const struct curve correlated = {0, 1, 0.8};
    assert_in_range(cut_at_percent(&flat, 50), 0, COUNT / 50);
    assert_in_range(cut_at_percent(&flat, 90), 0, COUNT / 5);
    assert_in_range(cut_at_percent(&correlated, 50), 0, COUNT / 20);
}

/* Of 50 falling by 1 % a step, 7 % is left after 270 steps, the size of the noise after 390. */
static void a_decaying_transient_is_cut_where_it_drowns_in_noise(ATTR_UNUSED void **state)
{
    const struct curve high = {50, 0.99, 0};
    const struct curve low = {-50, 0.99, 0};
    assert_in_range(cut_at_percent(&high, 5), 270, 700);
    assert_in_range(cut_at_percent(&high, 50), 300, 600);
    assert_in_range(cut_at_percent(&low, 50), 300, 600);
    const struct curve quick = {50, 0.9, 0};
    assert_in_range(cut_at_percent(&quick, 50), 20, 100);
}

static void a_step_is_cut_exactly(ATTR_UNUSED void **state)
{
    double values[1000];
    for (uint32_t i = 0; i < 1000; i++) {
        values[i] = i < 200 ? 80 : 100;
    }
    assert_int_equal(warmup_of(values, 1000), 200);
    values[200] = 80; /* Its batch is no longer like the rest. */
    assert_int_equal(warmup_of(values, 1000), 205);
}

static void what_never_settles_is_cut_in_half(ATTR_UNUSED void **state)
{
    double values[1000];
    for (uint32_t i = 0; i < 1000; i++) {
        values[i] = i;
    }
    assert_int_equal(warmup_of(values, 1000), 500);
}

static void short_and_constant_series_are_kept(ATTR_UNUSED void **state)
{
    const double values[20] = {0};
    for (uint32_t count = 0; count <= 20; count++) {
        assert_int_equal(warmup_of(values, count), 0);
    }
    const double cold[9] = {9, 9, 9, 9, 9, 1, 1, 1, 1};
    assert_int_equal(warmup_of(cold, 9), 0); /* One batch and a part of one. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stationary_series_loses_little),
        cmocka_unit_test(a_decaying_transient_is_cut_where_it_drowns_in_noise),
        cmocka_unit_test(a_step_is_cut_exactly),
        cmocka_unit_test(what_never_settles_is_cut_in_half),
        cmocka_unit_test(short_and_constant_series_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
