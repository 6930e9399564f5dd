/*
 * withdrawn.h - tasks that were withdrawn from this node before they were reserved here.
 *
 * The owner reserves a task, and the node that moves it elsewhere withdraws it: they speak on
 * different connections, so either may be first. A reservation that comes second is not made.
 */
#ifndef NODE_WITHDRAWN_H
#define NODE_WITHDRAWN_H

#include "node/inside.h"

/* The task of @message, which is not known here, was withdrawn. The oldest such news makes way. */
void withdrawn_keep(struct node *node, const struct message *message);

/* Whether task @number of the job of @message was withdrawn before. It is said once. */
bool withdrawn_take(struct node *node, const struct message *message, uint32_t number);

#endif /* NODE_WITHDRAWN_H */
