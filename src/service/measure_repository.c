#include "service/measure_repository.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "engine/onnx_cache.h"

static bool is_wanted(const struct measure_request *request, const char *name)
{
    const struct argument_list *models = request->models;
    for (uint32_t i = 0; models != NULL && i < models->count; i++) {
        if (strcmp(models->items[i], name) == 0) {
            return true;
        }
    }
    return models == NULL || models->count == 0;
}

/* Every model that was asked for must be one. */
static enum weft_status check_wanted(
    const struct repository *repository, const struct measure_request *request,
    struct weft_error *error)
{
    for (uint32_t i = 0; request->models != NULL && i < request->models->count; i++) {
        const char *name = request->models->items[i];
        const uint32_t model = catalogue_find_model(repository->catalogue, name);
        if (model == MODEL_NONE || repository->files[model].kind != REPOSITORY_ONNX) {
            return error_set(
                error, WEFT_NOT_FOUND, "%s: no model is called '%s'", repository->folder, name);
        }
    }
    return WEFT_OK;
}

/* Say of a model that is served alone what it takes and gives. */
static void describe(
    struct repository *repository, uint32_t model, const struct measure_signature *signature)
{
    for (uint32_t i = repository->written; i < repository->catalogue->workflow_count; i++) {
        struct workflow *workflow = repository->catalogue->workflows[i];
        if (workflow->tasks[0].run == model) {
            workflow_describe(
                workflow, signature->inputs, signature->input_count, signature->outputs,
                signature->output_count);
        }
    }
}

static void say_failed(
    struct measured *measured, const struct measure_request *request, uint32_t model,
    const struct weft_error *error)
{
    const bool can_load = measured->looks[model].fault[0] == '\0';
    measured->failed_count++;
    if (request->on_failed != NULL) {
        request->on_failed(
            request->context, measured->repository->catalogue->models[model], error->message,
            can_load);
    }
}

static enum measure_depth depth_of(
    const struct measured *measured, const struct measure_request *request, uint32_t model)
{
    const bool is_rehearsed =
        request->rehearsed != NULL && model_set_has(request->rehearsed, model);
    const bool is_known =
        is_rehearsed ? model_set_has(&measured->document.listed, model)
                     : profile_is_measured(measured->document.profile, model, /* device */ 0);
    return is_known && !request->again ? MEASURE_LOOK : is_rehearsed ? MEASURE_LOADS : MEASURE_RUNS;
}

static enum weft_status measure_one(
    struct measured *measured, const struct measure_request *request,
    const struct measure_options *options, uint32_t model, struct weft_error *error)
{
    struct measure_look *look = &measured->looks[model];
    struct weft_error cause = {.status = WEFT_OK};
    struct measure_figures figures;
    const enum weft_status status = measure_model(options, &figures, &cause);
    measure_apply(&figures, measured->document.profile, model, /* device */ 0);
    look->signature = figures.signature;
    if (figures.has_mixed_rows && request->on_mixed_rows != NULL) {
        request->on_mixed_rows(request->context, options->name);
    }
    describe(measured->repository, model, &look->signature);
    if (status != WEFT_OK && look->signature.output_count == 0) {
        (void)snprintf(look->fault, sizeof(look->fault), "%s", cause.message);
    }
    if (status != WEFT_OK) {
        say_failed(measured, request, model, &cause);
        return WEFT_OK;
    }
    if (options->depth == MEASURE_LOOK) {
        return WEFT_OK;
    }
    measured->measured_count++;
    model_set_add(&measured->document.listed, model);
    if (request->on_unsaved == NULL) {
        return measured_save(measured, error);
    }
    if (measured_save(measured, &cause) != WEFT_OK && !measured->is_unsaved) {
        measured->is_unsaved = true; /* It serves all the same. */
        request->on_unsaved(request->context, cause.message);
    }
    return WEFT_OK;
}

static uint32_t count_models(const struct repository *repository)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < repository->catalogue->model_count; i++) {
        count += repository->files[i].kind == REPOSITORY_ONNX ? 1 : 0;
    }
    return count;
}

