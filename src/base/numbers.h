/*
 * numbers.h - the smaller and the larger of two numbers, one pair of functions for each type.
 */
#ifndef BASE_NUMBERS_H
#define BASE_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

static inline uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static inline uint32_t max_u32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Of doubles: @b if either is not a number. */
static inline double min_double(double a, double b)
{
    return a < b ? a : b;
}

static inline double max_double(double a, double b)
{
    return a > b ? a : b;
}

#endif /* BASE_NUMBERS_H */
