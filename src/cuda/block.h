/*
 * block.h - memory on a GPU for weights: blocks that are filled, used, and filled again.
 *
 * The driver clears memory that it hands out, and copies wait for that. So a block that is no
 * longer needed is kept for the next model of its size. A block is written at an address of its
 * own, where it is mapped while it waits for that: a load finds it ready. Models are bound to
 * other addresses, where it can only be read (weights.h).
 */
#ifndef CUDA_BLOCK_H
#define CUDA_BLOCK_H

#include "cuda/driver.h"

enum { CUDA_BLOCKS_MAX = 64 };

struct cuda_block {
    uint64_t handle;  /* 0: there is none. */
    uint64_t bytes;   /* Whole grains. */
    uint64_t address; /* Where it is written; reserved when it first is. 0: not yet. */
    bool is_open;     /* It can be written there now. */
    int file;         /* For other processes; -1: it was not exported. */
};

/* Blocks that wait for a model, the oldest first. Of one thread. */
struct cuda_blocks {
    const struct cuda_device *device;
    uint32_t count;
    struct cuda_block items[CUDA_BLOCKS_MAX];
};

/*
 * A block of @bytes, whole grains, that can be written: one that waits, or a new one. Of those that
 * wait, as much is released before a new one is made: all blocks together never have more than
 * those in use had at some time. It is the caller's: cuda_block_release(), or cuda_blocks_give().
 *
 * Errors: those of cuda_check().
 */
enum weft_status cuda_blocks_take(
    struct cuda_blocks *blocks, uint64_t bytes, struct cuda_block *block_out,
    struct weft_error *error);

/* @block, which is mapped nowhere else, waits for another model. */
void cuda_blocks_give(struct cuda_blocks *blocks, const struct cuda_block *block);

/* Release all that wait. */
void cuda_blocks_close(struct cuda_blocks *blocks);

/* @block cannot be written any more, until it was given and taken again. */
void cuda_block_shut(const struct cuda_device *device, struct cuda_block *block);

/* Give @block, which is mapped nowhere else, back to the driver. One that is not is allowed. */
void cuda_block_release(const struct cuda_device *device, struct cuda_block *block);

#endif /* CUDA_BLOCK_H */
