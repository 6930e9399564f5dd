/*
 * half.h - numbers of two bytes: FP16 and BF16, between their bits and double.
 *
 * Rounded to the nearest, ties to even. Every value of either type is a double.
 */
#ifndef ENGINE_HALF_H
#define ENGINE_HALF_H

#include <stdint.h>

#define HALF_END 65520.0       /* From here on FP16 rounds to infinity. */
#define BF16_END (0x1.ffp+127) /* The same for BF16. */

uint16_t half_from_double(double value);
double half_to_double(uint16_t bits);

uint16_t bf16_from_double(double value);
double bf16_to_double(uint16_t bits);

#endif /* ENGINE_HALF_H */
