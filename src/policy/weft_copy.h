/*
 * weft_copy.h - which models weft copies into memory that is free.
 *
 * Where a model is in memory, tasks need not travel to it. So a worker that has room and loads
 * nothing is given, of the models of workflows whose jobs are under way, the one that fewest
 * workers hold, in its rack first: for a copy elsewhere tensors would cross the core. Nothing is
 * evicted for it.
 *
 * Homes copy for their queues, to any worker. Where no task waits, each node copies what it places
 * tasks of to its own workers.
 */
#ifndef POLICY_WEFT_COPY_H
#define POLICY_WEFT_COPY_H

#include "policy/policy.h"

/* A task of shares is placed, where none waits in a home queue. */
void weft_copy_note(const struct policy_input *input, const struct task_facts *task);

/* What to load where. */
void weft_copy_tick(const struct policy_input *input, struct tick_answer *answer_out);

#endif /* POLICY_WEFT_COPY_H */
