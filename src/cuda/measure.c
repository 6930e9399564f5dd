#include "cuda/measure.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "cuda/arena.h"
#include "cuda/engine.h"
#include "cuda/subject.h"
#include "cuda/turns.h"
#include "profile/estimate.h"

enum {
    LOADS = 3,   /* That are timed, after one that registers the file. */
    SHARES = 8,  /* Sizes that are measured, at most. */
    STREAMS = 4, /* That run at the same time, at most: more carry less. */
    BESIDE = 8,  /* Shares that run at the same time, to see what they do to one another. */
};

_Static_assert((int)BESIDE <= (int)SUBJECT_PARTS_MAX, "each may be of another worker");

static const struct turns_enough of_a_point = {.runs = 5, .ns = 30000000};

/* Those that begin at the same time take some runs to come out of step. */
static const struct turns_enough beside_others = {.runs = 15, .ns = 60000000};

struct measuring {
    struct cuda_driver driver;
    struct subject_card card;
    struct cuda_shares shares;
    struct cuda_parts parts;
    struct subject own;
    struct subject others[CUDA_MEASURE_OTHERS_MAX];
    uint32_t other_count;
    struct cuda_measured *measured;
};

/* The card, with memory for runs: each share may have all of it, as the
 * others that run beside one have little. */
static enum weft_status open_device(
    struct measuring *measuring, const struct cuda_measure_options *options,
    struct weft_error *error)
{
    struct cuda_driver *driver = &measuring->driver;
    uint64_t arena = 0;
    enum weft_status status = cuda_torch_open(options->torch, &measuring->card.torch, error);
    if (status == WEFT_OK) {
        status = cuda_driver_open(options->driver, driver, error);
    }
    if (status == WEFT_OK) {
        status = cuda_choose(options->gpu, options->are_streams ? STREAMS : CUDA_UNITS_MAX, error);
    }
    if (status == WEFT_OK) {
        status = cuda_device_open(driver, &measuring->card.device, error);
    }
    if (status == WEFT_OK) {
        status = cuda_shares_open(&measuring->card.device, &measuring->shares, error);
    }
    if (status != WEFT_OK) {
        return status;
    }
    measuring->shares.are_streams = options->are_streams;
    measuring->card.blocks.device = &measuring->card.device;
    measuring->parts =
        cuda_cut(measuring->shares.unit_count, measuring->shares.rest != 0, options->workers);
    const uint64_t bytes = engine_cuda_arena_bytes(measuring->card.device.memory_bytes);
    int result = driver->stream_create(&measuring->card.copies, CUDA_STREAM_APART);
    if (result == CUDA_SUCCESS) {
        result = driver->memory_take(&arena, bytes);
    }
    if (result == CUDA_SUCCESS) {
        cuda_arena_start(arena, bytes, /* budget */ bytes);
    }
    return cuda_check(driver, result, "memory for runs", error);
}

static enum weft_status measure_loads(struct measuring *measuring, struct weft_error *error)
{
    struct estimate_times times = {.count = 0};
    enum weft_status status = subject_hold(&measuring->card, &measuring->own, /* part */ 0, error);
    for (uint32_t i = 0; i < LOADS && status == WEFT_OK; i++) {
        int64_t load_ns = 0;
        status = subject_load_again(&measuring->card, &measuring->own, &load_ns, error);
        estimate_add(&times, load_ns);
    }
    if (status == WEFT_OK) {
        measuring->measured->resident_bytes = measuring->own.held[0].weights.range_bytes;
        measuring->measured->load_ns = estimate_point(&times, /* items */ 1).run_ns;
    }
    return status;
}

