/*
 * latency_parts.h - where the time of a job went.
 *
 * The answer waited for the task that ended last, that for the last of its producers, and so on
 * back to the request. Along this path every moment belongs to one part, so that the parts add
 * up to the latency; what ran beside the path cost nothing.
 */
#ifndef TRACE_LATENCY_PARTS_H
#define TRACE_LATENCY_PARTS_H

#include "model/workflow.h"

enum latency_part {
    LATENCY_QUEUED,  /* A task waited for a worker. */
    LATENCY_LOADING, /* A task waited while its models were loaded. */
    LATENCY_RUNNING, /* A task ran. */
    LATENCY_MOVING,  /* None of these: transfers and decisions. */
    LATENCY_PARTS
};

/* What is known of one task of a job. All zero: nothing yet. */
struct latency_task {
    int64_t queued_ns; /* When it began to wait. */
    int64_t started_ns;
    int64_t ended_ns;   /* 0: it has not ended. */
    int64_t loading_ns; /* How much of its wait was a load of its models. */
    uint32_t worker;
};

struct latency_parts {
    int64_t ns[LATENCY_PARTS];
    int64_t longest_ns; /* The longest single piece. */
    enum latency_part longest;
    uint32_t task; /* Whose longest piece it was. */
    uint32_t worker;
};

/* "queued", "loading", "running", "moving". */
extern const char *const latency_part_names[LATENCY_PARTS];

/* Split the time from @begin_ns, the arrival, to @end_ns, the answer. @tasks by task. */
void latency_parts_split(
    const struct workflow *workflow, const struct latency_task *tasks, int64_t begin_ns,
    int64_t end_ns, struct latency_parts *parts_out);

#endif /* TRACE_LATENCY_PARTS_H */
