/* monotonic.h - time that only passes, for how long things take. Any thread. */
#ifndef ENGINE_MONOTONIC_H
#define ENGINE_MONOTONIC_H

#include <stdint.h>
#include <time.h>

#include "base/units.h"

static inline int64_t monotonic_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* It is always there. */
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

#endif /* ENGINE_MONOTONIC_H */
