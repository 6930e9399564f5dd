/*
 * From a folder to answers: models and functions of a repository that really run.
 *
 * Covers: src/service/local_repository.c src/service/measure.c src/service/measure_repository.c
 * src/document/repository_profile.c
 */
#include "service/local_repository.h"

#include <sys/stat.h>

#include "base/attributes.h"
#include "policy/compose.h"
#include "service/synthetic.h"
#include "unit/onnx_fixture.h"

#define MS INT64_C(1000000)

enum { MESSAGE_BYTES = 256, COLUMNS = 4 };

struct world {
    struct repository *repository;
    struct local_repository local;
    struct service_parts parts;
    struct policy_set policies;
    struct runtime *runtime;
    enum weft_status status;
    char message[MESSAGE_BYTES];
    float sum[COLUMNS];
    float positive[COLUMNS];
    uint32_t answered;
};

static void put(const char *name, const char *text)
{
    FILE *file = fopen(fixture_path(name), "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void make_folder(const char *name)
{
    assert_int_equal(mkdir(fixture_path(name), 0700), 0);
}

/* z = x + y, of any number of rows and COLUMNS columns. */
static void write_add(const char *path)
{
    static const int64_t shape[] = {-1, COLUMNS};
    struct onnx_writer writer;
    onnx_writer_start(&writer);
    onnx_writer_input(&writer, "x", ONNX_FLOAT, 2, shape);
    onnx_writer_input(&writer, "y", ONNX_FLOAT, 2, shape);
    onnx_writer_node(&writer, "Add", "x", "y", "z");
    onnx_writer_output(&writer, "z", ONNX_FLOAT, 2, shape);
    onnx_writer_finish(&writer, path);
}

static void copy_functions(void)
{
    char command[512];
    (void)snprintf(
        command, sizeof(command), "cp '%s/functions_sample.so' '%s/r/functions/sample.so'",
        WEFT_TEST_FUNCTIONS, fixture_folder);
    assert_int_equal(system(command), 0);
}

#define INPUT "inputs: {a: {dtype: FP32, shape: [-1, 4]}}\n"

static void make_repository(void)
{
    static const char *const folders[] = {"r",       "r/relu",   "r/relu/1",   "r/add",
                                          "r/add/1", "r/broken", "r/broken/1", "r/functions"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        make_folder(folders[i]);
    }
    (void)setenv("WEFT_CACHE", fixture_path("cache"), /* overwrite */ 1);
    onnx_write_relu(fixture_path("r/relu/1/model.onnx"), /* rows */ -1);
    write_add(fixture_path("r/add/1/model.onnx"));
    put("r/broken/1/model.onnx", "no model");
    copy_functions();
    put("r/sum.workflow.yaml",
        "workflow: sum\n" INPUT "tasks:\n"
        "  twice: {function: sample.twice, models: [relu], in: {x: inputs.a}}\n"
        "  sum: {model: add, in: {x: twice.y, y: inputs.a}}\n"
        "outputs: {sum: sum.z, positive: twice.y}\n");
    put("r/crash.workflow.yaml",
        "workflow: crash\n" INPUT "tasks: {a: {function: sample.crash, in: {x: inputs.a}}}\n"
        "outputs: {y: a.y}\n");
    put("r/wrong.workflow.yaml",
        "workflow: wrong\n" INPUT "tasks: {a: {model: relu, in: {q: inputs.a}}}\n"
        "outputs: {y: a.y}\n");
    put("r/missing.workflow.yaml",
        "workflow: missing\n" INPUT "tasks: {a: {function: sample.no, in: {x: inputs.a}}}\n"
        "outputs: {y: a.y}\n");
    put("r/weft.yaml", "weft: here\nnodes: 2\nworkers: 1\nmemory: 64MB\ndevice: box\n");
}

static void open_world(struct world *world)
{
    struct weft_error error = {0};
    *world = (struct world){.answered = 0};
    (void)fixture_ort(); /* Or the end of this test. */
    if (repository_load(fixture_path("r"), NULL, &world->repository, &error) != WEFT_OK ||
        local_repository_open(
            &world->local, world->repository, /* nursery */ NULL, /* is_silent */ true,
            /* log */ NULL, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
    world->parts = local_repository_parts(&world->local);
    assert_int_equal(policy_set_parse("least-work", &world->policies, NULL), WEFT_OK);
    const struct runtime_options options = {
        .fleet = world->local.measured.fleet,
        .catalogue = world->repository->catalogue,
        .profile = world->local.measured.document.profile,
        .policies = &world->policies,
        .row_load_ns = 10 * MS,
        .row_cache_ns = 50 * MS,
        .stays = true,
        .engine = world->parts.engine,
    };
    if (runtime_create(&options, &world->runtime, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(world->parts.open(world->parts.context, world->runtime, &error), WEFT_OK);
}

static void close_world(struct world *world)
{
    world->parts.close(world->parts.context);
    runtime_destroy(world->runtime);
    local_repository_close(&world->local);
    repository_destroy(world->repository);
}

static void take(const struct world *world, struct handle handle, const char *name, float *out)
{
    uint64_t bytes;
    const struct bundle *bundle = runtime_contents(world->runtime, handle, &bytes);
    const struct weft_tensor *tensor = bundle_find(bundle, name);
    if (tensor != NULL && tensor->bytes >= COLUMNS * sizeof(float)) {
        memcpy(out, tensor->data, COLUMNS * sizeof(float));
    }
}

static void note_answer(void *context, const struct runtime_answer *answer)
{
    struct world *world = context;
    world->answered++;
    world->status = answer->status;
    (void)snprintf(
        world->message, sizeof(world->message), "%s",
        answer->message == NULL ? "" : answer->message);
    for (uint32_t i = 0; i < answer->output_count; i++) {
        take(world, answer->outputs[i], "z", world->sum);
        take(world, answer->outputs[i], "y", world->positive);
        runtime_release(world->runtime, answer->outputs[i]);
    }
    runtime_stop(world->runtime);
}

/* Ask @workflow with one row, and wait for the answer. */
static void ask(struct world *world, const char *workflow, const char *input)
{
    static const float row[COLUMNS] = {-1, 2, -3, 4};
    const struct weft_tensor like = {
        .dtype = WEFT_FP32, .rank = 2, .shape = {1, COLUMNS}, .bytes = sizeof(row)};
    struct weft_tensor tensor = like;
    struct bundle *bundle = bundle_create();
    (void)snprintf(tensor.name, sizeof(tensor.name), "%s", input);
    memcpy(bundle_add(bundle, &tensor), row, sizeof(row));
    const struct runtime_request request = {
        .workflow = catalogue_find_workflow(world->repository->catalogue, workflow),
        .inputs = runtime_tensor(world->runtime, bundle, bundle->bytes, bundle_destroy),
        .answered = note_answer,
        .context = world,
    };
    (void)runtime_request(world->runtime, /* node */ 0, &request);
    runtime_run(world->runtime);
}

static void workflows_and_models_answer(ATTR_UNUSED void **state)
{
    struct world world;
    open_world(&world);
    ask(&world, "sum", "a");
    assert_string_equal(world.message, "");
    assert_int_equal(world.status, WEFT_OK);
    for (int i = 0; i < COLUMNS; i++) { /* relu(x) + x, and relu(x) itself. */
        static const float sums[COLUMNS] = {-1, 4, -3, 8};
        static const float positives[COLUMNS] = {0, 2, 0, 4};
        assert_true(world.sum[i] == sums[i]);
        assert_true(world.positive[i] == positives[i]);
    }
    ask(&world, "relu", "x");
    assert_int_equal(world.status, WEFT_OK);
    close_world(&world);
}

static void models_alone_are_described(ATTR_UNUSED void **state)
{
    struct world world;
    open_world(&world);
    const struct catalogue *catalogue = world.repository->catalogue;
    const struct workflow *add = catalogue->workflows[catalogue_find_workflow(catalogue, "add")];
    assert_int_equal(add->input_count, 2);
    assert_string_equal(add->inputs[1].name, "y");
    assert_int_equal(add->inputs[1].shape[0], -1);
    assert_int_equal(add->inputs[1].shape[1], COLUMNS);
    assert_int_equal(add->result_count, 1);
    assert_string_equal(add->results[0].name, "z");
    close_world(&world);
}

static void failures_say_why(ATTR_UNUSED void **state)
{
    static const struct {
        const char *workflow;
        const char *cause;
    } bad[] = {
        {"wrong", "task 'a': "},
        {"sum", "task 'twice': "},
        {"missing", "task 'a': "},
        {"crash", "task 'a': "},
    };
    struct world world;
    open_world(&world);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ask(&world, bad[i].workflow, "b"); /* Which is not what sum declares. */
        assert_int_equal(world.status, WEFT_FAILED);
        if (strncmp(world.message, bad[i].cause, strlen(bad[i].cause)) != 0 ||
            strlen(world.message) <= strlen(bad[i].cause)) {
            fail_msg("%s: '%s'", bad[i].workflow, world.message);
        }
    }
    ask(&world, "sum", "a"); /* Whatever crashed, this still works. */
    assert_int_equal(world.status, WEFT_OK);
    close_world(&world);
}

/* What was measured, and what was learnt, is there the next time. */
static void profiles_are_kept(ATTR_UNUSED void **state)
{
    struct world world;
    open_world(&world);
    const uint32_t relu = catalogue_find_model(world.repository->catalogue, "relu");
    const uint32_t twice = catalogue_find_model(world.repository->catalogue, "sample.twice");
    ask(&world, "sum", "a");
    const int64_t learnt_ns =
        profile_run_one_ns(world.local.measured.document.profile, twice, /* device */ 0);
    assert_true(learnt_ns > 0);
    close_world(&world);

    open_world(&world);
    const struct profile *profile = world.local.measured.document.profile;
    assert_int_equal(world.local.measured.measured_count, 0);
    assert_true(profile->models[relu].curves[0].point_count >= 6);
    assert_true(profile->models[relu].resident_bytes > 0);
    const int64_t kept_ns = profile_run_one_ns(profile, twice, /* device */ 0);
    assert_in_range(kept_ns, learnt_ns - 1, learnt_ns + 1); /* Written in milliseconds. */
    close_world(&world);
}

static int set_up(void **state)
{
    if (fixture_setup(state) != 0) {
        return -1;
    }
    make_repository();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workflows_and_models_answer),
        cmocka_unit_test(models_alone_are_described),
        cmocka_unit_test(failures_say_why),
        cmocka_unit_test(profiles_are_kept),
    };
    return cmocka_run_group_tests(tests, set_up, fixture_teardown);
}
