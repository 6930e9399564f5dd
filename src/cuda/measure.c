#include "cuda/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "cuda/arena.h"
#include "cuda/engine.h"
#include "cuda/graph.h"
#include "cuda/weights.h"
#include "engine/monotonic.h"
#include "profile/estimate.h"

enum {
    LOADS = 3,      /* That are timed, after one that registers the file. */
    RUNS_MIN = 5,   /* Of each point, at least. */
    RUNS_MAX = 200, /* Of each point, at most. */
    SHARES = 8,     /* Sizes that are measured, at most. */
    STREAMS = 4,    /* That run at the same time, at most: more carry less. */
    BESIDE = 8,     /* Shares that run at the same time, to see what they do to one another. */
};

#define POINT_NS_MAX INT64_C(30000000) /* Enough for a point, once it has RUNS_MIN. */

/* The weights, as a worker has them for itself, and packages that are bound to them. */
struct held {
    bool is_open;  /* There is an address, */
    bool is_there; /* and weights. */
    struct cuda_weights weights;
    struct cuda_package *packages[CUDA_PACKAGES_MAX];
};

struct measuring {
    struct cuda_driver driver;
    struct cuda_torch torch;
    struct cuda_device device;
    struct cuda_shares shares;
    struct CUstream_st *copies;
    struct cuda_blocks blocks;
    struct cuda_manifest manifest;
    struct cuda_parts parts;
    struct held held[BESIDE]; /* Of the first workers. */
    struct cuda_measured *measured;
};

/* Graphs that run again and again beside the one that is timed. */
struct others {
    struct cuda_graph graphs[CUDA_UNITS_MAX];
    bool are_running[CUDA_UNITS_MAX];
    uint32_t count;
};

/* The card, with memory for runs: each share may have all of it, as the
 * others that run beside one have little. */
static enum weft_status open_device(
    struct measuring *measuring, const struct cuda_measure_options *options,
    struct weft_error *error)
{
    struct cuda_driver *driver = &measuring->driver;
    uint64_t arena = 0;
    enum weft_status status = cuda_torch_open(options->torch, &measuring->torch, error);
    if (status == WEFT_OK) {
        status = cuda_driver_open(options->driver, driver, error);
    }
    if (status == WEFT_OK) {
        status = cuda_choose(options->gpu, options->are_streams ? STREAMS : CUDA_UNITS_MAX, error);
    }
    if (status == WEFT_OK) {
        status = cuda_device_open(driver, &measuring->device, error);
    }
    if (status == WEFT_OK) {
        status = cuda_shares_open(&measuring->device, &measuring->shares, error);
    }
    if (status != WEFT_OK) {
        return status;
    }
    measuring->shares.are_streams = options->are_streams;
    measuring->blocks.device = &measuring->device;
    measuring->parts =
        cuda_cut(measuring->shares.unit_count, measuring->shares.rest != 0, options->workers);
    const uint64_t bytes = engine_cuda_arena_bytes(measuring->device.memory_bytes);
    int result = driver->stream_create(&measuring->copies, CUDA_STREAM_APART);
    if (result == CUDA_SUCCESS) {
        result = driver->memory_take(&arena, bytes);
    }
    if (result == CUDA_SUCCESS) {
        cuda_arena_start(arena, bytes, /* budget */ bytes);
    }
    return cuda_check(driver, result, "memory for runs", error);
}

/* Bring the weights to the card, for @held. */
static enum weft_status load(
    struct measuring *measuring, struct held *held, struct weft_error *error)
{
    const struct cuda_manifest *manifest = &measuring->manifest;
    char path[4096];
    struct cuda_block block;
    if (snprintf(path, sizeof(path), "%s/%s", manifest->folder, manifest->weights) >=
        (int)sizeof(path)) {
        return error_set(error, WEFT_LIMIT, "the path of the weights is too long");
    }
    const enum weft_status status =
        cuda_blocks_take(&measuring->blocks, held->weights.range_bytes, &block, error);
    return status == WEFT_OK
               ? cuda_weights_fill(
                     &held->weights, &block, path, measuring->copies, /* beside */ NULL, error)
               : status;
}

