/*
 * steal.h - an idle worker takes a task from another.
 *
 * Workers of one node share their queues, where the policy says so: inputs are in the same memory.
 * A worker that is free takes the task that a busy one has waiting, if it is before all of its own,
 * or if it has none and would not have to load a model for longer than the task waits there.
 *
 * A worker of another node is asked for a task.
 * It gets one only if that would end sooner there, with the way of its inputs counted twice, for
 * they delay others. No model is loaded for it, which would push out others. Tasks at which
 * branches start stay: some nodes know already where they are, and expect branches to meet there.
 */
#ifndef NODE_STEAL_H
#define NODE_STEAL_H

#include "node/inside.h"

/* Let @worker, if it is free, take a task from a busy worker of this node. False if none is due. */
bool steal_near(struct node *node, struct worker *worker);

/* Whether @worker has nothing to do and may ask for work. */
bool steal_is_due(const struct node *node, const struct worker *worker);

/* Ask for work if @worker has none and the policy knows whom to ask. */
void steal_try(struct node *node, struct worker *worker);

/* Another worker asks one of ours: give it a task that ends sooner there, or say no. */
void steal_asked(struct node *node, const struct message *message);

/* There was nothing to give to @worker. */
void steal_refused(struct node *node, uint32_t worker);

#endif /* NODE_STEAL_H */
