#include "node/withdrawn.h"

#include <string.h>

#include "node/access.h"
#include "node/routing.h"

bool withdrawn_can_be(
    const struct node *node, const struct visit *visit, const struct message *message)
{
    return visit->job.node != node->id && message->sequence == 0 &&
           !routing_waits(node, visit->workflow, message->task) &&
           message->work.placement[message->task] == message->worker &&
           workflow_at(node, visit->workflow)->tasks[message->task].in_count > 0;
}

void withdrawn_keep(struct node *node, const struct message *message)
{
    struct withdrawn *withdrawn = &node->withdrawn;
    if (withdrawn->count == WITHDRAWN_MAX) {
        withdrawn->count--;
        memmove(
            &withdrawn->items[0], &withdrawn->items[1],
            withdrawn->count * sizeof(withdrawn->items[0]));
    }
    withdrawn->items[withdrawn->count++] = (struct withdrawn_task){
        .job = message->job,
        .task = message->task,
        .attempt = message->attempt,
    };
}

bool withdrawn_take(struct node *node, const struct message *message, uint32_t number)
{
    struct withdrawn *withdrawn = &node->withdrawn;
    for (uint32_t i = 0; i < withdrawn->count; i++) {
        const struct withdrawn_task *item = &withdrawn->items[i];
        if (job_equal(item->job, message->job) && item->task == number &&
            item->attempt >= message->attempt) {
            withdrawn->count--;
            withdrawn->items[i] = withdrawn->items[withdrawn->count];
            return true;
        }
    }
    return false;
}
