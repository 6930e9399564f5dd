/*
 * pattern_index.h - find the pattern of a placement without looking at all of them.
 *
 * A table of the patterns by stream and spots. It follows patterns that are added by itself;
 * after any that were indexed have been taken away it has to be cleared.
 */
#ifndef MIXTURE_PATTERN_INDEX_H
#define MIXTURE_PATTERN_INDEX_H

#include <stdint.h>

struct patterns;
struct spot;

struct pattern_index {
    uint32_t count;    /* Patterns that are in it: the first ones. */
    uint32_t capacity; /* A power of two, or 0. */
    uint32_t *slots;   /* Pattern + 1; 0 is free. */
};

/* All zero is an empty index. Release what it holds. */
void pattern_index_deinit(struct pattern_index *index);

/* Forget all patterns. */
void pattern_index_clear(struct pattern_index *index);

/* The pattern of @stream with these @count spots, one for each task; UINT32_MAX: it is new. */
uint32_t pattern_index_find(
    struct pattern_index *index, const struct patterns *patterns, uint32_t stream,
    const struct spot *spots, uint32_t count);

#endif /* MIXTURE_PATTERN_INDEX_H */
