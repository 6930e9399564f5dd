/*
 * kept.h - patterns, shares and sizes of an draft, to come back to.
 */
#ifndef MIXTURE_KEPT_H
#define MIXTURE_KEPT_H

#include <stdint.h>

struct draft;
struct spot;

/* All zero: nothing yet. */
struct kept {
    uint32_t count;
    uint32_t spot_count; /* In all. */
    uint32_t capacity;
    uint32_t spot_capacity;
    uint32_t *streams; /* By pattern, */
    double *shares;
    struct spot *spots; /* and its spots, one pattern after the other. */
    double *sizes;      /* By site. */
    double mean_ns;
};

/* Release what @kept owns. */
void kept_deinit(struct kept *kept);

/* Keep @draft as it is, in place of what was kept before. */
void kept_take(struct kept *kept, const struct draft *draft);

/* Make @draft what was kept, which fits its sites, and settle it. */
void kept_restore(const struct kept *kept, struct draft *draft);

#endif /* MIXTURE_KEPT_H */
