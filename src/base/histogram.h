/*
 * histogram.h - how often each value occurred, to within 1/64 of the value.
 *
 * Values below 128 have a bucket each; above, every power of two is cut into 64
 * equal buckets. Memory is fixed, and merging gives the same result in any
 * order, which sums in floating point would not. All zero is an empty histogram.
 */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H

#include <stdint.h>

enum {
    HISTOGRAM_STEPS_PER_OCTAVE = 64,
    HISTOGRAM_BUCKETS = (62 - 6) * HISTOGRAM_STEPS_PER_OCTAVE + 2 * HISTOGRAM_STEPS_PER_OCTAVE,
};

__extension__ typedef unsigned __int128 histogram_sum;

struct histogram {
    uint64_t count;
    int64_t min; /* Of the values added; meaningless while count is 0. */
    int64_t max;
    histogram_sum sum; /* Exact: 2^64 values of 2^63 fit. */
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

/* Make @histogram empty. */
void histogram_init(struct histogram *histogram);

/* Count @value, which must not be negative. */
void histogram_add(struct histogram *histogram, int64_t value);

/* Add all of @source to @target. */
void histogram_merge(struct histogram *target, const struct histogram *source);

uint64_t histogram_count(const struct histogram *histogram);

/* The exact mean, rounded to a double. 0 if empty. */
double histogram_mean(const struct histogram *histogram);

/* The exact extremes. 0 if empty. */
int64_t histogram_min(const struct histogram *histogram);
int64_t histogram_max(const struct histogram *histogram);

/*
 * The smallest value that at least the share @q of all values does not exceed,
 * 0 <= q <= 1, rounded up to the end of its bucket but never past the maximum:
 * a latency is not understated. 0 if empty; the minimum for q = 0.
 */
int64_t histogram_quantile(const struct histogram *histogram, double q);

#endif /* BASE_HISTOGRAM_H */
