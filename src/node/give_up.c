#include "node/give_up.h"

#include "node/access.h"
#include "node/dispatch.h"
#include "node/tickets.h"
#include "node/visits.h"

/* What was put off is put off once; its job may still end. */
static enum hope unless_put_off(enum hope hope, bool put_off)
{
    return put_off && hope == HOPE_LATE ? HOPE_GOOD : hope;
}

static enum hope hope_of(struct node *node, const struct task *task)
{
    const struct visit *visit = visit_at(node, task->visit);
    if (visit->deadline_ns == INT64_MAX) {
        return HOPE_GOOD;
    }
    const struct job_facts job = visit_facts(node, visit);
    const struct ready_facts facts = visit_ready(task, &job);
    return unless_put_off(policy_hope(&node->seat, &facts), task->put_off);
}

/* Whether the rest is for the next step: so much is enough for one. */
static bool is_enough(const struct node *node)
{
    return node->given_up == GIVE_UP_PER_STEP;
}

enum prospect give_up_head(struct node *node, const struct worker *worker, uint32_t number)
{
    const uint32_t head = worker->queues[number].head;
    const enum hope hope = hope_of(node, task_at(node, head));
    if (hope == HOPE_GOOD) {
        return PROSPECT_GOOD;
    }
    if (is_enough(node)) {
        return PROSPECT_LATER;
    }
    node->given_up++;
    if (hope == HOPE_LATE) {
        dispatch_put_off(node, head);
    } else {
        visits_fail(node, head, REASON_LATE);
    }
    return PROSPECT_GONE;
}

static enum hope hope_of_ticket(struct node *node, const struct ticket *ticket)
{
    if (ticket->deadline_ns == INT64_MAX) {
        return HOPE_GOOD;
    }
    const struct job_facts job = tickets_facts(node, ticket);
    const struct ready_facts facts = tickets_ready(ticket, &job);
    return unless_put_off(policy_hope(&node->seat, &facts), ticket->put_off);
}

bool give_up_tickets(struct node *node, uint32_t number)
{
    const struct home_queue *queue = &node->home.queues[number];
    while (queue->count > 0) {
        const uint32_t slot = queue->list.first;
        const enum hope hope = hope_of_ticket(node, ticket_at(node, slot));
        if (hope == HOPE_GOOD) {
            return true;
        }
        if (is_enough(node)) {
            return false;
        }
        node->given_up++;
        if (hope == HOPE_LATE) {
            tickets_put_off(node, slot);
        } else {
            tickets_take(node, slot);
            tickets_refuse(node, slot, REASON_LATE);
        }
    }
    return false;
}
