#include "node/offers.h"

#include "base/numbers.h"
#include "node/access.h"
#include "node/audit.h"
#include "node/grants.h"
#include "node/home.h"
#include "node/inbox.h"
#include "node/outbox.h"
#include "node/routing.h"
#include "node/rows.h"
#include "node/visits.h"

/*
 * How many units of @worker go to other tasks than @number that became ready together with it, each
 * to a home of its own. If all homes were told of the same units, most of them would be declined.
 * Tasks of the same number have the same home, which can run them together.
 */
static uint32_t units_for_others(struct node *node, struct worker *worker, uint32_t number)
{
    const uint64_t bit = UINT64_C(1) << number % 64;
    if (worker->offered_ns != now_ns(node)) {
        worker->offered_ns = now_ns(node);
        worker->offered = 0;
    }
    worker->offered |= bit;
    return (uint32_t)__builtin_popcountll(worker->offered & (bit - 1));
}

void offers_again(struct node *node, uint32_t slot)
{
    struct task *task = task_at(node, slot);
    const struct visit *visit = visit_at(node, task->visit);
    const struct workflow *workflow = workflow_at(node, visit->workflow);
    ASSERT(task->state == TASK_OFFERED);
    task->home = home_of(node, workflow->queue_first + task->number);
    task->epoch = node->view.members->epoch;
    trace_task(node, RECORD_OFFERED, visit, task)->value = task->home;
    struct message offer = visit_message(visit, MESSAGE_OFFER, task->number, task->worker);
    offer.work = visit_work(node, visit, task->items);
    struct worker *worker = own_worker(node, task->worker);
    struct message_units *free = &offer.offer.free;
    const uint32_t incarnation = members_incarnation(node->view.members, task->home);
    offer.sequence = rows_say(node, worker, task->home, incarnation, free);
    const uint32_t others = min_u32(units_for_others(node, worker, task->number), free->gpu);
    if (others > 0) { /* Its home believes so until a row comes, even if the others take none. */
        free->gpu -= others;
        worker->load_changed = true;
        worker->touched = true;
    }
    outbox_send(node, task->home, &offer);
}

void offers_make(struct node *node, uint32_t slot)
{
    struct task *task = task_at(node, slot);
    task_state_move(&task->state, TASK_OFFERED);
    task->ready_ns = now_ns(node);
    offers_again(node, slot);
}

bool offers_is_lost(const struct node *node, const struct task *task)
{
    return task->state == TASK_OFFERED &&
           !members_is_same(node->view.members, task->home, task->epoch);
}

void offers_withdraw(struct node *node, uint32_t slot)
{
    const struct task *task = task_at(node, slot);
    const struct message gone =
        visit_message(visit_at(node, task->visit), MESSAGE_GONE, task->number, task->worker);
    ASSERT(task->state == TASK_OFFERED);
    if (members_is_up(node->view.members, task->home)) {
        outbox_send(node, task->home, &gone);
    }
}

/* The task that @message is about, if it waits here; POOL_NONE if not. */
static uint32_t find_offered(const struct node *node, const struct message *message)
{
    const uint32_t visit = visits_of(node, message->job);
    if (visit == MAP_NONE || visit_at(node, visit)->workflow != message->workflow) {
        return POOL_NONE;
    }
    const uint32_t slot = visits_find(node, visit, message->task);
    return slot != POOL_NONE && task_at(node, slot)->state == TASK_OFFERED ? slot : POOL_NONE;
}

void offers_pulled(struct node *node, const struct message *message)
{
    const uint32_t slot = find_offered(node, message);
    if (slot == POOL_NONE) {
        struct message gone = *message;
        gone.kind = MESSAGE_GONE;
        gone.to_incarnation = message->from_incarnation;
        gone.worker = node->view.worker_first; /* Whichever of this node it was. */
        if (members_is_up(node->view.members, message->from)) {
            outbox_send(node, message->from, &gone);
        }
        return;
    }
    if (!view_is_own(&node->view, message->worker)) {
        visits_forward(node, slot, message->worker);
        return;
    }
    const uint32_t holder = task_at(node, slot)->worker;
    task_at(node, slot)->worker = message->worker;
    if (grants_take(node, slot)) {
        routing_bind(node, slot);
    } else {
        task_at(node, slot)->worker = holder; /* No worker here has asked. */
    }
}

void offers_sought(struct node *node, const struct message *message)
{
    if (find_offered(node, message) != POOL_NONE) {
        offers_pulled(node, message); /* What asked for it was lost. */
    } else {
        audit_find(node, message);
    }
}

void offers_unfit(struct node *node, const struct message *message)
{
    const uint32_t slot = find_offered(node, message);
    if (slot != POOL_NONE && task_at(node, slot)->home != message->from) {
        inbox_ignore(node, message);
        return;
    }
    if (slot != POOL_NONE && message->reason < REASON_COUNT) {
        visits_fail(node, slot, (enum reason)message->reason);
    }
}
