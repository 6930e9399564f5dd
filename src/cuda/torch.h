/*
 * torch.h - models that AOTInductor has compiled: libtorch's C interface, opened at run time.
 *
 * A package is a folder with one shared object and the kernels that it loads. It knows its
 * constants by name; their data is ours, bound once, at addresses that stay. The declarations are
 * our own: nothing of PyTorch is needed to build. Packages must be compiled for the version of
 * libtorch that runs them.
 */
#ifndef CUDA_TORCH_H
#define CUDA_TORCH_H

#include "cuda/manifest.h"

struct AtenTensorOpaque;
struct CUstream_st;

struct cuda_torch {
    void *library;
    int32_t (*from_blob)(
        void *data, int64_t rank, const int64_t *shape, const int64_t *strides, int64_t offset,
        int32_t type, int32_t device_type, int32_t device, struct AtenTensorOpaque **out);
    int32_t (*data_of)(struct AtenTensorOpaque *tensor, void **out);
    int32_t (*size_of)(struct AtenTensorOpaque *tensor, int64_t *elements_out);
    int32_t (*drop)(struct AtenTensorOpaque *tensor);
};

/*
 * Open libtorch: the folder @path, or where the loader finds it if it is NULL. Touches no device,
 * so that the process can still be forked. It stays open as long as the process.
 *
 * Errors: WEFT_NOT_FOUND if there is none, or a function is missing.
 */
enum weft_status cuda_torch_open(
    const char *path, struct cuda_torch *torch_out, struct weft_error *error);

struct cuda_package;

/*
 * Open package number @index of @manifest, and bind its constants to the weights at @weights, which
 * need not be there yet. Both stay as long as the package. The caller owns *package_out.
 *
 * Errors: WEFT_NOT_FOUND if there is no such package, or it has a constant that the manifest does
 * not list; WEFT_FAILED if it cannot be made.
 */
enum weft_status cuda_package_open(
    const struct cuda_torch *torch, struct cuda_manifest *manifest, uint32_t index,
    uint64_t weights, struct cuda_package **package_out, struct weft_error *error);

/* The rows of a run. */
uint32_t cuda_package_rows(const struct cuda_package *package);

/* NULL is allowed. */
void cuda_package_close(struct cuda_package *package);

/*
 * Put a run on @stream, or record it if @stream records: rows at @inputs, on the device, as the
 * manifest lists them. In *outputs_out are addresses that are good until the next run on the
 * stream; the caller gives @tensors_out back with cuda_package_drop().
 *
 * Errors: WEFT_FAILED if it cannot, or makes outputs of other sizes.
 */
enum weft_status cuda_package_run(
    struct cuda_package *package, const uint64_t *inputs, struct CUstream_st *stream,
    uint64_t *outputs_out, struct AtenTensorOpaque **tensors_out, struct weft_error *error);
void cuda_package_drop(const struct cuda_package *package, struct AtenTensorOpaque **tensors);

#endif /* CUDA_TORCH_H */
