/*
 * generate_workflows.c - a folder with workflows drawn at random, their profile and a
 * scenario that runs them.
 */
#include "lab/generate.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/units.h"
#include "document/profile_document.h"
#include "document/reader.h"
#include "lab/generate_folder.h"
#include "lab/shapes.h"

enum {
    COUNT_DEFAULT = 8,
    WORKERS = 4,
    BATCH_ITEMS = 8, /* In the batch whose time is given beside that of one item. */
    BATCH_TIMES = 3, /* How many times as long as one item that batch takes. */
};

#define SEED_DEFAULT    1
#define NAME_DEFAULT    "random"
#define DEVICE          "generic"
#define DEVICE_MEMORY   "8GB"
#define DEVICE_H2D      "12GB/s"
#define LOAD_PART       0.5 /* Of what the devices could do if every model were resident. */
#define WORKSPACE_PARTS 10  /* A running batch needs a tenth of the model on top. */
#define ITEM_PARTS      100

/* Everything that is drawn, before it is written. */
struct drawn {
    char name[NAME_BYTES_MAX];
    uint64_t seed;
    struct catalogue *catalogue;
    struct fleet *fleet;
    struct shapes shapes;
    struct profile_document document;
};

static void draw_all(struct drawn *drawn, uint32_t count)
{
    char name[NAME_BYTES_MAX];

    for (uint32_t i = 0; i < count; i++) {
        (void)snprintf(name, sizeof(name), "w%02u", i + 1);
        struct workflow *workflow = shapes_draw(&drawn->shapes, name);
        const enum weft_status status = catalogue_add_workflow(drawn->catalogue, workflow);
        ASSERT(status == WEFT_OK);
    }
}

static void add_point(struct drawn *drawn, uint32_t model, uint32_t items, int64_t run_ns)
{
    const struct profile_point point = {.items = items, .run_ns = run_ns};
    const enum weft_status status =
        profile_add_point(drawn->document.profile, model, /* device */ 0, &point);
    ASSERT(status == WEFT_OK);
}

static void make_profile(struct drawn *drawn)
{
    struct profile_document *document = &drawn->document;

    document->profile = profile_create(drawn->catalogue->model_count);
    document->origin.figures = FIGURES_ASSUMED;
    (void)snprintf(
        document->origin.source, sizeof(document->origin.source),
        "Drawn at random by 'weft generate', seed %" PRIu64 ".", drawn->seed);
    for (uint32_t i = 0; i < drawn->catalogue->model_count; i++) {
        const struct shapes_model *model = &drawn->shapes.models[i];
        struct profile_model *known = &document->profile->models[i];
        known->load_bytes = model->bytes;
        known->resident_bytes = model->bytes;
        known->workspace_bytes = model->bytes / WORKSPACE_PARTS;
        known->workspace_bytes_per_item = model->bytes / ITEM_PARTS;
        add_point(drawn, i, 1, model->run_ns);
        if (model->bytes > 0) {
            add_point(drawn, i, BATCH_ITEMS, BATCH_TIMES * model->run_ns);
        }
        model_set_add(&document->listed, i);
    }
}

/* Requests a second that keep the devices busy for LOAD_PART of the time. */
static double fitting_rate(const struct drawn *drawn)
{
    double work_s = 0;

    for (uint32_t i = 0; i < drawn->catalogue->workflow_count; i++) {
        const struct workflow *workflow = drawn->catalogue->workflows[i];
        for (uint32_t k = 0; k < workflow->task_count; k++) {
            const int64_t run_ns = drawn->shapes.models[workflow->tasks[k].run].run_ns;
            work_s += (double)run_ns / NS_PER_S;
        }
    }
    return LOAD_PART * WORKERS * drawn->catalogue->workflow_count / work_s;
}

