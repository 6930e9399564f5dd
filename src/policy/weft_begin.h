/*
 * weft_begin.h - which jobs weft puts off before they begin.
 *
 * A job that is put off at a later task has spent what the tasks before took. Under overload its
 * first task, which has most of the time before it, is hardly ever too late, and all jobs begin.
 * Rows say which share of the tasks after the first ones homes put off of late, and most of the
 * jobs that would be lost so are put off at once, those of lower priorities first.
 */
#ifndef POLICY_WEFT_BEGIN_H
#define POLICY_WEFT_BEGIN_H

#include "policy/policy.h"

/* What a home knows of it. */
struct weft_begin {
    int64_t at_ns;                  /* When the share was found out; 0: never. */
    int64_t share;                  /* Of jobs that do not begin, in 2^20ths. */
    int64_t jobs[PRIORITY_MAX + 1]; /* By priority: the part of those that came to this node. */
};

/* @job has come to this node. */
void weft_begin_note(const struct policy_input *input, const struct job_facts *job);

/* Whether the job of @task, which waits in a home queue, is to be put off at its first task. */
bool weft_begin_not(const struct policy_input *input, const struct ready_facts *task);

#endif /* POLICY_WEFT_BEGIN_H */
