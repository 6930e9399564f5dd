/*
 * timeline.h - everything that a runtime has to do, by time, then by insertion.
 *
 * One queue for all: timers of nodes, packets of the net, operations of the engine,
 * requests. That is what makes ties come out as in the simulator.
 */
#ifndef RUNTIME_TIMELINE_H
#define RUNTIME_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/event_queue.h"
#include "base/pool.h"
#include "node/event.h"

enum due_kind {
    DUE_NET,       /* token: for net_wake() */
    DUE_ENGINE,    /* token: for engine_wake() */
    DUE_TIMER,     /* node, timer */
    DUE_CALL,      /* call, context */
    DUE_REQUEST,   /* token: a client */
    DUE_CANCEL,    /* token: a client */
    DUE_DRAIN,     /* node */
    DUE_MODEL,     /* node, token: a model, doubled, and whether it is there */
    DUE_HINT,      /* node: the one that was lost */
    DUE_VERDICT,   /* node: the same */
    DUE_SOLVED,    /* node, token: the problem, context: the result, owned */
    DUE_PASSED,    /* node, token: a batch that hands its inputs on */
    DUE_NOT_TAKEN, /* node, token: a batch that the engine had no memory for */
    DUE_UNDER_WAY, /* node, job, asker */
    DUE_EDITIONS,  /* node */
};

struct due {
    enum due_kind kind;
    uint32_t node;
    bool background; /* Does not keep the runtime from being idle. */
    struct timer timer;
    uint64_t token;
    struct job_id job;
    uint32_t asker;
    void (*call)(void *context);
    void *context;
};

struct timeline {
    struct event_queue queue;
    struct pool dues;
    uint32_t background_count;
};

void timeline_init(struct timeline *timeline);
void timeline_deinit(struct timeline *timeline);

/* Note @due, which is copied, for @at_ns. */
void timeline_add(struct timeline *timeline, int64_t at_ns, const struct due *due);

/* The same, before what is noted for that time; behind what was added so for it before. */
void timeline_add_early(struct timeline *timeline, int64_t at_ns, const struct due *due);

/* The same, before everything that is noted for any time; behind what was added so before. */
void timeline_add_first(struct timeline *timeline, const struct due *due);

/* Whether the next one was added first. */
bool timeline_has_first(const struct timeline *timeline);

/* When the next one is due, 0 for one that was added first; INT64_MAX if there is none. */
int64_t timeline_next_ns(const struct timeline *timeline);

/* Take the next one, which there must be. */
struct due timeline_take(struct timeline *timeline);

/* Whether only background is left. */
bool timeline_is_idle(const struct timeline *timeline);

#endif /* RUNTIME_TIMELINE_H */
