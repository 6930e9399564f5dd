/*
 * statistics.h - means of repeated runs, and how far they can be trusted.
 *
 * Intervals are Student's, at 95 %: with a handful of seeds the normal distribution
 * would promise too much.
 */
#ifndef LAB_STATISTICS_H
#define LAB_STATISTICS_H

#include <stdint.h>

/* @mean plus or minus @half_width; the latter is NAN for fewer than two values. */
struct interval {
    double mean;
    double half_width;
};

/* NAN if there are none. */
double statistics_mean(const double *values, uint32_t count);

/* Of a sample: divided by count - 1. NAN for fewer than two values. */
double statistics_deviation(const double *values, uint32_t count);

/* Two-sided 95 % quantile of Student's t with @degrees of freedom, at least 1. */
double statistics_t95(uint32_t degrees);

struct interval statistics_interval(const double *values, uint32_t count);

/*
 * How much @values differ from @baseline, in percent of it: the mean of the relative
 * differences of pairs. Pairing by seed takes out what both runs have in common.
 */
struct interval statistics_paired_percent(
    const double *baseline, const double *values, uint32_t count);

/*
 * How many times @baseline @values are: the mean of the quotients of pairs. One that
 * contains no 1 in its interval differs.
 */
struct interval statistics_paired_ratio(
    const double *baseline, const double *values, uint32_t count);

#endif /* LAB_STATISTICS_H */
