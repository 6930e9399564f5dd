#include "trace/tally.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "base/pool.h"

enum { JOBS_FIRST = 64 };

/* When a model was last loaded on a worker. */
struct load {
    int64_t began_ns;
    int64_t ended_ns;
};

struct tally {
    const struct catalogue *catalogue;
    const struct fleet *fleet;
    struct tally_counts total;
    struct tally_counts *workflows;

    /* Only if it follows jobs. */
    struct load *loads; /* By worker and model; NULL: it does not. */
    struct map jobs;
    struct pool tasks; /* Of each job that is open, a latency_task for each of its tasks. */
};

struct tally *tally_create(
    const struct fleet *fleet, const struct catalogue *catalogue, bool follows)
{
    struct tally *tally = memory_zeroed(1, sizeof(*tally));
    tally->catalogue = catalogue;
    tally->fleet = fleet;
    tally->workflows = memory_zeroed(catalogue->workflow_count + 1, sizeof(*tally->workflows));
    if (follows) {
        tally->loads = memory_zeroed(
            (size_t)fleet->worker_count * catalogue->model_count + 1, sizeof(*tally->loads));
        map_init(&tally->jobs, JOBS_FIRST);
        pool_init(
            &tally->tasks, catalogue->task_count_max * sizeof(struct latency_task), JOBS_FIRST,
            UINT32_MAX - 1);
    }
    return tally;
}

void tally_destroy(struct tally *tally)
{
    if (tally == NULL) {
        return;
    }
    if (tally->loads != NULL) {
        map_deinit(&tally->jobs);
        pool_deinit(&tally->tasks);
    }
    free(tally->loads);
    free(tally->workflows);
    free(tally);
}

static enum outcome outcome_of(const struct tally *tally, const struct record *record)
{
    if (record->kind == RECORD_REFUSED) {
        return OUTCOME_REFUSED;
    }
    switch (record->reason) {
    case REASON_NONE: {
        const int64_t slo_ns = tally->catalogue->workflows[record->workflow]->slo_ns;
        return slo_ns > 0 && record->value > slo_ns ? OUTCOME_SLOW : OUTCOME_GOOD;
    }
    case REASON_LATE:
        return OUTCOME_LATE;
    case REASON_CANCEL:
    case REASON_DUPLICATE:
        return OUTCOME_LEFT;
    default:
        return OUTCOME_FAILED;
    }
}

static struct load *load_of(const struct tally *tally, uint32_t worker, uint32_t model)
{
    ASSERT(worker < tally->fleet->worker_count);
    ASSERT(model < tally->catalogue->model_count);
    return &tally->loads[(size_t)worker * tally->catalogue->model_count + model];
}

static void open_job(struct tally *tally, struct job_id job)
{
    (void)pool_reserve(&tally->tasks, 1);
    (void)map_reserve(&tally->jobs, 1);
    map_put(&tally->jobs, job_key(job), pool_take(&tally->tasks));
}

/* What is known of the task of @record. NULL if its job has been answered. */
static struct latency_task *task_of(const struct tally *tally, const struct record *record)
{
    const uint32_t slot = map_get(&tally->jobs, job_key(record->job));
    ASSERT(record->task < tally->catalogue->workflows[record->workflow]->task_count);
    return slot == MAP_NONE ? NULL
                            : (struct latency_task *)pool_at(&tally->tasks, slot) + record->task;
}

/* It may wait in several places before it runs; and once more, if it has to run again. */
static void note_waits(struct tally *tally, const struct record *record)
{
    struct latency_task *task = task_of(tally, record);
    if (task != NULL && (task->queued_ns == 0 || task->started_ns > 0)) {
        *task = (struct latency_task){.queued_ns = record->at_ns, .worker = record->worker};
    }
}

