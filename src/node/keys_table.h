/*
 * keys_table.h - the requests with keys that a node knows, and which node is which for a key.
 */
#ifndef NODE_KEYS_TABLE_H
#define NODE_KEYS_TABLE_H

#include "node/access.h"
#include "node/jobs.h"

static inline struct keyed *keyed_at(const struct node *node, uint32_t slot)
{
    return pool_at(&node->pools->keyed, slot);
}

/* The slot of the request whose job is @job, or POOL_NONE. */
uint32_t keyed_find_job(const struct node *node, struct job_id job);

/* The slot of the request with @key, or POOL_NONE. One that is only copied in part is forgotten. */
uint32_t keyed_find_whole(struct node *node, struct request_key key);

/*
 * As @given, which becomes known; old answers make room for it. POOL_NONE if its key or job is too
 * much like another's, or there is no room.
 */
uint32_t keyed_add(struct node *node, const struct keyed *given);

/* Give back what request @slot holds, and forget it. */
void keyed_forget(struct node *node, uint32_t slot);

/* The job of request @slot is @job from now on. */
void keyed_rename(struct node *node, uint32_t slot, struct job_id job);

/* Request @slot waits for another node from now on, under a name of this one. */
void keyed_wait(struct node *node, uint32_t slot);

/* The tensors that request @slot holds have changed. */
void keyed_weigh(struct node *node, uint32_t slot);

void keyed_drop_inputs(struct node *node, uint32_t slot);
void keyed_drop_outputs(struct node *node, uint32_t slot);

/* What a node that waits for the answer of @entry is told, if that is all it gets. */
struct message keyed_settled(
    const struct keyed *entry, enum weft_status status, enum reason reason);

/* What is said to a node that has @job of the request of @entry, and is not to go on with it. */
struct message keyed_taken(const struct keyed *entry, struct job_id job);

/* @peer wants the answer of request @slot as well. Too many: the first of them is told to give up.
 */
void keyed_follow(struct node *node, uint32_t slot, uint32_t peer);

/* @peer, if it is one of those that want the answer of @entry, need not be told. */
void keyed_unfollow(struct keyed *entry, uint32_t peer);

/* Output @number of request @slot is @tensor; one that is there already stays. */
void keyed_put_output(struct node *node, uint32_t slot, uint32_t number, uint32_t tensor);

/* Show the outputs that @entry keeps, by sink, in @outputs. How many there are. */
uint32_t keyed_show_outputs(
    const struct node *node, const struct keyed *entry, struct handle *outputs);

/* The first in rank for @key among the members but @other; NODE_NONE if there is none. */
uint32_t keyed_first_but(const struct node *node, struct request_key key, uint32_t other);

/* Whether @a is before @b in rank for @key. */
bool keyed_outranks(struct request_key key, uint32_t a, uint32_t b);

/* Whether the owner of the job of @entry is lost; or silent, if the answer is wanted from here. */
bool keyed_is_orphan(const struct node *node, const struct keyed *entry);

/* Whether the deputy of @entry, or the node that it asked, is lost or silent. */
bool keyed_has_lost_deputy(const struct node *node, const struct keyed *entry);

/* Whether @message is about another request than @entry, which has the same key. */
static inline bool keyed_differs(const struct keyed *entry, const struct message *message)
{
    return entry->inputs_hash != message->deputy.inputs_hash ||
           entry->workflow != message->workflow;
}

/* @status as messages have it. */
static inline uint32_t status_code(enum weft_status status)
{
    return (uint32_t)(-(int)status);
}

/* Whether a client, or another node, wants the answer of @entry from here. */
static inline bool keyed_is_wanted(const struct keyed *entry)
{
    return entry->client != CLIENT_NONE || entry->follower_count > 0;
}

/* Whether nothing was heard of @entry for as long as its patience lasts. */
static inline bool keyed_is_overdue(const struct node *node, const struct keyed *entry)
{
    return now_ns(node) - entry->touched_ns >= AUDIT_NS << entry->tries;
}

/* It is asked after once more: the next time after twice as long. */
static inline void keyed_lose_patience(struct keyed *entry)
{
    entry->tries = (uint8_t)min_u32(entry->tries + 1u, KEYED_PATIENCE_SHIFT_MAX);
}

#endif /* NODE_KEYS_TABLE_H */
