#include "service/measure_repository.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "onnx/cache.h"
#include "service/edition.h"

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

/* The model that @name was probably meant to be. NULL if none is near. */
static const char *suggest_model(const struct repository *repository, const char *name)
{
    struct suggestion meant = suggest_for(name);
    for (uint32_t i = 0; i < repository->catalogue->model_count; i++) {
        if (repository->files[i].kind == REPOSITORY_MODEL) {
            suggest_consider(&meant, repository->catalogue->models[i]);
        }
    }
    return meant.name;
}

/* Every model that was asked for must be one. */
static enum weft_status check_wanted(
    const struct repository *repository, const struct measure_request *request,
    struct weft_error *error)
{
    for (uint32_t i = 0; request->models != NULL && i < request->models->count; i++) {
        const char *name = request->models->items[i];
        const uint32_t model = catalogue_find_model(repository->catalogue, name);
        if (model == MODEL_NONE || repository->files[model].kind != REPOSITORY_MODEL) {
            const char *meant = suggest_model(repository, name);
            return error_set(
                error, WEFT_NOT_FOUND, "%s: no model is called '%s'%s%s%s", repository->folder,
                name, meant == NULL ? "" : "; did you mean '", meant == NULL ? "" : meant,
                meant == NULL ? "" : "'?");
        }
    }
    return WEFT_OK;
}

