/*
 * json_number.h - a number of JSON, by the grammar of RFC 8259.
 *
 * Numbers of up to 19 digits are read without the C library; whatever that cannot do exactly,
 * strtod() does. It is here so that compilers put it into the loop over the numbers of a tensor,
 * which takes a quarter longer otherwise.
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

/* What json_number_double() says, of any number: by strtod(). */
double json_number_slow(const struct json_number *number);

static inline bool json_is_digit(const char *at, const char *end)
{
    return at < end && *at >= '0' && *at <= '9';
}

static inline const char *json_number_digits(
    const char *at, const char *end, struct json_number *number)
{
    while (json_is_digit(at, end)) {
        const uint64_t digit = (uint64_t)(*at - '0');
        uint64_t mantissa = 0;
        if (__builtin_mul_overflow(number->mantissa, UINT64_C(10), &mantissa) ||
            __builtin_add_overflow(mantissa, digit, &mantissa)) {
            number->is_exact = false;
            return at;
        }
        number->mantissa = mantissa;
        at++;
    }
    return at;
}

static inline const char *json_skip_digits(const char *at, const char *end)
{
    while (json_is_digit(at, end)) {
        at++;
    }
    return at;
}

static inline const char *json_number_exponent(
    const char *at, const char *end, struct json_number *number)
{
    int32_t exponent = 0;
    at++;
    const bool is_negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) {
        at++;
    }
    if (!json_is_digit(at, end)) {
        return NULL;
    }
    for (; json_is_digit(at, end); at++) {
        exponent = exponent < 100000 ? exponent * 10 + (*at - '0') : exponent;
    }
    number->exponent += is_negative ? -exponent : exponent;
    number->is_whole = false;
    return at;
}

/* The number at @at, to @number. Returns what is behind it, or NULL, and *cause_out says what it
 * lacks. */
static inline const char *json_number_read(
    const char *at, const char *end, struct json_number *number, const char **cause_out)
{
    *number = (struct json_number){.first = at, .is_whole = true, .is_exact = true};
    if (at < end && *at == '-') {
        number->is_negative = true;
        at++;
    }
    if (!json_is_digit(at, end)) {
        *cause_out = "is not a number";
        return NULL;
    }
    if (*at == '0' && json_is_digit(at + 1, end)) {
        *cause_out = "begins with 0";
        return NULL;
    }
    at = json_skip_digits(json_number_digits(at, end, number), end);
    if (at < end && *at == '.') {
        const char *point = at++;
        number->is_whole = false;
        if (!json_is_digit(at, end)) {
            *cause_out = "has no digit behind its point";
            return NULL;
        }
        at = number->is_exact ? json_number_digits(at, end, number) : at;
        number->exponent -= (int32_t)(at - point - 1);
        at = json_skip_digits(at, end);
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at = json_number_exponent(at, end, number);
        if (at == NULL) {
            *cause_out = "has no digit in its exponent";
            return NULL;
        }
    }
    number->length = (size_t)(at - number->first);
    return at;
}

/* The nearest double; infinite if it is too large, wrong from JSON_NUMBER_BYTES_MAX on. */
static inline double json_number_double(const struct json_number *number)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (number->is_exact && number->mantissa <= UINT64_C(1) << 53 && number->exponent >= -22 &&
        number->exponent <= 22) {
        /* Both are exact doubles, so one operation rounds once (Clinger 1990). */
        const double value = number->exponent < 0
                                 ? (double)number->mantissa / powers[-number->exponent]
                                 : (double)number->mantissa * powers[number->exponent];
        return number->is_negative ? -value : value;
    }
    return json_number_slow(number);
}

#endif /* PROTOCOL_JSON_NUMBER_H */
