#include "server/metrics.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/pool.h"

enum { JOBS_FIRST = 256 };

struct open_job {
    int64_t since_ns; /* Up to when its time has been split. */
    uint32_t queued;
    uint32_t running;
    struct metrics_timing time;
};

struct metrics {
    const struct fleet *fleet;
    const struct catalogue *catalogue;
    struct metrics_workflow *workflows;
    struct metrics_model *models;
    struct metrics_totals totals;
    int64_t *loaded_ns; /* By worker and model, like the next. */
    uint64_t *loading_bytes;
    double *busy_ns; /* By worker. */
    struct map jobs;
    struct pool pool;
    struct job_id last; /* The job that ended last. */
    struct metrics_timing last_time;
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
    metrics->loading_bytes = memory_zeroed(
        (size_t)fleet->worker_count * catalogue->model_count + 1, sizeof(*metrics->loading_bytes));
    metrics->busy_ns = memory_zeroed(fleet->worker_count + 1, sizeof(*metrics->busy_ns));
    map_init(&metrics->jobs, JOBS_FIRST);
    pool_init(&metrics->pool, sizeof(struct open_job), JOBS_FIRST, UINT32_MAX - 1);
    return metrics;
}

void metrics_destroy(struct metrics *metrics)
{
    if (metrics == NULL) {
        return;
    }
    map_deinit(&metrics->jobs);
    pool_deinit(&metrics->pool);
    free(metrics->workflows);
    free(metrics->models);
    free(metrics->loaded_ns);
    free(metrics->loading_bytes);
    free(metrics->busy_ns);
    free(metrics);
}

static struct open_job *find_job(const struct metrics *metrics, struct job_id job)
{
    const uint32_t slot = map_get(&metrics->jobs, job_key(job));
    return slot == MAP_NONE ? NULL : pool_at(&metrics->pool, slot);
}

static void open_job(struct metrics *metrics, const struct record *record)
{
    (void)pool_reserve(&metrics->pool, 1);
    (void)map_reserve(&metrics->jobs, 1);
    const uint32_t slot = pool_take(&metrics->pool);
    ((struct open_job *)pool_at(&metrics->pool, slot))->since_ns = record->at_ns;
    map_put(&metrics->jobs, job_key(record->job), slot);
}

/* Give the time since the last change to what the job was doing. */
static void split(struct open_job *job, int64_t now_ns)
{
    const int64_t passed_ns = now_ns > job->since_ns ? now_ns - job->since_ns : 0;
    if (job->running > 0) {
        job->time.run_ns += passed_ns;
    } else if (job->queued > 0) {
        job->time.queue_ns += passed_ns;
    } else {
        job->time.other_ns += passed_ns;
    }
    job->since_ns = now_ns;
}

static void close_job(struct metrics *metrics, const struct record *record)
{
    const uint32_t slot = map_get(&metrics->jobs, job_key(record->job));
    if (slot == MAP_NONE) {
        return;
    }
    struct open_job *job = pool_at(&metrics->pool, slot);
    split(job, record->at_ns);
    metrics->last = record->job;
    metrics->last_time = job->time;
    (void)map_remove(&metrics->jobs, job_key(record->job));
    pool_give(&metrics->pool, slot);
}

static uint32_t bucket_of(int64_t latency_ns)
{
    uint32_t index = 0;
    while (index < METRICS_BOUNDS && latency_ns > bounds_us[index] * 1000) {
        index++;
    }
    return index;
}

static void note_end(struct metrics *metrics, const struct record *record)
{
    struct metrics_workflow *counts = &metrics->workflows[record->workflow];
    const int64_t slo_ns = metrics->catalogue->workflows[record->workflow]->slo_ns;
    close_job(metrics, record);
    counts->open -= counts->open > 0 ? 1 : 0;
    counts->last_ns = record->at_ns;
    if (record->reason == REASON_CANCEL) {
        counts->cancelled++;
        return;
    }
    counts->slo_asked += slo_ns > 0 ? 1 : 0;
    if (record->reason == REASON_LATE) {
        counts->cancelled++;
        counts->late++;
        return;
    }
    if (record->reason != REASON_NONE) {
        counts->failed++;
        counts->reasons[record->reason]++;
        counts->fail_ns += record->value;
        return;
    }
    counts->succeeded++;
    counts->slo_met += slo_ns > 0 && record->value <= slo_ns ? 1 : 0;
    counts->success_ns += record->value;
    counts->latencies[bucket_of(record->value)]++;
    if (job_equal(metrics->last, record->job)) {
        counts->time.queue_ns += metrics->last_time.queue_ns;
        counts->time.run_ns += metrics->last_time.run_ns;
        counts->time.other_ns += metrics->last_time.other_ns;
    }
}

