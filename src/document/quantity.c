#include "document/quantity.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

struct unit {
    const char *name;
    double scale;
};

static const struct unit no_units[] = {{"", 1}, {NULL, 0}};

static const struct unit durations[] = {
    {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}, {NULL, 0},
};

static const struct unit sizes[] = {
    {"", 1},      {"B", 1},        {"KB", 1e3},     {"kB", 1e3},     {"MB", 1e6},     {"GB", 1e9},
    {"TB", 1e12}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}, {NULL, 0},
};

static const struct unit bandwidths[] = {
    {"B/s", 1},        {"KB/s", 1e3},     {"MB/s", 1e6},      {"GB/s", 1e9},    {"TB/s", 1e12},
    {"KiB/s", 0x1p10}, {"MiB/s", 0x1p20}, {"GiB/s", 0x1p30},  {"b/s", 1.0 / 8}, {"Kb/s", 1e3 / 8},
    {"Mb/s", 1e6 / 8}, {"Gb/s", 1e9 / 8}, {"Tb/s", 1e12 / 8}, {NULL, 0},
};

/* Per minute and per hour divide: 1/60 is not a double, and 120/m must be 2 exactly. */
static const struct unit rates[] = {
    {"/s", 1}, {"/m", 60}, {"/h", 3600}, {"", 1}, {NULL, 0},
};

static const struct unit fractions[] = {{"%", 100}, {"", 1}, {NULL, 0}};

struct form {
    const struct unit *units;
    bool divides;      /* By the unit instead of multiplying. */
    bool whole;        /* Rounded to a whole number, but not to zero. */
    bool zero_is_bare; /* 0 needs no unit. */
    const char *example;
    const char *written[5]; /* Units in which whole numbers are written, the largest first. */
};

static const struct form forms[] = {
    [QUANTITY_NUMBER] = {.units = no_units, .example = "a number such as '1.5'"},
    [QUANTITY_COUNT] =
        {.units = no_units, .example = "a whole number such as '8'", .written = {""}},
    [QUANTITY_DURATION] =
        {.units = durations,
         .whole = true,
         .zero_is_bare = true,
         .example = "a duration such as '300ms'",
         .written = {"s", "ms", "us", "ns"}},
    [QUANTITY_BYTES] =
        {.units = sizes,
         .whole = true,
         .example = "a size such as '14GB'",
         .written = {"GB", "MB", "KB", ""}},
    [QUANTITY_BANDWIDTH] =
        {.units = bandwidths,
         .whole = true,
         .zero_is_bare = true,
         .example = "a bandwidth such as '10GB/s' or '100Gb/s'",
         .written = {"GB/s", "MB/s", "KB/s", "B/s"}},
    [QUANTITY_RATE] = {.units = rates, .divides = true, .example = "a rate such as '2/s'"},
    [QUANTITY_FRACTION] =
        {.units = fractions, .divides = true, .example = "a fraction such as '10%'"},
};

static const char *skip_digits(const char *at)
{
    return at + strspn(at, "0123456789");
}

/* Where the number at the start of @text ends; @text itself if there is none. */
static const char *number_end(const char *text)
{
    const char *digits = text + (*text == '-' || *text == '+' ? 1 : 0);
    const char *end = skip_digits(digits);

    if (end == digits) {
        return text;
    }
    if (*end == '.') {
        const char *fraction = skip_digits(end + 1);
        if (fraction == end + 1) {
            return text;
        }
        end = fraction;
    }
    if (*end == 'e' || *end == 'E') {
        const char *exponent = end + 1 + (end[1] == '-' || end[1] == '+' ? 1 : 0);
        const char *last = skip_digits(exponent);
        end = last == exponent ? end : last;
    }
    return end;
}

/* The unit called @name; the one without a name behind the last if there is none. */
static const struct unit *find_unit(const struct form *form, const char *name)
{
    const struct unit *unit = form->units;

    while (unit->name != NULL && strcmp(unit->name, name) != 0) {
        unit++;
    }
    return unit;
}

bool quantity_parse(enum quantity_kind kind, const char *text, double *value_out)
{
    const struct form *form = &forms[kind];
    const char *end = number_end(text);

    if (end == text) {
        return false;
    }
    char *stopped = NULL;
    double value = strtod(text, &stopped);
    if (stopped != end) { /* Hexadecimal, which is for strtod alone. */
        return false;
    }
    const char *name = end + strspn(end, " ");

    const struct unit *unit = find_unit(form, name);
    if (unit->name == NULL && !(form->zero_is_bare && value == 0 && *name == '\0')) {
        return false;
    }
    const double scale = unit->name != NULL ? unit->scale : 1;
    value = form->divides ? value / scale : value * scale;
    if (form->whole) {
        const double rounded = floor(value + 0.5);
        value = rounded == 0 && value > 0 ? 1 : rounded; /* Zero often means "no limit". */
    }
    if (kind == QUANTITY_COUNT && floor(value) != value) {
        return false;
    }
    *value_out = value;
    return true;
}

void quantity_text(enum quantity_kind kind, double value, char out[QUANTITY_TEXT_BYTES])
{
    const char *const *unit = forms[kind].written;

    ASSERT(isfinite(value));
    if (*unit != NULL) {
        double scale = find_unit(&forms[kind], *unit)->scale;
        while (unit[1] != NULL && (value == 0 || fmod(value, scale) != 0)) {
            unit++;
            scale = find_unit(&forms[kind], *unit)->scale;
        }
        (void)snprintf(out, QUANTITY_TEXT_BYTES, "%.0f%s", value / scale, *unit);
        return;
    }
    for (int digits = 6; digits <= 17; digits++) {
        (void)snprintf(out, QUANTITY_TEXT_BYTES, "%.*g", digits, value);
        if (strtod(out, NULL) == value) {
            break;
        }
    }
    if (kind == QUANTITY_RATE) {
        (void)snprintf(out + strlen(out), sizeof("/s"), "/s");
    }
}

const char *quantity_example(enum quantity_kind kind)
{
    return forms[kind].example;
}
