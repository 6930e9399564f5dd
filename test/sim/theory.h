/*
 * theory.h - long simulated runs, and what is needed to hold them against queueing theory.
 *
 * A run keeps the latency of every job by its arrival. Waits of one job depend on those of
 * the job before, so means come with intervals from the means of long batches, which hardly
 * do. Every run checks Little's law.
 */
#ifndef SIM_THEORY_H
#define SIM_THEORY_H

#include "sim/sim.h"

enum { THEORY_BATCHES = 20 };

#define MS(n) ((int64_t)((n)*1e6))

struct theory {
    struct fleet *fleet;
    struct catalogue *catalogue;
    struct profile *profile;
    struct policy_set policies;
    struct arrivals arrivals;
    struct sim_options options;
    struct report report;
    uint64_t arrived;
    uint64_t answered;
    int64_t *arrived_ns; /* By arrival, like all below. */
    int64_t *latencies_ns;
    int64_t *runs_ns; /* Of its last task. */
    int64_t run_ns;   /* Of the last task that ended. */
};

/* A mean, and how far the true one may be from it. */
struct interval {
    double mean;
    double half_95;  /* It is farther in one of twenty cases, */
    double half_999; /* in one of a thousand. */
};

/* @node_count machines with @worker_count devices each; no latency, rows every 100 ms. */
void theory_open(struct theory *theory, uint32_t node_count, uint32_t worker_count);
void theory_close(struct theory *theory);

/* A function that runs @run_ns. Returns its curve, whose spread may be changed. */
struct profile_curve *theory_model(struct theory *theory, const char *name, int64_t run_ns);

/* One task of model @name. */
void theory_single(struct theory *theory, const char *name);

/* a -> {b, c} -> d with models of these names; @bytes of a-b, a-c, b-d and c-d. */
void theory_diamond(struct theory *theory, const uint64_t bytes[4]);

/* Play @jobs that arrive at @rate_per_s, and check Little's law. */
void theory_run(struct theory *theory, double rate_per_s, uint64_t jobs, uint64_t seed);

/* The mean of @values over @count, with intervals from THEORY_BATCHES batches. */
struct interval theory_mean(const double *values, uint64_t count);

/* @interval, but no narrower than a standard error of @error makes it. */
struct interval theory_at_least(struct interval interval, double error);

/*
 * The mean of @values, corrected by a second quantity of the same jobs whose mean is known to be
 * @expected: what the one was too high by, the other was too, in proportion.
 */
struct interval theory_corrected_mean(
    const double *values, const double *controls, uint64_t count, double expected);

#endif /* SIM_THEORY_H */
