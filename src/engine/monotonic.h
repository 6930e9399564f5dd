/* monotonic.h - time that only passes, for how long things take. Any thread. */
#ifndef ENGINE_MONOTONIC_H
#define ENGINE_MONOTONIC_H

#include <stdint.h>
#include <time.h>

#include "base/units.h"

static inline int64_t clock_now_ns(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now); /* It is always there. */
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static inline int64_t monotonic_ns(void)
{
    return clock_now_ns(CLOCK_MONOTONIC);
}

/* The processor time of this thread: what others do meanwhile does not count. */
static inline int64_t thread_ns(void)
{
    return clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* The same of all threads of this process. */
static inline int64_t process_ns(void)
{
    return clock_now_ns(CLOCK_PROCESS_CPUTIME_ID);
}

#endif /* ENGINE_MONOTONIC_H */
