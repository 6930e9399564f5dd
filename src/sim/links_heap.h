/*
 * links_heap.h - links in the order of a number that changes: the lowest comes first, and of
 * equal ones the link with the lower index.
 *
 * For the files of links_fair.h alone. One thread at a time.
 */
#ifndef SIM_LINKS_HEAP_H
#define SIM_LINKS_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#define LINK_ABSENT UINT32_MAX /* Not an enum constant: those are ints. */

/* A number, and a link below it: what is lower comes first. */
__extension__ typedef unsigned __int128 link_key;

struct links_heap {
    link_key *items;
    uint32_t *places; /* By link, or LINK_ABSENT. */
    uint32_t count;
};

/* No links, with room for @link_count. */
void links_heap_init(struct links_heap *heap, uint32_t link_count);
void links_heap_deinit(struct links_heap *heap);

/* Give @link, which may be absent, the number @key. */
void links_heap_set(struct links_heap *heap, uint32_t link, uint64_t key);

/* Take @link away, if it is there. */
void links_heap_drop(struct links_heap *heap, uint32_t link);

static inline bool links_heap_has(const struct links_heap *heap, uint32_t link)
{
    return heap->places[link] != LINK_ABSENT;
}

/* The lowest, which must be there: which link, and its number. */
static inline uint32_t links_heap_first(const struct links_heap *heap)
{
    return (uint32_t)heap->items[0];
}

static inline uint64_t links_heap_key(const struct links_heap *heap)
{
    return (uint64_t)(heap->items[0] >> 64);
}

/* What all others have at least. */
static inline uint64_t links_heap_second(const struct links_heap *heap)
{
    link_key second = ~(link_key)0;
    for (uint32_t child = 1; child < 3 && child < heap->count; child++) {
        second = heap->items[child] < second ? heap->items[child] : second;
    }
    return (uint64_t)(second >> 64);
}

#endif /* SIM_LINKS_HEAP_H */
