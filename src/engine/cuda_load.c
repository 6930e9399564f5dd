/* cuda_load.c - the thread that loads weights and records graphs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "engine/cuda_inside.h"

static void close_file(struct cuda_model *model)
{
    if (model->file >= 0) {
        (void)close(model->file);
        model->file = -1;
    }
}

static void close_graphs(struct cuda_model *model, uint32_t package)
{
    for (uint32_t i = 0; i < CUDA_SHARES_MAX; i++) {
        if (model->graphs[package][i] != NULL) {
            cuda_graph_close(model->graphs[package][i]);
            free(model->graphs[package][i]);
        }
    }
}

void cuda_model_close(struct engine_cuda *engine, struct cuda_model *model)
{
    (void)engine;
    if (!model->is_open) {
        return;
    }
    for (uint32_t i = 0; i < model->manifest.package_count; i++) {
        close_graphs(model, i);
        cuda_package_close(model->packages[i]);
    }
    close_file(model);
    cuda_weights_close(&model->weights);
    cuda_manifest_free(&model->manifest);
    model->is_open = false;
}

/* The manifest and an address: once. */
static enum weft_status open_model(
    struct engine_cuda *engine, uint32_t place, struct weft_error *error)
{
    struct cuda_model *model = &engine->models[place];
    const uint32_t number = cuda_model_at(engine, place);
    const struct artifact *artifact = &engine->options.artifacts->items[number];
    if (artifact->cuda == NULL) {
        return error_set(
            error, WEFT_INVALID, "model '%s' has no packages for a GPU",
            engine->options.catalogue->models[number]);
    }
    if (model->is_open) {
        return WEFT_OK;
    }
    enum weft_status status = cuda_manifest_read(artifact->cuda, &model->manifest, error);
    if (status != WEFT_OK) {
        return status;
    }
    status =
        cuda_weights_open(&engine->device, model->manifest.weights_bytes, &model->weights, error);
    if (status != WEFT_OK) {
        cuda_manifest_free(&model->manifest);
        return status;
    }
    model->is_open = true;
    return WEFT_OK;
}

/* What an earlier process has left with the keeper. Asked once: later, this one knows better. */
static enum weft_status take_kept(
    struct engine_cuda *engine, uint32_t place, uint64_t *block_out, struct weft_error *error)
{
    struct cuda_model *model = &engine->models[place];
    if (model->is_asked) {
        return WEFT_NOT_FOUND;
    }
    model->is_asked = true;
    const enum weft_status status =
        cuda_keeper_take(&engine->keeper, place, model->weights.range_bytes, &model->file, error);
    if (status != WEFT_OK) {
        return WEFT_NOT_FOUND;
    }
    void *file = (void *)(intptr_t)model->file; /* NOLINT: as the driver wants it. */
    return cuda_check(
        &engine->driver, engine->driver.block_import(block_out, file, CUDA_HANDLE_FILE),
        "import weights", error);
}

/* New memory. What was just dropped may still be the keeper's: it has let go once it answers. */
static enum weft_status take_new(
    struct engine_cuda *engine, uint32_t place, uint64_t *block_out, struct weft_error *error)
{
    const uint64_t bytes = engine->models[place].weights.bytes;
    struct weft_error ignored;
    int file;
    enum weft_status status =
        cuda_weights_take(&engine->device, bytes, CUDA_HANDLE_FILE, block_out, error);
    if (status == WEFT_NO_MEMORY &&
        cuda_keeper_take(&engine->keeper, place, /* bytes: of none */ 0, &file, &ignored) ==
            WEFT_NOT_FOUND) {
        status = cuda_weights_take(&engine->device, bytes, CUDA_HANDLE_FILE, block_out, error);
    }
    return status;
}

/* Memory behind the model's address, with its weights or for them. */
static enum weft_status map_block(
    struct engine_cuda *engine, uint32_t place, bool *is_filled_out, struct weft_error *error)
{
    uint64_t block = 0;
    enum weft_status status = take_kept(engine, place, &block, error);
    *is_filled_out = status == WEFT_OK;
    if (status == WEFT_NOT_FOUND) {
        status = take_new(engine, place, &block, error);
    }
    return status == WEFT_OK
               ? cuda_weights_map(&engine->models[place].weights, block, *is_filled_out, error)
               : status;
}

