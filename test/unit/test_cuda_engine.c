/*
 * The engine for GPUs, in processes as it runs, on a fake driver: rows are laid together and dealt
 * out, weights outlive what breaks, and nothing that goes wrong hits anything else.
 *
 * Covers: src/cuda/engine.c, src/cuda/load.c, src/cuda/run.c,
 * src/cuda/record.c, src/cuda/held.c, src/cuda/choose.c,
 * src/cuda/keeper.c, src/process/keeper.c, src/engine/task_inputs.c,
 * src/cuda/versions.c, src/cuda/revise.c, src/cuda/keep.c, src/process/revise.c,
 * src/process/count.c, src/cuda/ahead.c, src/process/still.c
 */
#include "cuda/engine.h"

#include <signal.h>
#include <time.h>

#include <uv.h>

#include "base/error.h"
#include "base/units.h"
#include "engine/segment.h"
#include "model/catalogue.h"
#include "process/child.h"
#include "process/inside.h"
#include "process/process.h"
#include "unit/cuda_fixture.h"

enum { DONE_MAX = 256, TASKS_MAX = 16, MODELS_HERE = 5, MIB = 1 << 20, UNITS = FAKE_UNITS };
enum { DOUBLE, NEGATE, BIG, MISSING, MANY, MODELS_WITH_PACKAGES = 4 }; /* Models and workflows. */

struct said {
    struct engine_done done;
    char message[240];
    struct engine_output outputs[TASKS_MAX];
    char messages[TASKS_MAX][240];
};

static struct world {
    struct fleet *fleet;
    struct catalogue *catalogue;
    struct artifact files[MODELS_HERE];
    struct artifacts artifacts;
    char paths[MODELS_HERE][512];
    struct engine_cuda_options cuda;
    struct process_child_options child;
    struct fork_server server;
    uv_loop_t loop;
    struct engine *engine;
    uint32_t ended;
    char last_end[240];
    uint32_t said_count;
    struct said said[DONE_MAX];
} world; /* Large: not on the stack. */

static void on_done(ATTR_UNUSED void *context, const struct engine_done *done)
{
    assert_true(world.said_count < DONE_MAX);
    struct said *said = &world.said[world.said_count++];
    said->done = *done;
    (void)snprintf(said->message, sizeof(said->message), "%s", done->message ? done->message : "");
    assert_true(done->output_count <= TASKS_MAX);
    for (uint32_t i = 0; i < done->output_count; i++) {
        said->outputs[i] = done->outputs[i];
        (void)snprintf(
            said->messages[i], sizeof(said->messages[i]), "%s",
            done->outputs[i].message ? done->outputs[i].message : "");
    }
}

static void on_ended(ATTR_UNUSED void *context, ATTR_UNUSED uint32_t worker, const char *message)
{
    world.ended++;
    (void)snprintf(world.last_end, sizeof(world.last_end), "%s", message);
}

/* Run the loop until nothing is under way. */
static const struct said *settle(void)
{
    (void)uv_run(&world.loop, UV_RUN_DEFAULT);
    assert_true(world.said_count > 0);
    return &world.said[world.said_count - 1];
}

static const struct said *said_of(uint64_t batch)
{
    for (uint32_t i = 0; i < world.said_count; i++) {
        if (world.said[i].done.kind == ENGINE_RAN && world.said[i].done.batch == batch) {
            return &world.said[i];
        }
    }
    fail_msg("nothing was said of batch %u", (uint32_t)batch);
    return NULL;
}

static bool are_compared; /* The files of models, before anything runs. */

/* A model, and a workflow of one task that runs it. Both have the same number. */
static void add(const char *name, const char *path)
{
    struct workflow *workflow = workflow_create(name);
    const uint32_t model = catalogue_model(world.catalogue, name);
    struct workflow_task task = {.run = model, .models = {model}, .model_count = 1};
    uint32_t index;
    (void)snprintf(task.name, sizeof(task.name), "%s", name);
    assert_int_equal(workflow_add_task(workflow, &task, &index), WEFT_OK);
    assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);
    assert_int_equal(catalogue_add_workflow(world.catalogue, workflow), WEFT_OK);
    (void)snprintf(world.paths[model], sizeof(world.paths[model]), "%s", path);
    world.files[model] = (struct artifact){.cuda = world.paths[model]};
    if (are_compared) {
        struct timespec now;
        assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
        world.files[model].cuda_since_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    }
    world.artifacts.count = world.catalogue->model_count;
}

enum { VERSIONS_MADE = 5 }; /* Of the model MANY, which differ in their scale: 11, 12, ... */

static const char *version_file(uint32_t number, uint32_t version, const char *name)
{
    static char path[8][64];
    static uint32_t next;
    char *here = path[next++ % 8];
    (void)snprintf(here, sizeof(path[0]), "many%u/%u%s%s", number, version, *name ? "/" : "", name);
    return here;
}

/* A model with several versions. */
static void add_versions(uint32_t number)
{
    char folder[512];
    (void)snprintf(folder, sizeof(folder), "many%u", number);
    assert_int_equal(mkdir(cuda_path(folder), 0700), 0);
    for (uint32_t i = 1; i <= VERSIONS_MADE; i++) {
        assert_int_equal(mkdir(cuda_path(version_file(number, i, "")), 0700), 0);
        (void)cuda_make_model(version_file(number, i, "model.cuda"), 10 + (float)i, 0, MIB);
    }
    add("many", cuda_path(version_file(number, 1, "model.cuda")));
}

static size_t negate_bytes = MIB; /* Of the weights of NEGATE. */

/* Models of this test in a folder of their own. */
static void make_models(void)
{
    static uint32_t number;
    char name[32];
    char path[512];
    (void)snprintf(name, sizeof(name), "double%u", ++number);
    add("double", cuda_make_model(name, 2, 1, MIB));
    (void)snprintf(name, sizeof(name), "negate%u", number);
    add("negate", cuda_make_model(name, -1, 0, negate_bytes));
    (void)snprintf(name, sizeof(name), "large%u", number);
    (void)snprintf(path, sizeof(path), "%s", cuda_make_model(name, 1, 0, MIB));
    char file[600];
    (void)snprintf(file, sizeof(file), "%s/manifest", path);
    FILE *manifest = fopen(file, "a");
    assert_non_null(manifest);
    (void)fputs("package 8 big\n", manifest);
    assert_int_equal(fclose(manifest), 0);
    cuda_add_package(path, "big");
    add("big", path);
    add("missing", "/nowhere");
    add_versions(number);
}

/* In an engine process: a folder with a file `right` is. */
static enum weft_status compare(const char *folder, struct weft_error *error)
{
    char path[600];
    (void)snprintf(path, sizeof(path), "%s/right", folder);
    return access(path, F_OK) == 0 ? WEFT_OK : error_set(error, WEFT_INVALID, "another sum");
}

static uint64_t arena_bytes = 256 * MIB;
static uint32_t workers_of_gpu = 1;
static bool are_streams;
static bool have_priorities;
static uint32_t graphs_max;
static int64_t keep_after_ns = 1; /* Before the next job. */

