/* local_load.c - the thread of a worker that loads and unloads, one model after another. */
#include <limits.h>
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "onnx/local_inside.h"
#include "onnx/ort_memory.h"

/* Whether another of @versions, which are all in memory at once, is kept where number @index is. */
static bool has_rival(const struct artifact_versions *versions, uint32_t index)
{
    bool has_one = false;
    for (uint32_t i = 0; i < versions->count; i++) {
        has_one = has_one || (versions->items[i].version != versions->items[index].version &&
                              local_place(0, versions->items[i].version) ==
                                  local_place(0, versions->items[index].version));
    }
    return has_one;
}

/* Load the file at @path; what is known of it is kept at @place. */
static enum weft_status load_file(
    struct local_worker *worker, const struct onnx_options *given, uint32_t place,
    struct onnx_model **model_out, struct weft_error *error)
{
    struct engine_local *engine = worker->engine;
    struct onnx_options options = *given;
    const struct ort *ort;
    struct onnx_model *woken = NULL;
    const enum weft_status status = ort_open(&ort, error);
    if (status != WEFT_OK) {
        return status;
    }
    (void)pthread_mutex_lock(&engine->digest_lock);
    struct onnx_digest digest = engine->digests[place]; /* A copy: others load it too. */
    (void)pthread_mutex_unlock(&engine->digest_lock);
    options.digest = &digest;
    if (options.folder != NULL && onnx_digest_file(options.path, &digest, NULL) == WEFT_OK) {
        woken = local_wake(worker, place, &digest);
    }
    *model_out = woken;
    const enum weft_status loaded =
        woken != NULL ? WEFT_OK : onnx_model_load(ort, &options, model_out, error);
    (void)pthread_mutex_lock(&engine->digest_lock);
    engine->digests[place] = digest;
    (void)pthread_mutex_unlock(&engine->digest_lock);
    return loaded;
}

/* Load number @index of the versions of @model, unless it is one of those before it. */
static enum weft_status load_version(
    struct local_worker *worker, uint32_t number, struct local_model *model, uint32_t index,
    struct weft_error *error)
{
    struct engine_local *engine = worker->engine;
    const struct artifact *artifact = &engine->artifacts->items[number];
    const uint32_t version = model->versions.items[index].version;
    char path[PATH_MAX];
    for (uint32_t i = 0; i < index; i++) {
        if (model->versions.items[i].version == version) {
            model->onnx[index] = model->onnx[i];
            return WEFT_OK;
        }
    }
    if (!artifact_path(artifact->path, version, path, sizeof(path))) {
        return error_set(error, WEFT_LIMIT, "%s: its path is too long", artifact->path);
    }
    const uint32_t place = local_place(number, version);
    const struct onnx_options options = {
        .path = path,
        .name = engine->catalogue->models[number],
        .folder = engine->cache[0] == '\0' ? NULL : engine->cache,
        .rows_max = artifact->batch_max,
        .has_turns = true,
        .rows = has_rival(&model->versions, index) ? NULL : &engine->rows[place],
    };
    return load_file(worker, &options, place, &model->onnx[index], error);
}

static enum weft_status load_onnx(
    struct local_worker *worker, uint32_t number, struct local_model *model,
    struct weft_error *error)
{
    enum weft_status status = WEFT_OK;
    if (model->versions.count == 0) {
        model->versions.count = 1; /* Version 0 is the file of the table, for all editions. */
    }
    for (uint32_t i = 0; i < model->versions.count && status == WEFT_OK; i++) {
        status = load_version(worker, number, model, i, error);
    }
    return status;
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
    model->versions = operation->versions;
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
