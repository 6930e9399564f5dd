/*
 * What it costs that models run in processes of their own: the engine of processes beside the
 * engine in this process, in turn, for one small task at a time and for one large tensor. And what
 * a crash costs there: how long a worker is away, and whether all others are answered well.
 *
 *     bench_isolation [rounds]
 *
 * A hop is one batch of one task, from the launch until its end is known. The model is relu.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uv.h>

#include "bench.h"
#include "engine/bundle.h"
#include "model/catalogue.h"
#include "onnx/local.h"
#include "process/child.h"
#include "process/process.h"
#include "unit/onnx_writer.h"

enum { CALLS = 1000, ROUNDS = 9, CRASHES = 20, BESIDE = 50 };

enum { RELU, DIVIDE, MODELS }; /* Models and workflows. */

static char folder[] = "/tmp/weft-bench-XXXXXX";

/* One engine, and what is measured of it. */
struct side {
    const char *name;
    struct engine *engine;
    uv_loop_t loop;
    double us[ROUNDS * CALLS];
    uint32_t count;
};

static struct fleet *fleet;
static struct catalogue *catalogue;
static struct artifact files[MODELS];
static struct artifacts artifacts = {.count = MODELS, .items = files};
static struct process_child_options child_options;
static struct fork_server server;
static struct side sides[2] = {{.name = "this process"}, {.name = "own process"}};

static uint32_t crash_count;
static uint32_t good_count;
static double last_us;    /* When a batch last ended, */
static double longest_us; /* and the longest that none did. */

static void on_done(void *context, const struct engine_done *done)
{
    (void)context;
    const double us = now_us();
    longest_us = us - last_us > longest_us ? us - last_us : longest_us;
    last_us = us;
    if (done->status == WEFT_CRASHED) {
        crash_count++;
        return;
    }
    check(done->status == WEFT_OK, done->message == NULL ? "failed" : done->message);
    good_count += done->kind == ENGINE_RAN ? 1 : 0;
    for (uint32_t i = 0; i < done->output_count; i++) {
        const struct bundle *made = done->outputs[i].contents;
        const float *y = made->tensors[0].data;
        check(y[0] == 0 && y[1] == 2, "a wrong answer");
        bundle_destroy(done->outputs[i].contents);
    }
}

/* A model, with a workflow of one task that runs it. */
static void add_model(const char *name, struct onnx_writer *writer)
{
    static char paths[MODELS][128];
    const uint32_t model = catalogue_model(catalogue, name);
    struct workflow_task task = {.run = model, .models = {model}, .model_count = 1};
    uint32_t index;
    (void)snprintf(paths[model], sizeof(paths[model]), "%s/%s.onnx", folder, name);
    (void)snprintf(task.name, sizeof(task.name), "%s", name);
    onnx_writer_finish(writer, paths[model]);
    struct workflow *workflow = workflow_create(name);
    check(workflow_add_task(workflow, &task, &index) == WEFT_OK, "no task");
    check(workflow_seal(workflow, NULL) == WEFT_OK, "no workflow");
    check(catalogue_add_workflow(catalogue, workflow) == WEFT_OK, "no catalogue");
    files[model] = (struct artifact){.kind = ARTIFACT_ONNX, .path = paths[model]};
}

static void make_world(void)
{
    static const int64_t open[2] = {-1, -1};
    struct fleet_worker device = {.memory_bytes = 1 << 30, .gpu_units = 1};
    struct onnx_writer writer;
    fleet = fleet_create();
    device.device = fleet_device(fleet, "cpu");
    check(fleet_add_machine(fleet, &device, 1, /* cpu_units */ 1), "no machine");
    catalogue = catalogue_create();
    onnx_writer_start(&writer);
    onnx_writer_input(&writer, "x", ONNX_FLOAT, 2, open);
    onnx_writer_node(&writer, "Relu", "x", NULL, "y");
    onnx_writer_output(&writer, "y", ONNX_FLOAT, 2, open);
    add_model("relu", &writer);
    onnx_writer_start(&writer);
    onnx_writer_input(&writer, "x", ONNX_INT64, 2, open);
    onnx_writer_input(&writer, "y", ONNX_INT64, 2, open);
    onnx_writer_node(&writer, "Div", "x", "y", "z");
    onnx_writer_output(&writer, "z", ONNX_INT64, 2, open);
    add_model("divide", &writer);
}

