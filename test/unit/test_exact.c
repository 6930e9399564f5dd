#include "base/exact.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/hash.h"
#include "base/rng.h"
#include "dies.h"

enum { POINTS = 200000, DRAWS = 400000 };

static const double infinite = (double)INFINITY;
static const double not_a_number = (double)NAN;

static bool same_bits(double left, double right)
{
    return memcmp(&left, &right, sizeof(left)) == 0;
}

static double relative_error(double got, long double expected)
{
    return (double)(fabsl((long double)got - expected) / fabsl(expected));
}

/* The library's functions, in a precision that shows the last bits of ours. */
static long double log_of(double x)
{
    return logl((long double)x);
}

static long double exp_of(double x)
{
    return expl((long double)x);
}

static long double pow_of(double x, double y)
{
    return powl((long double)x, (long double)y);
}

/* Any positive normal number, every exponent as likely as the next. */
static double any_positive(struct rng *rng)
{
    const uint64_t exponent = rng_range(rng, 1, 2046);
    const uint64_t mantissa = rng_next(rng) >> 12;
    const uint64_t bits = exponent << 52 | mantissa;
    double x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

static double uniform(struct rng *rng, double low, double high)
{
    return low + (high - low) * rng_unit(rng);
}

static void logarithms_agree_with_the_library(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(1);
    double worst = 0.0;

    for (uint32_t i = 0; i < POINTS; i++) {
        const double wide = any_positive(&rng);
        const double narrow = uniform(&rng, 0.5, 2.0);
        const double near_one = 1.0 + uniform(&rng, -1e-6, 1e-6);
        worst = fmax(worst, relative_error(exact_log(wide), log_of(wide)));
        worst = fmax(worst, relative_error(exact_log(narrow), log_of(narrow)));
        worst = fmax(worst, relative_error(exact_log(near_one), log_of(near_one)));
    }
    print_message("worst relative error of exact_log: %g\n", worst);
    assert_true(worst < 1e-15);
}

static void exponentials_agree_with_the_library(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(2);
    double worst = 0.0;

    for (uint32_t i = 0; i < POINTS; i++) {
        const double wide = uniform(&rng, -708.0, 709.7);
        const double narrow = uniform(&rng, -1.0, 1.0);
        const double tiny = uniform(&rng, -1e-6, 1e-6);
        worst = fmax(worst, relative_error(exact_exp(wide), exp_of(wide)));
        worst = fmax(worst, relative_error(exact_exp(narrow), exp_of(narrow)));
        worst = fmax(worst, relative_error(exact_exp(tiny), exp_of(tiny)));
    }
    print_message("worst relative error of exact_exp: %g\n", worst);
    assert_true(worst < 1e-15);
}

static void powers_agree_with_the_library(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(3);
    double worst = 0.0;

    for (uint32_t i = 0; i < POINTS; i++) {
        const double x = uniform(&rng, 1e-3, 1e3);
        const double y = uniform(&rng, -100.0, 100.0);
        const double whole = (double)rng_below(&rng, 20);
        const double scale = fmax(1.0, fabs(y * log(x)));
        worst = fmax(worst, relative_error(exact_pow(x, y), pow_of(x, y)) / scale);
        const double whole_scale = fmax(1.0, fabs(whole * log(x)));
        worst = fmax(worst, relative_error(exact_pow(x, whole), pow_of(x, whole)) / whole_scale);
    }
    print_message("worst relative error of exact_pow, scaled: %g\n", worst);
    assert_true(worst < 1e-15);
}

static void edges_are_those_of_the_library(ATTR_UNUSED void **state)
{
    assert_true(same_bits(exact_log(1.0), 0.0));
    assert_true(exact_log(0.0) == -infinite);
    assert_true(exact_log(-0.0) == -infinite);
    assert_true(isnan(exact_log(-1.0)));
    assert_true(isnan(exact_log(not_a_number)));
    assert_true(exact_log(infinite) == infinite);
    assert_true(relative_error(exact_log(DBL_MAX), log_of(DBL_MAX)) < 1e-15);
    assert_true(relative_error(exact_log(DBL_MIN), log_of(DBL_MIN)) < 1e-15);
    assert_true(relative_error(exact_log(0x1p-1074), log_of(0x1p-1074)) < 1e-15);
    assert_true(relative_error(exact_log(0x1.8p-1040), log_of(0x1.8p-1040)) < 1e-15);

    assert_true(exact_exp(0.0) == 1.0);
    assert_true(exact_exp(-0.0) == 1.0);
    assert_true(same_bits(exact_exp(-infinite), 0.0));
    assert_true(exact_exp(infinite) == infinite);
    assert_true(isnan(exact_exp(not_a_number)));
    assert_true(exact_exp(709.782712893384) < infinite);
    assert_true(exact_exp(709.782712893385) == infinite);
    assert_true(exact_exp(-745.13) == 0x1p-1074);
    assert_true(exact_exp(-745.14) == 0.0);
    assert_true(fabs(exact_exp(-720.0) - exp(-720.0)) <= 0x1p-1074);
}

static void powers_have_the_usual_edges(ATTR_UNUSED void **state)
{
    assert_true(exact_pow(0.0, 0.0) == 1.0);
    assert_true(exact_pow(infinite, 0.0) == 1.0);
    assert_true(exact_pow(1.0, infinite) == 1.0);
    assert_true(exact_pow(0.0, 2.5) == 0.0);
    assert_true(exact_pow(0.0, 2.0) == 0.0);
    assert_true(exact_pow(0.0, -0.5) == infinite);
    assert_true(exact_pow(infinite, -0.5) == 0.0);
    assert_true(exact_pow(2.0, 2000.0) == infinite);
    assert_true(exact_pow(2.0, -2000.0) == 0.0);
    assert_true(exact_pow(0.1, 1.0) == 0.1);
    assert_true(exact_pow(2.0, 10.0) == 1024.0);
    assert_true(exact_pow(3.0, 13.0) == 1594323.0);
    assert_true(exact_pow(7.0, 16.0) == 33232930569601.0);
}

static void take_a_power_of_minus_one(ATTR_UNUSED void *argument)
{
    (void)exact_pow(-1.0, 0.5);
}

static void draw_with_no_shape(void *argument)
{
    (void)exact_gamma(argument, 0.0);
}

static void misuse_stops_the_program(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(1);
    assert_true(dies(take_a_power_of_minus_one, NULL));
    assert_true(dies(draw_with_no_shape, &rng));
}

/* Walk upwards by @step and see that nothing ever comes down. */
static void check_rising(double (*function)(double), double from, double to, double step)
{
    double last = function(from);
    for (double x = from + step; x < to; x += step) {
        const double next = function(x);
        assert_true(next > last);
        last = next;
    }
}

static void functions_rise_across_the_seams_of_their_parts(ATTR_UNUSED void **state)
{
    check_rising(exact_log, 1e-3, 10.0, 1e-5);
    check_rising(exact_log, 1.0 - 1e-9, 1.0 + 1e-9, 1e-14);
    check_rising(exact_log, 1.41421356, 1.41421357, 1e-14); /* The mantissa is halved here. */
    check_rising(exact_log, 2.0 - 1e-9, 2.0 + 1e-9, 2e-14);
    check_rising(exact_exp, -20.0, 20.0, 1e-4);
    check_rising(exact_exp, 0.34657358, 0.34657360, 2e-14); /* ln(2)/2: the exponent steps up. */
    check_rising(exact_exp, -0.34657360, -0.34657358, 2e-14);
    check_rising(exact_exp, -1e-9, 1e-9, 1e-14);
}

static void a_logarithm_undoes_an_exponential(ATTR_UNUSED void **state)
{
    for (double x = -700.0; x < 700.0; x += 0.37) {
        assert_true(fabs(exact_log(exact_exp(x)) - x) <= 1e-15 * fmax(1.0, fabs(x)));
    }
}

static void check_bits(const char *what, double got, double expected)
{
    if (!same_bits(got, expected)) {
        fail_msg("%s is %a, expected %a", what, got, expected);
    }
}

#define CHECK_BITS(call, expected) check_bits(#call, call, expected)

static void results_are_the_same_bits_everywhere(ATTR_UNUSED void **state)
{
    CHECK_BITS(exact_log(2.0), 0x1.62e42fefa39efp-1);
    CHECK_BITS(exact_log(10.0), 0x1.26bb1bbb55516p+1);
    CHECK_BITS(exact_log(0.1), -0x1.26bb1bbb55515p+1);
    CHECK_BITS(exact_log(1.4142135623730951), 0x1.62e42fefa39fp-2);
    CHECK_BITS(exact_log(1e300), 0x1.5963447f87fb5p+9);
    CHECK_BITS(exact_log(0x1.23456789abcdep-1030), -0x1.64e8009ed5762p+9);
    CHECK_BITS(exact_exp(1.0), 0x1.5bf0a8b145769p+1);
    CHECK_BITS(exact_exp(-1.0), 0x1.78b56362cef38p-2);
    CHECK_BITS(exact_exp(0.1), 0x1.1aec7b35a00d4p+0);
    CHECK_BITS(exact_exp(-36.7), 0x1.0998b04bdd19p-53);
    CHECK_BITS(exact_exp(700.5), 0x1.8625c7d4f56c2p+1010);
    CHECK_BITS(exact_exp(-730.25), 0x0.0000000163111p-1022);
    CHECK_BITS(exact_pow(3.7, 0.3), 0x1.7b0db08b44be4p+0);
    CHECK_BITS(exact_pow(0.01, 1.75), 0x1.4b96be9c2da34p-12);
    CHECK_BITS(exact_pow(1.1, 15.0), 0x1.0b5808b4baa1bp+2);
}

/* The bits of a thousand draws in one number. */
static uint64_t hash_of(double (*draw)(struct rng *rng), uint64_t seed)
{
    struct rng rng = rng_from_seed(seed);
    uint64_t hash = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        const double drawn = draw(&rng);
        uint64_t bits;
        memcpy(&bits, &drawn, sizeof(bits));
        hash = hash_mix(hash, bits);
    }
    return hash;
}

