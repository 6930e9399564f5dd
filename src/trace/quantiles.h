/*
 * quantiles.h - how numbers are spread: what a report says of latencies and slow-downs.
 */
#ifndef TRACE_QUANTILES_H
#define TRACE_QUANTILES_H

#include <stdint.h>

struct histogram;

/* There is no figure, as nothing was counted. It equals nothing, itself included. */
#define FIGURE_NONE            (__builtin_nan(""))
#define FIGURE_IS_NONE(figure) (__builtin_isnan(figure))

struct quantiles {
    double mean;
    double p50;
    double p95;
    double p99;
    double max;
};

/* Of @count values, which are sorted in this. FIGURE_NONE if there are none. */
struct quantiles quantiles_of(double *values, uint64_t count);

/* Of what a histogram has seen, in units of @unit: to within its steps. The same. */
struct quantiles quantiles_of_histogram(const struct histogram *histogram, double unit);

#endif /* TRACE_QUANTILES_H */
