/*
 * tickets.h - the tickets of the home queues that a node keeps, in their order.
 */
#ifndef NODE_TICKETS_H
#define NODE_TICKETS_H

#include "node/inside.h"

bool tickets_comes_before(const struct ticket *a, const struct ticket *b);

/* The task of @message waits. False if that was known, or is known better. */
bool tickets_join(struct node *node, const struct message *message);

/* The task of @message does not wait where it did. False if none waits here. */
bool tickets_leave(struct node *node, const struct message *message);

/* Take waiting ticket @slot out of its queue. */
void tickets_take(struct node *node, uint32_t slot);

/* Put it back where it was, unless its task is known to be elsewhere now. */
void tickets_put_back(struct node *node, uint32_t slot);

/* Waiting ticket @slot gives way to others for @hope: it waits behind all that was not put off. */
void tickets_put_off(struct node *node, uint32_t slot, enum hope hope);

/* Ticket @slot runs, or is put off: of tasks after the first ones the share is shown to others. */
void tickets_count(struct node *node, uint32_t slot, bool put_off);

/* Forget ticket @slot, which is in no queue; or tell its holder that it cannot run first. */
void tickets_forget(struct node *node, uint32_t slot);
void tickets_refuse(struct node *node, uint32_t slot, enum reason reason);

/* Forget tickets whose holders are gone. */
void tickets_repair(struct node *node);

/* What policies are told of the job of @ticket. */
struct job_facts tickets_facts(const struct node *node, const struct ticket *ticket);

/* What policies may know of the task of @ticket, whose job they know as @job. */
struct ready_facts tickets_ready(const struct ticket *ticket, const struct job_facts *job);

#endif /* NODE_TICKETS_H */
