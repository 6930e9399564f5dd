/*
 * Covers: src/lab/shapes_table.c
 *
 * With the folder of the fitted figures in WEFT_TEST_DATA, also that what is drawn follows
 * those figures.
 */
#include "lab/shapes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/hash.h"
#include "lab/shapes_table.h"
#include "model/catalogue.h"

enum { MANY = 4000 };

/* Draws workflows that are not kept, each with models of its own. */
struct draws {
    struct shapes_options options;
    struct catalogue *catalogue;
    struct shapes shapes;
    struct workflow *workflow;
};

static struct workflow *draw(struct draws *draws, uint64_t seed)
{
    workflow_destroy(draws->workflow);
    catalogue_destroy(draws->catalogue);
    draws->catalogue = catalogue_create();
    shapes_init(&draws->shapes, &draws->options, draws->catalogue, seed);
    draws->workflow = shapes_draw(&draws->shapes, "drawn");
    return draws->workflow;
}

static void end_draws(struct draws *draws)
{
    workflow_destroy(draws->workflow);
    catalogue_destroy(draws->catalogue);
}

/* Tasks on the longest way to @task, itself included. */
static uint32_t level_of(const struct workflow *workflow, uint32_t task, uint32_t *levels)
{
    uint32_t level = 1;
    for (uint32_t i = 0; i < workflow->tasks[task].in_count; i++) {
        const uint32_t before = levels[workflow_in(workflow, task, i)->from];
        level = before + 1 > level ? before + 1 : level;
    }
    levels[task] = level;
    return level;
}

static uint32_t level_count(const struct workflow *workflow)
{
    uint32_t levels[SHAPES_TASKS_MAX];
    uint32_t deepest = 0;

    for (uint32_t i = 0; i < workflow->task_count; i++) {
        const uint32_t level = level_of(workflow, workflow->order[i], levels);
        deepest = level > deepest ? level : deepest;
    }
    return deepest;
}

static void the_tables_are_distributions(ATTR_UNUSED void **state)
{
    assert_true(shapes_tasks[0].part == 0);
    for (uint32_t i = 1; i < SHAPES_TASKS_STEPS; i++) {
        assert_true(shapes_tasks[i].value > shapes_tasks[i - 1].value);
        assert_true(shapes_tasks[i].part > shapes_tasks[i - 1].part);
    }
    assert_true(shapes_tasks[SHAPES_TASKS_STEPS - 1].part == 1);
    assert_true(shapes_tasks[SHAPES_TASKS_STEPS - 1].value == SHAPES_TASKS_MAX);
    for (uint32_t k = 1; k < SHAPES_QUANTILES; k++) {
        assert_true(shapes_quantiles[k] > shapes_quantiles[k - 1]);
        assert_true(shapes_run[k] >= shapes_run[k - 1]);
        for (uint32_t i = 0; i < SHAPES_LEVELS_ROWS; i++) {
            assert_true(shapes_levels[i][k] >= shapes_levels[i][k - 1]);
        }
        for (uint32_t i = 0; i < SHAPES_LEVEL_ROWS; i++) {
            assert_true(shapes_level[i][k] >= shapes_level[i][k - 1]);
            assert_true(shapes_level[i][k] <= i + 1);
        }
    }
}

/* A graph of one piece: all tasks but those of the last level feed others. */
static void assert_whole(const struct workflow *workflow, const struct shapes *shapes)
{
    uint32_t levels[SHAPES_TASKS_MAX];
    const uint32_t deepest = level_count(workflow);

    assert_true(workflow->sealed);
    assert_true(workflow->slo_ns > 0 && workflow->slo_ns % 1000000 == 0);
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        const struct workflow_task *task = &workflow->tasks[workflow->order[i]];
        const struct shapes_model *model = &shapes->models[task->run];
        const uint32_t level = level_of(workflow, workflow->order[i], levels);
        assert_true(task->out_count > 0 || level == deepest);
        assert_true(model->run_ns > 0 && model->run_ns % 1000 == 0);
        assert_int_equal(task->model_count, model->bytes > 0 ? 1 : 0);
    }
    for (uint32_t i = 0; i < workflow->edge_count; i++) {
        assert_in_range(workflow->edges[i].bytes, 2000, 5000000);
    }
}

static void every_workflow_is_sealed_and_of_one_piece(ATTR_UNUSED void **state)
{
    struct draws draws = {0};

    for (uint64_t seed = 0; seed < MANY; seed++) {
        const struct workflow *workflow = draw(&draws, seed);
        assert_in_range(workflow->task_count, 2, 64);
        assert_whole(workflow, &draws.shapes);
    }
    end_draws(&draws);
}

static void options_bound_the_tasks(ATTR_UNUSED void **state)
{
    static const uint32_t bounds[][2] = {{1, 1}, {1, 2}, {7, 7}, {3, 10}, {30, 199}, {199, 199}};

    for (uint32_t k = 0; k < sizeof(bounds) / sizeof(bounds[0]); k++) {
        struct draws draws = {.options = {.tasks_min = bounds[k][0], .tasks_max = bounds[k][1]}};
        bool met[2] = {false, false};
        for (uint64_t seed = 0; seed < 500; seed++) {
            const struct workflow *workflow = draw(&draws, seed);
            assert_in_range(workflow->task_count, bounds[k][0], bounds[k][1]);
            assert_whole(workflow, &draws.shapes);
            met[0] |= workflow->task_count == bounds[k][0];
            met[1] |= workflow->task_count == bounds[k][1];
        }
        assert_true(met[0] && (met[1] || bounds[k][1] > 10));
        end_draws(&draws);
    }
}

