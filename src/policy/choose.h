/*
 * choose.h - what several policies look for: a worker that can be used, by some measure.
 *
 * A worker can be used for a task if it is usable and meets what the task needs: profile/need.h.
 * Each function scans workers in ascending order and compares strictly, so that the lowest index
 * wins a tie. WORKER_NONE if no worker can be used.
 */
#ifndef POLICY_CHOOSE_H
#define POLICY_CHOOSE_H

#include "base/hash.h"
#include "policy/policy.h"
#include "profile/fresh.h"
#include "profile/need.h"

/*
 * What @task of a job that is planned needs at least: how many items it will have is known only
 * of sources. What turns out to have more than its worker can hold is placed again on its way.
 */
static inline struct need choose_plan_need(
    const struct policy_input *input, const struct job_facts *job, uint32_t task)
{
    const struct workflow_task *vertex = &job->graph->tasks[task];
    return need_of(input->profile, vertex, vertex->in_count == 0 ? job->items : 1);
}

/* What a task on its way needs. */
static inline struct need choose_need(
    const struct policy_input *input, const struct task_facts *task)
{
    return need_of(input->profile, &task->job->graph->tasks[task->task], task->items);
}

static inline bool choose_can_run(const struct view *view, uint32_t worker, struct need need)
{
    return need_is_met(need, &view->fleet->workers[worker]);
}

static inline bool choose_can_use(const struct view *view, uint32_t worker, struct need need)
{
    return choose_can_run(view, worker, need) && view_is_usable(view, worker);
}

/*
 * The worker @index places after this node's first one, round the fleet. Homes that look at workers
 * in this order, each from itself on, take different ones of those that are equal by their rows: if
 * all took the lowest, its node would have to decline most of them.
 */
static inline uint32_t choose_round(const struct view *view, uint32_t index)
{
    const uint32_t worker = view->worker_first + index;
    return worker < view->fleet->worker_count ? worker : worker - view->fleet->worker_count;
}

static inline uint32_t choose_first(const struct view *view, struct need need)
{
    const uint32_t worker_count = view->fleet->worker_count;
    for (uint32_t worker = 0; worker < worker_count; worker++) {
        if (choose_can_use(view, worker, need)) {
            return worker;
        }
    }
    return WORKER_NONE;
}

static inline uint32_t choose_first_usable(const struct view *view)
{
    return choose_first(view, NEED_NOTHING);
}

/* The better of @best and those of the view's own workers that can be used. */
static inline uint32_t choose_own_or(
    const struct view *view, struct need need, uint32_t best, int64_t best_ns)
{
    for (uint32_t i = 0; i < view->worker_count; i++) {
        const uint32_t worker = view->worker_first + i;
        const int64_t free_at_ns = view_free_at_ns(view, worker);
        const bool better = free_at_ns < best_ns || (free_at_ns == best_ns && worker < best);
        if (better && choose_can_use(view, worker, need)) {
            best = worker;
            best_ns = free_at_ns;
        }
    }
    return best;
}

/* The one that is free first. An idle one ends the search: none is free before now. */
static inline uint32_t choose_least_work(const struct view *view, struct need need)
{
    const uint32_t worker_count = view->fleet->worker_count;
    uint32_t best = WORKER_NONE;
    int64_t best_ns = INT64_MAX;
    uint32_t worker = view_earliest(view);
    if (worker != WORKER_NONE && choose_can_use(view, worker, need)) {
        const int64_t free_at_ns = view_free_at_ns(view, worker);
        if (free_at_ns == view_row_free_at_ns(view, worker)) {
            /* Nothing adds to what its row says. */
            return choose_own_or(view, need, worker, free_at_ns);
        }
        best_ns = free_at_ns + 1; /* So no worker that is free later has to be looked at. */
    }
    worker = 0;
    while (worker < worker_count && best_ns > view->now_ns) {
        const int64_t free_at_ns = view_free_at_ns(view, worker);
        if (free_at_ns < best_ns && choose_can_use(view, worker, need)) {
            best = worker;
            best_ns = free_at_ns;
        }
        worker = view_skip_busy(view, worker + 1, best_ns);
    }
    return best;
}

static inline bool choose_is_idle(const struct view *view, uint32_t worker)
{
    return view_free_at_ns(view, worker) <= view->now_ns;
}

