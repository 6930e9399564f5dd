/*
 * weft_keep.h - what it costs that a model comes to a worker or leaves it, as weft sees it.
 *
 * That it leaves, the more, the sooner it is used again: demand.h. Nodes count jobs and loads only
 * where memory is short.
 */
#ifndef POLICY_WEFT_KEEP_H
#define POLICY_WEFT_KEEP_H

#include "policy/policy.h"

/* Whether one part in @part of the memory of every worker has room for all models. */
bool weft_keep_have_all(const struct plan_input *input, uint32_t part);

/* Whether models may have to leave some worker: half of its memory cannot hold all of them. */
bool weft_keep_plan(const struct plan_input *input);

/* A job has come: what it needs will be needed. */
void weft_keep_arrived(const struct policy_input *input, const struct job_facts *job);

/* A task of @kind goes to @worker: loads that make other models leave count. */
void weft_keep_note(
    const struct policy_input *input, const struct workflow_task *kind, uint32_t worker);

/* What is lost with a model that leaves @worker for those of @kind. */
int64_t weft_keep_loss_ns(
    const struct policy_input *input, const struct workflow_task *kind, uint32_t worker);

/* As scores have it where no queue is long. */
int64_t weft_keep_eviction_ns(
    const struct policy_input *input, const struct workflow_task *kind, uint32_t worker,
    int64_t absent_ns);

/*
 * How much of a load into free memory is forgiven. Where memory has room for all models each worker
 * loads each of them once, so that it may as well do so now instead of letting a task wait, unless
 * that is long even for a job without a deadline.
 */
double weft_keep_spread(const struct policy_input *input, const struct task_facts *facts);

#endif /* POLICY_WEFT_KEEP_H */
