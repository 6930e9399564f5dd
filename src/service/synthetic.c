#include "service/synthetic.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"

/* Fill @bytes at @data with the number one half, or with zeros. */
static void fill(enum weft_dtype dtype, uint8_t *data, uint64_t bytes)
{
    static const uint16_t half_16 = 0x3800;
    static const uint16_t half_bf16 = 0x3f00;
    static const float half_32 = 0.5F;
    static const double half_64 = 0.5;
    const void *pattern = NULL;
    uint64_t width = 0;
    if (dtype == WEFT_FP16) {
        pattern = &half_16;
        width = sizeof(half_16);
    } else if (dtype == WEFT_BF16) {
        pattern = &half_bf16;
        width = sizeof(half_bf16);
    } else if (dtype == WEFT_FP32) {
        pattern = &half_32;
        width = sizeof(half_32);
    } else if (dtype == WEFT_FP64) {
        pattern = &half_64;
        width = sizeof(half_64);
    }
    memset(data, 0, bytes);
    for (uint64_t at = 0; pattern != NULL && at + width <= bytes; at += width) {
        memcpy(data + at, pattern, width);
    }
}

/* The shape of @input with nothing left open. */
static void close_shape(
    const struct workflow_input *input, uint32_t items, struct weft_tensor *tensor)
{
    tensor->rank = input->rank;
    for (uint32_t i = 0; i < input->rank; i++) {
        tensor->shape[i] = input->shape[i] >= 0 ? input->shape[i]
                           : i == 0             ? (int64_t)items
                                                : SYNTHETIC_EXTENT;
    }
}

/* Texts are empty: a length of 0 each, which is as long as a whole number. */
static uint64_t bytes_of(const struct weft_tensor *tensor)
{
    const enum weft_dtype dtype = tensor->dtype == WEFT_BYTES ? WEFT_UINT32 : tensor->dtype;
    return tensor_bytes(dtype, tensor->rank, tensor->shape);
}

struct bundle *synthetic_bundle(
    const struct workflow_input *inputs, uint32_t input_count, uint32_t items)
{
    ASSERT(items > 0);
    struct bundle *bundle = bundle_create();
    for (uint32_t i = 0; i < input_count && bundle != NULL; i++) {
        struct weft_tensor tensor = {.dtype = inputs[i].dtype};
        (void)snprintf(tensor.name, sizeof(tensor.name), "%s", inputs[i].name);
        close_shape(&inputs[i], items, &tensor);
        tensor.bytes = bytes_of(&tensor);
        uint8_t *data = tensor.bytes == UINT64_MAX ? NULL : bundle_add(bundle, &tensor);
        if (data == NULL) {
            bundle_destroy(bundle);
            return NULL;
        }
        fill(tensor.dtype, data, tensor.bytes);
    }
    if (bundle != NULL) {
        bundle->items = items;
    }
    return bundle;
}

/* The number at @index, between zero and one. */
static double varied(uint64_t index)
{
    return (double)(index * UINT64_C(2654435761) % 1009) / 1009;
}

static void vary(const struct weft_tensor *tensor)
{
    uint8_t *data = tensor->data;
    switch ((int)tensor->dtype) {
    case WEFT_FP32:
        for (uint64_t i = 0; i < tensor->bytes / sizeof(float); i++) {
            const float value = (float)varied(i);
            memcpy(data + i * sizeof(value), &value, sizeof(value));
        }
        return;
    case WEFT_FP64:
        for (uint64_t i = 0; i < tensor->bytes / sizeof(double); i++) {
            const double value = varied(i);
            memcpy(data + i * sizeof(value), &value, sizeof(value));
        }
        return;
    case WEFT_FP16: /* Between one half and one: the bits of the fraction, counted up. */
    case WEFT_BF16:
        for (uint64_t i = 0; i < tensor->bytes / 2; i++) {
            const uint16_t value = tensor->dtype == WEFT_FP16
                                       ? (uint16_t)(0x3800 + (uint16_t)(varied(i) * 0x3ff))
                                       : (uint16_t)(0x3f00 + (uint16_t)(varied(i) * 0x7f));
            memcpy(data + i * sizeof(value), &value, sizeof(value));
        }
        return;
    case WEFT_BYTES: /* They are empty. */
        return;
    default: /* Whole numbers may be places in a table: the second is there if the first is. */
        for (uint64_t at = 0; at < tensor->bytes; at += dtype_bytes(tensor->dtype)) {
            data[at] = 1;
        }
    }
}

void synthetic_vary(struct bundle *bundle)
{
    for (uint32_t i = 0; i < bundle->count; i++) {
        vary(&bundle->tensors[i]);
    }
}
