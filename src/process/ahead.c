/*
 * ahead.c - what engine processes have run before they were told to.
 *
 * It waits here for the launch that asks for just that. How often none comes is counted: where the
 * host decides otherwise more often than not, processes are no longer asked to go ahead.
 */
#include "process/ahead.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/catalogue.h"
#include "model/fleet.h"
#include "process/inside.h"

enum {
    KEPT_MAX = 2 * PROCESS_AHEAD_MAX, /* Batches of a worker that wait here. */
    CREDIT_FIRST = 32, /* Of each workflow. While there is none, nothing is run ahead. */
    CREDIT_MAX = 32,
    CREDIT_MISSED = 4, /* What one that is not asked for costs; one that is brings 1. */
    TRIED_EVERY = 256, /* Launches: one is tried all the same, for it may be right by now. */
};

#define KEPT_NS INT64_C(100000000) /* What has not been asked for by then will not be. */

/* Tasks that ran together. */
struct process_ahead {
    struct process_ahead *next;
    uint32_t workflow;
    uint32_t task;
    int64_t since_ns;
    int64_t run_ns;
    uint32_t usage_count;
    struct engine_usage usages[ENGINE_USAGES_MAX];
    uint32_t count;
    uint32_t left; /* That have not been taken. */
    struct {
        struct bundle *input;
        struct engine_output output;
    } tasks[]; /* Both are its own. */
};

static void destroy(struct process_ahead *ahead)
{
    for (uint32_t i = 0; i < ahead->count; i++) {
        bundle_destroy(ahead->tasks[i].input);
        bundle_destroy(ahead->tasks[i].output.contents);
    }
    free(ahead);
}

/* Nothing has asked for @ahead. */
static void miss(struct engine_process *engine, struct process_ahead *ahead)
{
    int32_t *credit = &engine->ahead_credits[ahead->workflow];
    *credit = *credit > CREDIT_MISSED ? *credit - CREDIT_MISSED : 0;
    engine->counts.missed++;
    destroy(ahead);
}

void process_ahead_init(struct engine_process *engine)
{
    const uint32_t count = engine->catalogue->workflow_count;
    engine->ahead_credits = memory_zeroed(count + 1, sizeof(*engine->ahead_credits));
    for (uint32_t i = 0; i < count; i++) {
        engine->ahead_credits[i] = CREDIT_FIRST;
    }
}

bool process_ahead_may(struct engine_process *engine, const struct process_batch *batch)
{
    const struct engine_batch *asked = &batch->batch;
    if (batch->is_suspect || engine->fleet->workers[asked->worker].sharing == SHARES_SM ||
        process_task_ahead(engine->catalogue->workflows[asked->workflow], asked->task) ==
            TASK_NONE) {
        return false; /* What ends its process is to be found task by task. */
    }
    return engine->ahead_credits[asked->workflow] > 0 || batch->number % TRIED_EVERY == 0;
}

static void forget_tail(struct process_tail *tail)
{
    for (uint32_t i = 0; i < tail->count; i++) {
        bundle_destroy(tail->outputs[i]);
    }
    tail->count = 0;
}

void process_ahead_ran(
    struct process_worker *worker, const struct process_batch *batch, const struct process_ran *ran)
{
    struct process_tail *tail = &worker->tail;
    bool is_followed = batch->goes_ahead && batch->state == BATCH_SENT &&
                       ran->report.status == WEFT_OK &&
                       ran->report.output_count == batch->batch.task_count;
    for (uint32_t i = 0; i < ran->report.output_count; i++) {
        is_followed = is_followed && ran->outputs[i].contents != NULL &&
                      ran->outputs[i].bytes < PROCESS_AHEAD_BYTES;
    }
    forget_tail(tail);
    tail->number = ran->report.number;
    tail->workflow = batch->batch.workflow;
    tail->task = batch->batch.task;
    for (uint32_t i = 0; i < ran->report.output_count && is_followed; i++) {
        tail->outputs[tail->count++] = bundle_share(ran->outputs[i].contents);
    }
}

/* Whether all tasks of @ran have made something. */
static bool is_whole(const struct process_ran *ran)
{
    bool is_whole = ran->report.status == WEFT_OK;
    for (uint32_t i = 0; i < ran->report.output_count; i++) {
        is_whole = is_whole && ran->outputs[i].contents != NULL;
    }
    return is_whole;
}

/* Keep @ahead; the oldest leaves if there are too many. */
static void keep(struct process_worker *worker, struct process_ahead *ahead)
{
    struct process_ahead **link = &worker->tail.kept;
    uint32_t count = 0;
    while (*link != NULL) {
        link = &(*link)->next;
        count++;
    }
    *link = ahead;
    if (count == KEPT_MAX) {
        struct process_ahead *oldest = worker->tail.kept;
        worker->tail.kept = oldest->next;
        miss(worker->engine, oldest);
    }
}

