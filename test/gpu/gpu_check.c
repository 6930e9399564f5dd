/*
 * gpu_check.c - what the parts of the GPU engine do on a device: right outputs, and how fast.
 *
 * usage: gpu_check FOLDER...
 *
 * Each FOLDER is a model with a `check` (test/gpu/prepare.py). WEFT_CUDA names another driver,
 * WEFT_TORCH the folder of libtorch. Prints tables, and exits 1 if an output is wrong. Tests run
 * it on a fake driver.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cuda/arena.h"
#include "cuda/graph.h"
#include "cuda/weights.h"
#include "engine/half.h"
#include "timed.h"

enum { MODELS_HERE = 8, RUNS = 200, SHARE_UNITS = 4, PINNED_BYTES = 128 << 20, PINNED_COPIES = 8 };

#define ARENA_BYTES  (UINT64_C(4) << 30)
#define BUDGET_BYTES (UINT64_C(512) << 20)
#define ERROR_MAX    0.01 /* Of the norm: halves, summed in another order. */

struct model {
    const char *folder;
    struct cuda_manifest manifest;
    struct cuda_weights weights;
    struct cuda_package *packages[CUDA_PACKAGES_MAX];
    struct cuda_graph whole[CUDA_PACKAGES_MAX];
    struct cuda_graph part[CUDA_PACKAGES_MAX];
};

static struct cuda_driver driver;
static struct cuda_device device;
static struct cuda_torch torch;
static struct cuda_shares shares;
static struct cuda_blocks blocks = {.device = &device};
static struct CUstream_st *copy_stream;
static struct model models[MODELS_HERE];
static uint32_t model_count;
static bool is_wrong;

static void need(enum weft_status status, const struct weft_error *error)
{
    if (status != WEFT_OK) {
        (void)fprintf(stderr, "gpu_check: %s\n", error->message);
        exit(1);
    }
}

static void *read_whole(const struct model *model, uint32_t rows, const char *end, size_t bytes)
{
    char path[4096];
    void *data = memory_zeroed(bytes, 1);
    (void)snprintf(path, sizeof(path), "%s/check/%u.%s", model->folder, rows, end);
    FILE *file = fopen(path, "rbe");
    if (file == NULL || fread(data, 1, bytes, file) != bytes) {
        (void)fprintf(stderr, "gpu_check: %s cannot be read\n", path);
        exit(1);
    }
    (void)fclose(file);
    return data;
}

static double element(const struct cuda_port *port, const uint8_t *data, size_t index)
{
    float value;
    uint16_t bits;
    if (port->dtype == WEFT_FP32) {
        memcpy(&value, data + index * sizeof(value), sizeof(value));
        return (double)value;
    }
    memcpy(&bits, data + index * sizeof(bits), sizeof(bits));
    return port->dtype == WEFT_BF16 ? bf16_to_double(bits) : half_to_double(bits);
}

/* Run @graph once. */
static void run(struct cuda_graph *graph)
{
    struct weft_error error;
    enum weft_status status = cuda_graph_launch(graph, &error);
    while (status == WEFT_OK && (status = cuda_graph_poll(graph, &error)) == WEFT_BUSY) {
        status = WEFT_OK;
    }
    need(status, &error);
}

/* How far what @graph makes of the check's inputs is from what PyTorch made of them. */
static double error_of(const struct model *model, struct cuda_graph *graph)
{
    const struct cuda_port *port = &model->manifest.outputs[0];
    const size_t bytes = graph->rows * model->manifest.inputs[0].row_bytes;
    const size_t count = graph->rows * (port->row_bytes / dtype_bytes(port->dtype));
    void *x = read_whole(model, graph->rows, "x", bytes);
    float *y = read_whole(model, graph->rows, "y", count * sizeof(*y));
    double off = 0;
    double norm = 0;
    memcpy(graph->host + graph->input_at[0], x, bytes);
    run(graph);
    for (size_t i = 0; i < count; i++) {
        const double made = element(port, graph->host + graph->output_at[0], i);
        off += (made - (double)y[i]) * (made - (double)y[i]);
        norm += (double)y[i] * (double)y[i];
    }
    free(x);
    free(y);
    const double error = norm > 0 ? sqrt(off / norm) : 1;
    is_wrong = is_wrong || !(error < ERROR_MAX);
    return error;
}

