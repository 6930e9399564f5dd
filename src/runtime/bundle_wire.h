/*
 * bundle_wire.h - bundles as bytes between machines: a head, then the data of each tensor.
 *
 * The head says what the tensors are; from it the receiver makes a bundle, and the data is
 * read straight into its memory. Nothing of a head is trusted.
 */
#ifndef RUNTIME_BUNDLE_WIRE_H
#define RUNTIME_BUNDLE_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include <weft/status.h>

#include "engine/bundle.h"

/* The most bytes that a head has. */
enum {
    BUNDLE_HEAD_BYTES_MAX =
        7 + BUNDLE_TENSORS_MAX * (11 + WEFT_TENSOR_NAME_BYTES_MAX + 8 * WEFT_RANK_MAX)
};

/* Write the head of @bundle to @bytes, which has room for BUNDLE_HEAD_BYTES_MAX. Returns how many
 * bytes it has. */
size_t bundle_head_encode(const struct bundle *bundle, uint8_t *bytes);

/*
 * Make a bundle with room for what a head of @count bytes describes, its data not initialised; the
 * caller owns it.
 *
 * Errors: WEFT_INVALID for a head that bundle_head_encode() cannot have written, or one of more
 * than
 * @bytes_max of data; WEFT_NO_MEMORY. @error says what is wrong; it may be NULL.
 */
enum weft_status bundle_head_decode(
    const uint8_t *bytes, size_t count, uint64_t bytes_max, struct bundle **bundle_out,
    struct weft_error *error);

#endif /* RUNTIME_BUNDLE_WIRE_H */
