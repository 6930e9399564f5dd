/*
 * profile.h - what has been measured: run times, load sizes, memory.
 *
 * Run time is known at points (items, cpu share, gpu share) for a model on a kind of
 * device. Between measured numbers of items of one share it is interpolated; beyond
 * them, or for an unmeasured share, the answer says that it is a guess. The first run
 * after a load takes longer, which is known apart from the load and from other runs. Load
 * bytes (what crosses the bus), resident bytes (what stays) and workspace bytes (what
 * a running batch needs on top) are three different things.
 */
#ifndef PROFILE_PROFILE_H
#define PROFILE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/status.h>

#include "model/fleet.h"
#include "model/slowing.h"

/* How many items run together, and on how much of the machine. */
struct config {
    uint32_t batch; /* Items at most. */
    uint32_t cpu;   /* Units; 0: as the profile's first point. */
    uint32_t gpu;   /* Units of the device; 0: all of them. */
    uint32_t parts; /* Items are split, and run at once on as many processors. 0: as 1. */
};

/* Of @items, how many the largest part has. */
static inline uint32_t config_items(struct config config, uint32_t items)
{
    return config.parts > 1 ? items / config.parts + (items % config.parts != 0) : items;
}

struct profile_point {
    uint32_t items;
    uint32_t cpu; /* 0: any. */
    uint32_t gpu; /* 0: the whole device. */
    int64_t run_ns;
    int64_t sd_ns;          /* Standard deviation of the run time. */
    struct slowing slowing; /* What runs met while this was learnt; none where it was measured. */
    double interference;    /* As that of its curve, of these items on this share. 0: as there. */
};

enum estimate_source {
    ESTIMATE_MEASURED,
    ESTIMATE_INTERPOLATED,
    ESTIMATE_EXTRAPOLATED, /* Outside of what was measured: a guess. */
    ESTIMATE_MISSING,      /* This model was never measured on this device. */
};

/* How run times scatter about their mean: draw.h says what each is drawn from. */
enum profile_distribution {
    DISTRIBUTION_NORMAL, /* If nothing is said. Without a standard deviation: no scatter. */
    DISTRIBUTION_EXPONENTIAL,
    DISTRIBUTION_GAMMA,
    DISTRIBUTION_DETERMINISTIC,
};

/*
 * Run times as parts of their mean: quantiles at profile_shares[], the last one such that draws
 * have the mean of what was seen. All 0: not known.
 */
enum { PROFILE_QUANTILES = 13 };

extern const double profile_shares[PROFILE_QUANTILES];

struct estimate {
    int64_t run_ns;
    int64_t sd_ns;
    struct slowing slowing;  /* As in struct profile_point. */
    double interference;     /* Likewise. */
    const double *quantiles; /* PROFILE_QUANTILES of them, of the curve; NULL: not known. */
    enum profile_distribution distribution;
    enum estimate_source source;
};

/* Measurements of one model on one kind of device. */
struct profile_curve {
    uint32_t point_count;
    struct profile_point *points; /* By gpu, cpu, then items, ascending. */
    int64_t run_one_ns;           /* One item on the whole device: what planners ask most. */
    uint32_t one;                 /* The point that says it, or UINT32_MAX if none does. */
    enum profile_distribution distribution;
    int64_t load_ns;    /* To become resident on this kind, copy included. 0: as the model says. */
    int64_t handoff_ns; /* Of every batch beside its run: to hand it over and to notice its end. */
    int64_t first_run_ns; /* What the first run after a load takes longer than later ones. */
    double
        interference; /* How much longer a run takes beside others that hold all of the device. */
    double quantiles[PROFILE_QUANTILES];      /* Once there were enough runs. */
    double load_quantiles[PROFILE_QUANTILES]; /* The same of loads. */
};

struct profile_model {
    uint64_t load_bytes;
    uint64_t resident_bytes;
    uint64_t workspace_bytes;          /* Of a batch, whatever its items. */
    uint64_t workspace_bytes_per_item; /* Of a batch, for each of its items. */
    int64_t load_fixed_ns;             /* Beside the copy itself. */
    bool pinned;     /* Stays where it is resident as long as anything else can leave. */
    bool alone;      /* Tasks never share a run of it, whatever their batch; for people. */
    uint32_t kinds;  /* A bit for each kind of device that has a point. */
    uint32_t barred; /* A bit for each that cannot run it. */
    struct profile_curve curves[DEVICE_KINDS_MAX];
};

_Static_assert(DEVICE_KINDS_MAX <= 32, "a bit for each kind of device");

struct profile {
    uint32_t model_count;
    struct profile_model *models;
};

