/*
 * compass_cache.h - which model leaves a worker's memory, and which comes ahead of need.
 */
#ifndef POLICY_COMPASS_CACHE_H
#define POLICY_COMPASS_CACHE_H

#include "policy/policy.h"

/* What no task waits for, then what is needed last, weighed by the time to load it again. */
uint32_t compass_victim(const struct policy_input *input, const struct cache_facts *cache);

/* Only what is wanted first: a later one might take the room that it waits for. */
uint32_t compass_prefetch(const struct policy_input *input, const struct cache_facts *cache);

#endif /* POLICY_COMPASS_CACHE_H */