static double gamma_of_a_third(struct rng *rng)
{
    return exact_gamma(rng, 1.0 / 3.0);
}

static double gamma_of_one(struct rng *rng)
{
    return exact_gamma(rng, 1.0);
}

static double gamma_of_six(struct rng *rng)
{
    return exact_gamma(rng, 6.25);
}

static void draws_are_the_same_bits_everywhere(ATTR_UNUSED void **state)
{
    assert_int_equal(hash_of(exact_exponential, 1), UINT64_C(0xb15307e825da4b28));
    assert_int_equal(hash_of(exact_normal, 2), UINT64_C(0xc9af09cc5c92fdde));
    assert_int_equal(hash_of(gamma_of_a_third, 3), UINT64_C(0xf23a948eea3dc23d));
    assert_int_equal(hash_of(gamma_of_one, 4), UINT64_C(0xbad2615b9b9a07c9));
    assert_int_equal(hash_of(gamma_of_six, 5), UINT64_C(0x1521281c25052899));
}

/* The first four moments about the mean, and the share of draws up to a point. */
struct moments {
    double mean;
    double variance;
    double skewness;
    double kurtosis;
};

static struct moments moments_of(double (*draw)(struct rng *rng), uint64_t seed)
{
    static double drawn[DRAWS];
    struct rng rng = rng_from_seed(seed);
    struct moments moments = {0};
    double third = 0.0;
    double fourth = 0.0;

