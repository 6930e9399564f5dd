#include "service/watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/text.h"
#include "trace/text.h"

enum { JOBS_FIRST = 64 };

/* When a model was last loaded on a worker. */
struct watched_load {
    int64_t began_ns;
    int64_t ended_ns;
};

struct watch {
    const struct fleet *fleet;
    const struct catalogue *catalogue;
    struct watch_workflow *workflows;
    struct watch_worker *workers;
    struct watched_load *loads; /* By worker and model. */
    struct map jobs;
    struct pool job_pool; /* Of each job that is open, its tasks. */
    uint64_t event_count;
    struct watch_event events[WATCH_EVENTS];
    uint64_t bad_count;
    struct watch_job bad[WATCH_EVENTS];
};

struct watch *watch_create(const struct fleet *fleet, const struct catalogue *catalogue)
{
    struct watch *watch = memory_zeroed(1, sizeof(*watch));
    watch->fleet = fleet;
    watch->catalogue = catalogue;
    watch->workflows = memory_zeroed(catalogue->workflow_count, sizeof(*watch->workflows));
    watch->workers = memory_zeroed(fleet->worker_count, sizeof(*watch->workers));
    watch->loads = memory_zeroed(
        (size_t)fleet->worker_count * (catalogue->model_count + 1), sizeof(*watch->loads));
    map_init(&watch->jobs, JOBS_FIRST);
    pool_init(
        &watch->job_pool, catalogue->task_count_max * sizeof(struct latency_task), JOBS_FIRST,
        UINT32_MAX - 1);
    return watch;
}

void watch_destroy(struct watch *watch)
{
    if (watch == NULL) {
        return;
    }
    map_deinit(&watch->jobs);
    pool_deinit(&watch->job_pool);
    free(watch->workflows);
    free(watch->workers);
    free(watch->loads);
    free(watch);
}

static struct watched_load *load_of(struct watch *watch, uint32_t worker, uint32_t model)
{
    ASSERT(worker < watch->fleet->worker_count && model < watch->catalogue->model_count);
    return &watch->loads[(size_t)worker * watch->catalogue->model_count + model];
}

/* The tasks of a job. NULL for one that has been answered. */
static struct latency_task *find_job(const struct watch *watch, struct job_id id)
{
    const uint32_t slot = map_get(&watch->jobs, job_key(id));
    return slot == MAP_NONE ? NULL : pool_at(&watch->job_pool, slot);
}

static void open_job(struct watch *watch, struct job_id id)
{
    (void)pool_reserve(&watch->job_pool, 1);
    (void)map_reserve(&watch->jobs, 1);
    map_put(&watch->jobs, job_key(id), pool_take(&watch->job_pool));
}

static void close_job(struct watch *watch, struct job_id id)
{
    const uint32_t slot = map_get(&watch->jobs, job_key(id));
    if (slot != MAP_NONE) {
        (void)map_remove(&watch->jobs, job_key(id));
        pool_give(&watch->job_pool, slot);
    }
}

/* What is known of the task of @record. NULL if its job has been answered. */
static struct latency_task *task_of(const struct watch *watch, const struct record *record)
{
    struct latency_task *tasks = find_job(watch, record->job);
    return tasks == NULL ? NULL : &tasks[record->task];
}

static const struct workflow_task *spec_of(const struct watch *watch, const struct record *record)
{
    return &watch->catalogue->workflows[record->workflow]->tasks[record->task];
}

/* It may wait in several places before it runs; and once more, if it has to run again. */
static void note_waits(struct watch *watch, const struct record *record)
{
    struct latency_task *task = task_of(watch, record);
    if (task != NULL && (task->queued_ns == 0 || task->started_ns > 0)) {
        *task = (struct latency_task){.queued_ns = record->at_ns, .worker = record->worker};
    }
}

/* How much of the time since @queued_ns the models of a task that starts now were loaded. */
static int64_t loading_since(struct watch *watch, const struct record *record, int64_t queued_ns)
{
    int64_t loading_ns = 0;
    const struct workflow_task *spec = spec_of(watch, record);
    for (uint32_t i = 0; i < spec->model_count; i++) {
        const struct watched_load *load = load_of(watch, record->worker, spec->models[i]);
        const int64_t from_ns = load->began_ns > queued_ns ? load->began_ns : queued_ns;
        loading_ns += load->ended_ns > from_ns ? load->ended_ns - from_ns : 0;
    }
    return loading_ns;
}

static void note_started(struct watch *watch, const struct record *record)
{
    struct watch_worker *worker = &watch->workers[record->worker];
    struct latency_task *task = task_of(watch, record);
    worker->tasks++;
    worker->model = spec_of(watch, record)->run;
    if (task != NULL) {
        task->started_ns = record->at_ns;
        task->worker = record->worker;
        task->loading_ns = loading_since(watch, record, task->queued_ns);
    }
}

static void note_stopped(struct watch *watch, const struct record *record)
{
    struct watch_worker *worker = &watch->workers[record->worker];
    worker->tasks -= worker->tasks > 0 ? 1 : 0;
}

static void note_ended(struct watch *watch, const struct record *record)
{
    struct latency_task *task = task_of(watch, record);
    note_stopped(watch, record);
    if (task != NULL) {
        task->ended_ns = record->at_ns;
    }
}

