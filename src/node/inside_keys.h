/*
 * inside_keys.h - what a node has of requests with keys. For the files of this layer alone.
 */
#ifndef NODE_INSIDE_KEYS_H
#define NODE_INSIDE_KEYS_H

#include "base/list.h"
#include "node/node.h"

/* A client asks one node after the other, seconds apart: so many may wait for it at once. */
enum { KEYED_FOLLOWERS_MAX = 4 };

/* Who asks all members whether they know of a request asks so many at a time. */
enum { KEYED_RECALLS_MAX = 8 };

enum keyed_state {
    KEYED_OWNED,    /* A job of this node. */
    KEYED_DEPUTED,  /* A job of another, whose deputy this is. */
    KEYED_WAITING,  /* Another node was asked for the answer. */
    KEYED_COPIED,   /* A part of the answer is here, and no more is known: as if it were not. */
    KEYED_ANSWERED, /* The answer is here. */
};

/* What a job waits for its deputy to know, before it runs: see keys.h. */
enum job_hold {
    HOLD_NONE,
    HOLD_FIRST, /* Of the request itself. */
    HOLD_AGAIN, /* That another attempt has failed. */
};

/* A request with a key. */
struct keyed {
    struct request_key key;
    uint64_t inputs_hash;
    struct job_id job;     /* At its owner. WAITING: the receipt. */
    struct job_id former;  /* OWNED, ANSWERED: of the owner that it was taken over from. */
    struct job_id receipt; /* DEPUTED, WAITING: what the host calls the client's request. */
    struct job_id source;  /* DEPUTED, WAITING: the job that the outputs are of. */
    uint64_t client;       /* DEPUTED, WAITING: who waits here; CLIENT_NONE: no client. */
    uint64_t bytes;        /* What it holds, as counted in struct keys. */
    struct slot_link link;
    uint32_t deputy; /* OWNED: the node that knows of it, or is told; NODE_NONE: none. */
                     /* WAITING: the node that was asked. Others: who else has it. */
    uint32_t deputy_incarnation;
    uint32_t former_deputy; /* OWNED: it knows as well, until the new one does. NODE_NONE: none. */
    uint32_t recall_next;   /* WAITING, if it is_recalled: the next node to ask. */
    uint64_t recall_epoch;  /* The members then. */
    uint16_t recalls[KEYED_RECALLS_MAX];     /* Those that have not answered. */
    uint8_t recall_count;                    /* How many they are. */
    uint32_t followers[KEYED_FOLLOWERS_MAX]; /* Nodes that want the answer as well. */
    uint32_t follower_count; /* How many they are; the one that came last is the last. */
    uint32_t losses;         /* DEPUTED, WAITING: attempts that have failed so far. */
    uint32_t items;
    uint32_t inputs; /* DEPUTED, WAITING: tensor. */
    int64_t deadline_ns;
    int64_t touched_ns; /* For the audit. ANSWERED: since when. */
    uint32_t outputs;   /* List of struct input, by sink. */
    uint32_t output_count;
    enum weft_status status;
    enum reason reason;
    uint8_t workflow;
    uint8_t priority;
    uint8_t state; /* enum keyed_state */
    uint8_t tries; /* How often it was asked after: its patience. */
    uint8_t tells; /* OWNED: how often a deputy was told of it. */
    bool firm : 1;
    bool is_known : 1;    /* OWNED: its deputy has said that it knows of it. */
    bool is_recalled : 1; /* WAITING: all members are asked whether they know of it. */
};

struct keys {
    bool is_on;
    struct map by_key;
    struct map by_job;
    struct slot_list list; /* The newest first. */
    uint32_t count;
    uint32_t repair;  /* The next that the loss of a node may mean something for. */
    uint64_t bytes;   /* Of all tensors that requests hold here beside their jobs. */
    uint32_t stalled; /* Jobs that are marked so. */
};

#endif /* NODE_INSIDE_KEYS_H */
