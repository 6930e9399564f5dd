/*
 * text.h - text built piece by piece in the caller's memory.
 *
 * The text is always terminated. What does not fit is cut off and remembered in
 * `cut`, so that a caller may add without checks and look once at the end.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

enum { TEXT_SCALED_BYTES = 24 }; /* For any duration or size, with the terminating zero. */

enum { TEXT_NUMBER_BYTES = 20 }; /* For any number without a sign. */

struct text {
    char *bytes; /* Borrowed. */
    size_t capacity;
    size_t length; /* Without the terminating zero. */
    bool cut;
};

/* An empty text in @bytes, which must have room for the terminating zero at least. */
void text_init(struct text *text, char *bytes, size_t capacity);

/* Append as printf would. */
ATTR_PRINTF(2, 3)
void text_add(struct text *text, const char *format, ...);

/* Append @more as it is, or @number in decimals: quicker than text_add(), for what is written with
 * every answer. */
void text_put(struct text *text, const char *more);
void text_put_number(struct text *text, uint64_t number);

/* Write @number in decimals, without a terminating zero. Returns the bytes written. */
size_t text_decimals(char out[static TEXT_NUMBER_BYTES], uint64_t number);

/*
 * Write @ns in its largest fitting unit, rounded to three decimals: "1.5ms",
 * "20us", "3.25s". Returns @out.
 */
char *text_duration(char out[static TEXT_SCALED_BYTES], int64_t ns);

/* Write @bytes the same way, in steps of 1024: "512B", "1.5GiB". Returns @out. */
char *text_bytes(char out[static TEXT_SCALED_BYTES], uint64_t bytes);

/* Write @count bytes in hexadecimal: two digits each, and the terminating zero. */
void text_hex(char *out, const uint8_t *bytes, size_t count);

#endif /* BASE_TEXT_H */
