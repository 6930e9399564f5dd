/*
 * gpu_engine.c - the engine for GPUs as a server runs it: what it adds to a run, what a miss costs,
 * and what becomes of everything else when something breaks.
 *
 * usage: gpu_engine FOLDER...
 *
 * As gpu_check, which measures the parts. Prints tables, and exits 1 if an output is wrong or a
 * fault hits more than the task that made it.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <uv.h>

#include "base/memory.h"
#include "cuda/manifest.h"
#include "engine/half.h"
#include "model/catalogue.h"
#include "process/child.h"
#include "process/inside.h"
#include "process/process.h"
#include "timed.h"

enum {
    MODELS_HERE = 8,
    RUNS = 300,
    UNITS = 16,
    SHARE_UNITS = 4,
    SHARES = 4,
    PENDING_MAX = 64,
    TURNS = 5
};

#define ERROR_MAX   0.01
#define RUN_NS_MAX  INT64_C(2000000000)
#define POISON_FP32 666.0F             /* What the fake package breaks over. */
#define POISON_INT  (INT64_C(1) << 40) /* A word that no embedding has. */

struct model {
    const char *name;
    struct cuda_manifest manifest;
    float *want;   /* Of the check with one row. */
    uint8_t *data; /* Of that check's input. */
    struct bundle *input;
    struct bundle *poison;
};

/* A batch under way. */
struct pending {
    bool is_used;
    bool is_done;
    uint32_t model;
    uint32_t rows;
    double start;
    double took;
    double run; /* As the engine process says. */
    enum weft_status status;
    char message[240];
    double error; /* The largest of its tasks; -1: none was answered. */
};

static struct model models[MODELS_HERE];
static uint32_t model_count;
static struct fleet *fleet;
static struct catalogue *catalogue;
static struct artifact files[MODELS_HERE];
static struct artifacts artifacts = {.items = files};
static struct engine_cuda_options cuda;
static struct process_child_options child;
static struct fork_server server;
static uv_loop_t loop;
static struct engine *engine;
static struct pending pending[PENDING_MAX];
static enum weft_status last_status;
static char last_message[240];
static uint32_t ended;
static bool is_wrong;

static void need(bool is_good, const char *what)
{
    if (!is_good) {
        (void)fprintf(stderr, "gpu_engine: %s\n", what);
        exit(1);
    }
}

static void expect(bool is_good, const char *what)
{
    if (!is_good) {
        printf("WRONG  %s\n", what);
        is_wrong = true;
    }
}

/* How far the first row of @output is from what PyTorch made. */
static double error_of(const struct model *model, const struct bundle *output)
{
    const struct cuda_port *port = &model->manifest.outputs[0];
    const struct weft_tensor *tensor = bundle_find(output, port->name);
    const size_t count = port->row_bytes / dtype_bytes(port->dtype);
    double off = 0;
    double norm = 0;
    for (size_t i = 0; i < count; i++) {
        double made;
        if (port->dtype == WEFT_FP32) {
            made = (double)((const float *)tensor->data)[i];
        } else {
            const uint16_t bits = ((const uint16_t *)tensor->data)[i];
            made = port->dtype == WEFT_BF16 ? bf16_to_double(bits) : half_to_double(bits);
        }
        off += (made - (double)model->want[i]) * (made - (double)model->want[i]);
        norm += (double)model->want[i] * (double)model->want[i];
    }
    return norm > 0 ? sqrt(off / norm) : 1;
}

static void on_done(void *context, const struct engine_done *done)
{
    (void)context;
    if (done->kind != ENGINE_RAN) {
        last_status = done->status;
        (void)snprintf(
            last_message, sizeof(last_message), "%s", done->message == NULL ? "" : done->message);
        return;
    }
    struct pending *batch = &pending[done->batch % PENDING_MAX];
    batch->is_done = true;
    batch->took = now() - batch->start;
    batch->run = (double)done->run_ns * 1e-9;
    batch->status = done->status;
    batch->error = -1;
    (void)snprintf(
        batch->message, sizeof(batch->message), "%s", done->message == NULL ? "" : done->message);
    for (uint32_t i = 0; i < done->output_count; i++) {
        if (done->outputs[i].status != WEFT_OK) {
            batch->status = done->outputs[i].status;
            (void)snprintf(batch->message, sizeof(batch->message), "%s", done->outputs[i].message);
        } else {
            const double error = error_of(&models[batch->model], done->outputs[i].contents);
            batch->error = error > batch->error ? error : batch->error;
        }
        bundle_destroy(done->outputs[i].contents);
    }
}

