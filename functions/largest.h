/*
 * largest.h - the first of the largest of many floats.
 */
#ifndef LARGEST_H
#define LARGEST_H

#include <math.h>
#include <stdint.h>

enum { LARGEST_LANES = 16, LARGEST_BLOCK = 256 };

/* The largest of LARGEST_BLOCK floats: lanes side by side, so that it is vectorised. */
static inline float largest_of_block(const float *values)
{
    float lanes[LARGEST_LANES];
    for (uint32_t i = 0; i < LARGEST_LANES; i++) {
        lanes[i] = values[i];
    }
    for (uint32_t k = LARGEST_LANES; k < LARGEST_BLOCK; k += LARGEST_LANES) {
        for (uint32_t i = 0; i < LARGEST_LANES; i++) {
            lanes[i] = values[k + i] > lanes[i] ? values[k + i] : lanes[i];
        }
    }
    float largest = lanes[0];
    for (uint32_t i = 1; i < LARGEST_LANES; i++) {
        largest = lanes[i] > largest ? lanes[i] : largest;
    }
    return largest;
}

/* The index of the largest of @count values, the first of equal ones; 0 if there is none. */
static inline int64_t largest_at(const float *values, int64_t count)
{
    float largest = -INFINITY;
    int64_t begin = 0;
    int64_t end = 0; /* Where it must be looked for. */
    int64_t at = 0;
    for (; at + LARGEST_BLOCK <= count; at += LARGEST_BLOCK) {
        const float here = largest_of_block(values + at);
        if (here > largest) {
            largest = here;
            begin = at;
            end = at + LARGEST_BLOCK;
        }
    }
    int64_t best = begin;
    for (int64_t i = begin; i < end; i++) {
        if (values[i] == largest) {
            best = i;
            break;
        }
    }
    for (; at < count; at++) {
        best = values[at] > values[best] ? at : best;
    }
    return best;
}

#endif /* LARGEST_H */
