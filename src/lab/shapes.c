#include "lab/shapes.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/exact.h"
#include "base/units.h"
#include "lab/shapes_table.h"
#include "model/catalogue.h"
#include "model/graph.h"

_Static_assert(
    (int)SHAPES_TASKS_MAX <= (int)WORKFLOW_TASKS_MAX, "a drawn workflow is within its limits");

enum {
    INPUTS_MAX = 4,
    TASKS_MIN_DEFAULT = 2,
    TASKS_MAX_DEFAULT = 64,
    RUN_FACTOR_MAX = 100, /* Of a model, over the median. */
};

#define RUN_MEDIAN_NS_DEFAULT INT64_C(20000000)
#define REUSE_DEFAULT         0.5
#define SLO_FACTOR_DEFAULT    5.0
#define INPUT_PART            0.35 /* How many tasks that could have another input have it. */
#define FUNCTION_PART         0.25 /* How many new models are plain functions. */
#define FUNCTION_SPEED        10   /* How much shorter functions run. */
#define MODEL_BYTES_LOW       50e6
#define MODEL_BYTES_HIGH      4e9
#define EDGE_BYTES_LOW        2e3
#define EDGE_BYTES_HIGH       5e6
#define BYTES_PER_KB          1000
#define BYTES_PER_MB          1000000

/* A workflow while it is drawn. */
struct drawing {
    struct shapes *shapes;
    struct rng rng;
    struct workflow *workflow;
    uint32_t task_count;
    uint32_t level_count;
    uint32_t level_first[SHAPES_TASKS_MAX + 1]; /* Tasks are numbered level by level. */
    int64_t run_ns[SHAPES_TASKS_MAX];
};

void shapes_init(
    struct shapes *shapes, const struct shapes_options *options, struct catalogue *catalogue,
    uint64_t seed)
{
    ASSERT(catalogue->model_count == 0);

    *shapes = (struct shapes){.options = *options, .catalogue = catalogue, .seed = seed};
    struct shapes_options *set = &shapes->options;
    set->tasks_min = set->tasks_min == 0 ? TASKS_MIN_DEFAULT : set->tasks_min;
    set->tasks_max = set->tasks_max == 0 ? TASKS_MAX_DEFAULT : set->tasks_max;
    set->run_median_ns = set->run_median_ns == 0 ? RUN_MEDIAN_NS_DEFAULT : set->run_median_ns;
    set->reuse = set->reuse == 0 ? REUSE_DEFAULT : set->reuse;
    set->slo_factor = set->slo_factor == 0 ? SLO_FACTOR_DEFAULT : set->slo_factor;
    ASSERT(set->tasks_min <= set->tasks_max && set->tasks_max <= SHAPES_TASKS_MAX);
    ASSERT(set->run_median_ns >= NS_PER_US && set->slo_factor > 0);
    ASSERT(set->reuse > 0 && set->reuse <= 1);
}

/* On the straight line from (x0, y0) to (x1, y1). */
static double between(double x, double x0, double y0, double x1, double y1)
{
    return y0 + (x - x0) / (x1 - x0) * (y1 - y0);
}

static double quantile(const double *values, double part)
{
    uint32_t i = 1;
    while (i + 1 < SHAPES_QUANTILES && part > shapes_quantiles[i]) {
        i++;
    }
    return between(part, shapes_quantiles[i - 1], values[i - 1], shapes_quantiles[i], values[i]);
}

/* The least whole number that is not below @value, from 1 to @most. */
static uint32_t whole(double value, uint32_t most)
{
    uint32_t number = value < 1 ? 1 : (uint32_t)value;
    if ((double)number < value) {
        number++;
    }
    return number < most ? number : most;
}

/* How many graphs have at most @tasks tasks. */
static double tasks_part(uint32_t tasks)
{
    const struct shapes_step *steps = shapes_tasks;
    uint32_t i = 1;
    while (i + 1 < SHAPES_TASKS_STEPS && (double)tasks > steps[i].value) {
        i++;
    }
    return between(tasks, steps[i - 1].value, steps[i - 1].part, steps[i].value, steps[i].part);
}

