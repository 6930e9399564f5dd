#include "runtime/bundle_wire.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "wire/bytes.h"

/*
 *   version  items  tensors  { type  rank  length  name    extents  bytes } of each tensor
 *   1        4      2          1     1     1       length  8 each   8
 */

static void put_tensor(struct bytes_writer *writer, const struct weft_tensor *tensor)
{
    const size_t length = strlen(tensor->name);
    bytes_put(writer, tensor->dtype, 1);
    bytes_put(writer, tensor->rank, 1);
    bytes_put(writer, length, 1);
    bytes_copy(writer, tensor->name, length);
    for (uint32_t i = 0; i < tensor->rank; i++) {
        bytes_put(writer, (uint64_t)tensor->shape[i], 8);
    }
    bytes_put(writer, tensor->bytes, 8);
}

size_t bundle_head_encode(const struct bundle *bundle, uint8_t *bytes)
{
    struct bytes_writer writer = {.bytes = bytes, .count_max = BUNDLE_HEAD_BYTES_MAX};
    bytes_put(&writer, WIRE_VERSION, 1);
    bytes_put(&writer, bundle->items, 4);
    bytes_put(&writer, bundle->count, 2);
    for (uint32_t i = 0; i < bundle->count; i++) {
        put_tensor(&writer, &bundle->tensors[i]);
    }
    ASSERT(!writer.is_short);
    return writer.count;
}

/* Whether a tensor could be read; what it says is checked by the caller. */
static bool take_tensor(struct bytes_reader *reader, struct weft_tensor *tensor_out)
{
    const uint64_t dtype = bytes_take(reader, 1);
    const uint64_t rank = bytes_take(reader, 1);
    const uint64_t length = bytes_take(reader, 1);
    if (dtype >= WEFT_DTYPES || rank > WEFT_RANK_MAX || length >= WEFT_TENSOR_NAME_BYTES_MAX) {
        return false;
    }
    *tensor_out = (struct weft_tensor){.dtype = (enum weft_dtype)dtype, .rank = (uint32_t)rank};
    const uint8_t *name = bytes_skip(reader, (size_t)length);
    if (name == NULL) {
        return false;
    }
    memcpy(tensor_out->name, name, (size_t)length);
    for (uint64_t i = 0; i < rank; i++) {
        tensor_out->shape[i] = (int64_t)bytes_take(reader, 8);
    }
    tensor_out->bytes = bytes_take(reader, 8);
    return !reader->is_short && strlen(tensor_out->name) == length;
}

static enum weft_status take_tensors(
    struct bytes_reader *reader, uint32_t count, uint64_t bytes_max, struct bundle *bundle,
    struct weft_error *error)
{
    for (uint32_t i = 0; i < count; i++) {
        struct weft_tensor tensor;
        if (!take_tensor(reader, &tensor)) {
            return error_set(error, WEFT_INVALID, "tensor %u: not a tensor", i);
        }
        const enum weft_status status =
            bundle_check_tensor(&tensor, bytes_max - bundle->bytes, error);
        if (status != WEFT_OK) {
            return status;
        }
        if (bundle_find(bundle, tensor.name) != NULL) {
            return error_set(error, WEFT_INVALID, "tensor %u: '%s' twice", i, tensor.name);
        }
        if (bundle_add(bundle, &tensor) == NULL) {
            return error_set(error, WEFT_NO_MEMORY, "no memory for a tensor");
        }
    }
    return bytes_is_spent(reader) ? WEFT_OK : error_set(error, WEFT_INVALID, "more than tensors");
}

enum weft_status bundle_head_decode(
    const uint8_t *bytes, size_t count, uint64_t bytes_max, struct bundle **bundle_out,
    struct weft_error *error)
{
    struct bytes_reader reader = {.bytes = bytes, .count = count};
    const uint64_t version = bytes_take(&reader, 1);
    const uint32_t items = (uint32_t)bytes_take(&reader, 4);
    const uint32_t tensors = (uint32_t)bytes_take(&reader, 2);
    if (version != WIRE_VERSION || tensors > BUNDLE_TENSORS_MAX || reader.is_short) {
        return error_set(error, WEFT_INVALID, "not the head of a bundle");
    }
    struct bundle *bundle = bundle_create();
    if (bundle == NULL) {
        return error_set(error, WEFT_NO_MEMORY, "no memory for a bundle");
    }
    bundle->items = items;
    const enum weft_status status = take_tensors(&reader, tensors, bytes_max, bundle, error);
    if (status != WEFT_OK) {
        bundle_destroy(bundle);
        return status;
    }
    *bundle_out = bundle;
    return WEFT_OK;
}
