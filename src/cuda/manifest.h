/*
 * manifest.h - what a model for GPUs consists of, as the file `manifest` in its folder says.
 *
 *     weft-cuda 1
 *     weights weights.bin 46839296
 *     constant conv1.weight 0 18816 FP16 4 64 3 7 7 147 1 21 3
 *     input x FP16 3 224 224 3 view 3 3 224 224 1 672 3
 *     output y FP16 1 1000
 *     package 8 b8
 *
 * One line each: a constant of the model with its place in the file of weights, its bytes, type,
 * extents and strides; an input or output, by rows: type and extents without the first; a package
 * that runs so many rows, in a folder of its own. What comes after `view` is how the model itself
 * sees the row: extents and strides. `weft_export.py` writes such folders.
 */
#ifndef CUDA_MANIFEST_H
#define CUDA_MANIFEST_H

#include "engine/bundle.h"

enum {
    CUDA_PORTS_MAX = 16,
    CUDA_PACKAGES_MAX = 16,
    CUDA_CONSTANTS_MAX = 16384,
    CUDA_NAME_BYTES_MAX = 200,
    CUDA_ROWS_MAX = 4096, /* Of a package. */
};

struct cuda_constant {
    char name[CUDA_NAME_BYTES_MAX];
    uint64_t at;
    uint64_t bytes;
    int32_t type; /* As libtorch numbers them. */
    uint32_t rank;
    int64_t shape[WEFT_RANK_MAX];
    int64_t strides[WEFT_RANK_MAX];
};

/* An input or output: one row of it. */
struct cuda_port {
    char name[WEFT_TENSOR_NAME_BYTES_MAX];
    enum weft_dtype dtype;
    uint32_t rank;
    int64_t shape[WEFT_RANK_MAX];
    uint64_t row_bytes;
    int32_t type;
    uint32_t view_rank; /* As the model sees it. */
    int64_t view_shape[WEFT_RANK_MAX];
    int64_t view_strides[WEFT_RANK_MAX];
};

struct cuda_manifest {
    char *folder;
    int64_t since_ns; /* When files were compared, by the system's clock. 0: they are not. */
    enum weft_status (*compare)(const char *folder, struct weft_error *error); /* NULL: cannot. */
    char weights[CUDA_NAME_BYTES_MAX];                                         /* In the folder. */
    uint64_t weights_bytes;
    uint32_t constant_count;
    struct cuda_constant *constants;
    uint32_t input_count;
    struct cuda_port inputs[CUDA_PORTS_MAX];
    uint32_t output_count;
    struct cuda_port outputs[CUDA_PORTS_MAX];
    uint32_t package_count; /* By rows, fewest first. */
    struct {
        uint32_t rows;
        char folder[CUDA_NAME_BYTES_MAX]; /* In the folder. */
    } packages[CUDA_PACKAGES_MAX];
};

/*
 * Read the manifest in @folder. On success cuda_manifest_free() releases it.
 *
 * Errors: WEFT_IO if it cannot be read; WEFT_INVALID or WEFT_LIMIT, with the line.
 */
enum weft_status cuda_manifest_read(
    const char *folder, struct cuda_manifest *manifest_out, struct weft_error *error);
void cuda_manifest_free(struct cuda_manifest *manifest);

/*
 * Whether the file @path of @manifest is the one whose sum was compared. If it changed since, even
 * if only its rights or links did, all files are compared again.
 *
 * Errors: WEFT_IO if it cannot be asked; WEFT_REFUSED if it changed and nothing can compare it;
 * those of the comparison.
 */
enum weft_status cuda_manifest_check(
    struct cuda_manifest *manifest, const char *path, struct weft_error *error);

#endif /* CUDA_MANIFEST_H */