static void on_ended(void *context, uint32_t worker, const char *message)
{
    (void)context;
    (void)worker;
    ended++;
    printf("ended  %s\n", message);
}

static void settle(void)
{
    (void)uv_run(&loop, UV_RUN_DEFAULT);
}

static double load(uint32_t model)
{
    const double start = now();
    engine_load(engine, 0, model);
    settle();
    if (last_status != WEFT_OK) {
        printf("WRONG  load of %s: %s\n", models[model].name, last_message);
        is_wrong = true;
    }
    return now() - start;
}

static double unload(uint32_t model)
{
    const double start = now();
    engine_unload(engine, 0, model);
    settle();
    return now() - start;
}

/* Launch a batch of @tasks times the one row of the check. */
static void launch(
    uint64_t number, uint32_t model, uint32_t units, uint32_t tasks, const struct bundle *input)
{
    struct engine_task list[BATCH_TASKS_MAX];
    const struct engine_input from = {.contents = input, .bytes = input->bytes};
    for (uint32_t i = 0; i < tasks; i++) {
        list[i] = (struct engine_task){.items = 1, .input_count = 1, .inputs = &from};
    }
    const struct engine_batch batch = {
        .batch = number,
        .workflow = model,
        .items = tasks,
        .task_count = tasks,
        .tasks = list,
        .config = {.batch = tasks, .gpu = units},
    };
    pending[number % PENDING_MAX] =
        (struct pending){.is_used = true, .model = model, .rows = tasks, .start = now()};
    (void)engine_launch(engine, &batch); /* It does not refuse any. */
}

static const struct pending *run(uint64_t number, uint32_t model, uint32_t units, uint32_t tasks)
{
    launch(number, model, units, tasks, models[model].input);
    settle();
    const struct pending *batch = &pending[number % PENDING_MAX];
    expect(batch->is_done && batch->status == WEFT_OK, batch->message);
    expect(batch->error >= 0 && batch->error < ERROR_MAX, "an output");
    return batch;
}

/* What is between the caller and the device, a run at a time. */
static void measure_overhead(uint32_t model, uint32_t units, uint32_t tasks)
{
    static double took[RUNS];
    static double inside[RUNS];
    double error = 0;
    (void)run(1, model, units, tasks);
    for (uint32_t i = 0; i < RUNS; i++) {
        const struct pending *batch = run(i + 2, model, units, tasks);
        took[i] = batch->took * 1e6;
        inside[i] = batch->run * 1e6;
        error = batch->error > error ? batch->error : error;
    }
    timed_sort(took, RUNS);
    timed_sort(inside, RUNS);
    printf(
        "engine %-6s rows %2u units %2u  asked to answered p50 %6.0f p99 %6.0f us  of that in the "
        "engine p50 %6.0f p99 %6.0f  error %.4f\n",
        models[model].name, tasks, units, took[RUNS / 2], took[RUNS * 99 / 100], inside[RUNS / 2],
        inside[RUNS * 99 / 100], error);
}

enum { ANSWERS_MAX = 100000 };

