/* local.c - the host's side of the local engine: what is asked for, and what came of it. */
#include "onnx/local.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "engine/segment.h"
#include "onnx/local_inside.h"
#include "onnx/ort_memory.h"

static struct engine_local *local_from(struct engine *engine)
{
    return (struct engine_local *)engine; /* base is the first member. */
}

/* @operation, which is all zero, is under way. */
static void start(
    struct engine_local *engine, struct operation *operation, enum engine_done_kind kind,
    uint32_t worker)
{
    ASSERT(worker < engine->fleet->worker_count);
    operation->kind = kind;
    operation->worker = worker;
    atomic_init(&operation->is_cancelled, false);
    if (engine->pending++ == 0 && engine->signal != NULL) {
        uv_ref((uv_handle_t *)engine->signal); /* The loop has something to wait for. */
    }
}

static struct operation *begin(
    struct engine_local *engine, enum engine_done_kind kind, uint32_t worker)
{
    struct operation *operation = memory_zeroed(1, sizeof(*operation));
    start(engine, operation, kind, worker);
    return operation;
}

/* Begin to run @batch. NULL if there is no memory for it. */
static struct operation *begin_run(struct engine_local *engine, const struct engine_batch *batch)
{
    struct operation *operation = memory_reserved_zeroed(1, sizeof(*operation));
    struct local_task *tasks = memory_reserved_zeroed(batch->task_count, sizeof(*tasks));
    if (operation == NULL || tasks == NULL || !engine_batch_copy(batch, &operation->batch)) {
        free(tasks);
        free(operation);
        return NULL;
    }
    operation->tasks = tasks;
    for (uint32_t i = 0; i < batch->task_count; i++) {
        tasks[i].given = &operation->batch.tasks[i];
    }
    start(engine, operation, ENGINE_RAN, batch->worker);
    return operation;
}

void local_end(struct engine_local *engine, struct operation *operation)
{
    for (uint32_t i = 0; i < operation->batch.task_count; i++) {
        bundle_destroy(operation->tasks[i].output);
    }
    engine_batch_release(&operation->batch);
    for (uint32_t i = 0; i < TASK_MODELS_MAX; i++) {
        local_release(engine, operation->models[i]);
    }
    free(operation->tasks);
    free(operation);
    if (--engine->pending == 0 && engine->signal != NULL) {
        uv_unref((uv_handle_t *)engine->signal);
    }
}

static void tell(struct engine_local *engine, struct operation *operation);

void local_finish(struct engine_local *engine, struct operation *operation)
{
    if (engine->signal == NULL) {
        (void)pthread_mutex_lock(engine->lock);
        tell(engine, operation);
        local_end(engine, operation);
        (void)pthread_mutex_unlock(engine->lock);
        return;
    }
    queue_push(&engine->done, &operation->queued);
    (void)uv_async_send(engine->signal); /* Fails only for a handle that is closing. */
}

void local_release(struct engine_local *engine, struct local_model *model)
{
    if (model == NULL || atomic_fetch_sub(&model->references, 1) > 1) {
        return;
    }
    struct operation *unload = model->unload;
    const bool has_any = model->onnx[0] != NULL;
    for (uint32_t i = 0; i < ARTIFACT_VERSIONS_MAX; i++) {
        const uint32_t version = model->versions.items[i].version;
        if (model->onnx[i] == NULL || local_is_again(model, i)) {
            continue;
        }
        if (unload != NULL) {
            const uint32_t place = local_place(unload->model, version);
            local_sleep(&engine->workers[unload->worker], place, model->onnx[i]);
        } else {
            onnx_model_unload(model->onnx[i]);
        }
    }
    if (has_any) {
        ort_memory_trim();
        segments_trim();
    }
    free(model);
    if (unload != NULL) {
        local_finish(engine, unload);
    }
}

static void local_load(struct engine *base, uint32_t worker, uint32_t model)
{
    struct engine_local *engine = local_from(base);
    ASSERT(model < engine->artifacts->count);
    ASSERT(engine->workers[worker].resident[model] == NULL);
    struct operation *operation = begin(engine, ENGINE_LOADED, worker);
    operation->model = model;
    operation->versions = engine->artifacts->items[model].versions;
    operation->next_open = engine->loads;
    engine->loads = operation;
    queue_push(&engine->workers[worker].loads, &operation->queued);
}

/* Take @operation off @list, in which it is. */
static void unlink_operation(struct operation **list, const struct operation *operation)
{
    while (*list != operation) {
        list = &(*list)->next_open;
    }
    *list = operation->next_open;
}

