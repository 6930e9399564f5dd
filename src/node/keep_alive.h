/*
 * keep_alive.h - models that leave although their room is not needed.
 *
 * A model stays where it is until its room is needed, the policy does not want it there any
 * more, or nothing has used it for as long as its device keeps models. One timer per worker,
 * set for the model that has been idle longest. Pinned models stay.
 */
#ifndef NODE_KEEP_ALIVE_H
#define NODE_KEEP_ALIVE_H

#include <stdint.h>

struct node;
struct worker;

/* Some model of @worker is idle from now on: see to it that it leaves in time. */
void keep_alive_note(struct node *node, struct worker *worker);

/* The timer has come: unload what has been idle for too long. */
void keep_alive_expire(struct node *node, struct worker *worker);

/* The policy does not want @model there: unload it if nothing uses it or waits for it. */
void keep_alive_cool(struct node *node, struct worker *worker, uint32_t model);

#endif /* NODE_KEEP_ALIVE_H */
