#include "mixture/quasi_newton.h"

#include <math.h>

#define CURVATURE_MIN 1e-10 /* Of the product of both lengths: less says nothing. */

static double dot(const double *a, const double *b, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static void add(double *target, double factor, const double *added, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        target[i] += factor * added[i];
    }
}

/* The number in the ring of the move that is @age moves old. */
static uint32_t slot_of(const struct quasi_newton *known, uint32_t age)
{
    return (known->newest + QUASI_NEWTON_MEMORY - age) % QUASI_NEWTON_MEMORY;
}

/* Back over the moves and forth again. */
double quasi_newton_direction(
    const struct quasi_newton *known, const double *gradient, const double *metric, double first,
    double *direction_out)
{
    const uint32_t count = known->count;
    double alphas[QUASI_NEWTON_MEMORY];
    double scale = first;
    for (uint32_t i = 0; i < count; i++) {
        direction_out[i] = -gradient[i];
    }
    for (uint32_t age = 0; age < known->kept; age++) {
        const uint32_t slot = slot_of(known, age);
        alphas[age] =
            dot(direction_out, known->moves + slot * known->step, count) / known->products[slot];
        add(direction_out, -alphas[age], known->turns + slot * known->step, count);
    }
    if (known->kept > 0) {
        const double *turn = known->turns + known->newest * known->step;
        double length = 0;
        for (uint32_t i = 0; i < count; i++) {
            length += turn[i] * turn[i] * metric[i];
        }
        scale = known->products[known->newest] / length;
    }
    for (uint32_t i = 0; i < count; i++) {
        direction_out[i] *= scale * metric[i];
    }
    for (uint32_t age = known->kept; age-- > 0;) {
        const uint32_t slot = slot_of(known, age);
        const double beta =
            dot(direction_out, known->turns + slot * known->step, count) / known->products[slot];
        add(direction_out, alphas[age] - beta, known->moves + slot * known->step, count);
    }
    return dot(direction_out, gradient, count);
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
    const double product = dot(move, turn, known->count);
    const double size = sqrt(dot(move, move, known->count) * dot(turn, turn, known->count));
    if (product > CURVATURE_MIN * size) {
        known->products[slot] = product;
        known->newest = slot;
        known->kept = known->kept < QUASI_NEWTON_MEMORY ? known->kept + 1 : known->kept;
    } else if (known->kept == QUASI_NEWTON_MEMORY) {
        known->kept--; /* Its slot was that of the oldest. */
    }
}
