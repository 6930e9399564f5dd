/* batch.c - batches of an engine process: sent whole, or task by task under suspicion. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "engine/artifact.h"
#include "engine/near.h"
#include "model/catalogue.h"
#include "process/ahead.h"
#include "process/inside.h"
#include "process/telling.h"

#define SUSPECTS_NS INT64_C(250000000) /* Others go before suspects for no longer. */

struct process_batch *process_batch_create(const struct engine_batch *batch)
{
    struct process_batch *copy =
        memory_reserved(sizeof(*copy) + batch->task_count * sizeof(copy->made[0]));
    if (copy == NULL) {
        return NULL;
    }
    *copy = (struct process_batch){.number = 0};
    for (uint32_t i = 0; i < batch->task_count; i++) { /* Messages are long: not as a whole. */
        copy->made[i].output = (struct engine_output){.contents = NULL};
        copy->made[i].message[0] = '\0';
    }
    if (!engine_batch_copy(batch, &copy->batch)) {
        free(copy);
        return NULL;
    }
    copy->told.batch = copy;
    return copy;
}

void process_batch_destroy(struct process_batch *batch)
{
    for (uint32_t i = 0; i < batch->batch.task_count; i++) {
        bundle_destroy(batch->made[i].output.contents);
    }
    engine_batch_release(&batch->batch);
    free(batch);
}

void process_batch_unlink(struct process_worker *worker, const struct process_batch *batch)
{
    struct process_batch **link = &worker->batches;
    while (*link != batch) {
        link = &(*link)->next;
    }
    *link = batch->next;
}

/* @batch is over, and the host is told of it. */
static void finish(
    struct process_worker *worker, struct process_batch *batch, enum weft_status status,
    const char *message)
{
    struct engine_done done = {
        .kind = ENGINE_RAN,
        .worker = batch->batch.worker,
        .batch = batch->batch.batch,
        .status = status,
        .run_ns = batch->run_ns,
        .is_disturbed = batch->is_disturbed || batch->is_suspect,
    };
    process_batch_unlink(worker, batch);
    process_tell(worker->engine, &batch->told, &done, message);
}

/* Task `at` of @batch has failed by itself. */
static void fail_task(struct process_batch *batch, enum weft_status status, const char *message)
{
    struct process_made *made = &batch->made[batch->at];
    process_copy_message(made->message, sizeof(made->message), message);
    made->output = (struct engine_output){.status = status};
    batch->at++;
}

/* All tasks of @batch, which ran one by one, have ended: the same rule as for whole batches. */
static void finish_suspect(struct process_worker *worker, struct process_batch *batch)
{
    for (uint32_t i = 0; i < batch->batch.task_count; i++) {
        if (batch->made[i].output.status == WEFT_OK) {
            finish(worker, batch, WEFT_OK, NULL);
            return;
        }
    }
    finish(worker, batch, batch->made[0].output.status, batch->made[0].message);
}

/* The model of @batch that the process could not load again; NULL if all are there. */
static const struct process_model *broken_of(
    const struct process_worker *worker, const struct process_batch *batch)
{
    const struct workflow_task *kind =
        &worker->engine->catalogue->workflows[batch->batch.workflow]->tasks[batch->batch.task];
    for (uint32_t i = 0; i < kind->model_count; i++) {
        const uint32_t place = process_place(worker, batch->batch.worker, kind->models[i]);
        const struct process_model *model = &worker->models[place];
        if (model->state == MODEL_BROKEN) {
            return model;
        }
    }
    return NULL;
}

/*
 * @batch, or its next task, does not fit into a message, or there is no memory for it. Its tasks go
 * one by one then; what cannot be sent alone has failed.
 */
static void cannot_send(struct process_worker *worker, struct process_batch *batch)
{
    batch->state = BATCH_WAITING;
    if (!batch->is_suspect) {
        batch->is_suspect = true;
        return;
    }
    fail_task(batch, WEFT_NO_MEMORY, "too large for a message to an engine, or no memory for it");
    if (batch->at == batch->batch.task_count) {
        finish_suspect(worker, batch);
    }
}

/* Send @batch, or its next task. False if that cannot be. */
static bool send_batch(struct process_worker *worker, struct process_batch *batch)
{
    struct engine_process *engine = worker->engine;
    const uint32_t first = batch->is_suspect ? batch->at : 0;
    const uint32_t end = batch->is_suspect ? first + 1 : batch->batch.task_count;
    const uint32_t run =
        engine->catalogue->workflows[batch->batch.workflow]->tasks[batch->batch.task].run;
    const uint32_t edition = job_edition(batch->batch.tasks[0].job);
    batch->number = ++engine->last_number;
    batch->state = BATCH_SENT;
    batch->since_ns = process_now_ns(engine);
    batch->goes_ahead = process_ahead_may(engine, batch);
    const struct process_order order = {
        .number = batch->number,
        .worker = batch->batch.worker,
        .near = process_near_launch(engine, &batch->batch),
        .ahead = batch->goes_ahead ? PROCESS_AHEAD_MAX : 0,
        .from = near_here(),
        .file = artifact_file_at(&engine->artifacts->items[run], edition),
    };
    process_put_batch(&engine->packet, &order, &batch->batch, first, end);
    if (engine->packet.is_short) {
        packet_clear(&engine->packet);
        cannot_send(worker, batch);
        return false;
    }
    if (order.near != 0) {
        process_near_expect(worker);
    }
    process_worker_send_launch(worker);
    process_spin(worker);
    return true;
}

