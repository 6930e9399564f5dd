/*
 * planned.h - configs that were chosen before the first job, and what runs when they miss.
 *
 * A plan fixes the config of every task. Where the queue is shorter than its batch, the queue
 * waits for as long as the plan had counted on, and then runs what is there on the same units;
 * where the units are free nowhere, it waits for some rounds and then runs on as few as it
 * can: planned configs that are missed.
 */
#ifndef POLICY_BASELINES_PLANNED_H
#define POLICY_BASELINES_PLANNED_H

#include "policy/baselines/grid.h"
#include "policy/fit.h"

struct planned_queue {
    struct configs configs;
    uint32_t choice;    /* What was planned. */
    uint32_t least;     /* The choice with the fewest units. */
    int64_t timeout_ns; /* How long a batch may take to fill. */
    uint64_t bytes_per_item;
    uint32_t next; /* The queue of a task that follows; UINT32_MAX if there is none. */
};

struct planned {
    uint32_t queue_count;
    struct planned_queue *queues;
};

/* What a planner of one workflow is given. */
struct planned_problem {
    const struct plan_input *input;
    const struct workflow *workflow;
    uint32_t number;              /* Of the workflow. */
    const struct configs *tables; /* By task. */
    const struct grid *grids;     /* The same as grids. */
    int64_t slo_ns;
    int64_t gap_ns; /* Between two jobs of it; 0: unknown. */
};

/* Choose an entry of its table for each task. */
typedef void planned_rule(const struct planned_problem *problem, uint32_t *choices_out);

/* Plan every workflow by @rule. */
const void *planned_make(struct arena *arena, const struct plan_input *input, planned_rule *rule);

/* What the items of a batch wait for one another if they come every @gap_ns. */
int64_t planned_fill_ns(const struct configs_choice *choice, int64_t gap_ns);

void planned_dispatch(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out);

#endif /* POLICY_BASELINES_PLANNED_H */
