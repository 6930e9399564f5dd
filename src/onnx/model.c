#include "onnx/model.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "engine/bundle.h"
#include "onnx/ort_memory.h"
#include "onnx/rows.h"

/* Packed weights are about as large as the weights: so much more is never used. */
enum { IMAGE_FACTOR = 4 };

uint32_t onnx_type_of(enum weft_dtype dtype)
{
    static const uint8_t types[WEFT_DTYPES] = {
#define X(ours, number, theirs) [ours] = (number),
        ORT_ABI_DTYPE_MAP(X)
#undef X
    };
    return types[dtype];
}

enum weft_dtype onnx_dtype_of(uint32_t type)
{
    enum weft_dtype dtype = WEFT_BOOL;
    while (dtype < WEFT_DTYPES && (onnx_type_of(dtype) != type || type == 0)) {
        dtype++;
    }
    return dtype;
}

/* The bytes that the C library has handed out, over all threads. */
static int64_t heap_now(void)
{
    const struct mallinfo2 info = mallinfo2();
    return (int64_t)(info.uordblks + info.hblkhd);
}

static struct OrtStatus *make_options(
    const struct onnx_options *given, const struct ort *ort, bool is_mapped,
    struct OrtSessionOptions **options_out)
{
    /* Mapped models have been optimised; the rest of their entries leaves weights in the file. */
    static const char *const mapped_entries[] = {
        "session.use_ort_model_bytes_directly",
        "session.use_ort_model_bytes_for_initializers",
    };
    const struct ort_abi *api = &ort->api;
    struct OrtStatus *outcome = api->CreateSessionOptions(options_out);
    struct OrtSessionOptions *options = *options_out;
    if (outcome == NULL) {
        outcome = api->SetSessionGraphOptimizationLevel(
            options, is_mapped ? ORT_OPTIMISE_NOTHING : ORT_OPTIMISE_ALL);
    }
    if (outcome == NULL) {
        outcome = api->DisablePerSessionThreads(options);
    }
    if (outcome == NULL) { /* It would reserve room for the weights that stay in the file. */
        outcome = api->DisableMemPattern(options);
    }
    if (outcome == NULL) {
        outcome = api->AddSessionConfigEntry(options, "session.use_env_allocators", "1");
    }
    if (outcome == NULL && given->is_unpacked) {
        outcome = api->AddSessionConfigEntry(options, "session.disable_prepacking", "1");
    }
    for (uint32_t i = 0; i < 2 && outcome == NULL && is_mapped; i++) {
        outcome = api->AddSessionConfigEntry(options, mapped_entries[i], "1");
    }
    return outcome;
}

static enum weft_status make_session(
    struct onnx_model *model, const struct onnx_options *given, struct weft_error *error)
{
    const struct ort_abi *api = &model->ort->api;
    struct OrtSessionOptions *options = NULL;
    struct ort_meter meter;
    const int64_t heap_before = heap_now();
    ort_meter_start_load(&meter, &model->image.memory);
    struct OrtStatus *outcome = make_options(given, model->ort, model->mapped != NULL, &options);
    if (outcome == NULL && model->mapped != NULL) {
        outcome = api->CreateSessionFromArray(
            model->ort->env, model->mapped, model->mapped_bytes, options, &model->session);
    } else if (outcome == NULL) {
        outcome = api->CreateSession(model->ort->env, given->path, options, &model->session);
    }
    if (options != NULL) {
        api->ReleaseSessionOptions(options);
    }
    ort_meter_stop();
    const int64_t heap_bytes = heap_now() - heap_before - meter.now_bytes;
    model->counted_bytes = meter.now_bytes > 0 ? (uint64_t)meter.now_bytes : 0;
    model->heap_bytes = heap_bytes > 0 ? (uint64_t)heap_bytes : 0;
    char what[NAME_BYTES_MAX + 16];
    (void)snprintf(what, sizeof(what), "model '%s'", given->name);
    return ort_check(model->ort, outcome, what, error);
}

/* Give back the mapped files. */
static void unmap(struct onnx_model *model)
{
    onnx_image_release(&model->image);
    if (model->mapped != NULL) {
        (void)munmap(model->mapped, model->mapped_bytes); /* Fails only for a wrong argument. */
        model->mapped = NULL;
        model->mapped_bytes = 0;
    }
}