static bool is_any(const struct process_worker *worker, bool is_suspect, enum batch_state state)
{
    for (const struct process_batch *at = worker->batches; at != NULL; at = at->next) {
        if ((at->is_suspect || !is_suspect) && at->state == state) {
            return true;
        }
    }
    return false;
}

/* Send @batch. False if it is over instead, or waits as a suspect from now on. */
static bool try_batch(struct process_worker *worker, struct process_batch *batch)
{
    const struct process_model *broken = broken_of(worker, batch);
    if (broken != NULL) {
        finish(worker, batch, WEFT_FAILED, broken->cause);
        return false;
    }
    return send_batch(worker, batch);
}

/*
 * The suspect that is next: the one that was launched last. That which was launched first is the
 * most likely to end the process once more; until then others are answered. NULL: none waits.
 */
static struct process_batch *last_suspect(const struct process_worker *worker)
{
    struct process_batch *last = NULL;
    for (struct process_batch *batch = worker->batches; batch != NULL; batch = batch->next) {
        last = batch->is_suspect && batch->state == BATCH_WAITING ? batch : last;
    }
    return last;
}

/* Whether others go before suspects, of which some wait: these want to be alone, but not forever.
 */
static bool do_others_go(struct process_worker *worker)
{
    const int64_t now_ns = process_now_ns(worker->engine);
    worker->suspects_ns = worker->suspects_ns == 0 ? now_ns : worker->suspects_ns;
    return now_ns - worker->suspects_ns <= SUSPECTS_NS;
}

/* Send what can be sent. False if something could not: then others may be sent instead. */
static bool pump(struct process_worker *worker)
{
    struct process_batch *suspect = last_suspect(worker);
    if (is_any(worker, /* is_suspect */ true, BATCH_SENT)) {
        return true; /* Suspects run alone. */
    }
    if (suspect == NULL) {
        worker->suspects_ns = 0;
    }
    if (suspect == NULL || do_others_go(worker)) {
        for (struct process_batch *batch = worker->batches; batch != NULL; batch = batch->next) {
            if (batch->state == BATCH_WAITING && !batch->is_suspect && !try_batch(worker, batch)) {
                return false;
            }
        }
    }
    return suspect == NULL || is_any(worker, false, BATCH_SENT) ||
           is_any(worker, false, BATCH_CANCELLED) || try_batch(worker, suspect);
}

void process_batches_pump(struct process_worker *worker)
{
    while (worker->is_up && worker->restoring == 0 && !pump(worker)) {
    }
}

void process_batch_launch(struct process_worker *worker, struct process_batch *batch)
{
    if (process_ahead_take(worker->engine, batch)) {
        finish(worker, batch, WEFT_OK, NULL);
    } else {
        process_batches_pump(worker);
    }
}

/* Take over what @ran says of the tasks of @batch from @first on. False if it does not fit. */
static bool take_outputs(struct process_batch *batch, struct process_ran *ran, uint32_t first)
{
    const uint32_t count = batch->is_suspect ? 1 : batch->batch.task_count;
    if (ran->report.status == WEFT_OK && ran->report.output_count != count) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct process_made *made = &batch->made[first + i];
        const char *message = ran->report.message;
        if (ran->report.status == WEFT_OK) {
            made->output = ran->outputs[i];
            ran->outputs[i].contents = NULL;
            message = ran->messages[i];
        } else {
            made->output = (struct engine_output){.status = (enum weft_status)ran->report.status};
        }
        process_copy_message(made->message, sizeof(made->message), message);
    }
    return true;
}

void process_batch_report(
    struct process_worker *worker, struct process_batch *batch, struct process_ran *ran)
{
    if (!take_outputs(batch, ran, batch->is_suspect ? batch->at : 0)) {
        (void)snprintf(
            ran->report.message, sizeof(ran->report.message), "an engine process sent nonsense");
        ran->report.status = WEFT_FAILED;
        (void)take_outputs(batch, ran, batch->is_suspect ? batch->at : 0);
    }
    batch->run_ns += ran->report.run_ns;
    batch->is_disturbed = ran->report.is_disturbed != 0;
    process_near_ran(worker->engine, batch, ran->report.run_ns);
    batch->usage_count = ran->report.usage_count;
    memcpy(batch->usages, ran->usages, sizeof(batch->usages));
    if (!batch->is_suspect) {
        finish(worker, batch, (enum weft_status)ran->report.status, batch->made[0].message);
        return;
    }
    batch->at++;
    if (batch->at < batch->batch.task_count) {
        batch->state = BATCH_WAITING;
    } else {
        finish_suspect(worker, batch);
    }
}

void process_batches_orphaned(struct process_worker *worker, const char *how)
{
    struct process_batch *next;
    for (struct process_batch *batch = worker->batches; batch != NULL; batch = next) {
        next = batch->next;
        if (batch->state == BATCH_WAITING) {
            continue;
        }
        if (batch->state == BATCH_CANCELLED) {
            process_batch_unlink(worker, batch);
            process_batch_destroy(batch);
        } else if (batch->is_late) {
            finish(worker, batch, WEFT_CRASHED, how);
        } else if (!batch->is_suspect) {
            batch->is_suspect = true;
            batch->state = BATCH_WAITING;
        } else {
            batch->state = BATCH_WAITING;
            fail_task(batch, WEFT_CRASHED, how);
            if (batch->at == batch->batch.task_count) {
                finish_suspect(worker, batch);
            }
        }
    }
}
