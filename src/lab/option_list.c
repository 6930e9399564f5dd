#include "lab/option_list.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"

enum { RATE_BYTES = 64 }; /* As much as run_load() reads. */

/* Whether @part, which ends at a comma, begins with "role=". */
static bool names_a_role(const char *part)
{
    return part[strcspn(part, "=:,")] == '=';
}

/* The length of the policy at the start of @text, with the roles that are named behind it. */
static size_t composition_length(const char *text)
{
    size_t length = strcspn(text, ",");
    while (text[length] == ',' && names_a_role(text + length + 1)) {
        length += 1 + strcspn(text + length + 1, ",");
    }
    return length;
}

static size_t part_length(const char *text, char separator)
{
    if (separator == '\0') {
        return composition_length(text);
    }
    const char stops[] = {separator, '\0'};
    return strcspn(text, stops);
}

/* Cut the part of @length at @part free, and leave its spaces out. */
static const char *trim(char *part, size_t length)
{
    part[length] = '\0';
    while (length > 0 && part[length - 1] == ' ') {
        length--;
        part[length] = '\0';
    }
    return part + strspn(part, " ");
}

/* @separator is 0 where commas may also compose. */
static enum weft_status split_at(
    const char *text, char separator, struct option_list *list_out, struct weft_error *error)
{
    const size_t bytes = strlen(text) + 1;
    struct option_list list = {.bytes = memory_zeroed(bytes, 1)};
    memcpy(list.bytes, text, bytes);
    char *rest = list.bytes;
    enum weft_status status = WEFT_OK;
    bool more = true;
    while (more && status == WEFT_OK) {
        const size_t length = part_length(rest, separator);
        more = rest[length] != '\0';
        const char *part = trim(rest, length);
        rest += length + 1;
        if (*part == '\0') {
            status = error_set(error, WEFT_INVALID, "'%s' has an empty part", text);
        } else if (list.count == OPTION_LIST_PARTS_MAX) {
            status = error_set(
                error, WEFT_LIMIT, "'%s' has more than %d parts", text, OPTION_LIST_PARTS_MAX);
        } else {
            list.parts[list.count] = part;
            list.count++;
        }
    }
    if (status == WEFT_OK) {
        *list_out = list;
    } else {
        option_list_deinit(&list);
    }
    return status;
}

enum weft_status option_list_commas(
    const char *text, struct option_list *list_out, struct weft_error *error)
{
    ASSERT(text != NULL);
    return split_at(text, ',', list_out, error);
}

/* One plain number of a range, up to @end. */
static bool read_number(const char *text, char end, double *value_out)
{
    const size_t length = strspn(text, "0123456789.");
    char *stop = NULL;
    *value_out = strtod(text, &stop);
    return length > 0 && text[length] == end && stop == text + length && *value_out > 0;
}

/* "first:last:step" */
static bool read_range(const char *part, double range[3])
{
    const char *second = strchr(part, ':') + 1;
    const char *third = strchr(second, ':');
    return third != NULL && read_number(part, ':', &range[0]) &&
           read_number(second, ':', &range[1]) && read_number(third + 1, '\0', &range[2]) &&
           range[0] <= range[1];
}

/* Add the rates of @part to @list, whose bytes have RATE_BYTES for each. */
static enum weft_status add_rates(
    struct option_list *list, const char *part, struct weft_error *error)
{
    double range[3] = {0, 0, 1};
    const bool is_range = strchr(part, ':') != NULL;
    if (is_range && !read_range(part, range)) {
        return error_set(
            error, WEFT_INVALID, "'%s' is not a range of rates such as '0.5:4:0.5'", part);
    }
    const double count = is_range ? (range[1] - range[0]) / range[2] * (1 + 1e-9) + 1 : 1;
    if (list->count + count >= OPTION_LIST_PARTS_MAX + 1) {
        return error_set(error, WEFT_LIMIT, "more than %d rates", OPTION_LIST_PARTS_MAX);
    }
    for (uint32_t i = 0; i < (uint32_t)count; i++) {
        char *bytes = list->bytes + (size_t)RATE_BYTES * list->count;
        list->parts[list->count] = bytes;
        list->count++;
        if (is_range) { /* Not added up: 0.1 ten times is not 1. */
            (void)snprintf(bytes, RATE_BYTES, "%.9g", range[0] + i * range[2]);
        } else {
            (void)snprintf(bytes, RATE_BYTES, "%s", part);
        }
    }
    return WEFT_OK;
}

enum weft_status option_list_rates(
    const char *text, struct option_list *list_out, struct weft_error *error)
{
    ASSERT(text != NULL);
    struct option_list parts = {0};
    enum weft_status status = option_list_commas(text, &parts, error);
    if (status != WEFT_OK) {
        return status;
    }
    struct option_list rates = {.bytes = memory_zeroed(OPTION_LIST_PARTS_MAX, RATE_BYTES)};
    for (uint32_t i = 0; i < parts.count && status == WEFT_OK; i++) {
        status = add_rates(&rates, parts.parts[i], error);
    }
    option_list_deinit(&parts);
    if (status == WEFT_OK) {
        *list_out = rates;
    } else {
        option_list_deinit(&rates);
    }
    return status;
}

enum weft_status option_list_policies(
    const char *text, struct option_list *list_out, struct weft_error *error)
{
    ASSERT(text != NULL);
    return split_at(text, strchr(text, ';') == NULL ? '\0' : ';', list_out, error);
}

void option_list_deinit(struct option_list *list)
{
    free(list->bytes);
    *list = (struct option_list){0};
}
