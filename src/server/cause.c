#include "server/cause.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/utf8.h"

enum { FOLDER_BYTES_MAX = 64 };

/* What ends a path in a text. Colons do: "FILE:LINE: cause". */
static const char path_ends[] = " \t\r\n'\"`()[]{}<>,;:|";

/*
 * How many bytes at @at, a slash, are folders of a path on this machine: up to its last slash,
 * and that too. 0 if it is none. Names of tensors look like paths, so that the first folder
 * must be there.
 */
static size_t folder_bytes(const char *at)
{
    char first[FOLDER_BYTES_MAX];
    struct stat found;
    const size_t length = strcspn(at, path_ends);
    const char *second = memchr(at + 1, '/', length - 1);
    if (second == NULL || (size_t)(second - at) >= sizeof(first)) {
        return 0;
    }
    (void)snprintf(first, sizeof(first), "%.*s", (int)(second - at), at);
    if (second == at + 1 || stat(first, &found) != 0 || !S_ISDIR(found.st_mode)) {
        return 0;
    }
    size_t folders = length;
    while (at[folders - 1] != '/') {
        folders--;
    }
    return folders;
}

static bool begins_path(const char *text, const char *at)
{
    return *at == '/' && (at == text || strchr(path_ends, at[-1]) != NULL || at[-1] == '=');
}

void cause_write(const char *text, char out[static CAUSE_BYTES_MAX])
{
    const char *end = text + strlen(text);
    const char *at = text;
    size_t length = 0;
    while (at < end) {
        if (begins_path(text, at)) {
            at += folder_bytes(at);
        }
        const uint32_t count = utf8_bytes((const uint8_t *)at, (size_t)(end - at));
        const bool is_whole = count > 0 && !utf8_is_control((const uint8_t *)at, count);
        const uint32_t written = is_whole ? count : 1;
        if (at == end || length + written >= CAUSE_BYTES_MAX) {
            break;
        }
        if (count == 0 && utf8_is_cut((const uint8_t *)at, (size_t)(end - at))) {
            break; /* A bound has cut the last character in two. */
        }
        (void)memcpy(out + length, is_whole ? at : "?", written);
        length += written;
        at += count == 0 ? 1 : count;
    }
    out[length] = '\0';
}
