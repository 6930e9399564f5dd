#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "model/grow.h"

__extension__ typedef unsigned __int128 profile_product;

/* Eighths, then half of what is left: the tail is what makes answers late. */
const double profile_shares[PROFILE_QUANTILES] = {
    0,       1.0 / 8,   2.0 / 8,   3.0 / 8,   4.0 / 8,     5.0 / 8, 6.0 / 8,
    7.0 / 8, 15.0 / 16, 31.0 / 32, 63.0 / 64, 127.0 / 128, 1,
};

/* A run of points with one share: what an estimate is made from. */
struct share {
    const struct profile_point *points; /* By items, ascending. */
    uint32_t point_count;
    uint32_t gpu;
    bool is_measured; /* It is the share that was asked for. */
};

struct profile *profile_create(uint32_t model_count)
{
    ASSERT(model_count <= MODELS_MAX);

    struct profile *profile = memory_zeroed(1, sizeof(*profile));
    profile->models = memory_zeroed(model_count > 0 ? model_count : 1, sizeof(*profile->models));
    profile->model_count = model_count;
    return profile;
}

struct profile *profile_copy(const struct profile *profile)
{
    struct profile *copy = profile_create(profile->model_count);
    for (uint32_t i = 0; i < profile->model_count; i++) {
        copy->models[i] = profile->models[i];
        for (uint32_t j = 0; j < DEVICE_KINDS_MAX; j++) {
            const struct profile_curve *curve = &profile->models[i].curves[j];
            struct profile_point *points = NULL;
            for (uint32_t k = 0; k < curve->point_count; k++) {
                points = grow(points, k, sizeof(*points));
                points[k] = curve->points[k];
            }
            copy->models[i].curves[j].points = points;
        }
    }
    return copy;
}

void profile_destroy(struct profile *profile)
{
    if (profile == NULL) {
        return;
    }
    for (uint32_t i = 0; i < profile->model_count; i++) {
        for (uint32_t j = 0; j < DEVICE_KINDS_MAX; j++) {
            free(profile->models[i].curves[j].points);
        }
    }
    free(profile->models);
    free(profile);
}

static bool is_before(const struct profile_point *point, uint32_t gpu, uint32_t cpu, uint64_t items)
{
    if (point->gpu != gpu) {
        return point->gpu < gpu;
    }
    if (point->cpu != cpu) {
        return point->cpu < cpu;
    }
    return point->items < items;
}

static bool is_at(const struct profile_point *point, uint32_t gpu, uint32_t cpu, uint32_t items)
{
    return point->gpu == gpu && point->cpu == cpu && point->items == items;
}

