/*
 * weft_warm.h - when a queue that waits for full workers gets one more that holds its models.
 *
 * A model is loaded ahead into memory that is free. For one that makes another leave, items of the
 * queue must have waited, in all, for as long as such a load costs others: one batch would rather
 * wait for a worker that is full than load, however often the same happens to those after it. Waits
 * are forgotten within the time that a model stays in memory before others need it.
 */
#ifndef POLICY_WEFT_WARM_H
#define POLICY_WEFT_WARM_H

#include "policy/policy.h"

/* What a queue has waited for workers that are full. */
struct weft_wait {
    int64_t asked_ns; /* When it was asked last, if it waits; 0: it does not. */
    int64_t sum_ns;   /* Of all its items, since a copy was loaded for it. */
    uint32_t items;   /* That waited then. */
};

/* The head of @queue, number @number, was given @answer. */
void weft_warm_note(
    const struct policy_input *input, const struct queue_facts *queue, uint32_t number,
    const struct dispatch_answer *answer);

/* Of what @answer wants to load, leave out what has no room, and add what is worth an eviction. */
void weft_warm_tick(const struct policy_input *input, struct tick_answer *answer);

#endif /* POLICY_WEFT_WARM_H */
