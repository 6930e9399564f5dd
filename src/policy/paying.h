/*
 * paying.h - how many of the items that wait run together, and on how much of a device.
 *
 * Where nothing is charged only time counts: that of what waits. A config is the better, the sooner
 * all of it ends on average:
 *
 *     mean end = run(n) × (w / n / p + 1)
 *
 * where w items wait, n of them run together and p such batches at a time. So a batch that takes as
 * long as its items one by one never pays, one that takes half as long pays more the more wait, and
 * an item that is alone has the whole device.
 */
#ifndef POLICY_PAYING_H
#define POLICY_PAYING_H

#include "policy/policy.h"

/*
 * The config for @queue at @worker with which all that waits ends soonest on average: 1, 2, 4 ...
 * items, up to those of @most or all that wait, on the units of @most; 0: on the whole device.
 */
struct config paying_batch(
    const struct policy_input *input, const struct queue_facts *queue, uint32_t worker,
    struct config most);

/* The same; if @most has no units, on the whole device, a half of it, a quarter ... */
struct config paying_config(
    const struct policy_input *input, const struct queue_facts *queue, uint32_t worker,
    struct config most);

#endif /* POLICY_PAYING_H */
