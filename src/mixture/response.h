/*
 * response.h - the placement that would be best for one more job, tolls included.
 *
 * This is what brings new patterns into a program: at fixed waits and tolls, find the
 * placement whose time plus tolls is smallest. It starts from dynamic programming where the
 * units of a workflow nest (response_tree.h), from a list schedule (response_list.h) and from
 * everything on one worker; from each, single units and whole workers are moved as long as
 * that helps. Exact for a single unit; otherwise the result may be a local minimum.
 */
#ifndef MIXTURE_RESPONSE_H
#define MIXTURE_RESPONSE_H

#include <stdbool.h>
#include <stdint.h>

#include "mixture/pattern.h"

struct congestion;
struct workload;

enum {
    /* Workers that are tried for a unit, cheapest first: more are never much better. */
    RESPONSE_SPOTS_MAX = 24,
};

struct response {
    const struct congestion *congestion; /* Evaluated, with its slopes. */
    bool plain_joins;
    struct patterns trial; /* One pattern at a time. */
    uint64_t evaluations;
    uint32_t unit_capacity; /* Of the arrays below. */
    struct spot *units;     /* A spot by unit, while looking, */
    struct spot *tried;
    struct spot *best;
    struct spot *tasks; /* and by task. */
};

void response_init(
    struct response *response, const struct congestion *congestion, bool plain_joins);
void response_deinit(struct response *response);

/* Time and tolls of a placement, a spot for each task. INFINITY if it cannot run there. */
double response_cost(struct response *response, uint32_t stream, const struct spot *tasks);

/*
 * The best placement for a job of @stream: a spot for each of its tasks. Returns its time and
 * tolls; INFINITY if there is none.
 */
double response_find(struct response *response, uint32_t stream, struct spot *tasks_out);

#endif /* MIXTURE_RESPONSE_H */