/* A batch on each of several shares at all times; meanwhile another model comes and goes. */
static void measure_shares(uint32_t model, uint32_t tasks, uint32_t swapped)
{
    static double took_us[ANSWERS_MAX];
    uint64_t number = 0;
    uint32_t answers = 0;
    uint32_t loads = 0;
    bool is_there = false;
    const double start = now();
    for (uint32_t i = 0; i < SHARES; i++) {
        launch(++number, model, SHARE_UNITS, tasks, models[model].input);
    }
    if (swapped != UINT32_MAX) {
        engine_load(engine, 0, swapped);
    }
    last_status = WEFT_BUSY;
    while (now() - start < 1.5 && answers + PENDING_MAX < ANSWERS_MAX) {
        (void)uv_run(&loop, UV_RUN_ONCE);
        for (uint32_t i = 0; i < PENDING_MAX; i++) {
            if (pending[i].is_used && pending[i].is_done) {
                expect(pending[i].status == WEFT_OK, pending[i].message);
                expect(pending[i].error >= 0 && pending[i].error < ERROR_MAX, "an output");
                took_us[answers++] = pending[i].took * 1e6;
                pending[i].is_used = false;
                launch(++number, model, SHARE_UNITS, tasks, models[model].input);
            }
        }
        if (swapped != UINT32_MAX && last_status != WEFT_BUSY) {
            loads += is_there ? 0 : 1;
            is_there = !is_there;
            last_status = WEFT_BUSY;
            if (is_there) {
                engine_unload(engine, 0, swapped);
            } else {
                engine_load(engine, 0, swapped);
            }
        }
    }
    const double took = now() - start;
    settle();
    if (swapped != UINT32_MAX && !is_there) { /* What came last was a load. */
        (void)unload(swapped);
    }
    memset(pending, 0, sizeof(pending));
    timed_sort(took_us, answers);
    printf(
        "shares %-6s rows %2u on %d x %d units: %.0f rows/s, p50 %.0f p99 %.0f most %.0f us; %s "
        "%u loads, %.1f GB/s of weights\n",
        models[model].name, tasks, SHARES, SHARE_UNITS, (double)answers * tasks / took,
        answers == 0 ? 0 : took_us[answers / 2], answers == 0 ? 0 : took_us[answers * 99 / 100],
        answers == 0 ? 0 : took_us[answers - 1],
        swapped == UINT32_MAX ? "nothing else," : models[swapped].name, loads,
        swapped == UINT32_MAX
            ? 0
            : loads * (double)models[swapped].manifest.weights_bytes / took / 1e9);
}

enum { HEAVY = 3, HEAVY_ROWS = 16, SMALL_MAX = 20000 };

/* One row of @small at a time, while @heavy has HEAVY batches under way; all on @units units. */
static void measure_isolation(uint32_t small, uint32_t heavy, uint32_t heavies, uint32_t units)
{
    static double took[SMALL_MAX];
    uint32_t count = 0;
    uint64_t rows = 0;
    const double start = now();
    for (uint64_t i = 0; i <= heavies; i++) {
        const uint32_t model = i == 0 ? small : heavy;
        launch(i, model, units, i == 0 ? 1 : HEAVY_ROWS, models[model].input);
    }
    while (now() - start < 1.0 && count < SMALL_MAX) {
        (void)uv_run(&loop, UV_RUN_ONCE);
        for (uint64_t i = 0; i <= heavies; i++) {
            if (!pending[i].is_done) {
                continue;
            }
            expect(pending[i].status == WEFT_OK, pending[i].message);
            expect(pending[i].error >= 0 && pending[i].error < ERROR_MAX, "an output");
            if (i == 0) {
                took[count++] = pending[i].took * 1e6;
            } else {
                rows += HEAVY_ROWS;
            }
            launch(i, pending[i].model, units, pending[i].rows, models[pending[i].model].input);
        }
    }
    const double seconds = now() - start;
    settle();
    memset(pending, 0, sizeof(pending));
    timed_sort(took, count);
    printf(
        "apart  %-6s a row on %2u units beside %u x %s of %d rows: p50 %6.0f p99 %6.0f us; these "
        "%.0f rows/s\n",
        models[small].name, units, heavies, models[heavy].name, HEAVY_ROWS,
        count == 0 ? 0 : took[count / 2], count == 0 ? 0 : took[count * 99 / 100],
        (double)rows / seconds);
}

static struct process_worker *worker_zero(void)
{
    return ((struct engine_process *)engine)->workers;
}

static void on_timer(uv_timer_t *timer)
{
    (void)timer;
}

static void wait_for_end(uint32_t before)
{
    uv_timer_t timer;
    (void)uv_timer_init(&loop, &timer);
    (void)uv_timer_start(&timer, on_timer, 1, 1);
    while (ended == before) {
        (void)uv_run(&loop, UV_RUN_ONCE);
    }
    uv_close((uv_handle_t *)&timer, NULL);
    (void)uv_run(&loop, UV_RUN_NOWAIT);
}