static void make_engines(void)
{
    struct weft_error error = {.message = ""};
    const struct engine_host host = {.done = on_done};
    child_options = (struct process_child_options){
        .fleet = fleet,
        .catalogue = catalogue,
        .artifacts = &artifacts,
        .local = {.cache = folder},
        .bounds_memory = true,
    };
    const struct fork_options children = process_fork_options(&child_options);
    check(fork_server_start(&server, &children, &error) == WEFT_OK, error.message);
    (void)uv_loop_init(&sides[0].loop);
    (void)uv_loop_init(&sides[1].loop);
    const struct engine_local_options local = {
        .fleet = fleet,
        .catalogue = catalogue,
        .artifacts = &artifacts,
        .loop = &sides[0].loop,
        .cache = folder,
        .host = host,
    };
    const struct engine_process_options process = {
        .fleet = fleet,
        .catalogue = catalogue,
        .artifacts = &artifacts,
        .server = &server,
        .loop = &sides[1].loop,
        .host = host,
    };
    check(engine_local_create(&local, &sides[0].engine, &error) == WEFT_OK, error.message);
    check(engine_process_create(&process, &sides[1].engine, &error) == WEFT_OK, error.message);
    for (uint32_t i = 0; i < 2; i++) {
        engine_load(sides[i].engine, 0, RELU);
        engine_load(sides[i].engine, 0, DIVIDE);
        (void)uv_run(&sides[i].loop, UV_RUN_DEFAULT);
    }
}

static struct bundle *make_input(uint64_t columns)
{
    struct bundle *bundle = bundle_create();
    const struct weft_tensor x = {
        .name = "x",
        .dtype = WEFT_FP32,
        .rank = 2,
        .shape = {1, (int64_t)columns},
        .bytes = columns * sizeof(float),
    };
    float *values = bundle == NULL ? NULL : bundle_add(bundle, &x);
    check(values != NULL, "no memory");
    memset(values, 0, x.bytes);
    values[0] = -1;
    values[1] = 2;
    return bundle;
}

static void launch(
    struct side *side, uint64_t number, uint32_t workflow, const struct bundle *input)
{
    const struct engine_input contents = {.contents = input, .bytes = input->bytes};
    const struct engine_task task = {.items = 1, .input_count = 1, .inputs = &contents};
    const struct engine_batch batch = {
        .batch = number,
        .workflow = workflow,
        .config = {.batch = 1, .gpu = 1},
        .items = 1,
        .task_count = 1,
        .tasks = &task,
    };
    check(engine_launch(side->engine, &batch) == WEFT_OK, "no memory");
}

/* Microseconds of a batch of @input. */
static double hop(struct side *side, const struct bundle *input)
{
    const double start = now_us();
    launch(side, 1, RELU, input);
    (void)uv_run(&side->loop, UV_RUN_DEFAULT);
    return now_us() - start;
}

static int compare(const void *a, const void *b)
{
    const double left = *(const double *)a;
    const double right = *(const double *)b;
    return (left > right) - (left < right);
}

static double at(const struct side *side, double share)
{
    return side->us[(uint32_t)(share * (side->count - 1))];
}