/* From the part of the distribution that the options leave: nothing is drawn in vain. */
static uint32_t draw_task_count(struct drawing *drawing)
{
    const struct shapes_options *options = &drawing->shapes->options;
    const double low = tasks_part(options->tasks_min - 1);
    const double high = tasks_part(options->tasks_max);
    const double unit = rng_unit(&drawing->rng);
    const double part = low + unit * (high - low);
    const struct shapes_step *steps = shapes_tasks;
    uint32_t i = 1;

    while (i + 1 < SHAPES_TASKS_STEPS && part > steps[i].part) {
        i++;
    }
    const double value =
        between(part, steps[i - 1].part, steps[i - 1].value, steps[i].part, steps[i].value);
    const uint32_t count = whole(value, options->tasks_max);
    return count > options->tasks_min ? count : options->tasks_min;
}

static uint32_t draw_level_count(struct drawing *drawing)
{
    if (drawing->task_count < SHAPES_LEVELS_FIRST) {
        return 1;
    }
    uint32_t row = drawing->task_count - SHAPES_LEVELS_FIRST;
    row = row < SHAPES_LEVELS_ROWS ? row : SHAPES_LEVELS_ROWS - 1;
    const double unit = rng_unit(&drawing->rng);
    return whole(quantile(shapes_levels[row], unit), drawing->task_count);
}

/* From 0. Graphs deeper than the table have their tasks evenly over the levels. */
static uint32_t draw_level(struct drawing *drawing)
{
    if (drawing->level_count > SHAPES_LEVEL_ROWS) {
        return rng_below(&drawing->rng, drawing->level_count);
    }
    const double unit = rng_unit(&drawing->rng);
    const double *row = shapes_level[drawing->level_count - 1];
    return whole(quantile(row, unit), drawing->level_count) - 1;
}

/* One task on each level; the others where they fall. */
static void draw_levels(struct drawing *drawing)
{
    uint32_t counts[SHAPES_TASKS_MAX] = {0};

    drawing->task_count = draw_task_count(drawing);
    drawing->level_count = draw_level_count(drawing);
    for (uint32_t i = 0; i < drawing->level_count; i++) {
        counts[i] = 1;
    }
    for (uint32_t i = drawing->level_count; i < drawing->task_count; i++) {
        counts[draw_level(drawing)]++;
    }
    for (uint32_t i = 0; i < drawing->level_count; i++) {
        drawing->level_first[i + 1] = drawing->level_first[i] + counts[i];
    }
}

/* As likely in each octave from @low to @high; in whole multiples of @step. */
static uint64_t draw_bytes(struct rng *rng, double low, double high, uint64_t step)
{
    const double unit = rng_unit(rng);
    const double bytes = low * exact_pow(high / low, unit);
    return (uint64_t)(bytes / (double)step + 0.5) * step;
}

/* A model that was not used before, or a function. Its number in the catalogue. */
static uint32_t draw_new_model(struct drawing *drawing)
{
    struct shapes *shapes = drawing->shapes;
    char name[NAME_BYTES_MAX];
    struct shapes_model model = {0};

    const double kind = rng_unit(&drawing->rng);
    const double unit = rng_unit(&drawing->rng);
    double factor = quantile(shapes_run, unit);
    factor = factor < RUN_FACTOR_MAX ? factor : RUN_FACTOR_MAX;
    double run_ns = (double)shapes->options.run_median_ns * factor;
    if (kind < FUNCTION_PART) {
        run_ns /= FUNCTION_SPEED;
    } else {
        model.bytes = draw_bytes(&drawing->rng, MODEL_BYTES_LOW, MODEL_BYTES_HIGH, BYTES_PER_MB);
    }
    model.run_ns = ((int64_t)run_ns / NS_PER_US + 1) * NS_PER_US;
    (void)snprintf(
        name, sizeof(name), "%c%03u", model.bytes == 0 ? 'f' : 'm',
        shapes->catalogue->model_count + 1);
    const uint32_t number = catalogue_model(shapes->catalogue, name);
    ASSERT(number != MODEL_NONE);
    shapes->models[number] = model;
    return number;
}

static uint32_t draw_model(struct drawing *drawing)
{
    const uint32_t known = drawing->shapes->catalogue->model_count;
    const double unit = rng_unit(&drawing->rng);

    if (known == MODELS_MAX || (known > 0 && unit < drawing->shapes->options.reuse)) {
        return rng_below(&drawing->rng, known);
    }
    return draw_new_model(drawing);
}