/* The weights at @place outlive this process from now on, if there is a keeper. */
static void keep(struct engine_cuda *engine, uint32_t place)
{
    struct cuda_model *model = &engine->models[place];
    if (model->file >= 0 || engine->driver.block_export(
                                &model->file, model->weights.block, CUDA_HANDLE_FILE,
                                /* flags */ 0) != CUDA_SUCCESS) {
        return;
    }
    cuda_keeper_give(&engine->keeper, place, model->weights.range_bytes, model->file);
}

static bool is_cancelled(void *context)
{
    struct cuda_job *job = context;
    return atomic_load(&job->is_cancelled);
}

static enum weft_status make_graph(
    struct engine_cuda *engine, struct cuda_model *model, uint32_t package,
    const struct cuda_share *share, struct cuda_graph *graph_out, struct weft_error *error)
{
    if (model->packages[package] == NULL) {
        const enum weft_status status = cuda_package_open(
            &engine->torch, &model->manifest, package, model->weights.address,
            &model->packages[package], error);
        if (status != WEFT_OK) {
            return status;
        }
    }
    return cuda_graph_open(
        &engine->device, share, model->packages[package], &model->manifest, graph_out, error);
}

/* Packages, each run once: plans are found now, and what cannot run is known. */
static enum weft_status try_packages(
    struct engine_cuda *engine, struct cuda_model *model, struct weft_error *error)
{
    enum weft_status status = WEFT_OK;
    for (uint32_t i = 0; i < model->manifest.package_count && status == WEFT_OK; i++) {
        struct cuda_graph graph;
        status = make_graph(engine, model, i, &engine->trial, &graph, error);
        if (status == WEFT_OK) {
            cuda_graph_close(&graph);
        }
    }
    model->is_tried = status == WEFT_OK;
    return status;
}

static void give_up_weights(struct engine_cuda *engine, uint32_t place)
{
    struct cuda_model *model = &engine->models[place];
    if (model->is_open) {
        cuda_weights_unmap(&model->weights);
    }
    close_file(model);
    cuda_keeper_drop(&engine->keeper, place);
}

/* What one worker has registered serves all: models are only closed all together. */
static void borrow_file(struct engine_cuda *engine, uint32_t place)
{
    const uint32_t step = engine->options.artifacts->count;
    for (uint32_t i = cuda_model_at(engine, place); i < cuda_place_count(engine); i += step) {
        if (i != place && engine->models[i].is_open) {
            cuda_weights_borrow_file(&engine->models[place].weights, &engine->models[i].weights);
        }
    }
}

static enum weft_status copy_weights(
    struct engine_cuda *engine, struct cuda_job *job, struct weft_error *error)
{
    struct cuda_model *model = &engine->models[job->place];
    char path[4096];
    borrow_file(engine, job->place);
    if (snprintf(path, sizeof(path), "%s/%s", model->manifest.folder, model->manifest.weights) >=
        (int)sizeof(path)) {
        return error_set(error, WEFT_LIMIT, "the path of the weights is too long");
    }
    return cuda_weights_copy(&model->weights, path, engine->copies, is_cancelled, job, error);
}

/* Weights and code. Of what an earlier process has tried, code is opened with its first use. */
static enum weft_status load_model(
    struct engine_cuda *engine, struct cuda_job *job, struct weft_error *error)
{
    struct cuda_model *model = &engine->models[job->place];
    bool is_filled;
    enum weft_status status = open_model(engine, job->place, error);
    if (status == WEFT_OK) {
        status = map_block(engine, job->place, &is_filled, error);
    }
    if (status != WEFT_OK || is_filled) {
        model->is_tried = model->is_tried || status == WEFT_OK;
        return status;
    }
    status = copy_weights(engine, job, error);
    if (status == WEFT_OK && !model->is_tried) {
        status = try_packages(engine, model, error);
    }
    return status;
}