struct times {
    double p50, p99, most; /* Microseconds. */
};

static struct times measure(struct cuda_graph *graph, uint32_t runs)
{
    double *took = memory_zeroed(runs, sizeof(*took));
    for (uint32_t i = 0; i < runs; i++) {
        const double start = now();
        run(graph);
        took[i] = (now() - start) * 1e6;
    }
    timed_sort(took, runs);
    const struct times times = {took[runs / 2], took[runs * 99 / 100], took[runs - 1]};
    free(took);
    return times;
}

/*
 * Launches after pauses, as requests come, and what the call itself takes: a loop without pauses
 * does not show either.
 */
static void measure_pauses(const struct model *model, struct cuda_graph *graph)
{
    static const double pauses[] = {0, 20e-6, 100e-6, 1e-3};
    struct weft_error error;
    double took[RUNS];
    double called[RUNS];
    printf("pause  %-24s rows %u: p50 us, and of the call:", model->folder, graph->rows);
    for (size_t i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
        for (uint32_t k = 0; k < RUNS; k++) {
            const double begin = now();
            while (now() - begin < pauses[i]) {
            }
            const double start = now();
            need(cuda_graph_launch(graph, &error), &error);
            called[k] = (now() - start) * 1e6;
            enum weft_status status;
            while ((status = cuda_graph_poll(graph, &error)) == WEFT_BUSY) {
            }
            need(status, &error);
            took[k] = (now() - start) * 1e6;
        }
        timed_sort(took, RUNS);
        timed_sort(called, RUNS);
        printf("  after %.0f: %.0f, %.0f", pauses[i] * 1e6, took[RUNS / 2], called[RUNS / 2]);
    }
    printf("\n");
}

static void load(struct model *model, const char *what)
{
    struct weft_error error;
    char path[4096];
    struct cuda_block block;
    const double start = now();
    need(cuda_blocks_take(&blocks, model->weights.range_bytes, &block, &error), &error);
    const double taken = now();
    (void)snprintf(path, sizeof(path), "%s/%s", model->folder, model->manifest.weights);
    need(cuda_weights_fill(&model->weights, &block, path, copy_stream, NULL, &error), &error);
    const double end = now();
    cuda_block_shut(&device, &model->weights.block);
    printf(
        "load   %-24s %-7s %8.1f MB  memory %6.2f ms  copy %7.2f ms  %5.1f GB/s\n", model->folder,
        what, (double)model->weights.bytes / 1e6, (taken - start) * 1e3, (end - taken) * 1e3,
        (double)model->weights.bytes / (end - taken) / 1e9);
}

static void drop(struct model *model)
{
    struct cuda_block block = cuda_weights_unmap(&model->weights);
    cuda_blocks_give(&blocks, &block);
}

/* What loads are held against: copies from memory that the driver itself has pinned. */
static void measure_pinned(void)
{
    struct weft_error error;
    void *host;
    uint64_t memory;
    need(cuda_check(&driver, driver.host_take(&host, PINNED_BYTES, 0), "memory", &error), &error);
    need(cuda_check(&driver, driver.memory_take(&memory, PINNED_BYTES), "memory", &error), &error);
    memset(host, 1, PINNED_BYTES);
    int result = CUDA_SUCCESS;
    const double start = now();
    for (uint32_t i = 0; i < PINNED_COPIES && result == CUDA_SUCCESS; i++) {
        for (uint64_t at = 0; at < PINNED_BYTES && result == CUDA_SUCCESS; at += CUDA_CHUNK_BYTES) {
            result = driver.copy_in(
                memory + at, (const uint8_t *)host + at, CUDA_CHUNK_BYTES, copy_stream);
        }
    }
    if (result == CUDA_SUCCESS) {
        result = driver.stream_wait(copy_stream);
    }
    const double took = now() - start;
    need(cuda_check(&driver, result, "copy", &error), &error);
    printf(
        "pinned copies of %d MiB: %.1f GB/s\n", CUDA_CHUNK_BYTES >> 20,
        (double)PINNED_COPIES * PINNED_BYTES / took / 1e9);
    (void)driver.memory_give(memory);
    (void)driver.host_give(host);
}