/* Whether there is a form of @model for devices of kind @device. */
static bool has_form(const struct repository *repository, uint32_t model, uint32_t device)
{
    const struct repository_file *file = &repository->files[model];
    return file->kind == REPOSITORY_MODEL && (device == 0 ? file->path : file->cuda) != NULL;
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

static void clear_bytes(struct profile_model *known)
{
    known->load_bytes = 0;
    known->resident_bytes = 0;
    known->workspace_bytes = 0;
    known->workspace_bytes_per_item = 0;
}

/* What nodes are to know of @model: what was measured on each kind of device. */
static void merge(struct measured *measured, uint32_t model)
{
    struct profile *profile = measured->document.profile;
    clear_bytes(&profile->models[model]);
    profile->models[model].alone = false;
    for (uint32_t i = 0; i < measured->kind_count; i++) {
        profile_take(profile, measured->kinds[i].document.profile, model, i);
        if (model_set_has(&measured->kinds[i].document.listed, model)) {
            model_set_add(&measured->document.listed, model);
        }
    }
}

/*
 * Let no task of @model be placed where it cannot run: functions run on processors, a model where
 * it has a form, and on a GPU only once it has been measured there.
 */
static void bar(struct measured *measured, uint32_t model)
{
    const struct repository *repository = measured->repository;
    struct profile_model *known = &measured->document.profile->models[model];
    for (uint32_t i = 0; i < measured->kind_count; i++) { /* Of other machines, they say it. */
        known->barred &= ~(UINT32_C(1) << i);
    }
    if (repository->files[model].kind == REPOSITORY_BUILTIN) {
        return;
    }
    if (repository->files[model].kind == REPOSITORY_MODEL &&
        (!has_form(repository, model, /* device */ 0) || measured->looks[model].is_onnx_broken)) {
        known->barred |= 1;
    }
    for (uint32_t i = 1; i < measured->kind_count; i++) {
        if (!profile_is_measured(measured->document.profile, model, i)) {
            known->barred |= UINT32_C(1) << i;
        }
    }
}

static void say_failed(
    struct measured *measured, const struct measure_request *request, uint32_t model, bool is_gpu,
    const struct weft_error *error)
{
    const enum measure_failure failure = measured->looks[model].fault[0] != '\0'
                                             ? MEASURE_UNAVAILABLE
                                         : is_gpu ? MEASURE_NOT_ON_GPUS
                                                  : MEASURE_LATER;
    measured->failed_count++;
    if (request->on_failed != NULL) {
        request->on_failed(
            request->context, measured->repository->catalogue->models[model], error->message,
            failure);
    }
}

static enum measure_depth depth_of(
    const struct measured *measured, const struct measure_request *request, uint32_t model,
    uint32_t device)
{
    const struct profile_document *document = &measured->kinds[device].document;
    const bool is_rehearsed =
        device == 0 && request->rehearsed != NULL && model_set_has(request->rehearsed, model);
    const bool is_known = is_rehearsed ? model_set_has(&document->listed, model)
                                       : profile_is_measured(document->profile, model, device);
    if (request->only_looked) {
        return MEASURE_ROWS;
    }
    if (is_known && !request->again) {
        return document->profile->models[model].alone ? MEASURE_ROWS : MEASURE_LOOK;
    }
    return is_rehearsed ? MEASURE_LOADS : MEASURE_RUNS;
}

/* The form of @model for processors could not be loaded, if @status says so. */
static void note_onnx(
    struct measured *measured, uint32_t model, enum weft_status status,
    const struct measure_signature *signature, const struct weft_error *cause)
{
    struct measure_look *look = &measured->looks[model];
    look->signature = *signature;
    look->is_onnx_broken = status != WEFT_OK && signature->output_count == 0;
    if (look->is_onnx_broken) {
        (void)snprintf(look->fault, sizeof(look->fault), "%s", cause->message);
    }
    describe(measured->repository, model, &look->signature);
}

/*
 * The form of @model for GPUs of kind @device was looked at: whether it can be used. Where it is
 * the only one that can be loaded, the model is what it says; else it must say the same.
 */
static enum weft_status note_cuda(
    struct measured *measured, uint32_t model, uint32_t device, enum weft_status status,
    const struct measure_signature *signature, struct weft_error *cause)
{
    struct measure_look *look = &measured->looks[model];
    const bool is_only = measured->repository->files[model].path == NULL || look->is_onnx_broken;
    if (status == WEFT_OK && !is_only && !measure_is_same(&look->signature, signature)) {
        status = error_set(
            cause, WEFT_INVALID,
            "%s: it takes or gives something else than the ONNX file; it is not used",
            measured->repository->files[model].cuda);
    }
    if (status != WEFT_OK) {
        profile_forget(measured->kinds[device].document.profile, model, device);
        merge(measured, model);
        if (is_only && look->signature.output_count == 0 && look->fault[0] == '\0') {
            (void)snprintf(look->fault, sizeof(look->fault), "%s", cause->message);
        }
    } else if (is_only) {
        look->signature = *signature;
        look->fault[0] = '\0';
        describe(measured->repository, model, &look->signature);
    }
    return status;
}

static enum weft_status save_kind(
    const struct measured *measured, uint32_t device, struct weft_error *error)
{
    const struct measured_kind *kind = &measured->kinds[device];
    return repository_profile_save(
        measured->repository, measured->fleet, measured->fleet->devices[device], kind->library,
        &kind->document, error);
}

static enum weft_status measure_one(
    struct measured *measured, const struct measure_request *request,
    const struct measure_options *options, uint32_t device, struct weft_error *error)
{
    const uint32_t model = options->model;
    struct profile_document *document = &measured->kinds[device].document;
    struct weft_error cause = {.status = WEFT_OK};
    struct measure_figures figures;
    enum weft_status status = measure_model(options, &figures, &cause);
    measure_apply(&figures, document->profile, model, device);
    merge(measured, model);
    if (figures.alone[0] != '\0' && options->depth < MEASURE_ROWS && request->on_alone != NULL) {
        request->on_alone(request->context, options->name, figures.alone);
    }
    if (options->is_gpu) {
        status = note_cuda(measured, model, device, status, &figures.signature, &cause);
    } else {
        note_onnx(measured, model, status, &figures.signature, &cause);
        memcpy(measured->looks[model].alone, figures.alone, sizeof(figures.alone));
    }
    if (status != WEFT_OK) {
        say_failed(measured, request, model, options->is_gpu, &cause);
        return WEFT_OK;
    }
    if (options->depth >= MEASURE_ROWS) {
        return WEFT_OK;
    }
    measured->measured_count++;
    model_set_add(&document->listed, model);
    model_set_add(&measured->document.listed, model);
    if (request->on_unsaved == NULL) {
        return save_kind(measured, device, error);
    }
    if (save_kind(measured, device, &cause) != WEFT_OK && !measured->is_unsaved) {
        measured->is_unsaved = true; /* It serves all the same. */
        request->on_unsaved(request->context, cause.message);
    }
    return WEFT_OK;
}

/* All forms of all models. */
static uint32_t count_forms(const struct measured *measured)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < measured->repository->catalogue->model_count; i++) {
        for (uint32_t k = 0; k < measured->kind_count; k++) {
            count += has_form(measured->repository, i, k) ? 1 : 0;
        }
    }
    return count;
}

