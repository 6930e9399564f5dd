/*
 * json_text.h - strings of JSON: decoded from their quotes, and put into them.
 */
#ifndef SERVER_JSON_TEXT_H
#define SERVER_JSON_TEXT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Decode the string at @at, which begins with its quote, to @out; NULL only counts.
 * Returns what is behind its end, or NULL if it is not closed, holds a control character
 * or a wrong escape, or is no UTF-8. Never longer than what it is written as.
 */
const char *json_text_decode(const char *at, const char *end, uint8_t *out, uint64_t *length_out);

/*
 * Write @length bytes with quotes and escapes to @out, which has room for
 * JSON_TEXT_ROOM(length). What is no UTF-8 becomes U+FFFD. Returns how many were written.
 */
#define JSON_TEXT_ROOM(length) (6 * (size_t)(length) + 2)
size_t json_text_encode(const void *bytes, size_t length, char *out);

#endif /* SERVER_JSON_TEXT_H */
