/*
 * arena.h - device memory for what models need while they run.
 *
 * libtorch asks for memory with cudaMalloc() and cudaFree(). This program exports both, and they
 * are found first: what libtorch gets comes from one block that is taken at the start. Each share
 * of the device is an owner with a budget of its own.
 *
 * What an owner got stays its own. libtorch gives cached memory back when it runs short, of every
 * stream, though graphs that were recorded there still use it; so memory that comes back is handed
 * out again only to the same owner, whose graphs run one after another. Safe from any thread.
 */
#ifndef CUDA_ARENA_H
#define CUDA_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CUDA_OWNERS_MAX = 128, CUDA_OWNER_COMMON = 0 };

/* What an owner has. */
struct cuda_arena_use {
    uint64_t held_bytes;   /* Taken from the block for it. */
    uint64_t used_bytes;   /* Of that, not given back. */
    uint64_t denied_bytes; /* The last request that was not met; 0: none since it was asked. */
};

/*
 * From now on this process's cudaMalloc() takes from the @bytes at @base. Each owner may have
 * @budget_bytes. Called once, before libtorch runs anything.
 */
void cuda_arena_start(uint64_t base, uint64_t bytes, uint64_t budget_bytes);

/* The block is gone: from now on there is no memory. */
void cuda_arena_stop(void);

/*
 * What cudaFree() of nothing does in the library: libtorch makes contexts with it. NULL: nothing.
 */
void cuda_arena_set_free(int (*library_free)(void *memory));

/* From now on what this thread asks for is @owner's. */
void cuda_arena_enter(uint32_t owner);

/* What @owner has; denied_bytes is 0 from then on. */
struct cuda_arena_use cuda_arena_use(uint32_t owner);

/* As in CUDA's runtime; they return CUDA_OUT_OF_MEMORY when the owner's budget is spent. */
__attribute__((visibility("default"))) int cudaMalloc(void **out, size_t bytes);
__attribute__((visibility("default"))) int cudaFree(void *memory);

#endif /* CUDA_ARENA_H */
