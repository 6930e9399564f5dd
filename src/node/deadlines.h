/*
 * deadlines.h - jobs whose clients have said until when they wait end then, at their owner.
 *
 * Such jobs lie in a heap by deadline, linked through themselves, and one timer is set for the
 * first of them. An answer at the deadline itself is in time.
 */
#ifndef NODE_DEADLINES_H
#define NODE_DEADLINES_H

#include <stdint.h>

struct node;

/* The firm jobs of a node. */
struct deadlines {
    uint32_t first;   /* The slot of the one with the first deadline; POOL_NONE: there is none. */
    int64_t timer_ns; /* When their next timer comes; INT64_MAX: none will. */
};

/* Of a job in that heap, by slot. */
struct deadline_link {
    uint32_t child;
    uint32_t next;     /* Of the same parent. */
    uint32_t previous; /* The one before it, or its parent. */
};

/* Job @slot, which is firm, has been opened. */
void deadlines_add(struct node *node, uint32_t slot);

/* Job @slot, which is firm, is about to end. */
void deadlines_remove(struct node *node, uint32_t slot);

/* TIMER_DEADLINE has come: end what is late, and set the timer for the next one. */
void deadlines_expire(struct node *node);

#endif /* NODE_DEADLINES_H */
