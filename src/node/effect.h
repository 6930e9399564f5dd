/*
 * effect.h - everything a node can ask of its host, the rows it shows, and the records of
 * what it did.
 *
 * A host notes the records, shows the rows to the other nodes, and then carries out the effects,
 * each list in its order. Rows come before messages of the same step, so that a node that is told
 * of a task, or of the end of a batch, finds the row that goes with it. Load, unload, reshape,
 * launch, move and solve are asynchronous, end in an event and may fail; the rest is done at once
 * and cannot. Pointers are valid until the node's next step.
 */
#ifndef NODE_EFFECT_H
#define NODE_EFFECT_H

#include "node/event.h"
#include "node/record.h"
#include "profile/profile.h"

enum effect_kind {
    EFFECT_ACCEPT,       /* The request became a job. */
    EFFECT_REFUSE,       /* It did not. Its client is told. */
    EFFECT_ANSWER,       /* The job ended. Its client is told. */
    EFFECT_SEND,         /* A message to another node. */
    EFFECT_MOVE,         /* A message and a tensor. The host holds the contents until they left. */
    EFFECT_RELEASE,      /* The node's reference to a tensor is gone. */
    EFFECT_LOAD,         /* Bring a model into a worker's memory. */
    EFFECT_CANCEL_LOAD,  /* Its result is not wanted: no LOAD_DONE follows. */
    EFFECT_UNLOAD,       /* Give a model's memory back. */
    EFFECT_RESHAPE,      /* Make a GPU share of a size ready. */
    EFFECT_LAUNCH,       /* Run a batch. */
    EFFECT_CANCEL_BATCH, /* Its result is not wanted: no BATCH_DONE follows. */
    EFFECT_WAKE_AT,      /* Send a timer event. */
    EFFECT_SOLVE,        /* Run a longer search off the loop. */
    EFFECT_FIND,         /* If a tensor of a job has left here and not arrived, say UNDER_WAY. */
    EFFECT_KINDS
};

struct effect_answer {
    uint64_t client;
    struct job_id job;
    enum weft_status status;
    enum reason reason;
    int64_t retry_after_ns;       /* REFUSE only. */
    uint32_t output_count;        /* One a sink, if the status is WEFT_OK. */
    const struct handle *outputs; /* The host takes these references over, but for `is_kept`. */
    bool is_kept;                 /* The node keeps them: the host needs references of its own. */
};

/* The tasks of a batch and their inputs are read by node_batch_task(). */
struct effect_launch {
    uint32_t batch;
    uint32_t worker;
    uint32_t workflow;
    uint32_t task;
    struct config config;
    uint32_t slice; /* Of a MIG instance: where it starts. */
    uint32_t items;
    uint32_t task_count;
    uint32_t edition; /* Of the repository: all these tasks name it. */
};

struct effect {
    enum effect_kind kind;
    union {
        struct {
            uint64_t client;
            struct job_id job;
            uint32_t deputy; /* That knows of it. At first NODE_NONE; said again when one does. */
        } accept;
        struct effect_answer answer; /* ANSWER, REFUSE. */
        struct {
            uint32_t node;
            struct handle tensor; /* MOVE. */
            struct message message;
        } send;
        struct handle release;
        struct {
            uint32_t worker;
            uint32_t model;
            uint64_t bytes; /* To load. */
        } load;             /* LOAD, CANCEL_LOAD, UNLOAD. */
        struct {
            uint32_t worker;
            uint32_t share; /* Its name, for SHARE_READY. Below 256: its units. */
        } reshape;
        struct effect_launch launch;
        uint32_t batch; /* CANCEL_BATCH. */
        struct {
            int64_t at_ns;
            struct timer timer;
        } wake;
        struct {
            uint64_t problem;
            const void *question; /* What the policy wrote for its search. */
        } solve;
        struct {
            struct job_id job;
            uint32_t asker; /* The node that wants to know. */
        } find;
    };
};

/* What a step has to say; the host's memory, cleared by each step. */
struct effects {
    uint32_t capacity; /* Of effects, of records and of rows. */
    uint32_t count;
    struct effect *items;
    uint32_t record_count;
    struct record *records; /* What was done, and why. */
    uint32_t row_count;
    const struct row **rows;  /* Of own workers, each once, to be shown to the other nodes. */
    uint32_t placement_count; /* Entries used by the placements of messages. */
    uint32_t placement_capacity;
    uint16_t *placements;
};

#endif /* NODE_EFFECT_H */