static void local_cancel_load(struct engine *base, uint32_t worker, uint32_t model)
{
    struct engine_local *engine = local_from(base);
    struct operation *operation = engine->loads;
    while (operation != NULL && (operation->worker != worker || operation->model != model)) {
        operation = operation->next_open;
    }
    ASSERT(operation != NULL);
    unlink_operation(&engine->loads, operation);
    atomic_store(&operation->is_cancelled, true);
    if (queue_remove(&engine->workers[worker].loads, &operation->queued)) {
        local_end(engine, operation);
    }
}

/* Let the thread of @worker unload @loaded. */
static struct operation *begin_unload(
    struct engine_local *engine, uint32_t worker, uint32_t model, struct local_model *loaded)
{
    struct operation *operation = begin(engine, ENGINE_UNLOADED, worker);
    operation->model = model;
    operation->loaded = loaded;
    return operation;
}

static void local_unload(struct engine *base, uint32_t worker, uint32_t model)
{
    struct engine_local *engine = local_from(base);
    struct local_model *loaded = engine->workers[worker].resident[model];
    ASSERT(loaded != NULL);
    engine->workers[worker].resident[model] = NULL;
    struct operation *operation = begin_unload(engine, worker, model, loaded);
    queue_push(&engine->workers[worker].loads, &operation->queued);
}

static void local_reshape(struct engine *base, uint32_t worker, uint32_t gpu)
{
    struct engine_local *engine = local_from(base);
    struct operation *operation = begin(engine, ENGINE_SHAPED, worker);
    operation->gpu = gpu; /* Processors are shared as they are: there is nothing to do. */
    local_finish(engine, operation);
}

/* Which file @operation, a batch of function @number, is to run. */
static void choose_file(struct engine_local *engine, uint32_t number, struct operation *operation)
{
    const uint32_t edition = job_edition(operation->batch.tasks[0].job);
    operation->file = artifact_file_at(&engine->artifacts->items[number], edition);
    operation->is_renewed = engine->renewals[number] != operation->file.renewals;
    engine->renewals[number] = operation->file.renewals;
}

static enum weft_status local_launch(struct engine *base, const struct engine_batch *batch)
{
    struct engine_local *engine = local_from(base);
    struct local_worker *worker = &engine->workers[batch->worker];
    const struct workflow_task *kind =
        &engine->catalogue->workflows[batch->workflow]->tasks[batch->task];
    struct operation *operation = begin_run(engine, batch);
    if (operation == NULL) {
        return WEFT_NO_MEMORY;
    }
    for (uint32_t i = 0; i < kind->model_count; i++) {
        struct local_model *model = worker->resident[kind->models[i]];
        ASSERT(model != NULL);
        atomic_fetch_add(&model->references, 1);
        operation->models[i] = model;
    }
    choose_file(engine, kind->run, operation);
    operation->next_open = engine->runs;
    engine->runs = operation;
    queue_push(&worker->runs, &operation->queued);
    return WEFT_OK;
}

void local_give_up(struct engine_local *engine, struct operation *operation)
{
    struct local_worker *worker = &engine->workers[operation->worker];
    unlink_operation(&engine->runs, operation);
    atomic_store(&operation->is_cancelled, true);
    if (queue_remove(&worker->runs, &operation->queued)) {
        tell(engine, operation);
        local_end(engine, operation);
        return;
    }
    for (uint32_t i = 0; i < worker->runner_count; i++) {
        local_runner_cancel(&worker->runners[i], operation);
    }
}

static void local_cancel(struct engine *base, uint64_t batch)
{
    struct engine_local *engine = local_from(base);
    struct operation *operation = engine->runs;
    while (operation != NULL && operation->batch.batch != batch) {
        operation = operation->next_open;
    }
    ASSERT(operation != NULL);
    local_give_up(engine, operation);
}

static void tell_ran(struct engine_local *engine, struct operation *operation)
{
    struct engine_output outputs[BATCH_TASKS_MAX];
    struct engine_usage usages[TASK_MODELS_MAX];
    const struct workflow_task *kind =
        &engine->catalogue->workflows[operation->batch.workflow]->tasks[operation->batch.task];
    struct engine_done done = {
        .kind = ENGINE_RAN,
        .worker = operation->worker,
        .batch = operation->batch.batch,
        .run_ns = operation->run_ns,
        .output_count = operation->batch.task_count,
        .outputs = outputs,
        .usages = usages,
    };
    uint32_t failed = 0;
    ASSERT(operation->batch.task_count > 0);
    for (uint32_t i = 0; i < kind->model_count; i++) {
        const struct onnx_usage *measured = &operation->usages[i];
        done.is_disturbed = done.is_disturbed || measured->is_odd;
        if (measured->run_count > 0) {
            usages[done.usage_count++] = (struct engine_usage){
                .model = kind->models[i],
                .items = measured->rows_most,
                .bytes = measured->workspace_bytes,
            };
        }
    }
    for (uint32_t i = 0; i < operation->batch.task_count; i++) {
        struct local_task *task = &operation->tasks[i];
        outputs[i] = (struct engine_output){.contents = task->output};
        if (task->output == NULL) {
            outputs[i].status = task->error.status;
            outputs[i].message = task->error.message;
            failed++;
        } else {
            outputs[i].items = task->output->items;
            outputs[i].bytes = task->output->bytes;
            task->output = NULL; /* The host's from here on. */
        }
    }
    if (failed == operation->batch.task_count) {
        done.status = outputs[0].status;
        done.message = outputs[0].message;
        done.output_count = 0;
    }
    engine->base.host.done(engine->base.host.context, &done);
}

