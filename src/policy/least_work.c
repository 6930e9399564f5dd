/*
 * least_work.c - every task goes to the worker with the least work left.
 *
 * Rule: when a task is ready, of the workers that can run it the one that is free first; the
 * lowest index wins a tie.
 * Source: join the shortest workload; the state-aware reference of queueing theory
 * (least work left: Harchol-Balter, Performance Modeling and Design, chapter 24).
 * Ignores: models in memory, transfers, how fast a device is, deadlines.
 * Not for: fleets short of memory, where it loads every model everywhere, or many nodes
 * with old rows, which all choose the same idle worker.
 */
#include "policy/choose.h"
#include "policy/registry.h"
#include "policy/weighed.h"

/* The search does not look at all of them. */
static void weigh_all(
    const struct policy_input *input, const struct task_facts *task, struct need need)
{
    const struct view *view = input->view;
    const struct workflow *graph = task->job->graph;
    for (uint32_t worker = 0; worker < view->fleet->worker_count; worker++) {
        if (choose_can_use(view, worker, need)) {
            const int64_t run_ns = profile_run_alone_ns(
                input->profile, graph->tasks[task->task].run, view->fleet->workers[worker].device,
                task->items);
            weigh(input, graph, task->task, worker, view_free_at_ns(view, worker) + run_ns);
        }
    }
}

static uint32_t place_task(const struct policy_input *input, const struct task_facts *task)
{
    const struct need need = choose_need(input, task);
    if (input->weighed != NULL) {
        weigh_all(input, task, need);
    }
    return choose_least_work(input->view, need);
}

const struct policy policy_least_work = {
    .name = "least-work",
    .summary = "send each ready task to the worker that is free first",
    .source = "least work left (join the shortest workload)",
    .ignores = "models in memory, transfers, device speeds, deadlines",
    .place_task = place_task,
};
