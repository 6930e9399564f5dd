/*
 * thread_time.h - the processor time of a thread. What others do meanwhile does not count, but for
 * what they leave of caches and memory.
 */
#ifndef ENGINE_THREAD_TIME_H
#define ENGINE_THREAD_TIME_H

#include <stdint.h>
#include <time.h>

#include "base/units.h"

/* Of the calling thread. */
static inline int64_t thread_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now); /* It is always there. */
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

#endif /* ENGINE_THREAD_TIME_H */
