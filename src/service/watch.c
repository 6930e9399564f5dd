#include "service/watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/text.h"
#include "trace/text.h"

struct watch {
    const struct fleet *fleet;
    const struct catalogue *catalogue;
    struct watch_workflow *workflows;
    struct watch_worker *workers;
    struct tally *tally;
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
    return watch;
}

void watch_destroy(struct watch *watch)
{
    if (watch == NULL) {
        return;
    }
    tally_destroy(watch->tally);
    free(watch->workflows);
    free(watch->workers);
    free(watch);
}

static void note_started(struct watch *watch, const struct record *record)
{
    struct watch_worker *worker = &watch->workers[record->worker];
    worker->tasks++;
    worker->model = watch->catalogue->workflows[record->workflow]->tasks[record->task].run;
}

static void note_stopped(struct watch *watch, const struct record *record)
{
    struct watch_worker *worker = &watch->workers[record->worker];
    worker->tasks -= worker->tasks > 0 ? 1 : 0;
}

/* A job that those who watch want to hear of. */
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
        add_bad(watch, record)->spent = *parts;
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
    const uint64_t refused = tally->ended[OUTCOME_REFUSED];
    counts->arrived = tally->arrived + refused;
    counts->done = tally_completed(tally);
    counts->late = tally->ended[OUTCOME_SLOW];
    counts->failed = refused + tally_cancelled(tally) + tally->ended[OUTCOME_FAILED];
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
    struct latency_parts parts;
    const enum outcome outcome = tally_add(watch->tally, record, &parts);
    if (outcome != OUTCOME_OPEN) {
        note_end(watch, record, outcome, &parts);
    }
    if (outcome != OUTCOME_OPEN || record->kind == RECORD_ARRIVED) {
        take_counts(watch, record->workflow);
        return;
    }
    switch (record->kind) {
    case RECORD_STARTED:
        note_started(watch, record);
        return;
    case RECORD_ENDED:
    case RECORD_STOPPED:
        note_stopped(watch, record);
        return;
    case RECORD_LOADING:
        say_model(watch, record, "loading");
        return;
    case RECORD_EVICTED:
        say_model(watch, record, "evicted");
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