/* A task that breaks the device, beside one of each model that does not. */
static void break_device(uint32_t poisoned)
{
    const double start = now();
    launch(1, poisoned, SHARE_UNITS, 1, models[poisoned].poison);
    for (uint32_t i = 0; i < model_count; i++) {
        launch(i + 2, i, SHARE_UNITS, 1, models[i].input);
    }
    settle();
    expect(pending[1].status == WEFT_CRASHED, "the task that broke the device");
    printf("fault  %s broke the device: '%s'\n", models[poisoned].name, pending[1].message);
    for (uint32_t i = 0; i < model_count; i++) {
        expect(pending[i + 2].status == WEFT_OK, pending[i + 2].message);
        expect(pending[i + 2].error >= 0 && pending[i + 2].error < ERROR_MAX, "an output");
        printf(
            "fault  %s beside it: answered after %.0f ms, error %.4f\n", models[i].name,
            pending[i + 2].took * 1e3, pending[i + 2].error);
    }
    printf("fault  all of it took %.0f ms\n", (now() - start) * 1e3);
}

static void kill_and_run(const char *what, pid_t process, int signal, bool waits)
{
    const uint32_t before = ended;
    const double start = now();
    (void)kill(process, signal);
    if (waits) {
        wait_for_end(before);
    }
    const double noticed = now() - start;
    for (uint32_t i = 0; i < model_count; i++) {
        const struct pending *batch = run(i + 1, i, SHARE_UNITS, 1);
        printf(
            "fault  %s (noticed after %.0f ms): %s answers %.0f ms after it, error %.4f\n", what,
            noticed * 1e3, models[i].name, (now() - start) * 1e3, batch->error);
    }
}

/* Whether the first thread of @process stands still. */
static bool is_stopped(pid_t process)
{
    char path[64];
    char state = '\0';
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "re");
    const bool is_read = file != NULL && fscanf(file, "%*d (%*[^)]) %c", &state) == 1;
    if (file != NULL) {
        (void)fclose(file);
    }
    return !is_read || state == 'T';
}

/* A process that stands still is replaced, and what it had runs again. */
static void stop_and_run(void)
{
    const double start = now();
    const pid_t process = worker_zero()->child.process;
    (void)kill(process, SIGSTOP);
    while (!is_stopped(process)) {
    }
    uv_sleep(20); /* The others follow. */
    launch(1, 0, SHARE_UNITS, 1, models[0].input);
    settle();
    expect(pending[1].status == WEFT_OK, pending[1].message);
    expect(pending[1].error >= 0 && pending[1].error < ERROR_MAX, "an output");
    printf("fault  stopped: answered after %.0f ms\n", (now() - start) * 1e3);
}

static void *read_check(const char *folder, const char *name, size_t bytes)
{
    char path[4096];
    void *data = memory_zeroed(bytes, 1);
    (void)snprintf(path, sizeof(path), "%s/check/%s", folder, name);
    FILE *file = fopen(path, "rbe");
    need(file != NULL && fread(data, 1, bytes, file) == bytes, path);
    (void)fclose(file);
    return data;
}

static struct bundle *bundle_of(const struct cuda_port *port, const void *data)
{
    struct bundle *bundle = bundle_create();
    struct weft_tensor tensor = {.dtype = port->dtype, .rank = port->rank + 1, .shape = {1}};
    memcpy(tensor.name, port->name, sizeof(tensor.name));
    memcpy(tensor.shape + 1, port->shape, port->rank * sizeof(*port->shape));
    tensor.bytes = port->row_bytes;
    void *room = bundle_add(bundle, &tensor);
    need(room != NULL, "memory for inputs");
    memcpy(room, data, port->row_bytes);
    return bundle;
}

