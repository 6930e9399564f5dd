#include "base/exact.h"

#include <float.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "base/rng.h"

_Static_assert(FLT_EVAL_METHOD == 0, "each operation rounds to its own type");
_Static_assert(DBL_MANT_DIG == 53 && DBL_MAX_EXP == 1024, "doubles are IEEE 754 binary64");

/* ln 2 in two parts. The first has 32 bits, so its product with any exponent is exact. */
#define LN2_HIGH 0x1.62e42feep-1
#define LN2_LOW  0x1.a39ef35793c76p-33
#define LOG2_E   0x1.71547652b82fep+0

#define INFINITE     __builtin_inf()
#define NOT_A_NUMBER __builtin_nan("")

#define EXP_X_MAX 0x1.62e42fefa39efp+9 /* The largest double whose exponential is finite. */
#define EXP_X_MIN                                                                                  \
    (-0x1.74910d52d3053p+9) /* Below, the exponential is less than half of 2^-1074.                \
                             */

enum {
    MANTISSA_BITS = 52,
    EXPONENT_BIAS = 1023,
    WHOLE_POWER_MAX = 16, /* Further products would round worse than exp and log. */
};

#define MANTISSA_MASK  ((UINT64_C(1) << MANTISSA_BITS) - 1)
#define SQRT2_MANTISSA UINT64_C(0x6a09e667f3bcd)

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static double from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* 2 to the power @exponent, which must give a normal number. */
static double power_of_two(int32_t exponent)
{
    ASSERT(exponent >= 1 - EXPONENT_BIAS);
    ASSERT(exponent <= EXPONENT_BIAS);
    return from_bits((uint64_t)(exponent + EXPONENT_BIAS) << MANTISSA_BITS);
}

/* The exponent of @x, which must be positive, finite and normal. */
static int32_t exponent_of(double x)
{
    return (int32_t)(bits_of(x) >> MANTISSA_BITS) - EXPONENT_BIAS;
}

/*
 * log(1 + f) for sqrt(1/2) <= 1 + f <= sqrt(2), less f. With s = f / (2 + f) it is
 * 2 atanh(s) = 2s + s R, where R = 2 s^2/3 + 2 s^4/5 + ..., and 2s = f - s f. So
 * the rounding of s only touches the small rest. |s| < 0.172, hence ten terms.
 * Two chains of every other term halve the time; their order is fixed.
 */
static double log1p_rest(double f)
{
    const double s = f / (2.0 + f);
    const double z = s * s;
    const double w = z * z;
    const double odd =
        2.0 / 3.0 + w * (2.0 / 7.0 + w * (2.0 / 11.0 + w * (2.0 / 15.0 + w * (2.0 / 19.0))));
    const double even =
        2.0 / 5.0 + w * (2.0 / 9.0 + w * (2.0 / 13.0 + w * (2.0 / 17.0 + w * (2.0 / 21.0))));
    const double r = z * odd + w * even;

    return s * (r - f);
}

double exact_log(double x)
{
    int32_t exponent = 0;

    if (!(x > 0.0)) {
        return x == 0.0 ? -INFINITE : NOT_A_NUMBER;
    }
    if (x > DBL_MAX) {
        return x;
    }
    if (x < DBL_MIN) { /* Subnormal. */
        x *= 0x1p54;
        exponent = -54;
    }
    exponent += exponent_of(x);
    const uint64_t mantissa = bits_of(x) & MANTISSA_MASK;
    uint64_t biased = EXPONENT_BIAS;
    if (mantissa >= SQRT2_MANTISSA) {
        biased--;
        exponent++;
    }
    const double f = from_bits(biased << MANTISSA_BITS | mantissa) - 1.0;
    const double k = exponent;
    return k * LN2_HIGH + (f + (log1p_rest(f) + k * LN2_LOW));
}

