/*
 * edf.c - the task whose job is due first runs first.
 *
 * Rule: ready tasks by the deadline of their job, equal ones as they came. Jobs without
 * a deadline follow all that have one, by arrival of the job.
 * Source: earliest deadline first (Liu and Layland, 1973, section 7).
 * Ignores: how much of a job is left to do, run times.
 * Not for: lasting overload without admission, where it serves jobs that are late
 * anyway and makes the next ones late too.
 */
#include "base/assert.h"
#include "policy/policy.h"
#include "policy/registry.h"

/* Keys from here on belong to jobs without a deadline. 2^62 ns are 146 years. */
#define KEY_NO_DEADLINE (INT64_C(1) << 62)

static int64_t order(ATTR_UNUSED const struct policy_input *input, const struct ready_facts *task)
{
    const struct job_facts *job = task->job;
    if (job->deadline_ns < KEY_NO_DEADLINE) {
        return job->deadline_ns;
    }
    ASSERT(job->arrived_ns >= 0 && job->arrived_ns < KEY_NO_DEADLINE);
    return KEY_NO_DEADLINE + job->arrived_ns;
}

const struct policy policy_edf = {
    .name = "edf",
    .summary = "earliest deadline first; jobs without a deadline last",
    .source = "earliest deadline first (Liu and Layland, 1973)",
    .ignores = "the work left in a job, run times",
    .by_deadline = true,
    .order = order,
};
