#include "base/pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum {
    SLOT_ALIGNMENT = 8,
    CAPACITY_FIRST = 16, /* What a pool that began empty grows to first. */
};

static void grow(struct pool *pool, uint32_t capacity)
{
    ASSERT(capacity > pool->capacity);
    ASSERT(capacity <= pool->capacity_max);

    uint8_t *slots = memory_lines(capacity, pool->slot_bytes);
    uint32_t *generations = memory_zeroed(capacity, sizeof(*generations));
    if (pool->fresh > 0) { /* What was never taken holds nothing. */
        memcpy(slots, pool->slots, (size_t)pool->fresh * pool->slot_bytes);
        memcpy(generations, pool->generations, (size_t)pool->fresh * sizeof(*generations));
    }
    free(pool->slots);
    free(pool->generations);
    pool->slots = slots;
    pool->generations = generations;
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
