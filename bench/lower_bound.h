/*
 * lower_bound.h - a mean time that no policy can go below, however much it knows.
 *
 * A linear program over placements: jobs take what their placement takes on an idle cluster,
 * at the least, and no worker or link can do more work than there is time for. It holds for
 * every policy that runs tasks one at a time, state-aware ones too; not for those that batch,
 * where a batch takes less than its tasks one by one. Inputs and answers are taken to cross no
 * link. Needs Clp; where that is not installed there is no bound.
 *
 * All placements of a workflow are listed if there are not too many. Otherwise it takes its
 * critical path on the fastest devices, and its work may go anywhere: still a bound, a weaker one.
 */
#ifndef LOWER_BOUND_H
#define LOWER_BOUND_H

#include <stdbool.h>
#include <stdint.h>

struct program_input;

struct lower_bound {
    double mean_ns;   /* INFINITY if nothing can keep up with these rates. */
    uint32_t listed;  /* Workflows with all their placements, */
    uint32_t relaxed; /* and those with a weaker bound. */
    uint32_t placements;
};

/* Whether it is built in. */
bool lower_bound_is_there(void);

/* False if it is not built in, or the input is not valid. */
bool lower_bound_find(const struct program_input *input, struct lower_bound *bound_out);

#endif /* LOWER_BOUND_H */
