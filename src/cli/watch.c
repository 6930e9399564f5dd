#include "cli/watch.h"

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

/* Where the time of a job may go. */
enum share { SHARE_LOAD, SHARE_QUEUE, SHARE_RUN, SHARES };

/* The longest single piece of each kind, and whose it was. */
struct piece {
    int64_t ns;
    uint32_t task;
    uint32_t worker;
};

struct watched_job {
    struct piece pieces[SHARES];
    int64_t queued_ns[]; /* By task: when it joined a queue. */
};

struct events {
    uint64_t count;
    struct watch_event items[WATCH_EVENTS];
};

struct watch {
    const struct fleet *fleet;
    const struct catalogue *catalogue;
    struct watch_workflow *workflows;
    struct watch_worker *workers;
    int64_t *loaded_ns; /* By worker and model: when it became resident. */
    struct map jobs;
    struct pool job_pool;
    struct events events[2]; /* Of models; of jobs, all of them bad. */
};

struct watch *watch_create(const struct fleet *fleet, const struct catalogue *catalogue)
{
    struct watch *watch = memory_zeroed(1, sizeof(*watch));
    watch->fleet = fleet;
    watch->catalogue = catalogue;
    watch->workflows = memory_zeroed(catalogue->workflow_count, sizeof(*watch->workflows));
    watch->workers = memory_zeroed(fleet->worker_count, sizeof(*watch->workers));
    watch->loaded_ns = memory_zeroed(
        (size_t)fleet->worker_count * (catalogue->model_count + 1), sizeof(*watch->loaded_ns));
    map_init(&watch->jobs, JOBS_FIRST);
    pool_init(
        &watch->job_pool, sizeof(struct watched_job) + catalogue->task_count_max * sizeof(int64_t),
        JOBS_FIRST, UINT32_MAX - 1);
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
    free(watch->loaded_ns);
    free(watch);
}

static int64_t *loaded_at(struct watch *watch, uint32_t worker, uint32_t model)
{
    ASSERT(worker < watch->fleet->worker_count && model < watch->catalogue->model_count);
    return &watch->loaded_ns[(size_t)worker * watch->catalogue->model_count + model];
}

/* NULL for a job that has been answered. */
static struct watched_job *find_job(const struct watch *watch, struct job_id id)
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

/* The next event, its text empty. */
static struct watch_event *add_event(struct watch *watch, int64_t at_ns, bool is_bad)
{
    struct events *events = &watch->events[is_bad ? 1 : 0];
    struct watch_event *event = &events->items[events->count % WATCH_EVENTS];
    events->count++;
    *event = (struct watch_event){.at_ns = at_ns};
    return event;
}

static const struct workflow_task *task_of(const struct watch *watch, const struct record *record)
{
    return &watch->catalogue->workflows[record->workflow]->tasks[record->task];
}

static void note_piece(
    struct watched_job *job, enum share share, int64_t ns, const struct record *record)
{
    if (ns > job->pieces[share].ns) {
        job->pieces[share] =
            (struct piece){.ns = ns, .task = record->task, .worker = record->worker};
    }
}

/* A wait that began before the model came was a wait for the model. */
static void note_wait(struct watch *watch, const struct record *record)
{
    struct watched_job *job = find_job(watch, record->job);
    if (job == NULL) {
        return;
    }
    const struct workflow_task *task = task_of(watch, record);
    const int64_t queued_ns = job->queued_ns[record->task];
    int64_t loaded_ns = queued_ns;
    for (uint32_t i = 0; i < task->model_count; i++) {
        const int64_t at_ns = *loaded_at(watch, record->worker, task->models[i]);
        loaded_ns = at_ns > loaded_ns ? at_ns : loaded_ns;
    }
    note_piece(job, SHARE_LOAD, loaded_ns - queued_ns, record);
    note_piece(job, SHARE_QUEUE, record->at_ns - loaded_ns, record);
}

static void note_started(struct watch *watch, const struct record *record)
{
    struct watch_worker *worker = &watch->workers[record->worker];
    worker->tasks++;
    worker->model = task_of(watch, record)->run;
    note_wait(watch, record);
}