static void world_init(int64_t run_ns_max, const char *driver)
{
    struct weft_error error;
    memset(&world, 0, sizeof(world));
    world.fleet = fleet_create();
    struct fleet_worker device = {
        .memory_bytes = 64 * MIB,
        .gpu_units = UNITS / workers_of_gpu,
        .partitions = workers_of_gpu,
        .sharing = SHARES_SM,
    };
    device.device = fleet_device(world.fleet, "gpu");
    assert_true(fleet_add_machine(world.fleet, &device, 1, /* cpu_units */ 2));
    world.catalogue = catalogue_create();
    world.artifacts.items = world.files;
    make_models();
    world.cuda = (struct engine_cuda_options){
        .driver = driver,
        .torch = WEFT_TEST_FAKES,
        .arena_bytes = arena_bytes,
        .are_streams = are_streams,
        .have_priorities = have_priorities,
        .budget_bytes = 8 * MIB,
        .graphs_max = graphs_max,
        .keep_after_ns = keep_after_ns,
        .compare = are_compared ? compare : NULL,
    };
    world.child = (struct process_child_options){
        .fleet = world.fleet,
        .catalogue = world.catalogue,
        .artifacts = &world.artifacts,
        .cuda = &world.cuda,
    };
    const struct engine_process_options options = {
        .fleet = world.fleet,
        .catalogue = world.catalogue,
        .artifacts = &world.artifacts,
        .server = &world.server,
        .loop = &world.loop,
        .run_ns_max = run_ns_max,
        .keeps_weights = true,
        .spin_ns = 1000000,
        .host = {.done = on_done},
        .on_ended = on_ended,
    };
    const struct fork_options children = process_fork_options(&world.child);
    if (fork_server_start(&world.server, &children, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(uv_loop_init(&world.loop), 0);
    if (engine_process_create(&options, &world.engine, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
}

static void world_deinit(void)
{
    engine_destroy(world.engine);
    fork_server_stop(&world.server);
    assert_int_equal(uv_run(&world.loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&world.loop), 0);
    for (uint32_t i = 0; i < world.said_count; i++) {
        for (uint32_t k = 0; k < world.said[i].done.output_count; k++) {
            bundle_destroy(world.said[i].outputs[k].contents);
        }
    }
    catalogue_destroy(world.catalogue);
    fleet_destroy(world.fleet);
}

static void load_on(uint32_t worker, uint32_t model)
{
    engine_load(world.engine, worker, model);
    const struct said *said = settle();
    assert_int_equal(said->done.kind, ENGINE_LOADED);
    assert_int_equal(said->done.worker, worker);
    assert_int_equal(said->done.model, model);
    assert_string_equal(said->message, "");
    assert_int_equal(said->done.status, WEFT_OK);
    assert_true(said->done.bytes >= MIB);
}

static void load(uint32_t model)
{
    load_on(0, model);
}

static void unload_on(uint32_t worker, uint32_t model)
{
    engine_unload(world.engine, worker, model);
    const struct said *said = settle();
    assert_int_equal(said->done.kind, ENGINE_UNLOADED);
    assert_int_equal(said->done.worker, worker);
    assert_int_equal(said->done.model, model);
}

static void unload(uint32_t model)
{
    unload_on(0, model);
}

/*
 * From now on the file of @model says another scale: what is on the device does not. The loading
 * thread has had another job by then, so the keeper has been given what was loaded.
 */
static void change_file(uint32_t model, float scale)
{
    char path[600];
    engine_load(world.engine, 0, MISSING);
    assert_int_equal(settle()->done.status, WEFT_IO);
    (void)snprintf(path, sizeof(path), "%s/weights.bin", world.paths[model]);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fwrite(&scale, sizeof(scale), 1, file), 1);
    assert_int_equal(fclose(file), 0);
}

/* Rows that count from @first on. */
static struct bundle *rows(uint32_t count, float first)
{
    struct bundle *bundle = bundle_create();
    struct weft_tensor tensor = {.name = "x", .dtype = WEFT_FP32, .rank = 2};
    tensor.shape[0] = count;
    tensor.shape[1] = FIXTURE_EXTENT;
    tensor.bytes = tensor_bytes(WEFT_FP32, 2, tensor.shape);
    float *values = bundle_add(bundle, &tensor);
    for (uint32_t i = 0; i < count * FIXTURE_EXTENT; i++) {
        values[i] = first + (float)i;
    }
    return bundle;
}

/* The worker that batches are launched on from now on. */
static uint32_t launch_worker;

/* And the edition that their jobs name. */
static uint32_t launch_edition;

/* Launch a batch of @count tasks on @units units. The bundles stay the caller's. */
static void launch(
    uint64_t batch, uint32_t workflow, uint32_t units, uint32_t count,
    struct bundle *const *bundles)
{
    struct engine_task tasks[TASKS_MAX];
    struct engine_input inputs[TASKS_MAX];
    for (uint32_t i = 0; i < count; i++) {
        inputs[i] = (struct engine_input){.contents = bundles[i], .bytes = bundles[i]->bytes};
        tasks[i] = (struct engine_task){.items = 1, .input_count = 1, .inputs = &inputs[i]};
        tasks[i].job.number = job_number(launch_edition, /* count */ 1);
    }
    const struct engine_batch launched = {
        .batch = batch,
        .worker = launch_worker,
        .workflow = workflow,
        .items = count,
        .task_count = count,
        .tasks = tasks,
        .config = {.batch = count, .gpu = units},
    };
    assert_int_equal(engine_launch(world.engine, &launched), WEFT_OK);
}

static void expect_rows(
    const struct said *said, uint32_t task, uint32_t count, float first, float scale, float shift)
{
    assert_string_equal(said->message, "");
    assert_string_equal(said->messages[task], "");
    assert_int_equal(said->outputs[task].status, WEFT_OK);
    assert_int_equal(said->outputs[task].items, count);
    const struct weft_tensor *y = bundle_find(said->outputs[task].contents, "y");
    assert_non_null(y);
    assert_int_equal(y->shape[0], count);
    assert_int_equal(y->shape[1], FIXTURE_EXTENT);
    for (uint32_t i = 0; i < count * FIXTURE_EXTENT; i++) {
        assert_true(((const float *)y->data)[i] == (first + (float)i) * scale + shift);
    }
}

/* Run @count rows, and expect them back at @scale and @shift. */
static void run(uint64_t batch, uint32_t workflow, uint32_t count, float scale, float shift)
{
    struct bundle *input = rows(count, 3);
    launch(batch, workflow, 4, 1, &input);
    (void)settle();
    expect_rows(said_of(batch), 0, count, 3, scale, shift);
    bundle_destroy(input);
}

static void batches_of_any_size_run(ATTR_UNUSED void **state)
{
    world_init(0, FAKE_CUDA);
    load(DOUBLE);
    run(1, DOUBLE, 1, 2, 1);
    run(2, DOUBLE, 3, 2, 1);  /* In a package for four. */
    run(3, DOUBLE, 11, 2, 1); /* Four, four and three. */
    run(4, DOUBLE, 0, 2, 1);
    struct bundle *inputs[3] = {rows(1, 10), rows(5, 20), rows(2, 30)};
    launch(5, DOUBLE, 0, 3, inputs);
    (void)settle();
    expect_rows(said_of(5), 0, 1, 10, 2, 1);
    expect_rows(said_of(5), 1, 5, 20, 2, 1);
    expect_rows(said_of(5), 2, 2, 30, 2, 1);
    assert_true(said_of(5)->done.run_ns > 0);
    for (uint32_t i = 0; i < 3; i++) {
        bundle_destroy(inputs[i]);
    }
    assert_int_equal(world.ended, 0);
    world_deinit();
}

/* What comes one at a time runs on one stream, whatever its units, from the first trial on. */
static void one_at_a_time_needs_one_stream(ATTR_UNUSED void **state)
{
    are_streams = true;
    assert_int_equal(setenv(FAKE_STREAMS_MOST, "1", 1), 0);
    world_init(0, FAKE_CUDA);
    load(DOUBLE);
    load(NEGATE);
    struct bundle *input = rows(1, 3);
    for (uint32_t i = 0; i < 4; i++) {
        launch(i, i % 2 == 0 ? DOUBLE : NEGATE, i < 2 ? 4 : 0, 1, &input);
        (void)settle();
        expect_rows(said_of(i), 0, 1, 3, i % 2 == 0 ? 2 : -1, i % 2 == 0 ? 1 : 0);
    }
    bundle_destroy(input);
    assert_int_equal(world.ended, 0);
    world_deinit();
}

static void short_runs_come_first(ATTR_UNUSED void **state)
{
    are_streams = true;
    have_priorities = true;
    assert_int_equal(setenv(FAKE_NEEDS_PRIORITY, "", 1), 0);
    world_init(0, FAKE_CUDA);
    load(DOUBLE);
    run(1, DOUBLE, 1, 2, 1);
    run(2, DOUBLE, 11, 2, 1);
    assert_int_equal(world.ended, 0);
    world_deinit();
}

/* Large inputs lie in memory of the server: the GPU reads them there, beside those that came along.
 */
static void large_inputs_are_read_where_they_lie(ATTR_UNUSED void **state)
{
    enum { LARGE = 4100 }; /* 65,600 bytes. */
    world_init(0, FAKE_CUDA);
    load(DOUBLE);
    for (uint32_t i = 1; i <= 3; i++) { /* The memory of the first is used again. */
        struct bundle *inputs[3] = {rows(2, 10), rows(LARGE, 10000), rows(3, 20)};
        launch(i, DOUBLE, 4, 3, inputs);
        (void)settle();
        expect_rows(said_of(i), 0, 2, 10, 2, 1);
        expect_rows(said_of(i), 1, LARGE, 10000, 2, 1);
        expect_rows(said_of(i), 2, 3, 20, 2, 1);
        for (uint32_t k = 0; k < 3; k++) {
            bundle_destroy(inputs[k]);
        }
    }
    assert_int_equal(world.ended, 0);
    world_deinit();
}

/* Whether the loop goes on without sleep, although nothing is under way. */
static bool is_loop_awake(void)
{
    const struct engine_process *process = (const struct engine_process *)world.engine;
    uv_handle_t *spin = (uv_handle_t *)process->spin;
    uv_ref(spin); /* A loop with nothing to wait for does not even turn once. */
    (void)uv_run(&world.loop, UV_RUN_NOWAIT);
    uv_unref(spin);
    return uv_is_active(spin) != 0;
}

static void the_loop_is_awake_for_a_batch_that_comes_soon(ATTR_UNUSED void **state)
{
    enum { BATCHES_MOST = 200, REST_MS = 3 }; /* Longer than batches are waited for. */
    uint64_t batch = 0;
    world_init(0, FAKE_CUDA);
    load(DOUBLE);
    run(++batch, DOUBLE, 4, 2, 1);
    assert_false(is_loop_awake()); /* Not before enough have come soon: */
    while (!is_loop_awake()) {     /* sixteen, and more if this machine is slow. */
        assert_true(batch < BATCHES_MOST);
        run(++batch, DOUBLE, 4, 2, 1);
    }
    assert_true(batch >= PROCESS_SIGNS_MIN);
    uv_sleep(REST_MS);
    assert_false(is_loop_awake());
    world_deinit();
}

static void models_run_side_by_side(ATTR_UNUSED void **state)
{
    struct bundle *inputs[12];
    world_init(0, FAKE_CUDA);
    engine_load(world.engine, 0, DOUBLE);
    engine_load(world.engine, 0, NEGATE);
    (void)settle();
    for (uint32_t i = 0; i < 12; i++) { /* More than the device has units for. */
        inputs[i] = rows(i % 5 + 1, (float)i);
        launch(i + 1, i % 2 == 0 ? DOUBLE : NEGATE, i % 6 + 1, 1, &inputs[i]);
    }
    (void)settle();
    for (uint32_t i = 0; i < 12; i++) {
        const float scale = i % 2 == 0 ? 2 : -1;
        expect_rows(said_of(i + 1), 0, i % 5 + 1, (float)i, scale, i % 2 == 0 ? 1 : 0);
        bundle_destroy(inputs[i]);
    }
    world_deinit();
}

static void a_task_that_does_not_fit_fails_alone(ATTR_UNUSED void **state)
{
    world_init(0, FAKE_CUDA);
    load(DOUBLE);
    struct bundle *inputs[4] = {rows(1, 10), rows(2, 20), rows(1, 30), rows(1, 40)};
    inputs[1]->tensors[0].shape[1] = FIXTURE_EXTENT / 2;
    inputs[1]->tensors[0].shape[0] = 4;
    (void)snprintf(inputs[2]->tensors[0].name, sizeof(inputs[2]->tensors[0].name), "z");
    launch(1, DOUBLE, 2, 4, inputs);
    (void)settle();
    expect_rows(said_of(1), 0, 1, 10, 2, 1);
    expect_rows(said_of(1), 3, 1, 40, 2, 1);
    assert_int_equal(said_of(1)->outputs[1].status, WEFT_INVALID);
    assert_int_equal(said_of(1)->outputs[2].status, WEFT_NOT_FOUND);
    assert_string_equal(said_of(1)->messages[2], "the model takes 'x', which is missing");
    for (uint32_t i = 0; i < 4; i++) {
        bundle_destroy(inputs[i]);
    }
    world_deinit();
}

static void weights_leave_and_come_again(ATTR_UNUSED void **state)
{
    world_init(0, FAKE_CUDA);
    load(DOUBLE);
    run(1, DOUBLE, 4, 2, 1);
    unload(DOUBLE);
    change_file(DOUBLE, 5);
    load(DOUBLE);
    run(2, DOUBLE, 4, 5, 1); /* The same graph, with what the file says now. */
    unload(DOUBLE);
    engine_load(world.engine, 0, DOUBLE);
    engine_cancel_load(world.engine, 0, DOUBLE);
    load(DOUBLE);
    run(3, DOUBLE, 4, 5, 1);
    world_deinit();
}

static void what_changes_is_compared_before_it_is_run(ATTR_UNUSED void **state)
{
    char path[600];
    are_compared = true;
    world_init(0, FAKE_CUDA);
    load(DOUBLE);
    run(1, DOUBLE, 4, 2, 1);
    unload(DOUBLE);
    uv_sleep(20); /* The clock of files is coarse. */
    change_file(DOUBLE, 5);
    engine_load(world.engine, 0, DOUBLE);
    const struct said *said = settle();
    assert_int_equal(said->done.status, WEFT_INVALID);
    assert_string_equal(said->message, "another sum");
    cuda_write(world.paths[DOUBLE], "right", "", 0);
    load(DOUBLE);
    run(2, DOUBLE, 4, 5, 1);
    unload(DOUBLE);
    (void)snprintf(path, sizeof(path), "%s/right", world.paths[DOUBLE]);
    assert_int_equal(unlink(path), 0);
    load(DOUBLE); /* It has not changed again. */
    (void)snprintf(path, sizeof(path), "%s/four", world.paths[NEGATE]);
    cuda_write(path, "kernel.cubin", "", 0);
    engine_load(world.engine, 0, NEGATE);
    said = settle();
    assert_int_equal(said->done.status, WEFT_INVALID);
    assert_int_equal(world.ended, 0);
    world_deinit();
}

static void on_timer(ATTR_UNUSED uv_timer_t *timer)
{
}

/* Wait until processes have ended that were forked for the engine: @count so far. */
static void await_ends(uint32_t count)
{
    uv_timer_t timer;
    assert_int_equal(uv_timer_init(&world.loop, &timer), 0);
    assert_int_equal(uv_timer_start(&timer, on_timer, 1, 1), 0);
    while (world.ended < count) {
        (void)uv_run(&world.loop, UV_RUN_ONCE);
    }
    uv_close((uv_handle_t *)&timer, NULL);
    (void)uv_run(&world.loop, UV_RUN_NOWAIT);
}

/* End a process that was forked for the engine, and wait until that was noticed. */
static void end_process(pid_t process)
{
    const uint32_t before = world.ended;
    assert_int_equal(kill(process, SIGKILL), 0);
    await_ends(before + 1);
}

static void a_broken_device_costs_the_task_that_broke_it(ATTR_UNUSED void **state)
{
    world_init(0, FAKE_CUDA);
    load(DOUBLE);
    load(NEGATE);
    change_file(DOUBLE, 7); /* If it were copied again, this would show. */
    change_file(NEGATE, 7);
    struct bundle *inputs[3] = {rows(1, 1), rows(1, 666), rows(1, 2)};
    launch(1, DOUBLE, 4, 3, inputs);
    launch(2, NEGATE, 4, 1, &inputs[2]);
    (void)settle();
    expect_rows(said_of(1), 0, 1, 1, 2, 1);
    expect_rows(said_of(1), 2, 1, 2, 2, 1);
    expect_rows(said_of(2), 0, 1, 2, -1, 0);
    assert_int_equal(said_of(1)->outputs[1].status, WEFT_CRASHED);
    assert_string_equal(said_of(1)->messages[1], "the engine process of worker 0 lost its GPU");
    assert_true(world.ended >= 1);
    run(3, DOUBLE, 5, 2, 1);
    run(4, NEGATE, 5, -1, 0);
    for (uint32_t i = 0; i < 3; i++) {
        bundle_destroy(inputs[i]);
    }
    world_deinit();
}

static struct process_worker *worker_zero(void)
{
    return ((struct engine_process *)world.engine)->workers;
}

/* What breaks the device again is not what others wait for once more. */
static void others_are_answered_before_suspects(ATTR_UNUSED void **state)
{
    world_init(0, FAKE_CUDA);
    load(DOUBLE);
    load(NEGATE);
    struct bundle *inputs[2] = {rows(1, 666), rows(1, 2)};
    launch(1, DOUBLE, 4, 1, &inputs[0]);
    launch(2, NEGATE, 4, 1, &inputs[1]); /* A suspect, too, if it has not ended by then. */
    await_ends(1);
    launch(3, NEGATE, 4, 1, &inputs[1]);
    (void)settle();
    assert_int_equal(world.ended, 2);
    assert_int_equal(said_of(1)->done.status, WEFT_CRASHED);
    expect_rows(said_of(2), 0, 1, 2, -1, 0);
    expect_rows(said_of(3), 0, 1, 2, -1, 0);
    assert_true(said_of(2) < said_of(1));
    assert_true(said_of(3) < said_of(1));
    bundle_destroy(inputs[0]);
    bundle_destroy(inputs[1]);
    world_deinit();
}

/* It is known how long a graph takes: what hangs need not be waited for as long as a first run. */
static void a_run_without_end_is_ended(ATTR_UNUSED void **state)
{
    world_init(/* run_ns_max */ 0, FAKE_CUDA);
    load(DOUBLE);
    change_file(DOUBLE, 7);
    struct bundle *inputs[2] = {rows(1, 777), rows(1, 5)};
    launch(1, DOUBLE, 4, 1, &inputs[0]);
    (void)settle();
    assert_int_equal(said_of(1)->done.status, WEFT_CRASHED);
    assert_non_null(strstr(said_of(1)->message, "gave up a run that did not end"));
    assert_int_equal(world.ended, 1); /* It was alone, and is not tried again. */
    run(2, DOUBLE, 2, 2, 1);
    launch(3, DOUBLE, 4, 2, inputs); /* Of two tasks one is to blame. */
    (void)settle();
    assert_int_equal(said_of(3)->outputs[0].status, WEFT_CRASHED);
    expect_rows(said_of(3), 1, 1, 5, 2, 1);
    assert_int_equal(world.ended, 3);
    bundle_destroy(inputs[0]);
    bundle_destroy(inputs[1]);
    world_deinit();
}

/* And one that takes longer than it may is ended as well. */
static void a_run_that_takes_too_long_is_ended(ATTR_UNUSED void **state)
{
    world_init(/* run_ns_max */ INT64_C(100000000), FAKE_CUDA);
    load(DOUBLE);
    struct bundle *input = rows(1, 777);
    launch(1, DOUBLE, 4, 1, &input);
    (void)settle();
    assert_int_equal(said_of(1)->done.status, WEFT_CRASHED);
    assert_non_null(strstr(said_of(1)->message, "ran a batch for more than 0.1 s"));
    bundle_destroy(input);
    world_deinit();
}

/* Stop @process, and wait until it does nothing more. */
static void stop(pid_t process)
{
    char path[64];
    char text[256] = "";
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)process);
    assert_int_equal(kill(process, SIGSTOP), 0);
    while (strstr(text, ") T ") == NULL) {
        uv_sleep(1);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        assert_non_null(fgets(text, sizeof(text), file));
        (void)fclose(file);
    }
}

/* Nothing that ran there is to blame: all of it runs again. */
static void a_process_that_stands_still_is_replaced(ATTR_UNUSED void **state)
{
    world_init(/* run_ns_max */ 0, FAKE_CUDA);
    load(DOUBLE);
    run(1, DOUBLE, 1, 2, 1);
    struct bundle *input = rows(1, 5);
    stop(worker_zero()->child.process);
    launch(2, DOUBLE, 4, 1, &input);
    (void)settle();
    expect_rows(said_of(2), 0, 1, 5, 2, 1);
    assert_int_equal(world.ended, 1);
    assert_non_null(strstr(world.last_end, "stood still"));
    assert_int_equal(engine_process_counts(world.engine).kills, 1);
    bundle_destroy(input);
    world_deinit();
}

/* Memory of inputs is registered with the driver: it stays when a model leaves. */
static void segments_stay_when_a_model_leaves(ATTR_UNUSED void **state)
{
    enum { BYTES = 1 << 20 };
    world_init(0, FAKE_CUDA);
    load(DOUBLE);
    struct segment *segment = segment_take(BYTES);
    const uint64_t key = segment->key;
    segment_give(segment);
    unload(DOUBLE);
    segment = segment_take(BYTES);
    assert_int_equal(segment->key, key);
    segment_give(segment);
    world_deinit();
}

/* How many pieces of device memory the engine process can write. */
static uint32_t count_pieces(void)
{
    char path[64];
    char line[512];
    uint32_t count = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)worker_zero()->child.process);
    FILE *maps = fopen(path, "r");
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps) != NULL) {
        count += strstr(line, " rw-s ") != NULL && strstr(line, "memfd:device") != NULL ? 1 : 0;
    }
    (void)fclose(maps);
    return count;
}

