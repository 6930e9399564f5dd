#include "base/pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum {
    SLOT_ALIGNMENT = 16,
    CAPACITY_FIRST = 16, /* What a pool that began empty grows to first. */
};

/* The free list runs through the first word of each free slot. */
static uint32_t next_free(const struct pool *pool, uint32_t slot)
{
    uint32_t next;
    memcpy(&next, pool_at(pool, slot), sizeof(next));
    return next;
}

static void set_next_free(struct pool *pool, uint32_t slot, uint32_t next)
{
    memcpy(pool_at(pool, slot), &next, sizeof(next));
}

static void grow(struct pool *pool, uint32_t capacity)
{
    ASSERT(capacity > pool->capacity);
    ASSERT(capacity <= pool->capacity_max);

    const uint32_t old = pool->capacity;
    uint8_t *slots = memory_lines(capacity, pool->slot_bytes);
    uint32_t *generations = memory_zeroed(capacity, sizeof(*generations));
    if (old > 0) {
        memcpy(slots, pool->slots, (size_t)old * pool->slot_bytes);
        memcpy(generations, pool->generations, (size_t)old * sizeof(*generations));
    }
    free(pool->slots);
    free(pool->generations);
    pool->slots = slots;
    pool->generations = generations;
    pool->capacity = capacity;

    for (uint32_t slot = capacity; slot > old; slot--) { /* The lowest is taken first. */
        set_next_free(pool, slot - 1, pool->free_head);
        pool->free_head = slot - 1;
    }
}

void pool_init(struct pool *pool, size_t slot_bytes, uint32_t capacity, uint32_t capacity_max)
{
    ASSERT(slot_bytes > 0);
    ASSERT(slot_bytes <= UINT32_MAX - SLOT_ALIGNMENT);
    ASSERT(capacity <= capacity_max);
    ASSERT(capacity_max < POOL_NONE);

    const size_t rounded = (slot_bytes + SLOT_ALIGNMENT - 1) / SLOT_ALIGNMENT * SLOT_ALIGNMENT;
    *pool = (struct pool){
        .slot_bytes = (uint32_t)rounded,
        .free_head = POOL_NONE,
        .capacity_max = capacity_max,
    };
    if (capacity > 0) {
        grow(pool, capacity);
    }
}

uint32_t pool_take(struct pool *pool)
{
    const uint32_t slot = pool->free_head;
    if (slot == POOL_NONE) {
        return POOL_NONE;
    }
    ASSERT((pool_generation(pool, slot) & 1) == 0);

    pool->free_head = next_free(pool, slot);
    memset(pool_at(pool, slot), 0, pool->slot_bytes);
    pool->generations[slot]++;
    pool->used++;
    if (pool->used > pool->used_max) {
        pool->used_max = pool->used;
    }
    return slot;
}

void pool_give(struct pool *pool, uint32_t slot)
{
    ASSERT((pool_generation(pool, slot) & 1) != 0);

    set_next_free(pool, slot, pool->free_head);
    pool->free_head = slot;
    pool->generations[slot]++;
    pool->used--;
}

bool pool_reserve(struct pool *pool, uint32_t free_min)
{
    if (pool->capacity - pool->used >= free_min) {
        return true;
    }
    const uint64_t needed = (uint64_t)pool->used + free_min;
    uint64_t capacity = pool->capacity > 0 ? pool->capacity : CAPACITY_FIRST;
    while (capacity < needed) {
        capacity *= 2;
    }
    if (capacity > pool->capacity_max) {
        capacity = pool->capacity_max;
    }
    if (capacity > pool->capacity) {
        grow(pool, (uint32_t)capacity);
    }
    return pool->capacity >= needed;
}

void pool_deinit(struct pool *pool)
{
    free(pool->slots);
    free(pool->generations);
    *pool = (struct pool){.free_head = POOL_NONE};
}
