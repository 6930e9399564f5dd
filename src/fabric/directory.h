/*
 * directory.h - who is a member of the cluster, in which incarnation and epoch.
 *
 * A directory is one of several back ends behind a table and belongs to the thread of
 * its host. Every change is a new, immutable list with a larger epoch; lists stay valid
 * until the directory is destroyed, so a node may go on reading an old one. If the
 * directory cannot be reached, the last list stands.
 */
#ifndef FABRIC_DIRECTORY_H
#define FABRIC_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "view/members.h"

struct directory;

/* Called with every new list, on the host's thread. */
typedef void (*directory_changed)(void *context, const struct members *members);

struct directory_ops {
    const char *name;

    /* The newest list; never NULL. Borrowed. Required. */
    const struct members *(*members)(const struct directory *directory);

    /* Release the directory and all its lists. Required. */
    void (*destroy)(struct directory *directory);
};

/* Embedded first in every implementation. */
struct directory {
    const struct directory_ops *ops;
};

const struct members *directory_members(const struct directory *directory);

/* NULL is allowed. */
void directory_destroy(struct directory *directory);

/*
 * A fixed list: nodes 0 to @node_count - 1 are all there from epoch 1 on, and none is
 * lost unless a caller says so. The caller owns it.
 */
struct directory *directory_static_create(
    uint32_t node_count, directory_changed changed, void *context);

/*
 * Announce that @node is lost, or is back in a new incarnation, in a new epoch. Announcing
 * what is known already changes nothing. Only for a static directory.
 */
void directory_static_announce(struct directory *directory, uint32_t node, bool up);

#endif /* FABRIC_DIRECTORY_H */
