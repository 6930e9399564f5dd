/*
 * The local engine: inputs by ports, failures of single tasks, cancelling, measuring.
 *
 * What every engine keeps is in test/conformance/test_engines.c.
 *
 * Covers: src/onnx/local.c, src/onnx/local_life.c, src/onnx/local_load.c,
 * src/onnx/local_queue.c, src/onnx/local_run.c
 */
#include "onnx/local.h"

#include "function/pool.h"
#include "onnx/local_queue.h"
#include "unit/engine_fixture.h"

static uint32_t add_task(struct workflow *workflow, const char *name, uint32_t run, uint32_t model)
{
    struct workflow_task task = {.run = run, .models = {model}, .model_count = 1};
    uint32_t index;
    (void)snprintf(task.name, sizeof(task.name), "%s", name);
    task.model_count = model == MODEL_NONE ? 0 : 1;
    assert_int_equal(workflow_add_task(workflow, &task, &index), WEFT_OK);
    return index;
}

static void add_port(
    struct workflow *workflow, uint32_t task, const char *name, uint32_t from, const char *output)
{
    struct workflow_port port = {.task = task, .from = from};
    (void)snprintf(port.name, sizeof(port.name), "%s", name);
    (void)snprintf(port.output, sizeof(port.output), "%s", output);
    assert_int_equal(workflow_add_port(workflow, &port), WEFT_OK);
    if (from != TASK_NONE) {
        const struct workflow_edge edge = {.from = from, .to = task, .bytes = 1};
        (void)workflow_add_edge(workflow, &edge); /* It may be there. */
    }
}

static void add_result(
    struct workflow *workflow, uint32_t task, const char *name, const char *output)
{
    struct workflow_result result = {.task = task};
    (void)snprintf(result.name, sizeof(result.name), "%s", name);
    (void)snprintf(result.output, sizeof(result.output), "%s", output);
    assert_int_equal(workflow_add_result(workflow, &result), WEFT_OK);
}

static uint32_t seal(struct workflow *workflow)
{
    struct weft_error error;
    assert_int_equal(workflow_seal(workflow, &error), WEFT_OK);
    assert_int_equal(catalogue_add_workflow(world.catalogue, workflow), WEFT_OK);
    return world.catalogue->workflow_count - 1;
}

/* relu(left) + relu(right): tasks 0, 1 and 2 of workflow 0. */
static void add_sum(uint32_t relu, uint32_t add)
{
    struct workflow *workflow = workflow_create("sum");
    const uint32_t left = add_task(workflow, "left", relu, relu);
    const uint32_t right = add_task(workflow, "right", relu, relu);
    const uint32_t sum = add_task(workflow, "sum", add, add);
    add_port(workflow, left, "x", TASK_NONE, "image");
    add_port(workflow, right, "x", TASK_NONE, "other");
    add_port(workflow, sum, "x", right, "y"); /* The second edge first. */
    add_port(workflow, sum, "y", left, "y");
    add_result(workflow, sum, "total", "z");
    assert_int_equal(seal(workflow), 0);
}

/* A workflow of one task that calls function @name, which may call @model. Its number. */
static uint32_t add_function(const char *name, uint32_t model, const char *result)
{
    struct workflow *workflow = workflow_create(name);
    const uint32_t function = add_model(name, ARTIFACT_FUNCTION, SAMPLE);
    const uint32_t task = add_task(workflow, name, function, model);
    if (result != NULL) {
        add_result(workflow, task, "result", result);
    }
    return seal(workflow);
}

static void write_add(const char *path)
{
    struct onnx_writer writer;
    const int64_t shape[2] = {-1, 4};
    onnx_writer_start(&writer);
    onnx_writer_input(&writer, "x", ONNX_FLOAT, 2, shape);
    onnx_writer_input(&writer, "y", ONNX_FLOAT, 2, shape);
    onnx_writer_node(&writer, "Sub", "x", "y", "z");
    onnx_writer_output(&writer, "z", ONNX_FLOAT, 2, shape);
    onnx_writer_finish(&writer, path);
}

enum { RELU, ADD, MLP, ABSENT }; /* Models. */

static void world_init(void)
{
    world_open(1 << 30);
    onnx_write_relu(fixture_path("relu.onnx"), -1);
    write_add(fixture_path("add.onnx"));
    onnx_write_mlp(fixture_path("mlp.onnx"), 256, 6);
    assert_int_equal(add_model("relu", ARTIFACT_ONNX, fixture_path("relu.onnx")), RELU);
    assert_int_equal(add_model("add", ARTIFACT_ONNX, fixture_path("add.onnx")), ADD);
    assert_int_equal(add_model("mlp", ARTIFACT_ONNX, fixture_path("mlp.onnx")), MLP);
    assert_int_equal(add_model("absent", ARTIFACT_ONNX, fixture_path("absent.onnx")), ABSENT);
    add_sum(RELU, ADD);
}

