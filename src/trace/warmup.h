/*
 * warmup.h - how much of the beginning of a run does not belong to its steady state.
 *
 * MSER-5 (White, Cobb and Spratt, 2000): the series is averaged in batches of five, and
 * cut where the marginal standard error of the mean over the rest is smallest. Leaving
 * out a transient makes the rest more alike; leaving out more than that only makes it
 * shorter. The rule needs no parameter to be chosen.
 */
#ifndef TRACE_WARMUP_H
#define TRACE_WARMUP_H

#include <stdint.h>

enum { WARMUP_BATCH = 5 };

/*
 * How many of the first of @count values to leave out: a multiple of WARMUP_BATCH, and
 * at most half of them. An answer near a half says that the run was too short for its
 * transient, or never became stationary. 0 for fewer than two batches.
 */
uint64_t warmup_of(const double *values, uint64_t count);

#endif /* TRACE_WARMUP_H */