    for (uint32_t i = 0; i < DRAWS; i++) {
        drawn[i] = draw(&rng);
        moments.mean += drawn[i] / DRAWS;
    }
    for (uint32_t i = 0; i < DRAWS; i++) {
        const double off = drawn[i] - moments.mean;
        moments.variance += off * off / DRAWS;
        third += off * off * off / DRAWS;
        fourth += off * off * off * off / DRAWS;
    }
    moments.skewness = third / pow(moments.variance, 1.5);
    moments.kurtosis = fourth / (moments.variance * moments.variance);
    return moments;
}

static void check_moments(struct moments got, struct moments expected)
{
    print_message(
        "mean %.4f variance %.4f skewness %.3f kurtosis %.2f\n", got.mean, got.variance,
        got.skewness, got.kurtosis);
    /* About four standard errors for the most skewed of the distributions tested. */
    assert_true(fabs(got.mean - expected.mean) < 0.012 * sqrt(expected.variance));
    assert_true(fabs(got.variance - expected.variance) < 0.03 * expected.variance);
    assert_true(fabs(got.skewness - expected.skewness) < 0.02 + 0.05 * expected.skewness);
    assert_true(fabs(got.kurtosis - expected.kurtosis) < 0.15 * expected.kurtosis);
}

static struct moments gamma_moments(double shape)
{
    return (struct moments){
        .mean = shape,
        .variance = shape,
        .skewness = 2.0 / sqrt(shape),
        .kurtosis = 3.0 + 6.0 / shape,
    };
}

