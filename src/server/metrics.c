#include "server/metrics.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/numbers.h"

/* A job that has been answered well, and where its time went. */
struct ended_job {
    struct job_id job; /* Number 0: none yet. */
    struct metrics_timing time;
};

struct metrics {
    const struct fleet *fleet;
    const struct catalogue *catalogue;
    struct metrics_workflow *workflows;
    struct metrics_model *models;
    struct metrics_totals totals;
    int64_t *loaded_ns; /* By worker and model, like the next. */
    uint64_t
        *loaded_bytes; /* Of the first worker with the same memory: what the model takes there. */
    struct model_set *resident; /* By worker. */
    double *busy_ns;            /* By worker. */
    struct tally *tally;
    uint64_t ended_count;
    struct ended_job ended[METRICS_ENDED]; /* The newest, in a ring. */
};

/* Upper ends, in microseconds: half a millisecond to two minutes, two or three an octave. */
static const int64_t bounds_us[METRICS_BOUNDS] = {
    100,    250,     500,     1000,    2500,    5000,     10000,    20000,
    30000,  50000,   75000,   100000,  150000,  200000,   300000,   500000,
    750000, 1000000, 1500000, 2500000, 5000000, 10000000, 30000000, 120000000};

struct metrics *metrics_create(const struct fleet *fleet, const struct catalogue *catalogue)
{
    struct metrics *metrics = memory_zeroed(1, sizeof(*metrics));
    metrics->fleet = fleet;
    metrics->catalogue = catalogue;
    metrics->workflows = memory_zeroed(catalogue->workflow_count + 1, sizeof(*metrics->workflows));
    metrics->models = memory_zeroed(catalogue->model_count + 1, sizeof(*metrics->models));
    metrics->loaded_ns = memory_zeroed(
        (size_t)fleet->worker_count * catalogue->model_count + 1, sizeof(*metrics->loaded_ns));
    metrics->loaded_bytes = memory_zeroed(
        (size_t)fleet->worker_count * catalogue->model_count + 1, sizeof(*metrics->loaded_bytes));
    metrics->resident = memory_zeroed(fleet->worker_count + 1, sizeof(*metrics->resident));
    metrics->busy_ns = memory_zeroed(fleet->worker_count + 1, sizeof(*metrics->busy_ns));
    metrics->tally = tally_create(fleet, catalogue, /* follows */ true);
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        metrics->workflows[i].tally = tally_workflow(metrics->tally, i);
        metrics->workflows[i].has_slo = catalogue->workflows[i]->slo_ns > 0;
    }
    return metrics;
}

void metrics_destroy(struct metrics *metrics)
{
    if (metrics == NULL) {
        return;
    }
    tally_destroy(metrics->tally);
    free(metrics->workflows);
    free(metrics->models);
    free(metrics->loaded_ns);
    free(metrics->loaded_bytes);
    free(metrics->resident);
    free(metrics->busy_ns);
    free(metrics);
}

static uint32_t bucket_of(int64_t latency_ns)
{
    uint32_t index = 0;
    while (index < METRICS_BOUNDS && latency_ns > bounds_us[index] * 1000) {
        index++;
    }
    return index;
}

static void note_success(
    struct metrics *metrics, const struct record *record, const struct latency_parts *parts)
{
    struct metrics_workflow *counts = &metrics->workflows[record->workflow];
    const struct metrics_timing time = {
        .queue_ns = parts->ns[LATENCY_QUEUED] + parts->ns[LATENCY_LOADING],
        .run_ns = parts->ns[LATENCY_RUNNING],
        .other_ns = parts->ns[LATENCY_MOVING],
    };
    counts->success_ns += record->value;
    counts->latencies[bucket_of(record->value)]++;
    counts->time.queue_ns += time.queue_ns;
    counts->time.run_ns += time.run_ns;
    counts->time.other_ns += time.other_ns;
    metrics->ended[metrics->ended_count % METRICS_ENDED] =
        (struct ended_job){.job = record->job, .time = time};
    metrics->ended_count++;
}

static void note_end(
    struct metrics *metrics, const struct record *record, enum outcome outcome,
    const struct latency_parts *parts)
{
    struct metrics_workflow *counts = &metrics->workflows[record->workflow];
    if (outcome != OUTCOME_REFUSED) {
        counts->last_ns = record->at_ns;
    }
    if (outcome == OUTCOME_GOOD || outcome == OUTCOME_SLOW) {
        note_success(metrics, record, parts);
    } else if (outcome == OUTCOME_FAILED || outcome == OUTCOME_REFUSED) {
        counts->reasons[record->reason]++;
        counts->fail_ns += outcome == OUTCOME_FAILED ? record->value : 0;
    }
}

static void note_started(struct metrics *metrics, const struct record *record)
{
    const struct workflow *workflow = metrics->catalogue->workflows[record->workflow];
    const struct workflow_task *task = &workflow->tasks[record->task];
    struct metrics_workflow *counts = &metrics->workflows[record->workflow];
    counts->batches += record->batch > 0 ? 1.0 / record->batch : 1.0;
    for (uint32_t i = 0; i < task->model_count; i++) {
        metrics->models[task->models[i]].needed++;
    }
}