static void open_model(const char *folder)
{
    struct model *model = &models[model_count];
    struct weft_error error;
    need(cuda_manifest_read(folder, &model->manifest, &error) == WEFT_OK, error.message);
    const struct cuda_port *in = &model->manifest.inputs[0];
    const struct cuda_port *out = &model->manifest.outputs[0];
    const char *slash = strrchr(folder, '/');
    model->name = slash == NULL ? folder : slash + 1;
    model->want =
        read_check(folder, "1.y", out->row_bytes / dtype_bytes(out->dtype) * sizeof(float));
    model->data = read_check(folder, "1.x", in->row_bytes);
    struct workflow *workflow = workflow_create(model->name);
    const uint32_t number = catalogue_model(catalogue, model->name);
    struct workflow_task task = {.run = number, .models = {number}, .model_count = 1};
    uint32_t index;
    (void)snprintf(task.name, sizeof(task.name), "%s", model->name);
    need(
        workflow_add_task(workflow, &task, &index) == WEFT_OK &&
            workflow_seal(workflow, NULL) == WEFT_OK &&
            catalogue_add_workflow(catalogue, workflow) == WEFT_OK,
        "a workflow");
    files[number] = (struct artifact){.cuda = model->manifest.folder};
    artifacts.count = ++model_count;
}

/* Inputs as a server has them: where engine processes can read them. */
static void make_inputs(void)
{
    for (uint32_t i = 0; i < model_count; i++) {
        struct model *model = &models[i];
        const struct cuda_port *in = &model->manifest.inputs[0];
        model->input = bundle_of(in, model->data);
        model->poison = bundle_of(in, model->data);
        void *data = model->poison->tensors[0].data;
        for (size_t k = 0; k < in->row_bytes / dtype_bytes(in->dtype); k++) {
            if (in->dtype == WEFT_INT64) {
                ((int64_t *)data)[k] = POISON_INT;
            } else if (in->dtype == WEFT_FP32) {
                ((float *)data)[k] = POISON_FP32;
            }
        }
    }
}

static void start(uint64_t budget_bytes)
{
    struct weft_error error;
    struct fork_options children;
    const struct engine_process_options options = {
        .fleet = fleet,
        .catalogue = catalogue,
        .artifacts = &artifacts,
        .server = &server,
        .loop = &loop,
        .run_ns_max = RUN_NS_MAX,
        .keeps_weights = true,
        .spin_ns = 2000000,
        .host = {.done = on_done},
        .on_ended = on_ended,
    };
    cuda =
        (struct engine_cuda_options){.driver = getenv("WEFT_CUDA"), .torch = getenv("WEFT_TORCH")};
    cuda.budget_bytes = budget_bytes;
    child = (struct process_child_options){
        .fleet = fleet, .catalogue = catalogue, .artifacts = &artifacts, .cuda = &cuda};
    children = process_fork_options(&child);
    need(fork_server_start(&server, &children, &error) == WEFT_OK, error.message);
    need(uv_loop_init(&loop) == 0, "a loop");
    need(engine_process_create(&options, &engine, &error) == WEFT_OK, error.message);
    make_inputs();
}

static void stop(void)
{
    for (uint32_t i = 0; i < model_count; i++) {
        bundle_destroy(models[i].input);
        bundle_destroy(models[i].poison);
    }
    engine_destroy(engine);
    fork_server_stop(&server);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&loop);
    memset(pending, 0, sizeof(pending));
}

/* The last model that a broken input can be made for. */
static uint32_t find_poisoned(void)
{
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; i < model_count; i++) {
        const enum weft_dtype dtype = models[i].manifest.inputs[0].dtype;
        found = dtype == WEFT_INT64 || dtype == WEFT_FP32 ? i : found;
    }
    return found;
}

enum { TIMES = 9, SETTLED_MS = 30 };

/* A model that was there for @rest_ms comes again, and runs: medians of some times. */
static void measure_misses(uint32_t i, uint32_t rest_ms)
{
    double left[TIMES], again[TIMES], runs[TIMES], answered[TIMES];
    double error = 0;
    for (uint32_t k = 0; k < TIMES; k++) {
        uv_sleep(rest_ms);
        left[k] = unload(i);
        const double start_again = now();
        again[k] = load(i);
        const struct pending *batch = run(2, i, UNITS, 1);
        answered[k] = now() - start_again;
        runs[k] = batch->took;
        error = batch->error > error ? batch->error : error;
    }
    printf(
        "miss   %-6s there for %2u ms; unload %5.2f ms; load again %6.2f ms (%4.1f GB/s, "
        "%.2f to %.2f ms), then a run of %5.2f: answered %6.2f ms after it was missed, error "
        "%.4f\n",
        models[i].name, rest_ms, median(left, TIMES) * 1e3, median(again, TIMES) * 1e3,
        (double)models[i].manifest.weights_bytes / median(again, TIMES) / 1e9, again[0] * 1e3,
        again[TIMES - 1] * 1e3, median(runs, TIMES) * 1e3, median(answered, TIMES) * 1e3, error);
}

