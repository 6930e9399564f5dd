#include "cuda/block.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"

enum { ROOM_FIRST = 16 };

/* ── Pieces ─────────────────────────────────────────────────────────────────────────────── */

uint64_t cuda_piece_bytes(const struct cuda_device *device, uint32_t size)
{
    uint64_t bytes = device->grain_bytes;
    for (uint32_t i = 0; i < size; i++) {
        bytes *= CUDA_PIECE_STEP;
    }
    return bytes;
}

/* What may be done with @piece at its address: @flags. */
static int allow(const struct cuda_device *device, const struct cuda_piece *piece, int flags)
{
    const struct cuda_access access = {
        .where = {.type = CUDA_ON_DEVICE, .number = device->number}, .flags = flags};
    return device->driver->block_access(
        piece->address, cuda_piece_bytes(device, piece->size), &access, 1);
}

/* Let @piece be written, at an address of its own. */
static int open_piece(const struct cuda_device *device, struct cuda_piece *piece)
{
    const struct cuda_driver *driver = device->driver;
    const uint64_t bytes = cuda_piece_bytes(device, piece->size);
    int result = CUDA_SUCCESS;
    if (piece->address == 0) {
        result = driver->range_reserve(
            &piece->address, bytes, /* alignment */ 0, /* wanted */ 0, /* flags */ 0);
    }
    if (result == CUDA_SUCCESS && !piece->is_mapped) {
        result =
            driver->block_map(piece->address, bytes, /* offset */ 0, piece->handle, /* flags */ 0);
        piece->is_mapped = result == CUDA_SUCCESS;
    }
    if (result == CUDA_SUCCESS) {
        result = allow(device, piece, CUDA_READ_WRITE);
        piece->is_open = result == CUDA_SUCCESS;
    }
    return result;
}

static void release_piece(const struct cuda_device *device, struct cuda_piece *piece)
{
    if (piece->is_mapped) {
        (void)device->driver->block_unmap(piece->address, cuda_piece_bytes(device, piece->size));
    }
    if (piece->address != 0) {
        (void)device->driver->range_free(piece->address, cuda_piece_bytes(device, piece->size));
    }
    if (piece->handle != 0) {
        (void)device->driver->block_release(piece->handle);
    }
    if (piece->file >= 0) {
        (void)close(piece->file);
    }
}

static int make_piece(const struct cuda_device *device, uint32_t size, struct cuda_piece *piece_out)
{
    const struct cuda_memory_kind kind = {
        .type = CUDA_MEMORY_PINNED,
        .handles = CUDA_HANDLE_FILE,
        .where = {.type = CUDA_ON_DEVICE, .number = device->number},
    };
    *piece_out = (struct cuda_piece){.size = (uint8_t)size, .file = -1};
    int result = device->driver->block_create(
        &piece_out->handle, cuda_piece_bytes(device, size), &kind, /* flags */ 0);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    result = open_piece(device, piece_out);
    if (result != CUDA_SUCCESS) {
        release_piece(device, piece_out);
    }
    return result;
}

void cuda_block_shut(const struct cuda_device *device, struct cuda_block *block)
{
    for (uint32_t i = 0; i < block->count; i++) {
        struct cuda_piece *piece = &block->pieces[i];
        piece->is_open = piece->is_open && allow(device, piece, CUDA_READ) != CUDA_SUCCESS;
    }
}

int cuda_block_import(const struct cuda_device *device, struct cuda_block *block)
{
    int result = CUDA_SUCCESS;
    for (uint32_t i = 0; i < block->count && result == CUDA_SUCCESS; i++) {
        struct cuda_piece *piece = &block->pieces[i];
        void *file = (void *)(intptr_t)piece->file; /* NOLINT: as the driver wants it. */
        result = device->driver->block_import(&piece->handle, file, CUDA_HANDLE_FILE);
    }
    return result;
}

void cuda_block_release(const struct cuda_device *device, struct cuda_block *block)
{
    for (uint32_t i = 0; i < block->count; i++) {
        release_piece(device, &block->pieces[i]);
    }
    free(block->pieces);
    *block = (struct cuda_block){.count = 0};
}

/* ── Those that wait ────────────────────────────────────────────────────────────────────── */

