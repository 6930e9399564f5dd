/*
 * ways.h - the ways through placed jobs, each as one sum of prices.
 *
 * The time of a job is its longest way (pattern.h). Where a pattern has few ways they are written
 * out: what is evaluated over and over is then read from front to back. Patterns of many ways are
 * left as they are.
 */
#ifndef MIXTURE_WAYS_H
#define MIXTURE_WAYS_H

#include <stdint.h>

struct patterns;
struct wait_term;

struct written_way {
    double fixed_ns; /* With no waits. */
    uint32_t visit_first;
    uint32_t visit_count;
};

/* The ways of one pattern; none: it has too many. */
struct way_range {
    uint32_t first;
    uint32_t count;
};

/* All zero is empty. */
struct ways {
    uint32_t pattern_count; /* Patterns that are in it: the first ones. */
    uint32_t pattern_capacity;
    struct way_range *ranges; /* By pattern. */
    uint32_t count;
    uint32_t capacity;
    struct written_way *items;
    uint32_t visit_count;
    uint32_t visit_capacity;
    struct wait_term *visits;
};

void ways_deinit(struct ways *ways);

/* Forget all patterns: they were replaced. */
void ways_clear(struct ways *ways);

/* Write out the patterns that came since. */
void ways_follow(struct ways *ways, const struct patterns *patterns);

#endif /* MIXTURE_WAYS_H */
