/*
 * gpu_graphs.c - what makes a graph slower than the same graph in a fresh process.
 *
 * usage: gpu_graphs FOLDER...
 *
 * As gpu_check, whose models it takes: of each the package with the fewest rows. Every line is of a
 * process of its own, since what is looked for is what a process does before. Medians in us.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "cuda/arena.h"
#include "cuda/graph.h"
#include "cuda/weights.h"
#include "engine/monotonic.h"
#include "timed.h"

enum { GRAPHS = 12, RUNS = 300, HUGE_BYTES = 2 << 20 };

#define ARENA_BYTES  (UINT64_C(4) << 30)
#define BUDGET_BYTES (UINT64_C(512) << 20)

static struct cuda_driver driver;
static struct cuda_device device;
static struct cuda_torch torch;
static struct cuda_manifest manifest;
static struct cuda_weights weights;
static struct cuda_package *package;
static struct cuda_share shares[GRAPHS];
static struct cuda_graph graphs[GRAPHS];

static void need(enum weft_status status, const struct weft_error *error)
{
    if (status != WEFT_OK) {
        (void)fprintf(stderr, "gpu_graphs: %s\n", error->message);
        exit(1);
    }
}

static void must(int result, const char *what)
{
    struct weft_error error;
    need(cuda_check(&driver, result, what, &error), &error);
}

/* The median of runs of @graph; before each, @bytes of @from are written to @to. */
static double time_runs(struct cuda_graph *graph, uint8_t *to, const uint8_t *from, size_t bytes)
{
    double took[RUNS];
    struct weft_error error;
    for (uint32_t i = 0; i < RUNS; i++) {
        if (bytes > 0) {
            memcpy(to, from + i % 2, bytes);
        }
        const int64_t start_ns = monotonic_ns();
        enum weft_status status = cuda_graph_launch(graph, &error);
        while (status == WEFT_OK && (status = cuda_graph_poll(graph, &error)) == WEFT_BUSY) {
            status = WEFT_OK;
        }
        need(status, &error);
        took[i] = (double)(monotonic_ns() - start_ns) * 1e-3;
    }
    return median(took, RUNS);
}

static double time_one(struct cuda_graph *graph)
{
    return time_runs(graph, NULL, NULL, 0);
}

/* The device, the model at @folder with its weights, and its first package. */
static void open_all(const char *folder)
{
    struct weft_error error;
    char path[4096];
    struct cuda_blocks blocks = {.device = &device};
    struct cuda_block block;
    uint64_t arena;
    uint64_t arena_bytes = ARENA_BYTES;
    struct CUstream_st *copies;
    need(cuda_torch_open(getenv("WEFT_TORCH"), &torch, &error), &error);
    need(cuda_driver_open(getenv("WEFT_CUDA"), &driver, &error), &error);
    need(cuda_device_open(&driver, &device, &error), &error);
    while (driver.memory_take(&arena, arena_bytes) == CUDA_OUT_OF_MEMORY) {
        arena_bytes /= 2;
    }
    cuda_arena_start(arena, arena_bytes, BUDGET_BYTES);
    must(driver.stream_create(&copies, CUDA_STREAM_APART), "a stream");
    need(cuda_manifest_read(folder, &manifest, &error), &error);
    need(cuda_weights_open(&device, manifest.weights_bytes, &weights, &error), &error);
    need(cuda_blocks_take(&blocks, weights.range_bytes, &block, &error), &error);
    (void)snprintf(path, sizeof(path), "%s/%s", folder, manifest.weights);
    need(cuda_weights_fill(&weights, &block, path, copies, NULL, &error), &error);
    need(cuda_package_open(&torch, &manifest, 0, weights.address, &package, &error), &error);
}

static void open_stream(uint32_t number)
{
    shares[number].number = number;
    must(driver.stream_create(&shares[number].stream, CUDA_STREAM_APART), "a stream");
}

static void open_graph(uint32_t number, uint32_t share)
{
    struct weft_error error;
    need(
        cuda_graph_open(&device, &shares[share], package, &manifest, &graphs[number], &error),
        &error);
}

static void print_times(const char *what)
{
    printf("  %s", what);
    for (uint32_t i = 0; i < GRAPHS; i++) {
        printf(" %.0f", time_one(&graphs[i]));
    }
}