/* Both sides in turn, @calls a round, each with a new input, as requests bring it. */
static void measure(const char *what, uint64_t columns, uint32_t rounds, uint32_t calls)
{
    for (uint32_t i = 0; i < 2; i++) {
        sides[i].count = 0;
    }
    for (uint32_t round = 0; round <= rounds; round++) {
        for (uint32_t i = 0; i < 2; i++) {
            struct side *side = &sides[(i + round) % 2];
            for (uint32_t k = 0; k < calls; k++) {
                struct bundle *input = make_input(columns);
                const double us = hop(side, input);
                bundle_destroy(input);
                if (round > 0) { /* The first one warms up. */
                    side->us[side->count++] = us;
                }
            }
        }
    }
    for (uint32_t i = 0; i < 2; i++) {
        struct side *side = &sides[i];
        qsort(side->us, side->count, sizeof(side->us[0]), compare);
        (void)printf(
            "%-14s %-14s p50 %8.1f us  p90 %8.1f  p99 %8.1f\n", what, side->name, at(side, 0.5),
            at(side, 0.9), at(side, 0.99));
    }
    (void)printf(
        "%-14s own process adds %.1f us at p50, ratio %.2f\n", what,
        at(&sides[1], 0.5) - at(&sides[0], 0.5), at(&sides[1], 0.5) / at(&sides[0], 0.5));
}

/* The least number divided by minus one: no processor has an answer. */
static struct bundle *make_poison(void)
{
    static const int64_t values[2] = {INT64_MIN, -1};
    struct bundle *bundle = bundle_create();
    for (uint32_t i = 0; i < 2 && bundle != NULL; i++) {
        struct weft_tensor tensor = {
            .dtype = WEFT_INT64, .rank = 2, .shape = {1, 1}, .bytes = sizeof(values[i])};
        tensor.name[0] = i == 0 ? 'x' : 'y';
        memcpy(bundle_add(bundle, &tensor), &values[i], sizeof(values[i]));
    }
    check(bundle != NULL, "no memory");
    return bundle;
}

/* Crashes with others waiting and running beside them. */
static void measure_crashes(struct side *side)
{
    struct bundle *poison = make_poison();
    struct bundle *good = make_input(4);
    double away[CRASHES];
    crash_count = 0;
    good_count = 0;
    for (uint32_t i = 0; i < CRASHES; i++) {
        const struct timespec pause = {.tv_sec = 1, .tv_nsec = 100000000};
        (void)nanosleep(&pause, NULL); /* Crashes in a row are another matter. */
        longest_us = 0;
        last_us = now_us();
        for (uint32_t k = 0; k < BESIDE; k++) {
            launch(side, 1 + k, RELU, good);
            if (k == BESIDE / 2) {
                launch(side, BESIDE + 1, DIVIDE, poison);
            }
        }
        (void)uv_run(&side->loop, UV_RUN_DEFAULT);
        away[i] = longest_us / 1000;
    }
    qsort(away, CRASHES, sizeof(away[0]), compare);
    check(crash_count == CRASHES, "a crash was not told of");
    check(good_count == CRASHES * BESIDE, "another task was lost");
    (void)printf(
        "crash          %u crashes, %u other tasks right; worker away for %.0f ms at most, median "
        "%.0f\n",
        crash_count, good_count, away[CRASHES - 1], away[CRASHES / 2]);
    bundle_destroy(poison);
    bundle_destroy(good);
}

int main(int count, char **arguments)
{
    const uint32_t asked = count > 1 ? (uint32_t)strtoul(arguments[1], NULL, 10) : ROUNDS;
    const uint32_t rounds = asked < 1 ? 1 : asked > ROUNDS ? ROUNDS : asked;
    check(mkdtemp(folder) != NULL, "no folder");
    make_world();
    make_engines();
    measure("16 B", 4, rounds, CALLS);
    measure("16 KiB", 4096, rounds, CALLS);
    measure("256 KiB", 65536, rounds, CALLS / 5);
    measure("8 MiB", 2 << 20, rounds, CALLS / 50);
    measure_crashes(&sides[1]);
    for (uint32_t i = 0; i < 2; i++) {
        engine_destroy(sides[i].engine);
        (void)uv_run(&sides[i].loop, UV_RUN_DEFAULT);
        (void)uv_loop_close(&sides[i].loop);
    }
    fork_server_stop(&server);
    char command[64];
    (void)snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
