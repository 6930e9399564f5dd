#include "document/onnx_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum {
    FIELDS_MAX = 65536, /* A model has some ten, and one for each of its own functions. */
    FIELD_GRAPH = 7,
    FIELD_MAX = 64, /* ONNX has fields up to 26. */
    VARINT_BYTES_MAX = 10,
};

/* How protocol buffers encode the value of a field. */
enum wire { WIRE_VARINT = 0, WIRE_EIGHT = 1, WIRE_LENGTH = 2, WIRE_FOUR = 5 };

struct walk {
    FILE *file;
    uint64_t at;
    uint64_t end;
    bool is_cut;
};

static bool read_varint(struct walk *walk, uint64_t *value_out)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < VARINT_BYTES_MAX; i++) {
        const int byte = fgetc(walk->file);
        if (byte == EOF) {
            walk->is_cut = true;
            return false;
        }
        walk->at++;
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if ((byte & 0x80) == 0) {
            *value_out = value;
            return true;
        }
    }
    return false;
}

static bool skip(struct walk *walk, uint64_t count)
{
    if (count > walk->end - walk->at) {
        walk->is_cut = true;
        return false;
    }
    walk->at += count;
    return fseeko(walk->file, (off_t)walk->at, SEEK_SET) == 0;
}

/* Step over the next field; false if it cannot be one, or is longer than the file. */
static bool next_field(struct walk *walk, uint64_t *number_out)
{
    uint64_t key = 0;
    uint64_t value = 0;
    if (!read_varint(walk, &key)) {
        return false;
    }
    *number_out = key >> 3;
    if (*number_out == 0 || *number_out > FIELD_MAX) {
        return false;
    }
    switch (key & 7) {
    case WIRE_VARINT:
        return read_varint(walk, &value);
    case WIRE_EIGHT:
        return skip(walk, 8);
    case WIRE_FOUR:
        return skip(walk, 4);
    case WIRE_LENGTH:
        return read_varint(walk, &value) && skip(walk, value);
    default:
        return false;
    }
}

static enum weft_status walk_over(struct walk *walk, const char *path, struct weft_error *error)
{
    bool has_graph = false;
    for (uint32_t i = 0; walk->at < walk->end && i < FIELDS_MAX; i++) {
        uint64_t number = 0;
        const bool is_field = next_field(walk, &number);
        if (!is_field && walk->is_cut && i > 0) {
            return error_set(
                error, WEFT_INVALID, "%s: cut short: it goes on after its end, at byte %" PRIu64,
                path, walk->end);
        }
        if (!is_field) {
            return error_set(error, WEFT_INVALID, "%s: not an ONNX model", path);
        }
        has_graph |= number == FIELD_GRAPH;
    }
    return has_graph ? WEFT_OK
                     : error_set(error, WEFT_INVALID, "%s: an ONNX model without a graph", path);
}

enum weft_status onnx_file_check(const char *path, struct weft_error *error)
{
    struct walk walk = {.file = fopen(path, "rb")};
    enum weft_status status = WEFT_IO;
    if (walk.file == NULL) {
        return error_set(error, WEFT_IO, "%s: %s", path, strerror(errno));
    }
    const off_t end = fseeko(walk.file, 0, SEEK_END) == 0 ? ftello(walk.file) : -1;
    if (end < 0 || fseeko(walk.file, 0, SEEK_SET) != 0) {
        (void)error_set(error, status, "%s: %s", path, strerror(errno));
    } else if (end == 0) {
        status = error_set(error, WEFT_INVALID, "%s: the file is empty", path);
    } else {
        walk.end = (uint64_t)end;
        status = walk_over(&walk, path, error);
    }
    (void)fclose(walk.file); /* It was only read. */
    return status;
}
