/* timed.h - times that programs for a device measure, and how they sum them up. */
#ifndef GPU_TIMED_H
#define GPU_TIMED_H

#include <stdint.h>
#include <stdlib.h>

#include "engine/monotonic.h"

/* In seconds. */
static inline double now(void)
{
    return (double)monotonic_ns() * 1e-9;
}

static inline int timed_compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline void timed_sort(double *values, uint32_t count)
{
    qsort(values, count, sizeof(*values), timed_compare);
}

/* Sorts @values. */
static inline double median(double *values, uint32_t count)
{
    timed_sort(values, count);
    return values[count / 2];
}

#endif /* GPU_TIMED_H */
