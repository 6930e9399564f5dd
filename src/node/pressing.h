/*
 * pressing.h - tasks of home queues that wait for room, and who gives way to them.
 *
 * A home queue has the tasks of one workflow, and homes claim what is free whoever else waits. So
 * that priorities reach beyond a node, its rows say how urgent what waits there is, and other homes
 * claim nothing for tasks that rank half a level of priority lower or more. As a level is half a
 * minute of waiting, no task waits for ever. Only of policies that want it (seat.yields).
 */
#ifndef NODE_PRESSING_H
#define NODE_PRESSING_H

#include "node/inside.h"

/* Home queues have been served: show whether something waits for room. */
void pressing_say(struct node *node);

/* What rows of this node say of it: see struct row_load. */
uint32_t pressing_urgency(const struct node *node);

/* Whether the head of home queue @number gives way to what waits elsewhere. */
bool pressing_yields(struct node *node, uint32_t number);

#endif /* NODE_PRESSING_H */
