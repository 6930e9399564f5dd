/*
 * room.h - room in a worker's memory: what is free, and which models leave for what has to come.
 *
 * Which of those that may leave does, the policy says. A model leaves when its unload has ended;
 * until then its room is promised, and not free.
 */
#ifndef NODE_ROOM_H
#define NODE_ROOM_H

#include "node/inside.h"

uint64_t room_free_bytes(const struct worker *worker);

/* What a policy is told of @model at @worker. */
struct cache_entry room_entry(const struct node *node, const struct worker *worker, uint32_t model);

/*
 * Whether @bytes more fit. If not, evict what is not needed, except models of @kind;
 * the room is there when the unloads have ended.
 */
bool room_make(
    struct node *node, struct worker *worker, uint64_t bytes, const struct workflow_task *kind);

/* Make room for @bytes without evicting what a task waits for. False if that is not enough. */
bool room_make_way(struct node *node, struct worker *worker, uint64_t bytes);

#endif /* NODE_ROOM_H */
