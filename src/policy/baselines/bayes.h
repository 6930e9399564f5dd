/*
 * bayes.h - the cheapest point of a cube that is feasible, found with few, noisy trials.
 *
 * Constrained Bayesian optimisation as in Aquatope (ASPLOS 2023): one Gaussian process for
 * the cost and one for the excess, which is to be 0 or less. After some random trials, each
 * round tries the few points where the expected improvement, times the chance to be feasible,
 * is largest. The best so far is itself uncertain: improvements are averaged over draws of
 * both processes at what was tried (noisy expected improvement). Trials that neither process
 * would have expected at 95 per cent are left out of the fit. All work is counted, none is
 * timed; the same stream of random numbers gives the same result everywhere.
 */
#ifndef POLICY_BASELINES_BAYES_H
#define POLICY_BASELINES_BAYES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"

enum {
    BAYES_TRIALS_MAX = 90, /* Each is a point of two processes, which are solved again and again. */
    BAYES_BATCH_MAX = 8,
};

struct bayes_trial {
    double cost;
    double excess;
};

struct bayes_problem {
    uint32_t dims;
    struct bayes_trial (*try_point)(void *context, const double *point);
    void *context;
    /* All trials together: at most BAYES_TRIALS_MAX. */
    uint32_t random_count; /* At random points, before the first round. */
    uint32_t round_count;
    uint32_t batch; /* Trials in a round: 1 to BAYES_BATCH_MAX. */
    struct rng rng;
};

struct bayes_result {
    bool feasible;
    uint32_t trials;
    struct bayes_trial trial; /* As it was seen. */
};

/* @point_out has the coordinates of the best trial: 0 to 1 each. */
struct bayes_result bayes_search(struct bayes_problem *problem, double *point_out);

#endif /* POLICY_BASELINES_BAYES_H */
