#include "base/map.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"

enum { PLACES_MIN = 16 };

/* Keys are often counters in both halves; two rounds spread either over all places. */
static uint32_t home_of(const struct map *map, uint64_t key)
{
    uint64_t hash = key ^ (key >> 32);
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 29;
    hash *= UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)(hash >> map->shift);
}

/* Where @key is, or the free place where its search ends. The table is never full. */
static uint32_t place_of(const struct map *map, uint64_t key)
{
    uint32_t place = home_of(map, key);
    while (map->values[place] != MAP_NONE && map->keys[place] != key) {
        place = (place + 1) & map->mask;
    }
    return place;
}

void map_init(struct map *map, uint32_t capacity)
{
    ASSERT(capacity <= MAP_CAPACITY_MAX);

    uint32_t places = PLACES_MIN;
    uint32_t shift = 64 - 4;
    while (places / 4 * 3 < capacity) {
        places *= 2;
        shift--;
    }
    *map = (struct map){.mask = places - 1, .shift = shift, .count_max = places / 4 * 3};
    map->keys = memory_lines(places, sizeof(*map->keys) + sizeof(*map->values));
    map->values = (uint32_t *)(map->keys + places);
    for (uint32_t i = 0; i < places; i++) {
        map->values[i] = MAP_NONE;
    }
}

void map_put(struct map *map, uint64_t key, uint32_t value)
{
    ASSERT(value != MAP_NONE);
    ASSERT(map_has_room(map, 1));

    const uint32_t place = place_of(map, key);
    ASSERT(map->values[place] == MAP_NONE); /* The key is absent. */
    map->keys[place] = key;
    map->values[place] = value;
    map->count++;
}

uint32_t map_get(const struct map *map, uint64_t key)
{
    return map->values[place_of(map, key)];
}

bool map_remove(struct map *map, uint64_t key)
{
    uint32_t hole = place_of(map, key);
    if (map->values[hole] == MAP_NONE) {
        return false;
    }

    /*
     * Close the hole: whatever follows without a gap, and would be searched for
     * from the hole or before it, moves there and leaves the next hole.
     */
    for (uint32_t next = (hole + 1) & map->mask; map->values[next] != MAP_NONE;
         next = (next + 1) & map->mask) {
        const uint32_t from_home = (next - home_of(map, map->keys[next])) & map->mask;
        const uint32_t from_hole = (next - hole) & map->mask;
        if (from_home >= from_hole) {
            map->keys[hole] = map->keys[next];
            map->values[hole] = map->values[next];
            hole = next;
        }
    }
    map->values[hole] = MAP_NONE;
    map->count--;
    return true;
}

bool map_grow(struct map *map, uint32_t free_min)
{
    const uint64_t needed = (uint64_t)map->count + free_min;
    if (needed > MAP_CAPACITY_MAX) {
        return false;
    }

    struct map larger;
    map_init(&larger, (uint32_t)needed);
    for (uint32_t i = 0; i <= map->mask; i++) {
        if (map->values[i] != MAP_NONE) {
            map_put(&larger, map->keys[i], map->values[i]);
        }
    }
    ASSERT(larger.count == map->count);
    map_deinit(map);
    *map = larger;
    return true;
}

uint32_t map_count(const struct map *map)
{
    return map->count;
}

void map_deinit(struct map *map)
{
    free(map->keys);
    *map = (struct map){0};
}