static void write_scenario(const void *context, FILE *file)
{
    const struct drawn *drawn = context;
    (void)fprintf(
        file,
        "# Workflows with the shapes of batch jobs, drawn at random by 'weft generate', seed\n"
        "# %" PRIu64 ". At this rate the devices are busy half of the time.\n"
        "scenario: %s\n"
        "cluster:\n"
        "  machines: {count: %d, device: {kind: " DEVICE ", memory: " DEVICE_MEMORY
        ", h2d: " DEVICE_H2D "}}\n"
        "  network: {kind: star, link: 100Gb/s, latency: 20us, sharing: fifo}\n"
        "workflows:\n",
        drawn->seed, drawn->name, WORKERS);
    for (uint32_t i = 0; i < drawn->catalogue->workflow_count; i++) {
        (void)fprintf(file, "  - %s.yaml\n", drawn->catalogue->workflows[i]->name);
    }
    (void)fprintf(
        file,
        "profile: %s.profile.json\n"
        "arrivals: {kind: poisson, rate: %.3f/s}\n"
        "noise: 5%%\n"
        "jobs: 2000\n"
        "seeds: [1, 2, 3]\n",
        drawn->name, fitting_rate(drawn));
}

static enum weft_status save(const struct drawn *drawn, const char *path, struct weft_error *error)
{
    char profile_file[2 * NAME_BYTES_MAX];
    char scenario_file[2 * NAME_BYTES_MAX];
    (void)snprintf(profile_file, sizeof(profile_file), "%s.profile.json", drawn->name);
    (void)snprintf(scenario_file, sizeof(scenario_file), "%s.yaml", drawn->name);
    const struct generated generated = {
        .catalogue = drawn->catalogue,
        .fleet = drawn->fleet,
        .profile = &drawn->document,
        .profile_file = profile_file,
        .scenario_file = scenario_file,
        .write_scenario = write_scenario,
        .context = drawn,
    };
    return generate_save(&generated, path, error);
}

/* What is asked for, within limits. */
static enum weft_status read_values(
    const struct generate_values *values, struct drawn *drawn, uint32_t *count_out,
    struct shapes_options *options_out, struct weft_error *error)
{
    const uint64_t count = values->count.given ? values->count.value : COUNT_DEFAULT;
    const uint64_t tasks_max = values->tasks_max.given ? values->tasks_max.value : 0;
    const struct tree_node name = {
        .kind = TREE_SCALAR,
        .key = "--name",
        .text = values->name == NULL ? NAME_DEFAULT : values->name,
    };
    struct reader reader = {.error = error};

    if (values->output == NULL) {
        return error_set(error, WEFT_INVALID, "workflows need '-o': a folder");
    }
    if (count < 1 || count > WORKFLOWS_MAX) {
        return error_set(error, WEFT_INVALID, "'--count' must be between 1 and %d", WORKFLOWS_MAX);
    }
    if (values->tasks_max.given && (tasks_max < 2 || tasks_max > SHAPES_TASKS_MAX)) {
        return error_set(
            error, WEFT_INVALID, "'--tasks-max' must be between 2 and %d", SHAPES_TASKS_MAX);
    }
    reader_name(&reader, &name, drawn->name);
    *count_out = (uint32_t)count;
    *options_out = (struct shapes_options){.tasks_max = (uint32_t)tasks_max};
    return reader.status;
}

/* A scenario and a workflow of one name would be one file. */
static enum weft_status check_name(const struct drawn *drawn, struct weft_error *error)
{
    if (catalogue_find_workflow(drawn->catalogue, drawn->name) == UINT32_MAX) {
        return WEFT_OK;
    }
    return error_set(
        error, WEFT_INVALID, "'--name' is '%s', and so is that of a workflow", drawn->name);
}

enum weft_status generate_workflows(const struct generate_values *values, struct weft_error *error)
{
    struct drawn *drawn = memory_zeroed(1, sizeof(*drawn));
    struct shapes_options options = {0};
    uint32_t count = 0;

    drawn->seed = values->seed.given ? values->seed.value : SEED_DEFAULT;
    drawn->catalogue = catalogue_create();
    drawn->fleet = fleet_create();
    (void)fleet_device(drawn->fleet, DEVICE); /* Number 0: the first. */
    enum weft_status status = read_values(values, drawn, &count, &options, error);
    if (status == WEFT_OK) {
        shapes_init(&drawn->shapes, &options, drawn->catalogue, drawn->seed);
        draw_all(drawn, count);
        make_profile(drawn);
        status = check_name(drawn, error);
    }
    if (status == WEFT_OK) {
        status = save(drawn, values->output, error);
    }
    profile_destroy(drawn->document.profile);
    fleet_destroy(drawn->fleet);
    catalogue_destroy(drawn->catalogue);
    free(drawn);
    return status;
}