static void await_pieces(uint32_t count)
{
    for (uint32_t i = 0; i < 2000 && count_pieces() != count; i++) {
        uv_sleep(5);
    }
    assert_int_equal(count_pieces(), count);
}

/* Before any model is loaded there is memory for all of them, as far as the worker has any. */
static void memory_is_there_before_models(ATTR_UNUSED void **state)
{
    world_init(0, FAKE_CUDA);
    await_pieces(MODELS_WITH_PACKAGES); /* Each has 2 MiB, or less. */
    load(DOUBLE);
    await_pieces(
        MODELS_WITH_PACKAGES - 1); /* It cannot be written any more, once it is reported. */
    unload(DOUBLE);
    await_pieces(MODELS_WITH_PACKAGES);
    world_deinit();
}

/* How many copies were under way at most, since it was last asked. */
static uint32_t copies_most(void)
{
    char line[16];
    uint32_t most = 0;
    FILE *file = fopen(getenv(FAKE_COPIES), "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        const uint32_t count = (uint32_t)strtoul(line, NULL, 10);
        most = count > most ? count : most;
    }
    assert_int_equal(fclose(file), 0);
    assert_int_equal(unlink(getenv(FAKE_COPIES)), 0);
    return most;
}

/* Load NEGATE while batch @number runs. False if it ended before that was over. */
static bool load_beside(uint64_t number)
{
    struct bundle *input = rows(1, 3);
    (void)unlink(getenv(FAKE_RUNS));
    launch(number, DOUBLE, 4, 1, &input);
    for (uint32_t i = 0; i < 1000 && access(getenv(FAKE_RUNS), F_OK) != 0; i++) {
        uv_sleep(1);
    }
    uv_sleep(5); /* It has been launched, and all know. */
    engine_load(world.engine, 0, NEGATE);
    bool has_run = false;
    while (world.said[world.said_count - 1].done.kind != ENGINE_LOADED) {
        (void)uv_run(&world.loop, UV_RUN_ONCE);
        has_run = has_run || world.said[world.said_count - 1].done.kind == ENGINE_RAN;
    }
    (void)settle();
    expect_rows(said_of(number), 0, 1, 3, 2, 1);
    bundle_destroy(input);
    return !has_run;
}

