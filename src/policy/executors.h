/*
 * executors.h - workers as Decima's simulator sees executors: what fifo and fair share.
 *
 * A worker that ends a task stays in its job: the first task that becomes ready there goes
 * on at once, before all others that wait. What else becomes ready goes to an idle worker,
 * whichever, as long as its job holds fewer workers than its cap, and else to the one of its
 * own that is free first. There is no central queue here in which a task could wait for
 * whichever worker is free next: if none is idle it waits where work ends first. Workers of
 * different need are classes of executors: what is said of workers is said of those that can run
 * the task.
 */
#ifndef POLICY_EXECUTORS_H
#define POLICY_EXECUTORS_H

#include "policy/choose.h"

/* Which worker stayed in which job last: only one task continues there at a time. */
struct executors_state {
    uint64_t job;
    int64_t at_ns;
    uint32_t worker;
};

/* Whether a task placed before @task is on the same worker. */
static inline bool executors_is_repeated(const uint16_t *placement, uint32_t task)
{
    for (uint32_t before = 0; before < task; before++) {
        if (placement[before] == placement[task]) {
            return true;
        }
    }
    return false;
}

/* Whether the job holds @worker, as far as the node knows. */
static inline bool executors_holds(const struct task_facts *task, uint32_t worker)
{
    for (uint32_t i = 0; task->placement != NULL && i < task->job->graph->task_count; i++) {
        if (task->placement[i] == worker) {
            return true;
        }
    }
    return false;
}

/*
 * How many workers that meet @need the job holds, as far as the node knows: each that it has used.
 * Those that cannot run a task are not among what it may choose from.
 */
static inline uint32_t executors_held(
    const struct view *view, const struct task_facts *task, struct need need)
{
    uint32_t count = 0;
    for (uint32_t i = 0; task->placement != NULL && i < task->job->graph->task_count; i++) {
        if (task->placement[i] != PLACEMENT_UNBOUND &&
            choose_can_run(view, task->placement[i], need)) {
            count += executors_is_repeated(task->placement, i) ? 0 : 1;
        }
    }
    return count;
}

/* Of the workers that the job holds, the one that is free first and can be used. */
static inline uint32_t executors_own(
    const struct view *view, const struct task_facts *task, struct need need)
{
    uint32_t best = WORKER_NONE;
    int64_t best_ns = INT64_MAX;
    for (uint32_t i = 0; task->placement != NULL && i < task->job->graph->task_count; i++) {
        const uint32_t worker = placement_worker(task->placement[i]);
        if (worker == WORKER_NONE || !choose_can_use(view, worker, need)) {
            continue;
        }
        const int64_t free_at_ns = view_free_at_ns(view, worker);
        if (free_at_ns < best_ns || (free_at_ns == best_ns && worker < best)) {
            best = worker;
            best_ns = free_at_ns;
        }
    }
    return best;
}

/* Whether the worker that asks has just been released by this job, and by no sibling taken. */
static inline bool executors_stays(
    struct executors_state *state, const struct view *view, const struct task_facts *task,
    struct need need)
{
    const struct workflow_task *vertex = &task->job->graph->tasks[task->task];
    if (vertex->in_count == 0 || task->here == WORKER_NONE ||
        !choose_can_use(view, task->here, need)) {
        return false;
    }
    if (task->gathered) {
        return choose_is_idle(view, task->here); /* What released it may be elsewhere. */
    }
    const struct executors_state own = {
        .job = job_key(task->job->id), .at_ns = view->now_ns, .worker = task->here};
    const bool is_taken =
        state->job == own.job && state->at_ns == own.at_ns && state->worker == own.worker;
    *state = own;
    return !is_taken;
}

/* Where @task runs if its job may hold @cap of the workers that can run it. */
static inline uint32_t executors_place(
    const struct policy_input *input, const struct task_facts *task, uint32_t cap)
{
    const struct view *view = input->view;
    const struct need need = choose_need(input, task);
    if (executors_stays(input->state, view, task, need)) {
        return task->here;
    }
    if (executors_held(view, task, need) >= cap) {
        const uint32_t own = executors_own(view, task, need);
        if (own != WORKER_NONE) {
            return own;
        }
    }
    const uint32_t idle = choose_any_idle(view, need, input->rng);
    return idle != WORKER_NONE ? idle : choose_least_work(view, need);
}

/* What continues comes first, then the oldest job. */
static inline int64_t executors_order(const struct ready_facts *task)
{
    return task->continues ? INT64_MIN : task->job->arrived_ns;
}

#endif /* POLICY_EXECUTORS_H */
