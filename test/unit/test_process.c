/*
 * The engine of processes: what a model or a function does to its process costs its task alone.
 *
 * Functions run inside of the engine processes here, so that what they do hits those. What every
 * engine keeps is in test/conformance/test_engines.c.
 *
 * Covers: src/process/process.c, src/process/telling.c, src/process/batch.c, src/process/child.c,
 * src/process/forked.c, src/process/worker.c, src/function/fork_server.c,
 * src/function/fork_serving.c
 */
#include "process/process.h"

#include <signal.h>

#include <uv.h>

#include "base/attributes.h"
#include "engine/lender.h"
#include "engine/segment.h"
#include "process/child.h"
#include "unit/engine_fixture.h"
#include "unit/process_seen.h"

/* What is there beside the world. */
static struct {
    struct process_child_options child;
    struct fork_server server;
    int64_t load_ns_max; /* Of the next engine; 0: the default. */
    uint32_t ended;
    char last_end[240];
} processes;

static void on_ended(ATTR_UNUSED void *context, ATTR_UNUSED uint32_t worker, const char *message)
{
    processes.ended++;
    (void)snprintf(processes.last_end, sizeof(processes.last_end), "%s", message);
}

/* What was said of batch @number. */
static const struct said *said_of(uint64_t number)
{
    const struct said *found = NULL;
    for (uint32_t i = 0; i < world.said_count; i++) {
        if (world.said[i].done.kind == ENGINE_RAN && world.said[i].done.batch == number) {
            assert_null(found); /* Once. */
            found = &world.said[i];
        }
    }
    assert_non_null(found);
    return found;
}

/* A workflow of one task that runs @model, which has to be loaded for it if @is_loaded. */
static void add_workflow(const char *name, uint32_t model, bool is_loaded)
{
    struct workflow *workflow = workflow_create(name);
    struct workflow_task task = {.run = model, .models = {model}, .model_count = is_loaded ? 1 : 0};
    uint32_t index;
    (void)snprintf(task.name, sizeof(task.name), "%s", name);
    assert_int_equal(workflow_add_task(workflow, &task, &index), WEFT_OK);
    assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);
    assert_int_equal(catalogue_add_workflow(world.catalogue, workflow), WEFT_OK);
}

/* A model, and a workflow that runs it. Both have the same number. */
static void add(const char *name, enum artifact_kind kind, const char *path)
{
    add_workflow(name, add_model(name, kind, path), /* is_loaded */ true);
}

/* Models and workflows; the last is a workflow alone, of the first. */
enum { NOTHING, CRASH, INVERT, HANG, RELU, DIVIDE, TILE, PLAIN };

static void write_divide(const char *path)
{
    struct onnx_writer writer;
    const int64_t shape[2] = {-1, 1};
    onnx_writer_start(&writer);
    onnx_writer_input(&writer, "x", ONNX_INT64, 2, shape);
    onnx_writer_input(&writer, "y", ONNX_INT64, 2, shape);
    onnx_writer_node(&writer, "Div", "x", "y", "z");
    onnx_writer_output(&writer, "z", ONNX_INT64, 2, shape);
    onnx_writer_finish(&writer, path);
}

/* y: x, tiled as often as the request says. */
static void write_tile(const char *path)
{
    struct onnx_writer writer;
    onnx_writer_start(&writer);
    onnx_writer_input(&writer, "x", ONNX_FLOAT, 1, (const int64_t[]){1});
    onnx_writer_input(&writer, "times", ONNX_INT64, 1, (const int64_t[]){1});
    onnx_writer_node(&writer, "Tile", "x", "times", "y");
    onnx_writer_output(&writer, "y", ONNX_FLOAT, 1, (const int64_t[]){-2});
    onnx_writer_finish(&writer, path);
}

