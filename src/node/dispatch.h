/*
 * dispatch.h - a worker's queues, and the batches it runs.
 *
 * One queue for each task of each workflow, so that what is batched together has the
 * same model, the same rest of the way and the same deadline policy. Queues are looked
 * at in the order of their heads; one whose models are not resident does not hold up
 * the next.
 */
#ifndef NODE_DISPATCH_H
#define NODE_DISPATCH_H

#include "node/inside.h"

/* Put task @slot, whose inputs are all here, into its queue. */
void dispatch_queue(struct node *node, uint32_t slot);

/* Take task @slot out of its queue again. */
void dispatch_unqueue(struct node *node, uint32_t slot);

/* Queued task @slot gives way to others for @hope: it waits behind all that was not put off. */
void dispatch_put_off(struct node *node, uint32_t slot, enum hope hope);

/* Whether task @a runs before @b, of any workers of one node. */
bool dispatch_is_before(const struct task *a, const struct task *b);

/* Let queued task @slot wait at @worker, another one of this node, with the rank it has. */
void dispatch_move(struct node *node, uint32_t slot, struct worker *worker);

/* Running task @slot is not wanted. Its batch is cancelled with the last that was wanted. */
void dispatch_abandon(struct node *node, uint32_t slot);

/* Start what can be started on @worker, and bring in what it will need next. */
void dispatch_worker(struct node *node, struct worker *worker);

/* Look at @worker again at @at_ns, unless that is to be done before. */
void dispatch_wake(struct node *node, struct worker *worker, int64_t at_ns);

/* A dispatch timer of @worker has come. */
void dispatch_timer(struct node *node, struct worker *worker);

/* A batch has ended, well or not. */
void dispatch_done(struct node *node, const struct event_batch_done *done);

#define QUEUE_NONE UINT32_MAX

/*
 * The queue of @worker whose head runs next after that of @after, or first of all if that is
 * QUEUE_NONE. QUEUE_NONE if there is none.
 */
uint32_t dispatch_next_queue(const struct worker *worker, uint32_t after);

/* The workflow and task that queue @queue is for. */
const struct workflow_task *dispatch_queue_task(
    const struct node *node, uint32_t queue, uint32_t *workflow_out, uint32_t *task_out);

#endif /* NODE_DISPATCH_H */
