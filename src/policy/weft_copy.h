/*
 * weft_copy.h - which models weft copies into memory that is free.
 *
 * Where a model is in memory, tasks need not travel to it. So a worker that has room and loads
 * nothing is given, of the models of workflows whose jobs are under way, the one that fewest
 * workers hold, in its rack first: for a copy elsewhere tensors would cross the core. Nothing is
 * evicted for it.
 */
#ifndef POLICY_WEFT_COPY_H
#define POLICY_WEFT_COPY_H

#include "policy/policy.h"

/* What to load where, of what the queues of this home need. */
void weft_copy_tick(const struct policy_input *input, struct tick_answer *answer_out);

#endif /* POLICY_WEFT_COPY_H */
