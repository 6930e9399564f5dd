/*
 * edge_part.h - which tensors of a bundle cross an edge.
 *
 * A task makes one bundle for all its consumers. Within a process each of them is lent all of it;
 * to another machine goes only what the consumer takes, by its ports. A task of weft.pass has
 * none: it takes what those after it do.
 */
#ifndef ENGINE_EDGE_PART_H
#define ENGINE_EDGE_PART_H

#include "engine/bundle.h"
#include "model/workflow.h"

struct edge_part {
    const struct workflow *workflow;
    uint32_t from; /* Who made the bundle; TASK_NONE: the client. */
    uint32_t to;   /* Who takes it; TASK_NONE: the client. */
    uint32_t pass; /* The model that hands on what it is given; MODEL_NONE: there is none. */
};

/* Whether the tensor called @name crosses @edge. */
bool edge_part_has(const struct edge_part *edge, const char *name);

/*
 * What of @bundle crosses @edge, as a bundle that shares its memory. The caller owns it: it may be
 * @bundle itself, if all of that crosses or there is no memory to take less.
 */
struct bundle *edge_part_take(const struct edge_part *edge, const struct bundle *bundle);

#endif /* ENGINE_EDGE_PART_H */
