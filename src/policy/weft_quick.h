/*
 * weft_quick.h - how soon a batch shall end where only time counts.
 *
 * Where units have no price and no workflow has an SLO, nothing is gained by being slow, but for
 * what others get done meanwhile. So of the configs of a queue the one with the smallest score
 * counts,
 *
 *     score = run x (1 + held / items x busy / idle)
 *
 * with what the batch holds of a device, and what is then busy and idle of the devices of its kind:
 * what a batch costs others is the toll of a link that it keeps busy (weft_links.h).
 */
#ifndef POLICY_WEFT_QUICK_H
#define POLICY_WEFT_QUICK_H

#include "policy/esg_plan.h"
#include "policy/policy.h"

/* The devices of one kind. */
struct weft_quick_kind {
    uint32_t cpu;     /* Of a machine, */
    uint32_t devices; /* which has so many. */
    uint32_t units;   /* Of one device, */
    uint32_t all;     /* of all of them, */
    uint32_t idle;    /* and those that no batch holds. */
};

/* What a home saw when it looked at all workers the last time. */
struct weft_quick {
    int64_t at_ns;   /* 0: never. */
    uint32_t usable; /* Workers, */
    uint64_t all;    /* their units, */
    uint64_t idle;   /* those that no batch holds, */
    int64_t slower;  /* and by how much longer than expected they take, in all. */
    struct weft_quick_kind kinds[DEVICE_KINDS_MAX];
};

/* It, of a short while ago at most: deciding is more frequent than that. */
const struct weft_quick *weft_quick_look(const struct policy_input *input);

/* Whether only time counts for the head of @queue, whose batches can share a device. */
bool weft_quick_is_on(const struct policy_input *input, const struct queue_facts *queue);

/* The run of @config on devices of @kind and what it keeps others waiting for, in times of it. */
double weft_quick_toll(
    const struct policy_input *input, const struct weft_quick_kind *kind,
    const struct config *config);

/* In which time @queue shall end with the rest of its group. INT64_MAX: no device can be used. */
int64_t weft_quick_ns(
    const struct policy_input *input, const struct queue_facts *queue,
    const struct esg_queue *known);

#endif /* POLICY_WEFT_QUICK_H */
