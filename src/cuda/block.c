#include "cuda/block.h"

#include <string.h>
#include <unistd.h>

#include "base/assert.h"

/* Let @block be written, at an address of its own. */
static int open_block(const struct cuda_device *device, struct cuda_block *block)
{
    const struct cuda_driver *driver = device->driver;
    const struct cuda_access access = {
        .where = {.type = CUDA_ON_DEVICE, .number = device->number}, .flags = CUDA_READ_WRITE};
    int result = CUDA_SUCCESS;
    if (block->address == 0) {
        result = driver->range_reserve(
            &block->address, block->bytes, /* alignment */ 0, /* wanted */ 0, /* flags */ 0);
    }
    if (result == CUDA_SUCCESS) {
        result = driver->block_map(
            block->address, block->bytes, /* offset */ 0, block->handle, /* flags */ 0);
        block->is_open = result == CUDA_SUCCESS;
    }
    if (result == CUDA_SUCCESS) {
        result = driver->block_access(block->address, block->bytes, &access, 1);
    }
    return result;
}

void cuda_block_shut(const struct cuda_device *device, struct cuda_block *block)
{
    if (block->is_open) {
        (void)device->driver->block_unmap(block->address, block->bytes);
        block->is_open = false;
    }
}

void cuda_block_release(const struct cuda_device *device, struct cuda_block *block)
{
    if (block->handle == 0) {
        return;
    }
    cuda_block_shut(device, block);
    if (block->address != 0) {
        (void)device->driver->range_free(block->address, block->bytes);
    }
    (void)device->driver->block_release(block->handle);
    if (block->file >= 0) {
        (void)close(block->file);
    }
    *block = (struct cuda_block){.file = -1};
}

static struct cuda_block remove_at(struct cuda_blocks *blocks, uint32_t at)
{
    const struct cuda_block block = blocks->items[at];
    blocks->count--;
    memmove(&blocks->items[at], &blocks->items[at + 1], (blocks->count - at) * sizeof(block));
    return block;
}

static uint64_t release_oldest(struct cuda_blocks *blocks)
{
    struct cuda_block block = remove_at(blocks, 0);
    const uint64_t bytes = block.bytes;
    cuda_block_release(blocks->device, &block);
    return bytes;
}

static int make(const struct cuda_device *device, uint64_t bytes, struct cuda_block *block_out)
{
    const struct cuda_memory_kind kind = {
        .type = CUDA_MEMORY_PINNED,
        .handles = CUDA_HANDLE_FILE,
        .where = {.type = CUDA_ON_DEVICE, .number = device->number},
    };
    *block_out = (struct cuda_block){.bytes = bytes, .file = -1};
    int result = device->driver->block_create(&block_out->handle, bytes, &kind, /* flags */ 0);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    result = open_block(device, block_out);
    if (result != CUDA_SUCCESS) {
        cuda_block_release(device, block_out);
    }
    return result;
}

enum weft_status cuda_blocks_take(
    struct cuda_blocks *blocks, uint64_t bytes, struct cuda_block *block_out,
    struct weft_error *error)
{
    uint64_t released = 0;
    for (uint32_t i = 0; i < blocks->count; i++) {
        if (blocks->items[i].bytes == bytes) {
            *block_out = remove_at(blocks, i);
            return WEFT_OK;
        }
    }
    while (blocks->count > 0 && released < bytes) {
        released += release_oldest(blocks);
    }
    int result = make(blocks->device, bytes, block_out);
    if (result == CUDA_OUT_OF_MEMORY && blocks->count > 0) {
        cuda_blocks_close(blocks);
        result = make(blocks->device, bytes, block_out);
    }
    return cuda_check(blocks->device->driver, result, "memory for weights", error);
}

void cuda_blocks_give(struct cuda_blocks *blocks, const struct cuda_block *block)
{
    struct cuda_block given = *block;
    if (!given.is_open && open_block(blocks->device, &given) != CUDA_SUCCESS) {
        cuda_block_release(blocks->device, &given);
        return;
    }
    if (blocks->count == CUDA_BLOCKS_MAX) {
        (void)release_oldest(blocks);
    }
    ASSERT(blocks->count < CUDA_BLOCKS_MAX);
    blocks->items[blocks->count++] = given;
}

void cuda_blocks_close(struct cuda_blocks *blocks)
{
    while (blocks->count > 0) {
        (void)release_oldest(blocks);
    }
}
