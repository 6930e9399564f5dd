/*
 * bytes.h - numbers as bytes, the least significant first.
 *
 * Neither side ever goes past its end. A writer or reader that would have to sets
 * `is_short` and does nothing from then on, so that callers look once, at the end.
 */
#ifndef WIRE_BYTES_H
#define WIRE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { WIRE_VERSION = 15 }; /* The first byte of everything. Grows when a layout changes. */

struct bytes_writer {
    uint8_t *bytes;
    size_t count_max;
    size_t count;
    bool is_short;
};

struct bytes_reader {
    const uint8_t *bytes;
    size_t count; /* Still to be read. */
    bool is_short;
};

/* Append the lowest @width bytes of @value, 1 to 8. */
static inline void bytes_put(struct bytes_writer *writer, uint64_t value, uint32_t width)
{
    if (writer->is_short || writer->count_max - writer->count < width) {
        writer->is_short = true;
        return;
    }
    for (uint32_t i = 0; i < width; i++) {
        writer->bytes[writer->count++] = (uint8_t)(value >> (8 * i));
    }
}

/* Append @count bytes as they are. */
static inline void bytes_copy(struct bytes_writer *writer, const void *bytes, size_t count)
{
    if (writer->is_short || writer->count_max - writer->count < count) {
        writer->is_short = true;
        return;
    }
    if (count > 0) {
        memcpy(writer->bytes + writer->count, bytes, count);
        writer->count += count;
    }
}

/* The next @count bytes, borrowed. NULL past the end. */
static inline const uint8_t *bytes_skip(struct bytes_reader *reader, size_t count)
{
    const uint8_t *bytes = reader->bytes;
    if (reader->is_short || reader->count < count) {
        reader->is_short = true;
        return NULL;
    }
    reader->bytes += count;
    reader->count -= count;
    return bytes;
}

/* Read a number of @width bytes. 0 past the end. */
static inline uint64_t bytes_take(struct bytes_reader *reader, uint32_t width)
{
    uint64_t value = 0;
    if (reader->is_short || reader->count < width) {
        reader->is_short = true;
        return 0;
    }
    for (uint32_t i = 0; i < width; i++) {
        value |= (uint64_t)reader->bytes[i] << (8 * i);
    }
    reader->bytes += width;
    reader->count -= width;
    return value;
}

/* Whether everything was there, and nothing more. */
static inline bool bytes_is_spent(const struct bytes_reader *reader)
{
    return !reader->is_short && reader->count == 0;
}

#endif /* WIRE_BYTES_H */
