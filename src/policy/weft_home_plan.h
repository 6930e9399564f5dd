/*
 * weft_home_plan.h - what weft knows before it runs, and which tasks wait in home queues.
 *
 * Those with shares of a device wait, but where one device has them all and its units cost nothing:
 * its own queue does as much. So do those of whole devices that were measured in batches, but for
 * processors, which divide batches among themselves. Where inputs travel for long beside the
 * fastest runs, those of which that is true are placed on a worker instead, as soon as they are
 * ready: they move less by that, and no units are held for them meanwhile.
 */
#ifndef POLICY_WEFT_HOME_PLAN_H
#define POLICY_WEFT_HOME_PLAN_H

#include "policy/weft_kinds.h"

struct weft_plan {
    const int64_t *path_ns;     /* By workflow: its critical path on the fastest devices. */
    const int64_t *ranks_ns;    /* By queue: the longest way from its tasks on, likewise. */
    const struct esg_plan *esg; /* What esg would know. */
    const bool *shares;         /* By queue: whether its tasks have configs as with esg, */
    const bool *waits;          /* and wait at their home. */
    const uint32_t *parts;      /* By kind of device: the most units that haste may take, */
    const uint32_t *sharers;    /* and its worker for configs_beside_ns(). */
    const struct weft_kind *const *kinds; /* By queue, by kind of device; NULL: there is one. */
    int64_t path_mean_ns;                 /* Of all critical paths. */
    bool has_slos;                        /* Some workflow has one, */
    bool is_mixed;                        /* and some has none. */
    bool has_all;                         /* Each worker has memory for all models, */
    bool is_short;                        /* or so little that models may have to leave. */
    bool copies;                          /* Models are copied for tasks that are placed, too. */
};

/* Find out which tasks wait, and prepare for them. */
void weft_home_plan(
    struct arena *arena, const struct plan_input *input, struct weft_plan *plan_out);

/* @input as esg's functions want it. */
struct policy_input weft_home_as_esg(const struct policy_input *input);

#endif /* POLICY_WEFT_HOME_PLAN_H */
