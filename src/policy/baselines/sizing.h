/*
 * sizing.h - one config for every task of a workflow, chosen before a job runs.
 *
 * The search of Orion (OSDI 2022), with batches and shares: states are a step of batch, CPU
 * and GPU for each task, neighbours differ by one step. From the smallest, the state with the
 * least 95th percentile of the whole workflow's time is looked at next, until one is in time;
 * from then on the cheapest of those that are. Times of tasks are normal, those in a row are
 * convolved, and a join waits for the last. Work is limited by counting convolutions.
 */
#ifndef POLICY_BASELINES_SIZING_H
#define POLICY_BASELINES_SIZING_H

#include "policy/baselines/grid.h"

struct workflow;

struct sizing_problem {
    const struct workflow *workflow;
    const struct configs *tables; /* By task. */
    const struct grid *grids;     /* The same as grids. */
    int64_t target_ns;
    int64_t gap_ns;    /* Between two jobs: items of a batch wait for one another. */
    double share;      /* Of jobs that should be in time: 0.95. */
    double spread;     /* Deviation of a run over its mean where the profile has none. */
    uint32_t work_max; /* Convolutions. */
};

struct sizing {
    int64_t latency_ns; /* The percentile. */
    int64_t cost;       /* Of a job. */
    bool in_time;
};

/* @choices_out has one entry per task: into its table. */
void sizing_search(
    const struct sizing_problem *problem, uint32_t *choices_out, struct sizing *sizing_out);

/* The percentile and cost of a workflow whose tasks run with @choices. */
struct sizing sizing_measure(const struct sizing_problem *problem, const uint32_t *choices);

#endif /* POLICY_BASELINES_SIZING_H */
