#include "protocol/json_number.h"

#include <stdlib.h>
#include <string.h>

static bool is_digit(const char *at, const char *end)
{
    return at < end && *at >= '0' && *at <= '9';
}

static const char *read_digits(const char *at, const char *end, struct json_number *number)
{
    while (is_digit(at, end)) {
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

static const char *skip_digits(const char *at, const char *end)
{
    while (is_digit(at, end)) {
        at++;
    }
    return at;
}

static const char *read_exponent(const char *at, const char *end, struct json_number *number)
{
    int32_t exponent = 0;
    at++;
    const bool is_negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) {
        at++;
    }
    if (!is_digit(at, end)) {
        return NULL;
    }
    for (; is_digit(at, end); at++) {
        exponent = exponent < 100000 ? exponent * 10 + (*at - '0') : exponent;
    }
    number->exponent += is_negative ? -exponent : exponent;
    number->is_whole = false;
    return at;
}

const char *json_number_read(
    const char *at, const char *end, struct json_number *number_out, const char **cause_out)
{
    struct json_number number = {.first = at, .is_whole = true, .is_exact = true};
    if (at < end && *at == '-') {
        number.is_negative = true;
        at++;
    }
    if (!is_digit(at, end)) {
        *cause_out = "is not a number";
        return NULL;
    }
    if (*at == '0' && is_digit(at + 1, end)) {
        *cause_out = "begins with 0";
        return NULL;
    }
    at = skip_digits(read_digits(at, end, &number), end);
    if (at < end && *at == '.') {
        const char *point = at++;
        number.is_whole = false;
        if (!is_digit(at, end)) {
            *cause_out = "has no digit behind its point";
            return NULL;
        }
        at = number.is_exact ? read_digits(at, end, &number) : at;
        number.exponent -= (int32_t)(at - point - 1);
        at = skip_digits(at, end);
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at = read_exponent(at, end, &number);
        if (at == NULL) {
            *cause_out = "has no digit in its exponent";
            return NULL;
        }
    }
    number.length = (size_t)(at - number.first);
    *number_out = number;
    return at;
}

double json_number_double(const struct json_number *number)
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
    char text[JSON_NUMBER_BYTES_MAX];
    const size_t length = number->length < sizeof(text) - 1 ? number->length : sizeof(text) - 1;
    (void)memcpy(text, number->first, length);
    text[length] = '\0';
    return strtod(text, NULL);
}
