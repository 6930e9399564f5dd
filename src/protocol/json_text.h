/*
 * json_text.h - strings of JSON: decoded from their quotes, and put into them.
 */
#ifndef PROTOCOL_JSON_TEXT_H
#define PROTOCOL_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/utf8.h"

/*
 * Decode the string at @at, which begins with its quote, to @out; NULL only counts.
 * Returns what is behind its end, or NULL if it is not closed, holds a control character
 * or a wrong escape, or is not UTF-8. Never longer than what it is written as.
 */
const char *json_text_decode(const char *at, const char *end, uint8_t *out, uint64_t *length_out);

/*
 * Write @length bytes with quotes and escapes to @out, which has room for
 * JSON_TEXT_ROOM(length). What is not UTF-8 becomes U+FFFD. Returns how many were written.
 */
#define JSON_TEXT_ROOM(length) (6 * (size_t)(length) + 2)
size_t json_text_encode(const void *bytes, size_t length, char *out);

#endif /* PROTOCOL_JSON_TEXT_H */