/* Map @path; without success the model is loaded as it is. */
static void map_file(struct onnx_model *model, const char *path)
{
    struct stat stat;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return;
    }
    if (fstat(file, &stat) == 0 && stat.st_size > 0) {
        model->mapped = onnx_pages_map(file, (uint64_t)stat.st_size);
        model->mapped_bytes = model->mapped == NULL ? 0 : (size_t)stat.st_size;
    }
    (void)close(file); /* Nothing was written to it. */
}

static enum weft_status open_session(
    struct onnx_model *model, const struct onnx_options *given, struct weft_error *error)
{
    char kept[ONNX_CACHE_PATH_BYTES];
    char packed[ONNX_CACHE_PATH_BYTES + 16];
    struct onnx_digest own = {.bytes = 0};
    struct onnx_digest *digest = given->digest != NULL ? given->digest : &own;
    if (given->folder != NULL) {
        const enum weft_status status = onnx_digest_file(given->path, digest, error);
        if (status != WEFT_OK) {
            return status;
        }
        model->digest = *digest;
        if (onnx_cache_path(model->ort, given->folder, given->path, digest, kept, NULL) ==
            WEFT_OK) {
            map_file(model, kept);
        }
    }
    if (model->mapped != NULL) {
        onnx_image_reserve(&model->image, IMAGE_FACTOR * model->mapped_bytes);
        if (make_session(model, given, error) == WEFT_OK) {
            (void)snprintf(packed, sizeof(packed), "%s.packed", kept);
            onnx_image_keep(&model->image, packed);
            (void)snprintf(packed, sizeof(packed), "%s.turns", kept);
            model->turns_path = given->has_turns ? strdup(packed) : NULL; /* NULL: not kept. */
            onnx_pages_drop(model->mapped, model->mapped_bytes); /* It was read for packing. */
            onnx_model_wake(model);
            return WEFT_OK;
        }
        unmap(model); /* A damaged file, say: it is not the only way. */
        (void)unlink(kept);
    }
    if (access(given->path, R_OK) != 0) {
        return error_set(error, WEFT_IO, "%s: %s", given->path, strerror(errno));
    }
    return make_session(model, given, error);
}

/* Why the first extent of @port cannot count the same rows as that of @like: NULL if it can. */
static const char *find_obstacle(const struct onnx_port *port, const struct onnx_port *like)
{
    if (port->is_any_rank) {
        return "may have any rank";
    }
    if (port->rank == 0) {
        return "has no dimensions";
    }
    if (port->shape[0] > 1 || port->shape[0] == 0) {
        return "has a fixed first dimension";
    }
    return port->shape[0] == like->shape[0] ? NULL
                                            : "has another first dimension than the first input";
}

/*
 * Whether all first extents are open, or all are 1: then they may count rows. Some exporters give
 * each port a name of its own for what is the same: what runs show decides then.
 */
static bool may_count_rows(struct onnx_model *model, const struct onnx_ports *ports)
{
    const struct onnx_port *like = &model->inputs.items[0];
    for (uint32_t i = 0; i < ports->count; i++) {
        const struct onnx_port *port = &ports->items[i];
        const char *obstacle = find_obstacle(port, like);
        if (obstacle != NULL) {
            (void)snprintf(
                model->alone, sizeof(model->alone), "%s '%.*s' %s",
                ports == &model->inputs ? "input" : "output", ONNX_ALONE_BYTES / 2, port->name,
                obstacle);
            return false;
        }
        if (*port->symbol != '\0' && *like->symbol != '\0' &&
            strcmp(port->symbol, like->symbol) != 0) {
            model->is_sure = false;
        }
    }
    return ports->count > 0;
}

static void find_rows(struct onnx_model *model, uint32_t rows_max)
{
    model->is_sure = true;
    const bool has_rows =
        may_count_rows(model, &model->inputs) && may_count_rows(model, &model->outputs);
    const bool is_one = has_rows && model->inputs.items[0].shape[0] == 1;
    if (!has_rows && *model->alone == '\0') {
        (void)snprintf(model->alone, sizeof(model->alone), "it has no inputs or no outputs");
    }
    atomic_init(&model->has_rows, has_rows);
    model->rows_max = is_one ? 1 : rows_max;
}

