/*
 * weft_fade.h - how much of what a row says about a worker is no longer believed.
 *
 * Nodes that have seen the same row may all send something to a worker that is idle by it, before
 * its next row can say so. The longer it may have changed unseen, the more it is taken for a worker
 * like any other: it is believed to have as much to do as all on average, and which of such workers
 * gets a task is left to chance.
 */
#ifndef POLICY_WEFT_FADE_H
#define POLICY_WEFT_FADE_H

#include "base/rng.h"
#include "view/view.h"

/* Jobs of late over which a node averages what its own workers have to do when one comes. */
enum { WEFT_FADE_JOBS = 16 };

/*
 * Which share of the row of @worker has faded, in 1024ths: the more often it could have run a task
 * of @run_ns unseen, the more. 0 for own workers.
 */
int64_t weft_faded(const struct view *view, uint32_t worker, int64_t run_ns);

/*
 * What others may have sent to @worker, free at @free_ns by its row, of which @faded is not
 * believed. Workers had @mean_ns to do on average when their rows were made.
 */
int64_t weft_fade_ns(const struct view *view, int64_t free_ns, int64_t mean_ns, int64_t faded);

/*
 * A handicap in the choice among workers of others: between nothing and half of @mean_ns, times
 * @faded. So nodes with the same old rows choose different ones, and a row that is true is
 * preferred to one that may be.
 */
int64_t weft_chance_ns(struct rng *rng, int64_t mean_ns, int64_t faded);

#endif /* POLICY_WEFT_FADE_H */
