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
    const struct ready_facts facts = {
        .job = &job,
        .task = task->number,
        .items = task->items,
        .worker = task->worker,
        .ready_ns = task->ready_ns,
        .continues = task->continues,
    };
    return policy_hopeless(&node->seat, &facts);
}

bool give_up_queue(struct node *node, struct worker *worker, uint32_t number)
{
    const struct queue *queue = &worker->queues[number];
    while (queue->count > 0 && is_hopeless(node, task_at(node, queue->head))) {
        if (node->given_up == GIVE_UP_PER_STEP) {
            wake_at(node, now_ns(node), TIMER_DISPATCH, worker->id);
            return false;
        }
        node->given_up++;
        visits_fail(node, queue->head, REASON_LATE); /* May take others of its job along. */
    }
    return queue->count > 0;
}

bool give_up_tickets(struct node *node, uint32_t number)
{
    const struct home_queue *queue = &node->home.queues[number];
    while (queue->count > 0) {
        const struct ticket *head = ticket_at(node, queue->head);
        const struct job_facts job = tickets_facts(node, head);
        const struct ready_facts facts = {
            .job = &job,
            .task = head->task,
            .items = head->items,
            .worker = head->holder,
            .ready_ns = head->ready_ns,
        };
        if (head->deadline_ns == INT64_MAX || !policy_hopeless(&node->seat, &facts)) {
            return true;
        }
        if (node->given_up == GIVE_UP_PER_STEP) {
            return false;
        }
        node->given_up++;
        const uint32_t slot = queue->head;
        tickets_take(node, slot);
        tickets_refuse(node, slot, REASON_LATE);
    }
    return false;
}
