/*
 * maps.c - a sequence of maps, as exporters of classifiers let them give their probabilities:
 * a row for each map, in a tensor of values and one of keys.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "onnx/inside.h"

/* A growing copy of the elements of all maps. */
struct gathering {
    const struct ort *ort;
    struct weft_tensor *out;
    uint64_t capacity;
    struct weft_error *error;
};

static enum weft_status append(struct gathering *gathering, const void *bytes, uint64_t count)
{
    struct weft_tensor *out = gathering->out;
    if (out->bytes + count > gathering->capacity) {
        const uint64_t capacity = 2 * (out->bytes + count);
        void *larger = realloc(out->data, capacity);
        if (larger == NULL) {
            return error_set(
                gathering->error, WEFT_NO_MEMORY, "no memory for output '%s'", out->name);
        }
        out->data = larger;
        gathering->capacity = capacity;
    }
    if (count > 0) {
        memcpy((uint8_t *)out->data + out->bytes, bytes, count);
    }
    out->bytes += count;
    return WEFT_OK;
}

/* Append the elements of @part, the keys or the values of map number @row. */
static enum weft_status take_part(struct gathering *gathering, struct OrtValue *part, int64_t row)
{
    struct weft_tensor *out = gathering->out;
    struct weft_tensor tensor = *out;
    tensor.data = NULL;
    enum weft_status status = onnx_look_at_tensor(gathering->ort, part, &tensor, gathering->error);
    if (status != WEFT_OK) {
        return status;
    }
    const int64_t width = tensor.rank == 1 ? tensor.shape[0] : -1;
    if (tensor.dtype != out->dtype || width < 0 || (row > 0 && width != out->shape[1])) {
        status = error_set(
            gathering->error, WEFT_FAILED, "output '%s': its maps have different sizes", out->name);
    } else {
        out->shape[1] = width;
        status = append(gathering, tensor.data, tensor.bytes);
    }
    if (tensor.dtype == WEFT_BYTES) {
        free(tensor.data);
    }
    return status;
}

static enum weft_status take_map(
    struct gathering *gathering, const struct OrtValue *maps, bool is_keys, int64_t row)
{
    const struct ort *ort = gathering->ort;
    struct OrtValue *map = NULL;
    struct OrtValue *part = NULL;
    struct OrtStatus *outcome = ort->api.GetValue(maps, (int)row, ort->names, &map);
    if (outcome == NULL) {
        outcome = ort->api.GetValue(map, is_keys ? 0 : 1, ort->names, &part);
    }
    enum weft_status status = ort_check(ort, outcome, gathering->out->name, gathering->error);
    if (status == WEFT_OK) {
        status = take_part(gathering, part, row);
    }
    if (part != NULL) {
        ort->api.ReleaseValue(part);
    }
    if (map != NULL) {
        ort->api.ReleaseValue(map);
    }
    return status;
}

enum weft_status onnx_maps_take(
    const struct ort *ort, const struct OrtValue *maps, bool is_keys, struct weft_tensor *out,
    struct weft_error *error)
{
    struct gathering gathering = {.ort = ort, .out = out, .error = error};
    size_t count = 0;
    enum weft_status status =
        ort_check(ort, ort->api.GetValueCount(maps, &count), out->name, error);
    out->rank = 2;
    out->shape[0] = (int64_t)count;
    out->shape[1] = 0;
    out->bytes = 0;
    out->data = NULL;
    for (size_t i = 0; i < count && status == WEFT_OK; i++) {
        status = take_map(&gathering, maps, is_keys, (int64_t)i);
    }
    if (status != WEFT_OK) {
        free(out->data);
        out->data = NULL;
    }
    return status;
}
