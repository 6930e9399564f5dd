/*
 * Versions of a model: where their files are, and that each edition is run by its own.
 *
 * Covers: src/engine/artifact.c src/onnx/local_load.c src/onnx/local_run.c
 */
#include "engine/artifact.h"

#include <sys/stat.h>

#include "onnx/local.h"
#include "unit/engine_fixture.h"
#include "unit/onnx_fixture.h"

enum { MODEL }; /* The only one. */

static void a_version_is_a_folder_beside_the_first(ATTR_UNUSED void **state)
{
    static const char file[] = "models/twice/1/model.onnx";
    char out[64];
    assert_true(artifact_path(file, 0, out, sizeof(out)));
    assert_string_equal(out, "models/twice/1/model.onnx");
    assert_true(artifact_path(file, 12, out, sizeof(out)));
    assert_string_equal(out, "models/twice/12/model.onnx");
    assert_false(artifact_path(file, 12, out, strlen("models/twice/12/model.onnx")));
    assert_true(artifact_path("model.onnx", 2, out, sizeof(out)));
    assert_string_equal(out, "model.onnx");
}

static void functions_of_other_versions_lie_below_the_first(ATTR_UNUSED void **state)
{
    static const char *const files[] = {"m/functions/f.so", "m/functions/12/f.so"};
    char out[64];
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(artifact_function_path(files[i], 0, out, sizeof(out)));
        assert_string_equal(out, files[i]);
        assert_true(artifact_function_path(files[i], 1, out, sizeof(out)));
        assert_string_equal(out, "m/functions/f.so");
        assert_true(artifact_function_path(files[i], 7, out, sizeof(out)));
        assert_string_equal(out, "m/functions/7/f.so");
        assert_false(artifact_function_path(files[i], 7, out, strlen("m/functions/7/f.so")));
    }
    assert_true(artifact_function_path("functions/f.so", 2, out, sizeof(out)));
    assert_string_equal(out, "functions/2/f.so");
    assert_true(artifact_function_path("functions/3/f.so", 2, out, sizeof(out)));
    assert_string_equal(out, "functions/2/f.so");
    assert_true(artifact_function_path("f.so", 2, out, sizeof(out)));
    assert_string_equal(out, "f.so");
}

static void a_job_of_a_function_runs_the_file_of_its_edition(ATTR_UNUSED void **state)
{
    struct artifact artifact = {.kind = ARTIFACT_FUNCTION, .renewals = 3};
    struct artifact other = {.kind = ARTIFACT_FUNCTION};
    assert_int_equal(artifact_file_at(&artifact, 5).version, 0); /* The file of the table. */
    assert_int_equal(artifact_file_at(&artifact, 5).is_missing, 0);
    artifact.versions = (struct artifact_versions){.count = 2, .items = {{4, 1}, {6, 2}}};
    for (uint32_t edition = 3; edition < 8; edition++) {
        const struct artifact_file file = artifact_file_at(&artifact, edition);
        assert_int_equal(file.version, edition < 4 ? 0 : edition < 6 ? 1 : 2);
        assert_int_equal(file.is_missing, edition < 4);
        artifact_set_file(&other, &file); /* In another process. */
        assert_int_equal(artifact_file_at(&other, edition).version, file.version);
        assert_int_equal(artifact_file_at(&other, edition).is_missing, file.is_missing);
        assert_int_equal(artifact_file_at(&other, edition).renewals, 3);
    }
}

static void an_edition_means_the_last_version_before_it(ATTR_UNUSED void **state)
{
    const struct artifact_versions versions = {.count = 3, .items = {{4, 1}, {6, 2}, {9, 1}}};
    assert_int_equal(artifact_version_at(&versions, 3), ARTIFACT_VERSIONS_MAX);
    assert_int_equal(artifact_version_at(&versions, 4), 0);
    assert_int_equal(artifact_version_at(&versions, 5), 0);
    assert_int_equal(artifact_version_at(&versions, 6), 1);
    assert_int_equal(artifact_version_at(&versions, 100), 2);
    assert_int_equal(
        artifact_version_at(&(struct artifact_versions){0}, 100), ARTIFACT_VERSIONS_MAX);
}

/* Two members that start at the same time each serve an edition of their own for a moment. */
static void an_older_edition_of_the_same_version_is_loaded(ATTR_UNUSED void **state)
{
    const struct artifact_versions one = {.count = 1, .items = {{3, 1}}};
    const struct artifact_versions older = {.count = 1, .items = {{2, 1}}};
    const struct artifact_versions two = {.count = 2, .items = {{3, 1}, {6, 2}}};
    const struct artifact_versions between = {.count = 2, .items = {{3, 1}, {5, 2}}};
    assert_false(artifact_must_reload(&one, &one));
    assert_true(artifact_must_reload(&one, &older));
    assert_false(artifact_must_reload(&older, &one)); /* What was dropped may stay. */
    assert_true(artifact_must_reload(&one, &two));
    assert_true(artifact_must_reload(&two, &one));
    assert_true(artifact_must_reload(&two, &between)); /* 5 would be run by version 1. */
    assert_false(artifact_must_reload(&between, &two));
}

