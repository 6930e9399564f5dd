#include "cuda/graph.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "cuda/arena.h"
#include "engine/monotonic.h"

enum {
    ALIGNMENT = 256,
    PIECE_BYTES = 16, /* A thread of the reader copies so much. */
    BLOCK_THREADS = 128,
};

static uint64_t align(uint64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Whether rows of input @port can be read apart: in whole pieces. */
static bool is_apart(const struct cuda_graph *graph, uint32_t port)
{
    return graph->row_bytes[port] % PIECE_BYTES == 0;
}

/* Rows that cannot be read apart are one. */
static uint32_t rows_of(const struct cuda_graph *graph, uint32_t port)
{
    return is_apart(graph, port) ? graph->rows : 1;
}

/* How many pieces such a row has. */
static uint32_t pieces_of(const struct cuda_graph *graph, uint32_t port)
{
    const uint64_t bytes = is_apart(graph, port) ? graph->row_bytes[port]
                                                 : align(graph->row_bytes[port] * graph->rows);
    return (uint32_t)(bytes / PIECE_BYTES);
}

/* and the blocks of threads that read it. */
static uint32_t blocks_of(const struct cuda_graph *graph, uint32_t port)
{
    return (pieces_of(graph, port) + BLOCK_THREADS - 1) / BLOCK_THREADS;
}

/* Where inputs and outputs lie. Returns the bytes of host memory. */
static uint64_t lay_out(struct cuda_graph *graph, const struct cuda_manifest *manifest)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < manifest->input_count; i++) {
        graph->row_bytes[i] = manifest->inputs[i].row_bytes;
        graph->input_at[i] = at;
        at += align(graph->row_bytes[i] * graph->rows);
    }
    graph->input_bytes = at;
    for (uint32_t i = 0; i < manifest->input_count; i++) {
        graph->table_at[i] = at;
        at += align(sizeof(uint64_t) * rows_of(graph, i) * blocks_of(graph, i));
    }
    for (uint32_t i = 0; i < manifest->output_count; i++) {
        graph->output_at[i] = at;
        at += align(manifest->outputs[i].row_bytes * graph->rows);
    }
    return at;
}

/* Most often it is what it was: requests find the memory of those before them. */
static void set_address(struct cuda_graph *graph, uint32_t port, uint32_t row, const void *data)
{
    const uint64_t address = (uint64_t)(uintptr_t)data;
    const uint32_t blocks = blocks_of(graph, port);
    uint64_t *table =
        (uint64_t *)(void *)(graph->host + graph->table_at[port]) + (size_t)row * blocks;
    for (uint32_t i = 0; i < blocks && table[0] != address; i++) {
        table[blocks - 1 - i] = address; /* The first says whether all are, so it comes last. */
    }
}

void cuda_graph_own_row(struct cuda_graph *graph, uint32_t port, uint32_t row)
{
    const uint32_t at = is_apart(graph, port) ? row : 0;
    const uint8_t *data = graph->host + graph->input_at[port] + at * graph->row_bytes[port];
    set_address(graph, port, at, data);
}

bool cuda_graph_set_row(struct cuda_graph *graph, uint32_t port, uint32_t row, const void *data)
{
    if (!is_apart(graph, port) || (uintptr_t)data % PIECE_BYTES != 0) {
        return false;
    }
    set_address(graph, port, row, data);
    return true;
}

static int read_input(struct cuda_graph *graph, uint32_t port)
{
    uint64_t to = graph->device_in + graph->input_at[port];
    const uint8_t *table = graph->host + graph->table_at[port];
    unsigned each = pieces_of(graph, port);
    unsigned blocks = blocks_of(graph, port);
    void *arguments[] = {&to, &table, &each, &blocks};
    return graph->device->driver->kernel_launch(
        graph->device->gather, rows_of(graph, port) * blocks, 1, 1, BLOCK_THREADS, 1, 1,
        /* shared */ 0, graph->share->stream, arguments, NULL);
}

