#include "protocol/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "protocol/json_text.h"

char *buffer_room(struct buffer *buffer, size_t count)
{
    if (buffer->bytes == NULL || buffer->capacity - buffer->length < count) {
        if (count > SIZE_MAX / 2 - buffer->length) {
            return NULL; /* No block is that large, and twice its size would not be a number. */
        }
        const size_t least = buffer->length + count;
        size_t larger = buffer->capacity < 256 ? 512 : buffer->capacity;
        while (larger < least) {
            larger = larger > SIZE_MAX / 4 ? least : 2 * larger;
        }
        char *bytes = realloc(buffer->bytes, larger);
        if (bytes == NULL) {
            return NULL;
        }
        buffer->bytes = bytes;
        buffer->capacity = larger;
    }
    return buffer->bytes + buffer->length;
}

bool buffer_add(struct buffer *buffer, const char *format, ...)
{
    va_list arguments;
    char *out = buffer_room(buffer, 64);
    if (out == NULL) {
        return false;
    }
    size_t room = buffer->capacity - buffer->length;
    va_start(arguments, format);
    const int length = vsnprintf(out, room, format, arguments);
    va_end(arguments);
    if (length < 0) {
        return false;
    }
    if ((size_t)length >= room) {
        out = buffer_room(buffer, (size_t)length + 1);
        if (out == NULL) {
            return false;
        }
        room = buffer->capacity - buffer->length;
        va_start(arguments, format);
        (void)vsnprintf(out, room, format, arguments); /* It fits now. */
        va_end(arguments);
    }
    buffer->length += (size_t)length;
    return true;
}

bool buffer_put(struct buffer *buffer, const char *text)
{
    const size_t length = strlen(text);
    char *out = buffer_room(buffer, length);
    if (out != NULL) {
        memcpy(out, text, length); /* NOLINT(bugprone-not-null-terminated-result): more follows. */
        buffer->length += length;
    }
    return out != NULL;
}

bool buffer_put_number(struct buffer *buffer, uint64_t number)
{
    char *out = buffer_room(buffer, TEXT_NUMBER_BYTES);
    buffer->length += out == NULL ? 0 : text_decimals(out, number);
    return out != NULL;
}

bool buffer_add_quoted(struct buffer *buffer, const char *text)
{
    const size_t length = strlen(text);
    char *out = buffer_room(buffer, JSON_TEXT_ROOM(length));
    if (out == NULL) {
        return false;
    }
    buffer->length += json_text_encode(text, length, out);
    return true;
}
