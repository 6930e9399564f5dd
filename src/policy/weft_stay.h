/*
 * weft_stay.h - whether a task leaves its node although it is best there, or stays although not.
 */
#ifndef POLICY_WEFT_STAY_H
#define POLICY_WEFT_STAY_H

#include "policy/weft_hop.h"

/*
 * Whether branches of the same fork, which are to be placed next, want the workers of this node
 * more than this one, which loses @loss_ns elsewhere, and here waits for @wait_ns and runs for
 * @run_ns.
 */
bool weft_is_wanted_more(
    const struct weft_hop *hop, int64_t loss_ns, int64_t wait_ns, int64_t run_ns);

/*
 * Whether the task stays on its node. Where there are more tasks than workers, one that leaves only
 * changes places with another, and tensors travel for it. Not if they hardly do, beside what tasks
 * of the job take on average, nor if this node is much further behind than others.
 */
bool weft_stays(struct weft_hop *hop);

#endif /* POLICY_WEFT_STAY_H */