/* Each on a stream of its own; then all again, and the first and the last on each other's. */
static void on_streams(void)
{
    printf("made");
    for (uint32_t i = 0; i < GRAPHS; i++) {
        open_stream(i);
        open_graph(i, i);
        printf(" %.0f", time_one(&graphs[i]));
    }
    print_times("again");
    graphs[0].stream = shares[GRAPHS - 1].stream;
    graphs[GRAPHS - 1].stream = shares[0].stream;
    printf(
        "  first on the last stream %.0f, last on the first %.0f", time_one(&graphs[0]),
        time_one(&graphs[GRAPHS - 1]));
}

static void on_one_stream(void)
{
    open_stream(0);
    printf("made");
    for (uint32_t i = 0; i < GRAPHS; i++) {
        open_graph(i, 0);
        printf(" %.0f", time_one(&graphs[i]));
    }
    print_times("again");
}

/* Streams first, then one graph, on the last of them. */
static void on_late_stream(void)
{
    for (uint32_t i = 0; i < GRAPHS; i++) {
        open_stream(i);
    }
    open_graph(0, GRAPHS - 1);
    printf("last %.0f", time_one(&graphs[0]));
    open_graph(1, 0);
    printf("  first %.0f", time_one(&graphs[1]));
}

/* Kernels of our own that read a few bytes, on other streams: before, after, and without them. */
static void beside_light_streams(void)
{
    open_stream(0);
    open_graph(0, 0);
    printf("alone %.0f", time_one(&graphs[0]));
    for (uint32_t i = 1; i < 4; i++) {
        uint64_t to = graphs[0].device_in;
        const uint8_t *table = graphs[0].host + graphs[0].table_at[0];
        unsigned one = 1;
        void *arguments[] = {&to, &table, &one, &one};
        open_stream(i);
        must(
            driver.kernel_launch(
                device.gather, 1, 1, 1, 1, 1, 1, /* shared */ 0, shares[i].stream, arguments, NULL),
            "a kernel");
        must(driver.stream_wait(shares[i].stream), "a kernel");
        printf("  %u more %.0f", i, time_one(&graphs[0]));
    }
    for (uint32_t i = 1; i < 4; i++) {
        must(driver.stream_destroy(shares[i].stream), "a stream");
    }
    printf("  gone %.0f", time_one(&graphs[0]));
}

/* Streams on which graphs ran are destroyed again. */
static void after_streams(void)
{
    for (uint32_t i = 0; i < 4; i++) {
        open_stream(i);
        open_graph(i, i);
        printf("%s%.0f", i == 0 ? "" : " ", time_one(&graphs[i]));
    }
    for (uint32_t i = 1; i < 4; i++) {
        cuda_graph_close(&graphs[i]);
        must(driver.stream_destroy(shares[i].stream), "a stream");
    }
    printf("  the others gone %.0f", time_one(&graphs[0]));
    open_graph(1, 0);
    printf("  recorded again %.0f", time_one(&graphs[1]));
}

/* One graph, whose runs have their memory in a later part of the arena. */
static void in_late_memory(void)
{
    void *memory;
    for (uint32_t i = 0; i < GRAPHS; i++) {
        cuda_arena_enter(GRAPHS + i);
        must(cudaMalloc(&memory, 128 << 20), "memory");
    }
    cuda_arena_enter(CUDA_OWNER_COMMON);
    open_stream(0);
    open_graph(0, 0);
    printf("%.0f", time_one(&graphs[0]));
}

/* With the driver's call that brings a graph to the device ahead of its launch. */
static void with_upload(void)
{
    int (*upload)(struct CUgraphExec_st * graph, struct CUstream_st * stream);
    void *found = dlsym(driver.library, "cuGraphUpload");
    memcpy(&upload, &found, sizeof(found));
    for (uint32_t i = 0; i < GRAPHS; i++) {
        open_stream(i);
        open_graph(i, i);
        if (found != NULL) {
            must(upload(graphs[i].graph, shares[i].stream), "upload");
        }
        printf("%s%.0f", i == 0 ? "" : " ", time_one(&graphs[i]));
    }
}

