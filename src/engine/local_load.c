/* local_load.c - the thread of a worker that loads and unloads, one model after another. */
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "engine/local_inside.h"
#include "engine/ort_memory.h"

static enum weft_status load_onnx(
    struct local_worker *worker, uint32_t number, struct local_model *model,
    struct weft_error *error)
{
    struct engine_local *engine = worker->engine;
    const struct artifact *artifact = &engine->artifacts->items[number];
    const struct ort *ort;
    const enum weft_status status = ort_open(&ort, error);
    if (status != WEFT_OK) {
        return status;
    }
    (void)pthread_mutex_lock(&engine->digest_lock);
    struct onnx_digest digest = engine->digests[number]; /* A copy: others load it too. */
    (void)pthread_mutex_unlock(&engine->digest_lock);
    const struct onnx_options options = {
        .path = artifact->path,
        .name = engine->catalogue->models[number],
        .folder = engine->cache[0] == '\0' ? NULL : engine->cache,
        .rows_max = artifact->batch_max,
        .rows = &engine->rows[number],
        .digest = &digest,
    };
    if (options.folder != NULL && onnx_digest_file(artifact->path, &digest, NULL) == WEFT_OK) {
        model->onnx = local_wake(worker, number, &digest);
    }
    const enum weft_status loaded =
        model->onnx != NULL ? WEFT_OK : onnx_model_load(ort, &options, &model->onnx, error);
    (void)pthread_mutex_lock(&engine->digest_lock);
    engine->digests[number] = digest;
    (void)pthread_mutex_unlock(&engine->digest_lock);
    return loaded;
}

/* A function is loaded by finding it, where it is to run in this process. */
static enum weft_status load_function(
    const struct engine_local *engine, uint32_t number, struct weft_error *error)
{
    const struct artifact *artifact = &engine->artifacts->items[number];
    struct function function;
    if (engine->pool != NULL) {
        return WEFT_OK;
    }
    return function_open(artifact->path, artifact->function, &function, error);
}

static void load(struct local_worker *worker, struct operation *operation)
{
    struct engine_local *engine = worker->engine;
    const uint32_t number = operation->model;
    struct local_model *model = memory_zeroed(1, sizeof(*model));
    enum weft_status status = WEFT_INVALID;
    atomic_init(&model->references, 1);
    switch (engine->artifacts->items[number].kind) {
    case ARTIFACT_ONNX:
        status = load_onnx(worker, number, model, &operation->error);
        break;
    case ARTIFACT_FUNCTION:
        status = load_function(engine, number, &operation->error);
        break;
    case ARTIFACT_NONE:
        (void)error_set(
            &operation->error, status, "model '%s' %s", engine->catalogue->models[number],
            engine->artifacts->items[number].cuda == NULL ? "has no file" : "runs on GPUs only");
        break;
    }
    operation->loaded = model;
    if (status != WEFT_OK) {
        local_release(engine, model);
        operation->loaded = NULL;
    }
}

static void unload(struct engine_local *engine, struct operation *operation)
{
    struct local_model *model = operation->loaded;
    operation->loaded = NULL;
    model->unload = operation; /* Told by the thread that gives the last reference back. */
    local_release(engine, model);
}

void *local_loader_main(void *argument)
{
    struct local_worker *worker = argument;
    struct engine_local *engine = worker->engine;
    for (;;) {
        struct operation *operation = (struct operation *)queue_pop(&worker->loads);
        if (operation == NULL) {
            return NULL;
        }
        if (operation->kind == ENGINE_UNLOADED) {
            unload(engine, operation);
            continue;
        }
        load(worker, operation);
        if (atomic_load(&operation->is_cancelled) && operation->loaded != NULL) {
            local_release(engine, operation->loaded);
            operation->loaded = NULL;
        }
        local_finish(engine, operation);
    }
}