static void draws_have_the_moments_of_their_distribution(ATTR_UNUSED void **state)
{
    const struct moments normal = {.mean = 0.0, .variance = 1.0, .skewness = 0.0, .kurtosis = 3.0};

    check_moments(moments_of(exact_exponential, 11), gamma_moments(1.0));
    check_moments(moments_of(exact_normal, 12), normal);
    check_moments(moments_of(gamma_of_a_third, 13), gamma_moments(1.0 / 3.0));
    check_moments(moments_of(gamma_of_one, 14), gamma_moments(1.0));
    check_moments(moments_of(gamma_of_six, 15), gamma_moments(6.25));
}

/* The share of draws up to @point. */
static double share_up_to(double (*draw)(struct rng *rng), uint64_t seed, double point)
{
    struct rng rng = rng_from_seed(seed);
    uint32_t hits = 0;
    for (uint32_t i = 0; i < DRAWS; i++) {
        const double drawn = draw(&rng);
        hits += drawn <= point ? 1 : 0;
    }
    return (double)hits / DRAWS;
}

static void draws_have_the_shape_of_their_distribution(ATTR_UNUSED void **state)
{
    for (double point = -2.5; point <= 2.5; point += 0.5) {
        const double expected = 0.5 * erfc(-point / sqrt(2.0));
        assert_true(fabs(share_up_to(exact_normal, 21, point) - expected) < 0.003);
    }
    for (double point = 0.25; point <= 4.0; point += 0.75) {
        const double expected = 1.0 - exp(-point);
        assert_true(fabs(share_up_to(exact_exponential, 22, point) - expected) < 0.003);
        assert_true(fabs(share_up_to(gamma_of_one, 23, point) - expected) < 0.003);
    }
}

static void the_smallest_draw_is_zero_and_not_minus_zero(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(0 - UINT64_C(0x9e3779b97f4a7c15)); /* Draws a 0 next. */

    assert_true(same_bits(exact_exponential(&rng), 0.0));
}

static void no_draw_is_negative_or_absurd(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(31);

    for (uint32_t i = 0; i < DRAWS; i++) {
        const double wait = exact_exponential(&rng);
        assert_true(wait >= 0.0);
        assert_true(wait < 40.0);
        const double tiny = exact_gamma(&rng, 0.01);
        assert_true(tiny >= 0.0);
        assert_true(tiny < 100.0);
        const double normal = exact_normal(&rng);
        assert_true(fabs(normal) < 10.0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logarithms_agree_with_the_library),
        cmocka_unit_test(exponentials_agree_with_the_library),
        cmocka_unit_test(powers_agree_with_the_library),
        cmocka_unit_test(edges_are_those_of_the_library),
        cmocka_unit_test(powers_have_the_usual_edges),
        cmocka_unit_test(misuse_stops_the_program),
        cmocka_unit_test(functions_rise_across_the_seams_of_their_parts),
        cmocka_unit_test(a_logarithm_undoes_an_exponential),
        cmocka_unit_test(results_are_the_same_bits_everywhere),
        cmocka_unit_test(draws_are_the_same_bits_everywhere),
        cmocka_unit_test(draws_have_the_moments_of_their_distribution),
        cmocka_unit_test(draws_have_the_shape_of_their_distribution),
        cmocka_unit_test(the_smallest_draw_is_zero_and_not_minus_zero),
        cmocka_unit_test(no_draw_is_negative_or_absurd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
