/*
 * What Weft adds to ONNX Runtime: a call beside a bare call of the library; bringing a model
 * in beside copying its bytes out of the page cache; what 10,000 loads leave behind; and a
 * function in a process of its own beside the same one here.
 *
 *     bench_engine [cycles]
 *
 * Every time is the best of several, because others use the machine too.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <uv.h>

#include "base/units.h"
#include "bench.h"
#include "function/pool.h"
#include "model/catalogue.h"
#include "onnx/local.h"
#include "onnx/ort_memory.h"
#include "onnx/run.h"
#include "unit/onnx_writer.h"

static char folder[] = "/tmp/weft-bench-XXXXXX";

static char *path_of(const char *name)
{
    static char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static struct onnx_model *load(const struct ort *ort, const char *name, struct onnx_digest *digest)
{
    struct onnx_model *model = NULL;
    struct weft_error error;
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    const struct onnx_options options = {
        .path = path, .name = name, .folder = folder, .digest = digest};
    if (onnx_model_load(ort, &options, &model, &error) != WEFT_OK) {
        check(false, error.message);
    }
    return model;
}

static struct weft_tensor row_of(const char *name, int64_t columns, float *data)
{
    struct weft_tensor tensor = {.dtype = WEFT_FP32, .rank = 2, .shape = {1, columns}};
    (void)snprintf(tensor.name, sizeof(tensor.name), "%s", name);
    tensor.bytes = (uint64_t)columns * sizeof(float);
    tensor.data = data;
    return tensor;
}

/* Microseconds of a call of the library alone; it makes the output, as in ours. */
static double bare_us(const struct onnx_model *model)
{
    enum { CALLS = 2000 };
    const struct ort_abi *api = &model->ort->api;
    float data[4] = {-1, 2, -3, 4};
    const int64_t shape[2] = {1, 4};
    struct OrtValue *input = NULL;
    check(
        api->CreateTensorWithDataAsOrtValue(
            model->ort->memory, data, sizeof(data), shape, 2, onnx_type_of(WEFT_FP32), &input) ==
            NULL,
        "no tensor");
    const double start = now_us();
    for (uint32_t i = 0; i < CALLS; i++) {
        struct OrtValue *output = NULL;
        const struct OrtValue *const inputs[1] = {input};
        check(
            api->Run(
                model->session, NULL, model->inputs.names, inputs, 1, model->outputs.names, 1,
                &output) == NULL,
            "a bare run failed");
        api->ReleaseValue(output);
    }
    const double taken = (now_us() - start) / CALLS;
    api->ReleaseValue(input);
    return taken;
}

/* The same through onnx_run(): checks, names, a bundle of our own. */
static double task_us(struct onnx_model *model)
{
    enum { CALLS = 2000 };
    float data[4] = {-1, 2, -3, 4};
    const struct weft_tensor input = row_of("x", 4, data);
    struct onnx_usage usage;
    const double start = now_us();
    for (uint32_t i = 0; i < CALLS; i++) {
        struct onnx_task task = {.inputs = &input, .input_count = 1};
        onnx_run(model, NULL, &task, 1, &usage);
        check(task.output != NULL, "a task failed");
        bundle_destroy(task.output);
    }
    return (now_us() - start) / CALLS;
}

static void on_done(void *context, const struct engine_done *done)
{
    (void)context;
    check(done->status == WEFT_OK, done->message == NULL ? "failed" : done->message);
    for (uint32_t i = 0; i < done->output_count; i++) {
        bundle_destroy(done->outputs[i].contents);
    }
}

