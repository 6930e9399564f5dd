/*
 * compass_prices.h - the options of Compass, and what its choices of a moment weigh with.
 */
#ifndef POLICY_COMPASS_PRICES_H
#define POLICY_COMPASS_PRICES_H

#include "policy/policy.h"

/* Rows of the policy's option table. */
enum compass_option {
    COMPASS_ORIGINAL,  /* 1: the rule as published, with its shortcuts. */
    COMPASS_ADJUST,    /* 0: plans never change. */
    COMPASS_THRESHOLD, /* Waiting that is tolerated, in run times of the task. */
    COMPASS_LOAD,      /* 0: ignore load. */
    COMPASS_CACHE,     /* 0: ignore models. */
    COMPASS_EVICTION,  /* What an eviction costs, in loads of what comes in. */
    COMPASS_CROWD,     /* The same, for each task that a worker has on average. */
    COMPASS_SPREAD,    /* What a new copy in free memory is worth, in the wait for it. */
    COMPASS_JITTER,    /* How far plans of several nodes are kept apart, in run times. */
    COMPASS_POOL,      /* 1: the workers of a node share what waits for them. */
    COMPASS_KEEP,      /* What an eviction costs beside that, in what is lost with the model. */
};

/* What every choice of this moment weighs with. */
struct compass_prices {
    int64_t eviction_64ths; /* Of a load that makes others leave, on top of its time. */
    int64_t spread_64ths;   /* Off the wait for a load into free memory. */
    int64_t promised_64ths; /* Of work that is promised to a worker and not there yet. */
    int64_t patience_64ths; /* Of a run time: how long a task may wait before it moves. */
    int64_t jitter_ns;      /* The most that planners add to a free time, in 65536ths. */
    uint64_t draw;          /* From the node's stream: what they add. */
    int64_t keep_64ths;     /* Of what is lost with a model that leaves. 0: not looked at. */
    bool original;
};

/*
 * Nodes that choose between two rows of a worker all see it idle. A little noise, from each
 * node's own stream, keeps them from all choosing it.
 */
static inline int64_t compass_noise_ns(const struct compass_prices *prices, uint32_t worker)
{
    const uint64_t mixed =
        (prices->draw ^ (worker + 1) * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
    return (int64_t)(mixed >> 48) * prices->jitter_ns;
}

/* @factor as prices have it. */
static inline int64_t compass_64ths(double factor)
{
    return (int64_t)(64 * factor);
}

/* How many tasks of @run_ns a worker has, if it has @backlog_ns to do. Many are as good as more. */
double compass_waiting(int64_t backlog_ns, int64_t run_ns);

/* The jitter_ns of prices where noise is @share of @run_ns; 0: too little to tell workers apart. */
int64_t compass_jitter_ns(double share, int64_t run_ns);

/* As published, some options mean nothing: they cannot be given then. */
enum weft_status compass_check(const double *values, uint32_t given, struct weft_error *error);

/* What to weigh with while workers have @backlog_ns to do and tasks take @run_ns, on average. */
struct compass_prices compass_prices(
    const struct policy_input *input, int64_t backlog_ns, int64_t run_ns);

#endif /* POLICY_COMPASS_PRICES_H */
