/*
 * room.h - room in a bank: which models leave for what has to be loaded or run.
 *
 * Which of those that may leave does, the policy says. A model leaves when its unloads have ended;
 * until then its room is promised, and not free. All that waits at workers of a bank has one order,
 * that of heads of queues: for what waits, nothing leaves that is needed before it. So what is
 * first in that order always gets its room, once the batches that run have ended.
 */
#ifndef NODE_ROOM_H
#define NODE_ROOM_H

#include "node/inside.h"

/* What a policy is told of @model at @worker, which takes @bytes there, or would. */
struct cache_entry room_entry(
    const struct node *node, const struct worker *worker, uint32_t model, uint64_t bytes);

/*
 * Whether @bytes more fit, for @kind at @worker. If not, evict what is not needed, except models of
 * @kind; the room is there when the unloads have ended. Other workers of the bank may take room for
 * what comes later, but not for ever.
 */
bool room_make(
    struct node *node, struct worker *worker, uint64_t bytes, const struct workflow_task *kind);

/* Make room for @bytes without evicting what a task waits for. False if that is not enough. */
bool room_make_way(struct node *node, struct worker *worker, uint64_t bytes);

/* Whether another worker of the bank waits for room: what is loaded ahead must not take that. */
bool room_is_owed(const struct node *node, const struct worker *worker);

/*
 * A batch of @worker has ended, or what waited there is gone: workers of its bank that wait for
 * room may go on.
 */
void room_freed(struct node *node, const struct worker *worker);

/*
 * @worker is looked at, and has been. If it waits for no room now, or for what comes later than
 * before, those may go on that it kept waiting.
 */
void room_look(struct worker *worker);
void room_settle(struct node *node, struct worker *worker);

#endif /* NODE_ROOM_H */
