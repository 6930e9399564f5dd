/*
 * tensor.h - arrays of numbers or texts, as functions and clients see them.
 *
 * Elements lie in row-major order without gaps, little-endian, 64-byte aligned where Weft
 * made them. An element of type WEFT_BYTES is a text: four bytes of length, then that many
 * bytes, one element after the other.
 */
#ifndef WEFT_TENSOR_H
#define WEFT_TENSOR_H

#include <stdint.h>

#include <weft/status.h>

enum { WEFT_RANK_MAX = 8, WEFT_TENSOR_NAME_BYTES_MAX = 64 };

/* name, bytes of an element (0: texts), as the Open Inference Protocol writes it */
#define WEFT_DTYPE_MAP(X)                                                                          \
    X(WEFT_BOOL, 1, "BOOL")                                                                        \
    X(WEFT_UINT8, 1, "UINT8")                                                                      \
    X(WEFT_UINT16, 2, "UINT16")                                                                    \
    X(WEFT_UINT32, 4, "UINT32")                                                                    \
    X(WEFT_UINT64, 8, "UINT64")                                                                    \
    X(WEFT_INT8, 1, "INT8")                                                                        \
    X(WEFT_INT16, 2, "INT16")                                                                      \
    X(WEFT_INT32, 4, "INT32")                                                                      \
    X(WEFT_INT64, 8, "INT64")                                                                      \
    X(WEFT_FP16, 2, "FP16")                                                                        \
    X(WEFT_FP32, 4, "FP32")                                                                        \
    X(WEFT_FP64, 8, "FP64")                                                                        \
    X(WEFT_BYTES, 0, "BYTES")                                                                      \
    X(WEFT_BF16, 2, "BF16") /* Behind the others: compiled functions know these by number. */

enum weft_dtype {
#define X(name, bytes, text) name,
    WEFT_DTYPE_MAP(X)
#undef X
        WEFT_DTYPES
};

struct weft_tensor {
    char name[WEFT_TENSOR_NAME_BYTES_MAX];
    enum weft_dtype dtype;
    uint32_t rank;
    int64_t shape[WEFT_RANK_MAX]; /* Every dimension is known, and at least 0. */
    uint64_t bytes;
    void *data;
};

#endif /* WEFT_TENSOR_H */
