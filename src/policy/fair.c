/*
 * fair.c - every job may hold an equal part of the workers.
 *
 * Rule: as fifo, but a job that holds as many workers as its part takes no more of them:
 * what becomes ready then waits for the one of its own that is free first. The part is the
 * number of workers divided by that of unfinished jobs, rounded up. Workers that cannot run
 * the task, and what they do, do not count: each kind is divided by itself.
 * Source: dynamic_partition of Decima's simulator, "Spark fair" among the baselines of
 * Nona (papers: Nona, section 4.1). There jobs are counted by one scheduler. Rows tell of
 * tasks, so any other job counts once for each of its tasks that runs or waits, and not
 * while all it has is on its way: where jobs are wide, parts are smaller than there.
 * Ignores: models in memory, transfers, run times, deadlines.
 * Not for: light loads of wide jobs that arrive together, which it keeps narrow.
 */
#include "policy/executors.h"
#include "policy/registry.h"

/* This job, and what runs or waits on workers that it does not hold. */
static uint32_t jobs_seen(const struct view *view, const struct task_facts *task, struct need need)
{
    const uint32_t worker_count = view->fleet->worker_count;
    uint32_t count = 1;
    for (uint32_t worker = 0; worker < worker_count; worker++) {
        if (choose_can_run(view, worker, need) && !choose_is_idle(view, worker) &&
            !executors_holds(task, worker)) {
            count += 1 + view_load(view, worker)->queued_items;
        }
    }
    return count;
}

static uint32_t count_of(const struct view *view, struct need need)
{
    const uint32_t worker_count = view->fleet->worker_count;
    uint32_t count = 0;
    for (uint32_t worker = 0; worker < worker_count; worker++) {
        count += choose_can_run(view, worker, need) ? 1 : 0;
    }
    return count;
}

static uint32_t place_task(const struct policy_input *input, const struct task_facts *task)
{
    const struct need need = choose_need(input, task);
    const uint32_t jobs = jobs_seen(input->view, task, need);
    const uint32_t cap = (count_of(input->view, need) + jobs - 1) / jobs;
    return executors_place(input, task, cap);
}

static int64_t order(ATTR_UNUSED const struct policy_input *input, const struct ready_facts *task)
{
    return executors_order(task);
}

const struct policy policy_fair = {
    .name = "fair",
    .summary = "like fifo, but no job holds more than its part of the workers",
    .source = "dynamic_partition of Decima's simulator; a baseline of Nona",
    .ignores = "models in memory, transfers, run times, deadlines",
    .state_bytes = sizeof(struct executors_state),
    .place_task = place_task,
    .order = order,
};
