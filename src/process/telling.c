/* telling.c - what the host is to be told, in order. */
#include "process/telling.h"

#include <stdlib.h>

#include "base/assert.h"

void process_begin(struct engine_process *engine)
{
    if (engine->pending++ == 0) {
        uv_ref((uv_handle_t *)engine->keep);
    }
}

void process_end(struct engine_process *engine)
{
    ASSERT(engine->pending > 0);
    if (--engine->pending == 0) {
        uv_unref((uv_handle_t *)engine->keep);
    }
}

void process_tell(
    struct engine_process *engine, struct process_told *told, const struct engine_done *done,
    const char *message)
{
    told->next = NULL;
    told->done = *done;
    process_copy_message(told->message, sizeof(told->message), message);
    *engine->told_end = told;
    engine->told_end = &told->next;
    if (!engine->is_telling) {
        (void)uv_async_send(engine->keep); /* Fails only for a handle that is closing. */
    }
}

void process_release_told(struct process_told *told)
{
    if (told->batch != NULL) {
        process_batch_destroy(told->batch);
    } else if (told->done.kind == ENGINE_SHAPED) {
        free(told);
    }
}

/* Tell the host of a batch. */
static void tell_ran(struct engine_process *engine, struct process_told *told)
{
    struct process_batch *batch = told->batch;
    struct engine_output outputs[BATCH_TASKS_MAX];
    told->done.usage_count = batch->usage_count;
    told->done.usages = batch->usages;
    if (told->done.status == WEFT_OK) {
        told->done.output_count = batch->batch.task_count;
        told->done.outputs = outputs;
        for (uint32_t i = 0; i < batch->batch.task_count; i++) {
            outputs[i] = batch->made[i].output;
            outputs[i].message = batch->made[i].message;
            batch->made[i].output.contents = NULL; /* The host's from here on. */
        }
    }
    engine->base.host.done(engine->base.host.context, &told->done);
}

void process_tell_all(struct engine_process *engine)
{
    engine->is_telling = true;
    while (engine->told != NULL) {
        struct process_told *told = engine->told;
        engine->told = told->next;
        if (engine->told == NULL) {
            engine->told_end = &engine->told;
        }
        struct process_told said = *told; /* What a model is to tell next may be told meanwhile. */
        said.done.message = said.message[0] == '\0' ? NULL : said.message;
        process_end(engine);
        if (said.done.kind == ENGINE_RAN) {
            tell_ran(engine, &said);
        } else {
            engine->base.host.done(engine->base.host.context, &said.done);
        }
        process_release_told(told);
    }
    engine->is_telling = false;
}

void process_forget_told(
    struct engine_process *engine, enum engine_done_kind kind, uint32_t worker, uint64_t number)
{
    struct process_told **link = &engine->told;
    while (*link != NULL && ((*link)->done.kind != kind ||
                             (kind == ENGINE_RAN ? (*link)->done.batch != number
                                                 : (*link)->done.worker != worker ||
                                                       (*link)->done.model != number))) {
        link = &(*link)->next;
    }
    struct process_told *told = *link;
    ASSERT(told != NULL);
    *link = told->next;
    if (told->next == NULL) {
        engine->told_end = link;
    }
    process_release_told(told);
}
