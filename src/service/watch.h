/*
 * watch.h - what the live screen shows of a cluster, read from its records.
 *
 * Counts and latencies of each workflow, what each worker runs, the last few jobs that were late
 * or failed, and the last few events of models. Of late jobs it says where their time went.
 */
#ifndef SERVICE_WATCH_H
#define SERVICE_WATCH_H

#include "base/histogram.h"
#include "model/catalogue.h"
#include "model/fleet.h"
#include "node/record.h"
#include "trace/tally.h"

enum { WATCH_EVENTS = 8, WATCH_EVENT_BYTES = 160 };

struct watch;

struct watch_workflow {
    uint64_t arrived;
    uint64_t done;   /* Answered well. */
    uint64_t late;   /* Of these: after the SLO. */
    uint64_t failed; /* Refused, cancelled or failed. */
    struct histogram latency_ns;
    int64_t late_ns[LATENCY_PARTS]; /* Where the time of the late ones went, all together. */
};

struct watch_worker {
    uint32_t tasks; /* That run now. */
    uint32_t model; /* What the last of them runs. */
};

/* A model that came or went. */
struct watch_event {
    int64_t at_ns;
    char text[WATCH_EVENT_BYTES];
};

/* A job that was late, or that failed. */
struct watch_job {
    int64_t at_ns; /* Of its answer. */
    struct job_id id;
    uint32_t workflow;
    enum reason reason; /* Why it failed; REASON_NONE: it was late. */
    int64_t latency_ns;
    struct latency_parts spent; /* Of late ones. */
};

/* Both are borrowed. The caller owns it. */
struct watch *watch_create(const struct fleet *fleet, const struct catalogue *catalogue);

/* NULL is allowed. */
void watch_destroy(struct watch *watch);

/* Take the next record. */
void watch_add(struct watch *watch, const struct record *record);

/* Borrowed, and changed by the next record. */
const struct watch_workflow *watch_workflow(const struct watch *watch, uint32_t workflow);
const struct watch_worker *watch_worker(const struct watch *watch, uint32_t worker);

/* Of all workflows together. */
void watch_total(const struct watch *watch, struct watch_workflow *total_out);

/* The newest has index 0. NULL past the last that is kept, of WATCH_EVENTS at most. */
const struct watch_event *watch_event(const struct watch *watch, uint32_t index);
const struct watch_job *watch_job(const struct watch *watch, uint32_t index);

#endif /* SERVICE_WATCH_H */
