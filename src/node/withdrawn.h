/*
 * withdrawn.h - tasks that were withdrawn from this node, or have run, before they were reserved.
 *
 * The owner reserves a task, and another node sends its input or, as it moves it elsewhere,
 * withdraws it: they speak on different connections, so either may be first. A reservation that
 * comes when nothing is left to come is not made.
 */
#ifndef NODE_WITHDRAWN_H
#define NODE_WITHDRAWN_H

#include "node/inside.h"

/*
 * Whether the owner of @visit has reserved the task of @message here, as far as who sends it knows:
 * the news of that may still come. Who moves a task notes what it does.
 */
bool withdrawn_can_be(
    const struct node *node, const struct visit *visit, const struct message *message);

/* The task of @message, which was not reserved here, comes no more. The oldest makes way. */
void withdrawn_keep(struct node *node, const struct message *message);

/* Whether that was said of task @number of the job of @message. It is forgotten then. */
bool withdrawn_take(struct node *node, const struct message *message, uint32_t number);

#endif /* NODE_WITHDRAWN_H */
