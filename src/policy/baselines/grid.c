/*
 * grid.c - the configs of a task as a grid.
 */
#include "policy/baselines/grid.h"

#include "base/arena.h"
#include "base/assert.h"

static uint32_t value_of(const struct config *config, uint32_t axis)
{
    return axis == GRID_BATCH ? config->batch : axis == GRID_CPU ? config->cpu : config->gpu;
}

/* Add @value to an axis, ascending, if it is new and there is room. */
static void add_value(struct grid *grid, uint32_t axis, uint32_t value)
{
    uint32_t *values = grid->values[axis];
    uint32_t at = 0;
    while (at < grid->counts[axis] && values[at] < value) {
        at++;
    }
    if ((at < grid->counts[axis] && values[at] == value) || grid->counts[axis] == GRID_STEPS_MAX) {
        return;
    }
    for (uint32_t i = grid->counts[axis]++; i > at; i--) {
        values[i] = values[i - 1];
    }
    values[at] = value;
}

static uint32_t distance(uint32_t a, uint32_t b)
{
    return a > b ? a - b : b - a;
}

/* How far @config is from the values of a point. */
static uint64_t apart(const struct config *config, const uint32_t values[GRID_AXES])
{
    const uint64_t batch = distance(config->batch, values[GRID_BATCH]);
    const uint64_t gpu = distance(config->gpu, values[GRID_GPU]);
    const uint64_t cpu = distance(config->cpu, values[GRID_CPU]);
    return batch << 40 | gpu << 20 | cpu;
}

static uint32_t nearest(const struct configs *configs, const uint32_t values[GRID_AXES])
{
    uint32_t best = 0;
    uint64_t best_apart = UINT64_MAX;
    for (uint32_t i = 0; i < configs->count; i++) {
        const struct configs_choice *choice = &configs->choices[i];
        const uint64_t own = apart(&choice->config, values);
        if (choice->device == configs->choices[0].device && own < best_apart) {
            best = i;
            best_apart = own;
        }
    }
    return best;
}

void grid_make(struct arena *arena, const struct configs *configs, struct grid *grid_out)
{
    ASSERT(configs->count > 0);
    *grid_out = (struct grid){.counts = {0}};
    for (uint32_t i = 0; i < configs->count; i++) {
        for (uint32_t axis = 0; axis < GRID_AXES; axis++) {
            if (configs->choices[i].device == configs->choices[0].device) {
                add_value(grid_out, axis, value_of(&configs->choices[i].config, axis));
            }
        }
    }
    const uint32_t *counts = grid_out->counts;
    const uint32_t count = counts[GRID_BATCH] * counts[GRID_CPU] * counts[GRID_GPU];
    grid_out->choices = arena_alloc(arena, count * sizeof(*grid_out->choices));
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t values[GRID_AXES] = {
            [GRID_BATCH] = grid_out->values[GRID_BATCH][i / counts[GRID_GPU] / counts[GRID_CPU]],
            [GRID_CPU] = grid_out->values[GRID_CPU][i / counts[GRID_GPU] % counts[GRID_CPU]],
            [GRID_GPU] = grid_out->values[GRID_GPU][i % counts[GRID_GPU]],
        };
        grid_out->choices[i] = nearest(configs, values);
    }
}
