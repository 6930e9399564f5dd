#include "node/steal.h"

#include "node/access.h"
#include "node/outbox.h"
#include "node/visits.h"

void steal_try(struct node *node, struct worker *worker)
{
    if (worker->asked || node->draining || worker->queued > 0 || worker->running > 0 ||
        worker->ask_at_ns > now_ns(node)) {
        return;
    }
    const uint32_t peer = policy_steal(&node->seat, worker->id);
    if (peer == WORKER_NONE || view_is_own(&node->view, peer)) {
        return;
    }
    worker->asked = true;
    const struct message message = {
        .kind = MESSAGE_STEAL,
        .job = {.node = node->id},
        .worker = worker->id,
        .victim = peer,
    };
    outbox_send(node, node_of_worker(node, peer), &message);
}

/* The queued task of @worker that would run last, of what @asker can run; POOL_NONE: none. */
static uint32_t last_queued(const struct node *node, const struct worker *worker, uint32_t asker)
{
    uint32_t last = POOL_NONE;
    for (uint32_t i = 0; i < worker->active_count; i++) {
        const uint32_t slot = worker->queues[worker->active[i]].tail;
        const struct task *task = task_at(node, slot);
        const struct task *best = last == POOL_NONE ? NULL : task_at(node, last);
        const struct need need =
            need_at(node, visit_at(node, task->visit)->workflow, task->number, task->items);
        if (!can_run(node, need, asker)) {
            continue;
        }
        if (best == NULL || task->key > best->key ||
            (task->key == best->key && task->arrival > best->arrival)) {
            last = slot;
        }
    }
    return last;
}

void steal_asked(struct node *node, const struct message *message)
{
    const struct worker *worker = own_worker(node, message->victim);
    const uint32_t slot = last_queued(node, worker, message->worker);
    if (slot == POOL_NONE || !members_is_up(node->view.members, message->from)) {
        const struct message nothing = {
            .kind = MESSAGE_NOTHING,
            .to_incarnation = message->from_incarnation,
            .job = {.node = node->id},
            .worker = message->worker,
        };
        outbox_send(node, message->from, &nothing);
        return;
    }
    struct task *task = task_at(node, slot);
    trace_task(node, RECORD_STOLEN, visit_at(node, task->visit), task)->worker = message->worker;
    visits_forward(node, slot, message->worker);
}

void steal_refused(struct node *node, uint32_t worker_id)
{
    struct worker *worker = own_worker(node, worker_id);
    if (worker != NULL) {
        worker->asked = false;
        worker->ask_at_ns = now_ns(node) + STEAL_PAUSE_NS; /* Or two idle nodes talk for ever. */
    }
}
