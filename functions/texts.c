#include "texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_ROOM_FIRST = 64, PATH_BYTES_MAX = 4096 };

void text_add(struct text *text, const char *bytes, size_t length)
{
    if (text->is_short) {
        return;
    }
    if (text->room - text->length < length) {
        size_t room = text->room == 0 ? TEXT_ROOM_FIRST : text->room;
        while (room - text->length < length) {
            room *= 2;
        }
        char *larger = realloc(text->bytes, room);
        if (larger == NULL) {
            text->is_short = 1;
            return;
        }
        text->bytes = larger;
        text->room = room;
    }
    if (length > 0) {
        memcpy(text->bytes + text->length, bytes, length);
    }
    text->length += length;
}

void text_release(struct text *text)
{
    free(text->bytes);
    *text = (struct text){0};
}

enum weft_status texts_give(
    const struct weft_call *call, const char *name, const struct text *texts, uint32_t count)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (texts[i].is_short || texts[i].length > UINT32_MAX) {
            return WEFT_NO_MEMORY;
        }
        bytes += sizeof(uint32_t) + texts[i].length;
    }
    const int64_t shape[] = {count};
    uint8_t *out = weft_call_texts(call, name, 1, shape, bytes);
    if (out == NULL) {
        return WEFT_NO_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t length = (uint32_t)texts[i].length;
        memcpy(out, &length, sizeof(length));
        out += sizeof(length);
        if (length > 0) {
            memcpy(out, texts[i].bytes, length);
        }
        out += length;
    }
    return WEFT_OK;
}

/* The whole file at @path, with a zero after it. NULL if it cannot be read. */
static char *read_all(const char *path, size_t *length_out)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return NULL;
    }
    char *contents = NULL;
    if (fseek(file, 0, SEEK_END) == 0) {
        const long size = ftell(file);
        if (size >= 0 && fseek(file, 0, SEEK_SET) == 0) {
            contents = malloc((size_t)size + 1);
        }
        if (contents != NULL && fread(contents, 1, (size_t)size, file) != (size_t)size) {
            free(contents);
            contents = NULL;
        }
        if (contents != NULL) {
            contents[size] = '\0';
            *length_out = (size_t)size;
        }
    }
    (void)fclose(file);
    return contents;
}

static struct lines *split(char *contents, size_t length)
{
    struct lines *lines = calloc(1, sizeof(*lines));
    uint32_t count = 0;
    for (size_t i = 0; i < length; i++) {
        count += contents[i] == '\n';
    }
    char **items = malloc(((size_t)count + 1) * sizeof(*items));
    if (lines == NULL || items == NULL) {
        free(lines);
        free(items);
        return NULL;
    }
    char *at = contents;
    for (uint32_t i = 0; i < count; i++) {
        char *end = strchr(at, '\n');
        if (end == NULL) { /* A zero byte inside: nothing after it counts. */
            count = i;
            break;
        }
        *end = '\0';
        items[i] = at;
        at = end + 1;
    }
    *lines = (struct lines){.count = count, .items = items, .contents = contents};
    return lines;
}

struct lines *lines_read(const struct weft_call *call, const char *file)
{
    char path[PATH_BYTES_MAX];
    char message[PATH_BYTES_MAX + 64];
    size_t length = 0;
    (void)snprintf(path, sizeof(path), "%s/%s", weft_call_folder(call), file);
    char *contents = read_all(path, &length);
    struct lines *lines = contents == NULL ? NULL : split(contents, length);
    if (lines == NULL) {
        free(contents);
        (void)snprintf(message, sizeof(message), "cannot read '%s'", path);
        (void)weft_call_fail(call, message);
    }
    return lines;
}

void lines_release(struct lines *lines)
{
    if (lines != NULL) {
        free(lines->items);
        free(lines->contents);
        free(lines);
    }
}
