/*
 * contract.h - vertices that may as well run as one: a smaller graph of the same work.
 *
 * Two vertices a -> b are contracted where nothing that could run beside one of them
 * waits for the other: b needs nothing that a did not need, and every task that waits for a waits
 * for b. This is repeated until nothing is left to contract; the groups do not depend
 * on the order, and the graph of the groups has no cycle. (Nona, "graph contraction".)
 */
#ifndef MODEL_CONTRACT_H
#define MODEL_CONTRACT_H

#include <stdint.h>

struct digraph;

enum contract_rule {
    /* The other producers of b are producers of a, the other consumers of a are of b. */
    CONTRACT_NEIGHBOURS,

    /*
     * The other producers of b are ancestors of a, the other consumers of a descendants
     * of b. Groups are unions of those above. b may now wait for a tensor that a did not
     * need itself.
     */
    CONTRACT_CLOSURE,
};

struct contraction {
    /*
     * Owned, sealed. Its vertices are the groups, numbered in a topological order; the
     * time of a group is the sum of its members. An edge carries each tensor that crosses
     * it once, however many members of the consumer want it: at the largest of their
     * sizes.
     */
    struct digraph *graph;
    uint32_t *group_of;     /* By vertex of the contracted graph. */
    uint32_t *member_first; /* By group, into members; the next one's first is its end. */
    uint32_t *members;      /* Vertices by group, each in an order in which it can run. */
};

/* Contract the sealed @graph, which is only read. The caller owns the result. */
struct contraction *contraction_create(const struct digraph *graph, enum contract_rule rule);

/* Release @contraction. NULL is allowed. */
void contraction_destroy(struct contraction *contraction);

#endif /* MODEL_CONTRACT_H */
