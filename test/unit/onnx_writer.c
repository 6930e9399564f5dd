#include "unit/onnx_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/rng.h"

/* Fields of the messages of ONNX, by number. */
enum {
    MODEL_VERSION = 1,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    OPSET_DOMAIN = 1,
    OPSET_VERSION = 2,
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_WEIGHT = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_OP = 4,
    NODE_ATTRIBUTE = 5,
    NODE_DOMAIN = 7,
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_STRINGS = 9,
    ATTRIBUTE_TYPE = 20,
    VALUE_NAME = 1,
    VALUE_TYPE = 2,
    TYPE_TENSOR = 1,
    TYPE_SEQUENCE = 4,
    TYPE_MAP = 5,
    ELEMENT_TYPE = 1,
    MAP_KEY = 1,
    MAP_VALUE = 2,
    TENSOR_TYPE = 1,
    TENSOR_SHAPE = 2,
    SHAPE_EXTENT = 1,
    EXTENT_VALUE = 1,
    EXTENT_NAME = 2,
    WEIGHT_EXTENT = 1,
    WEIGHT_TYPE = 2,
    WEIGHT_NAME = 8,
    WEIGHT_BYTES = 9,
    WEIGHT_EXTERNAL = 13,
    WEIGHT_LOCATION = 14,
    ENTRY_KEY = 1,
    ENTRY_VALUE = 2,
};

enum { BYTES_FOLLOW = 2 }; /* The wire type of texts and messages. */

static void put(struct onnx_bytes *bytes, const void *data, size_t count)
{
    if (bytes->count + count > bytes->capacity) {
        bytes->capacity = 2 * (bytes->count + count) + 64;
        bytes->data = realloc(bytes->data, bytes->capacity);
        ASSERT(bytes->data != NULL);
    }
    if (count > 0) {
        memcpy(bytes->data + bytes->count, data, count);
    }
    bytes->count += count;
}

static void put_number(struct onnx_bytes *bytes, uint64_t number)
{
    do {
        uint8_t low = number & 127;
        number >>= 7;
        low = (uint8_t)(low | (number > 0 ? 128 : 0));
        put(bytes, &low, 1);
    } while (number > 0);
}

static void field_number(struct onnx_bytes *bytes, uint32_t field, uint64_t number)
{
    put_number(bytes, field << 3);
    put_number(bytes, number);
}

static void field_bytes(struct onnx_bytes *bytes, uint32_t field, const void *data, size_t count)
{
    put_number(bytes, field << 3 | BYTES_FOLLOW);
    put_number(bytes, count);
    put(bytes, data, count);
}

static void field_text(struct onnx_bytes *bytes, uint32_t field, const char *text)
{
    field_bytes(bytes, field, text, strlen(text));
}

/* @message becomes a field of @bytes, and is empty again. */
static void field_message(struct onnx_bytes *bytes, uint32_t field, struct onnx_bytes *message)
{
    field_bytes(bytes, field, message->data, message->count);
    free(message->data);
    *message = (struct onnx_bytes){.data = NULL};
}

void onnx_writer_start(struct onnx_writer *writer)
{
    *writer = (struct onnx_writer){.graph = {.data = NULL}};
}

static void put_value(
    struct onnx_writer *writer, uint32_t field, const char *name, int type,
    const struct onnx_bytes *shape)
{
    struct onnx_bytes tensor = {.data = NULL};
    struct onnx_bytes kind = {.data = NULL};
    struct onnx_bytes value = {.data = NULL};
    field_number(&tensor, TENSOR_TYPE, (uint64_t)type);
    if (shape != NULL) {
        field_bytes(&tensor, TENSOR_SHAPE, shape->data, shape->count);
    }
    field_message(&kind, TYPE_TENSOR, &tensor);
    field_text(&value, VALUE_NAME, name);
    field_message(&value, VALUE_TYPE, &kind);
    field_message(&writer->graph, field, &value);
}

static struct onnx_bytes shape_of(uint32_t rank, const int64_t *shape)
{
    struct onnx_bytes whole = {.data = NULL};
    for (uint32_t i = 0; i < rank && shape != NULL; i++) {
        struct onnx_bytes extent = {.data = NULL};
        if (shape[i] < 0) {
            field_text(&extent, EXTENT_NAME, shape[i] == -1 ? "N" : "M");
        } else {
            field_number(&extent, EXTENT_VALUE, (uint64_t)shape[i]);
        }
        field_message(&whole, SHAPE_EXTENT, &extent);
    }
    return whole;
}

void onnx_writer_input(
    struct onnx_writer *writer, const char *name, int type, uint32_t rank, const int64_t *shape)
{
    struct onnx_bytes extents = shape_of(rank, shape);
    put_value(writer, GRAPH_INPUT, name, type, shape == NULL ? NULL : &extents);
    free(extents.data);
}

void onnx_writer_output(
    struct onnx_writer *writer, const char *name, int type, uint32_t rank, const int64_t *shape)
{
    struct onnx_bytes extents = shape_of(rank, shape);
    put_value(writer, GRAPH_OUTPUT, name, type, shape == NULL ? NULL : &extents);
    free(extents.data);
}

