/*
 * members.h - who belongs to the cluster, who is suspected, and what follows from it.
 *
 * The directory's list is the verdict: what was on a node that left is lost. A broken
 * connection is only a hint: nothing new goes there until the list, or the connection,
 * says otherwise. Where no verdict comes, since the directory is away or still hears the peer,
 * what waits for a peer that is silent for SILENT_NS does not wait any longer.
 */
#ifndef NODE_MEMBERS_H
#define NODE_MEMBERS_H

#include "node/inside.h"

/* A new epoch. Older ones are ignored. */
ATTR_COLD void members_changed(struct node *node, const struct members *members);

/* Find out which nodes are of other cells. Returns whether that has changed. */
ATTR_COLD bool members_divide(struct node *node);

/* The transport noticed something about @peer. */
ATTR_COLD void members_hint(struct node *node, uint32_t peer, enum peer_hint hint);

/* Whether @peer is a member, as far as is known within reach. */
static inline bool members_is_in_reach(const struct node *node, uint32_t peer)
{
    return members_is_up(node->view.members, peer) && !suspects_has(&node->view.suspects, peer);
}

/*
 * Whether @life of @peer, last heard of at @since_ns, counts as lost: it is over, or
 * no list names it for as long as an audit is patient, so that it ended before it was listed.
 */
static inline bool members_has_lost(
    const struct node *node, uint32_t peer, uint32_t life, int64_t since_ns)
{
    const struct members *members = node->view.members;
    return members_is_over(members, peer, life) ||
           (members_is_unheard(members, peer, life) && node->view.now_ns - since_ns >= AUDIT_NS);
}

/* Whether @peer, a member, has been out of reach for SILENT_NS. */
ATTR_COLD bool members_is_silent(const struct node *node, uint32_t peer);

/* Look in a while whether requests can be told to deputies that were out of reach. */
ATTR_COLD void members_return_later(struct node *node);

/* A peer that came back some time ago may become a deputy again. */
ATTR_COLD void members_returned(struct node *node);

/* The time of the first silence that is to be looked at has come. */
ATTR_COLD void members_listen(struct node *node);

/* Messages for @peer flow again. */
ATTR_COLD void members_ready(struct node *node, uint32_t peer);

/* Something may have been lost: look at all jobs and visits, in steps of their own. */
ATTR_COLD void members_look_again(struct node *node);

/* The same at @at_ns, when all should have heard who is there. */
ATTR_COLD void members_look_later(struct node *node, int64_t at_ns);

/* That time has come. */
ATTR_COLD void members_waited(struct node *node);

/* Look at the next few jobs and visits that a loss may have hit. */
ATTR_COLD void members_repair(struct node *node);

#endif /* NODE_MEMBERS_H */
