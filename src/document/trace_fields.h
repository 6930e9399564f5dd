/*
 * trace_fields.h - the fields of a line of CSV, and the numbers and times in them.
 *
 * A field is a piece of the caller's bytes: it does not end with a zero. Nothing is
 * quoted and nothing is escaped. Numbers have digits only: no sign, no exponent, no space.
 */
#ifndef DOCUMENT_TRACE_FIELDS_H
#define DOCUMENT_TRACE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TRACE_FIELDS_MAX = 4,        /* One more than any row has. */
    TRACE_FIELD_BYTES_MAX = 128, /* As a text: longer than any name. */
};

struct trace_field {
    const char *at; /* Borrowed. */
    size_t length;
};

/* Cut @line at its commas. How many fields there are, at most TRACE_FIELDS_MAX. */
uint32_t trace_field_split(
    const struct trace_field *line, struct trace_field fields[TRACE_FIELDS_MAX]);

bool trace_field_is(const struct trace_field *field, const char *text);

/* As a text to show or to look up: cut, and with '?' for bytes that are not plain ASCII. */
void trace_field_text(const struct trace_field *field, char out[TRACE_FIELD_BYTES_MAX]);

/* A whole number up to 10^12. */
bool trace_field_count(const struct trace_field *field, uint64_t *count_out);

/* Milliseconds up to 10^12, with at most six decimals: whole nanoseconds. */
bool trace_field_ms(const struct trace_field *field, int64_t *ns_out);

/*
 * A moment of universal time, in nanoseconds since 1970: "2023-11-16 18:15:46", with up
 * to nine decimals, "T" instead of the space, and "Z" or "+00:00" behind. Until 2199.
 */
bool trace_field_moment(const struct trace_field *field, int64_t *ns_out);

#endif /* DOCUMENT_TRACE_FIELDS_H */
