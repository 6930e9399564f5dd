/*
 * estimate.h - from samples to what a profile says: a mean and a spread, and a line through bytes.
 */
#ifndef PROFILE_ESTIMATE_H
#define PROFILE_ESTIMATE_H

#include <stdint.h>

#include "profile/profile.h"

/* Run times of one kind of batch. All zero: none yet. */
struct estimate_times {
    uint32_t count;
    double mean_ns;
    double squares; /* Of the differences from the mean, summed up (Welford 1962). */
};

void estimate_add(struct estimate_times *times, int64_t run_ns);

/* What was added, of which there is something, as the point of @items. */
struct profile_point estimate_point(const struct estimate_times *times, uint32_t items);

/* What a batch of so many items needed. */
struct estimate_bytes {
    uint32_t items;
    uint64_t bytes;
};

/*
 * Bytes of a batch and of each item that are never less than any of @count samples, by
 * items, ascending; and no more at the first and the last of them, if the others allow.
 */
void estimate_workspace(
    const struct estimate_bytes *samples, uint32_t count, uint64_t *fixed_out,
    uint64_t *per_item_out);

#endif /* PROFILE_ESTIMATE_H */
