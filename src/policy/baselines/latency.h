/*
 * latency.h - distributions of times in bins, added and compared.
 *
 * For sums of independent times (convolution) and for what waits for the last of several
 * (product of the cumulative functions). All bins of one calculation have the same width; the
 * last one also holds everything later.
 */
#ifndef POLICY_BASELINES_LATENCY_H
#define POLICY_BASELINES_LATENCY_H

#include <stdint.h>

enum { LATENCY_BINS = 128 };

struct latency {
    double mass[LATENCY_BINS]; /* Sums to 1. */
};

/* Nothing takes no time. */
void latency_zero(struct latency *latency_out);

/* Normal with @mean_ns and @sd_ns, cut at 0; without a deviation, all in one bin. */
void latency_normal(int64_t mean_ns, int64_t sd_ns, int64_t bin_ns, struct latency *latency_out);

/* One after the other. @sum_out may not be one of them. */
void latency_add(const struct latency *a, const struct latency *b, struct latency *sum_out);

/* Whichever is later; @a becomes it. */
void latency_later(struct latency *a, const struct latency *b);

/* The end of the first bin by which @share of all is over. */
int64_t latency_quantile(const struct latency *latency, double share, int64_t bin_ns);

/* The share of a standard normal distribution below @x, to seven digits. */
double latency_normal_share(double x);

#endif /* POLICY_BASELINES_LATENCY_H */