/* Runs read their inputs over the bus that weights come over. */
static void loads_leave_the_bus_to_what_runs(ATTR_UNUSED void **state)
{
    negate_bytes = 64 * (size_t)MIB; /* Four large copies. */
    assert_int_equal(setenv(FAKE_COPIES, cuda_path("copies"), 1), 0);
    assert_int_equal(setenv(FAKE_RUNS, cuda_path("runs"), 1), 0);
    assert_int_equal(setenv(FAKE_RUN_US, "240000", 1), 0);
    world_init(0, FAKE_CUDA);
    load(DOUBLE);
    load(NEGATE);
    assert_int_equal(copies_most(), 2); /* Nothing runs. */
    bool is_beside = false;
    for (uint64_t i = 1; i <= 40 && !is_beside; i++) { /* On a slow machine not at first. */
        unload(NEGATE);
        is_beside = load_beside(i);
        const uint32_t most = copies_most();
        assert_int_equal(is_beside ? most : 1, 1);
    }
    assert_true(is_beside);
    unload(NEGATE);
    load(NEGATE);
    assert_int_equal(copies_most(), 2);
    assert_int_equal(world.ended, 0);
    world_deinit();
}

static void batches_can_be_cancelled(ATTR_UNUSED void **state)
{
    world_init(0, FAKE_CUDA);
    load(DOUBLE);
    struct bundle *input = rows(40, 1);
    for (uint64_t i = 1; i <= 4; i++) {
        launch(i, DOUBLE, 0, 1, &input);
    }
    engine_cancel(world.engine, 1);
    engine_cancel(world.engine, 3);
    (void)settle();
    expect_rows(said_of(2), 0, 40, 1, 2, 1);
    expect_rows(said_of(4), 0, 40, 1, 2, 1);
    assert_int_equal(world.said_count, 3); /* The load, and these two. */
    unload(DOUBLE);
    bundle_destroy(input);
    world_deinit();
}

static void a_cancelled_batch_keeps_its_weights_while_it_runs(ATTR_UNUSED void **state)
{
    world_init(0, FAKE_CUDA);
    load(DOUBLE);
    run(1, DOUBLE, 1, 2, 1);             /* The graph is there from now on. */
    struct bundle *input = rows(9, 555); /* The first of three runs takes long. */
    for (uint64_t i = 2; i < 12; i++) {
        launch(i, DOUBLE, 4, 1, &input);
        uv_sleep(1); /* Some are caught while they run. */
        engine_cancel(world.engine, i);
        unload(DOUBLE);
        load(DOUBLE);
    }
    assert_int_equal(world.ended, 0); /* The fake driver would have ended the process. */
    bundle_destroy(input);
    world_deinit();
}

static void a_share_without_memory_is_left_alone(ATTR_UNUSED void **state)
{
    arena_bytes = 8 * MIB; /* First runs take four of them. */
    world_init(0, FAKE_CUDA);
    load(DOUBLE);
    for (uint32_t i = 0; i < 12; i++) { /* Each number of units is a share of its own. */
        struct bundle *input = rows(1, (float)i);
        launch(i, DOUBLE, i % 4 + 1, 1, &input);
        (void)settle();
        expect_rows(said_of(i), 0, 1, (float)i, 2, 1);
        bundle_destroy(input);
    }
    assert_int_equal(world.ended, 0);
    world_deinit();
}

/* Files of device memory that the keeper holds, once it has read all that was sent to it. */
static uint32_t count_kept(uint32_t wanted)
{
    char path[300];
    char link[300];
    uint32_t count = UINT32_MAX;
    for (uint32_t i = 0; i < 2000 && count != wanted; i++) {
        uv_sleep(i == 0 ? 0 : 5);
        count = 0;
        for (uint32_t k = 0; k < 256; k++) {
            (void)snprintf(
                path, sizeof(path), "/proc/%d/fd/%u", (int)worker_zero()->keeper.child.process, k);
            const ssize_t bytes = readlink(path, link, sizeof(link) - 1);
            link[bytes < 0 ? 0 : bytes] = '\0';
            count += strstr(link, "memfd:device") != NULL ? 1 : 0;
        }
    }
    return count / 2; /* The driver's, and its own. */
}

static void a_killed_engine_leaves_its_weights(ATTR_UNUSED void **state)
{
    world_init(0, FAKE_CUDA);
    load(DOUBLE);
    change_file(DOUBLE, 7);
    end_process(worker_zero()->child.process);
    run(1, DOUBLE, 1, 2, 1);
    unload(DOUBLE);
    load(DOUBLE);
    run(2, DOUBLE, 1, 7, 1); /* It let go of them. */
    world_deinit();
}

static void weights_are_kept_a_while_after_their_load(ATTR_UNUSED void **state)
{
    keep_after_ns = 3600 * NS_PER_S;
    world_init(0, FAKE_CUDA);
    load(DOUBLE);
    change_file(DOUBLE, 7);
    assert_int_equal(count_kept(0), 0);
    end_process(worker_zero()->child.process);
    run(1, DOUBLE, 1, 7, 1); /* They were copied again. */
    world_deinit();
    keep_after_ns = NS_PER_S / 100;
    world_init(0, FAKE_CUDA);
    load(DOUBLE);
    load(NEGATE);
    assert_int_equal(count_kept(4), 2); /* Without another job. */
    unload(NEGATE);
    assert_int_equal(count_kept(2), 1);
    world_deinit();
}

