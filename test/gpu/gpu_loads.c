/*
 * gpu_loads.c - what loads of weights cost on a device, step by step, for any size of model.
 *
 * usage: gpu_loads FOLDER MEGABYTES...
 *
 * Makes files of those sizes in FOLDER, and removes them. WEFT_CUDA names another driver. Every
 * rate is held against copies of memory that the driver has pinned, in the same run. Prints
 * medians.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cuda/weights.h"
#include "timed.h"

enum { LOADS = 7, PINNED_BYTES = 128 << 20, PINNED_COPIES = 8 };

#define WHILE_S 0.02

enum step { STEP_TAKE, STEP_COPY, STEP_ALL, STEP_SHUT, STEP_UNMAP, STEP_GIVE, STEPS };

static struct cuda_driver driver;
static struct cuda_device device;
static struct CUstream_st *stream;
static double pinned_rate; /* Bytes per second. */

static void need(enum weft_status status, const struct weft_error *error)
{
    if (status != WEFT_OK) {
        (void)fprintf(stderr, "gpu_loads: %s\n", error->message);
        exit(1);
    }
}

static void must(int result, const char *what)
{
    struct weft_error error;
    need(cuda_check(&driver, result, what, &error), &error);
}

/* Copy @bytes in pieces of @chunk, all of them at once. Returns the seconds. */
static double copy(uint64_t to, const uint8_t *from, uint64_t bytes, uint64_t chunk)
{
    const double start = now();
    for (uint64_t at = 0; at < bytes; at += chunk) {
        const uint64_t left = bytes - at;
        must(driver.copy_in(to + at, from + at, left < chunk ? left : chunk, stream), "copy");
    }
    must(driver.stream_wait(stream), "copy");
    return now() - start;
}

/* What loads are held against. */
static void measure_pinned(void)
{
    void *host;
    uint64_t memory;
    double seconds[LOADS];
    must(driver.host_take(&host, PINNED_BYTES, 0), "memory");
    must(driver.memory_take(&memory, PINNED_BYTES), "memory");
    memset(host, 1, PINNED_BYTES);
    for (uint32_t i = 0; i < LOADS; i++) {
        const double start = now();
        for (uint32_t k = 0; k < PINNED_COPIES; k++) {
            (void)copy(memory, host, PINNED_BYTES, CUDA_CHUNK_BYTES);
        }
        seconds[i] = now() - start;
    }
    pinned_rate = (double)PINNED_BYTES * PINNED_COPIES / median(seconds, LOADS);
    printf("pinned copies of %d MiB: %.1f GB/s\n", PINNED_BYTES >> 20, pinned_rate / 1e9);
    must(driver.memory_give(memory), "memory");
    must(driver.host_give(host), "memory");
}

static void write_file(const char *path, uint64_t bytes)
{
    static uint8_t some[1 << 20];
    uint64_t state = bytes;
    FILE *file = fopen(path, "wbe");
    for (uint64_t at = 0; file != NULL && at < bytes; at += sizeof(some)) {
        for (size_t i = 0; i < sizeof(some); i += sizeof(state)) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            memcpy(some + i, &state, sizeof(state));
        }
        if (fwrite(some, 1, sizeof(some), file) != sizeof(some)) {
            break;
        }
    }
    if (file == NULL || fclose(file) != 0) {
        (void)fprintf(stderr, "gpu_loads: %s cannot be written\n", path);
        exit(1);
    }
}

/* One load; then the memory goes to @blocks, from which the next load has it. */
static void load(
    struct cuda_blocks *blocks, struct cuda_weights *weights, const char *path, double *seconds)
{
    struct weft_error error;
    struct cuda_block block;
    const double start = now();
    need(cuda_blocks_take(blocks, weights->range_bytes, &block, &error), &error);
    const double taken = now();
    need(cuda_weights_fill(weights, &block, path, stream, NULL, &error), &error);
    const double copied = now();
    cuda_block_shut(&device, &weights->block);
    const double shut = now();
    block = cuda_weights_unmap(weights);
    const double unmapped = now();
    cuda_blocks_give(blocks, &block);
    seconds[STEP_TAKE] = taken - start;
    seconds[STEP_COPY] = copied - taken;
    seconds[STEP_ALL] = copied - start;
    seconds[STEP_SHUT] = shut - copied;
    seconds[STEP_UNMAP] = unmapped - shut;
    seconds[STEP_GIVE] = now() - unmapped;
}

/* Copies of the registered file into memory that is there, in one piece and in chunks. */
static void measure_copies(struct cuda_weights *weights)
{
    static const uint64_t chunks[] = {1 << 20, 4 << 20, 16 << 20, 64 << 20, UINT64_MAX / 2};
    uint64_t memory;
    must(driver.memory_take(&memory, weights->bytes), "memory");
    printf("       copies into memory that is there, by chunk:");
    for (size_t i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
        double seconds[LOADS];
        for (uint32_t k = 0; k < LOADS; k++) {
            seconds[k] = copy(memory, weights->file, weights->bytes, chunks[i]);
        }
        const double rate = (double)weights->bytes / median(seconds, LOADS);
        printf(
            "  %s%llu MiB %.1f GB/s (%.0f %%)",
            i + 1 < sizeof(chunks) / sizeof(chunks[0]) ? "" : "over ",
            (unsigned long long)(i + 1 < sizeof(chunks) / sizeof(chunks[0]) ? chunks[i] >> 20 : 64),
            rate / 1e9, 100 * rate / pinned_rate);
    }
    printf("\n");
    must(driver.memory_give(memory), "memory");
}

