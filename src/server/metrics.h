/*
 * metrics.h - counters and histograms, read from trace records and nothing else.
 *
 * The time of a job is split without gaps and overlaps, along the path of tasks that its answer
 * waited for (trace/latency_parts.h): one of them ran, or waited for a worker or its models, or
 * none did, while tensors moved and decisions were made.
 */
#ifndef SERVER_METRICS_H
#define SERVER_METRICS_H

#include "model/catalogue.h"
#include "model/fleet.h"
#include "node/record.h"
#include "protocol/buffer.h"
#include "trace/tally.h"

enum {
    METRICS_BOUNDS = 24,                 /* Of latencies; one more bucket lies above. */
    METRICS_ENDED = 2 * BATCH_TASKS_MAX, /* A batch may end a job with each of its tasks. */
};

struct metrics;
struct runtime;

/* Where the time of a job went. */
struct metrics_timing {
    int64_t queue_ns;
    int64_t run_ns;
    int64_t other_ns;
};

struct metrics_workflow {
    const struct tally_counts *tally; /* How its requests ended. */
    bool has_slo;
    uint64_t reasons[REASON_COUNT]; /* Of requests that were refused or failed. */
    uint64_t items;
    double batches;  /* A task in a batch of n is 1/n of it. */
    int64_t last_ns; /* When the last one was answered. */
    int64_t success_ns;
    int64_t fail_ns;
    struct metrics_timing time; /* Of succeeded jobs. */
    uint64_t latencies[METRICS_BOUNDS + 1];
};

struct metrics_model {
    uint64_t needed; /* By tasks that started. */
    uint64_t loads;
    uint64_t prefetches; /* Of the loads. */
    uint64_t load_failures;
    uint64_t evictions;
    uint64_t resident_bytes; /* In the memory of all workers, as they were planned. */
    int64_t evicted_age_ns;  /* Sum of how long they had been resident. */
};

struct metrics_totals {
    uint64_t placed;
    uint64_t moved; /* Placed again on the way. */
    uint64_t stolen;
    uint64_t nodes_lost;
};

/* Its requests that ended in any way but well. */
static inline uint64_t metrics_failures(const struct metrics_workflow *workflow)
{
    return tally_cancelled(workflow->tally) + workflow->tally->ended[OUTCOME_FAILED] +
           workflow->tally->ended[OUTCOME_REFUSED];
}

/* Both are borrowed. The caller owns it. */
struct metrics *metrics_create(const struct fleet *fleet, const struct catalogue *catalogue);
void metrics_destroy(struct metrics *metrics);

void metrics_add(struct metrics *metrics, const struct record *record);

/*
 * Of a job that has been answered well: the last METRICS_ENDED are known. False if it is none of
 * them.
 */
bool metrics_timing(
    const struct metrics *metrics, struct job_id job, struct metrics_timing *timing_out);

/* Borrowed, like the next two, and changed by the next record. */
const struct metrics_workflow *metrics_workflow(const struct metrics *metrics, uint32_t workflow);
const struct metrics_model *metrics_model(const struct metrics *metrics, uint32_t model);
const struct metrics_totals *metrics_totals(const struct metrics *metrics);
const struct catalogue *metrics_catalogue(const struct metrics *metrics);
const struct fleet *metrics_fleet(const struct metrics *metrics);

/* How long @worker has run batches that ended, each by its share of the worker. */
double metrics_busy_ns(const struct metrics *metrics, uint32_t worker);

/* The upper end of bucket @index, in seconds. */
double metrics_bound_s(uint32_t index);

/* Append everything in the text format of Prometheus. False if there is no memory. */
bool metrics_write(const struct metrics *metrics, struct buffer *buffer);

/* Workers and processes of @runtime. */
bool metrics_write_devices(
    const struct metrics *metrics, const struct runtime *runtime, struct buffer *buffer);

/* The process, as the system sees it, and its build. */
bool metrics_write_process(struct buffer *buffer);

/* What is known of @count GPUs. */
struct server_gpu;
bool metrics_write_gpus(struct buffer *buffer, const struct server_gpu *gpus, uint32_t count);

/* Whether requests are answered. */
bool metrics_write_ready(struct buffer *buffer, bool is_ready);

/* One family of samples without labels: @kind is "counter" or "gauge". */
bool metrics_write_one(
    struct buffer *buffer, const char *name, const char *kind, const char *help, double value);

#endif /* SERVER_METRICS_H */