static enum weft_status measure_all(
    struct measured *measured, const struct measure_request *request, struct weft_error *error)
{
    struct repository *repository = measured->repository;
    const uint32_t count = repository->catalogue->model_count;
    char cache[ONNX_CACHE_PATH_BYTES];
    const bool has_cache = onnx_cache_default_folder(cache);
    const uint32_t model_count = count_models(repository);
    uint32_t done = 0;
    for (uint32_t i = 0; i < count; i++) {
        const char *name = repository->catalogue->models[i];
        const struct measure_options options = {
            .nursery = measured->nursery,
            .model = i,
            .name = name,
            .file = &repository->files[i],
            .cache = has_cache ? cache : NULL,
            .depth = depth_of(measured, request, i),
        };
        if (repository->files[i].kind != REPOSITORY_ONNX || !is_wanted(request, name) ||
            (options.depth == MEASURE_LOOK && request->only_measured)) {
            continue;
        }
        if (request->is_interrupted != NULL && request->is_interrupted(request->context)) {
            return error_set(error, WEFT_CANCELLED, "interrupted");
        }
        if (request->on_model != NULL) {
            request->on_model(
                request->context, name, done, model_count, options.depth != MEASURE_LOOK);
            done++;
        }
        const enum weft_status status = measure_one(measured, request, &options, i, error);
        if (status != WEFT_OK) {
            return status;
        }
    }
    return WEFT_OK;
}

static void set_origin(
    struct measured *measured, const struct machine *machine, const struct ort *ort)
{
    struct profile_origin *origin = &measured->document.origin;
    origin->figures = FIGURES_MEASURED;
    (void)snprintf(
        origin->source, sizeof(origin->source), "weft %s, ONNX Runtime %s, one thread of %s",
        WEFT_VERSION, ort->version, machine->device);
}

enum weft_status measure_repository(
    struct repository *repository, const struct machine *machine,
    const struct measure_request *request, struct measured *measured_out, struct weft_error *error)
{
    const struct settings *settings = &repository->settings;
    struct measured measured = {.repository = repository, .nursery = request->nursery};
    const struct ort *ort = NULL;
    enum weft_status status = ort_open(&ort, error);
    if (status == WEFT_OK) {
        status = check_wanted(repository, request, error);
    }
    if (status != WEFT_OK) {
        return status;
    }
    (void)snprintf(
        measured.device, sizeof(measured.device), "%s",
        settings->device[0] == '\0' ? machine->device : settings->device);
    (void)snprintf(measured.library, sizeof(measured.library), "onnxruntime-%s", ort->version);
    measured.fleet = machine_fleet(machine, settings, measured.device);
    measured.looks = memory_zeroed(repository->catalogue->model_count + 1, sizeof(*measured.looks));
    status = repository_profile_load(
        repository, measured.fleet, measured.device, measured.library, &measured.document, error);
    if (status == WEFT_OK) {
        set_origin(&measured, machine, ort);
        status = measure_all(&measured, request, error);
    }
    if (status != WEFT_OK) {
        measured_close(&measured);
        return status;
    }
    *measured_out = measured;
    return WEFT_OK;
}

enum weft_status measured_look(
    const struct measured *measured, uint32_t model, struct measure_signature *signature_out,
    struct weft_error *error)
{
    ASSERT(model < measured->repository->catalogue->model_count);
    const struct repository *repository = measured->repository;
    struct measure_figures figures;
    char cache[ONNX_CACHE_PATH_BYTES];
    const bool has_cache = onnx_cache_default_folder(cache);
    const struct measure_options options = {
        .nursery = measured->nursery,
        .model = model,
        .name = repository->catalogue->models[model],
        .file = &repository->files[model],
        .cache = has_cache ? cache : NULL,
        .depth = MEASURE_LOOK,
    };
    const enum weft_status status = measure_model(&options, &figures, error);
    *signature_out = figures.signature;
    return status;
}

void measured_take(
    struct measured *measured, uint32_t model, const struct measure_signature *signature)
{
    ASSERT(model < measured->repository->catalogue->model_count);
    struct measure_look *look = &measured->looks[model];
    const bool is_new = look->signature.output_count == 0;
    look->signature = *signature;
    look->fault[0] = '\0';
    if (is_new) { /* Otherwise it is the same: others may be reading it. */
        describe(measured->repository, model, signature);
    }
}

enum weft_status measured_save(const struct measured *measured, struct weft_error *error)
{
    return repository_profile_save(
        measured->repository, measured->fleet, measured->device, measured->library,
        &measured->document, error);
}

void measured_close(struct measured *measured)
{
    profile_destroy(measured->document.profile);
    fleet_destroy(measured->fleet);
    free(measured->looks);
    *measured = (struct measured){.fleet = NULL};
}
