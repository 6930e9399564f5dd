/*
 * mean_length.h - the mean time of a placed job, with what its joins cost.
 *
 * The longest of the mean ways is less than the mean of the longest way: a join of
 * several inputs waits for the unluckiest. Waits are taken to be independent, and to be 0 or
 * exponential (queueing/delay.h); what the ways to a join have in common, up to the step that
 * all of them pass, is counted once.
 */
#ifndef MIXTURE_MEAN_LENGTH_H
#define MIXTURE_MEAN_LENGTH_H

#include <stdint.h>

struct congestion;
struct patterns;

/* At the loads and prices of @congestion, which is feasible. */
double mean_length(
    const struct congestion *congestion, const struct patterns *patterns, uint32_t index);

#endif /* MIXTURE_MEAN_LENGTH_H */
