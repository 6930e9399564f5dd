/*
 * inside.h - what a runtime is made of. For the files of this layer alone.
 */
#ifndef RUNTIME_INSIDE_H
#define RUNTIME_INSIDE_H

#include <stdatomic.h>

#include "base/arena.h"
#include "engine/engine.h"
#include "fabric/directory.h"
#include "fabric/net.h"
#include "runtime/clock.h"
#include "runtime/loop.h"
#include "runtime/runtime.h"
#include "runtime/tensors.h"
#include "runtime/timeline.h"

struct hosted {
    struct node *node; /* NULL once it is lost. */
    struct arena arena;
    struct board board;
    struct node_pools pools;
};

/* A client that waits. */
struct ticket {
    uint32_t node;
    struct job_id job; /* Number 0 until accepted. */
    int64_t arrived_ns;
    struct runtime_request request;
};

struct runtime {
    struct runtime_options options; /* Its policies are the next: a copy, with their plans. */
    struct policy_set policies;
    struct arena arena; /* Of the effects and the plans. */
    struct clock clock;
    struct loop *loop;
    struct timeline timeline;
    struct net *net;
    struct directory *directory;
    struct engine *engine;
    struct tensors tensors;
    struct hosted *nodes;
    struct effects effects;
    struct policy_meter meter;
    struct pool tickets;
    struct engine_input *inputs; /* Scratch for a launch. */
    uint32_t inputs_max;
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

/* turn.c */

/* Let @node take @event now, and carry out what it says. A lost node takes nothing. */
void runtime_step(struct runtime *runtime, uint32_t node, struct event *event);

/* The next promise is kept. */
void runtime_turn(struct runtime *runtime, const struct due *due);

/* Note @due for @at_ns, or for now if that has passed. */
void runtime_promise(struct runtime *runtime, int64_t at_ns, const struct due *due);

/* What the net and the engine call. */
struct net_host runtime_net_host(struct runtime *runtime);
struct engine_host runtime_engine_host(struct runtime *runtime);

/* Give the request of ticket @slot to its node. */
void runtime_submit(struct runtime *runtime, uint32_t slot);

/* perform.c */

/* Carry out the effects of the last step, which @node made. */
void runtime_perform(struct runtime *runtime, uint32_t node);

/* Ticket @slot is finished: tell its client. */
void runtime_finish(struct runtime *runtime, uint32_t slot, struct runtime_answer *answer);

#endif /* RUNTIME_INSIDE_H */
