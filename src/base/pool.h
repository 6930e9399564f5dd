/*
 * pool.h - fixed-size slots named by index, with or without generations.
 *
 * The generation of a slot is odd while the slot is taken and even while it is
 * free, and grows with every take and give: a pair (slot, generation) that was
 * good once names nothing after the slot is given back, even if it is taken
 * again. A plain pool has none, for slots that only their owner names: four bytes
 * less for each. Slots are handed out last given first. The pool never grows by itself;
 * its host calls pool_reserve() between steps, which may move every slot, so no
 * pointer into the pool outlives a step. One thread at a time.
 *
 *     slot, taken:  | contents ............................ |
 *     slot, free:   | next free slot | leftovers .......... |
 */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"

#define POOL_NONE UINT32_MAX /* Not an enum constant: those are ints. */

struct pool {
    uint8_t *slots;
    bool *taken;           /* By slot, as far as ever taken. */
    uint32_t *generations; /* By slot, as far as ever taken; or NULL. */
    uint32_t slot_bytes;   /* From one slot to the next: a multiple of 8. */
    uint32_t capacity;
    uint32_t free_head; /* The slot given back last, or POOL_NONE. */
    uint32_t fresh;     /* Slots from here on were never taken: their memory is untouched. */
    uint32_t used;
    uint32_t capacity_max;
    bool is_plain;
};

/* Slots of @slot_bytes, @capacity of them now and at most @capacity_max later. */
void pool_init(struct pool *pool, size_t slot_bytes, uint32_t capacity, uint32_t capacity_max);

/* The same without generations. */
void pool_init_plain(
    struct pool *pool, size_t slot_bytes, uint32_t capacity, uint32_t capacity_max);

/* For pool_reserve(): too few are free. */
ATTR_COLD bool pool_grow(struct pool *pool, uint32_t free_min);

/*
 * Grow, by doubling, until at least @free_min slots are free. Slots may move.
 * False if capacity_max prevents it; the pool has then grown as far as it may.
 */
static inline bool pool_reserve(struct pool *pool, uint32_t free_min)
{
    return free_min <= pool->capacity - pool->used || pool_grow(pool, free_min);
}

void pool_deinit(struct pool *pool);

/* The contents of @slot. Borrowed until the next pool_reserve(). */
static inline void *pool_at(const struct pool *pool, uint32_t slot)
{
    ASSERT(slot < pool->capacity);
    return pool->slots + (size_t)slot * pool->slot_bytes;
}

static inline bool pool_is_taken(const struct pool *pool, uint32_t slot)
{
    ASSERT(slot < pool->capacity);
    return slot < pool->fresh && pool->taken[slot];
}

/* Of a pool that has them. */
static inline uint32_t pool_generation(const struct pool *pool, uint32_t slot)
{
    ASSERT(slot < pool->capacity);
    ASSERT(!pool->is_plain);
    return slot < pool->fresh ? pool->generations[slot] : 0;
}

/* For pool_take_raw(): none has been given back. */
ATTR_COLD uint32_t pool_take_fresh(struct pool *pool);

/* Take a slot, its contents unspecified. POOL_NONE when all are taken. */
static inline uint32_t pool_take_raw(struct pool *pool)
{
    const uint32_t slot = pool->free_head;
    if (slot == POOL_NONE) {
        return pool_take_fresh(pool);
    }
    /* The list runs through the first word of each free slot. */
    memcpy(&pool->free_head, pool_at(pool, slot), sizeof(pool->free_head));
    ASSERT(!pool->taken[slot]);
    pool->taken[slot] = true;
    if (pool->generations != NULL) {
        pool->generations[slot]++;
    }
    pool->used++;
    return slot;
}

/* The same, its contents zeroed. */
static inline uint32_t pool_take(struct pool *pool)
{
    const uint32_t slot = pool_take_raw(pool);
    if (slot != POOL_NONE) {
        memset(pool_at(pool, slot), 0, pool->slot_bytes);
    }
    return slot;
}

/* Give back @slot, which must be taken. Its id is dead from here on. */
static inline void pool_give(struct pool *pool, uint32_t slot)
{
    ASSERT(slot < pool->fresh);
    ASSERT(pool->taken[slot]);
    memcpy(
        pool->slots + (size_t)slot * pool->slot_bytes, &pool->free_head, sizeof(pool->free_head));
    pool->free_head = slot;
    pool->taken[slot] = false;
    if (pool->generations != NULL) {
        pool->generations[slot]++;
    }
    pool->used--;
}

/* Whether (@slot, @generation) names a taken slot. Any pair may be asked about. Not if plain. */
static inline bool pool_is_live(const struct pool *pool, uint32_t slot, uint32_t generation)
{
    ASSERT(!pool->is_plain);
    return slot < pool->fresh && (generation & 1) != 0 && pool->generations[slot] == generation;
}

/* One number for @slot and its generation: never 0 while it is taken, and never given twice. */
static inline uint64_t pool_name(const struct pool *pool, uint32_t slot)
{
    return (uint64_t)pool_generation(pool, slot) << 32 | slot;
}

static inline uint32_t pool_slot(uint64_t name)
{
    return (uint32_t)name;
}

/* Whether @name, which may be anything, names a taken slot. */
static inline bool pool_has(const struct pool *pool, uint64_t name)
{
    return pool_is_live(pool, pool_slot(name), (uint32_t)(name >> 32));
}

#endif /* BASE_POOL_H */