static void world_start(bool isolate)
{
    struct weft_error error;
    const struct engine_local_options options = {
        .fleet = world.fleet,
        .catalogue = world.catalogue,
        .artifacts = &world.artifacts,
        .loop = &world.loop,
        .cache = fixture_folder,
        .isolate = isolate,
        .host = {.done = on_done},
    };
    if (engine_local_create(&options, &world.engine, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
}

static void world_deinit(void)
{
    engine_destroy(world.engine);
    world_close();
}

/* A bundle of one tensor of floats, 1 row of @columns, counting up from @first. */
static struct bundle *bundle_of(const char *name, int64_t columns, float first)
{
    struct bundle *bundle = bundle_create();
    const int64_t shape[2] = {1, columns};
    const struct weft_tensor tensor = fixture_floats(name, 2, shape, NULL);
    float *data = bundle_add(bundle, &tensor);
    for (int64_t i = 0; i < columns; i++) {
        data[i] = first + (float)i;
    }
    return bundle;
}

/* Launch a batch of @count tasks with @input_count inputs each. */
static void launch(
    uint64_t batch, uint32_t workflow, uint32_t task, uint32_t count, struct bundle **bundles,
    uint32_t input_count)
{
    struct engine_task tasks[4];
    struct engine_input inputs[8];
    for (uint32_t i = 0; i < count * input_count; i++) {
        inputs[i] = (struct engine_input){.contents = bundles[i]};
    }
    for (uint32_t i = 0; i < count; i++) {
        tasks[i] = (struct engine_task){
            .items = 1, .input_count = input_count, .inputs = inputs + i * input_count};
    }
    const struct engine_batch launched = {
        .batch = batch,
        .workflow = workflow,
        .task = task,
        .items = count,
        .task_count = count,
        .tasks = tasks,
        .config = {.batch = count, .gpu = 1},
    };
    assert_int_equal(engine_launch(world.engine, &launched), WEFT_OK);
}

static void inputs_go_by_their_ports(ATTR_UNUSED void **state)
{
    (void)fixture_ort();
    world_init();
    world_start(/* isolate */ false);
    load(RELU);
    load(ADD);
    struct bundle *request = bundle_of("other", 4, -1);
    launch(1, 0, /* task */ 1, 1, &request, 1);
    const struct said *said = settle();
    assert_string_equal(said->message, "");
    const struct weft_tensor *y = bundle_find(said->outputs[0].contents, "y");
    assert_true(((const float *)y->data)[0] == 0 && ((const float *)y->data)[3] == 2);
    assert_int_equal(said->outputs[0].items, 1);
    assert_int_equal(said->outputs[0].bytes, 16);
    assert_true(said->done.run_ns > 0);
    bundle_destroy(request);

    /* In the order of the edges: left, then right. The sum takes right minus left. */
    struct bundle *both[2] = {bundle_of("y", 4, 5), bundle_of("y", 4, 100)};
    const struct workflow *workflow = world.catalogue->workflows[0];
    const uint32_t first = workflow_in(workflow, 2, 0)->from;
    struct bundle *ordered[2] = {both[first], both[1 - first]};
    launch(2, 0, /* task */ 2, 1, ordered, 2);
    said = settle();
    const float *z = bundle_find(said->outputs[0].contents, "z")->data;
    assert_true(z[0] == 95);
    bundle_destroy(both[0]);
    bundle_destroy(both[1]);
    world_deinit();
}

static void one_task_fails_and_says_why(ATTR_UNUSED void **state)
{
    (void)fixture_ort();
    world_init();
    world_start(/* isolate */ false);
    load(RELU);
    struct bundle *inputs[4] = {
        bundle_of("image", 4, 1), bundle_of("image", 5, 1), bundle_of("picture", 4, 1), NULL};
    launch(1, 0, 0, 4, inputs, 1);
    const struct said *said = settle();
    assert_int_equal(said->done.status, WEFT_OK);
    assert_int_equal(said->done.output_count, 4);
    assert_int_equal(said->outputs[0].status, WEFT_OK);
    assert_non_null(said->outputs[0].contents);
    static const char *const messages[4] = {
        "", "model 'relu': input 'x' wants FP32 [?,4], and is given FP32 [1,5]",
        "input 'x': the request has no 'image'", "input 'x': the request has no 'image'"};
    for (uint32_t i = 1; i < 4; i++) {
        assert_int_equal(said->outputs[i].status, i == 1 ? WEFT_INVALID : WEFT_NOT_FOUND);
        assert_null(said->outputs[i].contents);
        assert_string_equal(said->messages[i], messages[i]);
    }
    launch(2, 0, 0, 2, inputs + 1, 1); /* None is left. */
    said = settle();
    assert_int_equal(said->done.status, WEFT_INVALID);
    assert_int_equal(said->done.output_count, 0);
    assert_string_equal(said->message, messages[1]);
    for (uint32_t i = 0; i < 4; i++) {
        bundle_destroy(inputs[i]);
    }
    world_deinit();
}

static void what_cannot_be_loaded_says_so(ATTR_UNUSED void **state)
{
    (void)fixture_ort();
    world_init();
    const uint32_t nothing = add_model("unknown", ARTIFACT_NONE, "");
    const uint32_t missing = add_model("missing", ARTIFACT_FUNCTION, SAMPLE);
    world_start(/* isolate */ false);
    engine_load(world.engine, 0, ABSENT);
    const struct said *said = settle();
    assert_int_equal(said->done.status, WEFT_IO);
    assert_non_null(strstr(said->message, "absent.onnx: No such file"));
    engine_load(world.engine, 0, nothing);
    assert_string_equal(settle()->message, "model 'unknown' has no file");
    engine_load(world.engine, 0, missing);
    assert_non_null(strstr(settle()->message, "no function 'missing' in it"));
    load(RELU); /* And the rest still works. */
    world_deinit();
}

static void functions_run_models_of_their_task(ATTR_UNUSED void **state)
{
    (void)fixture_ort();
    for (uint32_t isolate = 0; isolate < 2; isolate++) {
        world_init();
        const uint32_t twice = add_function("twice", RELU, "y");
        const uint32_t forgive = add_function("forgive", RELU, "status");
        world_start(isolate == 1);
        load(RELU);
        struct bundle *input = bundle_of("x", 4, -2);
        launch(1, twice, 0, 1, &input, 1);
        const struct said *said = settle();
        assert_string_equal(said->message, "");
        const float *y = bundle_find(said->outputs[0].contents, "y")->data;
        assert_true(y[0] == 0 && y[3] == 1);
        assert_int_equal(said->done.usage_count, 1);
        assert_int_equal(said->usages[0].model, RELU);
        assert_int_equal(said->usages[0].items, 1);
        assert_true(said->usages[0].bytes >= 16);
        launch(2, forgive, 0, 1, &input, 1);
        said = settle();
        assert_int_equal(
            *(const int32_t *)bundle_find(said->outputs[0].contents, "status")->data,
            WEFT_NOT_FOUND);
        assert_int_equal(said->done.usage_count, 0); /* Nothing ran: it has no such model. */
        bundle_destroy(input);
        world_deinit();
    }
}

static void a_missing_output_fails_the_task(ATTR_UNUSED void **state)
{
    world_init();
    const uint32_t nothing = add_function("nothing", MODEL_NONE, "absent");
    world_start(/* isolate */ false);
    launch(1, nothing, 0, 1, NULL, 0);
    assert_string_equal(
        settle()->message, "output 'absent', which the answer has as 'result', was not made");
    world_deinit();
}

static void an_output_is_what_the_document_declares(ATTR_UNUSED void **state)
{
    static const struct {
        enum weft_dtype dtype;
        uint32_t rank;
        int64_t shape[WEFT_RANK_MAX];
        const char *message;
    } cases[] = {
        {WEFT_FP32, 2, {-1, 4}, ""},
        {WEFT_FP32, 2, {1, -1}, ""},
        {WEFT_FP32, 1, {-1}, "output 'r' is declared as FP32 [?], and was made as FP32 [1,4]"},
        {WEFT_FP32, 2, {-1, 3}, "output 'r' is declared as FP32 [?,3], and was made as FP32 [1,4]"},
        {WEFT_INT8, 2, {-1, 4}, "output 'r' is declared as INT8 [?,4], and was made as FP32 [1,4]"},
    };
    (void)fixture_ort();
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct workflow_result result = {
            .name = "r",
            .output = "y",
            .is_declared = true,
            .dtype = cases[i].dtype,
            .rank = cases[i].rank};
        memcpy(result.shape, cases[i].shape, sizeof(result.shape));
        world_init();
        struct workflow *workflow = workflow_create("declared");
        (void)add_task(workflow, "relu", RELU, RELU);
        assert_int_equal(workflow_add_result(workflow, &result), WEFT_OK);
        const uint32_t declared = seal(workflow);
        world_start(/* isolate */ false);
        load(RELU);
        struct bundle *input = bundle_of("x", 4, 1);
        launch(1, declared, 0, 1, &input, 1);
        assert_string_equal(settle()->message, cases[i].message);
        bundle_destroy(input);
        world_deinit();
    }
}

static void a_crash_apart_fails_its_task_alone(ATTR_UNUSED void **state)
{
    world_init();
    const uint32_t crash = add_function("crash", MODEL_NONE, NULL);
    const uint32_t nothing = add_function("nothing", MODEL_NONE, NULL);
    world_start(/* isolate */ true);
    for (uint32_t round = 0; round < 3; round++) {
        launch(1, crash, 0, 1, NULL, 0);
        launch(2, nothing, 0, 1, NULL, 0);
        (void)settle();
        for (uint32_t i = 1; i <= 2; i++) {
            const struct said *said = &world.said[world.said_count - i];
            assert_string_equal(
                said->message, said->done.batch == 1 ? "function 'crash' crashed (SIGSEGV)" : "");
        }
    }
    struct engine_counts counts;
    engine_get_counts(world.engine, &counts);
    assert_int_equal(counts.function_crashes, 3);
    world_deinit();
}

static void what_is_given_up_needs_its_inputs_no_more(ATTR_UNUSED void **state)
{
    for (uint32_t isolate = 0; isolate < 2; isolate++) {
        world_init();
        const uint32_t loop = add_function("loop", MODEL_NONE, NULL);
        const uint32_t nothing = add_function("nothing", MODEL_NONE, NULL);
        world_start(isolate == 1);
        for (uint32_t round = 0; round < 10; round++) {
            struct bundle *inputs[2] = {bundle_of("x", 4, 1), bundle_of("x", 4, 2)};
            launch(1, loop, 0, 2, inputs, 1);
            launch(2, loop, 0, 2, inputs, 1);
            launch(3, loop, 0, 2, inputs, 1); /* Waits: the worker has two threads. */
            engine_cancel(world.engine, 3);
            engine_cancel(world.engine, 1);
            engine_cancel(world.engine, 2);
            bundle_destroy(inputs[0]);
            bundle_destroy(inputs[1]);
        }
        launch(1, nothing, 0, 1, NULL, 0);
        assert_int_equal(settle()->done.batch, 1);
        assert_int_equal(world.said_count, 1);
        world_deinit();
    }
}

static void an_engine_ends_while_functions_loop(ATTR_UNUSED void **state)
{
    world_init();
    const uint32_t loop = add_function("loop", MODEL_NONE, NULL);
    world_start(/* isolate */ true);
    for (uint32_t i = 0; i < 4; i++) {
        launch(i, loop, 0, 1, NULL, 0);
    }
    world_deinit();
    assert_int_equal(world.said_count, 0);
}

/* A workflow of one task of the large model, number 1. */
static uint32_t add_mlp(void)
{
    struct workflow *workflow = workflow_create("large");
    (void)add_task(workflow, "large", MLP, MLP);
    return seal(workflow);
}

static void a_model_leaves_after_its_last_batch(ATTR_UNUSED void **state)
{
    enum { ROWS = 512, COLUMNS = 256 };
    (void)fixture_ort();
    world_init();
    const uint32_t large = add_mlp();
    world_start(/* isolate */ false);
    struct bundle *input = bundle_create();
    const int64_t shape[2] = {ROWS, COLUMNS};
    const struct weft_tensor x = fixture_floats("x", 2, shape, NULL);
    memset(bundle_add(input, &x), 0, x.bytes);
    for (uint32_t round = 0; round < 5; round++) {
        load(MLP);
        assert_true(world.said[world.said_count - 1].done.bytes >= 6 * 256 * 256 * 4);
        launch(1, large, 0, 1, &input, 1);
        launch(2, large, 0, 1, &input, 1);
        engine_cancel(world.engine, 1);
        engine_cancel(world.engine, 2);
        engine_unload(world.engine, 0, MLP);
        assert_int_equal(settle()->done.kind, ENGINE_UNLOADED);
    }
    load(MLP);
    launch(1, large, 0, 1, &input, 1);
    const struct said *said = settle();
    assert_int_equal(said->done.status, WEFT_OK);
    assert_int_equal(said->done.usage_count, 1);
    assert_int_equal(said->usages[0].model, MLP);
    assert_int_equal(said->usages[0].items, ROWS);
    assert_true(said->usages[0].bytes >= ROWS * COLUMNS * sizeof(float));
    bundle_destroy(input);
    world_deinit();
}

/* What it occupied alone is what it occupies, as long as that can be true. */
static void a_model_is_as_large_as_it_was_alone(ATTR_UNUSED void **state)
{
    enum { KNOWN = 64 << 20, WEIGHTS = 6 * 256 * 256 * 4 };
    static const uint64_t told[] = {KNOWN, WEIGHTS / 2};
    (void)fixture_ort();
    world_init();
    (void)add_mlp();
    world_start(/* isolate */ false);
    for (uint32_t i = 0; i < 2; i++) {
        world.files[MLP].bytes = told[i];
        load(MLP);
        const uint64_t bytes = world.said[world.said_count - 1].done.bytes;
        assert_true(i == 0 ? bytes == KNOWN : bytes >= WEIGHTS && bytes < KNOWN);
        engine_unload(world.engine, 0, MLP);
        assert_int_equal(settle()->done.kind, ENGINE_UNLOADED);
    }
    world_deinit();
}

static void a_load_can_be_given_up_at_any_time(ATTR_UNUSED void **state)
{
    (void)fixture_ort();
    world_init();
    world_start(/* isolate */ false);
    for (uint32_t round = 0; round < 20; round++) {
        engine_load(world.engine, 0, MLP);
        engine_load(world.engine, 0, RELU);
        if (round % 2 == 1) {
            uv_sleep(1); /* Now it may be under way, or done. */
        }
        engine_cancel_load(world.engine, 0, MLP);
        engine_cancel_load(world.engine, 0, RELU);
    }
    load(MLP);
    load(RELU);
    assert_int_equal(world.said_count, 2);
    world_deinit();
}

static void many_batches_on_two_threads(ATTR_UNUSED void **state)
{
    enum { ROUNDS = 100 };
    (void)fixture_ort();
    world_init();
    world_start(/* isolate */ false);
    load(RELU);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct bundle *inputs[3] = {
            bundle_of("image", 4, (float)i), bundle_of("image", 4, (float)i + 1),
            bundle_of("image", 4, (float)i + 2)};
        launch(i, 0, 0, 3, inputs, 1);
        for (uint32_t k = 0; k < 3; k++) {
            bundle_destroy(inputs[k]);
        }
    }
    (void)settle();
    assert_int_equal(world.said_count, 1 + ROUNDS);
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        const struct said *said = &world.said[i];
        for (uint32_t k = 0; k < 3; k++) {
            const float *y = bundle_find(said->outputs[k].contents, "y")->data;
            assert_true(y[0] == (float)(said->done.batch + k));
        }
    }
    world_deinit();
}

