/*
 * fit.h - from samples to what a profile says: a mean and a spread, and a line through bytes.
 */
#ifndef PROFILE_FIT_H
#define PROFILE_FIT_H

#include <stdint.h>

#include "profile/profile.h"

/* Run times of one kind of batch. All zero: none yet. */
struct fit_times {
    uint32_t count;
    double mean_ns;
    double squares; /* Of the differences from the mean, summed up (Welford 1962). */
};

void fit_add(struct fit_times *times, int64_t run_ns);

/* What was added, of which there is something, as the point of @items. */
struct profile_point fit_point(const struct fit_times *times, uint32_t items);

/* What a batch of so many items needed. */
struct fit_bytes {
    uint32_t items;
    uint64_t bytes;
};

/*
 * Bytes of a batch and of each item that are never less than any of @count samples, by
 * items, ascending; and no more at the first and the last of them, if the others allow.
 */
void fit_workspace(
    const struct fit_bytes *samples, uint32_t count, uint64_t *fixed_out, uint64_t *per_item_out);

#endif /* PROFILE_FIT_H */