/* Weights of its own for @held, which may have them. */
static enum weft_status hold(
    struct measuring *measuring, struct held *held, struct weft_error *error)
{
    enum weft_status status = WEFT_OK;
    if (!held->is_open) {
        status = cuda_weights_open(
            &measuring->device, measuring->manifest.weights_bytes, &held->weights, error);
        held->is_open = status == WEFT_OK;
        cuda_weights_borrow_file(&held->weights, &measuring->held[0].weights);
    }
    if (status == WEFT_OK && !held->is_there) {
        status = load(measuring, held, error);
        held->is_there = status == WEFT_OK;
    }
    return status;
}

static enum weft_status measure_loads(struct measuring *measuring, struct weft_error *error)
{
    struct estimate_times times = {.count = 0};
    struct held *held = &measuring->held[0];
    enum weft_status status = hold(measuring, held, error);
    for (uint32_t i = 0; i < LOADS && status == WEFT_OK; i++) {
        struct cuda_block block = cuda_weights_unmap(&held->weights);
        cuda_blocks_give(&measuring->blocks, &block);
        const int64_t started_ns = monotonic_ns();
        status = load(measuring, held, error);
        estimate_add(&times, monotonic_ns() - started_ns);
    }
    if (status == WEFT_OK) {
        measuring->measured->resident_bytes = held->weights.range_bytes;
        measuring->measured->load_ns = estimate_point(&times, /* items */ 1).run_ns;
    }
    return status;
}

/* Numbers between an eighth and two, of either sign: zeros, and numbers that are alike, run faster.
 */
static void fill_input(const struct cuda_port *port, uint8_t *data, uint64_t bytes)
{
    const bool is_half = port->dtype == WEFT_FP16 || port->dtype == WEFT_BF16;
    const uint32_t width = is_half                    ? 2
                           : port->dtype == WEFT_FP32 ? 4
                           : port->dtype == WEFT_FP64 ? 8
                                                      : 0;
    uint64_t state = 1;
    for (uint64_t at = 0; at < bytes && width > 0; at += width) { /* Whole numbers stay 0. */
        state = state * 6364136223846793005U + 1442695040888963407U;
        const uint64_t sign = state >> 63;
        const uint64_t power = state >> 61 & 3; /* Of two, from an eighth on. */
        const uint64_t some = state >> 9;
        const uint64_t value =
            port->dtype == WEFT_FP16   ? sign << 15 | (12 + power) << 10 | (some & 0x3ff)
            : port->dtype == WEFT_BF16 ? sign << 15 | (124 + power) << 7 | (some & 0x7f)
            : port->dtype == WEFT_FP32 ? sign << 31 | (124 + power) << 23 | (some & 0x7fffff)
                                       : sign << 63 | (1020 + power) << 52 | some >> 12;
        memcpy(data + at, &value, width); /* The machine is little-endian, like the card. */
    }
}

/* A graph on @share, which is a worker's that has @held. */
static enum weft_status open_graph(
    struct measuring *measuring, struct held *held, const struct cuda_share *share,
    uint32_t package, struct cuda_graph *graph_out, struct weft_error *error)
{
    struct cuda_manifest *manifest = &measuring->manifest;
    enum weft_status status = hold(measuring, held, error);
    if (status == WEFT_OK && held->packages[package] == NULL) {
        status = cuda_package_open(
            &measuring->torch, manifest, package, held->weights.address, &held->packages[package],
            error);
    }
    if (status == WEFT_OK) {
        status = cuda_graph_open(
            &measuring->device, share, held->packages[package], manifest, graph_out, error);
    }
    for (uint32_t i = 0; i < manifest->input_count && status == WEFT_OK; i++) {
        fill_input(
            &manifest->inputs[i], graph_out->host + graph_out->input_at[i],
            manifest->inputs[i].row_bytes * graph_out->rows);
    }
    return status;
}