/* A task of an open job changes places: out of one count, into another. */
static void note_task(struct metrics *metrics, const struct record *record, int queued, int running)
{
    struct open_job *job = find_job(metrics, record->job);
    if (job == NULL) {
        return;
    }
    split(job, record->at_ns);
    job->queued += queued >= 0 || job->queued > 0 ? (uint32_t)queued : 0;
    job->running += running >= 0 || job->running > 0 ? (uint32_t)running : 0;
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
    note_task(metrics, record, /* queued */ -1, /* running */ 1);
}

static void note_model(struct metrics *metrics, const struct record *record)
{
    if (record->model >= metrics->catalogue->model_count ||
        record->worker >= metrics->fleet->worker_count) {
        return;
    }
    struct metrics_model *model = &metrics->models[record->model];
    const size_t place = (size_t)record->worker * metrics->catalogue->model_count + record->model;
    uint64_t *bytes = &metrics->loading_bytes[place];
    if (record->kind == RECORD_LOADING) {
        model->loads++;
        model->prefetches += record->reason == REASON_PREFETCH ? 1 : 0;
        *bytes = (uint64_t)record->value;
    } else if (record->kind == RECORD_LOADED) {
        metrics->loaded_ns[place] = record->at_ns;
        model->resident_bytes += *bytes;
    } else if (record->kind == RECORD_LOAD_FAILED) {
        model->load_failures++;
    } else {
        model->evictions++;
        model->evicted_age_ns += record->at_ns - metrics->loaded_ns[place];
        model->resident_bytes -= *bytes < model->resident_bytes ? *bytes : model->resident_bytes;
    }
}

/* Tasks of a batch share its time. A share of 0 units is the whole worker. */
static void note_ran(struct metrics *metrics, const struct record *record)
{
    if (record->worker < metrics->fleet->worker_count) {
        const uint32_t units = metrics->fleet->workers[record->worker].gpu_units;
        const double share =
            record->gpu == 0 || units == 0 ? 1.0 : (double)record->gpu / (double)units;
        metrics->busy_ns[record->worker] +=
            (double)record->value * share / (record->batch == 0 ? 1.0 : (double)record->batch);
    }
    note_task(metrics, record, /* queued */ 0, /* running */ -1);
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

static void note_arrived(struct metrics *metrics, const struct record *record)
{
    struct metrics_workflow *counts = &metrics->workflows[record->workflow];
    counts->arrived++;
    counts->open++;
    counts->items += record->value > 0 ? (uint64_t)record->value : 1;
    open_job(metrics, record);
}

static void note_refused(struct metrics *metrics, const struct record *record)
{
    struct metrics_workflow *counts = &metrics->workflows[record->workflow];
    counts->refused++;
    counts->reasons[record->reason]++;
    counts->slo_asked += metrics->catalogue->workflows[record->workflow]->slo_ns > 0 ? 1 : 0;
}

void metrics_add(struct metrics *metrics, const struct record *record)
{
    switch ((enum record_kind)record->kind) {
    case RECORD_ARRIVED:
        note_arrived(metrics, record);
        return;
    case RECORD_REFUSED:
        note_refused(metrics, record);
        return;
    case RECORD_PLACED:
        note_placed(metrics, record);
        return;
    case RECORD_QUEUED:
        note_task(metrics, record, /* queued */ 1, /* running */ 0);
        return;
    case RECORD_STARTED:
        note_started(metrics, record);
        return;
    case RECORD_ENDED:
        note_ran(metrics, record);
        return;
    case RECORD_STOPPED:
    case RECORD_FAILED:
        note_task(metrics, record, /* queued */ 0, /* running */ -1);
        return;
    case RECORD_STOLEN:
        metrics->totals.stolen++;
        note_task(metrics, record, /* queued */ -1, /* running */ 0);
        return;
    case RECORD_DROPPED:
        note_task(metrics, record, /* queued */ -1, /* running */ 0);
        return;
    case RECORD_ANSWERED:
        note_end(metrics, record);
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
    case RECORD_CANCELLED: /* An answer follows. */
    case RECORD_RESERVED:
    case RECORD_UNRESERVED:
    case RECORD_ACKNOWLEDGED:
    case RECORD_SENT:
    case RECORD_OFFERED:
    case RECORD_CLAIMED:
    case RECORD_DECLINED:
    case RECORD_RELEASED:
    case RECORD_LOAD_DROPPED:
    case RECORD_SHAPED:
    case RECORD_NODE_BACK:
    case RECORD_SUSPECTED:
    case RECORD_DRAINING:
    case RECORD_DRAINED:
    case RECORD_SOLVED:
    case RECORD_REPEATED:
    case RECORD_KIND_COUNT:
    default:
        return; /* Nothing here counts them. */
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
    const struct open_job *open = find_job(metrics, job);
    if (open != NULL) {
        *timing_out = open->time;
        return true;
    }
    if (metrics->last.number != 0 && job_equal(metrics->last, job)) {
        *timing_out = metrics->last_time;
        return true;
    }
    return false;
}

void metrics_count_items(struct metrics *metrics, uint32_t workflow, uint64_t more)
{
    metrics->workflows[workflow].items += more;
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
