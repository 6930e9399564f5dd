/*
 * home.h - queues of the whole cluster's waiting tasks, at the node that keeps them.
 *
 * Where the policy binds, each (workflow, task) has a home that all nodes agree on without
 * asking: the member with the highest hash. If two do not agree for a while, there are two
 * queues for a while. A home has tickets, not tasks; it asks the policy for configs and
 * workers, and claims the first that fits by what it believes. Whether it really fits is
 * for the worker's node to say.
 */
#ifndef NODE_HOME_H
#define NODE_HOME_H

#include "node/inside.h"

/* Whether there are home queues: tasks that are not placed wait in them. */
static inline bool home_is_kept(const struct node *node)
{
    return node->home.queues != NULL;
}

/* The node that keeps queue @queue. */
uint32_t home_of(struct node *node, uint32_t queue);

/* A task waits somewhere; it does not any more. */
void home_offered(struct node *node, const struct message *message);
void home_gone(struct node *node, const struct message *message);

/* Something has ended here: whatever waits in queues that this node keeps may fit now. */
void home_freed(struct node *node);

/* A claim was declined; its batch has ended. */
void home_declined(struct node *node, const struct message *message);
void home_ended(struct node *node, const struct message *message);

/* Whether something has happened to a queue that this node keeps. */
bool home_is_due(const struct node *node);

/* Before a step ends: claim what can be claimed from the queues that something happened to. */
void home_serve(struct node *node);

/* What has become due since is looked at in a step of its own. */
void home_linger(struct node *node);

/* Queues whose pause is over are to be looked at. */
void home_timer(struct node *node);

/* Members were lost: forget tickets of tasks that were there, take back claims for them. */
void home_repair(struct node *node);

/* Ask after claims of which nothing has been heard for long. */
void home_audit(struct node *node);

#endif /* NODE_HOME_H */
