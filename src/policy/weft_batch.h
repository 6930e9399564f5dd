/*
 * weft_batch.h - how weft runs tasks that wait in the queue of a worker.
 *
 * As many together as let all of them end soonest on average (paying.h). Where units have no price,
 * a batch has a part of the device, so that others run beside it: what it takes longer is less than
 * what they would wait.
 */
#ifndef POLICY_WEFT_BATCH_H
#define POLICY_WEFT_BATCH_H

#include "policy/policy.h"

/* The units that a batch has at @worker; 0: all. */
uint32_t weft_part(const struct fleet *fleet, const double *options, uint32_t worker);

/* What to run of @queue, which is that of a worker. */
struct config weft_batch(const struct policy_input *input, const struct queue_facts *queue);

#endif /* POLICY_WEFT_BATCH_H */
