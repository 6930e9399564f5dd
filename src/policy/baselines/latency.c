/*
 * latency.c - distributions of times in bins.
 *
 * A time in bin i is taken to be at its upper end when bins are added: sums are never too
 * early, and late by less than a bin for each part.
 */
#include "policy/baselines/latency.h"

#include <stdbool.h>

#include "base/exact.h"

double latency_normal_share(double x)
{
    /* Abramowitz and Stegun, 26.2.17. */
    const double size = x < 0 ? -x : x;
    const double t = 1 / (1 + 0.2316419 * size);
    const double series =
        t * (0.319381530 +
             t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
    const double tail = size > 37 ? 0 : exact_exp(-size * size / 2) * 0.3989422804014327 * series;
    return x < 0 ? tail : 1 - tail;
}

void latency_zero(struct latency *latency_out)
{
    *latency_out = (struct latency){.mass = {1}};
}

static uint32_t bin_of(int64_t time_ns, int64_t bin_ns)
{
    const int64_t bin = (time_ns + bin_ns - 1) / bin_ns;
    return bin < LATENCY_BINS - 1 ? (uint32_t)bin : LATENCY_BINS - 1;
}

void latency_normal(int64_t mean_ns, int64_t sd_ns, int64_t bin_ns, struct latency *latency_out)
{
    *latency_out = (struct latency){.mass = {0}};
    if (sd_ns == 0) {
        latency_out->mass[bin_of(mean_ns, bin_ns)] = 1;
        return;
    }
    double below = 0;
    for (uint32_t bin = 0; bin < LATENCY_BINS; bin++) {
        const double end_ns = (double)bin * (double)bin_ns;
        const bool is_last = bin == LATENCY_BINS - 1;
        const double share =
            is_last ? 1 : latency_normal_share((end_ns - (double)mean_ns) / (double)sd_ns);
        latency_out->mass[bin] = share - below;
        below = share;
    }
}

void latency_add(const struct latency *a, const struct latency *b, struct latency *sum_out)
{
    *sum_out = (struct latency){.mass = {0}};
    for (uint32_t i = 0; i < LATENCY_BINS; i++) {
        if (a->mass[i] == 0) {
            continue;
        }
        for (uint32_t j = 0; j < LATENCY_BINS - 1 - i; j++) {
            sum_out->mass[i + j] += a->mass[i] * b->mass[j];
        }
        for (uint32_t j = LATENCY_BINS - 1 - i; j < LATENCY_BINS; j++) {
            sum_out->mass[LATENCY_BINS - 1] += a->mass[i] * b->mass[j];
        }
    }
}

void latency_later(struct latency *a, const struct latency *b)
{
    double below_a = 0;
    double below_b = 0;
    double below = 0;
    for (uint32_t bin = 0; bin < LATENCY_BINS; bin++) {
        below_a += a->mass[bin];
        below_b += b->mass[bin];
        a->mass[bin] = below_a * below_b - below;
        below = below_a * below_b;
    }
}

int64_t latency_quantile(const struct latency *latency, double share, int64_t bin_ns)
{
    double below = 0;
    for (uint32_t bin = 0; bin < LATENCY_BINS; bin++) {
        below += latency->mass[bin];
        if (below >= share) {
            return (int64_t)bin * bin_ns;
        }
    }
    return (int64_t)LATENCY_BINS * bin_ns;
}
