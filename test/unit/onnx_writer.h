/*
 * onnx_writer.h - ONNX models for tests, written from scratch: no library and no files needed.
 *
 *     struct onnx_writer writer;
 *     onnx_writer_start(&writer);
 *     onnx_writer_input(&writer, "x", ONNX_FLOAT, 2, (const int64_t[]){-1, 4});
 *     onnx_writer_node(&writer, "Relu", "x", NULL, "y");
 *     onnx_writer_output(&writer, "y", ONNX_FLOAT, 2, (const int64_t[]){-1, 4});
 *     onnx_writer_finish(&writer, "relu.onnx");
 */
#ifndef UNIT_ONNX_WRITER_H
#define UNIT_ONNX_WRITER_H

#include <stddef.h>
#include <stdint.h>

enum { ONNX_FLOAT = 1, ONNX_INT64 = 7, ONNX_STRING = 8, ONNX_BFLOAT16 = 16 };

/* Bytes of a message under way. */
struct onnx_bytes {
    uint8_t *data;
    size_t count;
    size_t capacity;
};

struct onnx_writer {
    struct onnx_bytes graph;
};

void onnx_writer_start(struct onnx_writer *writer);

/* An extent of -1 is open, under the name N; -2 under the name M. A shape of NULL: none is said. */
void onnx_writer_input(
    struct onnx_writer *writer, const char *name, int type, uint32_t rank, const int64_t *shape);
void onnx_writer_output(
    struct onnx_writer *writer, const char *name, int type, uint32_t rank, const int64_t *shape);

/* @second may be NULL. */
void onnx_writer_node(
    struct onnx_writer *writer, const char *op, const char *first, const char *second,
    const char *output);

/* A weight. */
void onnx_writer_floats(
    struct onnx_writer *writer, const char *name, uint32_t rank, const int64_t *shape,
    const float *values);

/* A weight of one whole number. */
void onnx_writer_long(struct onnx_writer *writer, const char *name, int64_t value);

/* A weight that lies in @file, beside the model. */
void onnx_writer_external(
    struct onnx_writer *writer, const char *name, uint32_t rank, const int64_t *shape,
    const char *file);

/* An output that is a sequence of maps of @key to floats. */
void onnx_writer_maps(struct onnx_writer *writer, const char *name, int key);

/* An output that is a sequence of tensors of floats. */
void onnx_writer_sequence(struct onnx_writer *writer, const char *name);

/* z: a map for each row of x, floats, from @labels, of which there are two, to the two of the row.
 * Texts, or whole numbers without. */
void onnx_write_zipmap(const char *path, const char *const *labels);

/* y = x, both of @type and @rank; @shape as above. */
void onnx_write_same(const char *path, int type, uint32_t rank, const int64_t *shape);

/* Write the file @path, and release @writer. */
void onnx_writer_finish(struct onnx_writer *writer, const char *path);

/* Ends the process that loads it: it divides what has no quotient, before it is ever run. */
void onnx_write_deadly(const char *path);

/* y = relu(x), of @rows rows (-1: any) and 4 columns. */
void onnx_write_relu(const char *path, int64_t rows);

/* z = x + y, of any number of rows and 3 columns. */
void onnx_write_add(const char *path);

/* @layers of relu(x * w), @width wide, with random weights: 4 * layers * width^2 bytes. */
void onnx_write_mlp(const char *path, uint32_t width, uint32_t layers);

#endif /* UNIT_ONNX_WRITER_H */
