/*
 * inbox.h - messages that arrive, from other nodes or from this one.
 */
#ifndef NODE_INBOX_H
#define NODE_INBOX_H

#include "node/inside.h"

/* Handle a message without a tensor. One that makes no sense here is dropped. */
void inbox_message(struct node *node, const struct message *message);

/* Handle one with a tensor. One reference to @tensor passes to the receiver. */
void inbox_tensor(struct node *node, const struct message *message, uint32_t tensor);

/* The same for what this node sends to itself, which needs no check. */
void inbox_own_message(struct node *node, const struct message *message);
void inbox_own_input(struct node *node, const struct message *message, uint32_t tensor);

/* The sender of @message had no right to say it: leave a record, and nothing else. */
ATTR_COLD void inbox_ignore(struct node *node, const struct message *message);

#endif /* NODE_INBOX_H */
