/*
 * weft_inputs.h - where the inputs of a batch of a home queue are.
 *
 * They lie where their producers ran. Those at the worker that runs the batch need not travel, and
 * its node takes such tasks first.
 */
#ifndef POLICY_WEFT_INPUTS_H
#define POLICY_WEFT_INPUTS_H

#include "policy/fit.h"

struct weft_inputs {
    uint64_t holders; /* A bit for each node that has some, modulo 64. */
};

/* What is known of the inputs of the queue that @ask is about. */
void weft_inputs_find(struct weft_inputs *inputs_out, const struct fit_ask *ask);

/* The node with the inputs of task @index of the queue; NODE_NONE: not known. */
uint32_t weft_inputs_node(const struct fit_ask *ask, uint32_t index);

/* Until the inputs of @items tasks are at node @to, whose link they share. */
int64_t weft_inputs_arrive_ns(
    const struct weft_inputs *inputs, const struct fit_ask *ask, uint32_t items, uint32_t to);

#endif /* POLICY_WEFT_INPUTS_H */
