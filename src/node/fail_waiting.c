#include "node/fail_waiting.h"

#include "node/access.h"
#include "node/dispatch.h"
#include "node/grants.h"
#include "node/model_cache.h"
#include "node/visits.h"

void fail_waiting_for(struct node *node, struct worker *worker, uint32_t model, enum reason reason)
{
    struct model_slot *slot = &worker->models[model];
    if (slot->wanted == 0 || node->arrival == 0) {
        return; /* A batch that gathers may want it before the first of its tasks is here. */
    }
    worker->failing_models += slot->failing_until == 0 ? 1 : 0;
    slot->failing_until = node->arrival;
    slot->failing_reason = (uint8_t)reason;
    worker->touched = true;
}

void fail_waiting_stop(struct worker *worker, uint32_t model)
{
    if (worker->models[model].failing_until != 0) {
        worker->models[model].failing_until = 0;
        worker->failing_models--;
    }
}

/* A task that waited for @model when it was found that it cannot be had, or POOL_NONE. */
static uint32_t find_failing(const struct node *node, const struct worker *worker, uint32_t model)
{
    const struct model_slot *slot = &worker->models[model];
    if (slot->failing_reason !=
        REASON_TOO_LARGE) { /* Batches look at their size when they start. */
        const uint32_t claimed = grants_find(node, worker, model, slot->failing_until);
        if (claimed != POOL_NONE) {
            return claimed;
        }
    }
    for (uint32_t i = 0; i < worker->active_count; i++) {
        uint32_t workflow;
        uint32_t number;
        const struct workflow_task *kind =
            dispatch_queue_task(node, worker->active[i], &workflow, &number);
        uint32_t at =
            workflow_task_needs(kind, model) ? worker->queues[worker->active[i]].head : POOL_NONE;
        for (; at != POOL_NONE; at = task_at(node, at)->next_in_queue) {
            const struct task *task = task_at(node, at);
            if (task->arrival <= slot->failing_until &&
                (slot->failing_reason != REASON_TOO_LARGE ||
                 cache_obstacle(node, worker, kind, task->items) != REASON_NONE)) {
                return at;
            }
        }
    }
    return POOL_NONE;
}

/* All that waits for a device that is gone. */
static bool fail_lost(struct node *node, struct worker *worker)
{
    grants_abandon(node, worker);
    for (uint32_t failed = 0; failed < BATCH_TASKS_MAX; failed++) {
        uint32_t task = grants_find(node, worker, MODEL_NONE, UINT64_MAX);
        if (task == POOL_NONE && worker->active_count == 0) {
            return false;
        }
        task = task != POOL_NONE ? task : worker->queues[worker->active[0]].head;
        visits_fail(node, task, REASON_DEVICE_LOST);
    }
    return true;
}

bool fail_waiting_some(struct node *node, struct worker *worker)
{
    uint32_t failed = 0;
    if (worker->lost) {
        return fail_lost(node, worker);
    }
    for (uint32_t model = 0; worker->failing_models > 0 && model < node->catalogue->model_count;
         model++) {
        while (worker->models[model].failing_until != 0) {
            const uint32_t task = find_failing(node, worker, model);
            if (task == POOL_NONE) {
                fail_waiting_stop(worker, model);
                break;
            }
            if (failed == BATCH_TASKS_MAX) {
                return true;
            }
            failed++;
            visits_fail(node, task, (enum reason)worker->models[model].failing_reason);
        }
    }
    return false;
}
