#include "node/give_up.h"

#include "node/access.h"
#include "node/dispatch.h"
#include "node/tickets.h"
#include "node/visits.h"

/* What was put off is put off once for the same hope or less; its job may still end. */
static enum hope unless_known(enum hope hope, uint8_t known)
{
    return hope <= known ? HOPE_GOOD : hope;
}

static enum hope hope_of(struct node *node, const struct task *task)
{
    const struct visit *visit = visit_at(node, task->visit);
    if (visit->deadline_ns == INT64_MAX) {
        return HOPE_GOOD;
    }
    const struct job_facts job = visit_facts(node, visit);
    const struct ready_facts facts = visit_ready(task, &job);
    return unless_known(policy_hope(&node->seat, &facts), task->hope);
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
    if (hope != HOPE_NONE) {
        dispatch_put_off(node, head, hope);
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
    return unless_known(policy_hope(&node->seat, &facts), ticket->hope);
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
        if (hope != HOPE_NONE) {
            tickets_put_off(node, slot, hope);
        } else {
            tickets_take(node, slot);
            tickets_refuse(node, slot, REASON_LATE);
        }
    }
    return false;
}
