/*
 * event.h - everything that can happen to a node.
 *
 * The host owns an event and whatever it points to; both need to live only as long as
 * the step. A tensor handle in an event is passed on: the node owns that reference and
 * gives it back by a release, or to the node that the tensor is moved to.
 */
#ifndef NODE_EVENT_H
#define NODE_EVENT_H

#include "view/members.h"
#include "view/row.h"
#include "wire/message.h"

/* A host's name for the contents of a tensor. 0: none. */
struct handle {
    uint64_t id;
};

enum event_kind {
    EVENT_REQUEST,            /* A client wants a workflow run. */
    EVENT_CANCEL,             /* It no longer wants it. */
    EVENT_MESSAGE,            /* From another node. */
    EVENT_TENSOR_ARRIVED,     /* A message, and the tensor that came with it. */
    EVENT_SEND_READY,         /* A blocked peer takes messages again. */
    EVENT_LOAD_DONE,          /* A model became resident, or could not. */
    EVENT_UNLOAD_DONE,        /* A model's memory is free again. */
    EVENT_SHARE_READY,        /* A GPU share of a size can be used. */
    EVENT_BATCH_DONE,         /* A batch ended. */
    EVENT_ROW,                /* A row of another worker. */
    EVENT_PEER_HINT,          /* What the transport noticed about a peer. */
    EVENT_MEMBERS,            /* A new epoch of the member list. */
    EVENT_TIMER,              /* A time that was asked for has come. */
    EVENT_SOLVED,             /* A longer search has ended. */
    EVENT_REPOSITORY_CHANGED, /* A model came or went. */
    EVENT_DRAIN,              /* Finish what is here, take no more. */
    EVENT_UNDER_WAY,          /* A tensor that FIND asked after is on its way from here. */
    EVENT_EDITIONS,           /* Which editions of the repository can be run here. */
    EVENT_KINDS
};

struct event_request {
    uint64_t client; /* The host's name for it; comes back with the answer. */
    uint32_t workflow;
    uint32_t items;
    uint32_t priority;
    int64_t slo_ns;       /* The job ends then. 0: the workflow's own, which is only a target. */
    struct handle inputs; /* Kept by the node until it has answered. */
    uint64_t bytes;
    struct request_key key; /* Of a request that shall survive its owner. */
    uint64_t inputs_hash;   /* With a key: who uses it again with other inputs is refused. */
    bool is_retry;          /* With a key: the client has asked before, here or elsewhere. */
    uint32_t edition;       /* Of the repository: all tasks of the job run as it says. */
};

/* What one task of a batch made. */
struct output {
    struct handle tensor;
    uint64_t bytes;
    uint32_t items;
    enum weft_status status; /* Of this task alone; unless it is WEFT_OK there is no tensor. */
};

struct event_batch_done {
    uint32_t batch;
    enum weft_status status;
    int64_t run_ns;
    uint32_t output_count; /* One per task, in the order of the launch. 0 if all failed. */
    const struct output *outputs;
};

enum peer_hint {
    PEER_BROKEN,
    PEER_RESTORED,
    PEER_BLOCKED,
    PEER_UNMET, /* As BROKEN, but it may come within a moment: it has never been reached. */
};

/* What a timer is for. The node asks, and gets the same back. */
enum timer_kind {
    TIMER_PUBLISH,  /* A row has changed since it was last shown. */
    TIMER_DISPATCH, /* A queue waited for a fuller batch, or a load may be tried again. */
    TIMER_TICK,     /* The policy's period. */
    TIMER_REPAIR,   /* Jobs may have lost a worker: look at the next few. */
    TIMER_SILENCE,  /* A peer may have been silent for so long that it is not waited for. */
    TIMER_RETURN,   /* A peer that is back may become a deputy again. */
    TIMER_STALE,    /* What was sent to an earlier life of a peer may run again. */
    TIMER_AUDIT,    /* Ask after jobs that have been silent for long. */
    TIMER_HOME,     /* A home queue that nothing fitted is to be looked at again. */
    TIMER_DEADLINE, /* A client waits no longer. */
    TIMER_IDLE,     /* A model may have been idle for as long as its device keeps it. */
};

/* Timers that nothing waits for: they come round for ever, or ask for what may be gone. */
static inline bool timer_is_background(enum timer_kind kind)
{
    return kind == TIMER_TICK || kind == TIMER_DEADLINE || kind == TIMER_IDLE;
}

struct timer {
    enum timer_kind kind;
    uint32_t worker; /* PUBLISH, DISPATCH, IDLE. */
};

struct event {
    int64_t at_ns;
    enum event_kind kind;
    bool is_followed; /* REQUEST: another one is at hand, and what can start starts with that. */
    union {
        struct event_request request;
        struct job_id cancel;
        struct {
            const struct message *message;
            struct handle tensor; /* TENSOR_ARRIVED only. */
        } message;
        struct {
            uint32_t node;
            enum peer_hint hint;
        } peer; /* PEER_HINT; SEND_READY: only the node. */
        struct {
            uint32_t worker;
            uint32_t model;
            enum weft_status status;
            uint64_t bytes;     /* What it occupies now; 0: as the profile says. */
            uint64_t own_bytes; /* Of these: what no other worker shares. */
        } load;                 /* LOAD_DONE, UNLOAD_DONE. */
        struct {
            uint32_t worker;
            uint32_t name; /* As of RESHAPE. */
        } share;
        struct event_batch_done batch;
        const struct row *row;
        const struct members *members;
        struct timer timer;
        struct {
            uint64_t problem;
            const void *result;
        } solved;
        struct {
            uint32_t model;
            bool available; /* Again, or still: what was loaded before is out of date. */
            bool warm;      /* It is wanted in memory, if there is room. */
        } repository;
        struct {
            struct job_id job;
            uint32_t asker; /* As of FIND. */
        } under_way;
        struct {
            uint32_t count; /* At most EDITIONS_MAX. 0: there is but one, whatever it is. */
            const uint32_t *editions; /* Jobs that name another are not run here. */
        } held;
    };
};

#endif /* NODE_EVENT_H */