/* What @ran made of the outputs at the tail. NULL if that cannot be used. */
static struct process_ahead *make(struct process_worker *worker, struct process_ran *ran)
{
    struct engine_process *engine = worker->engine;
    struct process_tail *tail = &worker->tail;
    const uint32_t count = tail->count;
    const uint32_t next =
        process_task_ahead(engine->catalogue->workflows[tail->workflow], tail->task);
    struct process_ahead *ahead =
        count == 0 || next == TASK_NONE || count != ran->report.output_count || !is_whole(ran)
            ? NULL
            : memory_reserved_zeroed(1, sizeof(*ahead) + count * sizeof(ahead->tasks[0]));
    if (ahead == NULL) {
        return NULL;
    }
    ahead->workflow = tail->workflow;
    ahead->task = next;
    ahead->since_ns = process_now_ns(engine);
    ahead->run_ns = ran->report.run_ns;
    ahead->usage_count = ran->report.usage_count;
    memcpy(ahead->usages, ran->usages, sizeof(ahead->usages));
    ahead->count = count;
    ahead->left = count;
    for (uint32_t i = 0; i < count; i++) {
        ahead->tasks[i].input = tail->outputs[i];
        ahead->tasks[i].output = ran->outputs[i];
        ahead->tasks[i].output.message = NULL;
        tail->outputs[i] = bundle_share(ran->outputs[i].contents);
        ran->outputs[i].contents = NULL;
    }
    tail->task = next;
    return ahead;
}

void process_ahead_add(struct process_worker *worker, struct process_ran *ran)
{
    /* Another thread of the process may have reported in between: it is dropped then. */
    const bool is_next = worker->tail.number == ran->report.number;
    struct process_ahead *ahead = is_next ? make(worker, ran) : NULL;
    if (ahead != NULL) {
        keep(worker, ahead);
    } else if (is_next) {
        forget_tail(&worker->tail); /* What failed fails again when it is asked for. */
    }
    process_ran_clear(ran);
}

/* Where something that was run ahead is; ahead is NULL if it is nowhere. */
struct found {
    struct process_ahead *ahead;
    uint32_t at;
};

/* What @task, of @batch, makes, if that was run ahead: by any worker, for what it makes is the
 * same.
 */
static struct found find(
    const struct engine_process *engine, const struct engine_batch *batch,
    const struct engine_task *task)
{
    for (uint32_t k = engine->hosted.first; k < engine->hosted.end; k++) {
        struct process_ahead *ahead = engine->workers[k].tail.kept;
        for (; ahead != NULL; ahead = ahead->next) {
            for (uint32_t i = 0; i < ahead->count && ahead->workflow == batch->workflow &&
                                 ahead->task == batch->task && task->input_count == 1;
                 i++) {
                if (ahead->tasks[i].input != NULL &&
                    ahead->tasks[i].input == task->inputs[0].contents) {
                    return (struct found){.ahead = ahead, .at = i};
                }
            }
        }
    }
    return (struct found){.ahead = NULL};
}

/* Release what has been taken as a whole. */
static void sweep(struct engine_process *engine)
{
    for (uint32_t k = engine->hosted.first; k < engine->hosted.end; k++) {
        struct process_ahead **link = &engine->workers[k].tail.kept;
        while (*link != NULL) {
            struct process_ahead *ahead = *link;
            if (ahead->left > 0) {
                link = &ahead->next;
            } else {
                *link = ahead->next;
                destroy(ahead);
            }
        }
    }
}

/* Task @index of @batch gets what was @found. */
static void take(struct process_batch *batch, uint32_t index, struct found found)
{
    struct process_ahead *ahead = found.ahead;
    batch->made[index].output = ahead->tasks[found.at].output;
    batch->run_ns += ahead->run_ns / ahead->count; /* Its part of that batch. */
    batch->usage_count = ahead->usage_count;
    memcpy(batch->usages, ahead->usages, sizeof(batch->usages));
    ahead->tasks[found.at].output.contents = NULL;
    bundle_destroy(ahead->tasks[found.at].input);
    ahead->tasks[found.at].input = NULL;
    ahead->left--;
}

bool process_ahead_take(struct engine_process *engine, struct process_batch *batch)
{
    const struct engine_batch *asked = &batch->batch;
    int32_t *credit = &engine->ahead_credits[asked->workflow];
    struct found found[BATCH_TASKS_MAX];
    for (uint32_t i = 0; i < asked->task_count; i++) {
        found[i] = find(engine, asked, &asked->tasks[i]);
        if (found[i].ahead == NULL) {
            return false;
        }
    }
    for (uint32_t i = 0; i < asked->task_count; i++) {
        take(batch, i, found[i]);
    }
    sweep(engine);
    *credit += *credit < CREDIT_MAX ? 1 : 0;
    engine->counts.ahead++;
    return true;
}

void process_ahead_watch(struct process_worker *worker, int64_t now_ns)
{
    forget_tail(&worker->tail);
    while (worker->tail.kept != NULL && now_ns - worker->tail.kept->since_ns > KEPT_NS) {
        struct process_ahead *oldest = worker->tail.kept;
        worker->tail.kept = oldest->next;
        miss(worker->engine, oldest);
    }
}

void process_ahead_close(struct process_worker *worker)
{
    process_ahead_watch(worker, INT64_MAX);
}
