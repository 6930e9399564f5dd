/*
 * fairness.h - how evenly workflows are served: what each of them got, and which got least.
 */
#ifndef TRACE_FAIRNESS_H
#define TRACE_FAIRNESS_H

#include <stdint.h>

#include "base/limits.h"

/* One workflow. FIGURE_NONE where no job was counted, or none has an SLO. */
struct fairness_row {
    double slowdown;     /* The mean. */
    double slo_hit_rate; /* As in a report. */
    uint32_t priority;   /* As in struct workflow: larger is more urgent, 0 if none is said. */
    uint64_t counted;    /* Jobs that the slow-down is the mean of. */
    uint64_t slo_jobs;   /* Of these: that should have met an SLO. */
    uint64_t slo_hits;   /* Of those: that did. */
};

/* All workflows of one priority. */
struct fairness_level {
    uint32_t priority;
    double slowdown; /* The mean over jobs of those workflows that have one. */
    double slo_hit_rate;
};

struct fairness {
    /*
     * Jain's index of the slow-downs of those that have one, (Σx)² / (n Σx²): 1 if all are equal,
     * 1/n if one has it all. FIGURE_NONE if none has one.
     */
    double index;
    uint32_t worst; /* The lowest hit rate; without SLOs the largest slow-down. UINT32_MAX: none. */
    uint32_t count;
    struct fairness_row rows[WORKFLOWS_MAX];
};

/* Find the index and the worst from the rows. */
void fairness_judge(struct fairness *fairness);

/* The priorities that workflows have, the most urgent first, and how their jobs fared. */
uint32_t fairness_levels(
    const struct fairness *fairness, struct fairness_level levels_out[PRIORITY_MAX + 1]);

#endif /* TRACE_FAIRNESS_H */
