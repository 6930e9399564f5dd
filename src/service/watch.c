#include "service/watch.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "service/history.h"

struct watch {
    const struct fleet *fleet;
    const struct catalogue *catalogue;
    struct watch_workflow *workflows;
    struct watch_worker *workers;
    struct tally *tally;
    struct history *history;
    struct watch_loads loads;
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
    watch->tally = tally_create(fleet, catalogue, /* follows */ true);
    watch->history = history_create(fleet->worker_count, catalogue->workflow_count);
    return watch;
}

void watch_destroy(struct watch *watch)
{
    if (watch == NULL) {
        return;
    }
    tally_destroy(watch->tally);
    history_destroy(watch->history);
    free(watch->workflows);
    free(watch->workers);
    free(watch);
}

static void note_started(struct watch *watch, const struct record *record)
{
    watch->workers[record->worker] = (struct watch_worker){
        .model = watch->catalogue->workflows[record->workflow]->tasks[record->task].run,
        .workflow = record->workflow,
    };
}

/* A job that is worth a line. */
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

static void note_end(
    struct watch *watch, const struct record *record, enum outcome outcome,
    const struct latency_parts *parts)
{
    struct watch_workflow *counts = &watch->workflows[record->workflow];
    if (outcome == OUTCOME_GOOD || outcome == OUTCOME_SLOW) {
        histogram_add(&counts->latency_ns, record->value);
    } else if (outcome != OUTCOME_REFUSED) {
        (void)add_bad(watch, record);
    }
    if (outcome == OUTCOME_SLOW) {
        struct watch_job *job = add_bad(watch, record);
        job->spent = *parts;
        job->late_ns = record->value - watch->catalogue->workflows[record->workflow]->slo_ns;
        for (uint32_t i = 0; i < LATENCY_PARTS; i++) {
            counts->late_ns[i] += parts->ns[i];
        }
    }
}

/* What this page calls what was counted. */
static void take_counts(struct watch *watch, uint32_t workflow)
{
    struct watch_workflow *counts = &watch->workflows[workflow];
    const struct tally_counts *tally = tally_workflow(watch->tally, workflow);
    counts->refused = tally->ended[OUTCOME_REFUSED];
    counts->arrived = tally->arrived + counts->refused;
    counts->done = tally_completed(tally);
    counts->late = tally->ended[OUTCOME_SLOW];
    counts->given_up = tally->ended[OUTCOME_LATE];
    counts->left = tally->ended[OUTCOME_LEFT];
    counts->failed = tally->ended[OUTCOME_FAILED];
}

static void note_change(struct watch *watch, const struct record *record, enum watch_change change)
{
    watch->loads.loads += change == WATCH_LOADING ? 1 : 0;
    watch->loads.evictions += change == WATCH_EVICTED ? 1 : 0;
    watch->events[watch->event_count % WATCH_EVENTS] = (struct watch_event){
        .at_ns = record->at_ns,
        .worker = record->worker,
        .model = record->model,
        .change = change,
        .reason = (enum reason)record->reason,
    };
    watch->event_count++;
}

/* The load that ends with @record becomes one that took its time, if it is still kept. */
static void note_loaded(struct watch *watch, const struct record *record)
{
    for (uint32_t i = 0; i < WATCH_EVENTS && i < watch->event_count; i++) {
        struct watch_event *event = &watch->events[i];
        if (event->change == WATCH_LOADING && event->worker == record->worker &&
            event->model == record->model) {
            event->change = WATCH_LOADED;
            event->took_ns = record->at_ns - event->at_ns;
            watch->loads.load_ns += event->took_ns;
        }
    }
}

void watch_add(struct watch *watch, const struct record *record)
{
    struct latency_parts parts;
    const enum outcome outcome = tally_add(watch->tally, record, &parts);
    if (outcome != OUTCOME_OPEN) {
        note_end(watch, record, outcome, &parts);
    }
    if (outcome != OUTCOME_OPEN || record->kind == RECORD_ARRIVED) {
        history_add(watch->history, record, outcome);
        take_counts(watch, record->workflow);
        return;
    }
    switch (record->kind) {
    case RECORD_STARTED:
        note_started(watch, record);
        return;
    case RECORD_LOADING:
        note_change(watch, record, WATCH_LOADING);
        return;
    case RECORD_EVICTED:
        note_change(watch, record, WATCH_EVICTED);
        return;
    case RECORD_LOADED:
        note_loaded(watch, record);
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

struct watch_loads watch_loads(const struct watch *watch)
{
    return watch->loads;
}

struct history *watch_history(const struct watch *watch)
{
    return watch->history;
}

void watch_total(const struct watch *watch, struct watch_workflow *total_out)
{
    *total_out = (struct watch_workflow){0};
    for (uint32_t i = 0; i < watch->catalogue->workflow_count; i++) {
        const struct watch_workflow *one = &watch->workflows[i];
        total_out->arrived += one->arrived;
        total_out->done += one->done;
        total_out->late += one->late;
        total_out->refused += one->refused;
        total_out->given_up += one->given_up;
        total_out->left += one->left;
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