static void note_started(struct tally *tally, const struct record *record)
{
    const struct workflow *workflow = tally->catalogue->workflows[record->workflow];
    struct latency_task *task = task_of(tally, record);
    if (task == NULL) {
        return;
    }
    task->started_ns = record->at_ns;
    task->worker = record->worker;
    task->loading_ns = 0; /* How much of its wait its models were loaded. */
    for (uint32_t i = 0; i < workflow->tasks[record->task].model_count; i++) {
        const struct load *load =
            load_of(tally, record->worker, workflow->tasks[record->task].models[i]);
        const int64_t from_ns = max_i64(load->began_ns, task->queued_ns);
        task->loading_ns += max_i64(load->ended_ns - from_ns, 0);
    }
}

static void note_ended(struct tally *tally, const struct record *record)
{
    struct latency_task *task = task_of(tally, record);
    if (task != NULL) {
        task->ended_ns = record->at_ns;
    }
}

static void follow(struct tally *tally, const struct record *record)
{
    switch (record->kind) {
    case RECORD_OFFERED: /* Where the policy binds, a task waits at its holder. */
    case RECORD_QUEUED:
        note_waits(tally, record);
        return;
    case RECORD_STARTED:
        note_started(tally, record);
        return;
    case RECORD_ENDED:
        note_ended(tally, record);
        return;
    case RECORD_LOADING:
        load_of(tally, record->worker, record->model)->began_ns = record->at_ns;
        return;
    case RECORD_LOADED:
        load_of(tally, record->worker, record->model)->ended_ns = record->at_ns;
        return;
    default:
        return;
    }
}

static void close_job(
    struct tally *tally, const struct record *record, struct latency_parts *parts_out)
{
    const uint32_t slot = map_get(&tally->jobs, job_key(record->job));
    if (slot == MAP_NONE) {
        return;
    }
    if (parts_out != NULL && record->reason == REASON_NONE) {
        latency_parts_split(
            tally->catalogue->workflows[record->workflow], pool_at(&tally->tasks, slot),
            record->at_ns - record->value, record->at_ns, parts_out);
    }
    (void)map_remove(&tally->jobs, job_key(record->job));
    pool_give(&tally->tasks, slot);
}

enum outcome tally_add(
    struct tally *tally, const struct record *record, struct latency_parts *parts_out)
{
    if (record->kind == RECORD_ARRIVED) {
        ASSERT(record->workflow < tally->catalogue->workflow_count);
        tally->total.arrived++;
        tally->workflows[record->workflow].arrived++;
        if (tally->loads != NULL) {
            open_job(tally, record->job);
        }
        return OUTCOME_OPEN;
    }
    if (record->kind != RECORD_REFUSED && record->kind != RECORD_ANSWERED) {
        if (tally->loads != NULL) {
            follow(tally, record);
        }
        return OUTCOME_OPEN;
    }
    ASSERT(record->workflow < tally->catalogue->workflow_count);
    const enum outcome outcome = outcome_of(tally, record);
    tally->total.ended[outcome]++;
    tally->workflows[record->workflow].ended[outcome]++;
    if (parts_out != NULL) {
        *parts_out = (struct latency_parts){.worker = WORKER_NONE};
    }
    if (record->kind == RECORD_ANSWERED && tally->loads != NULL) {
        close_job(tally, record, parts_out);
    }
    return outcome;
}

const struct tally_counts *tally_workflow(const struct tally *tally, uint32_t workflow)
{
    ASSERT(workflow < tally->catalogue->workflow_count);
    return &tally->workflows[workflow];
}

const struct tally_counts *tally_total(const struct tally *tally)
{
    return &tally->total;
}

const struct latency_task *tally_task(const struct tally *tally, const struct record *record)
{
    ASSERT(tally->loads != NULL);
    return task_of(tally, record);
}

int64_t tally_load_ns(const struct tally *tally, uint32_t worker, uint32_t model)
{
    const struct load *load = load_of(tally, worker, model);
    return load->ended_ns - load->began_ns;
}

const struct fleet *tally_fleet(const struct tally *tally)
{
    return tally->fleet;
}

const struct catalogue *tally_catalogue(const struct tally *tally)
{
    return tally->catalogue;
}
