/*
 * inside.h - what a runtime is made of. For the files of this layer alone.
 */
#ifndef RUNTIME_INSIDE_H
#define RUNTIME_INSIDE_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/map.h"
#include "engine/engine.h"
#include "fabric/net.h"
#include "fabric/roster.h"
#include "node/ingress.h"
#include "runtime/busy.h"
#include "runtime/causes.h"
#include "runtime/clock.h"
#include "runtime/editions.h"
#include "runtime/loop.h"
#include "runtime/remote.h"
#include "runtime/runtime.h"
#include "runtime/tensors.h"
#include "runtime/timeline.h"

struct hosted {
    struct node *node; /* NULL once it is lost. */
    struct arena arena;
    struct board board;
    struct node_pools pools;
    void *solved; /* The last search that found something: the policy may still read it. */
};

/* A client that waits. */
struct client {
    uint32_t node;
    struct job_id job; /* Number 0 until accepted. */
    uint32_t deputy;   /* That knows of it; NODE_NONE: none. */
    int64_t arrived_ns;
    struct runtime_request request;
};

/* A batch that runs. */
struct running {
    uint32_t worker;
    uint32_t workflow;
    uint32_t task;
    uint32_t items; /* Of all its tasks. */
    uint32_t task_count;
    struct config config;
    int64_t launched_ns;
    struct slowing met;   /* On a processor: as busy_begin() gave it, and busy_end() at last. */
    uint32_t fresh_count; /* As in struct runtime_ran. */
    uint32_t fresh;
    bool is_not_taken; /* The engine had no memory for it, which the node is told soon. */
};

struct runtime {
    struct runtime_options options; /* Its policies are the next: a copy, with their plans. */
    struct policy_set policies;
    struct plan_input known; /* What is known before the first job, for searches as well. */
    struct arena arena;      /* Of the effects and the plans. */
    struct clock clock;
    struct loop *loop;
    struct timeline timeline;
    struct net *net;
    struct roster *roster;
    struct engine *engine;
    struct tensors tensors;
    struct hosted *nodes;
    struct effects effects;
    struct policy_meter meter;
    struct ingress ingress;
    struct pool clients;
    struct causes causes;
    struct {
        uint32_t serves;
        uint32_t next; /* That it serves when its nodes have heard of it. */
        uint32_t count;
        uint32_t held[EDITIONS_MAX];
        runtime_revised *revised; /* Of the revision under way. NULL: there is none. */
        void *context;
    } editions;                     /* editions.h */
    struct runtime_hearing hearing; /* All zero: none. */
    struct pool running;            /* Batches. */
    struct map running_by_key;      /* By batch_key(): their slots. */
    struct busy *busy;              /* By node. */
    int64_t *load_starts;           /* By worker and model: when the last load began. */
    struct model_set *fresh;        /* By worker: models that have not run since their load. */
    uint32_t engine_open;           /* What was asked of the engine and has not ended. */
    uint32_t pass;               /* The model that is handed on here; MODEL_NONE: the engine's. */
    struct engine_input *inputs; /* Scratch for a launch. */
    uint32_t inputs_max;
    bool has_looked; /* The engine had something before the loop was waited for. */
    bool waiting;    /* Callbacks of the loop come: time has passed since it was looked at. */
    bool stepping;   /* The effects of a step are being carried out. */
    bool rows_ready; /* The net has rows to hand over. */
    bool rows_flow;  /* It is doing so. */
    atomic_bool stopped;
    uint64_t requested;
    uint64_t answered;
    uint64_t steps;
};

/* Batches are numbered by their nodes; the engine serves all of them. */
static inline uint64_t batch_key(uint32_t node, uint32_t batch)
{
    return (uint64_t)node << 32 | batch;
}

/* due.c */

/* Let @node take @event now, and carry out what it says. A lost node takes nothing. */
void runtime_step(struct runtime *runtime, uint32_t node, struct event *event);

/* Do what is due now. */
void runtime_take_due(struct runtime *runtime, const struct due *due);

/* Note @due for @at_ns, or for now if that has passed. */
void runtime_add_due(struct runtime *runtime, int64_t at_ns, const struct due *due);

/* What the net calls. */
struct net_host runtime_net_host(struct runtime *runtime);

/* Look at the clock again, if this is inside of a callback of the loop. */
void runtime_refresh(struct runtime *runtime);

/* devices.c */

void runtime_devices_init(struct runtime *runtime);
void runtime_devices_deinit(struct runtime *runtime);

/* What the engine calls. */
struct engine_host runtime_engine_host(struct runtime *runtime);

/* Effects, for the engine. */
void runtime_load(struct runtime *runtime, uint32_t worker, uint32_t model);
void runtime_cancel_load(struct runtime *runtime, uint32_t worker, uint32_t model);
void runtime_unload(struct runtime *runtime, uint32_t worker, uint32_t model);
void runtime_reshape(struct runtime *runtime, uint32_t worker, uint32_t gpu);
void runtime_launch(struct runtime *runtime, uint32_t number, const struct effect_launch *effect);
void runtime_cancel_batch(struct runtime *runtime, uint32_t node, uint32_t batch);

/* Batch @key of node @number, of weft.pass, is done: its inputs are its outputs. */
void runtime_passed(struct runtime *runtime, uint32_t number, uint64_t key);

/* Batch @key of node @number was not taken by the engine, for want of memory: it has failed. */
void runtime_not_taken(struct runtime *runtime, uint32_t number, uint64_t key);

/* editions.c: let @node know which editions it can run. */
void runtime_tell_editions(struct runtime *runtime, uint32_t node);

/* editions.c: @done is the end of a revision. */
void runtime_tell_revised(struct runtime *runtime, const struct engine_done *done);

/* perform.c */

/* Carry out the effects of the last step, which @node made. */
void runtime_perform(struct runtime *runtime, uint32_t node);

/* Tell client @slot the end of its request, and forget it. */
void runtime_finish(struct runtime *runtime, uint32_t slot, struct runtime_answer *answer);

/* remote.c */

/*
 * Make the net of @runtime, whose other nodes are remote.
 *
 * Errors: those of net_stream_create().
 */
enum weft_status runtime_make_remote_net(struct runtime *runtime, struct weft_error *error);

/*
 * What of @tensor goes to another process with @message: of an input only what its consumer takes,
 * and the message is told how much that is. The caller owns it.
 */
struct handle runtime_take_part(
    struct runtime *runtime, struct handle tensor, struct message *message);

/* Take what of @message of another process is for the host. Whether that is all of it. */
bool runtime_heard(struct runtime *runtime, const struct message *message);

#endif /* RUNTIME_INSIDE_H */
