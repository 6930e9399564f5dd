/*
 * fail_waiting.h - tasks that wait for what cannot be had: a model that does not load, a device
 * that is lost. They fail a batch at a time, before anything else starts on their worker.
 */
#ifndef NODE_FAIL_WAITING_H
#define NODE_FAIL_WAITING_H

#include "node/inside.h"

/* Fail every task that waits on @worker for @model now, before anything starts. */
void fail_waiting_for(struct node *node, struct worker *worker, uint32_t model, enum reason reason);

/* No more of them: @model can be had, or they have failed for another reason. */
void fail_waiting_stop(struct worker *worker, uint32_t model);

/*
 * Fail tasks that waited for a model when it could not be had, a batch of them a call.
 * True if there are more. What comes back to the same queue meanwhile is spared.
 */
bool fail_waiting_some(struct node *node, struct worker *worker);

#endif /* NODE_FAIL_WAITING_H */
