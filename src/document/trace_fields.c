#include "document/trace_fields.h"

#include <string.h>

#include "base/units.h"

#define COUNT_MAX UINT64_C(1000000000000)

enum {
    MS_DECIMALS_MAX = 6,
    S_DECIMALS_MAX = 9,
    YEAR_FIRST = 1970,
    YEAR_LAST = 2199, /* 64-bit nanoseconds end in 2262. */
    SECONDS_PER_DAY = 86400,
    MOMENT_LENGTH = 19, /* Without decimals. */
};

uint32_t trace_field_split(
    const struct trace_field *line, struct trace_field fields[TRACE_FIELDS_MAX])
{
    const char *at = line->at;
    const char *end = line->at + line->length;
    uint32_t count = 0;

    while (count < TRACE_FIELDS_MAX) {
        const size_t left = (size_t)(end - at);
        const char *comma = left == 0 ? NULL : memchr(at, ',', left);
        const char *stop = comma == NULL ? end : comma;
        fields[count++] = (struct trace_field){.at = at, .length = (size_t)(stop - at)};
        if (comma == NULL) {
            break;
        }
        at = comma + 1;
    }
    return count;
}

bool trace_field_is(const struct trace_field *field, const char *text)
{
    return field->length == strlen(text) &&
           (field->length == 0 || memcmp(field->at, text, field->length) == 0);
}

void trace_field_text(const struct trace_field *field, char out[TRACE_FIELD_BYTES_MAX])
{
    size_t length = field->length;
    if (length > TRACE_FIELD_BYTES_MAX - 1) {
        length = TRACE_FIELD_BYTES_MAX - 1;
    }
    for (size_t i = 0; i < length; i++) {
        out[i] = field->at[i];
        if (out[i] < ' ' || out[i] > '~') {
            out[i] = '?';
        }
    }
    out[length] = '\0';
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* The digits from *at on, which moves behind them. False if there are none, or too many. */
static bool read_digits(const char **at, const char *end, uint64_t *value_out)
{
    const char *start = *at;
    uint64_t value = 0;

    while (*at < end && is_digit(**at)) {
        value = value * 10 + (uint64_t)(**at - '0');
        if (value > COUNT_MAX) {
            return false;
        }
        (*at)++;
    }
    *value_out = value;
    return *at > start;
}

/* What follows the point, if one is there, as a whole number of 10^-@decimals. */
static bool read_decimals(const char **at, const char *end, uint32_t decimals, int64_t *part_out)
{
    uint64_t part = 0;

    if (*at < end && **at == '.') {
        const char *start = ++*at;
        if (!read_digits(at, end, &part) || *at - start > (ptrdiff_t)decimals) {
            return false;
        }
        for (ptrdiff_t i = *at - start; i < (ptrdiff_t)decimals; i++) {
            part *= 10;
        }
    }
    *part_out = (int64_t)part;
    return true;
}

bool trace_field_count(const struct trace_field *field, uint64_t *count_out)
{
    const char *at = field->at;
    const char *end = field->at + field->length;

    return read_digits(&at, end, count_out) && at == end;
}

bool trace_field_ms(const struct trace_field *field, int64_t *ns_out)
{
    const char *at = field->at;
    const char *end = field->at + field->length;
    uint64_t whole_ms = 0;
    int64_t part_ns = 0;

    if (!read_digits(&at, end, &whole_ms) || !read_decimals(&at, end, MS_DECIMALS_MAX, &part_ns) ||
        at != end) {
        return false;
    }
    *ns_out = (int64_t)whole_ms * NS_PER_MS + part_ns;
    return true;
}

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Days since 1970 of a date that there is; -1 otherwise. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
    static const int64_t lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    if (year < YEAR_FIRST || year > YEAR_LAST || month < 1 || month > 12 || day < 1) {
        return -1;
    }
    if (day > lengths[month - 1] + (month == 2 && is_leap(year) ? 1 : 0)) {
        return -1;
    }
    int64_t days = day - 1;
    for (int64_t i = YEAR_FIRST; i < year; i++) {
        days += is_leap(i) ? 366 : 365;
    }
    for (int64_t i = 1; i < month; i++) {
        days += lengths[i - 1] + (i == 2 && is_leap(year) ? 1 : 0);
    }
    return days;
}

/* Two or four digits at a known place of a field that is long enough. */
static int64_t number_at(const struct trace_field *field, size_t place, size_t digits)
{
    int64_t value = 0;
    for (size_t i = place; i < place + digits; i++) {
        value = value * 10 + (field->at[i] - '0');
    }
    return value;
}

/* Whether @field begins as "2023-11-16 18:15:46" does: 0 stands for any digit. */
static bool looks_like_moment(const struct trace_field *field)
{
    static const char form[] = "0000-00-00 00:00:00";

    if (field->length < MOMENT_LENGTH) {
        return false;
    }
    for (size_t i = 0; i < MOMENT_LENGTH; i++) {
        const char byte = field->at[i];
        const bool fits = form[i] == '0'   ? is_digit(byte)
                          : form[i] == ' ' ? byte == ' ' || byte == 'T'
                                           : byte == form[i];
        if (!fits) {
            return false;
        }
    }
    return true;
}

bool trace_field_moment(const struct trace_field *field, int64_t *ns_out)
{
    int64_t part_ns = 0;

    if (!looks_like_moment(field)) {
        return false;
    }
    const int64_t days =
        days_of(number_at(field, 0, 4), number_at(field, 5, 2), number_at(field, 8, 2));
    const int64_t hour = number_at(field, 11, 2);
    const int64_t minute = number_at(field, 14, 2);
    const int64_t second = number_at(field, 17, 2);
    if (days < 0 || hour > 23 || minute > 59 || second > 59) {
        return false;
    }
    const char *at = field->at + MOMENT_LENGTH;
    const char *end = field->at + field->length;
    if (!read_decimals(&at, end, S_DECIMALS_MAX, &part_ns)) {
        return false;
    }
    const struct trace_field rest = {.at = at, .length = (size_t)(end - at)};
    if (rest.length > 0 && !trace_field_is(&rest, "Z") && !trace_field_is(&rest, "+00:00")) {
        return false;
    }
    const int64_t seconds = days * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second;
    *ns_out = seconds * NS_PER_S + part_ns;
    return true;
}
