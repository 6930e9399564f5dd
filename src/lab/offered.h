/*
 * offered.h - the load that a scenario offers, against what its workers can carry.
 *
 * Means over jobs that are drawn as hosts draw them: the items of each task, by the rules of the
 * workflow, and its run time alone on the whole device, on the kind that runs it fastest. Batches
 * can do with less; loads, transfers and waits come on top.
 */
#ifndef LAB_OFFERED_H
#define LAB_OFFERED_H

#include "document/scenario.h"

/* Of a task, in a job of its workflow. */
struct offered_task {
    double items;
    double run_s;
};

struct offered {
    double rate_per_s;           /* Of all workflows; 0: requests take no time to come. */
    double rates[WORKFLOWS_MAX]; /* By workflow. */
    double busy;                 /* Workers that are busy at that rate, if nothing is batched. */
    uint32_t worker_count;       /* That there are. */
    struct offered_task *tasks;  /* By workflow and task: queue_first + task. Owned. */
};

void offered_init(struct offered *offered, const struct scenario *scenario);
void offered_deinit(struct offered *offered);

#endif /* LAB_OFFERED_H */
