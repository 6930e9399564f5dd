#include "node/chains.h"

#include "node/access.h"
#include "node/bank.h"
#include "node/model_cache.h"

/* The first task of the straight chain that leads to @task. */
static uint32_t head_of(const struct workflow *workflow, uint32_t task)
{
    while (workflow->tasks[task].in_count == 1) {
        const uint32_t before = workflow_in(workflow, task, 0)->from;
        if (workflow->tasks[before].out_count != 1) {
            break;
        }
        task = before;
    }
    return task;
}

/* What handing a task of @kind over costs, if it takes longer than to run it; otherwise 0. */
static int64_t handoff_ns(
    const struct node *node, const struct workflow_task *kind, const struct batch *batch)
{
    const uint32_t device = node->fleet->workers[batch->worker].device;
    const int64_t each_ns = node->profile->models[kind->run].curves[device].handoff_ns;
    const struct config whole = {.batch = batch->items};
    const int64_t all_ns =
        each_ns == 0 ? 0
                     : profile_run(node->profile, kind->run, device, batch->items, whole).run_ns;
    return all_ns - each_ns < each_ns ? each_ns : 0; /* It is a part of what a run takes. */
}

void chains_note(struct node *node, const struct batch *batch)
{
    const struct workflow *workflow = workflow_at(node, batch->workflow);
    const struct workflow_task *kind = &workflow->tasks[batch->task];
    const uint32_t head = head_of(workflow, batch->task);
    if (head == batch->task || !node->fleet->workers[batch->worker].splits) {
        return;
    }
    const struct visit *visit = visit_at(node, task_at(node, batch->tasks[0])->visit);
    const uint32_t first = visit->placement[head];
    struct worker *worker =
        first == PLACEMENT_UNBOUND || first == batch->worker ? NULL : own_worker(node, first);
    const int64_t cost_ns = worker == NULL ? 0 : handoff_ns(node, kind, batch);
    if (cost_ns == 0 || !worker->spec->splits) {
        return;
    }
    for (uint32_t i = 0; i < kind->model_count; i++) {
        struct model_slot *slot = &worker->models[kind->models[i]];
        if (slot->state != MODEL_ABSENT || slot->withdrawn ||
            bank_has(node, worker, kind->models[i])) {
            continue;
        }
        slot->apart_ns += cost_ns;
        if (slot->apart_ns >= slot->load_ns + slot->first_run_ns && worker->warm == MODEL_NONE &&
            cache_welcome(node, worker, kind->models[i])) {
            slot->apart_ns = 0;
            worker->touched = true;
        }
    }
}
