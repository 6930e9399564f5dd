/*
 * members.h - which nodes belong to the cluster, as a directory has said.
 *
 * One immutable list an epoch, owned by the host, which keeps it until the node has
 * been given a newer one. Hints are a node's own suspicions between two epochs.
 */
#ifndef VIEW_MEMBERS_H
#define VIEW_MEMBERS_H

#include <stdbool.h>
#include <stdint.h>

struct members {
    uint64_t epoch; /* Grows. */
    uint32_t node_count;
    uint32_t up_count;
    const uint64_t *up;    /* A bit per node. */
    const uint64_t *since; /* By node: the epoch in which its present incarnation came. */
};

enum { SUSPECTS_MAX = 32 }; /* More at once is a partition, which the directory settles. */

struct suspects {
    uint32_t count;
    uint32_t nodes[SUSPECTS_MAX];
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

static inline bool suspects_has(const struct suspects *suspects, uint32_t node)
{
    for (uint32_t i = 0; i < suspects->count; i++) {
        if (suspects->nodes[i] == node) {
            return true;
        }
    }
    return false;
}

/* Add @node. A full list forgets its oldest entry. */
static inline void suspects_add(struct suspects *suspects, uint32_t node)
{
    if (suspects_has(suspects, node)) {
        return;
    }
    if (suspects->count == SUSPECTS_MAX) {
        for (uint32_t i = 1; i < SUSPECTS_MAX; i++) {
            suspects->nodes[i - 1] = suspects->nodes[i];
        }
        suspects->count--;
    }
    suspects->nodes[suspects->count] = node;
    suspects->count++;
}

/* False if @node is not in the list. */
static inline bool suspects_remove(struct suspects *suspects, uint32_t node)
{
    for (uint32_t i = 0; i < suspects->count; i++) {
        if (suspects->nodes[i] == node) {
            suspects->count--;
            suspects->nodes[i] = suspects->nodes[suspects->count];
            return true;
        }
    }
    return false;
}

#endif /* VIEW_MEMBERS_H */
