/*
 * items.h - how many items a task's output has, where no model is run to tell.
 *
 * Both hosts that only pretend to run models use this one rule, so that they agree.
 */
#ifndef MODEL_ITEMS_H
#define MODEL_ITEMS_H

#include <stdint.h>

#include "base/assert.h"
#include "base/hash.h"
#include "model/workflow.h"

/* The items that @task, number @index of its workflow, makes in @job from @items_in items. */
static inline uint32_t items_given(
    const struct workflow_task *task, struct job_id job, uint32_t index, uint32_t items_in)
{
    const struct items_rule gives = task->gives;

    if (gives.low == 0 && gives.high == 0) {
        return items_in;
    }
    ASSERT(gives.low <= gives.high);
    const uint64_t width = (uint64_t)gives.high - gives.low + 1;
    return gives.low + (uint32_t)(hash_mix(job_key(job), index) % width);
}

/* What @task of @workflow hands on for @items items: all its out edges together, 0 for a sink. */
static inline uint64_t items_output_bytes(
    const struct workflow *workflow, uint32_t task, uint32_t items)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < workflow->tasks[task].out_count; i++) {
        bytes += workflow_edge_bytes(workflow_out(workflow, task, i), items);
    }
    return bytes;
}

#endif /* MODEL_ITEMS_H */
