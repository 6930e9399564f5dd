/*
 * pressing.h - tasks of home queues that wait for room, and who gives way to them.
 *
 * A home queue has the tasks of one workflow, and homes claim what is free whatever else waits. So
 * that priorities reach beyond a node, its rows say how urgent what waits there is, and for which
 * worker. Other homes claim nothing of that worker for tasks that rank half a level of priority
 * lower or more, and nothing at all for tasks that were put off, or that have no deadline and rank
 * minutes lower. What is idle elsewhere is no use to what waits, and is not left idle. As a level
 * is half a minute of waiting, no task waits for ever. Only of policies that want it (seat.yields).
 */
#ifndef NODE_PRESSING_H
#define NODE_PRESSING_H

#include "node/inside.h"

/* Home queues have been served: show whether something waits for room, and where. */
void pressing_say(struct node *node);

/* What rows of this node say of it. */
void pressing_show(const struct node *node, struct row_load *load);

/*
 * Whether the head of home queue @number was put off, or has no deadline, and gives way to what
 * waits anywhere.
 */
bool pressing_yields(struct node *node, uint32_t number);

/* Whether @worker is kept for something more urgent than the head of home queue @number. */
bool pressing_keeps(struct node *node, uint32_t number, uint32_t worker);

#endif /* NODE_PRESSING_H */