/* The same through the engine: to a thread of the worker, and back through the loop. */
static double engine_us(uint32_t *round)
{
    enum { CALLS = 500 };
    static struct fleet *fleet;
    static struct catalogue *catalogue;
    static struct artifact file;
    static uv_loop_t loop;
    static struct engine *engine;
    float data[4] = {-1, 2, -3, 4};
    const struct weft_tensor x = row_of("x", 4, data);
    struct weft_error error;
    if ((*round)++ == 0) {
        const struct fleet_worker device = {.memory_bytes = 1 << 30, .gpu_units = 1};
        fleet = fleet_create();
        (void)fleet_device(fleet, "cpu");
        check(fleet_add_machine(fleet, &device, 1, 1), "no machine");
        catalogue = catalogue_create();
        const struct workflow_task task = {
            .name = "t", .run = catalogue_model(catalogue, "relu"), .model_count = 1};
        uint32_t number;
        struct workflow *workflow = workflow_create("w");
        check(workflow_add_task(workflow, &task, &number) == WEFT_OK, "no task");
        check(workflow_seal(workflow, NULL) == WEFT_OK, "no workflow");
        check(catalogue_add_workflow(catalogue, workflow) == WEFT_OK, "no catalogue");
        file = (struct artifact){.kind = ARTIFACT_ONNX, .path = path_of("relu.onnx")};
        static struct artifacts artifacts = {.count = 1, .items = &file};
        check(uv_loop_init(&loop) == 0, "no loop");
        const struct engine_local_options options = {
            .fleet = fleet,
            .catalogue = catalogue,
            .artifacts = &artifacts,
            .loop = &loop,
            .cache = folder,
            .host = {.done = on_done},
        };
        check(engine_local_create(&options, &engine, &error) == WEFT_OK, "no engine");
        engine_load(engine, 0, 0);
        (void)uv_run(&loop, UV_RUN_DEFAULT);
    }
    struct bundle *bundle = bundle_create();
    memcpy(bundle_add(bundle, &x), data, sizeof(data));
    const struct engine_input input = {.contents = bundle};
    const struct engine_task task = {.items = 1, .input_count = 1, .inputs = &input};
    const struct engine_batch batch = {
        .items = 1, .task_count = 1, .tasks = &task, .config = {.gpu = 1}};
    const double start = now_us();
    for (uint32_t i = 0; i < CALLS; i++) {
        check(engine_launch(engine, &batch) == WEFT_OK, "no memory");
        (void)uv_run(&loop, UV_RUN_DEFAULT);
    }
    const double taken = (now_us() - start) / CALLS;
    bundle_destroy(bundle);
    return taken;
}

static double least(double best, double value)
{
    return best == 0 || value < best ? value : best;
}

static void bench_calls(const struct ort *ort)
{
    struct onnx_digest digest = {.bytes = 0};
    double bare = 0;
    double task = 0;
    double engine = 0;
    uint32_t round = 0;
    onnx_write_relu(path_of("relu.onnx"), -1);
    struct onnx_model *model = load(ort, "relu.onnx", &digest);
    for (uint32_t i = 0; i < 15; i++) {
        bare = least(bare, bare_us(model));
        task = least(task, task_us(model));
        engine = least(engine, engine_us(&round));
    }
    (void)printf("a call, four numbers through a relu\n");
    (void)printf("  bare Run            %8.2f us\n", bare);
    (void)printf("  onnx_run            %8.2f us   %.2f of bare\n", task, task / bare);
    (void)printf("  engine, one batch   %8.2f us   %.2f of bare\n", engine, engine / bare);
    onnx_model_unload(model);
}

/* Microseconds to read file @path, of @bytes, into fresh memory. */
static double copy_us(const char *path, size_t bytes)
{
    const double start = now_us();
    char *memory = malloc(bytes);
    const int file = open(path, O_RDONLY);
    size_t at = 0;
    check(memory != NULL && file >= 0, "cannot copy");
    while (at < bytes) {
        const ssize_t count = read(file, memory + at, bytes - at);
        check(count > 0, "cannot read");
        at += (size_t)count;
    }
    (void)close(file);
    const double taken = now_us() - start;
    free(memory);
    return taken;
}

static double run_us(struct onnx_model *model, int64_t columns)
{
    static float data[1024];
    const struct weft_tensor input = row_of("x", columns, data);
    struct onnx_task task = {.inputs = &input, .input_count = 1};
    struct onnx_usage usage;
    const double start = now_us();
    onnx_run(model, NULL, &task, 1, &usage);
    const double taken = now_us() - start;
    check(task.output != NULL, "a task failed");
    bundle_destroy(task.output);
    return taken;
}

static void bench_swap(const struct ort *ort)
{
    enum { WIDTH = 1024, LAYERS = 12 };
    struct onnx_digest digest = {.bytes = 0};
    struct stat stat_of;
    double copy = 0;
    double loaded = 0;
    double ready = 0;
    double warm = 0;
    onnx_write_mlp(path_of("mlp.onnx"), WIDTH, LAYERS);
    check(stat(path_of("mlp.onnx"), &stat_of) == 0, "no model");
    struct onnx_model *model = load(ort, "mlp.onnx", &digest);
    for (uint32_t i = 0; i < 15; i++) {
        copy = least(copy, copy_us(path_of("mlp.onnx"), (size_t)stat_of.st_size));
        check(onnx_model_sleep(model), "the model cannot leave memory");
        const double start = now_us();
        onnx_model_wake(model);
        const double load_us = now_us() - start;
        loaded = least(loaded, load_us);
        ready = least(ready, load_us + run_us(model, WIDTH));
        for (uint32_t k = 0; k < 4; k++) {
            warm = least(warm, run_us(model, WIDTH));
        }
    }
    onnx_model_unload(model);
    (void)printf("bringing in a model of %.1f MB\n", (double)stat_of.st_size * 1e-6);
    (void)printf("  copy of its bytes   %8.2f ms\n", copy * 1e-3);
    (void)printf(
        "  load                %8.2f ms   %.2f of the copy\n", loaded * 1e-3, loaded / copy);
    (void)printf(
        "  load and first use  %8.2f ms   %.2f of the copy (less the %.2f ms of a later run)\n",
        (ready - warm) * 1e-3, (ready - warm) / copy, warm * 1e-3);
}

