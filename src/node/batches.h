/*
 * batches.h - batches of a worker: the units they hold, their start and their end.
 *
 * Shares never exceed the device, nor processors the machine: the caller that opens a batch has
 * seen that they are free. What runs in it is for dispatch.h and grants.h to say.
 */
#ifndef NODE_BATCHES_H
#define NODE_BATCHES_H

#include "node/inside.h"

/*
 * Take the units of @config on @worker for a batch of @task of @workflow, which has no
 * tasks and runs nothing yet. Returns its slot.
 */
uint32_t batches_open(
    struct node *node, struct worker *worker, uint32_t workflow, uint32_t task,
    struct config config);

/* What batch @slot holds has changed: every row that shows it is brought up to date. */
void batches_changed(struct node *node, struct worker *worker, uint32_t slot);

/* Its config as profiles know it: the whole device is 0 units. */
struct estimate batches_estimate(const struct node *node, const struct batch *batch);

/* @batch of @worker took @run_ns: learn whether the worker is slower than its profile says. */
void batches_learn(
    const struct node *node, struct worker *worker, const struct batch *batch, int64_t run_ns);

/* Batch @slot has its tasks, models and memory: run it, once its share is there. */
void batches_start(struct node *node, struct worker *worker, uint32_t slot);

/* The @share that the host was asked to make ready can be used on @worker. */
void batches_share_ready(struct node *node, struct worker *worker, uint32_t share);

/* Give back what batch @slot held, and take it off its worker. Its slot stays taken. */
void batches_close(struct node *node, struct worker *worker, uint32_t slot);

#endif /* NODE_BATCHES_H */