static void a_killed_keeper_is_replaced(ATTR_UNUSED void **state)
{
    world_init(0, FAKE_CUDA);
    load(DOUBLE);
    change_file(DOUBLE, 7);
    worker_zero()->keeper.started_ns = 0; /* As if it had lived for long. */
    const pid_t first = worker_zero()->keeper.child.process;
    end_process(first);
    assert_non_null(strstr(world.last_end, "the keeper of worker 0 "));
    assert_non_null(worker_zero()->keeper.poll);
    assert_int_not_equal(worker_zero()->keeper.child.process, first);
    run(1, DOUBLE, 1, 2, 1);
    load(NEGATE); /* By then the new keeper has what the old one had. */
    end_process(worker_zero()->child.process);
    run(2, DOUBLE, 1, 2, 1);
    run(3, NEGATE, 1, -1, 0);
    unload(DOUBLE);
    load(DOUBLE);
    run(4, DOUBLE, 1, 7, 1); /* It let go of what it had taken over. */
    world_deinit();
}

static void a_batch_that_cannot_be_recorded_fails_alone(ATTR_UNUSED void **state)
{
    char path[600];
    char away[600];
    world_init(0, FAKE_CUDA);
    load(DOUBLE);
    change_file(DOUBLE, 7); /* The keeper has what was loaded. */
    (void)snprintf(path, sizeof(path), "%s/four", world.paths[DOUBLE]);
    (void)snprintf(away, sizeof(away), "%s/away", world.paths[DOUBLE]);
    assert_int_equal(rename(path, away), 0);
    end_process(worker_zero()->child.process);
    struct bundle *input = rows(4, 1);
    launch(1, DOUBLE, 4, 1, &input);
    (void)settle();
    assert_int_equal(said_of(1)->done.status, WEFT_NOT_FOUND);
    run(2, DOUBLE, 1, 2, 1);
    assert_int_equal(rename(away, path), 0);
    launch(3, DOUBLE, 4, 1, &input);
    (void)settle();
    expect_rows(said_of(3), 0, 4, 1, 2, 1);
    bundle_destroy(input);
    world_deinit();
}

/* Files that the fake driver looks at and writes. */
static void set_files(void)
{
    assert_int_equal(setenv(FAKE_GATE, cuda_path("gate"), 1), 0);
    assert_int_equal(setenv(FAKE_RUNS, cuda_path("runs"), 1), 0);
    (void)unlink(getenv(FAKE_RUNS));
}

/* From now on no recording begins; until open_gate(). */
static void close_gate(void)
{
    FILE *file = fopen(getenv(FAKE_GATE), "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
}

static void open_gate(void)
{
    assert_int_equal(unlink(getenv(FAKE_GATE)), 0);
}

/* The processors of the last graph that ran; and how many were made for some of them. */
static uint64_t last_run(uint32_t *made_out)
{
    char line[64];
    uint64_t processors = UINT64_MAX;
    uint32_t made = 0;
    FILE *file = fopen(getenv(FAKE_RUNS), "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        const bool is_run = strchr("0123456789abcdef", line[0]) != NULL;
        processors = is_run ? strtoull(line, NULL, 16) : processors;
        made += line[0] == '+' && strcmp(line, "+0\n") != 0 ? 1 : 0;
    }
    assert_int_equal(fclose(file), 0);
    if (made_out != NULL) {
        *made_out = made;
    }
    return processors;
}

static void wait_for_graphs(uint32_t count)
{
    uint32_t made = 0;
    for (uint32_t i = 0; i < 2000 && made < count; i++) {
        (void)last_run(&made);
        uv_sleep(5);
    }
    assert_true(made >= count);
}

/* Run one row on @units units, again and again, until it has processors of its own. */
static void run_until_apart(uint32_t workflow, uint32_t units, float scale, float shift)
{
    static uint64_t batch = 1000;
    struct bundle *input = rows(1, 3);
    do {
        uv_sleep(50);
        launch(++batch, workflow, units, 1, &input);
        (void)settle();
        expect_rows(said_of(batch), 0, 1, 3, scale, shift);
    } while (last_run(NULL) == 0);
    bundle_destroy(input);
}

/* What waited for ever would be ended, and fail. */
#define LONG_NS INT64_C(10000000000)

static void no_batch_waits_for_a_recording_that_can_run_elsewhere(ATTR_UNUSED void **state)
{
    set_files();
    world_init(LONG_NS, FAKE_CUDA);
    load(DOUBLE);
    close_gate();
    struct bundle *input = rows(1, 3);
    launch(1, DOUBLE, 4, 1, &input); /* Its own share will have no graph. */
    launch(2, DOUBLE, 4, 1, &input);
    (void)settle();
    launch(3, DOUBLE, 14, 1, &input); /* So many units are not free beside a recording. */
    (void)settle();
    for (uint64_t i = 1; i <= 3; i++) {
        expect_rows(said_of(i), 0, 1, 3, 2, 1);
    }
    assert_int_equal(last_run(NULL), 0); /* On the whole device. */
    for (uint64_t i = 1; i <= 3; i++) {
        assert_true(said_of(i)->done.is_disturbed); /* It took as long as such a run does. */
    }
    bundle_destroy(input);
    open_gate();
    run_until_apart(DOUBLE, 4, 2, 1);
    run(4, DOUBLE, 9, 2, 1); /* Runs of several packages. */
    assert_int_equal(world.ended, 0);
    world_deinit();
}

static void streams_wait_for_no_recording(ATTR_UNUSED void **state)
{
    are_streams = true;
    set_files();
    world_init(LONG_NS, FAKE_CUDA);
    load(DOUBLE);
    load(NEGATE);
    close_gate();
    struct bundle *inputs[4] = {rows(1, 555), rows(1, 3), rows(1, 4), rows(1, 5)};
    for (uint64_t i = 0; i < 4; i++) { /* The first runs for long, and has the only stream. */
        launch(i + 1, i % 2 == 0 ? DOUBLE : NEGATE, 4, 1, &inputs[i]);
    }
    (void)settle();
    for (uint32_t i = 0; i < 4; i++) {
        const float first = i == 0 ? 555 : (float)i + 2;
        expect_rows(said_of(i + 1), 0, 1, first, i % 2 == 0 ? 2 : -1, i % 2 == 0 ? 1 : 0);
        bundle_destroy(inputs[i]);
    }
    open_gate();
    run(5, DOUBLE, 9, 2, 1);
    assert_int_equal(world.ended, 0);
    world_deinit();
}

static void loads_wait_for_no_recording(ATTR_UNUSED void **state)
{
    set_files();
    world_init(LONG_NS, FAKE_CUDA);
    load(NEGATE);
    unload(NEGATE);
    load(DOUBLE);
    close_gate();
    run(1, DOUBLE, 1, 2, 1); /* Now a graph is being recorded. */
    load(NEGATE);
    run(2, NEGATE, 1, -1, 0);
    unload(NEGATE);
    open_gate();
    load(NEGATE);
    run(3, NEGATE, 1, -1, 0);
    unload(DOUBLE);
    assert_int_equal(world.ended, 0);
    world_deinit();
}

/* How often a line of the file of runs is @text. */
static uint32_t count_lines(const char *text)
{
    char line[64];
    uint32_t count = 0;
    FILE *file = fopen(getenv(FAKE_RUNS), "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        count += strcmp(line, text) == 0 ? 1 : 0;
    }
    assert_int_equal(fclose(file), 0);
    return count;
}

static bool has_as_many_outputs(void)
{
    return count_lines("out own\n") == count_lines("there\n") + count_lines("own\n");
}

/* What one model made is read by the next where it lies, and not copied into memory of its graph.
 */
static void outputs_are_inputs_where_they_lie(ATTR_UNUSED void **state)
{
    enum { LARGE = 4100 }; /* 65,600 bytes. */
    set_files();
    world_init(0, FAKE_CUDA);
    load(DOUBLE);
    load(NEGATE);
    struct bundle *input = rows(LARGE, 10000);
    launch(1, DOUBLE, 0, 1, &input);
    (void)settle();
    assert_string_equal(said_of(1)->message, "");
    assert_string_equal(said_of(1)->messages[0], "");
    struct bundle *made = said_of(1)->outputs[0].contents;
    (void)snprintf(made->tensors[0].name, sizeof(made->tensors[0].name), "x");
    const uint32_t before = count_lines("there\n");
    launch(2, NEGATE, 0, 1, &made);
    (void)settle();
    assert_string_equal(said_of(2)->message, "");
    assert_string_equal(said_of(2)->messages[0], "");
    const struct weft_tensor *y = bundle_find(said_of(2)->outputs[0].contents, "y");
    assert_non_null(y);
    assert_true(((const float *)y->data)[5] == -(2 * 10005.0F + 1));
    assert_int_equal(count_lines("there\n") - before, LARGE / 4); /* Each run, but not its trial. */
    /* What it makes is copied once by its graph, into memory of that: for each input an output. */
    for (uint32_t i = 0; i < 2000 && !has_as_many_outputs(); i++) {
        uv_sleep(5); /* A recording is under way. */
    }
    assert_true(has_as_many_outputs());
    assert_int_equal(count_lines("out there\n"), 0);
    bundle_destroy(input);
    world_deinit();
}

static void graphs_are_made_ahead(ATTR_UNUSED void **state)
{
    set_files();
    world_init(LONG_NS, FAKE_CUDA);
    load(DOUBLE);
    run_until_apart(DOUBLE, 4, 2, 1);
    wait_for_graphs(2); /* The other package on that share, which nothing has asked for. */
    load(NEGATE);
    wait_for_graphs(4); /* The same for this model. */
    uint64_t batch = 2;
    do { /* Soon it is alone, on its own share: nothing is left to be recorded. */
        assert_true(batch < 100);
        uv_sleep(10);
        run(batch, DOUBLE, 1, 2, 1);
    } while (said_of(batch++)->done.is_disturbed);
    close_gate();
    struct bundle *input = rows(1, 3);
    launch(1, NEGATE, 4, 1, &input);
    (void)settle();
    expect_rows(said_of(1), 0, 1, 3, -1, 0);
    assert_int_not_equal(last_run(NULL), 0);
    open_gate();
    bundle_destroy(input);
    assert_int_equal(world.ended, 0);
    world_deinit();
}

static void graphs_are_bounded(ATTR_UNUSED void **state)
{
    set_files();
    assert_int_equal(setenv(FAKE_GRAPHS_MOST, "5", 1), 0);
    graphs_max = 5;
    world_init(LONG_NS, FAKE_CUDA);
    load(DOUBLE);
    load(NEGATE);
    for (uint32_t i = 1; i <= 24; i++) {
        struct bundle *input = rows(i % 5, (float)i);
        const bool is_double = i % 3 == 0;
        launch(i, is_double ? DOUBLE : NEGATE, i % 7 + 1, 1, &input);
        (void)settle();
        expect_rows(said_of(i), 0, i % 5, (float)i, is_double ? 2 : -1, is_double ? 1 : 0);
        bundle_destroy(input);
    }
    assert_int_equal(world.ended, 0); /* The fake driver would have ended the process. */
    world_deinit();
}

static void without_a_keeper_weights_are_copied_again(ATTR_UNUSED void **state)
{
    char path[600];
    char away[600];
    world_init(0, FAKE_CUDA);
    load(DOUBLE);
    end_process(worker_zero()->keeper.child.process); /* It ended soon: none comes before time. */
    assert_null(worker_zero()->keeper.poll);
    load(NEGATE);
    run(1, NEGATE, 1, -1, 0);
    change_file(NEGATE, 7);
    (void)snprintf(path, sizeof(path), "%s/four", world.paths[NEGATE]);
    (void)snprintf(away, sizeof(away), "%s/away", world.paths[NEGATE]);
    assert_int_equal(rename(path, away), 0); /* Packages that have run are not tried again. */
    end_process(worker_zero()->child.process);
    assert_non_null(worker_zero()->keeper.poll); /* With the next process. */
    run(2, NEGATE, 1, 7, 0);
    world_deinit();
}

static void a_keeper_that_stands_still_is_left(ATTR_UNUSED void **state)
{
    world_init(0, FAKE_CUDA);
    load(DOUBLE);
    assert_int_equal(kill(worker_zero()->keeper.child.process, SIGSTOP), 0);
    load(NEGATE); /* With memory of the engine's own. */
    run(1, NEGATE, 1, -1, 0);
    run(2, DOUBLE, 1, 2, 1);
    assert_int_equal(world.ended, 0);
    unload(DOUBLE); /* The keeper does not hear of it: what it has may not be overwritten. */
    unload(NEGATE);
    load(NEGATE);
    assert_int_equal(kill(worker_zero()->keeper.child.process, SIGCONT), 0);
    end_process(worker_zero()->child.process);
    load(DOUBLE);
    run(3, DOUBLE, 1, 2, 1);
    world_deinit();
}

static void what_cannot_be_loaded_says_why(ATTR_UNUSED void **state)
{
    world_init(0, FAKE_CUDA);
    load(DOUBLE);
    engine_load(world.engine, 0, BIG);
    const struct said *said = settle();
    assert_int_equal(said->done.status, WEFT_NO_MEMORY);
    assert_non_null(strstr(said->message, "a run of 8 rows asked for 67108864 bytes more"));
    engine_load(world.engine, 0, MISSING);
    said = settle();
    assert_int_equal(said->done.status, WEFT_IO);
    assert_non_null(strstr(said->message, "/nowhere/manifest"));
    run(1, DOUBLE, 1, 2, 1);
    assert_int_equal(world.ended, 0);
    engine_reshape(world.engine, 0, 3);
    assert_int_equal(settle()->done.kind, ENGINE_SHAPED);
    world_deinit();
}

static void without_a_driver_nothing_can_be_loaded(ATTR_UNUSED void **state)
{
    world_init(0, "/nowhere/libcuda.so");
    engine_load(world.engine, 0, DOUBLE);
    assert_int_equal(settle()->done.status, WEFT_FAILED);
    world_deinit();
}

/* Each worker of a GPU has its own models; all of them have one process. */
static void a_gpu_can_be_cut_into_workers(ATTR_UNUSED void **state)
{
    workers_of_gpu = 3;
    world_init(0, FAKE_CUDA);
    load_on(0, DOUBLE);
    load_on(2, DOUBLE);
    load_on(1, NEGATE);
    assert_false(worker_zero()[1].is_up);
    change_file(DOUBLE, 5);
    struct bundle *inputs[3] = {rows(1, 10), rows(2, 20), rows(9, 30)};
    launch(1, DOUBLE, 0, 1, &inputs[0]);
    launch_worker = 1;
    launch(2, NEGATE, 0, 1, &inputs[1]);
    launch_worker = 2;
    launch(3, DOUBLE, 1, 1, &inputs[2]);
    (void)settle();
    expect_rows(said_of(1), 0, 1, 10, 2, 1);
    expect_rows(said_of(2), 0, 2, 20, -1, 0);
    expect_rows(said_of(3), 0, 9, 30, 2, 1);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(said_of(i + 1)->done.worker, i);
        bundle_destroy(inputs[i]);
    }
    unload_on(2, DOUBLE);
    load_on(2, DOUBLE);
    run(4, DOUBLE, 1, 5, 1); /* What the file says now. */
    launch_worker = 0;
    launch_edition = 0;
    run(5, DOUBLE, 1, 2, 1); /* Its own copy has not been touched. */
    launch_worker = 1;
    struct bundle *input = rows(1, 1);
    launch(6, DOUBLE, 0, 1, &input); /* This worker does not have it. */
    (void)settle();
    assert_int_equal(said_of(6)->done.status, WEFT_INVALID);
    bundle_destroy(input);
    launch_worker = 0;
    world_deinit();
}

