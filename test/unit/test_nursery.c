/* What measures and runs the models of a repository is made apart, and its end is not ours. */
#include "service/nursery.h"

#include <sys/stat.h>

#include "base/attributes.h"
#include "unit/onnx_fixture.h"

enum { DEADLY, GOOD, MODELS }; /* By name. */

struct world {
    struct repository *repository;
    struct nursery nursery;
};

static void on_problem(ATTR_UNUSED void *context, const char *message)
{
    print_message("%s\n", message);
}

static void add_model(const char *name, void (*write)(const char *path))
{
    char path[160];
    (void)snprintf(path, sizeof(path), "%s/repository/%s", fixture_folder, name);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/repository/%s/1", fixture_folder, name);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/repository/%s/1/model.onnx", fixture_folder, name);
    write(path);
}

static void write_good(const char *path)
{
    onnx_write_relu(path, -1);
}

static void world_init(struct world *world)
{
    const struct repository_listener listener = {.on_problem = on_problem};
    struct weft_error error;
    struct machine machine;
    if (mkdir(fixture_path("repository"), 0700) == 0) {
        add_model("deadly", onnx_write_deadly);
        add_model("good", write_good);
    }
    assert_int_equal(
        repository_load(fixture_path("repository"), &listener, &world->repository, &error),
        WEFT_OK);
    assert_string_equal(world->repository->catalogue->models[GOOD], "good");
    machine_read(&machine);
    if (nursery_start(&world->nursery, world->repository, &machine, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
}

static void world_deinit(struct world *world)
{
    nursery_stop(&world->nursery);
    repository_destroy(world->repository);
}

static enum weft_status measure(
    struct world *world, uint32_t model, enum measure_depth depth, struct measure_figures *out,
    struct weft_error *error)
{
    const struct measure_options options = {
        .nursery = &world->nursery,
        .model = model,
        .name = world->repository->catalogue->models[model],
        .file = &world->repository->files[model],
        .cache = fixture_folder,
        .depth = depth,
    };
    return measure_model(&options, out, error);
}

static void a_model_is_measured_apart(ATTR_UNUSED void **state)
{
    struct world world;
    struct measure_figures figures;
    struct weft_error error = {.message = ""};
    (void)fixture_ort();
    world_init(&world);
    const enum weft_status status = measure(&world, GOOD, MEASURE_RUNS, &figures, &error);
    assert_string_equal(error.message, "");
    assert_int_equal(status, WEFT_OK);
    assert_int_equal(figures.signature.input_count, 1);
    assert_string_equal(figures.signature.outputs[0].name, "y");
    assert_true(figures.has_loads);
    assert_true(figures.resident_bytes > 0 && figures.load_ns > 0);
    assert_int_equal(figures.point_count, MEASURE_POINTS_MAX);
    assert_int_equal(figures.points[5].items, 32);
    assert_string_equal(figures.alone, "");
    assert_int_equal(measure(&world, GOOD, MEASURE_LOOK, &figures, &error), WEFT_OK);
    assert_false(figures.has_loads);
    assert_int_equal(figures.point_count, 0);
    world_deinit(&world);
}

static void a_model_that_kills_is_said_to(ATTR_UNUSED void **state)
{
    struct world world;
    struct measure_figures figures;
    struct weft_error error = {.message = ""};
    (void)fixture_ort();
    world_init(&world);
    assert_int_equal(measure(&world, DEADLY, MEASURE_LOOK, &figures, &error), WEFT_CRASHED);
    assert_string_equal(
        error.message, "model 'deadly': the process that measured it crashed (SIGFPE)");
    assert_int_equal(measure(&world, GOOD, MEASURE_LOOK, &figures, &error), WEFT_OK);
    world_deinit(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_is_measured_apart),
        cmocka_unit_test(a_model_that_kills_is_said_to),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
