/*
 * early.h - news of a job that comes before the news of its sender.
 *
 * A node that has got a task from another, or taken it, may say what became of it before the owner
 * has heard from the other where it went: they speak on different connections, and to an owner that
 * has just restarted each speaks when a list has told it of that. An owner takes news of a job only
 * from nodes that it knows to have some of it, so what such a node says waits here, and counts when
 * the owner has heard of it. What is never explained is ignored, when newer news needs the room.
 */
#ifndef NODE_EARLY_H
#define NODE_EARLY_H

#include "node/inside.h"

void early_init(struct node *node, struct arena *arena);

/* @message, of a node that is not known to have some of its job, waits: it can be early. */
void early_keep(struct node *node, const struct message *message);

/* The owner has heard that tasks have moved: take the news that has waited for that. */
void early_take(struct node *node);

#endif /* NODE_EARLY_H */
