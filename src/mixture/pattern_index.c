#include "mixture/pattern_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/hash.h"
#include "base/memory.h"
#include "mixture/pattern.h"

enum { SLOTS_MIN = 64 };

void pattern_index_deinit(struct pattern_index *index)
{
    free(index->slots);
}

void pattern_index_clear(struct pattern_index *index)
{
    if (index->count > 0) {
        memset(index->slots, 0, index->capacity * sizeof(*index->slots));
    }
    index->count = 0;
}

/* Seats are in the order of the patterns, and nothing lies between. */
static uint32_t spot_count(const struct patterns *patterns, uint32_t number)
{
    const uint32_t end = number + 1 < patterns->count ? patterns->items[number + 1].spot_first
                                                      : patterns->spot_count;
    return end - patterns->items[number].spot_first;
}

static uint64_t hash_of(uint32_t stream, const struct spot *spots, uint32_t count)
{
    uint64_t hash = hash_mix(0, stream);
    for (uint32_t i = 0; i < count; i++) {
        const struct spot spot = spots[i];
        hash = hash_mix(
            hash, (uint64_t)spot.site << 32 | (uint64_t)spot.copy << 16 | (uint64_t)spot.slot);
    }
    return hash;
}

static void insert(struct pattern_index *index, const struct patterns *patterns, uint32_t number)
{
    const struct pattern *pattern = &patterns->items[number];
    const uint32_t mask = index->capacity - 1;
    uint32_t slot =
        (uint32_t)hash_of(
            pattern->stream, patterns->spots + pattern->spot_first, spot_count(patterns, number)) &
        mask;
    while (index->slots[slot] != 0) {
        slot = (slot + 1) & mask;
    }
    index->slots[slot] = number + 1;
}

/* Take in what came since, in a table that stays half empty. */
static void follow(struct pattern_index *index, const struct patterns *patterns)
{
    ASSERT(index->count <= patterns->count);
    if (2 * (patterns->count + 1) > index->capacity) {
        uint32_t capacity = SLOTS_MIN;
        while (capacity < 4 * (patterns->count + 1)) {
            capacity *= 2;
        }
        free(index->slots);
        index->slots = memory_zeroed(capacity, sizeof(*index->slots));
        index->capacity = capacity;
        index->count = 0;
    }
    for (; index->count < patterns->count; index->count++) {
        insert(index, patterns, index->count);
    }
}

uint32_t pattern_index_find(
    struct pattern_index *index, const struct patterns *patterns, uint32_t stream,
    const struct spot *spots, uint32_t count)
{
    follow(index, patterns);
    const uint32_t mask = index->capacity - 1;
    uint32_t slot = (uint32_t)hash_of(stream, spots, count) & mask;
    for (; index->slots[slot] != 0; slot = (slot + 1) & mask) {
        const uint32_t number = index->slots[slot] - 1;
        const struct pattern *pattern = &patterns->items[number];
        const struct spot *known = patterns->spots + pattern->spot_first;
        if (pattern->stream == stream && memcmp(known, spots, count * sizeof(*spots)) == 0) {
            return number;
        }
    }
    return UINT32_MAX;
}