/* As many rows as @package has, and as few as would not fit the one before it, take as long. */
static void add_points(
    struct measuring *measuring, uint32_t package, uint32_t units,
    const struct estimate_times *times)
{
    const struct cuda_manifest *manifest = &measuring->own.manifest;
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

static void note_workspace(struct measuring *measuring, const struct cuda_share *share)
{
    const struct cuda_arena_use use = cuda_arena_use(share->number + 1);
    measuring->measured->workspace_bytes =
        max_u64(measuring->measured->workspace_bytes, use.held_bytes);
}

/* All packages alone on a share of @units; 0: all that a worker has. */
static enum weft_status measure_share(
    struct measuring *measuring, uint32_t units, struct weft_error *error)
{
    struct cuda_share *share = NULL;
    const uint32_t wanted = units == 0 ? measuring->parts.units : units;
    enum weft_status status = cuda_shares_take(
        &measuring->shares, within(measuring, /* part */ 0), wanted, &share, error);
    for (uint32_t i = 0; i < measuring->own.manifest.package_count && status == WEFT_OK; i++) {
        const struct subject_place place = {share, /* part */ 0};
        struct turns own = {.count = 1};
        struct turns_times times;
        status = subject_graph(&measuring->card, &measuring->own, &place, i, &own.graphs[0], error);
        if (status == WEFT_OK) {
            status = turns_time(&own, /* others */ NULL, /* count */ 0, &of_a_point, &times, error);
            turns_close(&own);
        }
        if (status == WEFT_OK) {
            add_points(measuring, i, units, &times.all);
        }
    }
    if (share != NULL) {
        note_workspace(measuring, share);
        cuda_shares_give(&measuring->shares, share);
    }
    return status;
}

/* Shares of @units, as many as there are at a time, those of the first worker first. */
static enum weft_status take_shares(
    struct measuring *measuring, uint32_t units, struct subject_place *places, uint32_t *count_out,
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
            places[(*count_out)++] = (struct subject_place){share, part};
        } else {
            part++;
        }
    }
    return status;
}

/*
 * What runs at place @index beside the one where @package is measured. Where the device is cut,
 * each worker runs two models in turn, as in a server others came before and others run beside; the
 * first place begins with what is measured. Else it is the same everywhere.
 */
static struct subject *subject_at(struct measuring *measuring, uint32_t index, uint32_t turn)
{
    const uint32_t count = measuring->other_count;
    if (count == 0 || (index == 0 && turn == 0)) {
        return &measuring->own;
    }
    if (index == 0) {
        return &measuring->others[count - 1];
    }
    const uint32_t number = (index - 1 + turn) % (count + 1);
    return number < count ? &measuring->others[number] : &measuring->own; /* Which may be beside. */
}

/* Open what runs in turn at @place, as far as there is memory: WEFT_NO_MEMORY if there is none. */
static enum weft_status open_turns(
    struct measuring *measuring, const struct subject_place *place, uint32_t index,
    uint32_t package, struct turns *turns_out, struct weft_error *error)
{
    const uint32_t rows = measuring->own.manifest.packages[package].rows;
    const uint32_t wanted = measuring->other_count == 0 ? 1 : 2;
    enum weft_status status = WEFT_OK;
    *turns_out = (struct turns){.count = 0};
    while (turns_out->count < wanted && status == WEFT_OK) {
        struct subject *subject = subject_at(measuring, index, turns_out->count);
        status = subject_graph(
            &measuring->card, subject, place, subject_package(subject, rows),
            &turns_out->graphs[turns_out->count], error);
        turns_out->count += status == WEFT_OK ? 1 : 0;
    }
    return status == WEFT_NO_MEMORY && turns_out->count > 0 ? WEFT_OK : status;
}

struct found {
    struct turns_times alone;
    struct turns_times beside; /* The others. */
};

/*
 * How long a run of @package takes at the first of @count @places, alone and beside the others, as
 * far as there is memory for these: *@count becomes how many that are, with the first. Graphs of
 * all are there before the first run: they make a device slower, as in a server.
 */
static enum weft_status time_beside(
    struct measuring *measuring, uint32_t package, const struct subject_place *places,
    uint32_t *count, struct found *found_out, struct weft_error *error)
{
    struct turns *turns = memory_zeroed(BESIDE, sizeof(*turns)); /* Large for a stack. */
    uint32_t opened = 0;
    enum weft_status status = WEFT_OK;
    while (opened < *count && status == WEFT_OK) {
        status = open_turns(measuring, &places[opened], opened, package, &turns[opened], error);
        if (status == WEFT_NO_MEMORY && opened > 0) {
            *count = opened;
            status = WEFT_OK;
        } else {
            opened++; /* Or some of it: it is closed. */
        }
    }
    if (status == WEFT_OK) {
        status = turns_time(
            &turns[0], /* others */ NULL, /* count */ 0, &of_a_point, &found_out->alone, error);
    }
    if (status == WEFT_OK) {
        status = turns_time(
            &turns[0], &turns[1], opened - 1,
            measuring->parts.count > 1 ? &beside_others : &of_a_point, &found_out->beside, error);
    }
    for (uint32_t i = 0; i < opened; i++) {
        turns_close(&turns[i]);
    }
    free(turns);
    return status;
}

/* What was found of @package on a share of @units is said of its points: that runs are so much
 * longer beside others. */