static int compare_times(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left;
    const int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* See which of @others have ended, and start them again; not if this @ends. */
static enum weft_status keep_running(struct others *others, bool ends, struct weft_error *error)
{
    enum weft_status status = WEFT_OK;
    for (uint32_t i = 0; i < others->count && status == WEFT_OK; i++) {
        if (others->are_running[i]) {
            status = cuda_graph_poll(&others->graphs[i], error);
            others->are_running[i] = status == WEFT_BUSY;
            status = status == WEFT_BUSY ? WEFT_OK : status;
        }
        if (status == WEFT_OK && !others->are_running[i] && !ends) {
            others->are_running[i] = true;
            status = cuda_graph_launch(&others->graphs[i], error);
        }
    }
    return status;
}

static enum weft_status end_all(struct others *others, struct weft_error *error)
{
    enum weft_status status = WEFT_OK;
    for (uint32_t i = 0; i < others->count; i++) {
        while (others->are_running[i] && status == WEFT_OK) {
            status = keep_running(others, /* ends */ true, error);
        }
    }
    return status;
}

/*
 * Run @graph again and again, while @others run beside it. In *median_ns_out, which may be NULL, is
 * what half of the runs take.
 */
static enum weft_status time_runs(
    struct cuda_graph *graph, struct others *others, struct estimate_times *times,
    int64_t *median_ns_out, struct weft_error *error)
{
    int64_t all_ns[RUNS_MAX];
    uint32_t count = 0;
    enum weft_status status = WEFT_OK;
    int64_t spent_ns = 0;
    for (uint32_t i = 0; i <= RUNS_MAX && status == WEFT_OK; i++) {
        const int64_t started_ns = monotonic_ns();
        status = cuda_graph_launch(graph, error);
        while (status == WEFT_OK && (status = cuda_graph_poll(graph, error)) == WEFT_BUSY) {
            status = keep_running(others, /* ends */ false, error);
        }
        const int64_t run_ns = monotonic_ns() - started_ns;
        if (i > 0) { /* The first is beside nothing, or not warm. */
            all_ns[count++] = run_ns;
            estimate_add(times, run_ns);
            spent_ns += run_ns;
        }
        if (i >= RUNS_MIN && spent_ns > POINT_NS_MAX) {
            break;
        }
    }
    if (status == WEFT_OK) {
        status = end_all(others, error);
    }
    if (status == WEFT_OK && median_ns_out != NULL) {
        qsort(all_ns, count, sizeof(all_ns[0]), compare_times);
        *median_ns_out = all_ns[count / 2];
    }
    return status;
}

/* As many rows as @package has, and as few as would not fit the one before it, take as long. */
static void add_points(
    struct measuring *measuring, uint32_t package, uint32_t units,
    const struct estimate_times *times)
{
    const struct cuda_manifest *manifest = &measuring->manifest;
    struct cuda_measured *measured = measuring->measured;
    const uint32_t rows[] = {
        package == 0 ? 1 : manifest->packages[package - 1].rows + 1,
        manifest->packages[package].rows,
    };
    for (uint32_t i = rows[0] == rows[1] ? 1 : 0; i < 2; i++) {
        if (measured->point_count < CUDA_MEASURE_POINTS_MAX) {
            struct profile_point *point = &measured->points[measured->point_count++];
            *point = estimate_point(times, rows[i]);
            point->gpu = units;
        }
    }
}

/* The units of the first worker: all, unless the device is cut. */
static uint32_t within(const struct measuring *measuring, uint32_t part)
{
    return cuda_shares_part(&measuring->shares, part, measuring->parts.count);
}

/* The fewest units of a share, and so how many run at a time at most. */
static uint32_t least_units(const struct measuring *measuring)
{
    const uint32_t least = measuring->shares.are_streams ? measuring->parts.units / STREAMS : 1;
    return least == 0 ? 1 : least;
}

/* The sizes of shares that are measured: all that a worker has, as 0, then the least and up. */
static uint32_t list_sizes(const struct measuring *measuring, uint32_t *sizes_out)
{
    uint32_t count = 0;
    sizes_out[count++] = 0;
    for (uint32_t i = least_units(measuring); i < measuring->parts.units && count <= SHARES;
         i *= 2) {
        sizes_out[count++] = i;
    }
    return count;
}

/* All packages on a share of @units; 0: all that a worker has. */
static enum weft_status measure_share(
    struct measuring *measuring, uint32_t units, struct weft_error *error)
{
    struct cuda_share *share = NULL;
    struct others none = {.count = 0};
    const uint32_t wanted = units == 0 ? measuring->parts.units : units;
    enum weft_status status = cuda_shares_take(
        &measuring->shares, within(measuring, /* part */ 0), wanted, &share, error);
    for (uint32_t i = 0; i < measuring->manifest.package_count && status == WEFT_OK; i++) {
        struct estimate_times times = {.count = 0};
        struct cuda_graph graph;
        status = open_graph(measuring, &measuring->held[0], share, i, &graph, error);
        if (status == WEFT_OK) {
            status = time_runs(&graph, &none, &times, /* median_ns_out */ NULL, error);
            cuda_graph_close(&graph);
        }
        if (status == WEFT_OK) {
            add_points(measuring, i, units, &times);
        }
    }
    if (share != NULL) {
        const struct cuda_arena_use use = cuda_arena_use(share->number + 1);
        if (use.held_bytes > measuring->measured->workspace_bytes) {
            measuring->measured->workspace_bytes = use.held_bytes;
        }
        cuda_shares_give(&measuring->shares, share);
    }
    return status;
}

/* A share, and the number of its worker. */
struct place {
    struct cuda_share *share;
    uint32_t part;
};

/* Shares of @units, as many as there are at a time, those of the first worker first. */
static enum weft_status take_shares(
    struct measuring *measuring, uint32_t units, struct place *places, uint32_t *count_out,
    struct weft_error *error)
{
    enum weft_status status = WEFT_OK;
    uint32_t part = 0;
    *count_out = 0;
    while (part < min_u32(measuring->parts.count, BESIDE) && *count_out < BESIDE &&
           status == WEFT_OK) {
        struct cuda_share *share = NULL;
        status =
            cuda_shares_take(&measuring->shares, within(measuring, part), units, &share, error);
        if (status == WEFT_OK && share != NULL) {
            places[(*count_out)++] = (struct place){share, part};
        } else {
            part++;
        }
    }
    return status;
}

/*
 * How long a run of @package takes at the first of @count @places, alone and beside the others, as
 * far as there is memory for these: *@count becomes how many that are, with the first. Workers have
 * weights of their own: what reads the same as its neighbour finds it in the device's cache.
 */
static enum weft_status time_beside(
    struct measuring *measuring, uint32_t package, const struct place *places, uint32_t *count,
    int64_t ns_out[2], struct weft_error *error)
{
    struct cuda_graph graph;
    struct others *others = memory_zeroed(1, sizeof(*others)); /* Large for a stack. */
    struct others none = {.count = 0};
    struct estimate_times times = {.count = 0};
    enum weft_status status = open_graph(
        measuring, &measuring->held[places[0].part], places[0].share, package, &graph, error);
    const bool is_open = status == WEFT_OK;
    while (others->count + 1 < *count && status == WEFT_OK) {
        const uint32_t i = others->count;
        const struct place *place = &places[i + 1];
        status = open_graph(
            measuring, &measuring->held[place->part], place->share, package, &others->graphs[i],
            error);
        others->count += status == WEFT_OK ? 1 : 0;
        if (status == WEFT_NO_MEMORY) {
            *count = others->count + 1;
            status = WEFT_OK;
        }
    }
    if (status == WEFT_OK) {
        status = time_runs(&graph, &none, &times, &ns_out[0], error);
    }
    if (status == WEFT_OK) {
        status = time_runs(&graph, others, &times, &ns_out[1], error);
    }
    for (uint32_t i = 0; i < others->count; i++) {
        cuda_graph_close(&others->graphs[i]);
    }
    if (is_open) {
        cuda_graph_close(&graph);
    }
    free(others);
    return status;
}

/* What was found of @package on a share of @units is said of its points. */
static void note_interference(
    struct measuring *measuring, uint32_t package, uint32_t units, double interference)
{
    const struct cuda_manifest *manifest = &measuring->manifest;
    struct cuda_measured *measured = measuring->measured;
    const uint32_t first = package == 0 ? 1 : manifest->packages[package - 1].rows + 1;
    for (uint32_t i = 0; i < measured->point_count; i++) {
        struct profile_point *point = &measured->points[i];
        if (point->gpu == units && point->items >= first &&
            point->items <= manifest->packages[package].rows) {
            point->interference = interference;
        }
    }
    if (package + 1 == manifest->package_count) {
        measured->interference = interference;
    }
}

/*
 * What others that run the same do to each package on shares of @units; 0: all that a worker has.
 * Beside them a small share loses more than a large one, and on streams a large batch more than a
 * small one, which leaves processors idle.
 */
static enum weft_status measure_beside(
    struct measuring *measuring, uint32_t units, struct weft_error *error)
{
    const uint32_t held = units == 0 ? measuring->parts.units : units;
    const double all = (double)measuring->parts.count * measuring->parts.units;
    struct place places[BESIDE];
    uint32_t count = 0;
    enum weft_status status = take_shares(measuring, held, places, &count, error);
    for (uint32_t i = 0; i < measuring->manifest.package_count && count > 1; i++) {
        int64_t ns[2] = {0, 0};
        uint32_t run = count;
        status = status == WEFT_OK ? time_beside(measuring, i, places, &run, ns, error) : status;
        if (status == WEFT_OK && run > 1 && ns[1] > ns[0]) {
            const double longer =
                (double)(ns[1] - ns[0]) / (double)ns[0] * all / ((run - 1.0) * held);
            note_interference(
                measuring, i, units,
                longer < CUDA_INTERFERENCE_MAX ? longer : CUDA_INTERFERENCE_MAX);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        cuda_shares_give(&measuring->shares, places[i].share);
    }
    return status;
}

enum weft_status cuda_measure(
    const struct cuda_measure_options *options, struct cuda_measured *measured_out,
    struct weft_error *error)
{
    struct measuring measuring = {.measured = measured_out};
    *measured_out = (struct cuda_measured){.point_count = 0};
    enum weft_status status = cuda_manifest_read(options->folder, &measuring.manifest, error);
    if (status == WEFT_OK) {
        status = open_device(&measuring, options, error);
    }
    if (status == WEFT_OK) {
        status = measure_loads(&measuring, error);
    }
    if (status == WEFT_OK) {
        status = measure_share(&measuring, /* units: all */ 0, error);
    }
    uint32_t sizes[SHARES + 1];
    const uint32_t size_count = list_sizes(&measuring, sizes);
    for (uint32_t i = 1; i < size_count && status == WEFT_OK; i++) {
        status = measure_share(&measuring, sizes[i], error);
    }
    /* Last, as graphs are slower once kernels have come from several streams. What is said of the
     * whole model is what was found last. */
    const bool whole_last = measuring.shares.are_streams || measuring.parts.count > 1;
    for (uint32_t i = 0; i < size_count && status == WEFT_OK; i++) {
        const uint32_t at = whole_last ? size_count - 1 - i : i;
        status = measure_beside(&measuring, sizes[at], error);
    }
    cuda_manifest_free(&measuring.manifest);
    return status; /* The rest goes with the process. */
}
