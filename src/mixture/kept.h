/*
 * kept.h - patterns, shares and sizes of an attempt, to come back to.
 */
#ifndef MIXTURE_KEPT_H
#define MIXTURE_KEPT_H

#include <stdint.h>

struct attempt;
struct seat;

/* All zero: nothing yet. */
struct kept {
    uint32_t count;
    uint32_t seat_count; /* In all. */
    uint32_t capacity;
    uint32_t seat_capacity;
    uint32_t *streams; /* By pattern, */
    double *shares;
    struct seat *seats; /* and its seats, one pattern after the other. */
    double *sizes;      /* By site. */
    double mean_ns;
};

/* Release what @kept owns. */
void kept_deinit(struct kept *kept);

/* Keep @attempt as it is, in place of what was kept before. */
void kept_take(struct kept *kept, const struct attempt *attempt);

/* Make @attempt what was kept, which fits its sites, and settle it. */
void kept_restore(const struct kept *kept, struct attempt *attempt);

#endif /* MIXTURE_KEPT_H */
