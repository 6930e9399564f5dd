/*
 * pace.h - how fast a machine is, as time goes on.
 *
 * Machines that share a host with others, or that become warm, run the same work now faster, now
 * slower, and all of it at once: queues grow longer than if each run were slow by itself. A pace is
 * what was measured of that: factors of run times, one after another, again and again.
 */
#ifndef MODEL_PACE_H
#define MODEL_PACE_H

#include <stdint.h>

#include "base/rng.h"

enum { PACE_FACTORS_MAX = 4096 };

struct pace {
    int64_t every_ns;      /* From one factor to the next. */
    uint32_t count;        /* 0: machines are always equally fast. */
    const double *factors; /* Run times are so many times as long. */
};

/* The factor of @node at @now_ns. Where in the list it begins is drawn, from @seed. */
static inline double pace_at(const struct pace *pace, uint64_t seed, uint32_t node, int64_t now_ns)
{
    if (pace->count == 0) {
        return 1;
    }
    struct rng rng = rng_stream(seed, RNG_PACE, node);
    const uint64_t first = rng_below(&rng, pace->count);
    return pace->factors[(first + (uint64_t)(now_ns / pace->every_ns)) % pace->count];
}

#endif /* MODEL_PACE_H */
