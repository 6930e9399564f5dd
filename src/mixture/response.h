/*
 * response.h - the placement that would be best for one more job, tolls included.
 *
 * This is what brings new patterns into a draft: at fixed waits and tolls, find the placement
 * whose time plus tolls is smallest. From a start, single units and whole workers are moved as
 * long as that helps. Exact for a single unit; otherwise the result may be a local minimum.
 */
#ifndef MIXTURE_RESPONSE_H
#define MIXTURE_RESPONSE_H

#include <stdbool.h>
#include <stdint.h>

#include "mixture/pattern.h"

struct congestion;

enum {
    /* Workers that are tried for a unit, cheapest first: more are never much better. */
    RESPONSE_SPOTS_MAX = 24,
};

struct response {
    const struct congestion *congestion; /* Evaluated, with its slopes. */
    struct patterns trial;               /* One pattern at a time. */
    uint64_t evaluations;
    uint32_t unit_capacity; /* Of the arrays below. */
    struct spot *best;      /* By unit: the best so far. */
    struct spot *tried;     /* By unit. */
    struct spot *tasks;     /* By task. */
};

void response_init(struct response *response, const struct congestion *congestion);
void response_deinit(struct response *response);

/* Time and tolls of a placement, a spot for each task. INFINITY if it cannot run there. */
double response_cost(struct response *response, uint32_t stream, const struct spot *tasks);

enum response_start {
    RESPONSE_TOGETHER, /* On one worker, as far as it can run them. */
    RESPONSE_APART,    /* Each unit on a machine of its own: no single move parts equal branches. */
};

/*
 * The best placement for a job of @stream that is found from @start: a spot for each of its tasks.
 * Returns its time and tolls; INFINITY if there is none.
 */
double response_find(
    struct response *response, uint32_t stream, enum response_start start, struct spot *tasks_out);

#endif /* MIXTURE_RESPONSE_H */
