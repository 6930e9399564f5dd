/*
 * quasi_newton.h - a direction of descent from gradients, by what earlier moves say about the
 * curvature: limited-memory BFGS (Nocedal 1980).
 */
#ifndef MIXTURE_QUASI_NEWTON_H
#define MIXTURE_QUASI_NEWTON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { QUASI_NEWTON_MEMORY = 8 };

struct quasi_newton {
    uint32_t count;                       /* Variables. */
    uint32_t kept;                        /* Moves in the ring. */
    uint32_t newest;                      /* The last of them. */
    size_t step;                          /* From one vector of the ring to the next. */
    double *moves;                        /* Borrowed: the ring, of QUASI_NEWTON_MEMORY vectors. */
    double *turns;                        /* The same: how the gradient changed with each. */
    double products[QUASI_NEWTON_MEMORY]; /* Of each move and turn. */
};

/*
 * The direction at @gradient, with the diagonal @metric times @first as the inverse of the
 * curvature as long as nothing is known about it. Returns the slope along the direction.
 */
double quasi_newton_direction(
    const struct quasi_newton *known, const double *gradient, const double *metric, double first,
    double *direction_out);

/* Where the next move goes. It does not count before quasi_newton_learn(). */
double *quasi_newton_next(const struct quasi_newton *known);

/*
 * The next move was made, and the gradient, which was @older, is now @gradient. It is forgotten
 * again if the slope does not rise along it.
 */
void quasi_newton_learn(struct quasi_newton *known, const double *older, const double *gradient);

#endif /* MIXTURE_QUASI_NEWTON_H */
