/*
 * weft_keep.h - what it costs that a model comes to a worker or leaves it, as weft sees it.
 *
 * That it leaves, the more, the sooner it is used again: demand.h. Nodes count jobs and loads only
 * where memory is short.
 */
#ifndef POLICY_WEFT_KEEP_H
#define POLICY_WEFT_KEEP_H

#include "policy/policy.h"

struct weft_plan;

/* Whether one part in @part of the memory of every worker has room for all models. */
bool weft_keep_have_all(const struct plan_input *input, uint32_t part);

/* Whether models may have to leave some worker: half of its memory cannot hold all of them. */
bool weft_keep_plan(const struct plan_input *input);

/* A job has come: what it needs will be needed. */
void weft_keep_arrived(const struct policy_input *input, const struct job_facts *job);

/* A task of @kind goes to @worker: loads that make other models leave count. */
void weft_keep_note(
    const struct policy_input *input, const struct workflow_task *kind, uint32_t worker);

/*
 * What a load of @load_ns for those of @kind costs others on @worker: nothing if there is room. One
 * that evicts is paid again, by tasks that wait for what left, and by those behind them.
 */
int64_t weft_keep_cost_ns(
    const struct policy_input *input, const struct workflow_task *kind, uint32_t worker,
    int64_t load_ns);

/* As scores have it where no queue is long. */
int64_t weft_keep_eviction_ns(
    const struct policy_input *input, const struct workflow_task *kind, uint32_t worker,
    int64_t absent_ns);

/* What all models of @kind take to load on a worker like @spec, and longer in their first run. */
int64_t weft_keep_load_ns(
    const struct profile *profile, const struct workflow_task *kind,
    const struct fleet_worker *spec);

/*
 * Whether each worker loads once what takes @load_ns, and may as well do so now instead of letting
 * a task wait: memory has room for all models, and the load is not long even for a job without a
 * deadline, which is due after @due_ns.
 */
bool weft_keep_is_once(const struct weft_plan *plan, int64_t load_ns, double due_ns);

/* How much of a load into free memory is forgiven: nearly all if it comes once in any case. */
double weft_keep_spread(const struct policy_input *input, const struct task_facts *facts);

#endif /* POLICY_WEFT_KEEP_H */