/* A model of one operator, y = OPERATOR(x), as version @version. */
static void write_version(const char *version, const char *operator)
{
    struct onnx_writer writer;
    const int64_t shape[2] = {-1, 2};
    char name[64];
    assert_true(mkdir(fixture_path(version), 0700) == 0);
    (void)snprintf(name, sizeof(name), "%s/model.onnx", version);
    onnx_writer_start(&writer);
    onnx_writer_input(&writer, "x", ONNX_FLOAT, 2, shape);
    onnx_writer_node(&writer, operator, "x", NULL, "y");
    onnx_writer_output(&writer, "y", ONNX_FLOAT, 2, shape);
    onnx_writer_finish(&writer, fixture_path(name));
}

static void open_model(void)
{
    struct weft_error error;
    world_open(1 << 30);
    write_version("1", "Identity");
    write_version("2", "Neg");
    assert_int_equal(add_model("model", ARTIFACT_ONNX, fixture_path("1/model.onnx")), MODEL);
    struct workflow *workflow = workflow_create("alone");
    struct workflow_task task = {.run = MODEL, .model_count = 1, .models = {MODEL}};
    (void)snprintf(task.name, sizeof(task.name), "task");
    uint32_t number;
    assert_int_equal(workflow_add_task(workflow, &task, &number), WEFT_OK);
    assert_int_equal(workflow_seal(workflow, &error), WEFT_OK);
    assert_int_equal(catalogue_add_workflow(world.catalogue, workflow), WEFT_OK);
    const struct engine_local_options options = {
        .fleet = world.fleet,
        .catalogue = world.catalogue,
        .artifacts = &world.artifacts,
        .loop = &world.loop,
        .cache = fixture_folder,
        .host = {.done = on_done},
    };
    assert_int_equal(engine_local_create(&options, &world.engine, &error), WEFT_OK);
}

/* Run the model for a job of @edition with 3. NULL, or what it says if it fails. */
static const char *run(uint32_t edition, float *out)
{
    struct bundle *bundle = bundle_create();
    const int64_t shape[2] = {1, 2};
    const struct weft_tensor tensor = fixture_floats("x", 2, shape, NULL);
    float *data = bundle_add(bundle, &tensor);
    data[0] = 3;
    data[1] = 0;
    const struct engine_input input = {.contents = bundle};
    const struct engine_task task = {
        .job = {.number = job_number(edition, 1)}, .items = 1, .input_count = 1, .inputs = &input};
    const struct engine_batch batch = {
        .batch = 1,
        .items = 1,
        .task_count = 1,
        .tasks = &task,
        .config = {.batch = 1, .gpu = 1},
    };
    assert_int_equal(engine_launch(world.engine, &batch), WEFT_OK);
    const struct said *said = settle();
    bundle_destroy(bundle);
    if (said->done.status != WEFT_OK) {
        return said->message;
    }
    *out = ((const float *)bundle_find(said->outputs[0].contents, "y")->data)[0];
    return NULL;
}

static void each_edition_is_run_by_its_own_version(ATTR_UNUSED void **state)
{
    float y = 0;
    (void)fixture_ort();
    open_model();
    world.files[MODEL].versions =
        (struct artifact_versions){.count = 3, .items = {{4, 1}, {5, 2}, {6, 1}}};
    load(MODEL);
    const uint64_t both_bytes = world.said[world.said_count - 1].done.bytes;
    assert_null(run(4, &y));
    assert_true(y == 3);
    assert_null(run(5, &y));
    assert_true(y == -3);
    assert_null(run(6, &y)); /* Back again. */
    assert_true(y == 3);
    assert_string_equal(run(3, &y), "the version of 'model' is not here");

    engine_unload(world.engine, 0, MODEL);
    (void)settle();
    world.files[MODEL].versions = (struct artifact_versions){.count = 1, .items = {{5, 2}}};
    load(MODEL);
    assert_true(world.said[world.said_count - 1].done.bytes < both_bytes);
    assert_null(run(5, &y));
    assert_true(y == -3);
    assert_non_null(run(4, &y));
    engine_destroy(world.engine);
    world_close();
}

static void a_version_that_is_missing_is_not_loaded(ATTR_UNUSED void **state)
{
    float y = 0;
    (void)fixture_ort();
    open_model();
    world.files[MODEL].versions = (struct artifact_versions){.count = 2, .items = {{4, 1}, {5, 7}}};
    engine_load(world.engine, 0, MODEL);
    const struct said *said = settle();
    assert_int_equal(said->done.status, WEFT_IO);
    assert_non_null(strstr(said->message, "/7/model.onnx"));
    world.files[MODEL].versions.count = 0; /* As it was before there were any. */
    load(MODEL);
    assert_null(run(99, &y));
    assert_true(y == 3);
    engine_destroy(world.engine);
    world_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_version_is_a_folder_beside_the_first),
        cmocka_unit_test(functions_of_other_versions_lie_below_the_first),
        cmocka_unit_test(a_job_of_a_function_runs_the_file_of_its_edition),
        cmocka_unit_test(an_edition_means_the_last_version_before_it),
        cmocka_unit_test(an_older_edition_of_the_same_version_is_loaded),
        cmocka_unit_test_setup_teardown(
            each_edition_is_run_by_its_own_version, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(
            a_version_that_is_missing_is_not_loaded, fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
