/*
 * links_fifo.h - links that carry one transfer after the other, in the order of arrival.
 *
 * A link is known by the time at which it will be free: what comes earlier waits until
 * then. Nothing is queued here; the caller puts the times into its own queue.
 */
#ifndef SIM_LINKS_FIFO_H
#define SIM_LINKS_FIFO_H

#include <stdint.h>

#include "base/assert.h"
#include "base/numbers.h"

struct links_fifo {
    int64_t *free_ns; /* By link; the caller owns it, all zero at first. */
};

/* Occupy @link for @wire_ns as soon as it is free. Returns when that begins. */
static inline int64_t links_fifo_take(
    struct links_fifo *links, uint32_t link, int64_t now_ns, int64_t wire_ns)
{
    ASSERT(wire_ns >= 0);
    const int64_t free_ns = links->free_ns[link];
    const int64_t start_ns = max_i64(now_ns, free_ns);
    links->free_ns[link] = start_ns + wire_ns;
    return start_ns;
}

#endif /* SIM_LINKS_FIFO_H */
