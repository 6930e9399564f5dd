#include "service/preparation.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/units.h"
#include "document/repository_scan.h"
#include "engine/artifact.h"
#include "onnx/cache.h"
#include "service/fetch.h"

/* What is called @path, of edition_forms(), in messages. */
static const char *form_of(const char *path)
{
    return strstr(path, "/" REPOSITORY_CUDA_FOLDER "/") != NULL ? REPOSITORY_CUDA_FOLDER
                                                                : strrchr(path, '/') + 1;
}

/* Whether that is code, which not every node fetches. */
static bool is_code(const char *path)
{
    return strcmp(form_of(path), REPOSITORY_MODEL_FILE) != 0;
}

enum weft_status preparation_hash(
    const struct repository *repository, uint32_t model, uint32_t version, uint32_t *hash_out,
    struct weft_error *error)
{
    char forms[EDITION_FORMS][PATH_MAX];
    const uint32_t count = edition_forms(repository, model, version, forms);
    struct onnx_digest digest = {.bytes = 0};
    if (count == 0) {
        return error_set(
            error, WEFT_IO, "model '%s': its path is too long",
            repository->catalogue->models[model]);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (access(forms[i], R_OK) != 0) {
            return error_set(
                error, WEFT_IO, "model '%s': version %" PRIu32 " has no %s, or it cannot be read",
                repository->catalogue->models[model], version, form_of(forms[i]));
        }
    }
    /* The ONNX file, if there is one: members without GPUs may lack the other form. */
    const enum weft_status status = onnx_digest_file(forms[0], &digest, error);
    if (status == WEFT_OK) {
        const uint64_t both = digest.hash[0] ^ digest.hash[1];
        *hash_out = (uint32_t)(both ^ both >> 32) | 1; /* Never 0. */
    }
    return status;
}

/* "MODEL/VERSION/", or "functions/VERSION/": below it are the files of one version. */
static void name_folder(
    const struct preparation *preparation, const struct prepared_model *item, char *out,
    size_t room)
{
    const struct repository *repository = preparation->measured->repository;
    const bool is_function = repository->files[item->model].kind == REPOSITORY_FUNCTION;
    if (is_function && item->version == 1) {
        (void)snprintf(out, room, ARTIFACT_FUNCTIONS "/");
        return;
    }
    (void)snprintf(
        out, room, "%s/%" PRIu32 "/",
        is_function ? ARTIFACT_FUNCTIONS : repository->catalogue->models[item->model],
        item->version);
}

/* A file of @item that is not here. False if all are. */
static bool find_missing(
    const struct preparation *preparation, const struct prepared_model *item,
    char missing_out[static PATH_MAX])
{
    char forms[EDITION_FORMS][PATH_MAX];
    const struct repository *repository = preparation->measured->repository;
    const uint32_t count = edition_forms(repository, item->model, item->version, forms);
    (void)snprintf(missing_out, PATH_MAX, "model '%s'", repository->catalogue->models[item->model]);
    for (uint32_t i = 0; i < count; i++) {
        if (access(forms[i], R_OK) != 0) {
            memcpy(missing_out, forms[i], PATH_MAX);
            return true;
        }
    }
    return count == 0;
}

static enum weft_status get_files(
    const struct preparation *preparation, const struct prepared_model *item,
    struct weft_error *error)
{
    char folder[NAME_BYTES_MAX + 16];
    char missing[PATH_MAX];
    if (!find_missing(preparation, item, missing)) {
        return WEFT_OK;
    }
    if (preparation->fetch == NULL) {
        return error_set(error, WEFT_IO, "%s: there is no such file", missing);
    }
    struct fetch_options options = *preparation->fetch;
    name_folder(preparation, item, folder, sizeof(folder));
    options.under = folder;
    options.membership = preparation->membership;
    const enum weft_status status = fetch_missing(&options, error);
    if (status == WEFT_OK && find_missing(preparation, item, missing)) {
        return error_set(
            error, WEFT_IO, "no member gives %s%s%s", folder, form_of(missing),
            is_code(missing) && options.kinds != FETCH_ALL
                ? "; it is code, which comes with '--fetch all' alone"
                : "");
    }
    return status;
}

static enum weft_status compare(
    const struct preparation *preparation, struct prepared_model *item, struct weft_error *error)
{
    uint32_t hash = 0;
    char folder[NAME_BYTES_MAX + 16];
    const enum weft_status status = preparation_hash(
        preparation->measured->repository, item->model, item->version, &hash, error);
    if (status != WEFT_OK) {
        return status;
    }
    if (item->hash != 0 && hash != item->hash) {
        const struct repository_file *file = &preparation->measured->repository->files[item->model];
        name_folder(preparation, item, folder, sizeof(folder));
        return error_set(
            error, WEFT_INVALID, "%s%s is another file than in the cluster", folder,
            file->path != NULL ? form_of(file->path) : REPOSITORY_CUDA_FOLDER);
    }
    item->hash = hash;
    return WEFT_OK;
}

static int64_t wall_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now); /* It is always there. */
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

void preparation_run(void *argument)
{
    struct preparation *preparation = argument;
    const struct measured *measured = preparation->measured;
    preparation->status = WEFT_OK;
    for (uint32_t i = 0; i < preparation->count && preparation->status == WEFT_OK; i++) {
        struct prepared_model *item = &preparation->items[i];
        struct weft_error error = {.status = WEFT_OK};
        preparation->status = get_files(preparation, item, &error);
        if (preparation->status == WEFT_OK) {
            preparation->status = compare(preparation, item, &error);
        }
        item->since_ns = wall_ns();
        if (preparation->status == WEFT_OK) {
            preparation->status =
                measured_look(measured, item->model, item->version, &item->signature, &error);
        }
        if (preparation->status == WEFT_OK &&
            measured->looks[item->model].signature.output_count > 0 &&
            !measure_is_same(&measured->looks[item->model].signature, &item->signature)) {
            preparation->status = error_set(
                &error, WEFT_INVALID,
                "its inputs or outputs differ from those of the version it replaces; restart the "
                "server");
        }
        if (preparation->status != WEFT_OK) {
            (void)error_set(
                &preparation->error, preparation->status, "model '%s': %.180s",
                measured->repository->catalogue->models[item->model], error.message);
        }
    }
}

void preparation_hash_all(void *argument)
{
    struct preparation *preparation = argument;
    for (uint32_t i = 0; i < preparation->count; i++) {
        struct prepared_model *item = &preparation->items[i];
        item->hash = 0;
        (void)preparation_hash(
            preparation->measured->repository, item->model, item->version, &item->hash,
            /* error */ NULL);
    }
}
