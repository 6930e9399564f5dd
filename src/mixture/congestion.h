/*
 * congestion.h - the mean time of jobs for given shares of patterns, and its slope.
 *
 * Shares are probabilities: those of each stream sum to 1. Loads are linear in them, waits
 * follow from the loads, times from the waits. The slope of the mean time in the share of a
 * pattern is its own time plus its tolls: what it makes all the others wait.
 * (docs/QUEUEING.md, "The program".)
 */
#ifndef MIXTURE_CONGESTION_H
#define MIXTURE_CONGESTION_H

#include <stdint.h>

#include "mixture/ways.h"
#include "queueing/toll.h"

struct asked;
struct patterns;
struct sites;
struct workload;

struct congestion {
    const struct workload *workload;
    const struct sites *sites;
    const struct patterns *patterns;
    double scale;   /* Of all rates: 1, but on the way to a feasible point. */
    double blur_ns; /* The width by which longest ways are blurred (blur.h), where they are written
                       out. 0: not at all. Times, slopes and visits are then of all that count. */

    double *loads;  /* By queue: utilisation of each copy, */
    double *aheads; /* what of it goes ahead of those who wait, */
    double *residuals_ns;
    double *prices;       /* and by price: the wait there, */
    double *visits;       /* visits to all copies a nanosecond, on longest ways; */
    struct toll *tolls;   /* by queue: what a job pays for what it asks of one of the copies. */
    double mean_ns;       /* Of all jobs. INFINITY if a queue has no end. */
    uint64_t evaluations; /* Of single patterns. */

    uint32_t capacity;   /* Of the arrays by pattern: */
    double *lengths_ns;  /* the time of its jobs, */
    double *slopes;      /* with tolls. */
    double *flows;       /* How many there are a nanosecond. */
    double *extras_ns;   /* What is added to its time whatever the prices: 0 at first. */
    struct ways ways;    /* Of the patterns. */
    struct asked *asked; /* By queue: a sum, while loads are being counted. */
    uint32_t scratch_capacity;
    double *starts;
    uint32_t *via;
};

/* Borrow all three, which must stay. @patterns may grow; see congestion_forget(). */
void congestion_init(
    struct congestion *congestion, const struct workload *workload, const struct sites *sites,
    const struct patterns *patterns);
void congestion_deinit(struct congestion *congestion);

/* Patterns were taken away or replaced: nothing is known about any of them. */
void congestion_forget(struct congestion *congestion);

/*
 * Loads, prices and the mean time at @shares, by pattern. Returns the mean time. If that is
 * infinite the rest is not to be used, but for the loads.
 */
double congestion_evaluate(struct congestion *congestion, const double *shares);

/* The slopes at the point that was evaluated last. */
void congestion_slopes(struct congestion *congestion);

/* How the mean time changes with the size of @site there. */
double congestion_size_slope(const struct congestion *congestion, uint32_t site);

/* The busiest queue there. */
uint32_t congestion_busiest(const struct congestion *congestion);

#endif /* MIXTURE_CONGESTION_H */
