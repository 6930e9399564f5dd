/*
 * fifo.c - the oldest job first, on the worker that has just let go of it.
 *
 * Rule: a task stays on the worker that released it if that one is idle, or if nobody
 * else is; otherwise the first idle worker takes it. Tasks without predecessors go where
 * work ends first. Queues are in the order in which the jobs arrived.
 * Source: spark_fifo of Decima's simulator, a baseline of Nona (papers: Nona, section
 * 4.1): executors stay in the job that releases them, else serve the oldest job.
 * Ignores: models in memory, transfers, run times, deadlines. Decima's executors are
 * alike and its jobs have neither models nor data.
 * Not for: mixed loads of short and long jobs, where the short ones wait for the long.
 */
#include "policy/choose.h"
#include "policy/registry.h"

static bool is_idle(const struct view *view, uint32_t worker)
{
    return view_free_at_ns(view, worker) <= view->now_ns;
}

static uint32_t first_idle(const struct view *view)
{
    const uint32_t worker_count = view->fleet->worker_count;
    for (uint32_t worker = 0; worker < worker_count; worker++) {
        if (is_idle(view, worker) && view_is_usable(view, worker)) {
            return worker;
        }
    }
    return WORKER_NONE;
}

static uint32_t place_task(const struct policy_input *input, const struct task_facts *task)
{
    const struct view *view = input->view;
    const bool is_entry = task->job->graph->tasks[task->task].in_count == 0;
    if (is_entry || task->here == WORKER_NONE || !view_is_usable(view, task->here)) {
        return choose_least_work(view);
    }
    if (is_idle(view, task->here)) {
        return task->here;
    }
    const uint32_t idle = first_idle(view);
    return idle != WORKER_NONE ? idle : task->here;
}

static int64_t order(ATTR_UNUSED const struct policy_input *input, const struct ready_facts *task)
{
    return task->job->arrived_ns;
}

const struct policy policy_fifo = {
    .name = "fifo",
    .summary = "oldest job first; a task stays where its predecessor ran unless others idle",
    .source = "spark_fifo of Decima's simulator; a baseline of Nona",
    .ignores = "models in memory, transfers, run times, deadlines",
    .place_task = place_task,
    .order = order,
};
