/*
 * split_rates.h - one stream of jobs over unequal servers, at random: the best shares. The exact
 * answer that the solver is compared with.
 *
 * The mean time in an M/G/1 queue, weighted by what goes there, is convex in the rates, so
 * one multiplier decides all of them (closed form for each server, bisection for the
 * multiplier). With exponential times this is the classical square-root rule. For several
 * kinds of jobs there is no such form: see mixture/program.h.
 */
#ifndef UNIT_SPLIT_RATES_H
#define UNIT_SPLIT_RATES_H

#include <stdint.h>

struct split_server {
    double mean;    /* Of the service of one job. */
    double squared; /* Its squared coefficient of variation. */
};

/*
 * Write the rate at which each of @count servers gets jobs: they sum to @rate, and the mean
 * time of a job, which is returned, is the smallest possible. INFINITY if they cannot
 * serve that much; @rates_out is then not written.
 */
double split_rates(
    const struct split_server *servers, uint32_t count, double rate, double *rates_out);

#endif /* UNIT_SPLIT_RATES_H */
