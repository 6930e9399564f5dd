/*
 * weighed.h - what a policy weighed before it chose, for hosts that want to know.
 *
 * A policy calls weigh() for each worker that it looks at. Where the host has not asked, that is
 * one comparison; decisions are the same either way.
 */
#ifndef POLICY_WEIGHED_H
#define POLICY_WEIGHED_H

#include "base/attributes.h"
#include "policy/facts.h"

enum { WEIGHED_PER_TASK = 6 }; /* The best ones are kept. */

#define WEIGHED_LACKS_NOTHING UINT16_MAX

/* One worker that a task might have gone to. */
struct weighed_worker {
    uint32_t task;
    uint32_t worker;
    int64_t end_ns;       /* When the task would end there, with what the policy adds to that. */
    uint16_t lacks;       /* The first of its models that is not there. */
    struct config config; /* Of a home queue; otherwise the batch is 0. */
};

/* Of one question. The entries of a task follow each other. */
struct weighed {
    uint32_t count;
    uint32_t first; /* Of the task that was noted last. */
    struct weighed_worker items[WORKFLOW_TASKS_MAX * WEIGHED_PER_TASK];
};

/* Note @config, or none if it is NULL, for @task, number @number of its workflow, on @worker. */
ATTR_COLD void weighed_note(
    const struct policy_input *input, const struct workflow_task *task, uint32_t number,
    uint32_t worker, const struct config *config, int64_t end_ns);

static inline void weigh(
    const struct policy_input *input, const struct workflow *graph, uint32_t number,
    uint32_t worker, int64_t end_ns)
{
    if (input->weighed != NULL) {
        weighed_note(input, &graph->tasks[number], number, worker, /* config */ NULL, end_ns);
    }
}

#endif /* POLICY_WEIGHED_H */
