#include "service/listen_limits.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "console/arguments.h"
#include "document/quantity.h"
#include "server/http.h"

/* One limit: its name, its unit, and where it is kept. */
struct row {
    const char *name;
    size_t offset;
    enum quantity_kind kind;
    bool is_wide; /* uint64_t; else uint32_t. */
};

#define NARROW(field, unit) offsetof(struct http_limits, field), unit, false
#define WIDE(field, unit)   offsetof(struct http_limits, field), unit, true

static const struct row rows[] = {
    {"connections", NARROW(connections_max, QUANTITY_COUNT)},
    {"address-connections", NARROW(address_connections_max, QUANTITY_COUNT)},
    {"in-flight", WIDE(held_bytes_max, QUANTITY_BYTES)},
    {"address-in-flight", WIDE(address_held_bytes_max, QUANTITY_BYTES)},
    {"body", WIDE(body_bytes_max, QUANTITY_BYTES)},
    {"head-time", NARROW(head_ms, QUANTITY_DURATION)},
    {"idle-time", NARROW(idle_ms, QUANTITY_DURATION)},
    {"grace-time", NARROW(grace_ms, QUANTITY_DURATION)},
    {"answer-time", NARROW(answer_ms, QUANTITY_DURATION)},
    {"bandwidth", NARROW(bytes_per_s_min, QUANTITY_BANDWIDTH)},
};

enum { ROWS = ARRAY_COUNT(rows) };

static const struct row *find_row(const char *name, size_t length)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

static enum weft_status unknown(const char *given, struct weft_error *error)
{
    char names[192];
    struct text text;
    text_init(&text, names, sizeof(names));
    for (size_t i = 0; i < ROWS; i++) {
        text_add(&text, "%s%s", i == 0 ? "" : ", ", rows[i].name);
    }
    return error_set(error, WEFT_INVALID, "--limit '%.32s': limits are %s", given, names);
}

static enum weft_status read_one(
    const char *given, struct http_limits *limits, struct weft_error *error)
{
    const char *equals = strchr(given, '=');
    const struct row *row = equals == NULL ? NULL : find_row(given, (size_t)(equals - given));
    double value = 0;
    if (row == NULL) {
        return unknown(given, error);
    }
    const bool is_read = quantity_parse(row->kind, equals + 1, &value);
    value = row->kind == QUANTITY_DURATION ? value / 1e6 : value; /* Kept in milliseconds. */
    const double most = row->is_wide ? 9007199254740992.0 : 4294967295.0;
    if (!is_read || !(value >= 1) || value > most) {
        return error_set(
            error, WEFT_INVALID, "--limit '%.64s': %s takes %s%s", given, row->name,
            quantity_example(row->kind), is_read ? ", and this one is out of range" : "");
    }
    char *field = (char *)limits + row->offset;
    const uint64_t wide = (uint64_t)value;
    const uint32_t narrow = (uint32_t)value;
    if (row->is_wide) {
        (void)memcpy(field, &wide, sizeof(wide));
    } else {
        (void)memcpy(field, &narrow, sizeof(narrow));
    }
    return WEFT_OK;
}

enum weft_status listen_limits_read(
    const struct argument_list *given, struct http_limits *limits, struct weft_error *error)
{
    struct http_limits changed = *limits;
    for (uint32_t i = 0; i < given->count; i++) {
        const enum weft_status status = read_one(given->items[i], &changed, error);
        if (status != WEFT_OK) {
            return status;
        }
    }
    *limits = changed;
    return WEFT_OK;
}
