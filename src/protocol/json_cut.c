#include "protocol/json_cut.h"

#include <stdlib.h>
#include <string.h>

/* Where the cutter is: one level a bracket that is open. */
struct level {
    char open;         /* '{' or '[' */
    bool is_value;     /* A value follows, not a key: always in arrays. */
    bool is_key_data;  /* The last key was "data". */
    bool is_key_input; /* The last key was "inputs". */
    uint32_t index;    /* Of the value, in an array. */
};

struct cutter {
    const char *at;
    const char *end;
    const char *cause;
    bool is_lost;       /* There was no memory. */
    const char *copied; /* Up to here the text is in the rest, or was cut. */
    uint32_t depth;
    struct level levels[JSON_DEPTH_MAX];
    struct json_rest *rest;
    size_t rest_max;
};

/* Behind the closing quote of the string at @at; NULL if there is none. */
static const char *skip_string(const char *at, const char *end)
{
    at++;
    while (at < end) {
        const char *quote = memchr(at, '"', (size_t)(end - at));
        const char *slash = quote == NULL ? NULL : memchr(at, '\\', (size_t)(quote - at));
        if (slash == NULL) {
            return quote == NULL ? NULL : quote + 1;
        }
        at = slash + 2;
    }
    return NULL;
}

/* Behind the bracket that closes the array at @at; NULL if there is none. */
static const char *skip_array(const char *at, const char *end)
{
    uint32_t depth = 0;
    while (at != NULL && at < end) {
        const char c = *at;
        if (c == '"') {
            at = skip_string(at, end);
            continue;
        }
        at++;
        if (c == '[') {
            depth++;
        } else if (c == ']') {
            depth--;
            if (depth == 0) {
                return at;
            }
        }
    }
    return NULL;
}

static bool fail(struct cutter *cutter, const char *cause)
{
    cutter->cause = cause;
    return false;
}

/* Copy the text up to @until into the rest, and @more behind it. */
static bool copy(struct cutter *cutter, const char *until, const char *more)
{
    struct json_rest *rest = cutter->rest;
    const size_t count = (size_t)(until - cutter->copied);
    const size_t needed = rest->length + count + strlen(more) + 1;
    if (needed > JSON_REST_BYTES_MAX) {
        return fail(cutter, "too much JSON beside the data of tensors");
    }
    if (needed > cutter->rest_max) {
        const size_t larger = 2 * needed;
        char *text = realloc(rest->text, larger);
        if (text == NULL) {
            cutter->is_lost = true;
            return fail(cutter, "no memory for the request");
        }
        rest->text = text;
        cutter->rest_max = larger;
    }
    if (count > 0) { /* There may be no text at all. */
        (void)memcpy(rest->text + rest->length, cutter->copied, count);
    }
    (void)memcpy(rest->text + rest->length + count, more, strlen(more) + 1);
    rest->length += count + strlen(more);
    return true;
}

/* Whether the value here is inputs[i].data. */
static bool is_data(const struct cutter *cutter)
{
    const struct level *levels = cutter->levels;
    return cutter->depth == 3 && levels[0].open == '{' && levels[0].is_key_input &&
           levels[1].open == '[' && levels[2].open == '{' && levels[2].is_key_data &&
           levels[2].is_value;
}

static bool cut(struct cutter *cutter)
{
    struct json_rest *rest = cutter->rest;
    const char *behind = skip_array(cutter->at, cutter->end);
    if (behind == NULL) {
        return fail(cutter, "an array of data is not closed");
    }
    if (rest->cut_count == JSON_CUTS_MAX) {
        return fail(cutter, "too many inputs");
    }
    if (!copy(cutter, cutter->at, "null")) {
        return false;
    }
    rest->cuts[rest->cut_count++] = (struct json_cut){
        .input = cutter->levels[1].index,
        .bytes = cutter->at,
        .length = (size_t)(behind - cutter->at),
    };
    cutter->at = behind;
    cutter->copied = behind;
    return true;
}

static bool open_level(struct cutter *cutter, char c)
{
    if (cutter->depth == JSON_DEPTH_MAX) {
        return fail(cutter, "nested too deeply");
    }
    cutter->levels[cutter->depth++] = (struct level){.open = c, .is_value = c == '['};
    cutter->at++;
    return true;
}

static bool close_level(struct cutter *cutter, char c)
{
    const char open = c == '}' ? '{' : '[';
    if (cutter->depth == 0 || cutter->levels[cutter->depth - 1].open != open) {
        return fail(cutter, "brackets do not match");
    }
    cutter->depth--;
    cutter->at++;
    return true;
}

static bool take_string(struct cutter *cutter)
{
    const char *behind = skip_string(cutter->at, cutter->end);
    if (behind == NULL) {
        return fail(cutter, "a string is not closed");
    }
    if (cutter->depth > 0 && !cutter->levels[cutter->depth - 1].is_value) {
        struct level *level = &cutter->levels[cutter->depth - 1];
        const size_t length = (size_t)(behind - cutter->at);
        level->is_key_data = length == 6 && memcmp(cutter->at, "\"data\"", 6) == 0;
        level->is_key_input = length == 8 && memcmp(cutter->at, "\"inputs\"", 8) == 0;
    }
    cutter->at = behind;
    return true;
}

static void take_mark(struct cutter *cutter, char c)
{
    struct level *level = cutter->depth == 0 ? NULL : &cutter->levels[cutter->depth - 1];
    cutter->at++;
    if (level == NULL) {
        return;
    }
    if (c == ':') {
        level->is_value = true;
    } else if (c == ',') {
        level->is_value = level->open == '[';
        level->index++;
    }
}

static bool step(struct cutter *cutter)
{
    const char c = *cutter->at;
    switch (c) {
    case '"':
        return take_string(cutter);
    case '[':
        return is_data(cutter) ? cut(cutter) : open_level(cutter, c);
    case '{':
        return open_level(cutter, c);
    case ']':
    case '}':
        return close_level(cutter, c);
    default:
        take_mark(cutter, c);
        return true;
    }
}

enum weft_status json_cut(
    const char *text, size_t length, struct json_rest *rest_out, const char **cause_out)
{
    struct cutter cutter = {.at = text, .end = text + length, .copied = text, .rest = rest_out};
    *rest_out = (struct json_rest){.length = 0};
    bool is_good = true;
    while (is_good && cutter.at < cutter.end) {
        is_good = step(&cutter);
        if (is_good && cutter.at > cutter.end) {
            is_good = fail(&cutter, "a string is not closed");
        }
    }
    is_good = is_good && copy(&cutter, cutter.end, "");
    if (!is_good) {
        free(rest_out->text);
        rest_out->text = NULL;
        *cause_out = cutter.cause;
        return cutter.is_lost ? WEFT_NO_MEMORY : WEFT_INVALID;
    }
    return WEFT_OK;
}