static uint64_t hash_of(const struct workflow *workflow, const struct shapes *shapes)
{
    uint64_t hash = workflow->input_bytes;
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        hash = hash_mix(hash, workflow->tasks[i].run);
        hash = hash_mix(hash, (uint64_t)shapes->models[workflow->tasks[i].run].run_ns);
        hash = hash_mix(hash, shapes->models[workflow->tasks[i].run].bytes);
    }
    for (uint32_t i = 0; i < workflow->edge_count; i++) {
        hash = hash_mix(hash, workflow->edges[i].from);
        hash = hash_mix(hash, workflow->edges[i].to);
        hash = hash_mix(hash, workflow->edges[i].bytes);
    }
    return hash;
}

static void the_same_seed_gives_the_same_workflows(ATTR_UNUSED void **state)
{
    struct draws draws = {0};
    uint64_t hash = 0;

    for (uint64_t seed = 0; seed < 100; seed++) {
        hash = hash_mix(hash, hash_of(draw(&draws, seed), &draws.shapes));
    }
    end_draws(&draws);
    assert_int_equal(hash, UINT64_C(0x6144fc7ffaa0a506)); /* On every compiler. */
}

/* Models are shared, and at their limit nothing but shared. */
static void models_are_used_again(ATTR_UNUSED void **state)
{
    const struct shapes_options options = {.tasks_min = 20};
    struct catalogue *catalogue = catalogue_create();
    struct shapes shapes;
    uint32_t tasks = 0;
    uint32_t after_ten = 0;
    char name[NAME_BYTES_MAX];

    shapes_init(&shapes, &options, catalogue, 1);
    for (uint32_t i = 0; i < 60; i++) {
        (void)snprintf(name, sizeof(name), "w%u", i);
        struct workflow *workflow = shapes_draw(&shapes, name);
        tasks += i < 10 ? workflow->task_count : 0;
        assert_int_equal(catalogue_add_workflow(catalogue, workflow), WEFT_OK);
        after_ten = i == 9 ? catalogue->model_count : after_ten;
    }
    assert_true(fabs((double)after_ten / tasks - 0.5) < 0.15);
    assert_int_equal(catalogue->model_count, MODELS_MAX);
    catalogue_destroy(catalogue);
}

/* Read the figures called @name; the test is skipped if they are not there. */
static FILE *open_figures(const char *name)
{
    const char *folder = getenv("WEFT_TEST_DATA");
    char path[1024];

    if (folder == NULL) {
        skip();
    }
    (void)snprintf(path, sizeof(path), "%s/dag-shapes/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        skip();
    }
    return file;
}

static void task_counts_follow_the_figures(ATTR_UNUSED void **state)
{
    FILE *file = open_figures("task_num_dist.csv");
    struct draws draws = {.options = {.tasks_min = 1, .tasks_max = 199}};
    uint32_t at_most[SHAPES_TASKS_MAX + 1] = {0};
    char line[128];

    for (uint64_t seed = 0; seed < 2 * MANY; seed++) {
        const struct workflow *workflow = draw(&draws, seed);
        for (uint32_t i = workflow->task_count; i <= SHAPES_TASKS_MAX; i++) {
            at_most[i]++;
        }
    }
    end_draws(&draws);
    uint32_t compared = 0;
    assert_non_null(fgets(line, sizeof(line), file)); /* The header. */
    while (fgets(line, sizeof(line), file) != NULL) {
        char *comma = strchr(line, ',');
        assert_non_null(comma);
        const long value = strtol(line, NULL, 10);
        const double part = strtod(comma + 1, NULL);
        assert_true(fabs(at_most[value] / (2.0 * MANY) - part) < 0.02);
        compared++;
    }
    (void)fclose(file); /* Only read. */
    assert_true(compared > 50);
}

/* The median of the levels of graphs with @tasks tasks. */
static uint32_t median_levels(uint32_t tasks)
{
    struct draws draws = {.options = {.tasks_min = tasks, .tasks_max = tasks}};
    uint32_t counts[SHAPES_TASKS_MAX + 1] = {0};
    uint32_t passed = 0;
    uint32_t level = 0;

    for (uint64_t seed = 0; seed < 1001; seed++) {
        counts[level_count(draw(&draws, seed))]++;
    }
    end_draws(&draws);
    while (passed < 501) {
        level++;
        passed += counts[level];
    }
    return level;
}

static void levels_follow_the_figures(ATTR_UNUSED void **state)
{
    enum { MEDIAN_COLUMN = 6 };
    FILE *file = open_figures("cpl_dist.csv");
    char line[512];

    assert_non_null(fgets(line, sizeof(line), file)); /* The header. */
    while (fgets(line, sizeof(line), file) != NULL) {
        const char *at = line;
        const uint32_t tasks = (uint32_t)strtoul(at, NULL, 10);
        for (uint32_t i = 0; i < MEDIAN_COLUMN; i++) {
            at = strchr(at, ',') + 1;
        }
        const double median = ceil(strtod(at, NULL));
        assert_true(fabs(median_levels(tasks) - median) <= 1);
    }
    (void)fclose(file); /* Only read. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tables_are_distributions),
        cmocka_unit_test(every_workflow_is_sealed_and_of_one_piece),
        cmocka_unit_test(options_bound_the_tasks),
        cmocka_unit_test(the_same_seed_gives_the_same_workflows),
        cmocka_unit_test(models_are_used_again),
        cmocka_unit_test(task_counts_follow_the_figures),
        cmocka_unit_test(levels_follow_the_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
