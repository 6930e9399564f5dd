#include "base/histogram.h"

#include "base/assert.h"
#include "base/numbers.h"

enum { STEP_BITS = 6 };

_Static_assert(
    HISTOGRAM_STEPS_PER_OCTAVE == 1 << STEP_BITS, "an octave is a power of two of steps");

/*
 * A value of n significant bits keeps the top STEP_BITS + 1 of them: `shift`
 * bits are dropped, and the kept ones, from 64 to 127, count on from the bucket
 * where their octave starts. Values below 128 drop none and are their own bucket.
 */
static uint32_t bucket_of(int64_t value)
{
    const uint64_t bits = (uint64_t)value | HISTOGRAM_STEPS_PER_OCTAVE;
    const uint32_t shift = 63 - STEP_BITS - (uint32_t)__builtin_clzll(bits);
    return shift * HISTOGRAM_STEPS_PER_OCTAVE + (uint32_t)((uint64_t)value >> shift);
}

/* The largest value that falls into @bucket. */
static int64_t bucket_last(uint32_t bucket)
{
    if (bucket < 2 * HISTOGRAM_STEPS_PER_OCTAVE) {
        return bucket;
    }
    const uint32_t shift = bucket / HISTOGRAM_STEPS_PER_OCTAVE - 1;
    const uint64_t kept = bucket - shift * HISTOGRAM_STEPS_PER_OCTAVE;
    return (int64_t)(((kept + 1) << shift) - 1);
}

void histogram_init(struct histogram *histogram)
{
    *histogram = (struct histogram){0};
}

void histogram_add(struct histogram *histogram, int64_t value)
{
    ASSERT(value >= 0);

    if (histogram->count == 0 || value < histogram->min) {
        histogram->min = value;
    }
    if (value > histogram->max) {
        histogram->max = value;
    }
    histogram->count++;
    histogram->sum += (uint64_t)value;
    histogram->buckets[bucket_of(value)]++;
}

void histogram_merge(struct histogram *target, const struct histogram *source)
{
    if (source->count == 0) {
        return; /* It has no minimum. */
    }
    if (target->count == 0 || source->min < target->min) {
        target->min = source->min;
    }
    if (source->max > target->max) {
        target->max = source->max;
    }
    target->count += source->count;
    target->sum += source->sum;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        target->buckets[i] += source->buckets[i];
    }
}

uint64_t histogram_count(const struct histogram *histogram)
{
    return histogram->count;
}

double histogram_mean(const struct histogram *histogram)
{
    return histogram->count == 0 ? 0.0 : (double)histogram->sum / (double)histogram->count;
}

int64_t histogram_min(const struct histogram *histogram)
{
    return histogram->min;
}

int64_t histogram_max(const struct histogram *histogram)
{
    return histogram->max;
}

/* How many of @count values the share @q asks for, rounded up. */
static uint64_t rank_of(double q, uint64_t count)
{
    /* 0.07 is a little more than 7/100; without this, 0.07 of 100 values would be 8. */
    const double exact = q * (double)count * (1.0 - 0x1p-50);
    uint64_t rank = (uint64_t)exact;
    if ((double)rank < exact) {
        rank++;
    }
    return min_u64(rank, count);
}

int64_t histogram_quantile(const struct histogram *histogram, double q)
{
    ASSERT(q >= 0.0);
    ASSERT(q <= 1.0);

    const uint64_t rank = rank_of(q, histogram->count);
    if (rank == 0) {
        return histogram->min;
    }
    uint64_t seen = 0;
    uint32_t bucket = 0;
    for (; bucket < HISTOGRAM_BUCKETS; bucket++) {
        seen += histogram->buckets[bucket];
        if (seen >= rank) {
            break;
        }
    }
    ASSERT(bucket < HISTOGRAM_BUCKETS);
    const int64_t last = bucket_last(bucket);
    return min_i64(last, histogram->max);
}
