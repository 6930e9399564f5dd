/*
 * rows.h - what this node tells others of its workers, and hears of theirs.
 *
 * The live row of a worker is brought up to date with every change, because policies
 * here read it at once. Others see a part again after its interval at the earliest,
 * and only if it has changed. A publication of the load part acknowledges the
 * reservations that it counts.
 */
#ifndef NODE_ROWS_H
#define NODE_ROWS_H

#include "node/inside.h"

/* A reservation that the next row of a worker will acknowledge. */
struct notice {
    uint32_t next;
    uint32_t node;
    uint32_t incarnation; /* Of that node when it reserved. */
    uint64_t sequence;
};

/*
 * What is free of @worker, for a home. Returns up to which number reservations of @peer, as of
 * @incarnation, are counted; 0 if those were acknowledged before: the message says it instead.
 */
uint64_t rows_say(
    struct node *node, struct worker *worker, uint32_t peer, uint32_t incarnation,
    struct message_units *units_out);

/* A home was told by @message that @free is free of a worker. */
void rows_said(struct node *node, const struct message *message, struct message_units free);

/* Work came, went or moved on; a model came or went, for all workers that share the memory. */
void rows_load_changed(struct node *node, struct worker *worker);
void rows_cache_changed(struct node *node, const struct worker *worker);

/* How long from now until the last running batch of @worker is expected to end. */
int64_t rows_running_ns(const struct node *node, const struct worker *worker);

/* Show what has changed, now or when the interval is over. */
void rows_publish(struct node *node, struct worker *worker);

/* The next row of the worker of @message acknowledges its reservation, if it has one. */
void rows_notice(struct node *node, const struct message *message);

/* A peer's worker counts reservations of this node. */
void rows_acknowledged(struct node *node, const struct message *message);

/* A row of another worker has come. */
void rows_receive(struct node *node, const struct row *row);

#endif /* NODE_ROWS_H */
