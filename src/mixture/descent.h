/*
 * descent.h - find shares of patterns, and sizes of sites, at which no small change helps.
 *
 * Shares of a stream are a point of a simplex, and so are the parts of a class of machines.
 * The step is that of mirror descent (exponentiated gradient): shares are multiplied by the
 * exponential of minus their slope, so none becomes negative, and loads stay below 1 because
 * the time goes to infinity there. What earlier steps say about the curvature shortens the
 * way (quasi_newton.h in the logarithms of the shares, with the mirror step as its first guess).
 * Every step lowers the mean time.
 */
#ifndef MIXTURE_DESCENT_H
#define MIXTURE_DESCENT_H

#include <stdbool.h>
#include <stdint.h>

struct congestion;
struct sites;

struct descent {
    struct congestion *congestion;
    struct sites *sites; /* Resized if sizes are free. */
    bool sizes_are_free;
    uint64_t evaluations_max; /* Of the congestion. */
    uint32_t count;           /* Patterns with a share. */
    uint32_t capacity;
    double *shares; /* By pattern. */
};

void descent_init(struct descent *descent, struct congestion *congestion, struct sites *sites);
void descent_deinit(struct descent *descent);

/*
 * Give patterns that came since the last call a share: @part of their stream together, or
 * all of it if it has no others.
 */
void descent_admit(struct descent *descent, double part);

/* Make the shares of each stream sum to 1. */
void descent_normalise(struct descent *descent);

/*
 * Lower the mean time, in at most @steps steps, until a step gains less than @tolerance of
 * it. The congestion is left evaluated at the result. Returns the mean time; INFINITY,
 * unless the point where it starts is feasible.
 */
double descent_run(struct descent *descent, uint32_t steps, double tolerance);

#endif /* MIXTURE_DESCENT_H */
