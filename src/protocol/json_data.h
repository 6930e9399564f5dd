/*
 * json_data.h - the numbers and texts of a JSON array, straight into a tensor.
 *
 * Data may be nested as the shape says, or flat. Numbers of up to 19 digits are read
 * without the C library; whatever that cannot do exactly, strtod() does.
 */
#ifndef PROTOCOL_JSON_DATA_H
#define PROTOCOL_JSON_DATA_H

#include <stdbool.h>
#include <stddef.h>

#include <weft/tensor.h>

/*
 * The bytes that texts in the array @text of @length take in a tensor, lengths included.
 *
 * Errors: WEFT_INVALID if it is not an array of strings.
 */
enum weft_status json_texts_bytes(
    const char *text, size_t length, uint64_t *bytes_out, struct weft_error *error);

/*
 * Fill @tensor, which has room for its shape, from the array @text of @length.
 *
 * Errors: WEFT_INVALID; @error says which element of which input is wrong, and why.
 */
enum weft_status json_data_read(
    const char *text, size_t length, const struct weft_tensor *tensor, struct weft_error *error);

#endif /* PROTOCOL_JSON_DATA_H */