/* The models that have a form for devices of kind @device; *done of all forms are done. */
static enum weft_status measure_kind(
    struct measured *measured, const struct measure_request *request, uint32_t device,
    uint32_t *done, struct weft_error *error)
{
    const struct repository *repository = measured->repository;
    char cache[ONNX_CACHE_PATH_BYTES];
    const bool has_cache = onnx_cache_default_folder(cache);
    for (uint32_t i = 0; i < repository->catalogue->model_count; i++) {
        const char *name = repository->catalogue->models[i];
        const struct measure_options options = {
            .nursery = measured->nursery,
            .model = i,
            .name = name,
            .file = &repository->files[i],
            .cache = has_cache ? cache : NULL,
            .depth = depth_of(measured, request, i, device),
            .is_gpu = device != 0,
            .gpu = measured->kinds[device].gpu,
        };
        /* The form for GPUs is compared with that for processors. */
        const bool is_compared = device == 0 && repository->files[i].cuda != NULL;
        if (!has_form(repository, i, device) || !is_wanted(request, name) ||
            (options.depth == MEASURE_LOOK && request->only_measured && !is_compared)) {
            continue;
        }
        if (request->is_interrupted != NULL && request->is_interrupted(request->context)) {
            return error_set(error, WEFT_CANCELLED, "interrupted");
        }
        if (request->on_model != NULL) {
            request->on_model(
                request->context, name, *done, count_forms(measured), options.depth < MEASURE_ROWS);
            ++*done;
        }
        const enum weft_status status = measure_one(measured, request, &options, device, error);
        if (status != WEFT_OK) {
            return status;
        }
    }
    return WEFT_OK;
}

/* A model for GPUs alone, where there is none. */
static void say_stranded(struct measured *measured, const struct measure_request *request)
{
    for (uint32_t i = 0; i < measured->repository->catalogue->model_count; i++) {
        const struct repository_file *file = &measured->repository->files[i];
        struct weft_error cause;
        if (file->kind == REPOSITORY_MODEL && file->path == NULL && measured->kind_count == 1 &&
            is_wanted(request, measured->repository->catalogue->models[i])) {
            (void)error_set(
                &cause, WEFT_NOT_FOUND, "%s: it runs on GPUs only, and none is used here",
                file->cuda);
            (void)snprintf(
                measured->looks[i].fault, sizeof(measured->looks[i].fault), "%s", cause.message);
            say_failed(measured, request, i, /* is_gpu */ true, &cause);
        }
    }
}

/* Whether each function is in its shared object. */
static void look_at_functions(struct measured *measured)
{
    for (uint32_t i = 0; i < measured->repository->catalogue->model_count; i++) {
        struct measure_figures figures;
        struct weft_error cause = {.status = WEFT_OK};
        const struct measure_options options = {
            .nursery = measured->nursery,
            .model = i,
            .name = measured->repository->catalogue->models[i],
            .file = &measured->repository->files[i],
            .depth = MEASURE_LOOK,
        };
        if (options.file->kind == REPOSITORY_FUNCTION &&
            measure_model(&options, &figures, &cause) != WEFT_OK) {
            (void)snprintf(
                measured->looks[i].fault, sizeof(measured->looks[i].fault), "%s", cause.message);
        }
    }
}

static enum weft_status measure_all(
    struct measured *measured, const struct measure_request *request, struct weft_error *error)
{
    enum weft_status status = WEFT_OK;
    uint32_t done = 0;
    for (uint32_t i = 0; i < measured->kind_count && status == WEFT_OK; i++) {
        status = measure_kind(measured, request, i, &done, error);
    }
    say_stranded(measured, request);
    if (request->only_looked) {
        look_at_functions(measured);
    }
    for (uint32_t i = 0; i < measured->repository->catalogue->model_count; i++) {
        bar(measured, i);
    }
    return status;
}

