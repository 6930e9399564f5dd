/*
 * drift.h - whether a rate that is measured is still the one that was expected.
 *
 * Pure functions; the same bits on every machine.
 */
#ifndef MIXTURE_DRIFT_H
#define MIXTURE_DRIFT_H

#include <stdbool.h>

/*
 * An average in which the newest second counts @part and all before it the rest, of Poisson
 * arrivals: whether @measured differs from @expected by more than @share of it, and by more
 * than four standard deviations.
 */
bool drift_is_real(double measured, double expected, double part, double share);

/*
 * @rate on a grid with four steps to a doubling, so that many who measure about the same say
 * the same. 0 if there is hardly any.
 */
double drift_round(double rate);

#endif /* MIXTURE_DRIFT_H */