static void draw_tasks(struct drawing *drawing)
{
    for (uint32_t i = 0; i < drawing->task_count; i++) {
        struct workflow_task task = {.run = draw_model(drawing)};
        const struct shapes_model *model = &drawing->shapes->models[task.run];
        uint32_t number;

        (void)snprintf(task.name, sizeof(task.name), "t%u", i + 1);
        if (model->bytes > 0) {
            task.models[0] = task.run;
            task.model_count = 1;
        }
        drawing->run_ns[i] = model->run_ns;
        const enum weft_status status = workflow_add_task(drawing->workflow, &task, &number);
        ASSERT(status == WEFT_OK && number == i);
    }
}

/* Two tasks that are connected already stay as they are. */
static void feed(struct drawing *drawing, uint32_t from, uint32_t to)
{
    const uint64_t bytes = draw_bytes(&drawing->rng, EDGE_BYTES_LOW, EDGE_BYTES_HIGH, BYTES_PER_KB);
    const struct workflow_edge edge = {.from = from, .to = to, .bytes = bytes};

    const enum weft_status status = workflow_add_edge(drawing->workflow, &edge);
    ASSERT(status == WEFT_OK || status == WEFT_EXISTS);
}

/* One of the tasks of @level. */
static uint32_t draw_of_level(struct drawing *drawing, uint32_t level)
{
    const uint32_t first = drawing->level_first[level];
    return first + rng_below(&drawing->rng, drawing->level_first[level + 1] - first);
}

/* The first input comes from the level before, which makes this the level of the task. */
static void draw_inputs(struct drawing *drawing, uint32_t task, uint32_t level)
{
    const uint32_t first = draw_of_level(drawing, level - 1);

    feed(drawing, first, task);
    for (uint32_t i = 1; i < INPUTS_MAX; i++) {
        const double unit = rng_unit(&drawing->rng);
        if (unit >= INPUT_PART) {
            return;
        }
        const uint32_t further = rng_below(&drawing->rng, drawing->level_first[level]);
        feed(drawing, further, task);
    }
}

static bool feeds_another(const struct workflow *workflow, uint32_t task)
{
    for (uint32_t i = 0; i < workflow->edge_count; i++) {
        if (workflow->edges[i].from == task) {
            return true;
        }
    }
    return false;
}

/* Every task but those of the last level feeds another, so that all of it is one graph. */
static void draw_edges(struct drawing *drawing)
{
    for (uint32_t level = 1; level < drawing->level_count; level++) {
        const uint32_t end = drawing->level_first[level + 1];
        for (uint32_t task = drawing->level_first[level]; task < end; task++) {
            draw_inputs(drawing, task, level);
        }
    }
    for (uint32_t level = 0; level + 1 < drawing->level_count; level++) {
        const uint32_t end = drawing->level_first[level + 1];
        for (uint32_t task = drawing->level_first[level]; task < end; task++) {
            if (!feeds_another(drawing->workflow, task)) {
                const uint32_t fed = draw_of_level(drawing, level + 1);
                feed(drawing, task, fed);
            }
        }
    }
}

static void set_slo(struct drawing *drawing)
{
    int64_t ranks[SHAPES_TASKS_MAX];
    const int64_t path_ns = graph_longest_path(drawing->workflow, drawing->run_ns, ranks);
    const double slo_ns = (double)path_ns * drawing->shapes->options.slo_factor;

    drawing->workflow->slo_ns = ((int64_t)slo_ns / NS_PER_MS + 1) * NS_PER_MS;
}

struct workflow *shapes_draw(struct shapes *shapes, const char *name)
{
    shapes->workflow_count++;
    struct drawing drawing = {
        .shapes = shapes,
        .rng = rng_stream(shapes->seed, RNG_WORKFLOW, shapes->workflow_count),
        .workflow = workflow_create(name),
    };

    draw_levels(&drawing);
    draw_tasks(&drawing);
    draw_edges(&drawing);
    drawing.workflow->input_bytes =
        draw_bytes(&drawing.rng, EDGE_BYTES_LOW, EDGE_BYTES_HIGH, BYTES_PER_KB);
    const enum weft_status status = workflow_seal(drawing.workflow, /* error */ NULL);
    ASSERT(status == WEFT_OK);
    set_slo(&drawing);
    return drawing.workflow;
}