/* What batches on a GPU do to one another: what its models were measured to suffer, on average. */
static void set_interference(struct measured *measured)
{
    const struct profile *profile = measured->document.profile;
    struct fleet *fleet = measured->fleet;
    for (uint32_t i = 0; i < fleet->worker_count; i++) {
        double sum = 0;
        uint32_t count = 0;
        for (uint32_t k = 0; k < profile->model_count && fleet->workers[i].device > 0; k++) {
            const struct profile_curve *curve =
                &profile->models[k].curves[fleet->workers[i].device];
            sum += curve->interference;
            count += curve->point_count > 0 && measured->repository->files[k].cuda != NULL ? 1 : 0;
        }
        fleet->workers[i].interference = count == 0 ? 0 : sum / count;
    }
}

/* What ran the models of kind @device: measurements with anything else do not apply. */
static void set_library(
    struct measured *measured, const struct machine *machine, uint32_t device,
    const struct ort *ort)
{
    struct measured_kind *kind = &measured->kinds[device];
    for (uint32_t i = 0; i < machine->gpu_count && device > 0; i++) {
        if (strcmp(machine->gpus[i].device, measured->fleet->devices[device]) == 0) {
            const struct settings_gpus *gpus = &measured->repository->settings.gpus;
            const uint32_t version = machine->gpus[i].version;
            char cut[16] = "";
            if (gpus->workers > 1) {
                (void)snprintf(cut, sizeof(cut), "-%" PRIu32, gpus->workers);
            }
            kind->gpu = i;
            (void)snprintf(
                kind->library, sizeof(kind->library), "cuda-%" PRIu32 ".%" PRIu32 "%s%s",
                version / 1000, version % 1000 / 10,
                gpus->shares == SHARES_PROCESSORS ? "-processors" : "", cut);
            return;
        }
    }
    (void)snprintf(
        kind->library, sizeof(kind->library), "onnxruntime-%s",
        ort == NULL ? "none" : ort->version);
}

static void set_origin(struct measured *measured, const struct machine *machine, uint32_t device)
{
    struct profile_origin *origin = &measured->kinds[device].document.origin;
    const char *library = measured->kinds[device].library;
    origin->figures = FIGURES_MEASURED;
    if (device == 0) {
        (void)snprintf(
            origin->source, sizeof(origin->source), "weft %s, ONNX Runtime %s, one thread of %s",
            WEFT_VERSION, library + strlen("onnxruntime-"), machine->device);
    } else {
        (void)snprintf(
            origin->source, sizeof(origin->source), "weft %s, CUDA %s, graphs on %s", WEFT_VERSION,
            library + strlen("cuda-"), measured->fleet->devices[device]);
    }
    measured->document.origin = measured->kinds[0].document.origin;
}

/* Read what is known of all kinds of devices. */
static enum weft_status load_kinds(
    struct measured *measured, const struct machine *machine, const struct ort *ort,
    struct weft_error *error)
{
    const struct repository *repository = measured->repository;
    struct fleet *fleet = measured->fleet;
    for (uint32_t i = 0; i < measured->kind_count; i++) {
        set_library(measured, machine, i, ort);
        const enum weft_status status = repository_profile_load(
            repository, fleet, fleet->devices[i], measured->kinds[i].library,
            &measured->kinds[i].document, error);
        if (status != WEFT_OK) {
            return status;
        }
        set_origin(measured, machine, i);
    }
    measured->document.profile = profile_create(repository->catalogue->model_count);
    for (uint32_t i = 0; i < repository->catalogue->model_count; i++) {
        merge(measured, i);
    }
    return WEFT_OK;
}

/* ONNX Runtime, if any model is for it. */
static enum weft_status open_ort(
    const struct repository *repository, const struct ort **ort_out, struct weft_error *error)
{
    const enum weft_status status = ort_open(ort_out, error);
    for (uint32_t i = 0; i < repository->catalogue->model_count && status != WEFT_OK; i++) {
        if (has_form(repository, i, /* device */ 0)) {
            return status;
        }
    }
    return WEFT_OK;
}

