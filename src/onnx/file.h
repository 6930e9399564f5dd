/*
 * file.h - what a file says of its model, without the library that runs it.
 *
 * Walks over the messages of the file and reads only names and types of inputs and outputs, so that
 * gigabytes of weights take as long as kilobytes. An empty file, a file of something else, one that
 * was cut short, and inputs and outputs that cannot be passed are found; what is wrong with the
 * nodes of the graph is not.
 */
#ifndef ONNX_FILE_H
#define ONNX_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/status.h>

enum onnx_kind {
    ONNX_KIND_TENSOR,
    ONNX_KIND_MAPS, /* A sequence of maps, from keys to single values. */
    ONNX_KIND_SEQUENCE,
    ONNX_KIND_OTHER,
};

/* An input or output. */
struct onnx_declared {
    char name[256]; /* Cut, if it is longer. */
    uint64_t name_bytes;
    bool is_input;
    enum onnx_kind kind;
    uint32_t type;     /* The number of its type. MAPS: of the values. */
    uint32_t key_type; /* MAPS: the number of the type of the keys. */
    bool has_rank;
    uint32_t rank;
};

typedef void (*onnx_declare)(void *context, const struct onnx_declared *declared);

/*
 * Call @declare for every input and output of the model at @path, but for weights that are listed
 * as inputs.
 *
 * Errors: WEFT_IO if it cannot be read; WEFT_INVALID, with "path: cause", if it is not a model.
 */
enum weft_status onnx_file_read(
    const char *path, onnx_declare declare, void *context, struct weft_error *error);

/*
 * The same, and whether all inputs and outputs can be passed.
 *
 * Errors: those of onnx_file_read() and, behind "path: ", those of onnx_declared_check().
 */
enum weft_status onnx_file_check(const char *path, struct weft_error *error);

/*
 * Whether an input or output can be passed.
 *
 * Errors: WEFT_LIMIT, WEFT_INVALID: "@what: input 'x' is ...", and what to do about it.
 */
enum weft_status onnx_declared_check(
    const char *what, const struct onnx_declared *declared, struct weft_error *error);

/* Whether a model may have so many. Errors: WEFT_LIMIT. */
enum weft_status onnx_declared_count(
    const char *what, uint64_t count, bool is_input, struct weft_error *error);

#endif /* ONNX_FILE_H */
