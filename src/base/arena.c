#include "base/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/attributes.h"
#include "base/memory.h"
#include "base/numbers.h"

enum {
    ALIGNMENT = 16,
    CHUNK_BYTES_MIN = 4 << 10, /* A fleet of 16 Ki nodes in one process starts small. */
    CHUNK_BYTES_MAX = 1 << 20, /* Larger chunks save no calls worth counting. */
};

struct arena_chunk {
    struct arena_chunk *older;
    alignas(ALIGNMENT) uint8_t memory[];
};

_Static_assert(
    sizeof(struct arena_chunk) == offsetof(struct arena_chunk, memory), "no gap before the memory");

void arena_init(struct arena *arena)
{
    *arena = (struct arena){0};
}

/* As much as the arena already holds, within bounds, and never less than asked for. */
static size_t chunk_bytes(const struct arena *arena, size_t bytes)
{
    size_t size = arena->held_bytes;
    if (size < CHUNK_BYTES_MIN) {
        size = CHUNK_BYTES_MIN;
    }
    if (size > CHUNK_BYTES_MAX) {
        size = CHUNK_BYTES_MAX;
    }
    const size_t needed = sizeof(struct arena_chunk) + bytes;
    return max_size(size, needed);
}

static void add_chunk(struct arena *arena, size_t bytes)
{
    const size_t size = chunk_bytes(arena, bytes);
    struct arena_chunk *chunk = memory_zeroed(1, size);

    chunk->older = arena->chunks;
    arena->chunks = chunk;
    arena->next = chunk->memory;
    arena->left_bytes = size - sizeof(*chunk);
    arena->held_bytes += size;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
    ASSERT(!arena->sealed);
    ASSERT(bytes < SIZE_MAX / 2); /* A negative size, or arithmetic gone wrong. */

    const size_t rounded = bytes == 0 ? ALIGNMENT : (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (rounded > arena->left_bytes) {
        add_chunk(arena, rounded);
    }
    void *memory = arena->next;
    arena->next += rounded;
    arena->left_bytes -= rounded;
    return memory;
}

void *arena_alloc_lines(struct arena *arena, size_t bytes)
{
    uint8_t *memory = arena_alloc(arena, bytes + CACHE_LINE_BYTES - ALIGNMENT);
    const size_t past = (uintptr_t)memory % CACHE_LINE_BYTES;
    return past == 0 ? memory : memory + CACHE_LINE_BYTES - past;
}

char *arena_text(struct arena *arena, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    return memcpy(arena_alloc(arena, bytes), text, bytes);
}

void arena_seal(struct arena *arena)
{
    arena->sealed = true;
}

size_t arena_bytes(const struct arena *arena)
{
    return arena->held_bytes;
}

void arena_deinit(struct arena *arena)
{
    struct arena_chunk *chunk = arena->chunks;
    while (chunk != NULL) {
        struct arena_chunk *older = chunk->older;
        free(chunk);
        chunk = older;
    }
    arena_init(arena);
}