/*
 * What is counted while others run has their share in it, and can make a model look larger than
 * the device. What was seen of it alone is better, unless the file has grown since.
 */
static uint64_t bytes_of(
    const struct engine_local *engine, uint32_t number, const struct onnx_model *model)
{
    const uint64_t known = engine->artifacts->items[number].bytes;
    return known > onnx_model_bytes_least(model) ? known : onnx_model_bytes(model);
}

static void tell_loaded(struct engine_local *engine, struct operation *operation)
{
    struct engine_done done = {
        .kind = ENGINE_LOADED, .worker = operation->worker, .model = operation->model};
    struct local_model *loaded = operation->loaded;
    if (loaded == NULL) {
        done.status = operation->error.status;
        done.message = operation->error.message;
    }
    for (uint32_t i = 0; loaded != NULL && i < ARTIFACT_VERSIONS_MAX; i++) {
        if (loaded->onnx[i] != NULL && !local_is_again(loaded, i)) {
            const uint64_t bytes = bytes_of(engine, operation->model, loaded->onnx[i]);
            const uint64_t shared = onnx_model_bytes_shared(loaded->onnx[i]);
            done.bytes += bytes;
            done.own_bytes += bytes > shared ? bytes - shared : 0;
        }
    }
    engine->workers[operation->worker].resident[operation->model] = loaded;
    engine->base.host.done(engine->base.host.context, &done);
}

/* A load that was given up too late: it goes again, and the host does not hear of it. */
static void drop_loaded(struct engine_local *engine, struct operation *operation)
{
    struct operation *unload =
        begin_unload(engine, operation->worker, operation->model, operation->loaded);
    unload->is_silent = true;
    queue_push(&engine->workers[operation->worker].loads, &unload->queued);
}

static void tell(struct engine_local *engine, struct operation *operation)
{
    const bool is_cancelled = atomic_load(&operation->is_cancelled);
    switch (operation->kind) {
    case ENGINE_LOADED:
        if (is_cancelled && operation->loaded != NULL) {
            drop_loaded(engine, operation);
        } else if (!is_cancelled) {
            unlink_operation(&engine->loads, operation);
            tell_loaded(engine, operation);
        }
        return;
    case ENGINE_RAN:
        if (!is_cancelled) {
            unlink_operation(&engine->runs, operation);
            tell_ran(engine, operation);
        } else if (engine->base.host.stopped != NULL) {
            engine->base.host.stopped(engine->base.host.context, operation->batch.batch);
        }
        return;
    case ENGINE_REVISED: /* Loads do it. */
        return;
    case ENGINE_UNLOADED:
    case ENGINE_SHAPED:
        if (!operation->is_silent) {
            const struct engine_done done = {
                .kind = operation->kind,
                .worker = operation->worker,
                .model = operation->model,
                .gpu = operation->gpu,
            };
            engine->base.host.done(engine->base.host.context, &done);
        }
        return;
    }
    ASSERT(false);
}

void local_on_signal(uv_async_t *signal)
{
    struct engine_local *engine = signal->data;
    struct queued *next;
    for (struct queued *at = queue_take_all(&engine->done); at != NULL; at = next) {
        struct operation *operation = (struct operation *)at; /* queued is the first member. */
        next = at->next;
        tell(engine, operation);
        local_end(engine, operation);
    }
}

static void local_count(const struct engine *base, struct engine_counts *counts_out)
{
    const struct engine_local *engine = (const struct engine_local *)base;
    struct function_counts counts;
    if (engine->pool != NULL) {
        function_pool_counts(engine->pool, &counts);
        counts_out->function_starts = counts.started;
        counts_out->function_crashes = counts.crashed + counts.late + counts.nonsense;
    }
}

const struct engine_ops local_ops = {
    .name = "local",
    .load = local_load,
    .cancel_load = local_cancel_load,
    .unload = local_unload,
    .reshape = local_reshape,
    .launch = local_launch,
    .cancel = local_cancel,
    .count = local_count,
    .destroy = local_destroy,
};