/* exp(r) for |r| <= ln(2)/2, by its series; as in the logarithm, in two chains. */
static double exp_near_zero(double r)
{
    const double z = r * r;
    const double even =
        1.0 / 2.0 +
        z * (1.0 / 24.0 +
             z * (1.0 / 720.0 + z * (1.0 / 40320.0 + z * (1.0 / 3628800.0 + z / 479001600.0))));
    const double odd =
        1.0 / 6.0 +
        z * (1.0 / 120.0 + z * (1.0 / 5040.0 + z * (1.0 / 362880.0 + z * (1.0 / 39916800.0))));

    return 1.0 + (r + z * (even + r * odd));
}

double exact_exp(double x)
{
    if (x != x) {
        return x;
    }
    if (x > EXP_X_MAX) {
        return INFINITE;
    }
    if (x < EXP_X_MIN) {
        return 0.0;
    }
    const int32_t exponent = (int32_t)(x * LOG2_E + (x < 0.0 ? -0.5 : 0.5));
    const double k = exponent;
    const double r = (x - k * LN2_HIGH) - k * LN2_LOW;

    /* In two steps: 2^1024 and the powers below 2^-1022 are not normal numbers. */
    const int32_t half = exponent / 2;
    return exp_near_zero(r) * power_of_two(half) * power_of_two(exponent - half);
}

static double whole_power(double x, uint32_t power)
{
    double product = x;
    for (uint32_t bit = 31 - (uint32_t)__builtin_clz(power); bit > 0; bit--) {
        product *= product;
        if ((power >> (bit - 1) & 1) != 0) {
            product *= x;
        }
    }
    return product;
}

double exact_pow(double x, double y)
{
    ASSERT(!(x < 0.0));

    if (y == 0.0 || x == 1.0) {
        return 1.0;
    }
    if (y >= 1.0 && y <= WHOLE_POWER_MAX && y == (double)(uint32_t)y) {
        return whole_power(x, (uint32_t)y);
    }
    return exact_exp(y * exact_log(x));
}

/* Uniform in (0, 1]: its logarithm is finite. */
static double positive_unit(struct rng *rng)
{
    return 1.0 - rng_unit(rng);
}

double exact_exponential(struct rng *rng)
{
    const double unit = positive_unit(rng);
    return 0.0 - exact_log(unit);
}

/* The ratio of uniforms with quadratic bounds, Leva 1992 (TOMS algorithm 712). */
double exact_normal(struct rng *rng)
{
    for (;;) { /* Each round ends with probability 0.73. */
        const double u = positive_unit(rng);
        const double unit = rng_unit(rng);
        const double v = 1.7156 * (unit - 0.5);
        const double x = u - 0.449871;
        const double y = (v < 0.0 ? -v : v) + 0.386595;
        const double q = x * x + y * (0.19600 * y - 0.25472 * x);
        if (q < 0.27597) {
            return v / u;
        }
        if (q <= 0.27846 && v * v <= -4.0 * u * u * exact_log(u)) {
            return v / u;
        }
    }
}

/* Marsaglia and Tsang 2000, for shape >= 1. */
static double gamma_of_one_or_more(struct rng *rng, double shape)
{
    const double d = shape - 1.0 / 3.0;
    const double c = exact_pow(9.0 * d, -0.5);

    for (;;) { /* Each round ends with probability 0.95 or more. */
        const double x = exact_normal(rng);
        const double u = positive_unit(rng);
        const double root = 1.0 + c * x;
        if (root <= 0.0) {
            continue;
        }
        const double v = root * root * root;
        const double x2 = x * x;
        if (u < 1.0 - 0.0331 * x2 * x2) {
            return d * v;
        }
        if (exact_log(u) < 0.5 * x2 + d * (1.0 - v + exact_log(v))) {
            return d * v;
        }
    }
}

double exact_gamma(struct rng *rng, double shape)
{
    ASSERT(shape > 0.0);

    if (shape >= 1.0) {
        return gamma_of_one_or_more(rng, shape);
    }
    /* A gamma of shape + 1 times a power of a uniform has the smaller shape; ibid., section 6. */
    const double larger = gamma_of_one_or_more(rng, shape + 1.0);
    const double unit = positive_unit(rng);
    return larger * exact_pow(unit, 1.0 / shape);
}