static double resident_mib(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    check(file != NULL && fscanf(file, "%*u %llu", &pages) == 1, "no /proc");
    (void)fclose(file);
    return (double)pages * 4096 / (1 << 20);
}

static void bench_cycles(const struct ort *ort, uint32_t cycles)
{
    struct onnx_digest digest = {.bytes = 0};
    double early = 0;
    onnx_write_mlp(path_of("cycle.onnx"), 512, 8);
    const double start = now_us();
    struct onnx_model *model = load(ort, "cycle.onnx", &digest);
    for (uint32_t i = 0; i < cycles; i++) {
        (void)run_us(model, 512);
        check(onnx_model_sleep(model), "the model cannot leave memory");
        onnx_model_wake(model);
        if (i % 100 == 99) {
            ort_memory_trim();
        }
        if (i == cycles / 10) {
            early = resident_mib();
        }
    }
    const double late = resident_mib();
    onnx_model_unload(model);
    (void)printf("%u loads, runs and evictions of a model of 8 MiB\n", cycles);
    (void)printf("  resident after a tenth  %.2f MiB\n", early);
    (void)printf(
        "  resident at the end     %.2f MiB   %.3f of that, %.2f ms a cycle\n", late, late / early,
        (now_us() - start) * 1e-3 / cycles);
}

/* Microseconds of a call of `invert` on @bytes, here or in a process of @pool. */
static double function_us(struct function_pool *pool, uint64_t bytes)
{
    const char *path = WEFT_TEST_FUNCTIONS "/functions_sample.so";
    const uint32_t calls = bytes > 100000 ? 10 : 500;
    struct weft_tensor image = {.dtype = WEFT_UINT8, .rank = 1, .shape = {(int64_t)bytes}};
    struct function function;
    struct function_slot slot;
    const struct function_host host = {.context = NULL};
    (void)snprintf(image.name, sizeof(image.name), "image");
    image.bytes = bytes;
    image.data = calloc(bytes, 1);
    check(image.data != NULL, "no memory");
    check(function_open(path, "invert", &function, NULL) == WEFT_OK, "no function");
    function_slot_init(&slot);
    const double start = now_us();
    for (uint32_t i = 0; i < calls; i++) {
        struct function_task task = {.inputs = &image, .input_count = 1, .items = 1};
        if (pool == NULL) {
            function_run(&function, &host, &task);
        } else {
            function_pool_run(pool, path, "invert", &host, &slot, &task);
        }
        check(task.output != NULL, "a function failed");
        bundle_destroy(task.output);
    }
    const double taken = (now_us() - start) / calls;
    function_slot_deinit(&slot);
    free(image.data);
    return taken;
}

static void bench_functions(struct function_pool *pool)
{
    static const uint64_t sizes[] = {16, 1 << 20, 8 << 20};
    (void)printf("a function that inverts its input\n");
    for (uint32_t i = 0; i < ARRAY_COUNT(sizes); i++) {
        double here = 0;
        double apart = 0;
        for (uint32_t round = 0; round < 10; round++) {
            here = least(here, function_us(NULL, sizes[i]));
            apart = least(apart, function_us(pool, sizes[i]));
        }
        (void)printf(
            "  of %8llu bytes: here %9.2f us, in its own process %9.2f us, %.2f of that\n",
            (unsigned long long)sizes[i], here, apart, apart / here);
    }
}

int main(int argc, char **argv)
{
    const uint32_t cycles = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 10000;
    const struct ort *ort;
    struct weft_error error;
    char command[64];
    struct function_pool *pool = NULL;
    check(mkdtemp(folder) != NULL, "no folder");
    check(function_pool_create(/* limits */ NULL, &pool, &error) == WEFT_OK, "no process");
    if (ort_open(&ort, &error) != WEFT_OK) {
        (void)printf("skipped: %s\n", error.message);
    } else {
        (void)printf("ONNX Runtime %s\n", ort->version);
        bench_calls(ort);
        bench_swap(ort);
        bench_cycles(ort, cycles);
    }
    bench_functions(pool);
    function_pool_destroy(pool);
    (void)snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
