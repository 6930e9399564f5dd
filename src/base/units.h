/*
 * units.h - nanoseconds in the larger units of time, and the length of an array.
 *
 * The constants are whole numbers. A quotient of whole numbers is cut off: convert the
 * dividend where the fraction counts.
 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include <stdint.h>

#define NS_PER_US INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S  INT64_C(1000000000)

/* How many elements @array has. It must be an array: a pointer gives nonsense. */
#define ARRAY_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif /* BASE_UNITS_H */
