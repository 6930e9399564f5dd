/*
 * shrink.h - the smallest scenario that still fails.
 *
 * Greedy: each part of the scenario is cut in halves, quarters and so on down to single
 * pieces, and whatever fails without them goes on without them; until nothing can be left
 * out or made plainer, or there were enough tries. What "fails" means is the caller's.
 */
#ifndef LAB_SHRINK_H
#define LAB_SHRINK_H

#include "lab/scenario_cut.h"

struct shrink {
    /* Whether @scenario, which is borrowed, fails in the way that is looked for. */
    bool (*fails)(void *context, const struct scenario *scenario);

    /* Called when a smaller one was found. May be NULL. */
    void (*on_smaller)(void *context, const struct scenario *scenario, uint32_t tries);
    void *context;
    uint32_t tries_max;

    uint32_t tries; /* How often fails() was asked. */
    bool stop;      /* May be set by a callback: what is smallest by now is enough. */
};

/* @scenario fails. Returns the smallest that was found; the caller owns it. */
struct scenario *shrink_run(struct shrink *shrink, const struct scenario *scenario);

#endif /* LAB_SHRINK_H */
