#include "engine/onnx_model.h"

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
#include "engine/onnx_rows.h"
#include "engine/ort_memory.h"

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

char *onnx_shape_text(
    char out[static ONNX_SHAPE_BYTES], enum weft_dtype dtype, uint32_t rank, const int64_t *shape)
{
    struct text text;
    text_init(&text, out, ONNX_SHAPE_BYTES);
    text_add(&text, "%s [", dtype_name(dtype));
    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] < 0) {
            text_add(&text, "%s?", i > 0 ? "," : "");
        } else {
            text_add(&text, "%s%lld", i > 0 ? "," : "", (long long)shape[i]);
        }
    }
    text_add(&text, "]");
    return out;
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
    if (outcome == NULL && !given->prepack) {
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
    ort_meter_start(&meter, /* is_load */ true);
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

static void unmap(struct onnx_model *model)
{
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
        void *mapped = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (mapped != MAP_FAILED) {
            model->mapped = mapped;
            model->mapped_bytes = (size_t)stat.st_size;
        }
    }
    (void)close(file); /* Nothing was written to it. */
}

static enum weft_status open_session(
    struct onnx_model *model, const struct onnx_options *given, struct weft_error *error)
{
    char kept[ONNX_CACHE_PATH_BYTES];
    struct onnx_digest own = {.bytes = 0};
    struct onnx_digest *digest = given->digest != NULL ? given->digest : &own;
    if (given->folder != NULL) {
        const enum weft_status status = onnx_digest_file(given->path, digest, error);
        if (status != WEFT_OK) {
            return status;
        }
        if (onnx_cache_path(model->ort, given->folder, given->path, digest, kept, NULL) ==
            WEFT_OK) {
            map_file(model, kept);
        }
    }
    if (model->mapped != NULL) {
        if (make_session(model, given, error) == WEFT_OK) {
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

/* A type that cannot be passed, as ONNX calls it. Number 0: no tensor at all. */
static const char *foreign_type_name(uint32_t number)
{
    static const char *const names[] = {
        [0] = "a sequence, map or optional", /* The library counts tensors alone. */
        [8] = "STRING",
        [14] = "COMPLEX64",
        [15] = "COMPLEX128",
        [16] = "BFLOAT16",
        [17] = "FLOAT8E4M3FN",
        [18] = "FLOAT8E4M3FNUZ",
        [19] = "FLOAT8E5M2",
        [20] = "FLOAT8E5M2FNUZ",
        [21] = "UINT4",
        [22] = "INT4",
        [23] = "FLOAT4E2M1",
    };
    const bool is_named = number < sizeof(names) / sizeof(names[0]) && names[number] != NULL;
    return is_named ? names[number] : "a type that is not known here";
}

/* Fill @port in from what the library says of it. */
static struct OrtStatus *read_type(
    const struct ort_abi *api, struct OrtTypeInfo *type, struct onnx_port *port,
    uint32_t *number_out, size_t *rank_out)
{
    const struct OrtTensorTypeAndShapeInfo *info = NULL;
    const char *symbols[WEFT_RANK_MAX] = {NULL};
    *number_out = 0;
    struct OrtStatus *outcome = api->CastTypeInfoToTensorInfo(type, &info);
    if (outcome != NULL || info == NULL) {
        return outcome; /* A sequence or a map. */
    }
    outcome = api->GetTensorElementType(info, number_out);
    if (outcome == NULL) {
        outcome = api->GetDimensionsCount(info, rank_out);
    }
    if (outcome == NULL && *rank_out <= WEFT_RANK_MAX) {
        port->rank = (uint32_t)*rank_out;
        outcome = api->GetDimensions(info, port->shape, *rank_out);
        if (outcome == NULL) {
            outcome = api->GetSymbolicDimensions(info, symbols, *rank_out);
        }
        if (outcome == NULL && *rank_out > 0 && symbols[0] != NULL) {
            (void)snprintf(port->symbol, sizeof(port->symbol), "%s", symbols[0]);
        }
    }
    return outcome;
}

static enum weft_status read_port(
    struct onnx_model *model, bool is_input, size_t index, struct onnx_port *port,
    struct weft_error *error)
{
    const struct ort *ort = model->ort;
    const struct ort_abi *api = &ort->api;
    struct OrtTypeInfo *type = NULL;
    char *name = NULL;
    uint32_t number = 0;
    size_t rank = 0;
    struct OrtStatus *outcome =
        is_input ? api->SessionGetInputName(model->session, index, ort->names, &name)
                 : api->SessionGetOutputName(model->session, index, ort->names, &name);
    if (outcome == NULL) {
        outcome = is_input ? api->SessionGetInputTypeInfo(model->session, index, &type)
                           : api->SessionGetOutputTypeInfo(model->session, index, &type);
    }
    if (outcome == NULL) {
        outcome = read_type(api, type, port, &number, &rank);
    }
    enum weft_status status = ort_check(ort, outcome, model->name, error);
    port->dtype = onnx_dtype_of(number);
    if (status != WEFT_OK) {
        goto out;
    }
    if (snprintf(port->name, sizeof(port->name), "%s", name) >= (int)sizeof(port->name) ||
        rank > WEFT_RANK_MAX) {
        status = error_set(
            error, WEFT_LIMIT, "model '%s': '%.64s' has a name of %d bytes or more than %d extents",
            model->name, name, (int)strlen(name), WEFT_RANK_MAX);
    } else if (port->dtype == WEFT_DTYPES) {
        status = error_set(
            error, WEFT_INVALID, "model '%s': '%s' is %s, which cannot be passed", model->name,
            name, foreign_type_name(number));
    }
out:
    if (type != NULL) {
        api->ReleaseTypeInfo(type);
    }
    if (name != NULL) {
        (void)ort_check(ort, api->AllocatorFree(ort->names, name), "free", NULL); /* It is ours. */
    }
    return status;
}

static enum weft_status read_ports(
    struct onnx_model *model, bool is_input, struct onnx_ports *ports, struct weft_error *error)
{
    const struct ort_abi *api = &model->ort->api;
    size_t count = 0;
    struct OrtStatus *outcome = is_input ? api->SessionGetInputCount(model->session, &count)
                                         : api->SessionGetOutputCount(model->session, &count);
    enum weft_status status = ort_check(model->ort, outcome, model->name, error);
    if (status != WEFT_OK) {
        return status;
    }
    if (count > BUNDLE_TENSORS_MAX) {
        return error_set(
            error, WEFT_LIMIT, "model '%s' has %zu %s; at most %d can be passed", model->name,
            count, is_input ? "inputs" : "outputs", BUNDLE_TENSORS_MAX);
    }
    ports->items = memory_zeroed(count + 1, sizeof(*ports->items));
    ports->names = memory_zeroed(count + 1, sizeof(*ports->names));
    ports->count = (uint32_t)count;
    for (size_t i = 0; i < count && status == WEFT_OK; i++) {
        status = read_port(model, is_input, i, &ports->items[i], error);
        ports->names[i] = ports->items[i].name;
    }
    return status;
}

/* Whether all first extents are open under one name, or all are 1: then they count rows. */
static bool counts_rows(const struct onnx_ports *ports, const struct onnx_port *like)
{
    for (uint32_t i = 0; i < ports->count; i++) {
        const struct onnx_port *port = &ports->items[i];
        if (port->rank == 0 || port->shape[0] != like->shape[0] || port->shape[0] > 1 ||
            port->shape[0] == 0) {
            return false;
        }
        if (*port->symbol != '\0' && *like->symbol != '\0' &&
            strcmp(port->symbol, like->symbol) != 0) {
            return false;
        }
    }
    return true;
}

static void find_rows(struct onnx_model *model, uint32_t rows_max)
{
    const struct onnx_port *like = &model->inputs.items[0];
    const bool has_rows = model->inputs.count > 0 && model->outputs.count > 0 && like->rank > 0 &&
                          counts_rows(&model->inputs, like) && counts_rows(&model->outputs, like);
    atomic_init(&model->has_rows, has_rows);
    model->rows_max = has_rows && like->shape[0] == 1 ? 1 : rows_max;
}

/* What another file has shown counts for nothing. */
static void choose_rows(struct onnx_model *model, const struct onnx_options *options)
{
    const uint64_t digest = options->digest == NULL ? 0 : options->digest->hash[0];
    atomic_init(&model->own_rows.rows, ROWS_UNKNOWN);
    model->rows = &model->own_rows;
    if (options->rows != NULL && digest != 0) {
        model->rows = options->rows;
        if (model->rows->digest != digest) {
            model->rows->digest = digest;
            atomic_store(&model->rows->rows, ROWS_UNKNOWN);
        }
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
        status = read_ports(model, /* is_input */ true, &model->inputs, error);
    }
    if (status == WEFT_OK) {
        status = read_ports(model, /* is_input */ false, &model->outputs, error);
    }
    if (status != WEFT_OK) {
        onnx_model_unload(model);
        return status;
    }
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
    free(model);
}

uint64_t onnx_model_bytes(const struct onnx_model *model)
{
    return onnx_model_bytes_least(model) + model->heap_bytes;
}

uint64_t onnx_model_bytes_least(const struct onnx_model *model)
{
    return model->counted_bytes + model->mapped_bytes;
}
