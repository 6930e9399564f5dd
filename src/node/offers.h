/*
 * offers.h - tasks that are not placed, at the node that holds their inputs.
 *
 * Where the policy binds, a task whose inputs are complete waits where they are, and a
 * ticket for it goes to the home of its queue. The node that the home gives it to pulls it from
 * here. A ticket may be lost, or be there twice; the task is here once, and the first to
 * pull it has it.
 */
#ifndef NODE_OFFERS_H
#define NODE_OFFERS_H

#include "node/inside.h"

/* Task @slot, whose inputs are all here, waits to be claimed. */
void offers_make(struct node *node, uint32_t slot);

/* Send the ticket of OFFERED task @slot again: its home may have lost it, or be lost. */
void offers_again(struct node *node, uint32_t slot);

/* Whether the home that has the ticket of @task is gone. */
bool offers_is_lost(const struct node *node, const struct task *task);

/* OFFERED task @slot goes for another reason: tell its home to forget it. */
void offers_withdraw(struct node *node, uint32_t slot);

/* A worker has been granted a task, and asks for it; or it can run nowhere. */
void offers_pulled(struct node *node, const struct message *message);
/* It has waited for that task for long: if it has left here, is it still under way? */
void offers_sought(struct node *node, const struct message *message);
void offers_unfit(struct node *node, const struct message *message);

#endif /* NODE_OFFERS_H */
