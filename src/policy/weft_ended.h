/*
 * weft_ended.h - what weft learns from batches that have ended: how long they took (weft_learn.h)
 * beside what was planned.
 */
#ifndef POLICY_WEFT_ENDED_H
#define POLICY_WEFT_ENDED_H

#include "policy/policy.h"

/* Learn from a batch of a queue of this home, and from one that ran on a worker of this node. */
void weft_ended_home(const struct policy_input *input, const struct ended_facts *ended);
void weft_ended_here(const struct policy_input *input, const struct ended_facts *ended);

#endif /* POLICY_WEFT_ENDED_H */
