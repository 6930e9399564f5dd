/*
 * outbox.h - messages and tensors that leave, also for the node itself.
 *
 * What is meant for this node is handled at once, without a detour through the host.
 * What is meant for a blocked peer is parked until it takes messages again. What is meant for a
 * life of a peer that no list has named yet, because its owner was heard of by way of another
 * node, is parked until one does, or for as long as an audit is patient.
 */
#ifndef NODE_OUTBOX_H
#define NODE_OUTBOX_H

#include "node/inside.h"

/* Send @message to node @to. Its placement is copied. */
void outbox_send(struct node *node, uint32_t to, const struct message *message);

/* Send @message, of kind INPUT, with @tensor. One reference to the tensor is given up. */
void outbox_move(struct node *node, uint32_t to, const struct message *message, uint32_t tensor);

/* Peer @to takes no messages (@blocked), or takes them again. */
void outbox_block(struct node *node, uint32_t to, bool blocked);

/* Whether a tensor of @job waits here for a blocked peer. */
bool outbox_has(const struct node *node, struct job_id job);

/* Forget what was parked for lives of @to up to @incarnation, which are over. */
void outbox_forget(struct node *node, uint32_t to, uint32_t incarnation);

/* A list has named a life of @to: send what was parked for it. */
void outbox_heard(struct node *node, uint32_t to);

/* Forget what was parked for lives that were not heard of for too long. */
void outbox_audit(struct node *node);

/* A tensor with one reference. */
uint32_t tensor_take(struct node *node, struct handle handle, uint32_t items, uint64_t bytes);
void tensor_hold(struct node *node, uint32_t tensor);
void tensor_release(struct node *node, uint32_t tensor);
/* Give up one reference and hand the contents over. */
struct handle tensor_pass(struct node *node, uint32_t tensor);

#endif /* NODE_OUTBOX_H */