/* @piece, which is open, waits. */
static void put(struct cuda_blocks *blocks, const struct cuda_piece *piece)
{
    struct cuda_pieces *pieces = &blocks->sizes[piece->size];
    if (pieces->count == pieces->room) {
        pieces->room = pieces->room == 0 ? ROOM_FIRST : 2 * pieces->room;
        pieces->items =
            memory_zeroed_more(pieces->items, pieces->count, pieces->room, sizeof(*pieces->items));
    }
    pieces->items[pieces->count++] = *piece;
}

/* Make one more that waits. */
static int add(struct cuda_blocks *blocks, uint32_t size)
{
    struct cuda_piece piece;
    const int result = make_piece(blocks->device, size, &piece);
    if (result == CUDA_SUCCESS) {
        blocks->sizes[size].there++;
        put(blocks, &piece);
    }
    return result;
}

/* Release one that waits. */
static void remove_one(struct cuda_blocks *blocks, uint32_t size)
{
    struct cuda_pieces *pieces = &blocks->sizes[size];
    release_piece(blocks->device, &pieces->items[--pieces->count]);
    pieces->there--;
}

/* Release all that wait. Whether there were any. */
static bool release_all(struct cuda_blocks *blocks)
{
    bool has_any = false;
    for (uint32_t i = 0; i < CUDA_PIECE_SIZES; i++) {
        while (blocks->sizes[i].count > 0) {
            remove_one(blocks, i);
            has_any = true;
        }
    }
    return has_any;
}

void cuda_blocks_close(struct cuda_blocks *blocks)
{
    (void)release_all(blocks);
    for (uint32_t i = 0; i < CUDA_PIECE_SIZES; i++) {
        free(blocks->sizes[i].items);
        blocks->sizes[i] = (struct cuda_pieces){.count = 0};
    }
}

void cuda_blocks_adopt(struct cuda_blocks *blocks, const struct cuda_block *block)
{
    for (uint32_t i = 0; i < block->count; i++) {
        blocks->sizes[block->pieces[i].size].there++;
    }
}

void cuda_blocks_drop(struct cuda_blocks *blocks, struct cuda_block *block)
{
    for (uint32_t i = 0; i < block->count; i++) {
        blocks->sizes[block->pieces[i].size].there--;
    }
    cuda_block_release(blocks->device, block);
}

void cuda_blocks_give(struct cuda_blocks *blocks, struct cuda_block *block)
{
    for (uint32_t i = 0; i < block->count; i++) {
        struct cuda_piece *piece = &block->pieces[i];
        if (piece->is_open || open_piece(blocks->device, piece) == CUDA_SUCCESS) {
            put(blocks, piece);
        } else {
            release_piece(blocks->device, piece);
            blocks->sizes[piece->size].there--;
        }
    }
    free(block->pieces);
    *block = (struct cuda_block){.count = 0};
}

/* ── What a block is made of ────────────────────────────────────────────────────────────── */

/* How many pieces of each size @bytes take. */
static void split(const struct cuda_device *device, uint64_t bytes, uint64_t *counts_out)
{
    for (uint32_t i = CUDA_PIECE_SIZES; i-- > 0;) {
        const uint64_t each = cuda_piece_bytes(device, i);
        counts_out[i] = bytes / each;
        bytes %= each;
    }
    ASSERT(bytes == 0);
}

void cuda_blocks_want(
    struct cuda_blocks *blocks, const uint64_t *sizes, uint32_t count, uint32_t copies,
    uint64_t bytes)
{
    const uint64_t grain = blocks->device->grain_bytes;
    uint64_t wanted[CUDA_PIECE_SIZES] = {0};
    uint64_t all = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t counts[CUDA_PIECE_SIZES];
        const uint64_t rounded = (sizes[i] + grain - 1) / grain * grain;
        split(blocks->device, rounded, counts);
        all += rounded * copies;
        for (uint32_t k = 0; k < CUDA_PIECE_SIZES; k++) {
            wanted[k] += counts[k] * copies;
        }
    }
    const double part = all > bytes ? (double)bytes / (double)all : 1;
    for (uint32_t k = 0; k < CUDA_PIECE_SIZES; k++) {
        blocks->sizes[k].wanted = (uint32_t)((double)wanted[k] * part);
    }
}

