/*
 * weft_split.h - how weft divides the time of a job among its tasks, by what was learnt.
 *
 * Shares of the time and plans for groups are made before the first job, by the profile. If one
 * model takes longer than it says, its tasks need more of the time, and what comes before and after
 * them gets by with less. Where nothing was learnt, all is as planned.
 */
#ifndef POLICY_WEFT_SPLIT_H
#define POLICY_WEFT_SPLIT_H

#include "policy/policy.h"

/* What @model takes, in WEFT_LEARN_ONE parts of what was measured, as far as it is to be used. */
int64_t weft_split_model(const struct policy_input *input, uint32_t model);

/* How long the head of @queue may still take until its group ends, as esg_target_ns(). */
int64_t weft_split_target_ns(const struct policy_input *input, const struct queue_facts *queue);

/* What the rest of the group takes beside the head of @queue, in SEARCH_REST_ONE parts. */
int64_t weft_split_rest(const struct policy_input *input, const struct queue_facts *queue);

#endif /* POLICY_WEFT_SPLIT_H */
