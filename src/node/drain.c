#include "node/drain.h"

#include "node/access.h"
#include "node/routing.h"
#include "node/rows.h"
#include "node/visits.h"

void drain_begin(struct node *node)
{
    node->draining = true;
    trace(node, RECORD_DRAINING, REASON_NONE);
    for (uint32_t i = 0; i < node->worker_count; i++) {
        rows_load_changed(node, &node->workers[i]);
    }
}

/*
 * Whether @task may go. Its own jobs end here, where their clients are. Where a task with several
 * successors is, joins may meet, as others know by now: see routing.h. So none is stolen, either.
 */
static bool can_leave(const struct node *node, const struct task *task)
{
    const struct visit *visit = visit_at(node, task->visit);
    return visit->job.node != node->id &&
           workflow_at(node, visit->workflow)->tasks[task->number].out_count <= 1;
}

/* Hand on what waits in @queue. True if there is more. */
static bool hand_on_queue(struct node *node, const struct queue *queue)
{
    uint32_t next = queue->head;
    while (next != POOL_NONE) {
        const uint32_t slot = next;
        const struct task *task = task_at(node, slot);
        next = task->next_in_queue;
        if (!can_leave(node, task)) {
            continue;
        }
        if (node->handed_on == HANDED_ON_PER_STEP) {
            return true;
        }
        const uint32_t worker = routing_elsewhere(node, slot);
        if (worker == WORKER_NONE) {
            return false; /* Those behind it want the same. */
        }
        node->handed_on++;
        visits_forward(node, slot, worker);
    }
    return false;
}

bool drain_hand_on(struct node *node, struct worker *worker)
{
    bool has_more = false;
    for (uint32_t i = worker->active_count; i-- > 0 && !has_more;) { /* The last takes its place. */
        has_more = hand_on_queue(node, &worker->queues[worker->active[i]]);
    }
    return has_more;
}

bool drain_is_over(const struct node *node)
{
    return node->job_count == 0 && node->visit_count == 0 && node->grant_count == 0 &&
           node->parked_count == 0;
}
