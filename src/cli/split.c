#include "cli/split.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* Whether @part, which ends at a comma, begins with "role=". */
static bool names_a_role(const char *part)
{
    return part[strcspn(part, "=:,")] == '=';
}

/* The length of the policy at the start of @text: several parts if they compose. */
static size_t composition_length(const char *text)
{
    size_t length = strcspn(text, ",");
    const char *part = text;
    while (text[length] == ',' && names_a_role(part) && names_a_role(text + length + 1)) {
        part = text + length + 1;
        length += 1 + strcspn(part, ",");
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
    const char *text, char separator, struct split *split_out, struct weft_error *error)
{
    const size_t bytes = strlen(text) + 1;
    struct split split = {.bytes = memory_zeroed(bytes, 1)};
    memcpy(split.bytes, text, bytes);
    char *rest = split.bytes;
    enum weft_status status = WEFT_OK;
    bool more = true;
    while (more && status == WEFT_OK) {
        const size_t length = part_length(rest, separator);
        more = rest[length] != '\0';
        const char *part = trim(rest, length);
        rest += length + 1;
        if (*part == '\0') {
            status = error_set(error, WEFT_INVALID, "'%s' has an empty part", text);
        } else if (split.count == SPLIT_PARTS_MAX) {
            status =
                error_set(error, WEFT_LIMIT, "'%s' has more than %d parts", text, SPLIT_PARTS_MAX);
        } else {
            split.parts[split.count] = part;
            split.count++;
        }
    }
    if (status == WEFT_OK) {
        *split_out = split;
    } else {
        split_deinit(&split);
    }
    return status;
}

enum weft_status split_commas(const char *text, struct split *split_out, struct weft_error *error)
{
    return split_at(text, ',', split_out, error);
}

enum weft_status split_policies(const char *text, struct split *split_out, struct weft_error *error)
{
    return split_at(text, strchr(text, ';') == NULL ? '\0' : ';', split_out, error);
}

void split_deinit(struct split *split)
{
    free(split->bytes);
    *split = (struct split){0};
}