static void load(struct engine_cuda *engine, struct cuda_job *job)
{
    struct cuda_model *model = &engine->models[job->place];
    struct weft_error error = {.status = WEFT_OK};
    const enum weft_status status = load_model(engine, job, &error);
    cuda_mind(engine, status, &error);
    if (status != WEFT_OK) {
        give_up_weights(engine, job->place);
    }
    cuda_lock(engine);
    if (atomic_load(&job->is_cancelled)) {
        cuda_unlock(engine);
        if (status == WEFT_OK) {
            give_up_weights(engine, job->place);
        }
        return;
    }
    engine->job = NULL; /* It can no longer be cancelled. */
    engine->base.host.done(
        engine->base.host.context, &(struct engine_done){
                                       .kind = ENGINE_LOADED,
                                       .status = status,
                                       .message = status == WEFT_OK ? NULL : error.message,
                                       .worker = cuda_worker_at(engine, job->place),
                                       .model = cuda_model_at(engine, job->place),
                                       .bytes = status == WEFT_OK ? model->weights.range_bytes : 0,
                                   });
    cuda_unlock(engine);
    if (status == WEFT_OK) {
        keep(engine, job->place);
    }
}

static void unload(struct engine_cuda *engine, const struct cuda_job *job)
{
    cuda_lock(engine);
    while (engine->models[job->place].users > 0 && !engine->ends) { /* Cancelled, but they run. */
        (void)pthread_cond_wait(&engine->changed, engine->options.lock);
    }
    cuda_unlock(engine);
    give_up_weights(engine, job->place);
    cuda_lock(engine);
    engine->base.host.done(
        engine->base.host.context, &(struct engine_done){
                                       .kind = ENGINE_UNLOADED,
                                       .worker = cuda_worker_at(engine, job->place),
                                       .model = cuda_model_at(engine, job->place),
                                   });
    cuda_unlock(engine);
}

/* Shares are made when a batch first needs them, in a millisecond or two. */
static void shape(struct engine_cuda *engine, const struct cuda_job *job)
{
    cuda_lock(engine);
    engine->base.host.done(
        engine->base.host.context, &(struct engine_done){
                                       .kind = ENGINE_SHAPED,
                                       .worker = job->worker,
                                       .gpu = job->gpu,
                                   });
    cuda_unlock(engine);
}

static void record(struct engine_cuda *engine, const struct cuda_job *job)
{
    struct cuda_batch *batch = job->batch;
    struct cuda_model *model = &engine->models[batch->place];
    struct cuda_graph *graph = memory_zeroed(1, sizeof(*graph));
    struct weft_error error = {.status = WEFT_OK};
    const enum weft_status status =
        make_graph(engine, model, batch->package, batch->share, graph, &error);
    cuda_mind(engine, status, &error);
    cuda_lock(engine);
    if (status == WEFT_OK) {
        model->graphs[batch->package][batch->share->number] = graph;
    } else {
        batch->error = error;
        free(graph);
    }
    batch->state = BATCH_READY;
    cuda_unlock(engine);
}

/* Another keeper: it gets what is complete. */
static void change_keeper(struct engine_cuda *engine, const struct cuda_job *job)
{
    cuda_keeper_close(&engine->keeper);
    cuda_keeper_open(&engine->keeper, job->socket);
    for (uint32_t i = 0; i < cuda_place_count(engine); i++) {
        const struct cuda_model *model = &engine->models[i];
        if (model->file >= 0) {
            cuda_keeper_give(&engine->keeper, i, model->weights.range_bytes, model->file);
        }
    }
}

static void work(struct engine_cuda *engine, struct cuda_job *job)
{
    switch (job->kind) {
    case JOB_LOAD:
        if (!atomic_load(&job->is_cancelled)) {
            load(engine, job);
        }
        return;
    case JOB_UNLOAD:
        unload(engine, job);
        return;
    case JOB_SHAPE:
        shape(engine, job);
        return;
    case JOB_RECORD:
        record(engine, job);
        return;
    case JOB_KEEPER:
        change_keeper(engine, job);
        return;
    }
}

void *cuda_loader_main(void *argument)
{
    struct engine_cuda *engine = argument;
    struct weft_error error;
    cuda_mind(engine, cuda_device_enter(&engine->device, &error), &error);
    cuda_lock(engine);
    while (!engine->ends) {
        struct cuda_job *job = engine->jobs;
        if (job == NULL) {
            (void)pthread_cond_wait(&engine->changed, engine->options.lock);
            continue;
        }
        engine->jobs = job->next;
        engine->job = job;
        cuda_unlock(engine);
        work(engine, job);
        cuda_lock(engine);
        engine->job = NULL;
        free(job);
    }
    cuda_unlock(engine);
    return NULL;
}
