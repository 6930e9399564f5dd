/*
 * weights.h - the weights of a model on a GPU: an address that stays, memory that comes and
 * goes.
 *
 * The address is reserved once, and packages are bound to it. To load is to copy the file into a
 * block of memory, and to map that here while the copies run; to evict is to unmap it. Bindings and
 * graphs stay good all the while, but must not run without the block, nor while it is copied.
 *
 * What is mapped here can only be read: a kernel that runs wild breaks its own process, and no
 * weights.
 *
 * The file is mapped and registered with the driver the first time that it is copied, read-only,
 * and stays so: copies then run at the speed of the bus.
 */
#ifndef CUDA_WEIGHTS_H
#define CUDA_WEIGHTS_H

#include "cuda/block.h"

/* Copies of so much at a time, and as many under way as are no more than two of the largest: so
 * many, if each has a grain. Beside runs it is one of the largest: these read their inputs over the
 * same bus, and have it to themselves in between. */
enum { CUDA_CHUNK_BYTES = 16 << 20, CUDA_CHUNKS_IN_FLIGHT = 16 };

#define CUDA_FLIGHT_BYTES (UINT64_C(2) * CUDA_CHUNK_BYTES)

/* What goes on beside a load. */
struct cuda_beside {
    bool (*is_cancelled)(void *context); /* Asked between pieces. */
    bool (*is_busy)(void *context);      /* The same: whether anything runs. */
    void (*on_last)(void *context);      /* All that is left is under way, or will be at once. */
    void *context;
};

struct cuda_weights {
    const struct cuda_device *device;
    uint64_t address;
    uint64_t bytes;       /* Of the file. */
    uint64_t range_bytes; /* Of the range: whole grains. */
    struct cuda_block block;
    bool is_mapped;    /* The block, at the address. */
    void *file;        /* The file, registered; NULL: not yet. */
    bool is_file_lent; /* It is that of other weights. */
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

/* Map @block, which has them already and becomes the weights'. */
enum weft_status cuda_weights_map(
    struct cuda_weights *weights, const struct cuda_block *block, struct weft_error *error);

/* Unmap the block, which is the caller's again: nothing that runs may use it. None is allowed. */
struct cuda_block cuda_weights_unmap(struct cuda_weights *weights);

/* Copy the file that @from has registered, if it has: it has the same weights, and is closed with
 * these. */
void cuda_weights_borrow_file(struct cuda_weights *weights, const struct cuda_weights *from);

/*
 * Copy the file @path, of the weights' bytes, into @block, in pieces on @stream, until it is there.
 * The block was taken for range_bytes, and becomes the weights' in any case; it can be written
 * until cuda_block_shut(). @beside may be NULL.
 *
 * Errors: WEFT_IO if the file cannot be mapped, or has another size; WEFT_CANCELLED.
 */
enum weft_status cuda_weights_fill(
    struct cuda_weights *weights, const struct cuda_block *block, const char *path,
    struct CUstream_st *stream, const struct cuda_beside *beside, struct weft_error *error);

#endif /* CUDA_WEIGHTS_H */