/* An output that is a sequence of @element. */
static void put_sequence(struct onnx_writer *writer, const char *name, struct onnx_bytes *element)
{
    struct onnx_bytes sequence = {.data = NULL};
    struct onnx_bytes type = {.data = NULL};
    struct onnx_bytes value = {.data = NULL};
    field_message(&sequence, ELEMENT_TYPE, element);
    field_message(&type, TYPE_SEQUENCE, &sequence);
    field_text(&value, VALUE_NAME, name);
    field_message(&value, VALUE_TYPE, &type);
    field_message(&writer->graph, GRAPH_OUTPUT, &value);
}

static struct onnx_bytes float_type(void)
{
    struct onnx_bytes tensor = {.data = NULL};
    struct onnx_bytes type = {.data = NULL};
    field_number(&tensor, TENSOR_TYPE, ONNX_FLOAT);
    field_message(&type, TYPE_TENSOR, &tensor);
    return type;
}

void onnx_writer_sequence(struct onnx_writer *writer, const char *name)
{
    struct onnx_bytes element = float_type();
    put_sequence(writer, name, &element);
}

void onnx_writer_maps(struct onnx_writer *writer, const char *name, int key)
{
    struct onnx_bytes value = float_type();
    struct onnx_bytes map = {.data = NULL};
    struct onnx_bytes element = {.data = NULL};
    field_number(&map, MAP_KEY, (uint64_t)key);
    field_message(&map, MAP_VALUE, &value);
    field_message(&element, TYPE_MAP, &map);
    put_sequence(writer, name, &element);
}

void onnx_writer_node(
    struct onnx_writer *writer, const char *op, const char *first, const char *second,
    const char *output)
{
    struct onnx_bytes node = {.data = NULL};
    field_text(&node, NODE_INPUT, first);
    if (second != NULL) {
        field_text(&node, NODE_INPUT, second);
    }
    field_text(&node, NODE_OUTPUT, output);
    field_text(&node, NODE_OP, op);
    field_message(&writer->graph, GRAPH_NODE, &node);
}

void onnx_writer_floats(
    struct onnx_writer *writer, const char *name, uint32_t rank, const int64_t *shape,
    const float *values)
{
    struct onnx_bytes weight = {.data = NULL};
    size_t count = 1;
    for (uint32_t i = 0; i < rank; i++) {
        field_number(&weight, WEIGHT_EXTENT, (uint64_t)shape[i]);
        count *= (size_t)shape[i];
    }
    field_number(&weight, WEIGHT_TYPE, ONNX_FLOAT);
    field_text(&weight, WEIGHT_NAME, name);
    field_bytes(&weight, WEIGHT_BYTES, values, count * sizeof(*values));
    field_message(&writer->graph, GRAPH_WEIGHT, &weight);
}

void onnx_writer_long(struct onnx_writer *writer, const char *name, int64_t value)
{
    struct onnx_bytes weight = {.data = NULL};
    field_number(&weight, WEIGHT_EXTENT, 1);
    field_number(&weight, WEIGHT_TYPE, ONNX_INT64);
    field_text(&weight, WEIGHT_NAME, name);
    field_bytes(&weight, WEIGHT_BYTES, &value, sizeof(value));
    field_message(&writer->graph, GRAPH_WEIGHT, &weight);
}

void onnx_writer_external(
    struct onnx_writer *writer, const char *name, uint32_t rank, const int64_t *shape,
    const char *file)
{
    struct onnx_bytes weight = {.data = NULL};
    struct onnx_bytes entry = {.data = NULL};
    for (uint32_t i = 0; i < rank; i++) {
        field_number(&weight, WEIGHT_EXTENT, (uint64_t)shape[i]);
    }
    field_number(&weight, WEIGHT_TYPE, ONNX_FLOAT);
    field_text(&weight, WEIGHT_NAME, name);
    field_text(&entry, ENTRY_KEY, "location");
    field_text(&entry, ENTRY_VALUE, file);
    field_message(&weight, WEIGHT_EXTERNAL, &entry);
    field_number(&weight, WEIGHT_LOCATION, 1);
    field_message(&writer->graph, GRAPH_WEIGHT, &weight);
}

void onnx_writer_finish(struct onnx_writer *writer, const char *path)
{
    struct onnx_bytes model = {.data = NULL};
    struct onnx_bytes opset = {.data = NULL};
    field_text(&writer->graph, GRAPH_NAME, "graph");
    field_number(&model, MODEL_VERSION, 8);
    field_message(&model, MODEL_GRAPH, &writer->graph);
    field_number(&opset, OPSET_VERSION, 13);
    field_message(&model, MODEL_OPSET, &opset);
    field_text(&opset, OPSET_DOMAIN, "ai.onnx.ml");
    field_number(&opset, OPSET_VERSION, 1);
    field_message(&model, MODEL_OPSET, &opset);
    FILE *file = fopen(path, "wb");
    ASSERT(file != NULL);
    const size_t written = fwrite(model.data, 1, model.count, file);
    ASSERT(written == model.count);
    const int failed = fclose(file);
    ASSERT(failed == 0);
    free(model.data);
}

