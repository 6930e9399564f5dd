/*
 * roster.h - the members of a cluster as one process knows them: lists with a growing epoch.
 *
 * Every change is a new, immutable list with a larger epoch. Lists stay valid until the roster is
 * destroyed, so a node may go on reading an old one.
 */
#ifndef FABRIC_ROSTER_H
#define FABRIC_ROSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "view/members.h"

struct roster;

/* Called with every new list, on the host's thread. */
typedef void (*roster_changed)(void *context, const struct members *members);

/*
 * Nodes 0 to @node_count - 1 are all there from epoch 1 on, and none is lost unless a caller says
 * so. The caller owns it.
 */
struct roster *roster_create(uint32_t node_count, roster_changed changed, void *context);

/* The newest list; never NULL. Borrowed. */
const struct members *roster_members(const struct roster *roster);

/*
 * Announce that @node is lost, or is back, in a new epoch. Announcing what is known already
 * changes nothing.
 */
void roster_announce(struct roster *roster, uint32_t node, bool up);

/* Announce that @node is a member in @incarnation. An earlier life of it is lost. */
void roster_join(struct roster *roster, uint32_t node, uint32_t incarnation);

/* NULL is allowed. */
void roster_destroy(struct roster *roster);

#endif /* FABRIC_ROSTER_H */
