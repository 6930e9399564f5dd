/* quantile.h - quantiles of what a benchmark has measured. */
#ifndef QUANTILE_H
#define QUANTILE_H

#include <stdint.h>
#include <stdlib.h>

static inline int quantile_compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts @values. */
static inline double quantile(double *values, uint32_t count, double q)
{
    qsort(values, count, sizeof(*values), quantile_compare);
    return values[(uint32_t)(q * (count - 1))];
}

#endif /* QUANTILE_H */