static void world_init_with(int64_t run_ns_max, int64_t stop_ns_max, bool isolate)
{
    struct weft_error error;
    world_open(64 << 20);
    processes.ended = 0;
    add("nothing", ARTIFACT_FUNCTION, SAMPLE);
    add("crash", ARTIFACT_FUNCTION, SAMPLE);
    add("invert", ARTIFACT_FUNCTION, SAMPLE);
    add("hang", ARTIFACT_FUNCTION, SAMPLE);
    onnx_write_relu(fixture_path("relu.onnx"), -1);
    write_divide(fixture_path("divide.onnx"));
    write_tile(fixture_path("tile.onnx"));
    add("relu", ARTIFACT_ONNX, fixture_path("relu.onnx"));
    add("divide", ARTIFACT_ONNX, fixture_path("divide.onnx"));
    add("tile", ARTIFACT_ONNX, fixture_path("tile.onnx"));
    add_workflow("plain", NOTHING, /* is_loaded */ false);
    processes.child = (struct process_child_options){
        .fleet = world.fleet,
        .catalogue = world.catalogue,
        .artifacts = &world.artifacts,
        .local = {.cache = fixture_folder, .isolate = isolate},
        .bounds_memory = true,
    };
    const struct engine_process_options options = {
        .fleet = world.fleet,
        .catalogue = world.catalogue,
        .artifacts = &world.artifacts,
        .server = &processes.server,
        .loop = &world.loop,
        .run_ns_max = run_ns_max,
        .stop_ns_max = stop_ns_max,
        .load_ns_max = processes.load_ns_max,
        .host = {.done = on_done},
        .on_ended = on_ended,
    };
    const struct fork_options children = process_fork_options(&processes.child);
    if (fork_server_start(&processes.server, &children, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
    if (engine_process_create(&options, &world.engine, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
}

static void world_init(int64_t run_ns_max, int64_t stop_ns_max)
{
    world_init_with(run_ns_max, stop_ns_max, /* isolate */ false);
}

static void world_deinit(void)
{
    engine_destroy(world.engine);
    fork_server_stop(&processes.server);
    world_close();
}

static void add_tensor(
    struct bundle *bundle, const char *name, enum weft_dtype dtype, uint32_t rank,
    const int64_t *shape, const void *values)
{
    struct weft_tensor tensor = {.dtype = dtype, .rank = rank};
    (void)snprintf(tensor.name, sizeof(tensor.name), "%s", name);
    memcpy(tensor.shape, shape, rank * sizeof(*shape));
    tensor.bytes = tensor_bytes(dtype, rank, shape);
    memcpy(bundle_add(bundle, &tensor), values, tensor.bytes);
}

static struct bundle *row(float first)
{
    const float values[4] = {first, 1, -1, 2};
    struct bundle *bundle = bundle_create();
    add_tensor(bundle, "x", WEFT_FP32, 2, (const int64_t[]){1, 4}, values);
    return bundle;
}

static struct bundle *division(int64_t x, int64_t y)
{
    struct bundle *bundle = bundle_create();
    add_tensor(bundle, "x", WEFT_INT64, 2, (const int64_t[]){1, 1}, &x);
    add_tensor(bundle, "y", WEFT_INT64, 2, (const int64_t[]){1, 1}, &y);
    return bundle;
}

/* Launch a batch of @count tasks of workflow @workflow, one input each. */
static void launch(uint64_t batch, uint32_t workflow, uint32_t count, struct bundle *const *bundles)
{
    struct engine_task tasks[TASKS_MAX];
    struct engine_input inputs[TASKS_MAX];
    for (uint32_t i = 0; i < count; i++) {
        inputs[i] = (struct engine_input){.contents = bundles[i], .bytes = bundles[i]->bytes};
        tasks[i] = (struct engine_task){.items = 1, .input_count = 1, .inputs = &inputs[i]};
    }
    const struct engine_batch launched = {
        .batch = batch,
        .workflow = workflow,
        .items = count,
        .task_count = count,
        .tasks = tasks,
        .config = {.batch = count, .gpu = 1},
    };
    assert_int_equal(engine_launch(world.engine, &launched), WEFT_OK);
}

/* Launch one task, and expect that it does well. */
static const struct said *run(uint64_t batch, uint32_t workflow, struct bundle *input)
{
    launch(batch, workflow, 1, &input);
    (void)settle();
    const struct said *said = said_of(batch);
    assert_string_equal(said->message, "");
    assert_int_equal(said->done.status, WEFT_OK);
    bundle_destroy(input);
    return said;
}

static const void *output_of(const struct said *said, uint32_t task, const char *name)
{
    assert_int_equal(said->outputs[task].status, WEFT_OK);
    const struct weft_tensor *found = bundle_find(said->outputs[task].contents, name);
    assert_non_null(found);
    return found->data;
}

static void expect_counts(uint64_t crashes, uint64_t kills, uint64_t restarts)
{
    const struct engine_process_counts counts = engine_process_counts(world.engine);
    assert_int_equal(counts.crashes, crashes);
    assert_int_equal(counts.kills, kills);
    assert_int_equal(counts.restarts, restarts);
    assert_int_equal(processes.ended, crashes + kills);
    struct engine_counts told; /* The same, as every engine tells it. */
    engine_get_counts(world.engine, &told);
    assert_int_equal(told.engine_crashes, crashes + kills);
    assert_true(told.engine_starts > restarts);
    assert_int_equal(told.function_starts, 0);
}

static void a_crash_costs_the_task_that_did_it(ATTR_UNUSED void **state)
{
    (void)fixture_ort();
    world_init(0, 0);
    load(DIVIDE);
    struct bundle *inputs[3] = {division(12, 4), division(INT64_MIN, -1), division(-7, 7)};
    launch(1, DIVIDE, 3, inputs);
    (void)settle();
    const struct said *said = said_of(1);
    assert_int_equal(said->done.status, WEFT_OK);
    assert_int_equal(*(const int64_t *)output_of(said, 0, "z"), 3);
    assert_int_equal(*(const int64_t *)output_of(said, 2, "z"), -1);
    assert_int_equal(said->outputs[1].status, WEFT_CRASHED);
    assert_string_equal(said->messages[1], "the engine process of worker 0 crashed (SIGFPE)");
    /* Once for the batch, once for the task alone. The model came back both times. */
    expect_counts(2, 0, 2);
    assert_string_equal(processes.last_end, said->messages[1]);
    for (uint32_t i = 0; i < 3; i++) {
        bundle_destroy(inputs[i]);
    }
    said = run(2, DIVIDE, division(9, 3));
    assert_int_equal(*(const int64_t *)output_of(said, 0, "z"), 3);
    expect_counts(2, 0, 2);
    world_deinit();
}

/* A function needs no load: its first batch may come while the process still makes its engine. */
static void a_batch_may_come_before_the_engine(ATTR_UNUSED void **state)
{
    enum { ROUNDS = 20 };
    for (uint32_t i = 0; i < ROUNDS; i++) {
        world_init(0, 0);
        (void)run(1, PLAIN, row(1));
        expect_counts(0, 0, 0);
        world_deinit();
    }
}

static void a_batch_of_nothing_but_crashes_fails(ATTR_UNUSED void **state)
{
    world_init(0, 0);
    load(CRASH);
    struct bundle *inputs[2] = {row(1), row(2)};
    launch(1, CRASH, 2, inputs);
    (void)settle();
    assert_int_equal(said_of(1)->done.status, WEFT_CRASHED);
    assert_int_equal(said_of(1)->done.output_count, 0);
    assert_non_null(strstr(said_of(1)->message, "crashed (SIG"));
    /* The third process in a row is made after a pause. */
    expect_counts(3, 0, 2);
    bundle_destroy(inputs[0]);
    bundle_destroy(inputs[1]);
    world_deinit();
}

static void others_in_the_process_run_again(ATTR_UNUSED void **state)
{
    (void)fixture_ort();
    world_init(0, 0);
    load(CRASH);
    load(RELU);
    struct bundle *good[4];
    for (uint32_t i = 0; i < 4; i++) {
        good[i] = row((float)i + 1);
        launch(10 + i, RELU, 1, &good[i]);
    }
    struct bundle *bad = row(0);
    launch(1, CRASH, 1, &bad);
    launch(2, RELU, 4, good);
    (void)settle();
    assert_int_equal(said_of(1)->done.status, WEFT_CRASHED);
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(*(const float *)output_of(said_of(10 + i), 0, "y") == (float)i + 1);
        assert_true(*(const float *)output_of(said_of(2), i, "y") == (float)i + 1);
        bundle_destroy(good[i]);
    }
    bundle_destroy(bad);
    world_deinit();
}

static void a_run_without_end_costs_its_batch(ATTR_UNUSED void **state)
{
    world_init(/* run_ns_max */ 300000000, 0);
    load(HANG);
    load(NOTHING);
    struct bundle *input = row(1);
    launch(1, HANG, 1, &input);
    (void)settle();
    assert_int_equal(said_of(1)->done.status, WEFT_CRASHED);
    assert_string_equal(
        said_of(1)->message, "the engine process of worker 0 ran a batch for more than 0.3 s");
    expect_counts(0, 1, 1);
    bundle_destroy(input);
    (void)run(2, NOTHING, row(1));
    world_deinit();
}

static void what_does_not_stop_is_ended(ATTR_UNUSED void **state)
{
    world_init(0, /* stop_ns_max */ 200000000);
    load(HANG);
    load(NOTHING);
    struct bundle *inputs[2] = {row(1), row(2)};
    launch(1, HANG, 1, &inputs[0]);
    launch(2, HANG, 1, &inputs[1]); /* Both of its threads. */
    for (uint32_t i = 0; i < 100; i++) {
        (void)uv_run(&world.loop, UV_RUN_NOWAIT);
        uv_sleep(2);
    }
    engine_cancel(world.engine, 1);
    engine_cancel(world.engine, 2);
    launch(3, NOTHING, 1, &inputs[0]); /* Waits for a thread, in vain. */
    (void)settle();
    assert_int_equal(said_of(3)->done.status, WEFT_OK);
    expect_counts(0, 1, 1);
    assert_non_null(strstr(processes.last_end, "did not stop in 0.2 s"));
    bundle_destroy(inputs[0]);
    bundle_destroy(inputs[1]);
    world_deinit();
}

static void on_tick(ATTR_UNUSED uv_timer_t *timer)
{
}

/* Let the loop go round until a process has ended, for five seconds at most. */
static void wait_for_end(void)
{
    uv_timer_t tick; /* Without anything under way the loop would not even look. */
    assert_int_equal(uv_timer_init(&world.loop, &tick), 0);
    assert_int_equal(uv_timer_start(&tick, on_tick, 1, 1), 0);
    for (uint32_t i = 0; i < 5000 && processes.ended == 0; i++) {
        (void)uv_run(&world.loop, UV_RUN_ONCE);
    }
    uv_close((uv_handle_t *)&tick, NULL);
    (void)uv_run(&world.loop, UV_RUN_DEFAULT);
}

static void the_process_is_killed(ATTR_UNUSED void **state)
{
    (void)fixture_ort();
    world_init(0, 0);
    load(RELU);
    const pid_t engine = process_child_of(processes.server.first.process);
    assert_true(engine > 1);
    assert_int_equal(kill(engine, SIGKILL), 0);
    const struct said *said = run(1, RELU, row(5));
    assert_true(*(const float *)output_of(said, 0, "y") == 5);
    expect_counts(1, 0, 1);
    world_deinit();
}

static void the_process_that_forks_is_killed(ATTR_UNUSED void **state)
{
    (void)fixture_ort();
    world_init(0, 0);
    load(RELU);
    assert_int_equal(kill(processes.server.first.process, SIGKILL), 0);
    wait_for_end(); /* Its children go with it. */
    expect_counts(1, 0, 1);
    const struct said *said = run(1, RELU, row(5));
    assert_true(*(const float *)output_of(said, 0, "y") == 5);
    assert_int_equal(processes.server.child, -1);      /* The twin has taken over, */
    assert_true(processes.server.second.control >= 0); /* and has one itself. */
    world_deinit();
}

static void all_processes_that_fork_are_killed(ATTR_UNUSED void **state)
{
    (void)fixture_ort();
    world_init(0, 0);
    load(RELU);
    assert_int_equal(kill(processes.server.second.process, SIGKILL), 0);
    assert_int_equal(kill(processes.server.first.process, SIGKILL), 0);
    wait_for_end();
    expect_counts(1, 0, 1);
    const struct said *said = run(1, RELU, row(5));
    assert_true(*(const float *)output_of(said, 0, "y") == 5);
    assert_int_equal(processes.server.first.process, processes.server.child);
    assert_true(processes.server.second.control >= 0);
    world_deinit();
}

static void an_engine_that_can_start_no_functions_is_replaced(ATTR_UNUSED void **state)
{
    world_init_with(0, 0, /* isolate */ true);
    load(NOTHING);
    const pid_t engine = process_child_of(processes.server.first.process);
    const pid_t first = process_child_of(engine);
    const pid_t second = process_child_of(first);
    assert_true(second > 1);
    assert_int_equal(kill(second, SIGKILL), 0);
    assert_int_equal(kill(first, SIGKILL), 0);
    const struct said *said = run(1, NOTHING, bundle_create());
    assert_int_equal(said->done.status, WEFT_OK);
    assert_string_equal(
        processes.last_end, "the engine process of worker 0 ended the process (exit 1)");
    world_deinit();
}

/* A batch that fits no packet: more files than can be passed, and more bytes than are copied. */
static void what_cannot_be_sent_whole_is_sent_in_parts(ATTR_UNUSED void **state)
{
    struct bundle *many = bundle_create();
    struct weft_tensor tensor = {.dtype = WEFT_UINT8, .rank = 1, .shape = {200000}};
    tensor.bytes = 200000;
    world_init(0, 0);
    load(NOTHING);
    for (uint32_t i = 0; i < BUNDLE_TENSORS_MAX; i++) {
        (void)snprintf(tensor.name, sizeof(tensor.name), "t%u", i);
        assert_non_null(bundle_add(many, &tensor));
    }
    launch(1, NOTHING, TASKS_MAX, (struct bundle *const[]){many, many, many, many});
    (void)settle();
    assert_int_equal(said_of(1)->done.status, WEFT_OK);
    for (uint32_t i = 0; i < TASKS_MAX; i++) {
        assert_int_equal(said_of(1)->outputs[i].status, WEFT_OK);
    }
    expect_counts(0, 0, 0);
    bundle_destroy(many);
    world_deinit();
    segments_trim();
}

static void a_load_without_end_ends(ATTR_UNUSED void **state)
{
    (void)fixture_ort();
    processes.load_ns_max = 2000000000; /* Much: machines that run tests are busy. */
    world_init(0, 0);
    processes.load_ns_max = 0;
    load(RELU);
    const pid_t engine = process_child_of(processes.server.first.process);
    assert_int_equal(kill(engine, SIGSTOP), 0);
    engine_load(world.engine, 0, DIVIDE);
    const struct said *failed = settle();
    assert_int_equal(failed->done.kind, ENGINE_LOADED);
    assert_int_equal(failed->done.status, WEFT_FAILED);
    assert_string_equal(
        failed->message, "the engine process of worker 0 took more than 2 s to load 'divide'");
    expect_counts(0, 1, 1);
    load(DIVIDE); /* Another process does better. */
    const struct said *said = run(1, RELU, row(5));
    assert_true(*(const float *)output_of(said, 0, "y") == 5);
    world_deinit();
}

static void a_model_is_unloaded_whatever_its_process_does(ATTR_UNUSED void **state)
{
    (void)fixture_ort();
    world_init(0, 0);
    load(RELU);
    load(DIVIDE);
    const pid_t engine = process_child_of(processes.server.first.process);
    assert_int_equal(kill(engine, SIGKILL), 0);
    engine_unload(world.engine, 0, RELU); /* Before the end of the process is known. */
    assert_int_equal(settle()->done.kind, ENGINE_UNLOADED);
    const struct said *said = run(1, DIVIDE, division(8, 2));
    assert_int_equal(*(const int64_t *)output_of(said, 0, "z"), 4);
    load(RELU);
    world_deinit();
}

/* On processors the host is told of an unload at once: the process does it before what follows. */
static void an_unload_needs_no_report(ATTR_UNUSED void **state)
{
    (void)fixture_ort();
    world_init(0, 0);
    load(RELU);
    load(DIVIDE);
    const pid_t engine = process_child_of(processes.server.first.process);
    assert_int_equal(kill(engine, SIGSTOP), 0); /* It cannot report anything. */
    engine_unload(world.engine, 0, RELU);
    assert_int_equal(settle()->done.kind, ENGINE_UNLOADED);
    assert_int_equal(kill(engine, SIGCONT), 0);
    for (uint32_t i = 0; i < 8; i++) { /* Orders about one model go on before any is done. */
        engine_load(world.engine, 0, RELU);
        assert_int_equal(settle()->done.kind, ENGINE_LOADED);
        engine_unload(world.engine, 0, RELU);
        assert_int_equal(settle()->done.kind, ENGINE_UNLOADED);
    }
    load(RELU);
    assert_true(*(const float *)output_of(run(1, RELU, row(5)), 0, "y") == 5);
    assert_int_equal(*(const int64_t *)output_of(run(2, DIVIDE, division(8, 2)), 0, "z"), 4);
    expect_counts(0, 0, 0);
    world_deinit();
}

static void a_load_is_cancelled_whatever_its_process_does(ATTR_UNUSED void **state)
{
    (void)fixture_ort();
    world_init(0, 0);
    for (uint32_t i = 0; i < 20; i++) {
        engine_load(world.engine, 0, RELU);
        if (i % 3 == 1) { /* Let it end there, so that its report and the order cross. */
            uv_sleep(3);
        }
        if (i % 7 == 3) {
            assert_int_equal(kill(process_child_of(processes.server.first.process), SIGKILL), 0);
        }
        engine_cancel_load(world.engine, 0, RELU);
    }
    load(RELU);
    assert_int_equal(world.said_count, 1);
    (void)run(1, RELU, row(1));
    world_deinit();
}

static void memory_beyond_the_bound_costs_the_task(ATTR_UNUSED void **state)
{
    (void)fixture_ort();
    world_init(0, 0);
    load(TILE);
    for (uint32_t i = 0; i < 3; i++) {
        const float one = 1;
        const int64_t times = i == 1 ? 4 : INT64_C(40000000) * (i + 1);
        struct bundle *input = bundle_create();
        add_tensor(input, "x", WEFT_FP32, 1, (const int64_t[]){1}, &one);
        add_tensor(input, "times", WEFT_INT64, 1, (const int64_t[]){1}, &times);
        launch(i, TILE, 1, &input);
        (void)settle();
        const struct said *said = said_of(i);
        if (i == 1) {
            assert_int_equal(said->done.status, WEFT_OK);
        } else {
            assert_int_equal(said->done.status, WEFT_INVALID);
            assert_non_null(strstr(said->message, "; its worker may use 67108864 in all"));
        }
        bundle_destroy(input);
    }
    expect_counts(0, 0, 0); /* The process itself is unharmed. */
    world_deinit();
}

static void large_tensors_are_lent_and_come_back(ATTR_UNUSED void **state)
{
    enum { COLUMNS = 1 << 20, ROUNDS = 40 };
    (void)fixture_ort();
    world_init(0, 0);
    load(RELU);
    const int64_t shape[2] = {COLUMNS / 4, 4};
    float *values = calloc(COLUMNS, sizeof(*values));
    assert_non_null(values);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct bundle *input = bundle_create();
        values[0] = (float)i;
        values[COLUMNS - 1] = -(float)i;
        values[COLUMNS - 2] = (float)i + 1;
        add_tensor(input, "x", WEFT_FP32, 2, shape, values);
        assert_non_null(input->memory[0].segment);
        const struct said *said = run(i, RELU, input);
        const float *y = output_of(said, 0, "y");
        assert_true(y[0] == (float)i && y[COLUMNS - 1] == 0 && y[COLUMNS - 2] == (float)i + 1);
        struct bundle *output = said->outputs[0].contents;
        assert_non_null(output->memory[0].lender);
        assert_true(output->memory[0].slot < 2); /* Used again and again. */
        bundle_destroy(output);
        world.said_count--;
    }
    free(values);
    world_deinit();
}

/* Functions in processes of their own must not take the segments of the engine process for theirs:
 * both were forked. */
static void functions_apart_have_memory_of_their_own(ATTR_UNUSED void **state)
{
    enum { PIXELS = 200000, ROUNDS = 20 };
    (void)fixture_ort();
    world_init_with(0, 0, /* isolate */ true);
    load(INVERT);
    load(RELU);
    uint8_t *pixels = calloc(PIXELS, 1);
    float *values = calloc(PIXELS, sizeof(*values));
    assert_true(pixels != NULL && values != NULL);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        memset(pixels, (int)i, PIXELS);
        values[PIXELS - 1] = (float)i;
        struct bundle *picture = bundle_create();
        struct bundle *rows = bundle_create();
        add_tensor(picture, "image", WEFT_UINT8, 1, (const int64_t[]){PIXELS}, pixels);
        add_tensor(rows, "x", WEFT_FP32, 2, (const int64_t[]){PIXELS / 4, 4}, values);
        launch(2 * i + 1, RELU, 1, &rows); /* Side by side, on two threads. */
        launch(2 * i, INVERT, 1, &picture);
        (void)settle();
        const uint8_t *inverted = output_of(said_of(2 * i), 0, "out");
        const float *y = output_of(said_of(2 * i + 1), 0, "y");
        for (uint32_t k = 0; k < PIXELS; k++) {
            assert_int_equal(inverted[k], 255 - i);
            assert_true(y[k] == (k == PIXELS - 1 ? (float)i : 0));
        }
        bundle_destroy(picture);
        bundle_destroy(rows);
    }
    free(pixels);
    free(values);
    world_deinit();
}

/* An output of one process is an input of the next, in the same memory, also when its maker died.
 */
static void what_was_lent_outlives_its_lender(ATTR_UNUSED void **state)
{
    enum { ROWS = 65536 };
    (void)fixture_ort();
    world_init(0, 0);
    load(RELU);
    const int64_t shape[2] = {ROWS, 4};
    float *values = calloc(ROWS * 4, sizeof(*values));
    assert_non_null(values);
    values[1] = 7;
    struct bundle *input = bundle_create();
    add_tensor(input, "x", WEFT_FP32, 2, shape, values);
    const struct said *said = run(1, RELU, input);
    struct bundle *middle = said->outputs[0].contents;
    world.said_count--;
    (void)snprintf(middle->tensors[0].name, sizeof(middle->tensors[0].name), "x");
    assert_int_equal(kill(process_child_of(processes.server.first.process), SIGKILL), 0);
    said = run(2, RELU, middle);
    assert_true(((const float *)output_of(said, 0, "y"))[1] == 7);
    free(values);
    world_deinit();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_crash_costs_the_task_that_did_it),
        cmocka_unit_test(a_batch_may_come_before_the_engine),
        cmocka_unit_test(a_batch_of_nothing_but_crashes_fails),
        cmocka_unit_test(others_in_the_process_run_again),
        cmocka_unit_test(a_run_without_end_costs_its_batch),
        cmocka_unit_test(what_does_not_stop_is_ended),
        cmocka_unit_test(the_process_is_killed),
        cmocka_unit_test(the_process_that_forks_is_killed),
        cmocka_unit_test(all_processes_that_fork_are_killed),
        cmocka_unit_test(an_engine_that_can_start_no_functions_is_replaced),
        cmocka_unit_test(what_cannot_be_sent_whole_is_sent_in_parts),
        cmocka_unit_test(a_load_without_end_ends),
        cmocka_unit_test(a_model_is_unloaded_whatever_its_process_does),
        cmocka_unit_test(an_unload_needs_no_report),
        cmocka_unit_test(a_load_is_cancelled_whatever_its_process_does),
        cmocka_unit_test(memory_beyond_the_bound_costs_the_task),
        cmocka_unit_test(large_tensors_are_lent_and_come_back),
        cmocka_unit_test(what_was_lent_outlives_its_lender),
        cmocka_unit_test(functions_apart_have_memory_of_their_own),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
