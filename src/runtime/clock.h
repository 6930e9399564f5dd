/*
 * clock.h - time since the start of a runtime: as it passes, or as it is set.
 *
 * The clock is read once per turn of the loop, and every event of that turn carries the
 * same time. A manual clock stands still until it is set: tests and comparisons with the
 * simulator use it.
 */
#ifndef RUNTIME_CLOCK_H
#define RUNTIME_CLOCK_H

#include <stdint.h>

enum clock_kind { CLOCK_KIND_REAL, CLOCK_KIND_MANUAL };

struct clock {
    enum clock_kind kind;
    int64_t origin_ns; /* What CLOCK_MONOTONIC showed at the start; 0 if manual. */
    int64_t now_ns;    /* As last read, or set. */
};

/* Start at 0. */
void clock_init(struct clock *clock, enum clock_kind kind);

/* Look at the clock: now_ns is then up to date. Never goes backwards. */
int64_t clock_read(struct clock *clock);

/* What a calendar showed at @at_ns, since 1970; a manual clock starts then. */
int64_t clock_wall_ns(const struct clock *clock, int64_t at_ns);

/* Move a manual clock forward to @now_ns. */
void clock_set(struct clock *clock, int64_t now_ns);

#endif /* RUNTIME_CLOCK_H */
