/*
 * block.h - memory on a GPU for weights: blocks, put together from pieces that are used again.
 *
 * The driver clears memory that it hands out, and copies wait for that. So memory is taken ahead,
 * and what is no longer needed is kept. A block has the size of its model; if memory came and went
 * in blocks, one would wait for a model of just its size. So it comes in pieces of four sizes: 1,
 * 8, 64 and 512 grains, 2 MiB to 1 GiB. A block takes as few as possible, up to seven of each of
 * the lower sizes, and no more memory than whole grains. To map a piece takes 25 us and to unmap
 * it 16, whatever its size, which is why they are not all small; and most of that is done while
 * copies run.
 *
 * If there is no piece of a size, eight of the next lower one do. If there are none of those
 * either, a larger one is given back and taken again as eight: only these have to be cleared. As
 * nothing is ever joined, this ends once there are as many small ones as models ever need at a
 * time.
 *
 * A piece is written at an address of its own, where it stays mapped: a load finds it ready. Models
 * are bound to other addresses, where it can only be read (weights.h); and so can it be at its own,
 * from some time after its load until it waits again.
 */
#ifndef CUDA_BLOCK_H
#define CUDA_BLOCK_H

#include "cuda/driver.h"

enum { CUDA_PIECE_SIZES = 4, CUDA_PIECE_STEP = 8 };

struct cuda_piece {
    uint64_t handle;
    uint64_t address; /* Where it is written; reserved when it first is. 0: not yet. */
    int file;         /* For other processes; -1: it was not exported. */
    uint8_t size;     /* One of the four, the smallest is 0. */
    bool is_mapped;   /* At that address. */
    bool is_open;     /* It can be written there now. */
};

struct cuda_block {
    uint64_t bytes; /* Whole grains: those of all pieces. */
    uint32_t count; /* 0: there is none. */
    struct cuda_piece *pieces;
};

/* Pieces of one size. */
struct cuda_pieces {
    uint32_t there;  /* Those in blocks included. */
    uint32_t wanted; /* So many are taken ahead. */
    uint32_t count;  /* That wait for a model. */
    uint32_t room;
    struct cuda_piece *items;
};

/* Of one thread. All zero but for the device: nothing is taken ahead. */
struct cuda_blocks {
    const struct cuda_device *device;
    struct cuda_pieces sizes[CUDA_PIECE_SIZES];
};

/* The bytes of a piece. */
uint64_t cuda_piece_bytes(const struct cuda_device *device, uint32_t size);

/*
 * Take memory ahead: as much as blocks for @sizes, @count sizes of models, take together, @copies
 * times; or of each size of pieces as large a part of that as @bytes are of the whole.
 */
void cuda_blocks_want(
    struct cuda_blocks *blocks, const uint64_t *sizes, uint32_t count, uint32_t copies,
    uint64_t bytes);

/* Take one more piece ahead. False if all that are wanted are there, or the driver has no more. */
bool cuda_blocks_fill(struct cuda_blocks *blocks);

/*
 * A block of @bytes, whole grains, that can be written: of pieces that wait, or of new ones. Of
 * those that wait, as much is released before a new one is made: all together never have more than
 * is wanted ahead, or than blocks had at some time. It is the caller's: cuda_blocks_give(), or
 * cuda_blocks_drop().
 *
 * Errors: those of cuda_check().
 */
enum weft_status cuda_blocks_take(
    struct cuda_blocks *blocks, uint64_t bytes, struct cuda_block *block_out,
    struct weft_error *error);

/* The pieces of @block, which are mapped nowhere else, wait for other models. */
void cuda_blocks_give(struct cuda_blocks *blocks, struct cuda_block *block);

/* The pieces of @block, which came from another process, count from now on. */
void cuda_blocks_adopt(struct cuda_blocks *blocks, const struct cuda_block *block);

/* Give the pieces of @block, which are mapped nowhere else, back to the driver. */
void cuda_blocks_drop(struct cuda_blocks *blocks, struct cuda_block *block);

/* Release all that wait, and forget what is wanted: there are no blocks any more. */
void cuda_blocks_close(struct cuda_blocks *blocks);

/* @block cannot be written any more, until it was given and taken again. */
void cuda_block_shut(const struct cuda_device *device, struct cuda_block *block);

/* Import the pieces of @block, which have descriptors alone. Returns a result of the driver. */
int cuda_block_import(const struct cuda_device *device, struct cuda_block *block);

/* As cuda_blocks_drop(), of what is no longer counted. One that is not is allowed. */
void cuda_block_release(const struct cuda_device *device, struct cuda_block *block);

#endif /* CUDA_BLOCK_H */
