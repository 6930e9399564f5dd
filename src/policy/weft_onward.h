/*
 * weft_onward.h - what a worker costs the tasks that come after one that weft places.
 *
 * Of tasks of shares alone. Those after it have to leave a worker that lacks their models, or wait
 * for a load:
 *
 *     onward = weight x the sum of min(load, way of the inputs), of each task that comes after it
 *
 * So a job begins where its later models are, and stays; workers come to hold the models of a few
 * workflows. As that is worth something to jobs that come later, too, the weight is above 1.
 */
#ifndef POLICY_WEFT_ONWARD_H
#define POLICY_WEFT_ONWARD_H

#include "policy/weft_hop.h"

/* What @worker, of which the models after the task are not all, costs those that need them. */
int64_t weft_onward_ns(const struct weft_hop *hop, uint32_t worker);

#endif /* POLICY_WEFT_ONWARD_H */
