/*
 * weft_hop.h - what weft knows of a task that it places.
 */
#ifndef POLICY_WEFT_HOP_H
#define POLICY_WEFT_HOP_H

#include "policy/compass_cost.h"
#include "policy/compass_prices.h"

/* Workers are drawn evenly from groups: in the rack or not, with the models or without. */
enum {
    WEFT_GROUP_IN_RACK = 1,
    WEFT_GROUP_HOLDER = 2,
    WEFT_GROUPS = 4,
    WEFT_GROUP_NEAR = 4, /* Not drawn, but looked at in any case. */
    WEFT_GROUP_NOT_USABLE = 8
};

/* What it takes to move tensors of the task: between idle links, and what that costs others. */
struct weft_way {
    int64_t whole_ns;
    int64_t toll_ns;
};

/* By whether a way leaves the rack: all are alike where links are. */
struct weft_ways {
    bool is_known[2];
    struct weft_way ways[2];
};

/* The task in question. */
struct weft_hop {
    const struct policy_input *input;
    const struct task_facts *facts;
    struct compass_prices prices;
    struct compass_task task;
    bool is_of_shares;           /* It was measured on shares of a device. */
    int64_t key_ns;              /* Where it would stand in a queue. */
    uint64_t bytes;              /* Of its inputs, which are all here. */
    uint32_t return_node;        /* Where its output is gathered; NODE_NONE: wherever it runs. */
    uint64_t return_bytes;       /* Of that output. */
    uint32_t usable;             /* Workers that can run it. */
    uint32_t busy;               /* Usable ones that have something to do. */
    int64_t mean_ns;             /* What usable ones have to do on average, as far as is known. */
    uint32_t sample;             /* So many of each group are drawn. */
    uint32_t alike[WEFT_GROUPS]; /* Usable ones by group. */
    uint16_t *groups;            /* By worker. */
    struct weft_ways there;      /* Of its inputs. */
    struct weft_ways back;       /* Of its output. */
};

/* Whether @worker can be used and has all models of the task. */
static inline bool weft_hop_is_holder(const struct weft_hop *hop, uint32_t worker)
{
    return (hop->groups[worker] & WEFT_GROUP_HOLDER) != 0;
}

#endif /* POLICY_WEFT_HOP_H */