/* Put one run on the stream, or record it. */
static enum weft_status enqueue(
    struct cuda_graph *graph, struct cuda_package *package, const struct cuda_manifest *manifest,
    struct weft_error *error)
{
    const struct cuda_driver *driver = graph->device->driver;
    struct AtenTensorOpaque *tensors[CUDA_PORTS_MAX];
    uint64_t inputs[CUDA_PORTS_MAX];
    uint64_t outputs[CUDA_PORTS_MAX];
    int result = CUDA_SUCCESS;
    for (uint32_t i = 0; i < manifest->input_count && result == CUDA_SUCCESS; i++) {
        inputs[i] = graph->device_in + graph->input_at[i];
        result = read_input(graph, i);
    }
    if (result != CUDA_SUCCESS) {
        return cuda_check(driver, result, "read the inputs", error);
    }
    const enum weft_status status =
        cuda_package_run(package, inputs, graph->share->stream, outputs, tensors, error);
    if (status != WEFT_OK) {
        return status;
    }
    for (uint32_t i = 0; i < manifest->output_count && result == CUDA_SUCCESS; i++) {
        result = driver->copy_out(
            graph->host + graph->output_at[i], outputs[i],
            manifest->outputs[i].row_bytes * graph->rows, graph->share->stream);
    }
    cuda_package_drop(package, tensors);
    return cuda_check(driver, result, "copy the outputs", error);
}

static enum weft_status run_once(
    struct cuda_graph *graph, struct cuda_package *package, const struct cuda_manifest *manifest,
    struct weft_error *error)
{
    const struct cuda_driver *driver = graph->device->driver;
    const enum weft_status status = enqueue(graph, package, manifest, error);
    const int result = driver->stream_wait(graph->share->stream);
    return status == WEFT_OK || cuda_is_fatal(result)
               ? cuda_check(driver, result, "run once", error)
               : status;
}

static enum weft_status record(
    struct cuda_graph *graph, struct cuda_package *package, const struct cuda_manifest *manifest,
    struct weft_error *error)
{
    const struct cuda_driver *driver = graph->device->driver;
    struct CUstream_st *stream = graph->share->stream;
    struct CUgraph_st *recorded = NULL;
    int result = driver->capture_begin(stream, CUDA_CAPTURE_THREAD);
    if (result != CUDA_SUCCESS) {
        return cuda_check(driver, result, "record", error);
    }
    const enum weft_status status = enqueue(graph, package, manifest, error);
    result = driver->capture_end(stream, &recorded); /* In any case. */
    if (status == WEFT_OK && result == CUDA_SUCCESS) {
        result = driver->graph_make(&graph->graph, recorded, /* flags */ 0);
    }
    if (recorded != NULL) {
        (void)driver->graph_destroy(recorded);
    }
    return status == WEFT_OK ? cuda_check(driver, result, "record", error) : status;
}

/* If a run failed because the share has spent its memory: say that. */
static enum weft_status explain(
    const struct cuda_graph *graph, enum weft_status status, struct weft_error *error)
{
    const struct cuda_arena_use use = cuda_arena_use(graph->share->number + 1);
    if (status != WEFT_FAILED || use.denied_bytes == 0) {
        return status;
    }
    return error_set(
        error, WEFT_NO_MEMORY, "a run of %u rows asked for %llu bytes more; its share has %llu",
        graph->rows, (unsigned long long)use.denied_bytes, (unsigned long long)use.held_bytes);
}

static void own_rows(struct cuda_graph *graph, const struct cuda_manifest *manifest)
{
    for (uint32_t i = 0; i < manifest->input_count; i++) {
        for (uint32_t k = 0; k < rows_of(graph, i); k++) {
            cuda_graph_own_row(graph, i, k);
        }
    }
}

