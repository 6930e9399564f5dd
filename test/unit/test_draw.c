#include "profile/draw.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"

enum { DRAWS = 200000 };

static struct estimate estimate_of(enum profile_distribution distribution, double variation)
{
    return (struct estimate){
        .run_ns = 10000000,
        .sd_ns = (int64_t)(1e7 * variation),
        .distribution = distribution,
    };
}

/* Mean 1 and this variation, within five standard errors; the third moment tells them apart. */
static void expect_moments(
    enum profile_distribution distribution, double variation, double third, double tolerance)
{
    const struct estimate estimate = estimate_of(distribution, variation);
    struct rng rng = rng_stream(1, RNG_TEST, (uint32_t)distribution);
    double sums[3] = {0};
    for (uint32_t i = 0; i < DRAWS; i++) {
        const double drawn = profile_draw_ns(&estimate, /* noise */ 0, &rng) / 1e7;
        assert_true(drawn >= 0);
        sums[0] += drawn / DRAWS;
        sums[1] += drawn * drawn / DRAWS;
        sums[2] += drawn * drawn * drawn / DRAWS;
    }
    assert_true(fabs(sums[0] - 1) < tolerance);
    assert_true(fabs(sums[1] - 1 - variation * variation) < 5 * tolerance);
    assert_true(fabs(sums[2] - third) < 0.05 * third);
}

static void draws_have_the_moments_of_their_family(ATTR_UNUSED void **state)
{
    expect_moments(DISTRIBUTION_NORMAL, 0.2, 1 + 3 * 0.04, 0.003);
    expect_moments(DISTRIBUTION_EXPONENTIAL, 1, 6, 0.012);
    expect_moments(DISTRIBUTION_GAMMA, 0.5, 1.25 * 1.5, 0.006);
    expect_moments(DISTRIBUTION_GAMMA, 1, 6, 0.012);
    expect_moments(DISTRIBUTION_GAMMA, 2, 5 * 9, 0.025);
    expect_moments(DISTRIBUTION_DETERMINISTIC, 0, 1, 1e-9);
}

static void what_needs_no_draw_takes_none(ATTR_UNUSED void **state)
{
    const struct estimate certain[] = {
        estimate_of(DISTRIBUTION_NORMAL, 0),
        estimate_of(DISTRIBUTION_GAMMA, 0),
        estimate_of(DISTRIBUTION_DETERMINISTIC, 0.5),
    };
    struct rng rng = rng_from_seed(5);
    for (uint32_t i = 0; i < sizeof(certain) / sizeof(certain[0]); i++) {
        const double drawn = profile_draw_ns(&certain[i], /* noise */ 0, &rng);
        assert_true(drawn == 1e7);
        assert_int_equal(rng.state, 5);
    }
}

static void an_exponential_ignores_the_deviation(ATTR_UNUSED void **state)
{
    const struct estimate narrow = estimate_of(DISTRIBUTION_EXPONENTIAL, 0.1);
    const struct estimate wide = estimate_of(DISTRIBUTION_EXPONENTIAL, 3);
    struct rng one = rng_from_seed(5);
    struct rng other = rng_from_seed(5);
    const double first = profile_draw_ns(&narrow, /* noise */ 0, &one);
    const double second = profile_draw_ns(&wide, /* noise */ 0, &other);
    assert_true(first == second);
}

static void a_normal_draw_is_a_tenth_of_the_mean_at_least(ATTR_UNUSED void **state)
{
    const struct estimate wide = estimate_of(DISTRIBUTION_NORMAL, 2);
    struct rng rng = rng_from_seed(5);
    double lowest = 1e7;
    for (uint32_t i = 0; i < 1000; i++) {
        const double drawn = profile_draw_ns(&wide, /* noise */ 0, &rng);
        lowest = drawn < lowest ? drawn : lowest;
    }
    assert_true(lowest == 1e6);
}

static void quantiles_are_drawn_from_where_they_are_known(ATTR_UNUSED void **state)
{
    static const double quantiles[PROFILE_QUANTILES] = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5,
                                                        0.5, 0.5, 0.5, 0.5, 2,   4};
    struct estimate estimate = estimate_of(DISTRIBUTION_EXPONENTIAL, 0);
    struct rng rng = rng_from_seed(5);
    uint32_t most = 0;
    uint32_t between = 0;
    uint32_t beyond = 0;
    estimate.quantiles = quantiles;
    for (uint32_t i = 0; i < DRAWS; i++) {
        const double drawn = profile_draw_ns(&estimate, /* noise */ 0, &rng) / 1e7;
        assert_true(drawn >= 0.5 && drawn <= 4);
        most += drawn <= 0.5 ? 1 : 0;
        between += drawn > 0.5 && drawn <= 2 ? 1 : 0;
        beyond += drawn > 2 ? 1 : 0;
    }
    assert_in_range(most, DRAWS / 64 * 63 - 300, DRAWS / 64 * 63 + 300);
    assert_in_range(between, DRAWS / 128 - 200, DRAWS / 128 + 200);
    assert_in_range(beyond, DRAWS / 128 - 200, DRAWS / 128 + 200);
}

static void noise_is_uniform_and_comes_on_top(ATTR_UNUSED void **state)
{
    const struct estimate certain = estimate_of(DISTRIBUTION_DETERMINISTIC, 0);
    struct rng rng = rng_from_seed(5);
    double sum = 0;
    double lowest = 2e7;
    double highest = 0;
    for (uint32_t i = 0; i < DRAWS; i++) {
        const double drawn = profile_draw_ns(&certain, /* noise */ 0.2, &rng);
        sum += drawn / DRAWS;
        lowest = drawn < lowest ? drawn : lowest;
        highest = drawn > highest ? drawn : highest;
    }
    assert_true(fabs(sum - 1e7) < 2e4);
    assert_true(lowest >= 8e6 && lowest < 8.001e6);
    assert_true(highest <= 12e6 && highest > 11.999e6);
}

static void no_draw_is_longer_than_any_duration(ATTR_UNUSED void **state)
{
    const struct estimate forever = {
        .run_ns = DURATION_NS_MAX,
        .sd_ns = DURATION_NS_MAX,
        .distribution = DISTRIBUTION_EXPONENTIAL,
    };
    struct rng rng = rng_from_seed(5);
    for (uint32_t i = 0; i < 100; i++) {
        const double drawn = profile_draw_ns(&forever, /* noise */ 0.5, &rng);
        assert_true(drawn <= (double)DURATION_NS_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_have_the_moments_of_their_family),
        cmocka_unit_test(what_needs_no_draw_takes_none),
        cmocka_unit_test(an_exponential_ignores_the_deviation),
        cmocka_unit_test(a_normal_draw_is_a_tenth_of_the_mean_at_least),
        cmocka_unit_test(quantiles_are_drawn_from_where_they_are_known),
        cmocka_unit_test(noise_is_uniform_and_comes_on_top),
        cmocka_unit_test(no_draw_is_longer_than_any_duration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
