#include "cuda/arena.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "cuda/driver.h"

enum { GRAIN_BYTES = 2 << 20 };

/* A part of the block, handed out at least once. */
struct part {
    uint64_t at;
    uint64_t bytes;
    uint32_t owner;
    bool is_used;
};

static struct {
    pthread_mutex_t lock;
    uint64_t base; /* 0: there is no block. */
    uint64_t bytes;
    uint64_t top; /* Everything from here on was never handed out. */
    uint64_t budget_bytes;
    struct cuda_arena_use owners[CUDA_OWNERS_MAX];
    struct part *parts;
    uint32_t part_count;
    uint32_t part_room;
    int (*library_free)(void *memory);
} arena = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local uint32_t current;

void cuda_arena_start(uint64_t base, uint64_t bytes, uint64_t budget_bytes)
{
    (void)pthread_mutex_lock(&arena.lock);
    ASSERT(arena.base == 0);
    arena.base = base;
    arena.bytes = bytes;
    arena.budget_bytes = budget_bytes;
    (void)pthread_mutex_unlock(&arena.lock);
}

void cuda_arena_stop(void)
{
    (void)pthread_mutex_lock(&arena.lock);
    free(arena.parts);
    arena.parts = NULL;
    arena.part_count = 0;
    arena.part_room = 0;
    arena.base = 0;
    arena.bytes = 0;
    arena.top = 0;
    for (uint32_t i = 0; i < CUDA_OWNERS_MAX; i++) {
        arena.owners[i] = (struct cuda_arena_use){.held_bytes = 0};
    }
    (void)pthread_mutex_unlock(&arena.lock);
}

void cuda_arena_set_free(int (*library_free)(void *memory))
{
    arena.library_free = library_free;
}

void cuda_arena_enter(uint32_t owner)
{
    ASSERT(owner < CUDA_OWNERS_MAX);
    current = owner;
}

struct cuda_arena_use cuda_arena_use(uint32_t owner)
{
    ASSERT(owner < CUDA_OWNERS_MAX);
    (void)pthread_mutex_lock(&arena.lock);
    const struct cuda_arena_use use = arena.owners[owner];
    arena.owners[owner].denied_bytes = 0;
    (void)pthread_mutex_unlock(&arena.lock);
    return use;
}

/* The smallest part that @owner gave back and that has @bytes; NULL if there is none. */
static struct part *find_given(uint32_t owner, uint64_t bytes)
{
    struct part *best = NULL;
    for (uint32_t i = 0; i < arena.part_count; i++) {
        struct part *part = &arena.parts[i];
        if (part->owner == owner && !part->is_used && part->bytes >= bytes &&
            (best == NULL || part->bytes < best->bytes)) {
            best = part;
        }
    }
    return best;
}

/* A part of @bytes that was never handed out; NULL if @owner or the block has no more. */
static struct part *carve(uint32_t owner, uint64_t bytes)
{
    struct cuda_arena_use *use = &arena.owners[owner];
    if (arena.base == 0 || bytes > arena.bytes - arena.top ||
        bytes > arena.budget_bytes - use->held_bytes) {
        return NULL;
    }
    if (arena.part_count == arena.part_room) {
        const uint32_t room = arena.part_room == 0 ? 64 : 2 * arena.part_room;
        arena.parts = memory_zeroed_more(arena.parts, arena.part_room, room, sizeof(*arena.parts));
        arena.part_room = room;
    }
    struct part *part = &arena.parts[arena.part_count++];
    *part = (struct part){.at = arena.base + arena.top, .bytes = bytes, .owner = owner};
    arena.top += bytes;
    use->held_bytes += bytes;
    return part;
}

int cudaMalloc(void **out, size_t bytes)
{
    const uint32_t owner = current;
    *out = NULL;
    if (bytes > UINT64_MAX - GRAIN_BYTES) {
        return CUDA_OUT_OF_MEMORY;
    }
    const uint64_t rounded = (bytes + GRAIN_BYTES - 1) / GRAIN_BYTES * GRAIN_BYTES;
    (void)pthread_mutex_lock(&arena.lock);
    struct part *part = find_given(owner, rounded);
    if (part == NULL) {
        part = carve(owner, rounded);
    }
    if (part == NULL) {
        arena.owners[owner].denied_bytes = bytes;
    } else {
        part->is_used = true;
        arena.owners[owner].used_bytes += part->bytes;
        *out = (void *)(uintptr_t)part->at; /* NOLINT: an address on the device. */
    }
    (void)pthread_mutex_unlock(&arena.lock);
    return part == NULL ? CUDA_OUT_OF_MEMORY : CUDA_SUCCESS;
}

int cudaFree(void *memory)
{
    if (memory == NULL) {
        return arena.library_free == NULL ? CUDA_SUCCESS : arena.library_free(NULL);
    }
    struct part *part = NULL;
    (void)pthread_mutex_lock(&arena.lock);
    for (uint32_t i = 0; i < arena.part_count && part == NULL; i++) {
        struct part *other = &arena.parts[i];
        part = other->is_used && other->at == (uint64_t)(uintptr_t)memory ? other : NULL;
    }
    if (part != NULL) {
        part->is_used = false;
        arena.owners[part->owner].used_bytes -= part->bytes;
    }
    (void)pthread_mutex_unlock(&arena.lock);
    if (part == NULL) { /* Not from here: the library's own. */
        return arena.library_free == NULL ? CUDA_SUCCESS : arena.library_free(memory);
    }
    return CUDA_SUCCESS;
}