enum weft_status cuda_graph_begin(
    const struct cuda_device *device, const struct cuda_share *share, struct cuda_package *package,
    const struct cuda_manifest *manifest, struct cuda_graph *graph_out, struct weft_error *error)
{
    const struct cuda_driver *driver = device->driver;
    struct cuda_graph *graph = graph_out;
    *graph = (struct cuda_graph){
        .device = device,
        .share = share,
        .stream = share->stream,
        .rows = cuda_package_rows(package),
    };
    graph->bytes = lay_out(graph, manifest);
    int result = driver->host_take((void **)&graph->host, graph->bytes, CUDA_HOST_PORTABLE);
    if (result == CUDA_SUCCESS) {
        memset(graph->host, 0, graph->bytes);
        own_rows(graph, manifest);
        result = driver->memory_take(&graph->device_in, graph->input_bytes);
    }
    if (result == CUDA_SUCCESS) {
        result = driver->event_create(&graph->event, CUDA_EVENT_UNTIMED);
    }
    const enum weft_status status = cuda_check(driver, result, "memory for inputs", error);
    if (status != WEFT_OK) {
        cuda_graph_close(graph);
    }
    return status;
}

enum weft_status cuda_graph_warm(
    struct cuda_graph *graph, struct cuda_package *package, const struct cuda_manifest *manifest,
    struct weft_error *error)
{
    cuda_arena_enter(graph->share->number + 1);
    const int64_t started_ns = monotonic_ns();
    const enum weft_status status =
        explain(graph, run_once(graph, package, manifest, error), error);
    graph->most_ns = monotonic_ns() - started_ns;
    cuda_arena_enter(CUDA_OWNER_COMMON);
    return status;
}

enum weft_status cuda_graph_record(
    struct cuda_graph *graph, struct cuda_package *package, const struct cuda_manifest *manifest,
    struct weft_error *error)
{
    cuda_arena_enter(graph->share->number + 1);
    const enum weft_status status = explain(graph, record(graph, package, manifest, error), error);
    cuda_arena_enter(CUDA_OWNER_COMMON);
    return status;
}

enum weft_status cuda_graph_open(
    const struct cuda_device *device, const struct cuda_share *share, struct cuda_package *package,
    const struct cuda_manifest *manifest, struct cuda_graph *graph_out, struct weft_error *error)
{
    enum weft_status status = cuda_graph_begin(device, share, package, manifest, graph_out, error);
    if (status != WEFT_OK) {
        return status;
    }
    for (uint32_t i = 0; i < CUDA_WARM_RUNS && status == WEFT_OK; i++) {
        status = cuda_graph_warm(graph_out, package, manifest, error);
    }
    if (status == WEFT_OK) {
        status = cuda_graph_record(graph_out, package, manifest, error);
    }
    if (status != WEFT_OK) {
        cuda_graph_close(graph_out);
    }
    return status;
}

void cuda_graph_close(struct cuda_graph *graph)
{
    const struct cuda_driver *driver = graph->device->driver;
    if (graph->graph != NULL) {
        (void)driver->graph_exec_destroy(graph->graph);
    }
    if (graph->event != NULL) {
        (void)driver->event_destroy(graph->event);
    }
    if (graph->device_in != 0) {
        (void)driver->memory_give(graph->device_in);
    }
    if (graph->host != NULL) {
        (void)driver->host_give(graph->host);
    }
    *graph = (struct cuda_graph){.device = graph->device};
}

enum weft_status cuda_graph_launch(struct cuda_graph *graph, struct weft_error *error)
{
    const struct cuda_driver *driver = graph->device->driver;
    ASSERT(graph->graph != NULL);
    int result = driver->graph_launch(graph->graph, graph->stream);
    if (result == CUDA_SUCCESS) {
        result = driver->event_record(graph->event, graph->stream);
    }
    return cuda_check(driver, result, "launch", error);
}

enum weft_status cuda_graph_poll(struct cuda_graph *graph, struct weft_error *error)
{
    const int result = graph->device->driver->event_query(graph->event);
    if (result == CUDA_NOT_READY) {
        return WEFT_BUSY;
    }
    return cuda_check(graph->device->driver, result, "run", error);
}
