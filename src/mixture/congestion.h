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

#include "queueing/toll.h"

struct patterns;
struct sites;
struct workload;

struct congestion {
    const struct workload *workload;
    const struct sites *sites;
    const struct patterns *patterns;
    double scale; /* Of all rates: 1, but on the way to a feasible point. */

    /* By queue, for each of its copies. */
    double *loads;        /* Utilisation. */
    double *aheads;       /* The part of it that goes ahead of those who wait. */
    double *residuals_ns; /* Rate times second moment. */
    struct toll *tolls;   /* What a job pays for what it asks of a copy. */

    /* By price (pattern.h). */
    double *prices; /* The wait there. */
    double
        *waiters; /* Jobs per nanosecond that wait there on their longest paths, at all copies. */

    double mean_ns;       /* Of all jobs. INFINITY if a queue has no end. */
    uint64_t evaluations; /* Of single patterns. */

    /* By pattern. */
    uint32_t capacity;
    double *lengths_ns; /* The time of its jobs. */
    double *slopes;     /* That, and its tolls. */
    double *flows;      /* Its jobs per nanosecond. */
    double *extras_ns;  /* Added to its time whatever the prices are; 0 at first. */
};

/* Borrow all three, which must stay; @patterns may grow. */
void congestion_init(
    struct congestion *congestion, const struct workload *workload, const struct sites *sites,
    const struct patterns *patterns);
void congestion_deinit(struct congestion *congestion);

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
