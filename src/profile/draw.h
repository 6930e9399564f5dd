/*
 * draw.h - how long one run takes: a draw from what was measured.
 *
 * An estimate says the mean, and quantiles or the spread, a curve the family. Both come to the same
 * bits on every machine: only base/exact.h and + - * / are used.
 */
#ifndef PROFILE_DRAW_H
#define PROFILE_DRAW_H

#include "base/rng.h"
#include "profile/profile.h"

/*
 * A run time in nanoseconds, at most DURATION_NS_MAX and not rounded, for a batch of
 * @estimate. @noise, if it is above 0, is a fraction: the time varies uniformly by so much
 * up and down, beside its own spread. What needs no draw takes none from @rng.
 *
 *   quantiles       where they are known, whatever the family
 *   normal          mean and standard deviation, but never below a tenth of the mean
 *   exponential     the mean alone
 *   gamma           mean and standard deviation
 *   deterministic   the mean
 */
double profile_draw_ns(const struct estimate *estimate, double noise, struct rng *rng);

#endif /* PROFILE_DRAW_H */