static void note_stopped(struct watch *watch, const struct record *record)
{
    struct watch_worker *worker = &watch->workers[record->worker];
    worker->tasks -= worker->tasks > 0 ? 1 : 0;
}

static void note_ended(struct watch *watch, const struct record *record)
{
    struct watched_job *job = find_job(watch, record->job);
    note_stopped(watch, record);
    if (job != NULL) {
        note_piece(job, SHARE_RUN, record->value, record);
    }
}

static void say_late(
    struct watch *watch, const struct record *record, const struct watched_job *job)
{
    const struct workflow *workflow = watch->catalogue->workflows[record->workflow];
    struct watch_event *event = add_event(watch, record->at_ns, /* is_bad */ true);
    uint32_t most = 0;
    for (uint32_t i = 1; i < SHARES; i++) {
        most = job->pieces[i].ns > job->pieces[most].ns ? i : most;
    }
    const struct piece *piece = &job->pieces[most];
    char latency[TEXT_SCALED_BYTES];
    char longest[TEXT_SCALED_BYTES];
    struct text text;
    text_init(&text, event->text, sizeof(event->text));
    (void)text_duration(latency, record->value / 1000000 * 1000000);
    (void)text_duration(longest, piece->ns / 1000000 * 1000000);
    text_add(
        &text, "late: %s %" PRIu32 ".%" PRIu32 " took %s; %s ", workflow->name, record->job.node,
        record->job.number, latency, workflow->tasks[piece->task].name);
    text_add(
        &text, "%s %s %s w%" PRIu32, most == SHARE_RUN ? "ran" : "waited", longest,
        most == SHARE_LOAD    ? "for its model on"
        : most == SHARE_QUEUE ? "in the queue of"
                              : "on",
        piece->worker);
}

static void note_answered(struct watch *watch, const struct record *record)
{
    struct watch_workflow *counts = &watch->workflows[record->workflow];
    const int64_t slo_ns = watch->catalogue->workflows[record->workflow]->slo_ns;
    const struct watched_job *job = find_job(watch, record->job);
    if (record->reason != REASON_NONE) {
        counts->failed++;
        struct watch_event *event = add_event(watch, record->at_ns, /* is_bad */ true);
        (void)snprintf(
            event->text, sizeof(event->text), "failed: %s %" PRIu32 ".%" PRIu32 ": %s",
            watch->catalogue->workflows[record->workflow]->name, record->job.node,
            record->job.number, reason_name(record->reason));
    } else {
        counts->done++;
        histogram_add(&counts->latency_ns, record->value);
        if (slo_ns > 0 && record->value > slo_ns) {
            counts->late++;
            if (job != NULL) {
                say_late(watch, record, job);
            }
        }
    }
    close_job(watch, record->job);
}

static void say_model(struct watch *watch, const struct record *record, const char *verb)
{
    struct watch_event *event = add_event(watch, record->at_ns, /* is_bad */ false);
    struct text text;
    text_init(&text, event->text, sizeof(event->text));
    text_add(
        &text, "%s %s on w%" PRIu32, verb, watch->catalogue->models[record->model], record->worker);
    if (record->reason != REASON_NONE) {
        text_add(&text, " (%s)", reason_name(record->reason));
    }
}

void watch_add(struct watch *watch, const struct record *record)
{
    struct watched_job *job;
    switch (record->kind) {
    case RECORD_ARRIVED:
        watch->workflows[record->workflow].arrived++;
        open_job(watch, record->job);
        return;
    case RECORD_REFUSED:
        watch->workflows[record->workflow].arrived++;
        watch->workflows[record->workflow].failed++;
        return;
    case RECORD_QUEUED:
        job = find_job(watch, record->job);
        if (job != NULL) {
            job->queued_ns[record->task] = record->at_ns;
        }
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
        say_model(watch, record, "loading");
        return;
    case RECORD_LOADED:
        *loaded_at(watch, record->worker, record->model) = record->at_ns;
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
    }
}

const struct watch_event *watch_event(const struct watch *watch, bool is_bad, uint32_t index)
{
    const struct events *events = &watch->events[is_bad ? 1 : 0];
    if (index >= WATCH_EVENTS || index >= events->count) {
        return NULL;
    }
    return &events->items[(events->count - 1 - index) % WATCH_EVENTS];
}
