/*
 * grid.h - the configs of a task as a grid: batch, CPU and GPU, each in steps.
 *
 * What searches that move a step at a time, or round a point of a cube, walk over. A point of
 * the grid that was not measured stands for the nearest one that was: fewer steps of batch,
 * then of GPU, then of CPU away.
 */
#ifndef POLICY_BASELINES_GRID_H
#define POLICY_BASELINES_GRID_H

#include "configs/configs.h"

enum { GRID_AXES = 3, GRID_STEPS_MAX = 64 };

enum grid_axis { GRID_BATCH, GRID_CPU, GRID_GPU };

struct grid {
    uint32_t counts[GRID_AXES];
    uint32_t values[GRID_AXES][GRID_STEPS_MAX];
    uint32_t *choices; /* Into the table it was made of: by batch, CPU, GPU. */
};

/* A point: a step on each axis. */
struct grid_point {
    uint16_t steps[GRID_AXES];
};

/*
 * The grid of the choices of @configs on one kind of device, that of the first of them. Steps
 * past GRID_STEPS_MAX are left out. It lies in @arena.
 */
void grid_make(struct arena *arena, const struct configs *configs, struct grid *grid_out);

static inline uint32_t grid_choice(const struct grid *grid, struct grid_point point)
{
    const uint32_t *counts = grid->counts;
    const uint32_t at =
        (point.steps[GRID_BATCH] * counts[GRID_CPU] + point.steps[GRID_CPU]) * counts[GRID_GPU] +
        point.steps[GRID_GPU];
    return grid->choices[at];
}

#endif /* POLICY_BASELINES_GRID_H */