static void open_model(struct model *model, const char *folder)
{
    struct weft_error error;
    model->folder = folder;
    need(cuda_manifest_read(folder, &model->manifest, &error), &error);
    need(
        cuda_weights_open(&device, model->manifest.weights_bytes, &model->weights, &error), &error);
    load(model, "first");
    drop(model);
    load(model, "again");
}

static void record(struct model *model, uint32_t index, uint32_t units, struct cuda_graph *graph)
{
    struct weft_error error;
    struct cuda_share *share;
    const double start = now();
    need(cuda_shares_take(&shares, UINT32_MAX, units, &share, &error), &error);
    need(
        cuda_graph_open(&device, share, model->packages[index], &model->manifest, graph, &error),
        &error);
    const double took = now() - start;
    const double off = error_of(model, graph);
    const struct times times = measure(graph, RUNS);
    const struct cuda_arena_use use = cuda_arena_use(share->number + 1);
    printf(
        "run    %-24s rows %3u units %2u  first %7.1f ms  p50 %7.0f us  p99 %7.0f  error %.4f  "
        "share holds %4.0f MiB\n",
        model->folder, graph->rows, units, took * 1e3, times.p50, times.p99, off,
        (double)use.held_bytes / 1048576);
    cuda_shares_give(&shares, share);
}

static void run_model(struct model *model)
{
    struct weft_error error;
    for (uint32_t i = 0; i < model->manifest.package_count; i++) {
        need(
            cuda_package_open(
                &torch, &model->manifest, i, model->weights.address, &model->packages[i], &error),
            &error);
        record(model, i, shares.unit_count, &model->whole[i]);
        record(model, i, SHARE_UNITS, &model->part[i]);
        measure_pauses(model, &model->whole[i]);
    }
    drop(model);
    load(model, "swapped");
    printf(
        "swap   %-24s the same graphs after other memory came: error %.4f %.4f\n", model->folder,
        error_of(model, &model->whole[0]), error_of(model, &model->part[0]));
}

/*
 * The same graphs once every package has also run on a third stream, as those of an engine have
 * before its first batch: from then on the device runs some of them more slowly.
 */
static void measure_again(void)
{
    struct cuda_share trial = {.number = CUDA_SHARES_MAX};
    struct weft_error error;
    need(
        cuda_check(
            &driver, driver.stream_create(&trial.stream, CUDA_STREAM_APART), "a stream", &error),
        &error);
    for (uint32_t i = 0; i < model_count; i++) {
        for (uint32_t k = 0; k < models[i].manifest.package_count; k++) {
            struct cuda_graph graph;
            need(
                cuda_graph_open(
                    &device, &trial, models[i].packages[k], &models[i].manifest, &graph, &error),
                &error);
            cuda_graph_close(&graph);
        }
    }
    for (uint32_t i = 0; i < model_count; i++) {
        for (uint32_t k = 0; k < models[i].manifest.package_count; k++) {
            const struct times whole = measure(&models[i].whole[k], RUNS);
            const struct times part = measure(&models[i].part[k], RUNS);
            printf(
                "again  %-24s rows %3u units %2u p50 %7.0f us  p99 %7.0f; units %2u p50 %7.0f us  "
                "p99 %7.0f\n",
                models[i].folder, models[i].whole[k].rows, shares.unit_count, whole.p50, whole.p99,
                SHARE_UNITS, part.p50, part.p99);
        }
    }
    (void)driver.stream_destroy(trial.stream);
}

struct beside {
    struct model *model;
    atomic_bool stops;
    double bytes;
    double seconds;
};

static void *copy_on(void *argument)
{
    struct beside *beside = argument;
    struct cuda_weights *weights = &beside->model->weights;
    struct weft_error error;
    char path[4096];
    (void)snprintf(
        path, sizeof(path), "%s/%s", beside->model->folder, beside->model->manifest.weights);
    need(cuda_device_enter(&device, &error), &error);
    const double start = now();
    while (!atomic_load(&beside->stops)) {
        struct cuda_block block;
        drop(beside->model);
        need(cuda_blocks_take(&blocks, weights->range_bytes, &block, &error), &error);
        need(cuda_weights_fill(weights, &block, path, copy_stream, NULL, &error), &error);
        beside->bytes += (double)weights->bytes;
    }
    beside->seconds = now() - start;
    return NULL;
}

