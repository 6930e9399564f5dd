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
    uint32_t *incarnations = arena_alloc(&roster->arena, node_count * sizeof(*incarnations));
    *members = (struct members){
        .epoch = 1,
        .node_count = node_count,
        .up_count = node_count,
        .up = up,
        .since = since,
        .incarnations = incarnations,
    };
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

/* The next list: @node is a member in @incarnation, or is none any more. */
static void change(struct roster *roster, uint32_t node, bool is_up, uint32_t incarnation)
{
    const struct members *before = roster->members;
    const size_t up_bytes = bitset_words(before->node_count) * sizeof(uint64_t);
    const size_t since_bytes = before->node_count * sizeof(uint64_t);
    const size_t incarnation_bytes = before->node_count * sizeof(uint32_t);
    struct members *members = arena_alloc(&roster->arena, sizeof(*members));
    uint64_t *up = arena_alloc(&roster->arena, up_bytes);
    uint64_t *since = arena_alloc(&roster->arena, since_bytes);
    uint32_t *incarnations = arena_alloc(&roster->arena, incarnation_bytes);
    memcpy(up, before->up, up_bytes);
    memcpy(since, before->since, since_bytes);
    memcpy(incarnations, before->incarnations, incarnation_bytes);
    *members = *before;
    members->epoch = before->epoch + 1;
    members->up = up;
    members->since = since;
    members->incarnations = incarnations;
    incarnations[node] = incarnation;
    if (is_up) {
        bitset_add(up, node);
        since[node] = members->epoch;
    } else {
        bitset_remove(up, node);
    }
    members->up_count = bitset_count(up, bitset_words(before->node_count));
    roster->members = members;
    if (roster->changed != NULL) {
        roster->changed(roster->context, members);
    }
}

void roster_announce(struct roster *roster, uint32_t node, bool is_up)
{
    const struct members *known = roster->members;
    ASSERT(node < known->node_count);
    if (members_is_up(known, node) != is_up) {
        change(roster, node, is_up, members_incarnation(known, node));
    }
}

void roster_join(struct roster *roster, uint32_t node, uint32_t incarnation)
{
    const struct members *known = roster->members;
    ASSERT(node < known->node_count);
    if (!members_is_up(known, node) || members_incarnation(known, node) != incarnation) {
        change(roster, node, /* is_up */ true, incarnation);
    }
}

void roster_destroy(struct roster *roster)
{
    if (roster != NULL) {
        arena_deinit(&roster->arena);
        free(roster);
    }
}
