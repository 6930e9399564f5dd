#include "document/bytes.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "document/tree.h"

/* One character: how many bytes it has, or 0 if they are not UTF-8; *code_out is its number. */
static size_t decode(const uint8_t *at, size_t left, uint32_t *code_out)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t length = at[0] < 0x80             ? 1
                          : (at[0] & 0xe0) == 0xc0 ? 2
                          : (at[0] & 0xf0) == 0xe0 ? 3
                          : (at[0] & 0xf8) == 0xf0 ? 4
                                                   : 0;
    if (length == 0 || length > left) {
        return 0;
    }
    uint32_t code = length == 1 ? at[0] : at[0] & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
        code = code << 6 | (at[i] & 0x3fU);
    }
    const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
    if (code < least[length] || code > 0x10ffff || is_surrogate) {
        return 0;
    }
    *code_out = code;
    return length;
}

/* Whether the bytes up to the end are the start of a character: a file that was cut off. */
static bool is_unfinished(const uint8_t *at, size_t left)
{
    if (left > 3 || at[0] < 0xc2 || at[0] > 0xf4) {
        return false;
    }
    for (size_t i = 1; i < left; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return false;
        }
    }
    return left < (at[0] < 0xe0 ? 2U : at[0] < 0xf0 ? 3U : 4U);
}

/* YAML 1.1, section 4.1: what a document may hold without escapes. */
static bool is_printable(uint32_t code)
{
    if (code < 0x20) {
        return code == '\t' || code == '\n' || code == '\r';
    }
    return code < 0x7f || code == 0x85 || (code >= 0xa0 && code != 0xfffe && code != 0xffff);
}

enum weft_status bytes_check_utf8(
    const char *file, const char *bytes, size_t size, struct weft_error *error)
{
    const uint8_t *all = (const uint8_t *)bytes;
    uint32_t line = 1;
    uint32_t code = 0;

    for (size_t i = 0; i < size;) {
        const size_t length = decode(all + i, size - i, &code);
        if (length == 0 && is_unfinished(all + i, size - i)) {
            return error_set(
                error, WEFT_INVALID, "%s:%u: the file ends inside a UTF-8 character", file, line);
        }
        if (length == 0) {
            return error_set(
                error, WEFT_INVALID, "%s:%u: byte 0x%02x is not valid UTF-8 here", file, line,
                all[i]);
        }
        if (!is_printable(code)) {
            return error_set(
                error, WEFT_INVALID, "%s:%u: control character U+%04X is not allowed", file, line,
                code);
        }
        line += code == '\n' ? 1 : 0;
        i += length;
    }
    return WEFT_OK;
}

enum { JSON_BYTES_A_LETTER = 96 }; /* What jansson takes for "{},{},{}" is the most. */

/* More separators than nodes are allowed? Asked first, because jansson has no such limit. */
static bool has_too_many_nodes(const char *bytes, size_t size)
{
    uint32_t count = 0;
    bool in_text = false;

    for (size_t i = 0; i < size && count <= TREE_NODES_MAX; i++) {
        if (in_text && bytes[i] == '\\') {
            i++;
        } else if (bytes[i] == '"') {
            in_text = !in_text;
        } else if (!in_text && (bytes[i] == ',' || bytes[i] == '[' || bytes[i] == '{')) {
            count++;
        }
    }
    return count > TREE_NODES_MAX;
}

enum weft_status bytes_check_json(
    const char *file, const char *bytes, size_t size, struct weft_error *error)
{
    json_error_t problem;

    if (has_too_many_nodes(bytes, size)) {
        return error_set(
            error, WEFT_LIMIT, "%s:1: more than %d values in one document", file, TREE_NODES_MAX);
    }
    if (!memory_is_free(JSON_BYTES_A_LETTER * size)) {
        return error_set(error, WEFT_NO_MEMORY, "%s: out of memory", file);
    }
    errno = 0; /* jansson does not always tell that it had no memory; malloc() does. */
    json_t *value = json_loadb(bytes, size, 0, &problem);
    if (value == NULL) {
        if (errno == ENOMEM) {
            return error_set(error, WEFT_NO_MEMORY, "%s: out of memory", file);
        }
        /* What jansson quotes may hold a line break; the first line says enough. */
        problem.text[strcspn(problem.text, "\n\r")] = '\0';
        return error_set(
            error, WEFT_INVALID, "%s:%d: not JSON: %s", file, problem.line > 0 ? problem.line : 1,
            problem.text);
    }
    json_decref(value);
    return WEFT_OK;
}

bool bytes_is_json_name(const char *file)
{
    static const char suffix[] = ".json";
    const size_t length = strlen(file);

    return length >= sizeof(suffix) - 1 &&
           strcmp(file + length - (sizeof(suffix) - 1), suffix) == 0;
}

/* Reads one byte more than is allowed: a file may grow between the question and the answer. */
enum weft_status bytes_load_stream(
    FILE *file, const char *name, size_t bytes_max, char **bytes_out, size_t *size_out,
    struct weft_error *error)
{
    const size_t room = bytes_max + 1;
    char *bytes = calloc(room, 1);
    if (bytes == NULL) {
        return error_set(error, WEFT_NO_MEMORY, "%s: out of memory", name);
    }
    const size_t size = fread(bytes, 1, room, file);

    if (ferror(file) != 0) {
        free(bytes);
        return error_set(error, WEFT_IO, "%s: cannot be read", name);
    }
    if (size == room) {
        free(bytes);
        return error_set(error, WEFT_LIMIT, "%s: longer than %zu bytes", name, bytes_max);
    }
    *bytes_out = bytes;
    *size_out = size;
    return WEFT_OK;
}

enum weft_status bytes_load(
    const char *path, char **bytes_out, size_t *size_out, struct weft_error *error)
{
    return bytes_load_large(path, TREE_BYTES_MAX, bytes_out, size_out, error);
}

enum weft_status bytes_load_large(
    const char *path, size_t bytes_max, char **bytes_out, size_t *size_out,
    struct weft_error *error)
{
    struct stat facts;

    /* Asked before opening, because to open a named pipe would wait for its writer. */
    if (stat(path, &facts) != 0) {
        return error_set(error, WEFT_IO, "%s: cannot be opened: %s", path, strerror(errno));
    }
    if (!S_ISREG(facts.st_mode)) {
        return error_set(
            error, WEFT_IO, "%s: is %s", path,
            S_ISDIR(facts.st_mode) ? "a directory" : "not a regular file");
    }
    FILE *file = fopen(path, "rb");
    if (file == NULL && errno == ENOMEM) {
        return error_set(error, WEFT_NO_MEMORY, "%s: out of memory", path);
    }
    if (file == NULL) {
        return error_set(error, WEFT_IO, "%s: cannot be opened: %s", path, strerror(errno));
    }
    const enum weft_status status =
        bytes_load_stream(file, path, bytes_max, bytes_out, size_out, error);
    (void)fclose(file); /* Opened for reading: nothing can be lost. */
    return status;
}
