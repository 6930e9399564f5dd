#include "mixture/quasi_newton.h"

#include <math.h>

enum { LANES = 4 };

#define CURVATURE_MIN 1e-10 /* Of the product of both lengths: less says nothing. */

static double sum_of(const double lanes[static LANES])
{
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

double quasi_newton_dot(const double *a, const double *b, uint32_t count)
{
    double lanes[LANES] = {0};
    const uint32_t whole = count - count % LANES;
    for (uint32_t i = 0; i < whole; i += LANES) {
        for (uint32_t k = 0; k < LANES; k++) {
            lanes[k] += a[i + k] * b[i + k];
        }
    }
    for (uint32_t i = whole; i < count; i++) {
        lanes[i - whole] += a[i] * b[i];
    }
    return sum_of(lanes);
}

/* Add @factor times @added to @target. Returns the product of the result and @other. */
static double add_and_dot(
    double *restrict target, double factor, const double *restrict added,
    const double *restrict other, uint32_t count)
{
    double lanes[LANES] = {0};
    const uint32_t whole = count - count % LANES;
    for (uint32_t i = 0; i < whole; i += LANES) {
        for (uint32_t k = 0; k < LANES; k++) {
            target[i + k] += factor * added[i + k];
            lanes[k] += target[i + k] * other[i + k];
        }
    }
    for (uint32_t i = whole; i < count; i++) {
        target[i] += factor * added[i];
        lanes[i - whole] += target[i] * other[i];
    }
    return sum_of(lanes);
}

/* Multiply @target by @factor times @metric. Returns the product of the result and @other. */
static double scale_and_dot(
    double *restrict target, double factor, const double *restrict metric,
    const double *restrict other, uint32_t count)
{
    double lanes[LANES] = {0};
    const uint32_t whole = count - count % LANES;
    for (uint32_t i = 0; i < whole; i += LANES) {
        for (uint32_t k = 0; k < LANES; k++) {
            target[i + k] *= factor * metric[i + k];
            lanes[k] += target[i + k] * other[i + k];
        }
    }
    for (uint32_t i = whole; i < count; i++) {
        target[i] *= factor * metric[i];
        lanes[i - whole] += target[i] * other[i];
    }
    return sum_of(lanes);
}

/* The squares of @vector, each times @metric. */
static double length_of(const double *vector, const double *metric, uint32_t count)
{
    double lanes[LANES] = {0};
    const uint32_t whole = count - count % LANES;
    for (uint32_t i = 0; i < whole; i += LANES) {
        for (uint32_t k = 0; k < LANES; k++) {
            lanes[k] += vector[i + k] * vector[i + k] * metric[i + k];
        }
    }
    for (uint32_t i = whole; i < count; i++) {
        lanes[i - whole] += vector[i] * vector[i] * metric[i];
    }
    return sum_of(lanes);
}

/* Back over the moves and forth again. Each change goes with the product that the next needs. */
double quasi_newton_direction(
    const struct quasi_newton *known, const double *gradient, const double *metric, double first,
    double *direction_out)
{
    const uint32_t count = known->count;
    const double *moves[QUASI_NEWTON_MEMORY];
    const double *turns[QUASI_NEWTON_MEMORY];
    double products[QUASI_NEWTON_MEMORY];
    double alphas[QUASI_NEWTON_MEMORY];
    for (uint32_t i = 0; i < count; i++) {
        direction_out[i] = -gradient[i];
    }
    if (known->kept == 0) {
        return scale_and_dot(direction_out, first, metric, gradient, count);
    }
    for (uint32_t i = 0; i < known->kept; i++) {
        const uint32_t slot = (known->newest + QUASI_NEWTON_MEMORY - i) % QUASI_NEWTON_MEMORY;
        moves[i] = known->moves + slot * known->step;
        turns[i] = known->turns + slot * known->step;
        products[i] = known->products[slot];
    }
    const double scale = products[0] / length_of(turns[0], metric, count);
    double product = quasi_newton_dot(direction_out, moves[0], count);
    for (uint32_t i = 0; i < known->kept; i++) {
        const double *next = moves[i + 1 < known->kept ? i + 1 : i];
        alphas[i] = product / products[i];
        product = add_and_dot(direction_out, -alphas[i], turns[i], next, count);
    }
    product = scale_and_dot(direction_out, scale, metric, turns[known->kept - 1], count);
    for (uint32_t i = known->kept; i-- > 0;) {
        const double beta = product / products[i];
        const double *next = i > 0 ? turns[i - 1] : gradient;
        product = add_and_dot(direction_out, alphas[i] - beta, moves[i], next, count);
    }
    return product;
}

static uint32_t next_slot(const struct quasi_newton *known)
{
    return (known->newest + 1) % QUASI_NEWTON_MEMORY;
}

double *quasi_newton_next(const struct quasi_newton *known)
{
    return known->moves + next_slot(known) * known->step;
}

void quasi_newton_learn(struct quasi_newton *known, const double *older, const double *gradient)
{
    const uint32_t slot = next_slot(known);
    const double *move = known->moves + slot * known->step;
    double *turn = known->turns + slot * known->step;
    for (uint32_t i = 0; i < known->count; i++) {
        turn[i] = gradient[i] - older[i];
    }
    const double product = quasi_newton_dot(move, turn, known->count);
    const double size = sqrt(
        quasi_newton_dot(move, move, known->count) * quasi_newton_dot(turn, turn, known->count));
    if (product > CURVATURE_MIN * size) {
        known->products[slot] = product;
        known->newest = slot;
        known->kept = known->kept < QUASI_NEWTON_MEMORY ? known->kept + 1 : known->kept;
    } else if (known->kept == QUASI_NEWTON_MEMORY) {
        known->kept--; /* Its slot was that of the oldest. */
    }
}