/* A job that somebody wants to hear of. */
static struct watch_job *add_bad(struct watch *watch, const struct record *record)
{
    struct watch_job *bad = &watch->bad[watch->bad_count % WATCH_EVENTS];
    watch->bad_count++;
    *bad = (struct watch_job){
        .at_ns = record->at_ns,
        .id = record->job,
        .workflow = record->workflow,
        .reason = (enum reason)record->reason,
        .latency_ns = record->value,
    };
    return bad;
}

static void note_late(
    struct watch *watch, const struct record *record, const struct latency_task *tasks)
{
    struct watch_workflow *counts = &watch->workflows[record->workflow];
    struct watch_job *bad = add_bad(watch, record);
    latency_parts_split(
        watch->catalogue->workflows[record->workflow], tasks, record->at_ns - record->value,
        record->at_ns, &bad->spent);
    for (uint32_t i = 0; i < LATENCY_PARTS; i++) {
        counts->late_ns[i] += bad->spent.ns[i];
    }
}

static void note_answered(struct watch *watch, const struct record *record)
{
    struct watch_workflow *counts = &watch->workflows[record->workflow];
    const int64_t slo_ns = watch->catalogue->workflows[record->workflow]->slo_ns;
    const struct latency_task *tasks = find_job(watch, record->job);
    if (record->reason != REASON_NONE) {
        counts->failed++;
        (void)add_bad(watch, record);
    } else {
        counts->done++;
        histogram_add(&counts->latency_ns, record->value);
        if (slo_ns > 0 && record->value > slo_ns) {
            counts->late++;
            if (tasks != NULL) {
                note_late(watch, record, tasks);
            }
        }
    }
    close_job(watch, record->job);
}

static void say_model(struct watch *watch, const struct record *record, const char *verb)
{
    struct watch_event *event = &watch->events[watch->event_count % WATCH_EVENTS];
    struct text text;
    watch->event_count++;
    event->at_ns = record->at_ns;
    text_init(&text, event->text, sizeof(event->text));
    text_add(
        &text, "%s %s on w%" PRIu32, verb, watch->catalogue->models[record->model], record->worker);
    if (record->reason != REASON_NONE) {
        text_add(&text, " (%s)", reason_name(record->reason));
    }
}

void watch_add(struct watch *watch, const struct record *record)
{
    switch (record->kind) {
    case RECORD_ARRIVED:
        watch->workflows[record->workflow].arrived++;
        open_job(watch, record->job);
        return;
    case RECORD_REFUSED:
        watch->workflows[record->workflow].arrived++;
        watch->workflows[record->workflow].failed++;
        return;
    case RECORD_OFFERED: /* Where the policy binds, a task waits at its holder. */
    case RECORD_QUEUED:
        note_waits(watch, record);
        return;
    case RECORD_STARTED:
        note_started(watch, record);
        return;
    case RECORD_ENDED:
        note_ended(watch, record);
        return;
    case RECORD_STOPPED:
        note_stopped(watch, record);
        return;
    case RECORD_LOADING:
        load_of(watch, record->worker, record->model)->began_ns = record->at_ns;
        say_model(watch, record, "loading");
        return;
    case RECORD_LOADED:
        load_of(watch, record->worker, record->model)->ended_ns = record->at_ns;
        return;
    case RECORD_EVICTED:
        say_model(watch, record, "evicted");
        return;
    case RECORD_ANSWERED:
        note_answered(watch, record);
        return;
    default:
        return;
    }
}

const struct watch_workflow *watch_workflow(const struct watch *watch, uint32_t workflow)
{
    ASSERT(workflow < watch->catalogue->workflow_count);
    return &watch->workflows[workflow];
}

const struct watch_worker *watch_worker(const struct watch *watch, uint32_t worker)
{
    ASSERT(worker < watch->fleet->worker_count);
    return &watch->workers[worker];
}

void watch_total(const struct watch *watch, struct watch_workflow *total_out)
{
    *total_out = (struct watch_workflow){0};
    for (uint32_t i = 0; i < watch->catalogue->workflow_count; i++) {
        const struct watch_workflow *one = &watch->workflows[i];
        total_out->arrived += one->arrived;
        total_out->done += one->done;
        total_out->late += one->late;
        total_out->failed += one->failed;
        histogram_merge(&total_out->latency_ns, &one->latency_ns);
        for (uint32_t k = 0; k < LATENCY_PARTS; k++) {
            total_out->late_ns[k] += one->late_ns[k];
        }
    }
}

/* Where the newest but @index of @count is in a ring of WATCH_EVENTS; UINT32_MAX: nowhere. */
static uint32_t place_in_ring(uint64_t count, uint32_t index)
{
    const bool is_kept = index < WATCH_EVENTS && index < count;
    return is_kept ? (uint32_t)((count - 1 - index) % WATCH_EVENTS) : UINT32_MAX;
}

const struct watch_event *watch_event(const struct watch *watch, uint32_t index)
{
    const uint32_t place = place_in_ring(watch->event_count, index);
    return place == UINT32_MAX ? NULL : &watch->events[place];
}

const struct watch_job *watch_job(const struct watch *watch, uint32_t index)
{
    const uint32_t place = place_in_ring(watch->bad_count, index);
    return place == UINT32_MAX ? NULL : &watch->bad[place];
}
