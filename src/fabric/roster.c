#include "fabric/roster.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/bitset.h"
#include "base/memory.h"

struct roster {
    struct arena arena; /* Of every list there has been. */
    const struct members *members;
    roster_changed changed;
    void *context;
};

struct roster *roster_create(uint32_t node_count, roster_changed changed, void *context)
{
    ASSERT(node_count > 0);

    struct roster *roster = memory_zeroed(1, sizeof(*roster));
    roster->changed = changed;
    roster->context = context;
    arena_init(&roster->arena);

    struct members *members = arena_alloc(&roster->arena, sizeof(*members));
    uint64_t *up = arena_alloc(&roster->arena, bitset_words(node_count) * sizeof(*up));
    uint64_t *since = arena_alloc(&roster->arena, node_count * sizeof(*since));
    *members = (struct members){
        .epoch = 1, .node_count = node_count, .up_count = node_count, .up = up, .since = since};
    for (uint32_t node = 0; node < node_count; node++) {
        bitset_add(up, node);
        since[node] = members->epoch;
    }
    roster->members = members;
    return roster;
}

const struct members *roster_members(const struct roster *roster)
{
    return roster->members;
}

void roster_announce(struct roster *roster, uint32_t node, bool is_up)
{
    const struct members *before = roster->members;
    ASSERT(node < before->node_count);
    if (members_is_up(before, node) == is_up) {
        return;
    }
    const size_t up_bytes = bitset_words(before->node_count) * sizeof(uint64_t);
    const size_t since_bytes = before->node_count * sizeof(uint64_t);
    struct members *members = arena_alloc(&roster->arena, sizeof(*members));
    uint64_t *up = arena_alloc(&roster->arena, up_bytes);
    uint64_t *since = arena_alloc(&roster->arena, since_bytes);
    memcpy(up, before->up, up_bytes);
    memcpy(since, before->since, since_bytes);
    *members = *before;
    members->epoch = before->epoch + 1;
    members->up = up;
    members->since = since;
    if (is_up) {
        bitset_add(up, node);
        since[node] = members->epoch;
        members->up_count++;
    } else {
        bitset_remove(up, node);
        members->up_count--;
    }
    roster->members = members;
    if (roster->changed != NULL) {
        roster->changed(roster->context, members);
    }
}

void roster_destroy(struct roster *roster)
{
    if (roster != NULL) {
        arena_deinit(&roster->arena);
        free(roster);
    }
}
