/*
 * rng.h - small, seedable and the same on every machine.
 *
 * No global generator exists. Each user is handed a stream of its own, so
 * that one more draw in one place changes nothing in another. Draw once per
 * statement: C does not order the evaluation of arguments.
 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

#include "base/assert.h"

__extension__ typedef unsigned __int128 rng_product;

/* What a stream is drawn for. Appending keeps the streams of the others as they are. */
enum rng_purpose {
    RNG_ARRIVALS,
    RNG_SERVICE,
    RNG_NETWORK,
    RNG_FAULTS,
    RNG_POLICY,
    RNG_WORKFLOW,
    RNG_ITEMS,
    RNG_TEST,
    RNG_PATIENCE,
    RNG_PACE,
};

struct rng {
    uint64_t state;
};

static inline struct rng rng_from_seed(uint64_t seed)
{
    return (struct rng){.state = seed};
}

/* splitmix64: Steele, Lea, Flood 2014, with the constants of Vigna. */
static inline uint64_t rng_next(struct rng *rng)
{
    rng->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = rng->state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/*
 * The stream number @index of @purpose in the run of @seed. Each of the three is
 * mixed in turn, so that neighbouring seeds or indices start far apart.
 */
static inline struct rng rng_stream(uint64_t seed, uint32_t purpose, uint32_t index)
{
    struct rng mixer = rng_from_seed(seed);
    const uint64_t from_seed = rng_next(&mixer);
    mixer.state = from_seed ^ purpose;
    const uint64_t from_purpose = rng_next(&mixer);
    mixer.state = from_purpose ^ index;
    return rng_from_seed(rng_next(&mixer));
}

/* Uniform in [low, high]; by multiplication, with a bias below (high - low) / 2^64. */
static inline uint64_t rng_range(struct rng *rng, uint64_t low, uint64_t high)
{
    ASSERT(low <= high);
    const rng_product width = (rng_product)(high - low) + 1;
    return low + (uint64_t)(rng_next(rng) * width >> 64);
}

/* Uniform in [0, bound), bound > 0. */
static inline uint32_t rng_below(struct rng *rng, uint32_t bound)
{
    ASSERT(bound > 0);
    return (uint32_t)((rng_next(rng) >> 32) * bound >> 32);
}

/* Uniform in [0, 1), with 53 random bits: exact in a double. */
static inline double rng_unit(struct rng *rng)
{
    return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

#endif /* BASE_RNG_H */
