#include "lab/statistics.h"

#include <math.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/units.h"

double statistics_mean(const double *values, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += values[i];
    }
    return count == 0 ? (double)NAN : sum / count;
}

double statistics_deviation(const double *values, uint32_t count)
{
    if (count < 2) {
        return (double)NAN;
    }
    const double mean = statistics_mean(values, count);
    double squares = 0;
    for (uint32_t i = 0; i < count; i++) {
        squares += (values[i] - mean) * (values[i] - mean);
    }
    return sqrt(squares / (count - 1));
}

/* Cornish-Fisher around the normal quantile: Abramowitz and Stegun, 26.7.5. */
static double t_series(double degrees)
{
    const double z = 1.959963984540054;
    const double z2 = z * z;
    const double g1 = z * (z2 + 1) / 4;
    const double g2 = z * ((5 * z2 + 16) * z2 + 3) / 96;
    const double g3 = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
    return z + (g1 + (g2 + g3 / degrees) / degrees) / degrees;
}

double statistics_t95(uint32_t degrees)
{
    /* The series is good to four digits from here on. */
    static const double few[] = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706,
                                 2.4469,  2.3646, 2.3060, 2.2622, 2.2281};
    enum { FEW = ARRAY_COUNT(few) };
    ASSERT(degrees > 0);
    return degrees <= FEW ? few[degrees - 1] : t_series(degrees);
}

struct interval statistics_interval(const double *values, uint32_t count)
{
    struct interval interval = {.mean = statistics_mean(values, count), .half_width = (double)NAN};
    if (count >= 2) {
        interval.half_width =
            statistics_t95(count - 1) * statistics_deviation(values, count) / sqrt(count);
    }
    return interval;
}

struct interval statistics_paired_percent(
    const double *baseline, const double *values, uint32_t count)
{
    double *differences = memory_zeroed((size_t)count + 1, sizeof(*differences));
    for (uint32_t i = 0; i < count; i++) {
        differences[i] = 100 * (values[i] - baseline[i]) / baseline[i];
    }
    const struct interval interval = statistics_interval(differences, count);
    free(differences);
    return interval;
}

struct interval statistics_paired_ratio(
    const double *baseline, const double *values, uint32_t count)
{
    const struct interval percent = statistics_paired_percent(baseline, values, count);
    return (struct interval){
        .mean = 1 + percent.mean / 100,
        .half_width = percent.half_width / 100,
    };
}
