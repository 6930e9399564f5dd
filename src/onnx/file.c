#include "onnx/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"

enum {
    FIELDS_MAX = 65536, /* A model has some ten, and one for each of its own functions. */
    FIELD_MAX = 64,     /* ONNX has fields up to 26. */
    VARINT_BYTES_MAX = 10,
    READ_BYTES = 4096,
};

/* Fields of the messages of ONNX, by number. */
enum {
    MODEL_GRAPH = 7,
    GRAPH_WEIGHT = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    WEIGHT_NAME = 8,
    VALUE_NAME = 1,
    VALUE_TYPE = 2,
    TYPE_TENSOR = 1,
    TYPE_SEQUENCE = 4,
    TYPE_MAP = 5,
    TENSOR_TYPE = 1,
    TENSOR_SHAPE = 2,
    SHAPE_EXTENT = 1,
    SEQUENCE_TYPE = 1,
    MAP_KEY = 1,
    MAP_VALUE = 2,
};

/* How protocol buffers encode the value of a field. */
enum wire { WIRE_VARINT = 0, WIRE_EIGHT = 1, WIRE_LENGTH = 2, WIRE_FOUR = 5 };

struct walk {
    int file;
    uint64_t at;
    uint64_t size;
    bool is_cut;
    uint64_t read_at; /* Where the bytes below come from. */
    uint64_t read_count;
    uint8_t read[READ_BYTES];
    uint64_t *weights; /* Hashes of their names, in order. */
    size_t weight_count;
    onnx_declare declare;
    void *context;
};

/* A field; of what has a length the walk stands at its beginning. */
struct field {
    uint64_t number;
    uint64_t value; /* A number, or a length. */
    bool has_length;
    uint64_t end; /* Of what has a length. */
};

/* The next byte; -1 at the end. */
static int next_byte(struct walk *walk)
{
    if (walk->at < walk->read_at || walk->at - walk->read_at >= walk->read_count) {
        const ssize_t count = pread(walk->file, walk->read, READ_BYTES, (off_t)walk->at);
        walk->read_at = walk->at;
        walk->read_count = count < 0 ? 0 : (uint64_t)count;
        if (count <= 0) {
            walk->is_cut = true;
            return -1;
        }
    }
    return walk->read[walk->at++ - walk->read_at];
}

static bool read_varint(struct walk *walk, uint64_t *value_out)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < VARINT_BYTES_MAX; i++) {
        const int byte = next_byte(walk);
        if (byte < 0) {
            return false;
        }
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if ((byte & 0x80) == 0) {
            *value_out = value;
            return true;
        }
    }
    return false;
}

/* The next field before @end; false if it cannot be one, or goes on after @end. */
static bool next_field(struct walk *walk, uint64_t end, struct field *field)
{
    uint64_t key = 0;
    if (!read_varint(walk, &key)) {
        return false;
    }
    *field = (struct field){.number = key >> 3, .has_length = (key & 7) == WIRE_LENGTH};
    if (field->number == 0) {
        return false;
    }
    switch (key & 7) {
    case WIRE_EIGHT:
        field->value = 8;
        break;
    case WIRE_FOUR:
        field->value = 4;
        break;
    case WIRE_VARINT:
    case WIRE_LENGTH:
        if (!read_varint(walk, &field->value)) {
            return false;
        }
        break;
    default:
        return false;
    }
    const uint64_t length = (key & 7) == WIRE_VARINT ? 0 : field->value;
    if (walk->at > end || length > end - walk->at) {
        walk->is_cut = true;
        return false;
    }
    field->end = walk->at + length;
    if (!field->has_length) {
        walk->at = field->end;
    }
    return true;
}

/* Read the text of @field into @out, as far as it fits; its hash is of all of it. */
static uint64_t read_text(struct walk *walk, const struct field *field, char *out, size_t room)
{
    uint64_t hash = field->value;
    for (uint64_t i = 0; i < field->value; i++) {
        const int byte = next_byte(walk);
        hash = hash_mix(hash, (uint64_t)byte);
        if (i + 1 < room) {
            out[i] = (char)byte;
            out[i + 1] = '\0';
        }
    }
    return hash;
}

/* The fields of a message that ends at @end, one by one, for `is_good = ...` in the body. */
#define EACH_FIELD(walk, last, field, is_good)                                                     \
    for (; (is_good) && (walk)->at < (last) && ((is_good) = next_field((walk), (last), &(field))); \
         (walk)->at = (field).end)

static bool read_tensor(struct walk *walk, uint64_t end, struct onnx_declared *declared)
{
    bool is_good = true;
    struct field field;
    EACH_FIELD(walk, end, field, is_good)
    {
        if (field.number == TENSOR_TYPE) {
            declared->type = (uint32_t)field.value;
        } else if (field.number == TENSOR_SHAPE && field.has_length) {
            struct field extent;
            declared->has_rank = true;
            EACH_FIELD(walk, field.end, extent, is_good)
            {
                declared->rank += extent.number == SHAPE_EXTENT ? 1 : 0;
            }
        }
    }
    return is_good;
}

static bool read_map(struct walk *walk, uint64_t end, struct onnx_declared *declared)
{
    bool is_good = true;
    struct field field;
    EACH_FIELD(walk, end, field, is_good)
    {
        if (field.number == MAP_KEY) {
            declared->key_type = (uint32_t)field.value;
        } else if (field.number == MAP_VALUE && field.has_length) {
            struct field type;
            EACH_FIELD(walk, field.end, type, is_good)
            {
                declared->kind = type.number == TYPE_TENSOR ? ONNX_KIND_MAPS : ONNX_KIND_OTHER;
                is_good = type.number != TYPE_TENSOR || read_tensor(walk, type.end, declared);
            }
        }
    }
    return is_good;
}

