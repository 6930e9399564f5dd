/*
 * drain.h - a node that is about to leave: it finishes what it runs, and hands on what only waits.
 *
 * Its rows say that it takes no more. What waits here for a worker, and belongs to a job of another
 * node, goes to a worker of another node, as if that had stolen it: no job has to run again from
 * its inputs. What cannot run anywhere else runs here.
 */
#ifndef NODE_DRAIN_H
#define NODE_DRAIN_H

#include "node/inside.h"

/* Take no more. */
ATTR_COLD void drain_begin(struct node *node);

/* Hand on what waits at @worker, a few tasks a step. True if there are more. */
ATTR_COLD bool drain_hand_on(struct node *node, struct worker *worker);

/* Whether nothing of any job is here, nor on its way from here. */
bool drain_is_over(const struct node *node);

#endif /* NODE_DRAIN_H */
