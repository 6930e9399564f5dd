/*
 * weft_fade.h - how much longer than its row says a worker is believed to be busy.
 *
 * Nodes that have seen the same row may all send something to a worker that is idle by it, before
 * its next row can say so. The longer it may have changed unseen, the more it is taken for a worker
 * like any other.
 */
#ifndef POLICY_WEFT_FADE_H
#define POLICY_WEFT_FADE_H

#include "view/view.h"

/*
 * What others may have sent to @worker, free at @free_ns by its row, since that row was made.
 * Workers had @mean_ns to do on average when their rows were. The more often it could have run a
 * task like this one since, of @run_ns, the less its row counts.
 */
int64_t weft_fade_ns(
    const struct view *view, uint32_t worker, int64_t free_ns, int64_t mean_ns, int64_t run_ns);

#endif /* POLICY_WEFT_FADE_H */
