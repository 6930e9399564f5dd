/* declared.c - whether an input or output can be passed and, if not, what to do about it. */
#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "base/units.h"
#include "engine/bundle.h"
#include "onnx/file.h"
#include "onnx/model.h"

/* A type that cannot be passed, as ONNX calls it. */
static const char *foreign_type_name(uint32_t number)
{
    static const char *const names[] = {
        [14] = "COMPLEX64",      [15] = "COMPLEX128", [17] = "FLOAT8E4M3FN",
        [18] = "FLOAT8E4M3FNUZ", [19] = "FLOAT8E5M2", [20] = "FLOAT8E5M2FNUZ",
        [21] = "UINT4",          [22] = "INT4",       [23] = "FLOAT4E2M1",
    };
    const bool is_named = number < ARRAY_COUNT(names) && names[number] != NULL;
    return is_named ? names[number] : "of a type that is not known here";
}

enum weft_status onnx_declared_count(
    const char *what, uint64_t count, bool is_input, struct weft_error *error)
{
    if (count <= BUNDLE_TENSORS_MAX) {
        return WEFT_OK;
    }
    return error_set(
        error, WEFT_LIMIT, "%s: it has %" PRIu64 " %s; at most %d can be passed", what, count,
        is_input ? "inputs" : "outputs", BUNDLE_TENSORS_MAX);
}

/* Say that the type is the cause. */
static enum weft_status refuse(
    const char *what, const struct onnx_declared *declared, const char *is, const char *advice,
    struct weft_error *error)
{
    return error_set(
        error, WEFT_INVALID, "%s: %s '%.64s' is %s, which cannot be passed%s", what,
        declared->is_input ? "input" : "output", declared->name, is, advice);
}

static enum weft_status check_kind(
    const char *what, const struct onnx_declared *declared, struct weft_error *error)
{
    const bool is_type = onnx_dtype_of(declared->type) != WEFT_DTYPES;
    switch (declared->kind) {
    case ONNX_KIND_TENSOR:
        return is_type ? WEFT_OK
                       : refuse(
                             what, declared, foreign_type_name(declared->type),
                             ": add a Cast to the model", error);
    case ONNX_KIND_MAPS:
        if (declared->is_input) {
            return refuse(
                what, declared, "a sequence of maps", ": let the model take tensors", error);
        }
        return is_type && onnx_dtype_of(declared->key_type) != WEFT_DTYPES
                   ? WEFT_OK
                   : refuse(what, declared, "a sequence of maps of other types", "", error);
    case ONNX_KIND_SEQUENCE:
        return refuse(
            what, declared, "a sequence",
            declared->is_input ? ": let the model take a tensor"
                               : ": add a ConcatFromSequence to the model",
            error);
    case ONNX_KIND_OTHER:
        break;
    }
    return refuse(
        what, declared, "a map, an optional or a sparse tensor",
        declared->is_input ? ": let the model take tensors" : ": let the model give tensors",
        error);
}

enum weft_status onnx_declared_check(
    const char *what, const struct onnx_declared *declared, struct weft_error *error)
{
    const char *kind = declared->is_input ? "input" : "output";
    const uint64_t more = declared->kind == ONNX_KIND_MAPS ? sizeof(ONNX_KEYS) - 1 : 0;
    if (declared->name_bytes + more >= WEFT_TENSOR_NAME_BYTES_MAX) {
        return error_set(
            error, WEFT_LIMIT,
            "%s: %s '%.64s...' has a name of %" PRIu64 " bytes; rename it to %d "
            "or fewer",
            what, kind, declared->name, declared->name_bytes,
            WEFT_TENSOR_NAME_BYTES_MAX - 1 - (int)more);
    }
    if (declared->rank > WEFT_RANK_MAX) {
        return error_set(
            error, WEFT_LIMIT, "%s: %s '%s' has %" PRIu32 " dimensions; at most %d can be passed",
            what, kind, declared->name, declared->rank, WEFT_RANK_MAX);
    }
    return check_kind(what, declared, error);
}

/* What onnx_file_check() has found. */
struct checking {
    const char *path;
    uint64_t counts[2]; /* Of outputs, and of inputs. */
    enum weft_status status;
    struct weft_error *error;
};

static void check_one(void *context, const struct onnx_declared *declared)
{
    struct checking *checking = context;
    checking->counts[declared->is_input] += declared->kind == ONNX_KIND_MAPS ? 2 : 1;
    if (checking->status == WEFT_OK) {
        checking->status = onnx_declared_check(checking->path, declared, checking->error);
    }
}

enum weft_status onnx_file_check(const char *path, struct weft_error *error)
{
    struct checking checking = {.path = path, .status = WEFT_OK, .error = error};
    enum weft_status status = onnx_file_read(path, check_one, &checking, error);
    for (int i = 0; i < 2 && status == WEFT_OK; i++) {
        status = onnx_declared_count(path, checking.counts[i], i == 1, error);
    }
    return status == WEFT_OK ? checking.status : status;
}
