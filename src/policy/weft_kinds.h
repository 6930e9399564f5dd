/*
 * weft_kinds.h - the cheapest configs on each kind of device.
 *
 * A search answers with the few cheapest configs. Where devices differ these are mostly all of one
 * kind, the fastest for its price, and a queue that knows no others would wait for that kind while
 * another one is idle and fast enough.
 */
#ifndef POLICY_WEFT_KINDS_H
#define POLICY_WEFT_KINDS_H

#include "policy/esg_search.h"

struct arena;

/* The configs of a queue on one kind of device, as the search sees them. */
struct weft_kind {
    struct search_stage stage;
    const uint32_t *numbers; /* Of each among all configs of the queue. */
};

/* Of @queue, one for each of @kind_count kinds of devices: each has the choices of that kind. */
const struct weft_kind *weft_kinds_plan(
    struct arena *arena, const struct esg_queue *queue, uint32_t kind_count);

/*
 * The cheapest configs of each kind with which the head of @queue ends as soon as @found had to,
 * the cheapest of all first. False: there are none, or @found, of @known, has no time to keep.
 */
bool weft_kinds_find(
    const struct weft_kind *kinds, uint32_t kind_count, const struct esg_queue *known,
    const struct queue_facts *queue, const struct esg_found *found, struct esg_found *others_out);

#endif /* POLICY_WEFT_KINDS_H */
