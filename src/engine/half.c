#include "engine/half.h"

#include <math.h>
#include <string.h>

/* How many bits the fraction has, the least exponent, and where infinity begins. */
struct form {
    int fraction;
    int least;
    double end;
};

static const struct form half = {.fraction = 10, .least = -14, .end = HALF_END};
static const struct form bf16 = {.fraction = 7, .least = -126, .end = BF16_END};

static uint16_t from_double(double value, const struct form *form)
{
    const uint32_t sign = signbit(value) ? 0x8000 : 0;
    const uint32_t infinity = 0x7fffU >> form->fraction << form->fraction;
    const double size = fabs(value);
    if (isnan(value)) {
        return (uint16_t)(infinity | 1U << (form->fraction - 1));
    }
    if (size >= form->end) {
        return (uint16_t)(sign | infinity);
    }
    int exponent;
    (void)frexp(size, &exponent);
    exponent = size == 0 || exponent - 1 < form->least ? form->least : exponent - 1;
    /* Steps of the last place; ties to even. */
    const uint32_t steps = (uint32_t)rint(ldexp(size, form->fraction - exponent));
    /* A whole exponent's steps are the next exponent, and adding makes them that. */
    return (uint16_t)(sign | (((uint32_t)(exponent - form->least) << form->fraction) + steps));
}

uint16_t half_from_double(double value)
{
    return from_double(value, &half);
}

uint16_t bf16_from_double(double value)
{
    return from_double(value, &bf16);
}

double half_to_double(uint16_t bits)
{
    const int exponent = bits >> 10 & 31;
    const int steps = bits & 1023;
    double size = exponent == 0 ? ldexp(steps, -24) : ldexp(steps + 1024, exponent - 25);
    if (exponent == 31) {
        size = steps == 0 ? (double)INFINITY : (double)NAN;
    }
    return (bits & 0x8000) != 0 ? -size : size;
}

double bf16_to_double(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16; /* The upper half of FP32. */
    float value;
    memcpy(&value, &wide, sizeof(value));
    return (double)value;
}
