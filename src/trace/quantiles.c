#include "trace/quantiles.h"

#include <stdlib.h>

#include "base/histogram.h"

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The smallest of @count sorted values that @percent of all do not exceed. */
static double at_percent(const double *sorted, uint64_t count, uint64_t percent)
{
    const uint64_t rank = (count * percent + 99) / 100;
    return sorted[rank == 0 ? 0 : rank - 1];
}

static struct quantiles none(void)
{
    return (struct quantiles){
        .mean = FIGURE_NONE,
        .p50 = FIGURE_NONE,
        .p95 = FIGURE_NONE,
        .p99 = FIGURE_NONE,
        .max = FIGURE_NONE,
    };
}

struct quantiles quantiles_of(double *values, uint64_t count)
{
    if (count == 0) {
        return none();
    }
    qsort(values, count, sizeof(*values), compare);
    double sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        sum += values[i];
    }
    return (struct quantiles){
        .mean = sum / (double)count,
        .p50 = at_percent(values, count, 50),
        .p95 = at_percent(values, count, 95),
        .p99 = at_percent(values, count, 99),
        .max = values[count - 1],
    };
}

struct quantiles quantiles_of_histogram(const struct histogram *histogram, double unit)
{
    if (histogram_count(histogram) == 0) {
        return none();
    }
    return (struct quantiles){
        .mean = histogram_mean(histogram) / unit,
        .p50 = (double)histogram_quantile(histogram, 0.50) / unit,
        .p95 = (double)histogram_quantile(histogram, 0.95) / unit,
        .p99 = (double)histogram_quantile(histogram, 0.99) / unit,
        .max = (double)histogram_max(histogram) / unit,
    };
}
