/*
 * json_number.h - a number of JSON, by the grammar of RFC 8259.
 *
 * Numbers of up to 19 digits are read without the C library; whatever that cannot do exactly,
 * strtod() does.
 */
#ifndef PROTOCOL_JSON_NUMBER_H
#define PROTOCOL_JSON_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JSON_NUMBER_BYTES_MAX = 512 }; /* Longer than any number that is meant. */

/* A number as written: (-1)^sign mantissa 10^exponent. */
struct json_number {
    const char *first;
    size_t length;
    uint64_t mantissa;
    int32_t exponent;
    bool is_negative;
    bool is_whole; /* Neither point nor exponent. */
    bool is_exact; /* The mantissa holds all digits. */
};

/* The number at @at. Returns what is behind it, or NULL, and *cause_out says what it lacks. */
const char *json_number_read(
    const char *at, const char *end, struct json_number *number_out, const char **cause_out);

/* The nearest double; infinite if it is too large, wrong from JSON_NUMBER_BYTES_MAX on. */
double json_number_double(const struct json_number *number);

#endif /* PROTOCOL_JSON_NUMBER_H */