/* What breaks the device under one of its workers is put right for all of them. */
static void workers_of_a_broken_gpu_go_on(ATTR_UNUSED void **state)
{
    workers_of_gpu = 2;
    world_init(0, FAKE_CUDA);
    load_on(0, DOUBLE);
    load_on(1, DOUBLE);
    load_on(1, NEGATE);
    change_file(DOUBLE, 7);
    change_file(NEGATE, 7);
    struct bundle *inputs[2] = {rows(1, 666), rows(1, 2)};
    launch(1, DOUBLE, 0, 1, &inputs[0]);
    launch_worker = 1;
    launch(2, DOUBLE, 0, 1, &inputs[1]);
    (void)settle();
    assert_int_equal(said_of(1)->done.status, WEFT_CRASHED);
    expect_rows(said_of(2), 0, 1, 2, 2, 1);
    run(3, NEGATE, 5, -1, 0);
    engine_load(world.engine, 0, NEGATE);
    engine_cancel_load(world.engine, 0, NEGATE);
    unload_on(1, NEGATE);
    launch_worker = 0;
    run(4, DOUBLE, 5, 2, 1);
    bundle_destroy(inputs[0]);
    bundle_destroy(inputs[1]);
    world_deinit();
}

/* What has run on one worker of a GPU is not tried on another: its load waits for no recording. */
static void a_model_is_tried_on_one_worker(ATTR_UNUSED void **state)
{
    workers_of_gpu = 2;
    set_files();
    world_init(0, FAKE_CUDA);
    load_on(0, DOUBLE);
    close_gate();
    load_on(1, DOUBLE);
    open_gate();
    launch_worker = 1;
    run(1, DOUBLE, 3, 2, 1);
    launch_worker = 0;
    assert_int_equal(world.ended, 0);
    world_deinit();
}

/* What runs without end on one worker keeps no other from its own units. */
static void workers_of_a_gpu_keep_to_their_parts(ATTR_UNUSED void **state)
{
    workers_of_gpu = 2;
    world_init(/* run_ns_max */ INT64_C(2000000000), FAKE_CUDA);
    load_on(0, DOUBLE);
    load_on(1, DOUBLE);
    struct bundle *inputs[2] = {rows(1, 777), rows(1, 2)};
    launch_worker = 1;
    launch(1, DOUBLE, 0, 1, &inputs[0]);
    launch_worker = 0;
    launch(2, DOUBLE, 0, 1, &inputs[1]);
    (void)settle();
    expect_rows(said_of(2), 0, 1, 2, 2, 1);
    assert_int_equal(said_of(1)->done.status, WEFT_CRASHED);
    assert_true(said_of(2) < said_of(1)); /* Told before. */
    bundle_destroy(inputs[0]);
    bundle_destroy(inputs[1]);
    world_deinit();
}

/* ── Versions ───────────────────────────────────────────────────────────────────────────── */