/* A profile of @model_count models of which nothing is known; the caller owns it. */
struct profile *profile_create(uint32_t model_count);

/* What @profile says now, whatever is measured later; the caller owns it. */
struct profile *profile_copy(const struct profile *profile);

/* Release @profile. NULL is allowed. */
void profile_destroy(struct profile *profile);

/* Errors: WEFT_EXISTS if this point is known already; WEFT_INVALID if it makes no sense. */
enum weft_status profile_add_point(
    struct profile *profile, uint32_t model, uint32_t device, const struct profile_point *point);

/* The same for a point that makes sense: one that is known already is replaced. */
void profile_put_point(
    struct profile *profile, uint32_t model, uint32_t device, const struct profile_point *point);

/* Every batch of @model on @device takes @handoff_ns beside its run. */
void profile_set_handoff(
    struct profile *profile, uint32_t model, uint32_t device, int64_t handoff_ns);

/* Forget every point of @model on @device. */
void profile_forget(struct profile *profile, uint32_t model, uint32_t device);

/*
 * Let @profile say of @model on @device what @other does, in place of what it said. Of bytes, which
 * are not told apart by devices, the larger count.
 */
void profile_take(
    struct profile *profile, const struct profile *other, uint32_t model, uint32_t device);

/*
 * How long a batch of @items holds its worker, with the shares of @config, at most
 * DURATION_NS_MAX: its run and the hand-off.
 * Split into parts, it takes as long as the largest of them.
 * More items than were measured count as several batches. A gpu share that was not
 * measured takes as long as the nearest one, and longer if it is smaller.
 */
struct estimate profile_run(
    const struct profile *profile, uint32_t model, uint32_t device, uint32_t items,
    struct config config);

/* The same without the hand-off: what points say. */
struct estimate profile_run_only(
    const struct profile *profile, uint32_t model, uint32_t device, uint32_t items,
    struct config config);

/* One item alone on the whole device: one load, no search. */
static inline int64_t profile_run_one_ns(
    const struct profile *profile, uint32_t model, uint32_t device)
{
    return profile->models[model].curves[device].run_one_ns;
}

/* @items together, alone on the whole device. */
static inline int64_t profile_run_alone_ns(
    const struct profile *profile, uint32_t model, uint32_t device, uint32_t items)
{
    if (items <= 1) {
        return profile_run_one_ns(profile, model, device);
    }
    const struct config config = {.batch = items};
    return profile_run(profile, model, device, items, config).run_ns;
}

/* Whether @model has at least one point on @device. */
static inline bool profile_is_measured(
    const struct profile *profile, uint32_t model, uint32_t device)
{
    return profile->models[model].curves[device].point_count > 0;
}

/*
 * The kinds of devices that can run @model, a bit each: those on which it was measured. If it
 * was on none, it is not known, and all count that are not barred.
 */
static inline uint32_t profile_kinds(const struct profile *profile, uint32_t model)
{
    const struct profile_model *known = &profile->models[model];
    return (known->kinds == 0 ? UINT32_MAX : known->kinds) & ~known->barred;
}

static inline bool profile_kinds_have(uint32_t kinds, uint32_t device)
{
    return (kinds >> device & 1) != 0;
}

static inline bool profile_can_run(const struct profile *profile, uint32_t model, uint32_t device)
{
    return profile_kinds_have(profile_kinds(profile, model), device);
}

/* The same on the fastest of @device_count kinds. INT64_MAX if none of them can run @model. */
static inline int64_t profile_fastest_ns(
    const struct profile *profile, uint32_t model, uint32_t items, uint32_t device_count)
{
    int64_t best_ns = INT64_MAX;
    for (uint32_t device = 0; device < device_count; device++) {
        if (profile_can_run(profile, model, device)) {
            const int64_t run_ns = profile_run_alone_ns(profile, model, device, items);
            best_ns = run_ns < best_ns ? run_ns : best_ns;
        }
    }
    return best_ns;
}

/* How long @model takes to become resident on @worker over an idle bus. */
int64_t profile_load_ns(
    const struct profile *profile, uint32_t model, const struct fleet_worker *worker);

/* The same if another that shares the memory of @worker has it: its weights are there. */
int64_t profile_follow_ns(
    const struct profile *profile, uint32_t model, const struct fleet_worker *worker);

static inline uint64_t profile_workspace_bytes(
    const struct profile *profile, uint32_t model, uint32_t items)
{
    const struct profile_model *known = &profile->models[model];
    return known->workspace_bytes + known->workspace_bytes_per_item * items;
}

#endif /* PROFILE_PROFILE_H */
