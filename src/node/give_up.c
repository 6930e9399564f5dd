#include "node/give_up.h"

#include "node/access.h"
#include "node/tickets.h"
#include "node/visits.h"

static bool is_hopeless(struct node *node, const struct task *task)
{
    const struct visit *visit = visit_at(node, task->visit);
    if (visit->deadline_ns == INT64_MAX) {
        return false;
    }
    const struct job_facts job = visit_facts(node, visit);
    const struct ready_facts facts = visit_ready(task, &job);
    return policy_hopeless(&node->seat, &facts);
}

/*
 * Whether the rest is for the next step: so much is enough for one; and what it has launched
 * cannot be taken back before the host has seen it, as the end of its job would.
 */
static bool is_enough(const struct node *node)
{
    return node->launched || node->given_up == GIVE_UP_PER_STEP;
}

enum prospect give_up_head(struct node *node, const struct worker *worker, uint32_t number)
{
    const uint32_t head = worker->queues[number].head;
    if (!is_hopeless(node, task_at(node, head))) {
        return PROSPECT_GOOD;
    }
    if (is_enough(node)) {
        return PROSPECT_LATER;
    }
    node->given_up++;
    visits_fail(node, head, REASON_LATE);
    return PROSPECT_GONE;
}

bool give_up_tickets(struct node *node, uint32_t number)
{
    const struct home_queue *queue = &node->home.queues[number];
    while (queue->count > 0) {
        const struct ticket *head = ticket_at(node, queue->list.first);
        const struct job_facts job = tickets_facts(node, head);
        const struct ready_facts facts = tickets_ready(head, &job);
        if (head->deadline_ns == INT64_MAX || !policy_hopeless(&node->seat, &facts)) {
            return true;
        }
        if (is_enough(node)) {
            return false;
        }
        node->given_up++;
        const uint32_t slot = queue->list.first;
        tickets_take(node, slot);
        tickets_refuse(node, slot, REASON_LATE);
    }
    return false;
}