/* Edition 0 means version @first of MANY, and from 5 on @second; 0: there is one only. */
static struct artifact_versions editions(uint32_t first, uint32_t second)
{
    struct artifact_versions versions = {.count = 1, .items = {{.edition = 0, .version = first}}};
    if (second != 0) {
        versions.items[versions.count++] =
            (struct artifact_version){.edition = 5, .version = second};
    }
    return versions;
}

static void revise(struct artifact_versions versions, enum weft_status status, const char *message)
{
    assert_true(engine_revise(world.engine, MANY, &versions));
    const struct said *said = settle();
    assert_int_equal(said->done.kind, ENGINE_REVISED);
    assert_int_equal(said->done.model, MANY);
    if (strstr(said->message, message) == NULL) {
        fail_msg("'%s' has no '%s'", said->message, message);
    }
    assert_int_equal(said->done.status, status);
}

/* As a host does it once all have the versions. */
static void load_versions(struct artifact_versions versions, bool was_there)
{
    world.files[MANY].versions = versions;
    if (was_there) {
        unload(MANY);
    }
    load(MANY);
}

/* Run rows for @edition, and expect version @version of MANY. */
static void run_edition(uint32_t edition, uint32_t version)
{
    static uint64_t batch = 5000;
    launch_edition = edition;
    run(++batch, MANY, 2, 10 + (float)version, 0);
    launch_edition = 0;
}

/* How many lines of a file in /proc of @process speak of @text. */
static uint32_t count_maps(pid_t process, const char *text)
{
    char line[1024];
    uint32_t count = 0;
    (void)snprintf(line, sizeof(line), "/proc/%d/maps", (int)process);
    FILE *file = fopen(line, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        count += strstr(line, text) != NULL ? 1 : 0;
    }
    assert_int_equal(fclose(file), 0);
    return count;
}

/* Whether the weights of version @version are mapped for copies. */
static bool is_registered(uint32_t version)
{
    char path[600];
    char file[600];
    assert_true(artifact_path(world.paths[MANY], version, path, sizeof(path)));
    (void)snprintf(file, sizeof(file), "%.500s/weights.bin", path);
    return count_maps(worker_zero()->child.process, file) > 0;
}

/* What lies in files of MANY, of two versions, is another thing from now on than was copied. */
static void spoil_files(void)
{
    const float other = 99;
    char path[600];
    char file[600];
    for (uint32_t i = 1; i <= 2; i++) {
        assert_true(artifact_path(world.paths[MANY], i, path, sizeof(path)));
        (void)snprintf(file, sizeof(file), "%.500s/weights.bin", path);
        FILE *opened = fopen(file, "r+b");
        assert_non_null(opened);
        assert_int_equal(fwrite(&other, sizeof(other), 1, opened), 1);
        assert_int_equal(fclose(opened), 0);
    }
}

static void versions_come_and_go_beside_what_runs(ATTR_UNUSED void **state)
{
    set_files();
    world_init(LONG_NS, FAKE_CUDA);
    load_versions(editions(1, 0), /* was_there */ false);
    run_edition(0, 1);
    revise(editions(1, 2), WEFT_OK, "");
    run_edition(0, 1); /* As before. */
    assert_int_equal(count_kept(4), 2);
    spoil_files();
    wait_for_graphs(2); /* Those that are made ahead, which an unload would wait for. */
    close_gate();       /* All is there: nothing is recorded, nor copied. */
    load_versions(editions(1, 2), /* was_there */ true);
    run_edition(0, 1);
    run_edition(4, 1);
    run_edition(5, 2);
    run_edition(70, 2);
    open_gate();
    assert_true(is_registered(1) && is_registered(2));
    revise(editions(2, 0), WEFT_OK, "");
    assert_true(!is_registered(1) && is_registered(2));
    assert_int_equal(count_kept(2), 1);
    assert_true(count_lines("-\n") >= 2); /* Its graphs, one of each package at least. */
    run_edition(5, 2);
    load_versions(editions(2, 0), /* was_there */ true);
    run_edition(5, 2);
    for (uint32_t i = 3; i <= VERSIONS_MADE; i++) { /* More than there are places. */
        revise(editions(i - 1, i), WEFT_OK, "");
        load_versions(editions(i - 1, i), /* was_there */ true);
        run_edition(0, i - 1);
        revise(editions(i, 0), WEFT_OK, "");
        load_versions(editions(i, 0), /* was_there */ true);
    }
    assert_true(is_registered(VERSIONS_MADE) && !is_registered(VERSIONS_MADE - 1));
    assert_int_equal(count_kept(2), 1);
    unload(MANY);
    assert_int_equal(count_kept(0), 0);
    world_deinit();
}

/* Two batches of MANY at once, each of which takes a while. */
static void run_pair(void)
{
    static uint64_t batch = 7000;
    struct bundle *input = rows(1, 3);
    launch(++batch, MANY, 4, 1, &input);
    launch(++batch, MANY, 4, 1, &input);
    (void)settle();
    expect_rows(said_of(batch), 0, 1, 3, 11, 0);
    bundle_destroy(input);
}

/* What is tried takes one stream: batches run on the others that they have used. */
static void versions_are_tried_beside_streams(ATTR_UNUSED void **state)
{
    enum { PAIRS = 5 }; /* One of which runs at once, however busy the machine is. */
    are_streams = true;
    set_files();
    assert_int_equal(setenv(FAKE_RUN_US, "20000", 1), 0);
    world_init(LONG_NS, FAKE_CUDA);
    load_versions(editions(1, 0), /* was_there */ false);
    for (uint32_t i = 0; i < 100 && count_lines("+0\n") < 3; i++) { /* On another stream. */
        run_pair();
    }
    for (uint32_t i = 0; i < PAIRS; i++) {
        run_pair();
    }
    const struct artifact_versions both = editions(1, 2);
    close_gate();
    assert_true(engine_revise(world.engine, MANY, &both));
    struct bundle *input = rows(1, 3);
    launch(1, MANY, 4, 1, &input);
    while (world.said[world.said_count - 1].done.kind != ENGINE_RAN ||
           world.said[world.said_count - 1].done.batch != 1) {
        (void)uv_run(&world.loop, UV_RUN_ONCE);
    }
    expect_rows(said_of(1), 0, 1, 3, 11, 0);
    open_gate();
    assert_int_equal(settle()->done.kind, ENGINE_REVISED);
    bundle_destroy(input);
    world_deinit();
}

static void a_job_ends_on_the_version_it_began_with(ATTR_UNUSED void **state)
{
    world_init(0, FAKE_CUDA);
    load_versions(editions(1, 2), /* was_there */ false);
    struct bundle *input = rows(1, 555); /* It takes long. */
    launch(1, MANY, 4, 1, &input);
    launch_edition = 5;
    launch(2, MANY, 4, 1, &input);
    engine_cancel(world.engine, 1); /* But it runs. */
    const struct artifact_versions newer = editions(2, 0);
    assert_true(engine_revise(world.engine, MANY, &newer));
    (void)settle();
    expect_rows(said_of(2), 0, 1, 555, 12, 0);
    assert_false(is_registered(1));
    bundle_destroy(input);
    world_deinit();
}

static void a_version_that_cannot_run_changes_nothing(ATTR_UNUSED void **state)
{
    char path[600];
    char object[700];
    world_init(0, FAKE_CUDA);
    load_versions(editions(1, 0), /* was_there */ false);
    assert_true(artifact_path(world.paths[MANY], 2, path, sizeof(path)));
    (void)snprintf(object, sizeof(object), "%s/four/package.so", path);
    assert_int_equal(unlink(object), 0);
    revise(editions(1, 2), WEFT_NOT_FOUND, "four");
    assert_false(is_registered(2));
    assert_int_equal(count_kept(2), 1);
    run_edition(0, 1);
    revise(editions(1, 9), WEFT_IO, "manifest");
    run_edition(0, 1);
    assert_int_equal(symlink(FAKE_PACKAGE, object), 0);
    revise(editions(1, 2), WEFT_OK, ""); /* It was mended. */
    revise(editions(1, 0), WEFT_OK, "");
    assert_int_equal(unlink(object), 0);
    cuda_write(path, "four/package.so", "another", 7); /* The loader would find the old one. */
    revise(editions(1, 2), WEFT_REFUSED, "was replaced after it was opened");
    run_edition(0, 1);
    revise(editions(1, 3), WEFT_OK, ""); /* Others can. */
    load_versions(editions(1, 3), /* was_there */ true);
    run_edition(5, 3);
    world_deinit();
}

static void a_version_is_tried_where_the_model_is_not(ATTR_UNUSED void **state)
{
    char path[600];
    char object[700];
    set_files();
    world_init(LONG_NS, FAKE_CUDA);
    revise(editions(1, 2), WEFT_OK, "");
    assert_int_equal(count_kept(0), 0); /* It takes no memory. */
    close_gate();
    load_versions(editions(2, 0), /* was_there */ false);
    run_edition(0, 2);
    open_gate();
    unload(MANY);
    assert_true(artifact_path(world.paths[MANY], 3, path, sizeof(path)));
    (void)snprintf(object, sizeof(object), "%s/four/package.so", path);
    assert_int_equal(unlink(object), 0);
    revise(editions(2, 3), WEFT_NOT_FOUND, "four");
    revise(editions(2, 0), WEFT_OK, "");
    load(MANY);
    run_edition(0, 2);
    world_deinit();
}

