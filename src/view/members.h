/*
 * members.h - which nodes belong to the cluster, as a directory has said.
 *
 * One immutable list an epoch, owned by the host, which keeps it until the node has
 * been given a newer one. Hints are a node's own suspicions between two epochs.
 */
#ifndef VIEW_MEMBERS_H
#define VIEW_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bitset.h"

struct members {
    uint64_t epoch; /* Grows. */
    uint32_t node_count;
    uint32_t up_count;
    const uint64_t *up;           /* A bit per node. */
    const uint64_t *since;        /* By node: the epoch in which it came, or came back. */
    const uint32_t *incarnations; /* By node: of its last life. NULL: 0 for all. */
};

/* Some nodes, any number of them. */
struct suspects {
    uint32_t count;
    uint64_t *bits; /* A bit per node. Borrowed. */
};

static inline bool members_is_up(const struct members *members, uint32_t node)
{
    return members->up_count == members->node_count ||
           (members->up[node / 64] >> (node % 64) & 1) != 0;
}

/* Whether what was left at @node in @epoch can still be there. */
static inline bool members_is_same(const struct members *members, uint32_t node, uint64_t epoch)
{
    return members_is_up(members, node) && members->since[node] <= epoch;
}

/* The incarnation in which @node is, or was last, a member. */
static inline uint32_t members_incarnation(const struct members *members, uint32_t node)
{
    return members->incarnations == NULL ? 0 : members->incarnations[node];
}

/* Whether life @incarnation of @node is over. One that the list does not know yet is not. */
static inline bool members_is_over(
    const struct members *members, uint32_t node, uint32_t incarnation)
{
    const uint32_t listed = members_incarnation(members, node);
    return listed > incarnation || (listed == incarnation && !members_is_up(members, node));
}

/* Whether life @incarnation of @node is one that the list does not know yet. */
static inline bool members_is_unheard(
    const struct members *members, uint32_t node, uint32_t incarnation)
{
    return incarnation > members_incarnation(members, node);
}

static inline bool suspects_has(const struct suspects *suspects, uint32_t node)
{
    return suspects->count > 0 && bitset_has(suspects->bits, node);
}

static inline void suspects_add(struct suspects *suspects, uint32_t node)
{
    if (!suspects_has(suspects, node)) {
        bitset_add(suspects->bits, node);
        suspects->count++;
    }
}

static inline void suspects_remove(struct suspects *suspects, uint32_t node)
{
    if (suspects_has(suspects, node)) {
        bitset_remove(suspects->bits, node);
        suspects->count--;
    }
}

#endif /* VIEW_MEMBERS_H */
