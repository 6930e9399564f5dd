/*
 * watch.h - what the live screen shows of a cluster, read from its records.
 *
 * Counts and latencies of each workflow, what each worker runs, the last few jobs that were late
 * or failed, and the last few events of models. Of late jobs it says where their time went. The
 * last minutes are in its history.
 */
#ifndef SERVICE_WATCH_H
#define SERVICE_WATCH_H

#include "base/histogram.h"
#include "model/catalogue.h"
#include "model/fleet.h"
#include "node/record.h"
#include "trace/tally.h"

enum { WATCH_EVENTS = 32 }; /* That are kept, of each kind. */

struct history;
struct watch;

struct watch_workflow {
    uint64_t arrived;  /* Refused or not. */
    uint64_t refused;  /* When they came. */
    uint64_t done;     /* Answered well. */
    uint64_t late;     /* Of these: after the SLO. */
    uint64_t given_up; /* Ended at their deadline, or as they were sure to miss it. */
    uint64_t left;     /* Their clients have left. */
    uint64_t failed;   /* In any other way. */
    struct histogram latency_ns;
    int64_t late_ns[LATENCY_PARTS]; /* Where the time of the late ones went, all together. */
};

/* The last task that was started on a worker. */
struct watch_worker {
    uint32_t model;
    uint32_t workflow;
};

/* Models that came and went, all together. */
struct watch_loads {
    uint64_t loads;
    int64_t load_ns;
    uint64_t evictions;
};

enum watch_change { WATCH_LOADING, WATCH_LOADED, WATCH_EVICTED };

/* A model that comes, has come or went. */
struct watch_event {
    int64_t at_ns;
    uint32_t worker;
    uint32_t model;
    enum watch_change change;
    enum reason reason;
    int64_t took_ns; /* To load. */
};

/* A job that was late, or that failed. */
struct watch_job {
    int64_t at_ns; /* Of its answer. */
    struct job_id id;
    uint32_t workflow;
    enum reason reason; /* Why it failed; REASON_NONE: it was late. */
    int64_t latency_ns;
    int64_t late_ns;            /* How much later than its SLO it was answered. */
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

struct watch_loads watch_loads(const struct watch *watch);
struct history *watch_history(const struct watch *watch);

/* Of all workflows together. */
void watch_total(const struct watch *watch, struct watch_workflow *total_out);

/* The newest has index 0. NULL past the last that is kept, of WATCH_EVENTS at most. */
const struct watch_event *watch_event(const struct watch *watch, uint32_t index);
const struct watch_job *watch_job(const struct watch *watch, uint32_t index);

#endif /* SERVICE_WATCH_H */
