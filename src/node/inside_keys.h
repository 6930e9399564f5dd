/*
 * inside_keys.h - what a node has of requests with keys. For the files of this layer alone.
 */
#ifndef NODE_INSIDE_KEYS_H
#define NODE_INSIDE_KEYS_H

#include "base/list.h"
#include "node/node.h"

enum keyed_state {
    KEYED_OWNED,    /* A job of this node. */
    KEYED_DEPUTED,  /* A job of another, whose deputy this is. */
    KEYED_ANSWERED, /* Was a job of this node. */
};

/* A request with a key. */
struct keyed {
    struct request_key key;
    uint64_t inputs_hash;
    struct job_id job;    /* At its owner. */
    struct job_id former; /* OWNED, ANSWERED: of the owner that it was taken over from. */
    struct slot_link link;
    uint32_t deputy; /* OWNED: the node that knows of it, or is told; NODE_NONE: none. */
    uint32_t losses; /* DEPUTED: attempts that have failed so far. */
    uint32_t items;
    uint32_t inputs; /* DEPUTED: tensor. */
    int64_t deadline_ns;
    int64_t touched_ns; /* OWNED, DEPUTED: for the audit. ANSWERED: since when. */
    uint32_t outputs;   /* ANSWERED: list of struct input, by sink. */
    enum weft_status status;
    enum reason reason;
    uint8_t workflow;
    uint8_t priority;
    uint8_t state; /* enum keyed_state */
    bool firm : 1;
    bool is_known : 1; /* OWNED: its deputy has said that it knows of it. */
};

struct keys {
    bool is_on;
    struct map by_key;
    struct map by_job;
    struct slot_list list;
};

#endif /* NODE_INSIDE_KEYS_H */
