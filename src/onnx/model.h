/*
 * model.h - an ONNX model in memory: what it takes, what it gives, what it occupies.
 *
 * Loading and unloading belong to one thread at a time; a loaded model may be run from any
 * number of threads: run.h.
 */
#ifndef ONNX_MODEL_H
#define ONNX_MODEL_H

#include <stdatomic.h>
#include <stdbool.h>

#include <weft/tensor.h>

#include "base/limits.h"
#include "onnx/cache.h"
#include "onnx/image.h"
#include "onnx/rows.h"

enum { ONNX_SYMBOL_BYTES = 64, ONNX_ALONE_BYTES = 160 };

/*
 * What a port is of an output of the library. A sequence of maps is two: its values, a row for each
 * map, and under a name with this behind it the keys, a row for each map as well.
 */
enum onnx_port_part { PART_WHOLE, PART_VALUES, PART_KEYS };
#define ONNX_KEYS "_keys"

/* An input or output. */
struct onnx_port {
    char name[WEFT_TENSOR_NAME_BYTES_MAX];
    enum weft_dtype dtype;
    uint32_t rank;
    int64_t shape[WEFT_RANK_MAX];   /* -1: any extent. */
    bool is_any_rank;               /* The model does not say; rank and shape are [-1]. */
    char symbol[ONNX_SYMBOL_BYTES]; /* What the model calls the first extent; "" if nothing. */
    uint32_t source;                /* Which of the library's it is, or a part of. */
    enum onnx_port_part part;
};

struct onnx_ports {
    uint32_t count;
    struct onnx_port *items;
    uint32_t source_count;
    const char **names; /* Of those of the library. */
};

struct onnx_options {
    const char *path;
    const char *name;   /* For messages. */
    const char *folder; /* Where models are kept in the mapped format. NULL: do not. */
    bool is_unpacked;   /* Leave weights as they are: the first load is faster, runs are slower. */
    uint32_t rows_max;  /* Of one run. 0: no limit. */
    bool has_turns;     /* Find out how many rows to run at a time. If not: all. */

    struct onnx_shown *rows;    /* What earlier loads have shown of it. NULL: nothing is kept. */
    struct onnx_digest *digest; /* Of the file, as the last load left it. NULL: not kept. */
};

struct onnx_model {
    const struct ort *ort;
    struct OrtSession *session;
    void *mapped; /* NULL if the weights are in memory of the library's own. */
    size_t mapped_bytes;
    struct onnx_image image; /* Of weights that were packed; empty if nothing is mapped. */
    uint64_t counted_bytes;  /* What loading took from ort_memory and kept. */
    uint64_t heap_bytes;     /* What it took elsewhere: about, as others take and give too. */
    struct onnx_ports inputs;
    struct onnx_ports outputs;

    /*
     * Whether the first extent of every port is a number of rows that do not depend on one
     * another, so that tasks may share a run. What outputs show may prove it wrong.
     */
    atomic_bool has_rows;
    bool is_sure;                 /* The file says so: it has one name for these extents. */
    char alone[ONNX_ALONE_BYTES]; /* Why not, as far as the file says; "" if there are rows. */
    struct onnx_shown *rows;      /* Of this load, or of all loads. */
    struct onnx_shown own_rows;
    uint32_t rows_max;         /* Of one run; 0: no limit. */
    bool has_turns;            /* As in the options. */
    char *turns_path;          /* Where those are kept; owned. NULL: nowhere. */
    struct onnx_digest digest; /* Of the file; all zero if it was not read. */
    uint64_t slept;            /* For those who let it sleep: when. */
    char name[NAME_BYTES_MAX];
};

/*
 * Load a model. On success the caller owns *model_out.
 *
 * Errors: WEFT_IO if it cannot be read; WEFT_FAILED if the library refuses it;
 * those of onnx_declared_check() and onnx_declared_count().
 */
enum weft_status onnx_model_load(
    const struct ort *ort, const struct onnx_options *options, struct onnx_model **model_out,
    struct weft_error *error);

/* ports.c: fill in what @model, of the file at @path, takes and gives. Errors: the same. */
enum weft_status onnx_ports_read(
    struct onnx_model *model, const char *path, struct weft_error *error);

/* Why tasks never share a run of @model, after what runs have shown: NULL if they may. */
const char *onnx_model_alone(const struct onnx_model *model);

/* Release @model, which is not running. NULL is allowed. */
void onnx_model_unload(struct onnx_model *model);

/*
 * Let the weights of @model, which is not running, leave memory, and the rest of it stay: it cannot
 * run until it is woken. False, and nothing has happened, if its weights are not all in files.
 */
bool onnx_model_sleep(struct onnx_model *model);

/* Bring the weights back. */
void onnx_model_wake(struct onnx_model *model);

/* What a sleeping model occupies. */
uint64_t onnx_model_bytes_asleep(const struct onnx_model *model);

/* What it occupies: counted memory, memory of the library's own, and mapped files. */
uint64_t onnx_model_bytes(const struct onnx_model *model);

/* The part of them that is exact whatever else runs: it cannot be less. */
uint64_t onnx_model_bytes_least(const struct onnx_model *model);

/* Of these: pages of files, which processes that have it too share. */
uint64_t onnx_model_bytes_shared(const struct onnx_model *model);

/* The library's number of @dtype, 0 if it has none; and back, WEFT_DTYPES if Weft has none. */
uint32_t onnx_type_of(enum weft_dtype dtype);
enum weft_dtype onnx_dtype_of(uint32_t type);

#endif /* ONNX_MODEL_H */