/* A type, inside of a sequence or not. */
static bool read_type(
    struct walk *walk, uint64_t end, bool is_element, struct onnx_declared *declared)
{
    bool is_good = true;
    struct field field;
    EACH_FIELD(walk, end, field, is_good)
    {
        if (!field.has_length) {
            continue;
        }
        if (field.number == TYPE_TENSOR && !is_element) {
            declared->kind = ONNX_KIND_TENSOR;
            is_good = read_tensor(walk, field.end, declared);
        } else if (field.number == TYPE_MAP && is_element) {
            is_good = read_map(walk, field.end, declared);
        } else if (field.number == TYPE_SEQUENCE && !is_element) {
            struct field element;
            declared->kind = ONNX_KIND_SEQUENCE;
            EACH_FIELD(walk, field.end, element, is_good)
            {
                is_good = element.number != SEQUENCE_TYPE || !element.has_length ||
                          read_type(walk, element.end, /* is_element */ true, declared);
            }
        }
    }
    return is_good;
}

static int compare_hashes(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a;
    const uint64_t right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static bool read_value(struct walk *walk, uint64_t end, bool is_input)
{
    struct onnx_declared declared = {.kind = ONNX_KIND_OTHER, .is_input = is_input};
    uint64_t hash = 0;
    bool is_good = true;
    struct field field;
    EACH_FIELD(walk, end, field, is_good)
    {
        if (field.number == VALUE_NAME && field.has_length) {
            hash = read_text(walk, &field, declared.name, sizeof(declared.name));
            declared.name_bytes = field.value;
        } else if (field.number == VALUE_TYPE && field.has_length) {
            is_good = read_type(walk, field.end, /* is_element */ false, &declared);
        }
    }
    const bool is_weight =
        is_input && walk->weight_count > 0 &&
        bsearch(&hash, walk->weights, walk->weight_count, sizeof(hash), compare_hashes) != NULL;
    if (is_good && !is_weight) {
        walk->declare(walk->context, &declared);
    }
    return is_good;
}

/* Remember the name of the weight that ends at @end. */
static bool note_weight(struct walk *walk, uint64_t end)
{
    bool is_good = true;
    struct field field;
    EACH_FIELD(walk, end, field, is_good)
    {
        if (field.number != WEIGHT_NAME || !field.has_length) {
            continue;
        }
        if ((walk->weight_count & (walk->weight_count - 1)) == 0) { /* Twice as many as before. */
            const size_t room = walk->weight_count == 0 ? 1 : 2 * walk->weight_count;
            uint64_t *larger = realloc(walk->weights, room * sizeof(*larger));
            if (larger == NULL) {
                return false;
            }
            walk->weights = larger;
        }
        walk->weights[walk->weight_count++] = read_text(walk, &field, NULL, 0);
    }
    return is_good;
}

/* The graph that ends at @end: its weights first, since they may be listed as inputs. */
static bool read_graph(struct walk *walk, uint64_t end)
{
    const uint64_t start = walk->at;
    bool is_good = true;
    struct field field;
    EACH_FIELD(walk, end, field, is_good)
    {
        if (field.number == GRAPH_WEIGHT && field.has_length) {
            is_good = note_weight(walk, field.end);
        }
    }
    if (walk->weight_count > 0) {
        qsort(walk->weights, walk->weight_count, sizeof(*walk->weights), compare_hashes);
    }
    walk->at = start;
    EACH_FIELD(walk, end, field, is_good)
    {
        const bool is_input = field.number == GRAPH_INPUT;
        if ((is_input || field.number == GRAPH_OUTPUT) && field.has_length) {
            is_good = read_value(walk, field.end, is_input);
        }
    }
    return is_good;
}

static enum weft_status walk_over(struct walk *walk, const char *path, struct weft_error *error)
{
    uint64_t graph[2] = {0, 0};
    for (uint32_t i = 0; walk->at < walk->size && i < FIELDS_MAX; i++) {
        struct field field = {.number = 0};
        const bool is_field = next_field(walk, walk->size, &field) && field.number <= FIELD_MAX;
        if (!is_field && walk->is_cut && i > 0) {
            return error_set(
                error, WEFT_INVALID, "%s: cut short: it goes on after its end, at byte %" PRIu64,
                path, walk->size);
        }
        if (!is_field) {
            return error_set(error, WEFT_INVALID, "%s: not an ONNX model", path);
        }
        if (field.number == MODEL_GRAPH && field.has_length) {
            graph[0] = walk->at;
            graph[1] = field.end;
        }
        walk->at = field.end;
    }
    if (graph[1] == 0) {
        return error_set(error, WEFT_INVALID, "%s: an ONNX model without a graph", path);
    }
    walk->at = graph[0];
    return read_graph(walk, graph[1])
               ? WEFT_OK
               : error_set(error, WEFT_INVALID, "%s: its graph cannot be read", path);
}

enum weft_status onnx_file_read(
    const char *path, onnx_declare declare, void *context, struct weft_error *error)
{
    struct walk walk = {
        .file = open(path, O_RDONLY | O_CLOEXEC), .declare = declare, .context = context};
    if (walk.file < 0) {
        return error_set(error, WEFT_IO, "%s: %s", path, strerror(errno));
    }
    const off_t size = lseek(walk.file, 0, SEEK_END);
    enum weft_status status = WEFT_IO;
    if (size < 0) {
        (void)error_set(error, status, "%s: %s", path, strerror(errno));
    } else if (size == 0) {
        status = error_set(error, WEFT_INVALID, "%s: the file is empty", path);
    } else {
        walk.size = (uint64_t)size;
        status = walk_over(&walk, path, error);
    }
    free(walk.weights);
    (void)close(walk.file); /* It was only read. */
    return status;
}
