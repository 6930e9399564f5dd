/*
 * keys.h - requests that survive their owner.
 *
 * A client may give its request a key, and ask again with the same key when its owner is lost. The
 * members rank themselves for every key by a hash, as homes do: the first is the owner, and a
 * client that comes to another node is redirected to it. The owner tells a deputy, the next in
 * rank, of the request, inputs and all, and tells its host once the deputy has answered: from then
 * on the request is safe. When the member list says that the owner is lost, the deputy opens a job
 * of its own for the request, with a deputy of its own. The new job has another name, so nothing
 * that is late of the old one can touch it. An owner that was only out of reach is told when it is
 * back; it drops its job and redirects its client. Attempts are counted over all owners, so that a
 * request that kills its owners does not walk through the cluster.
 *
 * The owner keeps answers by key for a while, and gives them again to a client that asks again. A
 * node that was not there when a request came does not know its key: its deputy then says that the
 * request is taken.
 */
#ifndef NODE_KEYS_H
#define NODE_KEYS_H

#include "node/inside.h"

void keys_init(struct node *node, bool is_on);

/* The slot of the request with @key, or POOL_NONE. */
uint32_t keys_find(const struct node *node, struct request_key key);

/*
 * Whether that is all for @request, which has a key: it is another node's, is known, or has been
 * answered.
 */
bool keys_request(struct node *node, const struct event_request *request);

/* Job @slot was opened for @request, which has a key: tell a deputy. */
void keys_opened(struct node *node, uint32_t slot, const struct event_request *request);

/*
 * Job @job ends. Whether its outputs are kept here: then so many as @count_out are in @outputs, and
 * are not to be released.
 */
bool keys_ended(
    struct node *node, struct job *job, enum weft_status status, enum reason reason,
    struct handle *outputs, uint32_t *count_out);

/* Messages: an owner tells of a request; its deputy knows of it, or has it already. */
void keys_depute(struct node *node, const struct message *message, uint32_t tensor);
void keys_deputed(struct node *node, const struct message *message);
void keys_taken(struct node *node, const struct message *message);

/* The owner of @job does not need a deputy for it any more. */
void keys_settled(struct node *node, struct job_id job);

/* Take over what lost its owner, and find deputies for what lost them. False when all is done. */
ATTR_COLD bool keys_repair(struct node *node);

/* @peer is a member again: if it is in the life in which it was taken for lost, it is told. */
ATTR_COLD void keys_returned(struct node *node, uint32_t peer);

/* Ask after what has been silent for long, and forget old answers. */
ATTR_COLD void keys_audit(struct node *node);

#endif /* NODE_KEYS_H */
