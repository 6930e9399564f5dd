/*
 * decode_target.h - a call for a decoder under test: one file in, tensors out, within a bound.
 *
 * Each output gets a block of its own size, so that a sanitizer sees one byte too many.
 */
#ifndef FUZZ_DECODE_TARGET_H
#define FUZZ_DECODE_TARGET_H

#include <stdlib.h>
#include <string.h>

#include <weft/function.h>

#include "base/assert.h"

enum { DECODED_BYTES_MAX = 256 << 20 };

struct decoded {
    void *data;
    uint64_t bytes;
    char message[256];
};

static void *decoded_output(
    void *inside, const char *name, enum weft_dtype dtype, uint32_t rank, const int64_t *shape,
    uint64_t bytes)
{
    struct decoded *decoded = inside;
    (void)name;
    (void)bytes;
    ASSERT(decoded->data == NULL); /* One output alone. */
    decoded->bytes = dtype == WEFT_FP32 ? 4 : 1;
    for (uint32_t i = 0; i < rank; i++) {
        ASSERT(shape[i] >= 0);
        decoded->bytes *= (uint64_t)shape[i];
        ASSERT(decoded->bytes <= DECODED_BYTES_MAX);
    }
    decoded->data = malloc(decoded->bytes + 1);
    return decoded->data;
}

static void decoded_fail(void *inside, const char *message)
{
    struct decoded *decoded = inside;
    strncpy(decoded->message, message, sizeof(decoded->message) - 1);
}

/* Decode @size bytes with @decode, which says why if it does not. */
static void decode_bytes(
    enum weft_status (*decode)(
        const struct weft_call *call, const struct weft_tensor *file, const char *name),
    const uint8_t *data, size_t size)
{
    struct decoded decoded = {.data = NULL};
    const struct weft_tensor file = {
        .name = "file",
        .dtype = WEFT_UINT8,
        .rank = 1,
        .shape = {(int64_t)size},
        .bytes = size,
        .data = (void *)(uintptr_t)data};
    const struct weft_call call = {
        .inside = &decoded, .items = 1, .output = decoded_output, .fail = decoded_fail};
    const enum weft_status status = decode(&call, &file, "out");
    ASSERT(status == WEFT_OK || status == WEFT_NO_MEMORY || decoded.message[0] != '\0');
    ASSERT(status != WEFT_OK || decoded.data != NULL);
    free(decoded.data);
}

#endif /* FUZZ_DECODE_TARGET_H */
