/*
 * demand.h - how often models are asked for, as one node sees it, and what it costs to lose one.
 *
 * Every node sees a part of all jobs, and of all loads the same part: how long a model is not used,
 * compared with how long memory is left alone, is the same at all of them.
 */
#ifndef POLICY_DEMAND_H
#define POLICY_DEMAND_H

#include "base/bitset.h"
#include "base/limits.h"
#include "model/workflow.h"
#include "profile/profile.h"

/* The gaps between events of one kind; all zero: none yet. */
struct demand_gaps {
    int64_t last_ns;
    int64_t gap_ns; /* On average of late; 0 before the second. */
};

struct demand {
    struct demand_gaps models[MODELS_MAX]; /* Jobs that need each. */
    struct demand_gaps loads;              /* Loads that make another model leave. */
};

/* A job of @graph has come. */
void demand_note_job(struct demand *demand, const struct workflow *graph, int64_t now_ns);

/* A load was planned that makes another model leave. */
void demand_note_load(struct demand *demand, int64_t now_ns);

/* Where a model is to leave. */
struct demand_place {
    const struct profile *profile;
    const struct fleet_worker *worker;
    const struct model_set *held;     /* Models of the worker. */
    const struct workflow_task *kind; /* The task that needs room: its models stay. */
    uint32_t memory_count;            /* Of all workers, which hold about as many each. */
    int64_t now_ns;
};

/*
 * What is lost with the model that can best be missed: the time to bring it back, if it is used
 * again before its memory would have been needed anyway. That takes as many loads as there are
 * models in memory.
 */
int64_t demand_least_loss_ns(const struct demand *demand, const struct demand_place *place);

/*
 * How long a model stays in memory before others need it, if @slots models are held by all workers,
 * to whose loads @node_count nodes add as much each as this one.
 */
int64_t demand_stay_ns(
    const struct demand *demand, uint32_t slots, uint32_t node_count, int64_t now_ns);

#endif /* POLICY_DEMAND_H */
