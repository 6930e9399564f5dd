/*
 * cuda_weights.h - the weights of a model on a GPU: an address that stays, memory that comes and
 * goes.
 *
 * The address is reserved once, and packages are bound to it. To load is to map a block of memory
 * there and to copy the file in; to evict is to unmap it. Bindings and graphs stay good all the
 * while, but must not run without the block, nor while it is copied: to change what may be done
 * with memory breaks the kernels that use it.
 *
 * What is filled can only be read: a kernel that runs wild breaks its own process, and no weights.
 *
 * The file is mapped and registered with the driver the first time that it is copied, read-only,
 * and stays so: copies then run at the speed of the bus.
 */
#ifndef ENGINE_CUDA_WEIGHTS_H
#define ENGINE_CUDA_WEIGHTS_H

#include "engine/cuda_driver.h"

enum { CUDA_CHUNK_BYTES = 16 << 20, CUDA_CHUNKS_IN_FLIGHT = 2 };

struct cuda_weights {
    const struct cuda_device *device;
    uint64_t address;
    uint64_t bytes;       /* Of the file. */
    uint64_t range_bytes; /* Of the range: whole grains. */
    uint64_t block;       /* What is mapped there; 0: nothing. */
    void *file;           /* The file, registered; NULL: not yet. */
    bool is_file_lent;    /* It is that of other weights. */
    bool is_writable;     /* What is mapped. */
};

/* The bytes of a block for @bytes of weights. */
uint64_t cuda_weights_round(const struct cuda_device *device, uint64_t bytes);

/*
 * Reserve an address for @bytes. On success cuda_weights_close() releases it.
 *
 * Errors: those of cuda_check(), as for the next three.
 */
enum weft_status cuda_weights_open(
    const struct cuda_device *device, uint64_t bytes, struct cuda_weights *weights_out,
    struct weft_error *error);
void cuda_weights_close(struct cuda_weights *weights);

/* Make a block of memory for @weights; with @handles CUDA_HANDLE_FILE it can be exported. */
enum weft_status cuda_weights_take(
    const struct cuda_device *device, uint64_t bytes, int handles, uint64_t *block_out,
    struct weft_error *error);

/* Map @block, which becomes the weights', behind their address; @is_filled: with what is in it. */
enum weft_status cuda_weights_map(
    struct cuda_weights *weights, uint64_t block, bool is_filled, struct weft_error *error);

/* Unmap the block and release it; nothing that runs may use it. None is allowed. */
void cuda_weights_unmap(struct cuda_weights *weights);

/* Copy the file that @from has registered, if it has: it has the same weights, and is closed with
 * these. */
void cuda_weights_borrow_file(struct cuda_weights *weights, const struct cuda_weights *from);

/*
 * Copy the file @path, of the weights' bytes, to the device, in pieces on @stream, until it is
 * there. @is_cancelled, which may be NULL, is asked between them.
 *
 * Errors: WEFT_IO if the file cannot be mapped, or has another size; WEFT_CANCELLED.
 */
enum weft_status cuda_weights_copy(
    struct cuda_weights *weights, const char *path, struct CUstream_st *stream,
    bool (*is_cancelled)(void *context), void *context, struct weft_error *error);

#endif /* ENGINE_CUDA_WEIGHTS_H */