/*
 * Any idle one, drawn evenly: many nodes with the same rows would all take the lowest. One
 * draw, and none if no worker is idle: WORKER_NONE then.
 */
static inline uint32_t choose_any_idle(const struct view *view, struct need need, struct rng *rng)
{
    const uint32_t worker_count = view->fleet->worker_count;
    uint32_t idle = 0;
    for (uint32_t worker = 0; worker < worker_count; worker++) {
        idle += choose_is_idle(view, worker) && choose_can_use(view, worker, need) ? 1 : 0;
    }
    if (idle == 0) {
        return WORKER_NONE;
    }
    uint32_t left = rng_below(rng, idle);
    uint32_t worker = 0;
    while (!choose_is_idle(view, worker) || !choose_can_use(view, worker, need) || left-- > 0) {
        worker++;
    }
    return worker;
}

/* Number @index of those that can be used, counted from 0. */
static inline uint32_t choose_usable_at(const struct view *view, struct need need, uint32_t index)
{
    const uint32_t worker_count = view->fleet->worker_count;
    for (uint32_t worker = 0; worker < worker_count; worker++) {
        if (choose_can_use(view, worker, need) && index-- == 0) {
            return worker;
        }
    }
    return WORKER_NONE;
}

static inline uint32_t choose_usable_count(const struct view *view, struct need need)
{
    const uint32_t worker_count = view->fleet->worker_count;
    uint32_t count = 0;
    for (uint32_t worker = 0; worker < worker_count; worker++) {
        count += choose_can_use(view, worker, need) ? 1 : 0;
    }
    return count;
}

/*
 * A worker by the hash of task name and job: the hash modulo the number of workers. If that
 * one cannot be used, the same among those that can, so that losing a worker moves only what
 * was on it, and none are counted while all are well and alike.
 */
static inline uint32_t choose_by_hash(
    const struct policy_input *input, const struct job_facts *job, uint32_t task)
{
    const struct view *view = input->view;
    const struct need need = choose_plan_need(input, job, task);
    const uint64_t hash = hash_mix(hash_text(job->graph->tasks[task].name), job_key(job->id));
    const uint32_t worker = (uint32_t)(hash % view->fleet->worker_count);
    if (choose_can_use(view, worker, need)) {
        return worker;
    }
    const uint32_t usable_count = choose_usable_count(view, need);
    if (usable_count == 0) {
        return WORKER_NONE;
    }
    /* Mixed again: where the two counts have a divisor in common, so do the remainders. */
    return choose_usable_at(view, need, (uint32_t)(hash_mix(hash, 0) % usable_count));
}

/* choose_by_hash() for every task: a whole placement. What no worker can run stays unbound. */
static inline void choose_placement_by_hash(
    const struct policy_input *input, const struct job_facts *job, uint16_t *placement_out)
{
    for (uint32_t task = 0; task < job->graph->task_count; task++) {
        const uint32_t worker = choose_by_hash(input, job, task);
        if (worker != WORKER_NONE) {
            placement_out[task] = (uint16_t)worker;
        }
    }
}

/* Whether all models of @task are there at @worker, not only on their way. */
static inline bool choose_has_models(
    const struct view *view, uint32_t worker, const struct workflow_task *task)
{
    const struct row_cache *cache = view_cache(view, worker);
    bool has_all = true;
    for (uint32_t i = 0; i < task->model_count && has_all; i++) {
        has_all = model_set_has(&cache->resident, task->models[i]);
    }
    return has_all;
}

/* What it costs @worker that it neither holds nor loads models of a task. */
static inline int64_t choose_missing_load_ns(
    const struct policy_input *input, const struct workflow_task *task, uint32_t worker)
{
    const struct view *view = input->view;
    int64_t load_ns = 0;
    for (uint32_t i = 0; i < task->model_count; i++) {
        if (!view_holds_model(view, worker, task->models[i])) {
            load_ns +=
                profile_absent_ns(input->profile, task->models[i], &view->fleet->workers[worker]);
        }
    }
    return load_ns;
}

/* The entry used longest ago: the index of the first one in a tie. */
static inline uint32_t choose_least_recent(const struct cache_facts *cache)
{
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < cache->count; i++) {
        if (cache->entries[i].used_ns < cache->entries[oldest].used_ns) {
            oldest = i;
        }
    }
    return oldest;
}

#endif /* POLICY_CHOOSE_H */
