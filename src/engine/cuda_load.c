/* cuda_load.c - the thread that loads weights. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "engine/cuda_inside.h"

static void close_graphs(struct cuda_model *model, uint32_t package)
{
    for (uint32_t i = 0; i <= CUDA_TRIAL; i++) {
        if (model->graphs[package][i] != NULL) {
            cuda_graph_close(model->graphs[package][i]);
            free(model->graphs[package][i]);
        }
    }
}

void cuda_model_close(struct cuda_model *model)
{
    if (!model->is_open) {
        return;
    }
    for (uint32_t i = 0; i < model->manifest.package_count; i++) {
        close_graphs(model, i);
        cuda_package_close(model->packages[i]);
    }
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
    model->manifest.since_ns = artifact->cuda_since_ns;
    model->manifest.compare = engine->options.compare;
    if (status != WEFT_OK) {
        cuda_manifest_free(&model->manifest);
        return status;
    }
    model->is_open = true;
    return WEFT_OK;
}

/* What an earlier process has left with the keeper. Asked once: later, this one knows better. */
static enum weft_status take_kept(
    struct engine_cuda *engine, uint32_t place, struct cuda_block *block_out,
    struct weft_error *error)
{
    struct cuda_model *model = &engine->models[place];
    *block_out = (struct cuda_block){.bytes = model->weights.range_bytes, .file = -1};
    if (model->is_asked) {
        return WEFT_NOT_FOUND;
    }
    model->is_asked = true;
    if (cuda_keeper_take(&engine->keeper, place, block_out->bytes, &block_out->file, error) !=
        WEFT_OK) {
        return WEFT_NOT_FOUND;
    }
    void *file = (void *)(intptr_t)block_out->file; /* NOLINT: as the driver wants it. */
    const enum weft_status status = cuda_check(
        &engine->driver, engine->driver.block_import(&block_out->handle, file, CUDA_HANDLE_FILE),
        "import weights", error);
    if (status != WEFT_OK) {
        (void)close(block_out->file);
    }
    return status;
}

/* Memory to fill. What was just dropped may still be the keeper's: it has let go once it answers.
 */
static enum weft_status take_new(
    struct engine_cuda *engine, uint32_t place, struct cuda_block *block_out,
    struct weft_error *error)
{
    const uint64_t bytes = engine->models[place].weights.range_bytes;
    struct weft_error ignored;
    int file;
    enum weft_status status = cuda_blocks_take(&engine->blocks, bytes, block_out, error);
    if (status == WEFT_NO_MEMORY &&
        cuda_keeper_take(&engine->keeper, place, /* bytes: of none */ 0, &file, &ignored) ==
            WEFT_NOT_FOUND) {
        status = cuda_blocks_take(&engine->blocks, bytes, block_out, error);
    }
    return status;
}

/* The weights at @place, if there are any, outlive this process from now on, if there is a keeper.
 */
static void keep(struct engine_cuda *engine, uint32_t place)
{
    struct cuda_block *block = &engine->models[place].weights.block;
    if (block->handle == 0 || !engine->keeper.is_there) {
        return;
    }
    if (block->file >= 0 ||
        engine->driver.block_export(&block->file, block->handle, CUDA_HANDLE_FILE, /* flags */ 0) ==
            CUDA_SUCCESS) {
        cuda_keeper_give(&engine->keeper, place, block->bytes, block->file);
    }
}

static bool is_cancelled(void *context)
{
    struct cuda_job *job = context;
    return atomic_load(&job->is_cancelled);
}

/* The memory waits for other weights, unless a keeper has it that may not hear of that. */
static void give_up_weights(struct engine_cuda *engine, uint32_t place)
{
    struct cuda_model *model = &engine->models[place];
    struct cuda_block block =
        model->is_open ? cuda_weights_unmap(&model->weights) : (struct cuda_block){.handle = 0};
    cuda_keeper_drop(&engine->keeper, place);
    if (block.handle != 0 && (block.file < 0 || engine->keeper.is_there)) {
        cuda_blocks_give(&engine->blocks, &block);
    } else {
        cuda_block_release(&engine->device, &block);
    }
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
    const struct cuda_cancel cancel = {is_cancelled, job};
    struct cuda_block block;
    char path[4096];
    borrow_file(engine, job->place);
    if (snprintf(path, sizeof(path), "%s/%s", model->manifest.folder, model->manifest.weights) >=
        (int)sizeof(path)) {
        return error_set(error, WEFT_LIMIT, "the path of the weights is too long");
    }
    enum weft_status status = cuda_manifest_check(&model->manifest, path, error);
    if (status == WEFT_OK) {
        status = take_new(engine, job->place, &block, error);
    }
    return status == WEFT_OK
               ? cuda_weights_fill(&model->weights, &block, path, engine->copies, &cancel, error)
               : status;
}

/* Weights. Of what an earlier process has tried, code is opened with its first use. */
static enum weft_status load_model(
    struct engine_cuda *engine, struct cuda_job *job, struct weft_error *error)
{
    struct cuda_model *model = &engine->models[job->place];
    struct cuda_block block;
    enum weft_status status = open_model(engine, job->place, error);
    if (status != WEFT_OK) {
        return status;
    }
    status = take_kept(engine, job->place, &block, error);
    if (status == WEFT_OK) {
        model->is_tried = true;
        return cuda_weights_map(&model->weights, &block, error);
    }
    return status == WEFT_NOT_FOUND ? copy_weights(engine, job, error) : status;
}

