#include "service/preparation.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "engine/onnx_cache.h"
#include "service/fetch.h"

enum weft_status preparation_hash(
    const struct repository *repository, uint32_t model, uint32_t version, uint32_t *hash_out,
    struct weft_error *error)
{
    char path[PATH_MAX];
    struct onnx_digest digest = {.bytes = 0};
    if (!edition_path(repository, model, version, path, sizeof(path))) {
        return error_set(error, WEFT_IO, "%s: its path is too long", repository->files[model].path);
    }
    const enum weft_status status = onnx_digest_file(path, &digest, error);
    if (status == WEFT_OK) {
        const uint64_t both = digest.hash[0] ^ digest.hash[1];
        *hash_out = (uint32_t)(both ^ both >> 32) | 1; /* Never 0. */
    }
    return status;
}

/* "MODEL/VERSION/": below it are the files of one version. */
static void name_folder(
    const struct preparation *preparation, const struct prepared_model *item, char *out,
    size_t room)
{
    (void)snprintf(
        out, room, "%s/%" PRIu32 "/",
        preparation->measured->repository->catalogue->models[item->model], item->version);
}

static enum weft_status get_files(
    const struct preparation *preparation, const struct prepared_model *item,
    struct weft_error *error)
{
    char path[PATH_MAX];
    char folder[NAME_BYTES_MAX + 16];
    const struct repository *repository = preparation->measured->repository;
    if (edition_path(repository, item->model, item->version, path, sizeof(path)) &&
        access(path, R_OK) == 0) {
        return WEFT_OK;
    }
    if (preparation->fetch == NULL) {
        return error_set(error, WEFT_IO, "%s: there is no such file", path);
    }
    struct fetch_options options = *preparation->fetch;
    name_folder(preparation, item, folder, sizeof(folder));
    options.under = folder;
    options.membership = preparation->membership;
    const enum weft_status status = fetch_missing(&options, error);
    if (status == WEFT_OK && access(path, R_OK) != 0) {
        return error_set(error, WEFT_IO, "no member gives %smodel.onnx", folder);
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
        name_folder(preparation, item, folder, sizeof(folder));
        return error_set(
            error, WEFT_INVALID, "%smodel.onnx is another file than in the cluster", folder);
    }
    item->hash = hash;
    return WEFT_OK;
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