static void a_queue_keeps_order_and_lets_go(ATTR_UNUSED void **state)
{
    struct queue queue;
    struct queued items[4];
    queue_init(&queue);
    for (uint32_t i = 0; i < 4; i++) {
        queue_push(&queue, &items[i]);
    }
    assert_true(queue_remove(&queue, &items[3]));
    assert_false(queue_remove(&queue, &items[3]));
    queue_push(&queue, &items[3]);
    assert_true(queue_remove(&queue, &items[1]));
    assert_ptr_equal(queue_pop(&queue), &items[0]);
    const struct queued *rest = queue_take_all(&queue);
    assert_ptr_equal(rest, &items[2]);
    assert_ptr_equal(rest->next, &items[3]);
    assert_null(rest->next->next);
    queue_push(&queue, &items[0]);
    assert_true(queue_remove(&queue, &items[0]));
    assert_null(queue_take_all(&queue));
    queue_close(&queue);
    assert_null(queue_pop(&queue));
    queue_deinit(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_go_by_their_ports),
        cmocka_unit_test(one_task_fails_and_says_why),
        cmocka_unit_test(what_cannot_be_loaded_says_so),
        cmocka_unit_test(functions_run_models_of_their_task),
        cmocka_unit_test(a_missing_output_fails_the_task),
        cmocka_unit_test(an_output_is_what_the_document_declares),
        cmocka_unit_test(a_crash_apart_fails_its_task_alone),
        cmocka_unit_test(what_is_given_up_needs_its_inputs_no_more),
        cmocka_unit_test(an_engine_ends_while_functions_loop),
        cmocka_unit_test(a_model_leaves_after_its_last_batch),
        cmocka_unit_test(a_model_is_as_large_as_it_was_alone),
        cmocka_unit_test(a_load_can_be_given_up_at_any_time),
        cmocka_unit_test(many_batches_on_two_threads),
        cmocka_unit_test(a_queue_keeps_order_and_lets_go),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
