/*
 * utf8.h - characters of UTF-8 (RFC 3629: shortest, no surrogates).
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes of the character at @at, of which @left > 0 bytes are there; 0 if it is none. */
uint32_t utf8_bytes(const uint8_t *at, size_t left);

/* Whether these are the first bytes of a character whose last ones are missing. */
bool utf8_is_cut(const uint8_t *at, size_t left);

/* Whether the character of @count bytes at @at is a control character. */
bool utf8_is_control(const uint8_t *at, uint32_t count);

/* Whether @text is @count bytes of characters, none of them a control character. */
bool utf8_is_plain(const char *text, size_t count);

/*
 * Write @text to @out so that it is plain, in fewer than @capacity bytes and a zero: what is not a
 * character, or a control character, becomes '?', and what does not fit is cut off, as is half a
 * character at its end. Returns the bytes without the zero.
 */
size_t utf8_write_plain(const char *text, char *out, size_t capacity);

#endif /* BASE_UTF8_H */