static void note_interference(
    struct measuring *measuring, uint32_t package, uint32_t units, double longer)
{
    const double interference = min_double(longer, CUDA_INTERFERENCE_MAX);
    const struct cuda_manifest *manifest = &measuring->own.manifest;
    struct cuda_measured *measured = measuring->measured;
    const uint32_t first = package == 0 ? 1 : manifest->packages[package - 1].rows + 1;
    for (uint32_t i = 0; i < measured->point_count && longer > 0; i++) {
        struct profile_point *point = &measured->points[i];
        if (point->gpu == units && point->items >= first &&
            point->items <= manifest->packages[package].rows) {
            point->interference = interference;
        }
    }
    if (package + 1 == manifest->package_count && longer > 0) {
        measured->interference = interference;
    }
}

/*
 * What others do to each package on shares of @units; 0: all that a worker has. Beside them a small
 * share loses more than a large one, and on streams a large batch more than a small one, which
 * leaves processors idle. Of a device that is cut, this is also where packages are measured alone.
 */
static enum weft_status measure_beside(
    struct measuring *measuring, uint32_t units, struct weft_error *error)
{
    const uint32_t held = units == 0 ? measuring->parts.units : units;
    const double all = (double)measuring->parts.count * measuring->parts.units;
    const bool is_cut = measuring->parts.count > 1;
    struct subject_place places[BESIDE];
    uint32_t count = 0;
    enum weft_status status = take_shares(measuring, held, places, &count, error);
    const uint32_t packages = is_cut || count > 1 ? measuring->own.manifest.package_count : 0;
    for (uint32_t i = 0; i < packages && status == WEFT_OK; i++) {
        struct found found;
        uint32_t run = count;
        status = time_beside(measuring, i, places, &run, &found, error);
        if (status == WEFT_OK && is_cut) {
            add_points(measuring, i, units, &found.alone.all);
        }
        if (status == WEFT_OK && run > 1) {
            const double ratio = (double)found.beside.median_ns / (double)found.alone.median_ns;
            note_interference(measuring, i, units, (ratio - 1) * all / ((run - 1.0) * held));
        }
    }
    if (is_cut && count > 0) {
        note_workspace(measuring, places[0].share);
    }
    for (uint32_t i = 0; i < count; i++) {
        cuda_shares_give(&measuring->shares, places[i].share);
    }
    return status;
}

/* Read what the models beside are, of a device that is cut. Those that cannot be read are left out.
 */
static void read_others(struct measuring *measuring, const struct cuda_measure_options *options)
{
    for (uint32_t i = 0; i < options->other_count && measuring->parts.count > 1 &&
                         measuring->other_count < CUDA_MEASURE_OTHERS_MAX;
         i++) {
        struct subject *other = &measuring->others[measuring->other_count];
        if (cuda_manifest_read(options->others[i], &other->manifest, /* error */ NULL) == WEFT_OK) {
            measuring->other_count++;
        }
    }
}

/* Everything that is measured of a model whose device is open. */
static enum weft_status measure_all(struct measuring *measuring, struct weft_error *error)
{
    const bool is_cut = measuring->parts.count > 1;
    uint32_t sizes[SHARES + 1];
    const uint32_t size_count = list_sizes(measuring, sizes);
    enum weft_status status = measure_loads(measuring, error);
    for (uint32_t i = 0; i < size_count && status == WEFT_OK && !is_cut; i++) {
        status = measure_share(measuring, sizes[i], error);
    }
    /* Last, as graphs are slower once kernels have come from several streams. What is said of the
     * whole model is what was found last. */
    for (uint32_t i = 0; i < size_count && status == WEFT_OK; i++) {
        const bool whole_last = measuring->shares.are_streams || is_cut;
        const uint32_t at = whole_last ? size_count - 1 - i : i;
        status = measure_beside(measuring, sizes[at], error);
    }
    return status;
}

enum weft_status cuda_measure(
    const struct cuda_measure_options *options, struct cuda_measured *measured_out,
    struct weft_error *error)
{
    struct measuring *measuring = memory_zeroed(1, sizeof(*measuring));
    measuring->measured = measured_out;
    *measured_out = (struct cuda_measured){.point_count = 0};
    enum weft_status status = cuda_manifest_read(options->folder, &measuring->own.manifest, error);
    if (status == WEFT_OK) {
        status = open_device(measuring, options, error);
    }
    if (status == WEFT_OK) {
        read_others(measuring, options);
        status = measure_all(measuring, error);
    }
    return status; /* All of it goes with the process. */
}
