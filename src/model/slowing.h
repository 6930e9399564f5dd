/*
 * slowing.h - what busy processors of a machine do to each other.
 *
 * A thread takes longer while other processors are busy, because they share caches and memory, and
 * some are half of a core. By how much depends on what it runs: its interference. And where a batch
 * was split over processors that then got work of their own, there are more threads than
 * processors, and each thread waits for its turn.
 */
#ifndef MODEL_SLOWING_H
#define MODEL_SLOWING_H

#include <stdint.h>

struct slowing {
    double beside;  /* The part of the other processors that is busy: 0 to 1. */
    double crowded; /* How many threads there are more than processors, as a part of these. */
};

/* What a thread meets if it is one of @threads on @processors, all of which are at least 1. */
static inline struct slowing slowing_of(uint32_t threads, uint32_t processors)
{
    const uint32_t busy = threads < processors ? threads : processors;
    return (struct slowing){
        .beside = processors > 1 ? (double)(busy - 1) / (double)(processors - 1) : 0,
        .crowded = (double)(threads - busy) / (double)processors,
    };
}

/* How many times as long as alone a run takes that meets @slowing. */
static inline double slowing_factor(const struct slowing *slowing, double interference)
{
    return (1 + slowing->crowded) * (1 + slowing->beside * interference);
}

#endif /* MODEL_SLOWING_H */