void onnx_write_relu(const char *path, int64_t rows)
{
    struct onnx_writer writer;
    const int64_t shape[2] = {rows, 4};
    onnx_writer_start(&writer);
    onnx_writer_input(&writer, "x", ONNX_FLOAT, 2, shape);
    onnx_writer_node(&writer, "Relu", "x", NULL, "y");
    onnx_writer_output(&writer, "y", ONNX_FLOAT, 2, shape);
    onnx_writer_finish(&writer, path);
}

void onnx_write_add(const char *path)
{
    struct onnx_writer writer;
    const int64_t shape[2] = {-1, 3};
    onnx_writer_start(&writer);
    onnx_writer_input(&writer, "x", ONNX_FLOAT, 2, shape);
    onnx_writer_input(&writer, "y", ONNX_FLOAT, 2, shape);
    onnx_writer_node(&writer, "Add", "x", "y", "z");
    onnx_writer_output(&writer, "z", ONNX_FLOAT, 2, shape);
    onnx_writer_finish(&writer, path);
}

void onnx_write_mlp(const char *path, uint32_t width, uint32_t layers)
{
    struct onnx_writer writer;
    struct rng rng = rng_stream(1, RNG_TEST, width);
    const int64_t shape[2] = {-1, width};
    const int64_t square[2] = {width, width};
    const size_t count = (size_t)width * width;
    float *weights = malloc(count * sizeof(*weights));
    char from[16] = "x";
    char to[16];
    char weight[16];
    ASSERT(weights != NULL);
    onnx_writer_start(&writer);
    onnx_writer_input(&writer, "x", ONNX_FLOAT, 2, shape);
    for (uint32_t i = 0; i < layers; i++) {
        for (size_t k = 0; k < count; k++) {
            weights[k] = ((float)rng_range(&rng, 0, 2000) - 1000) / (1000 * (float)width);
        }
        (void)snprintf(weight, sizeof(weight), "w%u", i);
        onnx_writer_floats(&writer, weight, 2, square, weights);
        (void)snprintf(to, sizeof(to), "h%u", i);
        onnx_writer_node(&writer, "MatMul", from, weight, to);
        (void)snprintf(from, sizeof(from), i + 1 == layers ? "y" : "r%u", i);
        onnx_writer_node(&writer, "Relu", to, NULL, from);
    }
    onnx_writer_output(&writer, "y", ONNX_FLOAT, 2, shape);
    onnx_writer_finish(&writer, path);
    free(weights);
}

void onnx_write_deadly(const char *path)
{
    struct onnx_writer writer;
    const int64_t shape[1] = {-1};
    onnx_writer_start(&writer);
    onnx_writer_input(&writer, "x", ONNX_INT64, 1, shape);
    onnx_writer_long(&writer, "least", INT64_MIN);
    onnx_writer_long(&writer, "minus", -1);
    onnx_writer_node(&writer, "Div", "least", "minus", "none");
    onnx_writer_node(&writer, "Add", "x", "none", "y");
    onnx_writer_output(&writer, "y", ONNX_INT64, 1, shape);
    onnx_writer_finish(&writer, path);
}

void onnx_write_zipmap(const char *path, const char *const *labels)
{
    struct onnx_writer writer;
    struct onnx_bytes node = {.data = NULL};
    struct onnx_bytes attribute = {.data = NULL};
    onnx_writer_start(&writer);
    onnx_writer_input(&writer, "x", ONNX_FLOAT, 2, (const int64_t[]){-1, 2});
    field_text(&attribute, ATTRIBUTE_NAME, labels ? "classlabels_strings" : "classlabels_int64s");
    for (uint32_t i = 0; i < 2; i++) {
        if (labels != NULL) {
            field_text(&attribute, ATTRIBUTE_STRINGS, labels[i]);
        } else {
            field_number(&attribute, ATTRIBUTE_INTS, 10 + i);
        }
    }
    field_number(&attribute, ATTRIBUTE_TYPE, labels != NULL ? 8 : 7);
    field_text(&node, NODE_INPUT, "x");
    field_text(&node, NODE_OUTPUT, "z");
    field_text(&node, NODE_OP, "ZipMap");
    field_message(&node, NODE_ATTRIBUTE, &attribute);
    field_text(&node, NODE_DOMAIN, "ai.onnx.ml");
    field_message(&writer.graph, GRAPH_NODE, &node);
    onnx_writer_maps(&writer, "z", labels != NULL ? ONNX_STRING : ONNX_INT64);
    onnx_writer_finish(&writer, path);
}

void onnx_write_same(const char *path, int type, uint32_t rank, const int64_t *shape)
{
    struct onnx_writer writer;
    onnx_writer_start(&writer);
    onnx_writer_input(&writer, "x", type, rank, shape);
    onnx_writer_node(&writer, "Identity", "x", NULL, "y");
    onnx_writer_output(&writer, "y", type, rank, shape);
    onnx_writer_finish(&writer, path);
}
