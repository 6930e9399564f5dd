/* measured_look.c - what a version of a model takes and gives, and whether its files are right. */
#include "base/assert.h"
#include "base/error.h"
#include "onnx/cache.h"
#include "service/edition.h"
#include "service/measure_repository.h"

bool measured_runs_on_gpus(const struct measured *measured, uint32_t model)
{
    bool has_any = false;
    for (uint32_t i = 1; i < measured->kind_count; i++) {
        has_any = has_any || (measured->repository->files[model].cuda != NULL &&
                              profile_is_measured(measured->document.profile, model, i));
    }
    return has_any;
}

enum weft_status measured_look(
    const struct measured *measured, uint32_t model, uint32_t version,
    struct measure_signature *signature_out, struct weft_error *error)
{
    ASSERT(model < measured->repository->catalogue->model_count);
    const struct repository *repository = measured->repository;
    struct measure_figures figures;
    char cache[ONNX_CACHE_PATH_BYTES];
    struct edition_paths paths;
    struct repository_file file;
    const bool has_cache = onnx_cache_default_folder(cache);
    if (!edition_file(repository, model, version, &paths, &file)) {
        return error_set(
            error, WEFT_LIMIT, "model '%s': its path is too long",
            repository->catalogue->models[model]);
    }
    struct measure_options options = {
        .nursery = measured->nursery,
        .model = model,
        .version = version,
        .name = repository->catalogue->models[model],
        .file = &file,
        .cache = has_cache ? cache : NULL,
        .is_shut = repository->settings.isolate != ISOLATE_NOTHING,
        .depth = MEASURE_LOOK,
        .is_gpu = repository->files[model].path == NULL,
    };
    enum weft_status status = measure_model(&options, &figures, error);
    *signature_out = figures.signature;
    if (status == WEFT_OK && file.path != NULL && measured_runs_on_gpus(measured, model)) {
        options.is_gpu = true;
        status = measure_model(&options, &figures, error);
        if (status == WEFT_OK && !measure_is_same(signature_out, &figures.signature)) {
            status = error_set(
                error, WEFT_INVALID, "%s: it takes or gives something else than the ONNX file",
                file.cuda);
        }
    }
    return status;
}
