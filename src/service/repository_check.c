#include "service/repository_check.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "console/progress.h"
#include "onnx/file.h"
#include "service/measure_gpu.h"
#include "service/nursery.h"
#include "service/ports_check.h"
#include "service/samples.h"

struct checking {
    struct repository *repository;
    const struct repository_listener *listener;
    struct checked_repository *checked;
    struct progress progress;
};

static void tell(struct checking *checking, const char *message)
{
    checking->checked->is_good = false;
    checking->listener->on_problem(checking->listener->context, message);
}

static void on_error(void *context, const struct weft_error *error)
{
    tell(context, error->message);
}

static void on_model(
    void *context, const char *name, uint32_t index, uint32_t count, bool is_measured)
{
    struct checking *checking = context;
    (void)is_measured;
    checking->progress.item = name;
    progress_show(&checking->progress, index, count);
}

/* Load all models, as the server would. */
static enum weft_status look(struct checking *checking, struct weft_error *error)
{
    struct machine machine;
    struct nursery nursery;
    const struct measure_request request = {
        .nursery = &nursery,
        .only_looked = true,
        .on_model = on_model,
        .context = checking,
    };
    machine_read(&machine);
    enum weft_status status = nursery_start(&nursery, checking->repository, &machine, error);
    if (status != WEFT_OK) {
        return status;
    }
    progress_start(&checking->progress, "checking");
    status = measure_repository(
        checking->repository, &machine, &request, &checking->checked->measured, error);
    progress_clear(&checking->progress);
    nursery_stop(&nursery);
    return status;
}

/* The form of a model for GPUs, which may not be here: its files are compared. */
static void check_cuda(
    struct checking *checking, const struct repository_file *file, struct measure_look *seen)
{
    const struct measure_options options = {.file = file, .is_gpu = true, .depth = MEASURE_LOOK};
    struct weft_error error = {.status = WEFT_OK};
    struct measure_figures figures;
    if (measure_gpu_look(&options, &figures, &error) != WEFT_OK) {
        tell(checking, error.message);
    } else if (seen != NULL && file->path == NULL) {
        seen->signature = figures.signature;
        seen->fault[0] = '\0';
    }
}

/* @fault of the model of @file, behind its path unless that is there. */
static void tell_fault(
    struct checking *checking, const struct repository_file *file, const char *fault)
{
    struct weft_error error;
    const bool has_path = strncmp(fault, file->path, strlen(file->path)) == 0;
    (void)error_set(
        &error, WEFT_INVALID, "%s%s%s", has_path ? "" : file->path, has_path ? "" : ": ", fault);
    tell(checking, error.message);
}

static void check_model(struct checking *checking, uint32_t model)
{
    const struct repository_file *file = &checking->repository->files[model];
    const struct checked_repository *checked = checking->checked;
    struct measure_look *seen = checked->has_looked ? &checked->measured.looks[model] : NULL;
    struct weft_error error = {.status = WEFT_OK};
    if (file->cuda != NULL) {
        check_cuda(checking, file, seen);
    }
    if (file->path != NULL && seen != NULL && seen->fault[0] != '\0') {
        tell_fault(checking, file, seen->fault);
    } else if (
        file->path != NULL && seen == NULL && onnx_file_check(file->path, &error) != WEFT_OK) {
        tell(checking, error.message);
    }
}

static void check_samples(struct checking *checking)
{
    struct samples *samples = NULL;
    struct weft_error error = {.status = WEFT_OK};
    if (samples_load(
            checking->repository->folder, checking->repository->catalogue, &samples, &error) !=
        WEFT_OK) {
        tell(checking, error.message);
    }
    samples_destroy(samples);
}

void repository_check(
    struct repository *repository, const struct repository_listener *listener,
    struct checked_repository *checked_out)
{
    struct checking checking = {
        .repository = repository, .listener = listener, .checked = checked_out};
    *checked_out = (struct checked_repository){.is_good = true};
    checked_out->has_looked = look(&checking, &checked_out->cause) == WEFT_OK;
    for (uint32_t i = 0; i < repository->catalogue->model_count; i++) {
        if (repository->files[i].kind == REPOSITORY_MODEL) {
            check_model(&checking, i);
        }
    }
    for (uint32_t i = 0; i < repository->written && checked_out->has_looked; i++) {
        struct tree_listener errors = {.on_error = on_error, .context = &checking};
        ports_check(&checked_out->measured, i, &errors);
    }
    check_samples(&checking);
}

void repository_check_close(struct checked_repository *checked)
{
    if (checked->has_looked) {
        measured_close(&checked->measured);
    }
}