/* Runs of a model that is there, while the weights of the largest one come. */
static void run_beside_loads(void)
{
    struct model *largest = &models[0];
    for (uint32_t i = 1; i < model_count; i++) {
        if (models[i].weights.bytes > largest->weights.bytes) {
            largest = &models[i];
        }
    }
    for (uint32_t i = 0; i < model_count; i++) {
        struct beside beside = {.model = largest};
        if (&models[i] == largest) {
            continue; /* Weights that are copied cannot be used meanwhile. */
        }
        pthread_t thread;
        struct cuda_graph *graph = &models[i].part[0];
        const struct times alone = measure(graph, RUNS);
        if (pthread_create(&thread, NULL, copy_on, &beside) != 0) {
            exit(1);
        }
        const struct times busy = measure(graph, 5 * RUNS);
        atomic_store(&beside.stops, true);
        (void)pthread_join(thread, NULL);
        printf(
            "beside %-24s rows %u units %u: alone p50 %.0f p99 %.0f us; while weights come p50 "
            "%.0f p99 %.0f most %.0f; weights %.1f GB/s\n",
            models[i].folder, graph->rows, SHARE_UNITS, alone.p50, alone.p99, busy.p50, busy.p99,
            busy.most, beside.bytes / beside.seconds / 1e9);
    }
}

static void close_all(uint64_t arena)
{
    for (uint32_t i = 0; i < model_count; i++) {
        struct model *model = &models[i];
        for (uint32_t k = 0; k < model->manifest.package_count; k++) {
            cuda_graph_close(&model->whole[k]);
            cuda_graph_close(&model->part[k]);
            cuda_package_close(model->packages[k]);
        }
        cuda_weights_close(&model->weights);
        cuda_manifest_free(&model->manifest);
    }
    cuda_blocks_close(&blocks);
    cuda_shares_close(&shares);
    cuda_arena_stop();
    (void)driver.memory_give(arena);
    (void)driver.stream_destroy(copy_stream);
    cuda_device_close(&device);
}

int main(int argc, char **argv)
{
    struct weft_error error;
    uint64_t arena;
    uint64_t arena_bytes = ARENA_BYTES;
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    const double start = now();
    need(cuda_torch_open(getenv("WEFT_TORCH"), &torch, &error), &error);
    const double opened = now();
    need(cuda_driver_open(getenv("WEFT_CUDA"), &driver, &error), &error);
    need(cuda_device_open(&driver, &device, &error), &error);
    const double ready = now();
    need(cuda_shares_open(&device, &shares, &error), &error);
    while (driver.memory_take(&arena, arena_bytes) == CUDA_OUT_OF_MEMORY) {
        arena_bytes /= 2;
    }
    cuda_arena_start(arena, arena_bytes, BUDGET_BYTES);
    need(
        cuda_check(
            &driver, driver.stream_create(&copy_stream, CUDA_STREAM_APART), "a stream", &error),
        &error);
    printf(
        "device %s, %u processors, %u units, %.0f GiB; libtorch opened in %.0f ms, device in "
        "%.0f\n",
        device.name, device.processors, shares.unit_count, (double)device.memory_bytes / 0x1p30,
        (opened - start) * 1e3, (ready - opened) * 1e3);
    model_count = argc - 1 < MODELS_HERE ? (uint32_t)(argc - 1) : MODELS_HERE;
    measure_pinned();
    for (uint32_t i = 0; i < model_count; i++) {
        open_model(&models[i], argv[i + 1]);
        run_model(&models[i]);
    }
    measure_again();
    run_beside_loads();
    close_all(arena);
    printf("%s\n", is_wrong ? "WRONG" : "all outputs right");
    (void)fflush(stdout);
    _exit(is_wrong ? 1 : 0); /* libtorch takes its time to leave, and may not like how. */
}