/* Whether @worker, or one that it shares its memory with, has @model. */
static bool is_there(const struct metrics *metrics, uint32_t worker, uint32_t model)
{
    const struct fleet *fleet = metrics->fleet;
    bool is_found = model_set_has(&metrics->resident[worker], model);
    for (uint32_t other = fleet_next_sharer(fleet, worker, WORKER_NONE); other != WORKER_NONE;
         other = fleet_next_sharer(fleet, worker, other)) {
        is_found = is_found || model_set_has(&metrics->resident[other], model);
    }
    return is_found;
}

static void note_model(struct metrics *metrics, const struct record *record)
{
    ASSERT(record->model < metrics->catalogue->model_count);
    ASSERT(record->worker < metrics->fleet->worker_count);
    struct metrics_model *model = &metrics->models[record->model];
    const size_t place = (size_t)record->worker * metrics->catalogue->model_count + record->model;
    const uint32_t first = fleet_first_sharer(metrics->fleet, record->worker);
    uint64_t *bytes =
        &metrics->loaded_bytes[(size_t)first * metrics->catalogue->model_count + record->model];
    const bool was_there = is_there(metrics, record->worker, record->model);
    if (record->kind == RECORD_LOADING) {
        model->loads++;
        model->prefetches +=
            record->reason == REASON_PREFETCH || record->reason == REASON_SHARED ? 1 : 0;
        *bytes = was_there ? *bytes : (uint64_t)record->value;
    } else if (record->kind == RECORD_LOADED) {
        metrics->loaded_ns[place] = record->at_ns;
        model_set_add(&metrics->resident[record->worker], record->model);
        model->resident_bytes += was_there ? 0 : *bytes;
    } else if (record->kind == RECORD_LOAD_FAILED) {
        model->load_failures++;
    } else {
        model->evictions++;
        model->evicted_age_ns += record->at_ns - metrics->loaded_ns[place];
        model_set_remove(&metrics->resident[record->worker], record->model);
        if (!is_there(metrics, record->worker, record->model)) {
            model->resident_bytes -= min_u64(*bytes, model->resident_bytes);
        }
    }
}

/* Tasks of a batch share its time. A share of 0 units is the whole worker. */
static void note_ran(struct metrics *metrics, const struct record *record)
{
    ASSERT(record->worker < metrics->fleet->worker_count);
    const uint32_t units = metrics->fleet->workers[record->worker].gpu_units;
    const double share = record->gpu == 0 || units == 0 ? 1.0 : (double)record->gpu / (double)units;
    metrics->busy_ns[record->worker] +=
        (double)record->value * share / (record->batch == 0 ? 1.0 : (double)record->batch);
}

static void note_placed(struct metrics *metrics, const struct record *record)
{
    metrics->totals.placed++;
    metrics->totals.moved += record->reason == REASON_ADJUSTED ||
                                     record->reason == REASON_FORWARDED ||
                                     record->reason == REASON_REPLACED
                                 ? 1
                                 : 0;
}

void metrics_add(struct metrics *metrics, const struct record *record)
{
    struct latency_parts parts;
    const enum outcome outcome = tally_add(metrics->tally, record, &parts);
    if (outcome != OUTCOME_OPEN) {
        note_end(metrics, record, outcome, &parts);
        return;
    }
    switch (record->kind) {
    case RECORD_ARRIVED:
        metrics->workflows[record->workflow].items +=
            record->value > 0 ? (uint64_t)record->value : 1;
        return;
    case RECORD_PLACED:
        note_placed(metrics, record);
        return;
    case RECORD_STARTED:
        note_started(metrics, record);
        return;
    case RECORD_ENDED:
        note_ran(metrics, record);
        return;
    case RECORD_STOLEN:
        metrics->totals.stolen++;
        return;
    case RECORD_LOADING:
    case RECORD_LOADED:
    case RECORD_LOAD_FAILED:
    case RECORD_EVICTED:
        note_model(metrics, record);
        return;
    case RECORD_NODE_LOST:
        metrics->totals.nodes_lost++;
        return;
    default: /* Nothing here counts the others. */
        return;
    }
}

double metrics_busy_ns(const struct metrics *metrics, uint32_t worker)
{
    ASSERT(worker < metrics->fleet->worker_count);
    return metrics->busy_ns[worker];
}

const struct fleet *metrics_fleet(const struct metrics *metrics)
{
    return metrics->fleet;
}

bool metrics_timing(
    const struct metrics *metrics, struct job_id job, struct metrics_timing *timing_out)
{
    for (uint64_t i = 1; i <= METRICS_ENDED && i <= metrics->ended_count; i++) {
        const struct ended_job *ended = &metrics->ended[(metrics->ended_count - i) % METRICS_ENDED];
        if (job_equal(ended->job, job)) {
            *timing_out = ended->time;
            return true;
        }
    }
    return false;
}

const struct metrics_workflow *metrics_workflow(const struct metrics *metrics, uint32_t workflow)
{
    ASSERT(workflow < metrics->catalogue->workflow_count);
    return &metrics->workflows[workflow];
}

const struct metrics_model *metrics_model(const struct metrics *metrics, uint32_t model)
{
    ASSERT(model < metrics->catalogue->model_count);
    return &metrics->models[model];
}

const struct metrics_totals *metrics_totals(const struct metrics *metrics)
{
    return &metrics->totals;
}

const struct catalogue *metrics_catalogue(const struct metrics *metrics)
{
    return metrics->catalogue;
}

double metrics_bound_s(uint32_t index)
{
    ASSERT(index < METRICS_BOUNDS);
    return (double)bounds_us[index] / 1e6;
}
