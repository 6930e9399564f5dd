/*
 * tensor_wire.h - a tensor as engine processes and processes of functions are told of it.
 *
 * Without its data, and without a pointer: what comes from another process is copied, and checked
 * (bundle_check_tensor) before it is used.
 */
#ifndef ENGINE_TENSOR_WIRE_H
#define ENGINE_TENSOR_WIRE_H

#include <stdint.h>
#include <string.h>

#include <weft/tensor.h>

#include "base/numbers.h"

struct tensor_wire {
    char name[WEFT_TENSOR_NAME_BYTES_MAX];
    uint32_t dtype;
    uint32_t rank;
    int64_t shape[WEFT_RANK_MAX];
    uint64_t bytes;
};

/* What the other side is told of @tensor: nothing behind the ends of its name and shape. */
static inline struct tensor_wire tensor_wire_of(const struct weft_tensor *tensor)
{
    struct tensor_wire wire;
    memset(&wire, 0, sizeof(wire));
    memcpy(wire.name, tensor->name, strnlen(tensor->name, sizeof(wire.name)));
    wire.dtype = (uint32_t)tensor->dtype;
    wire.rank = tensor->rank;
    memcpy(wire.shape, tensor->shape, min_u32(tensor->rank, WEFT_RANK_MAX) * sizeof(wire.shape[0]));
    wire.bytes = tensor->bytes;
    return wire;
}

/* The tensor that @wire describes, without data and not checked. */
static inline struct weft_tensor tensor_wire_read(const struct tensor_wire *wire)
{
    struct weft_tensor tensor = {
        .dtype = (enum weft_dtype)wire->dtype, .rank = wire->rank, .bytes = wire->bytes};
    memcpy(tensor.name, wire->name, sizeof(tensor.name));
    memcpy(tensor.shape, wire->shape, sizeof(tensor.shape));
    return tensor;
}

#endif /* ENGINE_TENSOR_WIRE_H */