static void measure_loads(void)
{
    for (uint32_t i = 0; i < model_count; i++) {
        printf("first  %-6s load %6.0f ms (code and plans)\n", models[i].name, load(i) * 1e3);
        (void)run(1, i, UNITS, 1);
        measure_misses(i, /* rest_ms */ 0);
        measure_misses(i, SETTLED_MS);
    }
}

static void measure_faults(void)
{
    const uint32_t poisoned = find_poisoned();
    if (poisoned != UINT32_MAX) {
        break_device(poisoned);
    }
    kill_and_run("engine killed", worker_zero()->child.process, SIGKILL, true);
    worker_zero()->keeper.started_ns = 0; /* As if it had lived for long. */
    kill_and_run("keeper killed", worker_zero()->keeper.child.process, SIGKILL, true);
    kill_and_run("then the engine", worker_zero()->child.process, SIGKILL, true);
    stop_and_run();
}

/* With so little memory for each share that the largest of the models do not run. */
static void measure_shortage(uint64_t budget_bytes)
{
    start(budget_bytes);
    for (uint32_t i = 0; i < model_count; i++) {
        engine_load(engine, 0, i);
        settle();
        printf(
            "short  %-6s with %llu MiB a share: %s\n", models[i].name,
            (unsigned long long)(budget_bytes >> 20),
            last_status == WEFT_OK ? "loaded" : last_message);
        if (last_status == WEFT_OK) {
            (void)run(i + 1, i, SHARE_UNITS, 1);
        }
    }
    expect(ended == 0, "no process ended for want of memory");
    stop();
}

int main(int argc, char **argv)
{
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    fleet = fleet_create();
    struct fleet_worker device = {
        .memory_bytes = UINT64_C(1) << 36, .gpu_units = UNITS, .sharing = SHARES_SM};
    device.device = fleet_device(fleet, "gpu");
    need(fleet_add_machine(fleet, &device, 1, /* cpu_units */ 1), "a fleet");
    catalogue = catalogue_create();
    for (int i = 1; i < argc && i <= MODELS_HERE; i++) {
        open_model(argv[i]);
    }
    need(model_count > 0, "name the folders of models");
    measure_shortage(/* budget_bytes */ UINT64_C(88) << 20);
    const double before = now();
    start(/* budget_bytes */ 0);
    printf("start  processes after %.0f ms\n", (now() - before) * 1e3);
    measure_loads();
    for (uint32_t i = 0; i < model_count; i++) {
        for (uint32_t tasks = 1; tasks <= 8; tasks *= 8) {
            measure_overhead(i, UNITS, tasks);
            measure_overhead(i, SHARE_UNITS, tasks);
        }
    }
    if (model_count > 1) {
        measure_isolation(0, 1, 0, SHARE_UNITS);
        measure_isolation(0, 1, HEAVY, SHARE_UNITS);
        measure_isolation(0, 1, HEAVY, UNITS);
    }
    measure_shares(0, 1, UINT32_MAX);
    (void)unload(model_count - 1);
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        measure_shares(0, 4, UINT32_MAX);
        measure_shares(0, 4, model_count - 1);
    }
    (void)load(model_count - 1);
    measure_faults();
    stop();
    for (uint32_t i = 0; i < model_count; i++) {
        free(models[i].want);
        free(models[i].data);
        cuda_manifest_free(&models[i].manifest);
    }
    catalogue_destroy(catalogue);
    fleet_destroy(fleet);
    printf("%s\n", is_wrong ? "WRONG" : "all outputs right, all faults contained");
    return is_wrong ? 1 : 0;
}