/* Copy something else for a while: a bus that was idle is slower at first. */
static void copy_meanwhile(void)
{
    static void *host;
    static uint64_t memory;
    const double start = now();
    if (host == NULL) {
        must(driver.host_take(&host, CUDA_CHUNK_BYTES, 0), "memory");
        must(driver.memory_take(&memory, CUDA_CHUNK_BYTES), "memory");
        memset(host, 1, CUDA_CHUNK_BYTES);
    }
    while (now() - start < WHILE_S) {
        (void)copy(memory, host, CUDA_CHUNK_BYTES, CUDA_CHUNK_BYTES);
    }
}

/* Where memory comes from. */
enum source {
    SOURCE_NEW,    /* From the driver. */
    SOURCE_AHEAD,  /* The same, a while before. */
    SOURCE_OTHERS, /* From two models of other sizes. */
    SOURCE_AGAIN,  /* From one of the same size. */
    SOURCES,
};

static const char *const sources[SOURCES] = {"new memory", "ahead", "of others", "again"};

/* Let there be memory of @source for @weights. */
static void prepare(
    struct cuda_blocks *blocks, const struct cuda_weights *weights, enum source source)
{
    if (source != SOURCE_AGAIN) {
        cuda_blocks_close(blocks);
    }
    if (source == SOURCE_AHEAD) {
        cuda_blocks_want(blocks, &weights->bytes, 1, /* copies */ 1, UINT64_MAX);
        while (cuda_blocks_fill(blocks)) {
        }
    }
    if (source == SOURCE_OTHERS) {
        const uint64_t grain = device.grain_bytes;
        struct cuda_block held[2];
        struct weft_error error;
        for (uint32_t i = 0; i < 2; i++) {
            const uint64_t bytes = (weights->bytes * (i + 2) / 4 / grain + 1) * grain;
            need(cuda_blocks_take(blocks, bytes, &held[i], &error), &error);
        }
        cuda_blocks_give(blocks, &held[0]);
        cuda_blocks_give(blocks, &held[1]);
    }
    if (source == SOURCE_AHEAD || source == SOURCE_OTHERS) {
        copy_meanwhile(); /* And the driver clears it. */
    }
}

/* Loads of the file @path into memory of @source. */
static void measure_loads(struct cuda_weights *weights, const char *path, enum source source)
{
    struct cuda_blocks blocks = {.device = &device};
    double steps[STEPS][LOADS];
    double seconds[STEPS];
    load(&blocks, weights, path, seconds);
    for (uint32_t i = 0; i < LOADS; i++) {
        prepare(&blocks, weights, source);
        load(&blocks, weights, path, seconds);
        for (uint32_t k = 0; k < STEPS; k++) {
            steps[k][i] = seconds[k];
        }
    }
    cuda_blocks_close(&blocks);
    for (uint32_t k = 0; k < STEPS; k++) {
        steps[k][0] = median(steps[k], LOADS);
    }
    printf(
        "load   %5.0f MB, %-10s %7.3f ms, %.1f GB/s, %.0f %% of pinned: memory %.0f us, copy and "
        "map %.0f (%.0f %% of pinned); afterwards %.0f; unmap %.0f, ready for the next %.0f\n",
        (double)weights->bytes / 1e6, sources[source], steps[STEP_ALL][0] * 1e3,
        (double)weights->bytes / steps[STEP_ALL][0] / 1e9,
        100 * (double)weights->bytes / steps[STEP_ALL][0] / pinned_rate, steps[STEP_TAKE][0] * 1e6,
        steps[STEP_COPY][0] * 1e6, 100 * (double)weights->bytes / steps[STEP_COPY][0] / pinned_rate,
        steps[STEP_SHUT][0] * 1e6, steps[STEP_UNMAP][0] * 1e6, steps[STEP_GIVE][0] * 1e6);
}

static void measure(const char *folder, uint64_t bytes)
{
    struct weft_error error;
    struct cuda_weights weights;
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/load.%ld", folder, (long)getpid());
    write_file(path, bytes);
    need(cuda_weights_open(&device, bytes, &weights, &error), &error);
    for (enum source i = 0; i < SOURCES; i++) {
        measure_loads(&weights, path, i);
    }
    measure_copies(&weights);
    cuda_weights_close(&weights);
    (void)unlink(path);
}

int main(int argc, char **argv)
{
    struct weft_error error;
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 3) {
        (void)fprintf(stderr, "usage: gpu_loads FOLDER MEGABYTES...\n");
        return 2;
    }
    need(cuda_driver_open(getenv("WEFT_CUDA"), &driver, &error), &error);
    need(cuda_device_open(&driver, &device, &error), &error);
    must(driver.stream_create(&stream, CUDA_STREAM_APART), "a stream");
    measure_pinned();
    for (int i = 2; i < argc; i++) {
        measure(argv[1], strtoull(argv[i], NULL, 10) << 20);
    }
    must(driver.stream_destroy(stream), "a stream");
    cuda_device_close(&device);
    printf("loads measured\n");
    return 0;
}
