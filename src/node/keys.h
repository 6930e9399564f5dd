/*
 * keys.h - requests that survive their owner.
 *
 * A client may give its request a key, and ask again with the same key when it hears nothing. The
 * node that it came to is the owner of the job. Members rank themselves for every key by a hash, as
 * homes do; the first in rank, or the second if the owner is the first, is the deputy: the owner
 * tells it of the request, inputs and all, and starts at once, but gives no outputs to its client
 * before the deputy has said that it knows: from then on the request is safe. A client that asks
 * again says so; its node asks the first in rank, which is the owner, the deputy, or becomes the
 * owner, and passes the answer on. When the member list says that the owner is lost, the deputy
 * opens a job of its own, with a deputy of its own.
 * The new job has another name, so nothing that is late of the old one can touch it.
 *
 * One request may get two owners: two clients ask at the same time, or an owner was only out of
 * reach. A node that has the request, or is its deputy, says so to an owner that tells it of one,
 * and that waits for the answer like any other node that was asked. Of two owners that tell each
 * other, the first in rank goes on.
 *
 * Attempts are counted over all owners, so that a request that kills nodes does not walk through
 * the cluster. Only the first attempt of a request that is new runs at once: each later one waits
 * until a deputy knows how many have failed, or cannot be had.
 *
 * A client that hears nothing asks one node after the other, and each of them waits: all are given
 * the answer.
 *
 * Owner and deputy keep the answer for a while, as long as there is room. If one of them leaves,
 * the other hands it to the next in rank. What is asked for again and is not known to the first in
 * rank runs only when no member has said that it knows of it.
 */
#ifndef NODE_KEYS_H
#define NODE_KEYS_H

#include "node/inside.h"

void keys_init(struct node *node, bool is_on);

/* The slot of the request with @key, or POOL_NONE. */
uint32_t keys_find(const struct node *node, struct request_key key);

/* keys.c: clients, and jobs of this node. */

/* Whether that is all for @request, which has a key: it is known, or another node is asked. */
bool keys_request(struct node *node, const struct event_request *request);

/* Whether the answer of @job must wait: its deputy has not said that it knows of the request. */
bool keys_must_wait(const struct node *node, const struct job *job);

/* Nothing but its deputy keeps @job from going on: the host attends to what that says. */
void keys_stall(struct node *node, struct job *job);

/*
 * Job @slot was opened for @request, which has a key: tell a deputy, if there is one. It does not
 * wait for that: who asks again is asked about first, by keys_recall().
 */
void keys_opened(struct node *node, uint32_t slot, const struct event_request *request);

/*
 * Job @job ends. Whether its outputs are kept here: then so many as @count_out are in @outputs, and
 * are not to be released.
 */
bool keys_ended(
    struct node *node, struct job *job, enum weft_status status, enum reason reason,
    struct handle *outputs, uint32_t *count_out);

/*
 * The client of @job has gone. Whether that is all: the job is another node's, or is wanted
 * elsewhere as well.
 */
bool keys_cancelled(struct node *node, struct job_id job);

/*
 * An attempt of @job, which may have a key, has failed: its deputy counts it as well. Whether it
 * has one, which says when it has.
 */
bool keys_lost(struct node *node, struct job *job);

/*
 * Request @slot, which has its inputs here, becomes a job of this node; @is_loss: because its owner
 * is lost. Without room for a job the audit tries again.
 */
void keys_adopt(struct node *node, uint32_t slot, bool is_loss);

/* Tell a deputy of request @slot, a job of this node, if there is one to tell. */
void keys_tell_deputy(struct node *node, uint32_t slot);

/* Its deputies, but @other, need not know of request @slot, a job of this node, any more. */
void keys_release_deputies(struct node *node, uint32_t slot, uint32_t other);

/* Ask @peer for the answer of request @slot. */
void keys_ask(struct node *node, uint32_t slot, uint32_t peer);

/* Request @slot, whose outputs are here unless it has failed, is answered. */
void keys_answered(struct node *node, uint32_t slot, enum weft_status status, enum reason reason);

/* The client that waits here for request @slot hears that it ends without outputs. */
void keys_turn_away(struct node *node, uint32_t slot, enum weft_status status, enum reason reason);

/* Give the answer of request @slot to @peer. */
void keys_give(struct node *node, uint32_t slot, uint32_t peer);

/* Give it to all nodes that want it. */
void keys_pass_on(struct node *node, uint32_t slot);

/* @request, which has a key, waits here from now on. POOL_NONE: there is no room, it is refused. */
uint32_t keys_await(struct node *node, const struct event_request *request);

/* A name for a client that waits here for another node's job; its edition is @edition. */
struct job_id keys_receipt(struct node *node, uint32_t edition);

/* keys_peers.c: what other nodes say. */

/* An owner tells of a request; a node asks for one; an output of its answer. */
void keys_tensor(struct node *node, const struct message *message, uint32_t tensor);

/* A deputy knows of a request; has it already; an owner has tried again; has ended. */
void keys_message(struct node *node, const struct message *message);

/* Tell the sender of @message what became of what it said. */
void keys_reply(
    struct node *node, const struct message *message, enum message_kind kind,
    enum weft_status status, enum reason reason);

/* The owner of @job knows it no more. */
void keys_dropped(struct node *node, struct job_id job);

/* Whether @message, which asks after a job, is from the deputy of one that was answered. */
bool keys_queried(struct node *node, const struct message *message);

/* Job @slot, which has a key, goes on, or is answered, unless it still has to wait for a deputy. */
void keys_proceed(struct node *node, uint32_t slot);

/* keys_repair.c: when a node is lost, silent, or back. */

/* Take over what lost its owner, and find deputies for what lost them. False when all is done. */
ATTR_COLD bool keys_repair(struct node *node);

/* @peer is a member again: if it is in the life in which it was taken for lost, it is told. */
ATTR_COLD void keys_returned(struct node *node, uint32_t peer);

/* keys_audit.c: ask after what has been silent for long, and forget old answers. */
ATTR_COLD void keys_audit(struct node *node);

/* keys_recall.c: what was answered is not run again. */

/* Whether that is all for @request, which is not known here: all members are asked for it first. */
bool keys_recall(struct node *node, const struct event_request *request);

/* Ask all members whether they know of request @slot, which waits here; it runs if none does. */
void keys_recall_all(struct node *node, uint32_t slot);

/* A node that asks all members asks this one. */
void keys_recalled(struct node *node, const struct message *message);

/* Whether @peer was asked for request @slot so, and has it: its answer is waited for. */
bool keys_is_found(struct node *node, uint32_t slot, uint32_t peer);

/* One that was asked does not know. */
void keys_unknown(struct node *node, const struct message *message);

/* Wait no longer for lost ones that were asked for request @slot. Whether there were any. */
ATTR_COLD bool keys_recall_repair(struct node *node, uint32_t slot);

/* If no other node keeps the answer of request @slot any more, let one. Whether it was told. */
ATTR_COLD bool keys_hand_over(struct node *node, uint32_t slot);

/* Keep an answer that another node has. */
void keys_keep(struct node *node, const struct message *message);

#endif /* NODE_KEYS_H */
