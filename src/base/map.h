/*
 * map.h - from a 64-bit key to a 32-bit value.
 *
 * Open addressing with linear probing in a table at most three quarters full; removal
 * shifts entries back, so there are no tombstones and a table does not decay.
 * Values lie apart from keys: to see that a place is free, and that a key is
 * absent, takes a look at four bytes in a table that stays in the cache.
 * There is no way to walk a map: its order is no order to base a decision on.
 * The map never grows by itself; its host calls map_reserve() between steps.
 * One thread at a time.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

#define MAP_NONE UINT32_MAX /* No value. Not an enum constant: those are ints. */

enum { MAP_CAPACITY_MAX = 1 << 28 }; /* Entries; their table has twice as many places: 6 GiB. */

struct map {
    uint32_t *values; /* MAP_NONE marks a free place, so that every key is legal. */
    uint64_t *keys;   /* Of the same block of memory, before the values. */
    uint32_t mask;    /* Places minus one; places are a power of two. */
    uint32_t shift;   /* From a 64-bit hash to a place. */
    uint32_t count;
    uint32_t count_max;
};

/* An empty map with room for at least @capacity entries. */
void map_init(struct map *map, uint32_t capacity);

/* Add @key, which must be absent, with @value, which must not be MAP_NONE. Needs room. */
void map_put(struct map *map, uint64_t key, uint32_t value);

/* The value of @key, or MAP_NONE. */
uint32_t map_get(const struct map *map, uint64_t key);

/* Forget @key. False if it is absent. */
bool map_remove(struct map *map, uint64_t key);

/* Whether there is room for @free_min entries more as it is. */
static inline bool map_has_room(const struct map *map, uint32_t free_min)
{
    return free_min <= map->count_max - map->count;
}

/* For map_reserve(): there is not. */
ATTR_COLD bool map_grow(struct map *map, uint32_t free_min);

/* Make room for @free_min entries more. False past MAP_CAPACITY_MAX; the map is then unchanged. */
static inline bool map_reserve(struct map *map, uint32_t free_min)
{
    return map_has_room(map, free_min) || map_grow(map, free_min);
}

uint32_t map_count(const struct map *map);

void map_deinit(struct map *map);

#endif /* BASE_MAP_H */
