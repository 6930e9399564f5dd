/*
 * arena.h - memory with one lifetime: taken piece by piece, given back at once.
 *
 * Memory never moves, so pointers into an arena stay good until arena_deinit().
 * Once sealed, an arena hands out nothing more; the seal is how a module proves
 * that it does not allocate after its start. One thread at a time.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena_chunk;

struct arena {
    struct arena_chunk *chunks; /* The newest first; owned. */
    uint8_t *next;              /* The first free byte of the newest chunk. */
    size_t left_bytes;
    size_t held_bytes;
    bool sealed;
};

void arena_init(struct arena *arena);

/*
 * Zeroed memory of @bytes, aligned to 16. Never NULL: without memory the program
 * stops, for the reason given in memory.h. Zero bytes give a pointer of their own.
 */
void *arena_alloc(struct arena *arena, size_t bytes);

/* The same from the start of a cache line on. */
void *arena_alloc_lines(struct arena *arena, size_t bytes);

/* A copy of @text that lives as long as the arena. */
char *arena_text(struct arena *arena, const char *text);

/* Allow no more allocations: a later one is a programmer error. */
void arena_seal(struct arena *arena);

/* What the arena holds from the system, spare room included. */
size_t arena_bytes(const struct arena *arena);

/* Give everything back. The arena is then as after arena_init(), unsealed. */
void arena_deinit(struct arena *arena);

#endif /* BASE_ARENA_H */
