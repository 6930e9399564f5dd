/*
 * weft_inputs.h - where the inputs of a batch of a home queue are, and what bringing them costs.
 *
 * They lie where their producers ran. Those at the worker that runs the batch need not travel, and
 * its node takes such tasks first. What travels holds up others on its way, which costs them a toll
 * (weft_links.h): that of the dearest link, as all of a way are used at the same time.
 *
 * A home sees no link. It knows what its own batches brought within about the last second, and
 * takes it that all homes bring as much. A home of little knows too little by that, and one of much
 * too much; but it is the second whose inputs fill links. Ways that are short beside a run are
 * free.
 */
#ifndef POLICY_WEFT_INPUTS_H
#define POLICY_WEFT_INPUTS_H

#include "policy/fit.h"
#include "policy/weft_links.h"

/* Machines and racks that are told apart; with more of them some are taken for one. */
enum { WEFT_MACHINES = 256, WEFT_RACKS = 64 };

/* Links as a home knows them, in the direction of each name. All zero: nothing was brought. */
struct weft_brought {
    struct weft_link up[WEFT_MACHINES];
    struct weft_link down[WEFT_MACHINES];
    struct weft_link out[WEFT_RACKS]; /* The first: the one link of a bottleneck as well. */
    struct weft_link in[WEFT_RACKS];
};

/* Where inputs of a task are, and what it costs others to let those of one item leave. */
struct weft_source {
    uint32_t node;      /* NODE_NONE: not known. */
    int64_t machine_ns; /* On the link of its machine; */
    int64_t rack_ns;    /* and on that of its rack. */
};

struct weft_inputs {
    const struct fit_ask *ask;
    const struct weft_brought *brought;
    bool are_near;     /* Their ways are so short that they are free. */
    bool are_together; /* All are at one node. */
    uint64_t holders;  /* A bit for each node that has some, modulo 64. */
    struct weft_source sources[QUEUE_LOOKS_MAX + 1]; /* The last stands for all others. */
};

/* What is known of the inputs of the queue that @ask is about, whose fastest run takes @run_ns. */
void weft_inputs_find(
    struct weft_inputs *inputs_out, const struct fit_ask *ask, const struct weft_brought *brought,
    int64_t run_ns);

/* The node with the inputs of task @index of the queue; NODE_NONE: not known. */
uint32_t weft_inputs_node(const struct weft_inputs *inputs, uint32_t index);

/* Until the inputs of @items tasks are at node @to, whose link they share, on idle links. */
int64_t weft_inputs_arrive_ns(const struct weft_inputs *inputs, uint32_t items, uint32_t to);

/* What they cost others. */
int64_t weft_inputs_toll_ns(const struct weft_inputs *inputs, uint32_t items, uint32_t to);

/* What it costs others on the link into node @to to bring @bytes there from another. */
int64_t weft_brought_toll_ns(
    const struct weft_brought *brought, const struct policy_input *input, uint32_t to,
    uint64_t bytes);

/* A task that is placed brings @bytes to node @to, as do those of other nodes. */
void weft_brought_note(
    struct weft_brought *brought, const struct policy_input *input, uint32_t to, uint64_t bytes);

/* They are brought there, and what all homes bring is counted. */
void weft_inputs_bring(
    const struct weft_inputs *inputs, uint32_t items, uint32_t to, struct weft_brought *brought);

#endif /* POLICY_WEFT_INPUTS_H */
