/*
 * gather.h - tasks that are shorter than the way to their worker go together.
 *
 * A batch costs a hand-off, whatever it runs. Where that takes longer than to run all tasks of a
 * kind that wait, one batch of all ends as soon as several, and leaves the processors to others. So
 * a worker takes along what other workers of its node have waiting of the same kind; and tasks of a
 * worker that is idle wait for a batch that another one is about to end. They wait no longer than
 * two hand-offs: what is later is not waited for.
 *
 * Only on processors, and where the policy lets the workers of a node share their queues.
 */
#ifndef NODE_GATHER_H
#define NODE_GATHER_H

#include "node/inside.h"

/* Whether @items more of queue @number, which may be none, are best off with the next batch of
 * @worker, which may be running one. */
bool gather_pays(
    const struct node *node, const struct worker *worker, uint32_t number, uint32_t items);

/* Let the first tasks of @worker, if it is idle, go along with another's, or others with them. */
void gather_near(struct node *node, struct worker *worker);

#endif /* NODE_GATHER_H */
