#include "node/gather.h"

#include "base/numbers.h"
#include "base/units.h"
#include "node/access.h"
#include "node/dispatch.h"
#include "node/model_cache.h"
#include "node/visits.h"

enum { WAIT_HANDOFFS = 2 };

/* When to look again at tasks that wait for a worker, if nothing else happens: it may hang. */
#define LOOK_AGAIN_NS (10 * NS_PER_MS)

/* How long the batches of @worker will still run; one that is late, for as long as it is. */
static int64_t left_to_run_ns(const struct node *node, const struct worker *worker)
{
    int64_t most_ns = 0;
    for (uint32_t slot = worker->batches; slot != POOL_NONE; slot = batch_at(node, slot)->next) {
        const int64_t left_ns = batch_at(node, slot)->ends_at_ns - now_ns(node);
        most_ns = max_i64(most_ns, left_ns < 0 ? -left_ns : left_ns);
    }
    return most_ns;
}

bool gather_pays(
    const struct node *node, const struct worker *worker, uint32_t number, uint32_t items)
{
    uint32_t workflow;
    uint32_t task;
    const struct workflow_task *kind = dispatch_queue_task(node, number, &workflow, &task);
    const uint32_t device = worker->spec->device;
    const int64_t handoff_ns = node->profile->models[kind->run].curves[device].handoff_ns;
    const struct queue *queue = &worker->queues[number];
    const uint32_t all = queue->items + items;
    if (handoff_ns == 0 || !node->seat.pools || !worker->spec->splits || worker->lost ||
        worker->queued > queue->count || queue->count + items > BATCH_TASKS_MAX ||
        left_to_run_ns(node, worker) > WAIT_HANDOFFS * handoff_ns ||
        !cache_is_ready(worker, kind)) {
        return false;
    }
    const struct config whole = {.batch = all};
    const int64_t all_ns = profile_run(node->profile, kind->run, device, all, whole).run_ns;
    return all_ns - handoff_ns < handoff_ns; /* It is a part of what a run takes. */
}

/* Move what waits in queue @number of @from to @to. */
static void move_all(struct node *node, struct worker *from, struct worker *to, uint32_t number)
{
    while (from->queues[number].count > 0) {
        const uint32_t slot = from->queues[number].head;
        const struct task *task = task_at(node, slot);
        trace_task(node, RECORD_STOLEN, visit_at(node, task->visit), task)->worker = to->id;
        dispatch_move(node, slot, to);
    }
}

/* Whether the tasks of queue @number at @from can run at @to, together with what is there. */
static bool can_join(
    const struct node *node, const struct worker *from, const struct worker *to, uint32_t number)
{
    const struct task *head = task_at(node, from->queues[number].head);
    const struct visit *visit = visit_at(node, head->visit);
    const struct need need = need_at(node, visit->workflow, head->number, head->items);
    return from != to && from->spec->device == to->spec->device && can_run(node, need, to->id) &&
           gather_pays(node, to, number, from->queues[number].items);
}

void gather_near(struct node *node, struct worker *worker)
{
    if (!node->seat.pools || node->worker_count < 2 || worker->running > 0) {
        return;
    }
    const uint32_t number = dispatch_next_queue(worker, QUEUE_NONE);
    if (number == QUEUE_NONE || !gather_pays(node, worker, number, /* items */ 0)) {
        return;
    }
    for (uint32_t i = 0; i < node->worker_count; i++) {
        struct worker *other = &node->workers[i];
        if (other->running > 0 && can_join(node, worker, other, number)) {
            move_all(node, worker, other, number);
            dispatch_wake(node, worker, now_ns(node) + LOOK_AGAIN_NS);
            return;
        }
    }
    for (uint32_t i = 0; i < node->worker_count; i++) {
        struct worker *other = &node->workers[i];
        if (other->queues[number].count > 0 && can_join(node, other, worker, number)) {
            move_all(node, other, worker, number);
        }
    }
}