const char *onnx_model_alone(const struct onnx_model *model)
{
    if (*model->alone != '\0') {
        return model->alone;
    }
    if (atomic_load(&model->rows->rows) == ROWS_MIXED) {
        return "rows of one run change one another";
    }
    if (!atomic_load(&model->has_rows)) {
        return "outputs do not have a row for each row of the inputs";
    }
    if (model->rows_max == 1) {
        return model->inputs.items[0].shape[0] == 1 ? "its first dimensions are 1"
                                                    : "its batch limit is 1";
    }
    return NULL;
}

/* What another file has shown counts for nothing. */
static void choose_rows(struct onnx_model *model, const struct onnx_options *options)
{
    const uint64_t digest = options->digest == NULL ? 0 : options->digest->hash[0];
    atomic_init(&model->own_rows.rows, ROWS_UNKNOWN);
    model->rows = &model->own_rows;
    if (options->rows != NULL && digest != 0) {
        model->rows = options->rows;
        if (model->rows->digest == digest) {
            return;
        }
        model->rows->digest = digest;
        atomic_store(&model->rows->rows, ROWS_UNKNOWN);
        onnx_turns_forget(&model->rows->turns); /* Others may be loading it, too. */
    }
    if (model->turns_path != NULL) {
        onnx_turns_load(&model->rows->turns, model->turns_path);
    }
}

enum weft_status onnx_model_load(
    const struct ort *ort, const struct onnx_options *options, struct onnx_model **model_out,
    struct weft_error *error)
{
    struct onnx_model *model = memory_zeroed(1, sizeof(*model));
    model->ort = ort;
    (void)snprintf(model->name, sizeof(model->name), "%s", options->name);
    enum weft_status status = open_session(model, options, error);
    if (status == WEFT_OK) {
        status = onnx_ports_read(model, options->path, error);
    }
    if (status != WEFT_OK) {
        onnx_model_unload(model);
        return status;
    }
    model->has_turns = options->has_turns;
    choose_rows(model, options);
    find_rows(model, options->rows_max);
    *model_out = model;
    return WEFT_OK;
}

void onnx_model_unload(struct onnx_model *model)
{
    if (model == NULL) {
        return;
    }
    if (model->session != NULL) {
        model->ort->api.ReleaseSession(model->session);
    }
    unmap(model); /* Only now: the session reads its weights there. */
    free(model->inputs.items);
    free(model->inputs.names);
    free(model->outputs.items);
    free(model->outputs.names);
    free(model->turns_path);
    free(model);
}

bool onnx_model_sleep(struct onnx_model *model)
{
    if (model->mapped == NULL || !model->image.is_kept) {
        return false;
    }
    onnx_pages_drop(model->mapped, model->mapped_bytes);
    onnx_pages_drop(model->image.memory.start, model->image.memory.room);
    return true;
}

void onnx_model_wake(struct onnx_model *model)
{
    /* Weights that were packed are not read in the file that they were packed from. */
    if (model->image.memory.room < model->mapped_bytes / 2) {
        onnx_pages_bring(model->mapped, model->mapped_bytes);
    }
    onnx_pages_bring(model->image.memory.start, model->image.memory.room);
}

uint64_t onnx_model_bytes_asleep(const struct onnx_model *model)
{
    return model->counted_bytes + model->heap_bytes;
}

uint64_t onnx_model_bytes(const struct onnx_model *model)
{
    return onnx_model_bytes_least(model) + model->heap_bytes;
}

uint64_t onnx_model_bytes_least(const struct onnx_model *model)
{
    /* What was packed is read in the image alone, so that the larger one has room for both. */
    const uint64_t image_bytes = model->image.memory.room;
    return model->counted_bytes +
           (image_bytes > model->mapped_bytes ? image_bytes : model->mapped_bytes);
}

uint64_t onnx_model_bytes_shared(const struct onnx_model *model)
{
    const uint64_t image_bytes = model->image.is_kept ? model->image.memory.room : 0;
    return image_bytes > model->mapped_bytes ? image_bytes : model->mapped_bytes;
}
