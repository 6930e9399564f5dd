/*
 * arrivals.h - how requests come: what a scenario asks for, and load generators make.
 *
 * Both hosts draw from the same stream, so that a served run and a simulated one with
 * the same seed get the same requests at the same times.
 */
#ifndef MODEL_ARRIVALS_H
#define MODEL_ARRIVALS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/rng.h"

struct catalogue;

enum arrivals_kind {
    ARRIVALS_POISSON,  /* Exponential gaps. */
    ARRIVALS_CONSTANT, /* Equal gaps. */
    ARRIVALS_LIST,     /* The times of @list, and nothing else. */
};

struct arrival {
    int64_t at_ns;
    uint32_t workflow;
    uint32_t items;
};

struct arrivals {
    enum arrivals_kind kind;
    double rate_per_s;         /* Of all workflows together. */
    double mix[WORKFLOWS_MAX]; /* A weight for each workflow of the catalogue. */
    uint32_t list_count;
    const struct arrival *list; /* By time, ascending. */
};

/* Where a run stands in its arrivals. Plain data: a copy goes on by itself. */
struct arrival_stream {
    const struct arrivals *arrivals; /* Borrowed. */
    uint32_t workflow_count;
    double weight; /* Of all workflows together; 0: they are all alike. */
    struct rng gaps;
    struct rng workflows;
    int64_t at_ns; /* Of the last arrival. */
    uint32_t next; /* Into the list. */
};

/*
 * Start at time 0. @arrivals is borrowed; @catalogue is read for the number of its
 * workflows, at least one. Anything but a list needs a rate above 0.
 */
void arrival_stream_init(
    struct arrival_stream *stream, const struct arrivals *arrivals,
    const struct catalogue *catalogue, uint64_t seed);

/* The next arrival, never before the last one. False when a list, or time itself, has ended. */
bool arrival_stream_next(struct arrival_stream *stream, struct arrival *arrival_out);

/* The stream that arrival_ingress() draws from. */
static inline struct rng arrival_ingress_stream(uint64_t seed)
{
    return rng_stream(seed, RNG_NETWORK, 1);
}

/* Which node the next arrival comes to. One draw an arrival. */
static inline uint32_t arrival_ingress(struct rng *rng, uint32_t node_count)
{
    return rng_below(rng, node_count);
}

#endif /* MODEL_ARRIVALS_H */