bool cuda_blocks_fill(struct cuda_blocks *blocks)
{
    for (uint32_t i = CUDA_PIECE_SIZES; i-- > 0;) {
        struct cuda_pieces *pieces = &blocks->sizes[i];
        if (pieces->there >= pieces->wanted) {
            continue;
        }
        if (add(blocks, i) == CUDA_SUCCESS) {
            return true;
        }
        pieces->wanted = pieces->there; /* Others have it: what models need is asked for then. */
    }
    return false;
}

/* Let pieces of @size wait, by giving a larger one back that waits. Whether there was one. */
static bool break_larger(struct cuda_blocks *blocks, uint32_t size, int *result_out)
{
    const uint8_t larger = (uint8_t)(size + 1);
    if (larger == CUDA_PIECE_SIZES ||
        (blocks->sizes[larger].count == 0 && !break_larger(blocks, larger, result_out))) {
        return false;
    }
    if (*result_out == CUDA_SUCCESS) {
        remove_one(blocks, larger);
    }
    for (uint32_t i = 0; i < CUDA_PIECE_STEP && *result_out == CUDA_SUCCESS; i++) {
        *result_out = add(blocks, size);
    }
    return true;
}

/* Release as much as a piece of @size of smaller ones that wait, or all there are. */
static void release_smaller(struct cuda_blocks *blocks, uint32_t size)
{
    const uint64_t bytes = cuda_piece_bytes(blocks->device, size);
    uint64_t released = 0;
    for (uint32_t i = size; i-- > 0;) {
        while (blocks->sizes[i].count > 0 && released < bytes) {
            remove_one(blocks, i);
            released += cuda_piece_bytes(blocks->device, i);
        }
    }
}

/* See to it that a piece of @size waits. */
static int supply(struct cuda_blocks *blocks, uint32_t size)
{
    int result = CUDA_SUCCESS;
    if (blocks->sizes[size].count > 0) {
        return CUDA_SUCCESS;
    }
    if (!break_larger(blocks, size, &result)) {
        release_smaller(blocks, size);
        result = add(blocks, size);
    }
    if (result == CUDA_OUT_OF_MEMORY && blocks->sizes[size].count == 0 && release_all(blocks)) {
        result = add(blocks, size);
    }
    return blocks->sizes[size].count > 0 ? CUDA_SUCCESS : result;
}

/* Of what @counts says, eight smaller ones instead of one that does not wait, where so many do. */
static void exchange(const struct cuda_blocks *blocks, uint64_t *counts)
{
    for (uint32_t i = CUDA_PIECE_SIZES - 1; i > 0; i--) {
        while (counts[i] > blocks->sizes[i].count &&
               counts[i - 1] + CUDA_PIECE_STEP <= blocks->sizes[i - 1].count) {
            counts[i]--;
            counts[i - 1] += CUDA_PIECE_STEP;
        }
    }
}

enum weft_status cuda_blocks_take(
    struct cuda_blocks *blocks, uint64_t bytes, struct cuda_block *block_out,
    struct weft_error *error)
{
    uint64_t counts[CUDA_PIECE_SIZES];
    uint64_t all = 0;
    int result = CUDA_SUCCESS;
    split(blocks->device, bytes, counts);
    exchange(blocks, counts);
    for (uint32_t i = 0; i < CUDA_PIECE_SIZES; i++) {
        all += counts[i];
    }
    *block_out = (struct cuda_block){
        .bytes = bytes, .pieces = memory_zeroed(all, sizeof(*block_out->pieces))};
    for (uint32_t i = CUDA_PIECE_SIZES; i-- > 0 && result == CUDA_SUCCESS;) {
        struct cuda_pieces *pieces = &blocks->sizes[i];
        for (uint64_t k = 0; k < counts[i] && result == CUDA_SUCCESS; k++) {
            result = supply(blocks, i);
            if (result == CUDA_SUCCESS) {
                block_out->pieces[block_out->count++] = pieces->items[--pieces->count];
            }
        }
    }
    if (result != CUDA_SUCCESS) {
        cuda_blocks_give(blocks, block_out);
    }
    return cuda_check(blocks->device->driver, result, "memory for weights", error);
}
