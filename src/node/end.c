/* end.c - the end of a node: every slot it holds in shared pools goes back. */
#include "node/access.h"
#include "node/keys.h"
#include "node/rows.h"

static void drop_tensor(struct node *node, uint32_t slot)
{
    struct tensor *tensor = tensor_at(node, slot);
    tensor->references--;
    if (tensor->references == 0) {
        pool_give(&node->pools->tensors, slot);
    }
}

static void drop_inputs(struct node *node, uint32_t slot)
{
    while (slot != POOL_NONE) {
        const struct input input = *input_at(node, slot);
        drop_tensor(node, input.tensor);
        pool_give(&node->pools->inputs, slot);
        slot = input.next;
    }
}

static void drop_tasks(struct node *node, uint32_t slot)
{
    while (slot != POOL_NONE) {
        const struct task task = *task_at(node, slot);
        drop_inputs(node, task.inputs);
        pool_give(&node->pools->tasks, slot);
        slot = task.next_of_visit;
    }
}

/* Visits that were dropped while tasks of theirs ran are known to batches alone. */
static void drop_batch(struct node *node, uint32_t slot)
{
    const struct batch *batch = batch_at(node, slot);
    for (uint32_t i = 0; i < batch->task_count; i++) {
        const uint32_t visit_slot = task_at(node, batch->tasks[i])->visit;
        struct visit *visit = visit_at(node, visit_slot);
        if (!visit->dropped) {
            continue; /* Goes with the list of visits. */
        }
        uint32_t *link = &visit->tasks;
        while (*link != batch->tasks[i]) {
            link = &task_at(node, *link)->next_of_visit;
        }
        *link = task_at(node, batch->tasks[i])->next_of_visit;
        drop_inputs(node, task_at(node, batch->tasks[i])->inputs);
        pool_give(&node->pools->tasks, batch->tasks[i]);
        if (visit->tasks == POOL_NONE) {
            pool_give(&node->pools->visits, visit_slot);
        }
    }
}

static void end_worker(struct node *node, struct worker *worker)
{
    uint32_t slot = worker->batches;
    while (slot != POOL_NONE) {
        const uint32_t next = batch_at(node, slot)->next;
        drop_batch(node, slot);
        pool_give(&node->pools->batches, slot);
        slot = next;
    }
    slot = worker->grants;
    while (slot != POOL_NONE) {
        const uint32_t next = grant_at(node, slot)->next;
        pool_give(&node->pools->grants, slot);
        slot = next;
    }
    slot = worker->notices;
    while (slot != POOL_NONE) {
        const uint32_t next = ((struct notice *)pool_at(&node->pools->notices, slot))->next;
        pool_give(&node->pools->notices, slot);
        slot = next;
    }
}

static void drop_tickets(struct node *node, uint32_t slot)
{
    while (slot != POOL_NONE) {
        const uint32_t next = ticket_at(node, slot)->link.next;
        pool_give(&node->pools->tickets, slot);
        slot = next;
    }
}

static void end_home(struct node *node)
{
    struct home *home = &node->home;
    for (uint32_t i = 0; i < home->active_count; i++) {
        drop_tickets(node, home->queues[home->active[i]].list.first);
    }
    uint32_t slot = home->claim_list.first;
    while (slot != POOL_NONE) {
        const struct claim claim = *claim_at(node, slot);
        drop_tickets(node, claim.tickets);
        pool_give(&node->pools->claims, slot);
        slot = claim.link.next;
    }
    if (home->queues != NULL) {
        map_deinit(&home->tickets);
        map_deinit(&home->claims);
    }
}

static void end_jobs(struct node *node)
{
    uint32_t slot = node->job_list.first;
    while (slot != POOL_NONE) {
        const struct job job = *job_at(node, slot);
        drop_tensor(node, job.inputs);
        drop_inputs(node, job.outputs);
        pool_give(&node->pools->jobs, slot);
        slot = job.link.next;
    }
    slot = node->visit_list.first;
    while (slot != POOL_NONE) {
        const struct visit visit = *visit_at(node, slot);
        drop_tasks(node, visit.tasks);
        pool_give(&node->pools->visits, slot);
        slot = visit.link.next;
    }
    slot = node->parked_first;
    while (slot != POOL_NONE) {
        const struct parked *parked = pool_at(&node->pools->parked, slot);
        const uint32_t next = parked->next;
        if (parked->tensor != POOL_NONE) {
            drop_tensor(node, parked->tensor);
        }
        pool_give(&node->pools->parked, slot);
        slot = next;
    }
}

static void end_keys(struct node *node)
{
    uint32_t slot = node->keys.list.first;
    while (slot != POOL_NONE) {
        const struct keyed entry = *(struct keyed *)pool_at(&node->pools->keyed, slot);
        if (entry.inputs != POOL_NONE) {
            drop_tensor(node, entry.inputs);
        }
        drop_inputs(node, entry.outputs);
        pool_give(&node->pools->keyed, slot);
        slot = entry.link.next;
    }
    if (node->keys.is_on) {
        map_deinit(&node->keys.by_key);
        map_deinit(&node->keys.by_job);
    }
}

void node_destroy(struct node *node)
{
    if (node == NULL) {
        return;
    }
    for (uint32_t i = 0; i < node->worker_count; i++) {
        end_worker(node, &node->workers[i]);
    }
    end_jobs(node);
    end_home(node);
    const struct reservations *noted = &node->view.reservations;
    for (uint32_t i = 0; noted->count > 0 && i < node->fleet->worker_count; i++) {
        reservations_forget(&node->view.reservations, i);
    }
    end_keys(node);
    map_deinit(&node->jobs);
    map_deinit(&node->visits);
}
