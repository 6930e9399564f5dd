#include "base/pool.h"

#include <stdlib.h>

#include "base/memory.h"

enum {
    SLOT_ALIGNMENT = 8,
    CAPACITY_FIRST = 16, /* What a pool that began empty grows to first. */
};

static void grow(struct pool *pool, uint32_t capacity)
{
    ASSERT(capacity > pool->capacity);
    ASSERT(capacity <= pool->capacity_max);

    pool->slots = memory_lines_more(pool->slots, pool->capacity, capacity, pool->slot_bytes);
    pool->taken = memory_lines_more(pool->taken, pool->capacity, capacity, sizeof(*pool->taken));
    if (!pool->is_plain) {
        pool->generations = memory_lines_more(
            pool->generations, pool->capacity, capacity, sizeof(*pool->generations));
    }
    pool->capacity = capacity;
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

void pool_init_plain(struct pool *pool, size_t slot_bytes, uint32_t capacity, uint32_t capacity_max)
{
    pool_init(pool, slot_bytes, /* capacity */ 0, capacity_max);
    ASSERT(capacity <= capacity_max);
    pool->is_plain = true;
    if (capacity > 0) {
        grow(pool, capacity);
    }
}

bool pool_grow(struct pool *pool, uint32_t free_min)
{
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

uint32_t pool_take_fresh(struct pool *pool)
{
    const uint32_t slot = pool->fresh;
    ASSERT(pool->free_head == POOL_NONE);
    ASSERT(pool->used == slot);
    if (slot == pool->capacity) {
        return POOL_NONE;
    }
    pool->fresh++;
    pool->taken[slot] = true;
    if (!pool->is_plain) {
        pool->generations[slot] = 1;
    }
    pool->used++;
    return slot;
}

void pool_deinit(struct pool *pool)
{
    free(pool->slots);
    free(pool->taken);
    free(pool->generations);
    *pool = (struct pool){.free_head = POOL_NONE};
}
