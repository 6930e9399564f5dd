/* texts.c - texts of Weft, which lie one behind another, and those of the library. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "onnx/inside.h"

static uint64_t elements_of(uint32_t rank, const int64_t *shape)
{
    uint64_t count = 1;
    for (uint32_t i = 0; i < rank; i++) {
        count *= (uint64_t)shape[i];
    }
    return count;
}

/* The bytes of @count texts at @data, lengths included. */
static uint64_t texts_bytes(const uint8_t *data, uint64_t count)
{
    uint64_t at = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t length;
        memcpy(&length, data + at, sizeof(length));
        at += sizeof(length) + length;
    }
    return at;
}

struct onnx_span onnx_span(const struct weft_tensor *tensor, uint64_t first, uint64_t count)
{
    struct onnx_span span = {.data = tensor->data};
    if (tensor->dtype != WEFT_BYTES) {
        const uint64_t rows = (uint64_t)tensor->shape[0];
        const uint64_t row_bytes = rows == 0 ? 0 : tensor->bytes / rows;
        span.data += row_bytes == 0 ? 0 : first * row_bytes; /* Of no bytes there is no place. */
        span.bytes = count * row_bytes;
        return span;
    }
    const uint64_t per_row = elements_of(tensor->rank - 1, tensor->shape + 1);
    span.data += texts_bytes(span.data, first * per_row);
    span.bytes = texts_bytes(span.data, count * per_row);
    return span;
}

enum weft_status onnx_texts_give(
    const struct ort *ort, const struct weft_tensor *texts, struct OrtValue **value_out,
    struct weft_error *error)
{
    const uint64_t count = elements_of(texts->rank, texts->shape);
    const uint8_t *at = texts->data;
    struct OrtStatus *outcome = ort->api.CreateTensorAsOrtValue(
        ort->names, texts->shape, texts->rank, onnx_type_of(WEFT_BYTES), value_out);
    for (uint64_t i = 0; i < count && outcome == NULL; i++) {
        uint32_t length;
        char *room = NULL;
        memcpy(&length, at, sizeof(length));
        at += sizeof(length);
        outcome = ort->api.GetResizedStringTensorElementBuffer(*value_out, i, length, &room);
        if (outcome == NULL && length > 0) {
            memcpy(room, at, length);
        }
        at += length;
    }
    return ort_check(ort, outcome, texts->name, error);
}

enum weft_status onnx_texts_take(
    const struct ort *ort, const struct OrtValue *value, struct weft_tensor *texts,
    struct weft_error *error)
{
    const uint64_t count = elements_of(texts->rank, texts->shape);
    uint64_t bytes = 0;
    struct OrtStatus *outcome = NULL;
    for (uint64_t i = 0; i < count && outcome == NULL; i++) {
        size_t length = 0;
        outcome = ort->api.GetStringTensorElementLength(value, i, &length);
        bytes += sizeof(uint32_t) + length;
    }
    uint8_t *data = outcome == NULL ? malloc(bytes + 1) : NULL;
    if (outcome == NULL && data == NULL) {
        return error_set(error, WEFT_NO_MEMORY, "no memory for output '%s'", texts->name);
    }
    uint8_t *at = data;
    for (uint64_t i = 0; i < count && outcome == NULL; i++) {
        size_t length = 0;
        outcome = ort->api.GetStringTensorElementLength(value, i, &length);
        const uint32_t prefix = (uint32_t)length;
        if (outcome == NULL) {
            memcpy(at, &prefix, sizeof(prefix));
            at += sizeof(prefix);
            outcome = ort->api.GetStringTensorElement(value, length, i, at);
            at += length;
        }
    }
    if (outcome != NULL) {
        free(data);
        return ort_check(ort, outcome, texts->name, error);
    }
    texts->data = data;
    texts->bytes = bytes;
    return WEFT_OK;
}
