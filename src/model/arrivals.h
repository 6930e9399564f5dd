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
    ARRIVALS_GAMMA,    /* Gaps of a gamma distribution with the coefficient of variation @cv. */
    ARRIVALS_BURST,    /* Poisson at one of two rates, in turn and by the clock. */
    ARRIVALS_MMPP,     /* The same, but how long each rate lasts is drawn: Markov-modulated. */
    ARRIVALS_DIURNAL,  /* Poisson at a rate that rises and falls over a period. */
    ARRIVALS_TRACE,    /* The times of @list, faster or slower, and perhaps again and again. */
};

enum {
    ARRIVALS_SHAPE_POINTS_MAX = 96, /* A quarter of an hour each, for a day. */
    ARRIVALS_ROWS_MAX = 16000000,   /* Of a list or trace: 384 MB. */

    /* Bursts that may pass without a request, on average; beyond, drawing one is slow. */
    ARRIVALS_IDLE_BURSTS_MAX = 1000,
};

#define ARRIVAL_WORKFLOW_ANY UINT32_MAX /* The workflow of a trace's row: drawn from the mix. */

struct arrival {
    int64_t at_ns;
    uint32_t workflow;
    uint32_t items;
    int64_t deadline_ns; /* As that of all arrivals, for this one. 0: it has that. */
};

/* Of ARRIVALS_BURST and ARRIVALS_MMPP: calm at first, a burst at the end of each period. */
struct arrivals_burst {
    double rate_per_s; /* While it lasts, of all workflows together. */
    int64_t every_ns;  /* From burst to burst. */
    int64_t length_ns; /* Of a burst: exactly, or in ARRIVALS_MMPP on average. */
};

/* Of ARRIVALS_DIURNAL: the rate goes straight from each point to the next, and round. */
struct arrivals_shape {
    int64_t period_ns;
    uint32_t point_count; /* Spread evenly over the period; the first is at its start. */
    double points[ARRIVALS_SHAPE_POINTS_MAX]; /* Relative to each other. */
};

struct arrivals {
    enum arrivals_kind kind;

    /*
     * Of all workflows together, and on average; with bursts, between them. Of a trace,
     * what its rows and speed amount to; 0 if it takes no time.
     */
    double rate_per_s;
    double mix[WORKFLOWS_MAX]; /* A weight for each workflow of the catalogue. */

    double cv; /* Of ARRIVALS_GAMMA: standard deviation of a gap over its mean. */
    struct arrivals_burst burst;
    struct arrivals_shape shape;

    uint32_t list_count;
    const struct arrival *list; /* By time, ascending. */
    double speed;               /* Of ARRIVALS_TRACE: 2 halves all times. */
    bool repeat;                /* Start again at the end, which is one mean gap after the last. */

    int64_t deadline_ns;   /* Clients want no answer that takes longer. 0: they do not say. */
    int64_t patience_ns;   /* A client without an answer hangs up after this. 0: never. */
    bool patience_is_mean; /* Of an exponential time; else each has the same. */
};

/* Where a run stands in its arrivals. Plain data: a copy goes on by itself. */
struct arrival_stream {
    const struct arrivals *arrivals; /* Borrowed. */
    uint32_t workflow_count;
    double weight; /* Of all workflows together; 0: they are all alike. */
    struct rng gaps;
    struct rng workflows;
    struct rng phases;    /* How long bursts last; what thinning keeps. */
    int64_t at_ns;        /* Of the last arrival. */
    uint32_t next;        /* Into the list. */
    int64_t lap_ns;       /* When this pass over the trace began. */
    int64_t phase_end_ns; /* When the rate changes next. */
    bool is_burst;        /* The rate is the burst's now. */
    double shape_mean;    /* Of the points. */
    double shape_peak;    /* The highest. */
};

/*
 * Start at time 0. @arrivals is borrowed; @catalogue is read for the number of its
 * workflows, at least one. Anything but a list or a trace needs a rate above 0.
 */
void arrival_stream_init(
    struct arrival_stream *stream, const struct arrivals *arrivals,
    const struct catalogue *catalogue, uint64_t seed);

/* The deadline that the client of @arrival names; 0: none. */
static inline int64_t arrival_deadline_ns(
    const struct arrivals *arrivals, const struct arrival *arrival)
{
    return arrival->deadline_ns > 0 ? arrival->deadline_ns : arrivals->deadline_ns;
}

/* The next arrival, never before the last one. False when a list, or time itself, has ended. */
bool arrival_stream_next(struct arrival_stream *stream, struct arrival *arrival_out);

/*
 * How long one pass over the list takes at speed 1: up to its last row and one mean gap
 * more, so that the last and the first of the next pass are as far apart as any two.
 */
int64_t arrivals_lap_ns(const struct arrivals *arrivals);

/* Play a trace @speed times as fast as it was written down; the rate follows. */
void arrivals_set_speed(struct arrivals *arrivals, double speed);

/*
 * Come at @rate_per_s: bursts keep their proportion to what is between them, a trace is
 * played faster or slower. False for a list, and for a trace that takes no time.
 */
bool arrivals_set_rate(struct arrivals *arrivals, double rate_per_s);

/* Requests a second of all workflows together, on average over a long time; 0: it takes no time. */
double arrivals_mean_rate(const struct arrivals *arrivals);

/*
 * How many requests of each workflow come in a second, on average over a long time; of a
 * list, while it lasts. False, and nothing written, if it takes no time.
 */
bool arrivals_rates(
    const struct arrivals *arrivals, const struct catalogue *catalogue, double *rates_out);

/* How many requests come from the end of one burst to the end of the next, on average. */
double arrivals_per_burst(const struct arrivals *arrivals);

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

/* How long the next client waits for its answer, if not for ever. */
int64_t arrivals_draw_patience_ns(const struct arrivals *arrivals, struct rng *rng);

#endif /* MODEL_ARRIVALS_H */