enum weft_status measure_repository(
    struct repository *repository, const struct machine *machine,
    const struct measure_request *request, struct measured *measured_out, struct weft_error *error)
{
    const struct settings *settings = &repository->settings;
    struct measured measured = {.repository = repository, .nursery = request->nursery};
    const struct ort *ort = NULL;
    enum weft_status status = open_ort(repository, &ort, error);
    if (status == WEFT_OK) {
        status = check_wanted(repository, request, error);
    }
    if (status != WEFT_OK) {
        return status;
    }
    measured.fleet = machine_fleet(
        machine, settings, settings->device[0] == '\0' ? machine->device : settings->device);
    measured.kind_count = measured.fleet->device_count;
    measured.kinds = memory_zeroed(measured.kind_count, sizeof(*measured.kinds));
    measured.looks = memory_zeroed(repository->catalogue->model_count + 1, sizeof(*measured.looks));
    status = load_kinds(&measured, machine, ort, error);
    if (status == WEFT_OK) {
        status = measure_all(&measured, request, error);
    }
    if (status != WEFT_OK) {
        measured_close(&measured);
        return status;
    }
    set_interference(&measured);
    *measured_out = measured;
    return WEFT_OK;
}

void measured_take(
    struct measured *measured, uint32_t model, const struct measure_signature *signature)
{
    ASSERT(model < measured->repository->catalogue->model_count);
    struct measure_look *look = &measured->looks[model];
    const bool is_new = look->signature.output_count == 0;
    look->signature = *signature;
    look->fault[0] = '\0';
    look->is_onnx_broken = false;
    bar(measured, model);
    if (is_new) { /* Otherwise it is the same: others may be reading it. */
        describe(measured->repository, model, signature);
    }
}

/* Of models on a GPU only run times and hand-offs are learnt while they are served. */
static enum weft_status save_times(
    const struct measured *measured, uint32_t device, struct weft_error *error)
{
    const struct profile *profile = measured->document.profile;
    struct profile *kept = measured->kinds[device].document.profile;
    for (uint32_t i = 0; i < profile->model_count; i++) {
        const struct profile_curve *curve = &profile->models[i].curves[device];
        if (kept->models[i].curves[device].point_count == 0) {
            continue;
        }
        for (uint32_t k = 0; k < curve->point_count; k++) {
            profile_put_point(kept, i, device, &curve->points[k]);
        }
        profile_set_handoff(kept, i, device, curve->handoff_ns);
        kept->models[i].curves[device].first_run_ns = curve->first_run_ns;
    }
    return save_kind(measured, device, error);
}

enum weft_status measured_save(const struct measured *measured, struct weft_error *error)
{
    const struct profile *profile = measured->document.profile;
    struct measured_kind *kind = &measured->kinds[0];
    for (uint32_t i = 0; i < profile->model_count; i++) {
        struct profile_model *kept = &kind->document.profile->models[i];
        const struct profile_model before = *kept;
        clear_bytes(kept);
        profile_take(kind->document.profile, profile, i, /* device */ 0);
        if (measured->repository->files[i].cuda != NULL) { /* Bytes there are of all kinds. */
            kept->load_bytes = before.load_bytes;
            kept->resident_bytes = before.resident_bytes;
            kept->workspace_bytes = before.workspace_bytes;
            kept->workspace_bytes_per_item = before.workspace_bytes_per_item;
        } else if (model_set_has(&measured->document.listed, i)) {
            model_set_add(&kind->document.listed, i);
        }
    }
    enum weft_status status = save_kind(measured, /* device */ 0, error);
    for (uint32_t i = 1; i < measured->kind_count && status == WEFT_OK; i++) {
        status = save_times(measured, i, error);
    }
    return status;
}

void measured_close(struct measured *measured)
{
    for (uint32_t i = 0; measured->kinds != NULL && i < measured->kind_count; i++) {
        profile_destroy(measured->kinds[i].document.profile);
    }
    profile_destroy(measured->document.profile);
    fleet_destroy(measured->fleet);
    free(measured->kinds);
    free(measured->looks);
    *measured = (struct measured){.fleet = NULL};
}