static void what_is_left_for_a_load_gives_way(ATTR_UNUSED void **state)
{
    assert_int_equal(setenv(FAKE_MEMORY_MIB, "263", 1), 0); /* For runs, and three models. */
    world_init(0, FAKE_CUDA);
    load_versions(editions(1, 0), /* was_there */ false);
    revise(editions(1, 2), WEFT_OK, "");
    unload(MANY);
    assert_int_equal(count_kept(4), 2); /* Left, for the load that mostly follows. */
    load(DOUBLE);
    assert_int_equal(count_kept(6), 3);
    load(NEGATE); /* There is memory for three. */
    assert_int_equal(count_kept(4), 2);
    run(1, NEGATE, 1, -1, 0);
    load(MANY);
    run_edition(0, 1);
    revise(editions(1, 2), WEFT_NO_MEMORY, "memory for weights"); /* What runs stays. */
    run_edition(0, 1);
    run(2, DOUBLE, 1, 2, 1);
    world_deinit();
}

static void an_engine_that_dies_knows_all_versions_again(ATTR_UNUSED void **state)
{
    set_files();
    world_init(LONG_NS, FAKE_CUDA);
    load_versions(editions(1, 0), /* was_there */ false);
    const struct artifact_versions both = editions(1, 2);
    close_gate();
    assert_true(engine_revise(world.engine, MANY, &both)); /* It waits at the gate. */
    end_process(worker_zero()->child.process);
    open_gate();
    assert_int_equal(settle()->done.kind, ENGINE_REVISED);
    assert_int_equal(settle()->done.status, WEFT_OK);
    run_edition(0, 1);
    load_versions(both, /* was_there */ true);
    assert_int_equal(count_kept(4), 2);
    spoil_files();
    end_process(worker_zero()->child.process);
    run_edition(0, 1);
    run_edition(5, 2);
    world.files[MANY].versions = editions(2, 0); /* As if it had heard nothing of that. */
    end_process(worker_zero()->child.process);
    run_edition(5, 2);
    assert_int_equal(count_kept(2), 1); /* The keeper let go of the other. */
    world_deinit();
}

static void a_version_that_ends_processes_is_to_blame(ATTR_UNUSED void **state)
{
    set_files();
    world_init(LONG_NS, FAKE_CUDA);
    load_versions(editions(1, 0), /* was_there */ false);
    const struct artifact_versions both = editions(1, 2);
    close_gate();
    assert_true(engine_revise(world.engine, MANY, &both));
    end_process(worker_zero()->child.process);
    end_process(worker_zero()->child.process);
    const struct said *said = settle();
    assert_int_equal(said->done.kind, ENGINE_REVISED);
    assert_int_equal(said->done.status, WEFT_FAILED);
    assert_non_null(strstr(said->message, "while it was tried"));
    open_gate();
    run_edition(0, 1);
    world_deinit();
}

static void workers_of_a_gpu_have_versions_of_their_own(ATTR_UNUSED void **state)
{
    workers_of_gpu = 2;
    world_init(0, FAKE_CUDA);
    world.files[MANY].versions = editions(1, 0);
    load_on(0, MANY);
    load_on(1, MANY); /* Of the file that the first has registered. */
    revise(editions(1, 2), WEFT_OK, "");
    assert_int_equal(count_kept(8), 4);
    world.files[MANY].versions = editions(1, 2);
    unload_on(0, MANY);
    load_on(0, MANY);
    run_edition(5, 2);
    launch_worker = 1;
    run_edition(0, 1); /* The second has not been loaded again. */
    revise(editions(2, 0), WEFT_OK, "");
    assert_true(!is_registered(1) && is_registered(2));
    world.files[MANY].versions = editions(2, 0);
    unload_on(1, MANY);
    unload_on(0, MANY);
    load_on(1, MANY); /* The first need not be there; */
    run_edition(0, 2);
    world.files[MANY].versions = editions(3, 0);
    load_on(0, MANY); /* nor the version there whose file it was. */
    unload_on(1, MANY);
    world.files[MANY].versions = editions(2, 0);
    load_on(1, MANY);
    run_edition(0, 2);
    assert_int_equal(world.ended, 0);
    world_deinit();
}

/* A test that failed leaves nothing behind that others would fail by. */
static int reset(ATTR_UNUSED void **state)
{
    static const char *const names[] = {
        FAKE_STREAMS_MOST, FAKE_NEEDS_PRIORITY, FAKE_GRAPHS_MOST, FAKE_GATE,
        FAKE_RUNS,         FAKE_MEMORY_MIB,     FAKE_COPIES,
    };
    assert_int_equal(unsetenv(FAKE_RUN_US), 0);
    if (getenv(FAKE_GATE) != NULL) {
        (void)unlink(getenv(FAKE_GATE)); /* If it is there. */
    }
    for (uint32_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        assert_int_equal(unsetenv(names[i]), 0);
    }
    negate_bytes = MIB;
    arena_bytes = 256 * MIB;
    workers_of_gpu = 1;
    are_streams = false;
    have_priorities = false;
    are_compared = false;
    graphs_max = 0;
    keep_after_ns = 1;
    launch_worker = 0;
    return 0;
}

static int remove_all(ATTR_UNUSED void **state)
{
    cuda_remove_folder();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(batches_of_any_size_run, reset),
        cmocka_unit_test_teardown(one_at_a_time_needs_one_stream, reset),
        cmocka_unit_test_teardown(short_runs_come_first, reset),
        cmocka_unit_test_teardown(large_inputs_are_read_where_they_lie, reset),
        cmocka_unit_test_teardown(the_loop_is_awake_for_a_batch_that_comes_soon, reset),
        cmocka_unit_test_teardown(models_run_side_by_side, reset),
        cmocka_unit_test_teardown(a_task_that_does_not_fit_fails_alone, reset),
        cmocka_unit_test_teardown(weights_leave_and_come_again, reset),
        cmocka_unit_test_teardown(what_changes_is_compared_before_it_is_run, reset),
        cmocka_unit_test_teardown(a_broken_device_costs_the_task_that_broke_it, reset),
        cmocka_unit_test_teardown(others_are_answered_before_suspects, reset),
        cmocka_unit_test_teardown(a_run_without_end_is_ended, reset),
        cmocka_unit_test_teardown(a_run_that_takes_too_long_is_ended, reset),
        cmocka_unit_test_teardown(a_process_that_stands_still_is_replaced, reset),
        cmocka_unit_test_teardown(segments_stay_when_a_model_leaves, reset),
        cmocka_unit_test_teardown(memory_is_there_before_models, reset),
        cmocka_unit_test_teardown(loads_leave_the_bus_to_what_runs, reset),
        cmocka_unit_test_teardown(batches_can_be_cancelled, reset),
        cmocka_unit_test_teardown(a_cancelled_batch_keeps_its_weights_while_it_runs, reset),
        cmocka_unit_test_teardown(a_share_without_memory_is_left_alone, reset),
        cmocka_unit_test_teardown(a_batch_that_cannot_be_recorded_fails_alone, reset),
        cmocka_unit_test_teardown(no_batch_waits_for_a_recording_that_can_run_elsewhere, reset),
        cmocka_unit_test_teardown(streams_wait_for_no_recording, reset),
        cmocka_unit_test_teardown(loads_wait_for_no_recording, reset),
        cmocka_unit_test_teardown(outputs_are_inputs_where_they_lie, reset),
        cmocka_unit_test_teardown(graphs_are_made_ahead, reset),
        cmocka_unit_test_teardown(graphs_are_bounded, reset),
        cmocka_unit_test_teardown(a_killed_engine_leaves_its_weights, reset),
        cmocka_unit_test_teardown(weights_are_kept_a_while_after_their_load, reset),
        cmocka_unit_test_teardown(a_killed_keeper_is_replaced, reset),
        cmocka_unit_test_teardown(without_a_keeper_weights_are_copied_again, reset),
        cmocka_unit_test_teardown(a_keeper_that_stands_still_is_left, reset),
        cmocka_unit_test_teardown(what_cannot_be_loaded_says_why, reset),
        cmocka_unit_test_teardown(without_a_driver_nothing_can_be_loaded, reset),
        cmocka_unit_test_teardown(a_gpu_can_be_cut_into_workers, reset),
        cmocka_unit_test_teardown(workers_of_a_broken_gpu_go_on, reset),
        cmocka_unit_test_teardown(workers_of_a_gpu_keep_to_their_parts, reset),
        cmocka_unit_test_teardown(a_model_is_tried_on_one_worker, reset),
        cmocka_unit_test_teardown(versions_come_and_go_beside_what_runs, reset),
        cmocka_unit_test_teardown(versions_are_tried_beside_streams, reset),
        cmocka_unit_test_teardown(a_job_ends_on_the_version_it_began_with, reset),
        cmocka_unit_test_teardown(a_version_that_cannot_run_changes_nothing, reset),
        cmocka_unit_test_teardown(a_version_is_tried_where_the_model_is_not, reset),
        cmocka_unit_test_teardown(what_is_left_for_a_load_gives_way, reset),
        cmocka_unit_test_teardown(an_engine_that_dies_knows_all_versions_again, reset),
        cmocka_unit_test_teardown(a_version_that_ends_processes_is_to_blame, reset),
        cmocka_unit_test_teardown(workers_of_a_gpu_have_versions_of_their_own, reset),
    };
    return cmocka_run_group_tests(tests, NULL, remove_all);
}