/* What came of a load is known, and is told unless it was cancelled. */
static void end_load(struct engine_cuda *engine, struct cuda_job *job)
{
    struct cuda_model *model = &engine->models[job->place];
    const enum weft_status status = job->error.status;
    if (status != WEFT_OK) {
        give_up_weights(engine, job->place);
    }
    cuda_lock(engine);
    model->is_trying = false;
    if (atomic_load(&job->is_cancelled)) {
        cuda_unlock(engine);
        if (status == WEFT_OK) {
            give_up_weights(engine, job->place);
        }
        return;
    }
    engine->job = NULL; /* It can no longer be cancelled. */
    model->is_tried = model->is_tried || status == WEFT_OK;
    model->is_there = status == WEFT_OK;
    atomic_store(&model->is_leaving, false);
    cuda_graphs_look_ahead(engine);
    engine->base.host.done(
        engine->base.host.context, &(struct engine_done){
                                       .kind = ENGINE_LOADED,
                                       .status = status,
                                       .message = status == WEFT_OK ? NULL : job->error.message,
                                       .worker = cuda_worker_at(engine, job->place),
                                       .model = cuda_model_at(engine, job->place),
                                       .bytes = status == WEFT_OK ? model->weights.range_bytes : 0,
                                   });
    cuda_unlock(engine);
    if (status == WEFT_OK) {
        cuda_block_shut(&engine->device, &model->weights.block);
        keep(engine, job->place);
    }
}

/* Whether @job is over: packages that have never run are the recording thread's. */
static bool load(struct engine_cuda *engine, struct cuda_job *job)
{
    struct cuda_model *model = &engine->models[job->place];
    struct weft_error error = {.status = WEFT_OK};
    job->error.status = load_model(engine, job, &error);
    cuda_mind(engine, job->error.status, &error);
    if (job->error.status == WEFT_OK && !model->is_tried && !atomic_load(&job->is_cancelled)) {
        struct cuda_job **link = &engine->trials;
        cuda_lock(engine);
        while (*link != NULL) {
            link = &(*link)->next;
        }
        model->is_trying = true;
        engine->job = NULL;
        job->kind = JOB_TRY;
        job->next = NULL;
        *link = job;
        (void)pthread_cond_signal(&engine->records);
        cuda_unlock(engine);
        return false;
    }
    job->error = job->error.status == WEFT_OK ? (struct weft_error){.status = WEFT_OK} : error;
    end_load(engine, job);
    return true;
}

static void unload(struct engine_cuda *engine, const struct cuda_job *job)
{
    struct cuda_model *model = &engine->models[job->place];
    cuda_lock(engine);
    model->is_there = false;
    atomic_store(&model->is_leaving, true);
    while (model->users > 0 && !engine->ends) { /* Cancelled, but they run; or it is recorded. */
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

/* Another keeper: it gets what is complete. */
static void change_keeper(struct engine_cuda *engine, const struct cuda_job *job)
{
    cuda_keeper_close(&engine->keeper);
    cuda_keeper_open(&engine->keeper, job->socket);
    for (uint32_t i = 0; i < cuda_place_count(engine); i++) {
        keep(engine, i);
    }
}

/* Whether @job is over. */
static bool work(struct engine_cuda *engine, struct cuda_job *job)
{
    switch (job->kind) {
    case JOB_LOAD:
        return atomic_load(&job->is_cancelled) || load(engine, job);
    case JOB_TRIED:
        end_load(engine, job);
        return true;
    case JOB_UNLOAD:
        unload(engine, job);
        return true;
    case JOB_SHAPE:
        shape(engine, job);
        return true;
    case JOB_KEEPER:
        change_keeper(engine, job);
        return true;
    case JOB_TRY:
        break;
    }
    ASSERT(false);
    return true;
}

/* The first job that can be done now. A model that is tried is left alone until that is over. */
static struct cuda_job *take_job(struct engine_cuda *engine)
{
    struct cuda_job **link = &engine->jobs;
    while (*link != NULL && ((*link)->kind == JOB_LOAD || (*link)->kind == JOB_UNLOAD) &&
           engine->models[(*link)->place].is_trying) {
        link = &(*link)->next;
    }
    struct cuda_job *job = *link;
    if (job != NULL) {
        *link = job->next;
    }
    return job;
}

void *cuda_loader_main(void *argument)
{
    struct engine_cuda *engine = argument;
    struct weft_error error;
    cuda_mind(engine, cuda_device_enter(&engine->device, &error), &error);
    cuda_lock(engine);
    while (!engine->ends) {
        struct cuda_job *job = take_job(engine);
        if (job == NULL) {
            (void)pthread_cond_wait(&engine->changed, engine->options.lock);
            continue;
        }
        engine->job = job;
        cuda_unlock(engine);
        const bool is_over = work(engine, job);
        cuda_lock(engine);
        engine->job = NULL;
        if (is_over) {
            free(job);
        }
    }
    cuda_unlock(engine);
    return NULL;
}