/* The first point that is not before (@gpu, @cpu, @items). Items past 32 bits: after all. */
static uint32_t find_point(
    const struct profile_curve *curve, uint32_t gpu, uint32_t cpu, uint64_t items)
{
    uint32_t low = 0;
    uint32_t high = curve->point_count;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (is_before(&curve->points[middle], gpu, cpu, items)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

enum weft_status profile_add_point(
    struct profile *profile, uint32_t model, uint32_t device, const struct profile_point *point)
{
    ASSERT(model < profile->model_count);
    ASSERT(device < DEVICE_KINDS_MAX);

    struct profile_curve *curve = &profile->models[model].curves[device];
    if (point->items == 0 || point->run_ns < 0 || point->run_ns > DURATION_NS_MAX ||
        point->sd_ns < 0 || point->sd_ns > DURATION_NS_MAX) {
        return WEFT_INVALID;
    }
    const uint32_t at = find_point(curve, point->gpu, point->cpu, point->items);
    if (at < curve->point_count &&
        !is_before(point, curve->points[at].gpu, curve->points[at].cpu, curve->points[at].items)) {
        return WEFT_EXISTS;
    }
    curve->points = grow(curve->points, curve->point_count, sizeof(*curve->points));
    memmove(
        &curve->points[at + 1], &curve->points[at],
        (curve->point_count - at) * sizeof(*curve->points));
    curve->points[at] = *point;
    curve->point_count++;
    profile->models[model].kinds |= UINT32_C(1) << device;

    const uint32_t one = find_point(curve, /* gpu */ 0, /* cpu */ 0, /* items */ 1);
    const bool is_there = one < curve->point_count &&
                          is_at(&curve->points[one], /* gpu */ 0, /* cpu */ 0, /* items */ 1);
    curve->one = is_there ? one : UINT32_MAX;
    const struct config whole_device = {.batch = 1};
    curve->run_one_ns = profile_run(profile, model, device, /* items */ 1, whole_device).run_ns;
    return WEFT_OK;
}

void profile_put_point(
    struct profile *profile, uint32_t model, uint32_t device, const struct profile_point *point)
{
    struct profile_curve *curve = &profile->models[model].curves[device];
    const struct config whole_device = {.batch = 1};

    const enum weft_status status = profile_add_point(profile, model, device, point);
    ASSERT(status == WEFT_OK || status == WEFT_EXISTS);
    if (status == WEFT_EXISTS) {
        curve->points[find_point(curve, point->gpu, point->cpu, point->items)] = *point;
        curve->run_one_ns = profile_run(profile, model, device, /* items */ 1, whole_device).run_ns;
    }
}

void profile_set_handoff(
    struct profile *profile, uint32_t model, uint32_t device, int64_t handoff_ns)
{
    struct profile_curve *curve = &profile->models[model].curves[device];
    const struct config whole_device = {.batch = 1};

    ASSERT(handoff_ns >= 0 && handoff_ns <= DURATION_NS_MAX);
    curve->handoff_ns = handoff_ns;
    curve->run_one_ns = profile_run(profile, model, device, /* items */ 1, whole_device).run_ns;
}

void profile_forget(struct profile *profile, uint32_t model, uint32_t device)
{
    struct profile_curve *curve = &profile->models[model].curves[device];

    free(curve->points);
    *curve = (struct profile_curve){.distribution = curve->distribution};
    profile->models[model].kinds &= ~(UINT32_C(1) << device);
}

void profile_take(
    struct profile *profile, const struct profile *other, uint32_t model, uint32_t device)
{
    ASSERT(model < profile->model_count && model < other->model_count);

    struct profile_model *known = &profile->models[model];
    struct profile_curve *curve = &known->curves[device];
    const struct profile_model *said = &other->models[model];
    const struct profile_curve *given = &said->curves[device];
    profile_forget(profile, model, device);
    for (uint32_t i = 0; i < given->point_count; i++) {
        profile_put_point(profile, model, device, &given->points[i]);
    }
    profile_set_handoff(profile, model, device, given->handoff_ns);
    curve->distribution = given->distribution;
    curve->load_ns = given->load_ns;
    curve->first_run_ns = given->first_run_ns;
    curve->interference = given->interference;
    memcpy(curve->quantiles, given->quantiles, sizeof(curve->quantiles));
    memcpy(curve->load_quantiles, given->load_quantiles, sizeof(curve->load_quantiles));
    if (given->load_ns == 0) {
        known->load_fixed_ns = said->load_fixed_ns;
    }
    known->load_bytes = max_u64(known->load_bytes, said->load_bytes);
    known->resident_bytes = max_u64(known->resident_bytes, said->resident_bytes);
    known->workspace_bytes = max_u64(known->workspace_bytes, said->workspace_bytes);
    known->workspace_bytes_per_item =
        max_u64(known->workspace_bytes_per_item, said->workspace_bytes_per_item);
    known->pinned = known->pinned || said->pinned;
    known->alone = known->alone || said->alone;
}

/* The share nearest to @wanted of the two around it; the smaller one, hence slower, on ties. */
static uint32_t nearest(uint32_t wanted, uint32_t below, uint32_t above)
{
    return above - wanted < wanted - below ? above : below;
}

/* The measured gpu share nearest to @wanted. The whole device, as 0, is above all others. */
static uint32_t choose_gpu(const struct profile_curve *curve, uint32_t wanted)
{
    const uint32_t at = find_point(curve, wanted, /* cpu */ 0, /* items */ 0);
    const bool has_above = at < curve->point_count;
    const bool has_below = at > 0 && curve->points[at - 1].gpu != 0;

    if (has_above && curve->points[at].gpu == wanted) {
        return wanted;
    }
    if (wanted == 0) {
        return curve->points[curve->point_count - 1].gpu;
    }
    if (has_above && has_below) {
        return nearest(wanted, curve->points[at - 1].gpu, curve->points[at].gpu);
    }
    if (has_above) {
        return curve->points[at].gpu;
    }
    return has_below ? curve->points[at - 1].gpu : 0;
}

/* The same for cpu, among the points of @gpu, of which there is one. Here 0 fits everything. */
static uint32_t choose_cpu(const struct profile_curve *curve, uint32_t gpu, uint32_t wanted)
{
    const uint32_t first = find_point(curve, gpu, /* cpu */ 0, /* items */ 0);
    const uint32_t at = find_point(curve, gpu, wanted, /* items */ 0);
    const bool has_above = at < curve->point_count && curve->points[at].gpu == gpu;

    if (has_above && curve->points[at].cpu == wanted) {
        return wanted;
    }
    if (wanted == 0 || curve->points[first].cpu == 0) {
        return curve->points[first].cpu;
    }
    if (has_above && at > first) {
        return nearest(wanted, curve->points[at - 1].cpu, curve->points[at].cpu);
    }
    return has_above ? curve->points[at].cpu : curve->points[at - 1].cpu;
}

static struct share choose_share(const struct profile_curve *curve, struct config config)
{
    const uint32_t gpu = choose_gpu(curve, config.gpu);
    const uint32_t cpu = choose_cpu(curve, gpu, config.cpu);
    const uint32_t first = find_point(curve, gpu, cpu, /* items */ 0);
    const uint32_t end = find_point(curve, gpu, cpu, /* items */ UINT64_MAX);
    const bool cpu_fits = config.cpu == 0 || cpu == 0 || cpu == config.cpu;

    return (struct share){
        .points = &curve->points[first],
        .point_count = end - first,
        .gpu = gpu,
        .is_measured = gpu == config.gpu && cpu_fits,
    };
}

/* (@value * @numerator + @added) / @denominator, at most DURATION_NS_MAX. */
static int64_t scaled(int64_t value, uint64_t numerator, uint64_t denominator, uint64_t added)
{
    const profile_product product = (profile_product)(uint64_t)value * numerator + added;
    const profile_product quotient = product / denominator;
    return quotient < (profile_product)DURATION_NS_MAX ? (int64_t)quotient : DURATION_NS_MAX;
}

static int64_t plus(int64_t a, int64_t b)
{
    return a + b < DURATION_NS_MAX ? a + b : DURATION_NS_MAX;
}

/* On the straight line from (@x0, @y0) to (@x1, @y1), at x0 <= @x <= x1, rounded. */
static int64_t between(uint32_t x0, int64_t y0, uint32_t x1, int64_t y1, uint32_t x)
{
    const uint64_t width = x1 - x0;
    if (y1 >= y0) {
        return y0 + scaled(y1 - y0, x - x0, width, width / 2);
    }
    return y1 + scaled(y0 - y1, x1 - x, width, width / 2);
}

/* For at most as many items as the largest point has. */
static struct estimate estimate_within(const struct share *share, uint32_t items)
{
    const struct profile_point *points = share->points;
    uint32_t i = 0;

    while (points[i].items < items) {
        i++;
    }
    if (points[i].items == items || i == 0) {
        return (struct estimate){
            .run_ns = points[i].run_ns,
            .sd_ns = points[i].sd_ns,
            .slowing = points[i].slowing,
            .interference = points[i].interference,
            .source = points[i].items == items ? ESTIMATE_MEASURED : ESTIMATE_EXTRAPOLATED,
        };
    }
    const struct profile_point *low = &points[i - 1];
    const struct profile_point *high = &points[i];
    return (struct estimate){
        .run_ns = between(low->items, low->run_ns, high->items, high->run_ns, items),
        .sd_ns = between(low->items, low->sd_ns, high->items, high->sd_ns, items),
        .slowing =
            {
                .beside = (low->slowing.beside + high->slowing.beside) / 2,
                .crowded = (low->slowing.crowded + high->slowing.crowded) / 2,
            },
        .interference = (low->interference + high->interference) / 2,
        .source = ESTIMATE_INTERPOLATED,
    };
}

/*
 * For more items than were measured: as many of the largest batches as it takes, one
 * after the other. Deviations are added too, as if the batches were slow together.
 */
static struct estimate estimate_beyond(const struct share *share, uint32_t items)
{
    const struct profile_point *largest = &share->points[share->point_count - 1];

    ASSERT(largest->items > 0);
    const uint32_t batches = items / largest->items;
    const uint32_t rest = items % largest->items;
    struct estimate estimate = {
        .run_ns = scaled(largest->run_ns, batches, /* denominator */ 1, /* added */ 0),
        .sd_ns = scaled(largest->sd_ns, batches, /* denominator */ 1, /* added */ 0),
        .slowing = largest->slowing,
        .interference = largest->interference,
        .source = ESTIMATE_EXTRAPOLATED,
    };

    if (rest > 0) {
        const struct estimate last = estimate_within(share, rest);
        estimate.run_ns = plus(estimate.run_ns, last.run_ns);
        estimate.sd_ns = plus(estimate.sd_ns, last.sd_ns);
    }
    return estimate;
}

static const double *quantiles_of(const struct profile_curve *curve)
{
    return curve->quantiles[PROFILE_QUANTILES - 1] > 0 ? curve->quantiles : NULL;
}

static struct estimate as_measured(const struct profile_curve *curve, uint32_t at)
{
    const struct profile_point *point = &curve->points[at];
    return (struct estimate){
        .run_ns = point->run_ns,
        .sd_ns = point->sd_ns,
        .slowing = point->slowing,
        .interference = point->interference,
        .quantiles = quantiles_of(curve),
        .distribution = curve->distribution,
        .source = ESTIMATE_MEASURED,
    };
}

struct estimate profile_run_only(
    const struct profile *profile, uint32_t model, uint32_t device, uint32_t items,
    struct config config)
{
    const struct profile_curve *curve = &profile->models[model].curves[device];
    if (curve->point_count == 0) {
        return (struct estimate){.source = ESTIMATE_MISSING};
    }
    items = config_items(config, items);
    if (items == 1 && config.gpu == 0 && config.cpu == 0 && curve->one != UINT32_MAX) {
        return as_measured(curve, curve->one); /* What is asked most needs no search. */
    }
    const uint32_t at = find_point(curve, config.gpu, config.cpu, items);
    if (at < curve->point_count && is_at(&curve->points[at], config.gpu, config.cpu, items)) {
        return as_measured(curve, at);
    }
    const struct share share = choose_share(curve, config);
    const bool is_within = items <= share.points[share.point_count - 1].items;
    struct estimate estimate =
        is_within ? estimate_within(&share, items) : estimate_beyond(&share, items);
    estimate.distribution = curve->distribution;
    estimate.quantiles = quantiles_of(curve);
    if (!share.is_measured) {
        estimate.source = ESTIMATE_EXTRAPOLATED;
    }
    /* A smaller share is as much slower; a larger one may be no faster. */
    if (config.gpu != 0 && config.gpu < share.gpu) {
        estimate.run_ns = scaled(estimate.run_ns, share.gpu, config.gpu, config.gpu - 1);
        estimate.sd_ns = scaled(estimate.sd_ns, share.gpu, config.gpu, config.gpu - 1);
    }
    return estimate;
}

struct estimate profile_run(
    const struct profile *profile, uint32_t model, uint32_t device, uint32_t items,
    struct config config)
{
    struct estimate estimate = profile_run_only(profile, model, device, items, config);
    if (estimate.source != ESTIMATE_MISSING) {
        estimate.run_ns = plus(estimate.run_ns, profile->models[model].curves[device].handoff_ns);
    }
    return estimate;
}

int64_t profile_load_ns(
    const struct profile *profile, uint32_t model, const struct fleet_worker *worker)
{
    const struct profile_model *known = &profile->models[model];
    const int64_t load_ns = known->curves[worker->device].load_ns;
    return load_ns > 0
               ? load_ns
               : known->load_fixed_ns + fleet_bytes_ns(known->load_bytes, worker->bus_bytes_per_s);
}

int64_t profile_follow_ns(
    const struct profile *profile, uint32_t model, const struct fleet_worker *worker)
{
    return min_i64(profile->models[model].load_fixed_ns, profile_load_ns(profile, model, worker));
}