/* Where the input lies, and whether it was just written. */
static void with_inputs(void)
{
    const size_t bytes = manifest.inputs[0].row_bytes;
    const size_t room = (bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
    uint8_t *from = memory_zeroed(bytes + 1, 1);
    const int file = memfd_create("weft-input", 0);
    uint8_t *shared = ftruncate(file, (off_t)room) == 0
                          ? mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                          : MAP_FAILED;
    uint8_t *huge = aligned_alloc(HUGE_BYTES, room);
    if (shared == MAP_FAILED || huge == NULL) {
        exit(1);
    }
    (void)madvise(huge, room, MADV_HUGEPAGE);
    memset(shared, 0, room);
    memset(huge, 0, room);
    must(driver.host_register(shared, room, CUDA_HOST_PORTABLE | CUDA_HOST_READ_ONLY), "register");
    must(driver.host_register(huge, room, CUDA_HOST_PORTABLE | CUDA_HOST_READ_ONLY), "register");
    open_stream(0);
    open_graph(0, 0);
    uint8_t *own = graphs[0].host + graphs[0].input_at[0];
    printf("own %.0f", time_one(&graphs[0]));
    printf(", written %.0f", time_runs(&graphs[0], own, from, bytes));
    (void)cuda_graph_set_row(&graphs[0], 0, 0, shared);
    printf("; shared %.0f", time_one(&graphs[0]));
    printf(", written %.0f", time_runs(&graphs[0], shared, from, bytes));
    (void)cuda_graph_set_row(&graphs[0], 0, 0, huge);
    printf("; huge pages %.0f", time_one(&graphs[0]));
    printf(", written %.0f", time_runs(&graphs[0], huge, from, bytes));
}

/* What it takes to record, after so many runs, on streams that are new; and what comes of it. */
static void after_warm_runs(void)
{
    static const uint32_t warm[] = {CUDA_WARM_RUNS, CUDA_WARM_RUNS, 1, 1, 0, 0};
    for (uint32_t i = 0; i < sizeof(warm) / sizeof(warm[0]); i++) {
        struct weft_error error = {.status = WEFT_OK};
        open_stream(i);
        const int64_t start_ns = monotonic_ns();
        enum weft_status status =
            cuda_graph_begin(&device, &shares[i], package, &manifest, &graphs[i], &error);
        const int64_t begun_ns = monotonic_ns();
        for (uint32_t k = 0; k < warm[i] && status == WEFT_OK; k++) {
            status = cuda_graph_warm(&graphs[i], package, &manifest, &error);
        }
        const int64_t warm_ns = monotonic_ns();
        if (status == WEFT_OK) {
            status = cuda_graph_record(&graphs[i], package, &manifest, &error);
        }
        const int64_t end_ns = monotonic_ns();
        printf(
            "%s%u runs: memory %.2f, runs %.2f, recording %.2f ms, %s %.0f us", i == 0 ? "" : "; ",
            warm[i], (double)(begun_ns - start_ns) * 1e-6, (double)(warm_ns - begun_ns) * 1e-6,
            (double)(end_ns - warm_ns) * 1e-6, status == WEFT_OK ? "a run" : error.message,
            status == WEFT_OK ? time_one(&graphs[i]) : 0);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
    const char *connections;
} cases[] = {
    {"streams", on_streams, NULL},
    {"streams, 1 connection", on_streams, "1"},
    {"streams, 2 connections", on_streams, "2"},
    {"streams, 32 connections", on_streams, "32"},
    {"one stream", on_one_stream, NULL},
    {"late stream", on_late_stream, NULL},
    {"light streams", beside_light_streams, NULL},
    {"streams that went", after_streams, NULL},
    {"late memory", in_late_memory, NULL},
    {"uploaded", with_upload, NULL},
    {"inputs", with_inputs, NULL},
    {"recordings", after_warm_runs, NULL},
};

int main(int argc, char **argv)
{
    (void)setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    const char *wanted = getenv("GRAPHS"); /* Only cases that begin so. */
    for (int i = 1; i < argc; i++) {
        for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
            if (wanted != NULL && strncmp(cases[k].name, wanted, strlen(wanted)) != 0) {
                continue;
            }
            const pid_t child = fork();
            int status = 1;
            if (child == 0) {
                if (cases[k].connections != NULL) {
                    (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", cases[k].connections, 1);
                }
                open_all(argv[i]);
                printf("graphs %-5s %-24s ", argv[i], cases[k].name);
                cases[k].run();
                printf("\n");
                (void)fflush(stdout);
                _exit(0);
            }
            if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
                (void)fprintf(stderr, "gpu_graphs: '%s' failed\n", cases[k].name);
                return 1;
            }
        }
    }
    printf("graphs measured\n");
    return 0;
}
