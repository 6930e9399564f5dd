/* bench.h - what benchmarks of engines share: a clock, and an end where something must be so. */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static inline void check(bool is_good, const char *what)
{
    if (!is_good) {
        (void)fprintf(stderr, "benchmark: %s\n", what);
        exit(EXIT_FAILURE);
    }
}

#endif /* BENCH_H */
