#include "profile/refine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "base/units.h"
#include "profile/estimate.h"
#include "profile/scatter.h"

enum {
    OUTLIER_DEVIATIONS = 4, /* A run counts up to so many standard deviations above the mean. */
    LOADS_KEPT = 7,
    TELL_RUN = 16,      /* Part of a run time by which it moves before it is told again; */
    TELL_REST = 4,      /* of a hand-off or a load, which scatter more. */
    HANDOFF_STEPS = 16, /* The median of hand-offs moves by such a part of itself. */
};

/* What is known of one point, beside the mean and the spread that the profile has. */
struct weight {
    uint32_t model;
    uint32_t device;
    uint32_t items;
    uint32_t gpu;
    uint32_t runs;
    uint32_t seen;           /* Of those, here. */
    bool is_measured;        /* It was, of a kind that this machine has. */
    int64_t told_ns;         /* What others know: of a run, 0 for nothing; */
    int64_t told_handoff_ns; /* of the hand-off; */
    int64_t told_load_ns;    /* of loads; */
    int64_t told_first_ns;   /* of first runs. */
};

/* The most that runs of a model have needed, by items, ascending. */
struct needed {
    uint32_t count;
    struct estimate_bytes points[REFINE_WORKSPACES_MAX];
};

/* How long the last loads of a model took. */
struct loads {
    uint32_t count;
    int64_t ns[LOADS_KEPT]; /* A ring. */
};

/* What first runs of a model on a kind of device take longer than others: perhaps less. */
struct first_runs {
    uint32_t seen;
    uint32_t runs; /* With what was known before. */
    int64_t mean_ns;
    int64_t sd_ns;
};

struct refine {
    struct profile *profile;
    struct needed *needed; /* By model, as are loads. */
    struct loads *loads;
    struct scatter **scatters;     /* By model and device, of those that ran on a processor. */
    struct first_runs *first_runs; /* By model and device. */
    struct weight *weights;
    uint32_t weight_count;
    uint32_t weight_max;
    uint32_t next; /* The weight that is looked at next for news. */
    uint64_t count;
};

struct refine *refine_create(struct profile *profile)
{
    struct refine *refine = memory_zeroed(1, sizeof(*refine));
    refine->profile = profile;
    refine->needed = memory_zeroed(profile->model_count + 1, sizeof(*refine->needed));
    refine->loads = memory_zeroed(profile->model_count + 1, sizeof(*refine->loads));
    refine->scatters = memory_zeroed(
        (size_t)(profile->model_count + 1) * DEVICE_KINDS_MAX, sizeof(struct scatter *));
    refine->first_runs = memory_zeroed(
        (size_t)(profile->model_count + 1) * DEVICE_KINDS_MAX, sizeof(*refine->first_runs));
    return refine;
}

void refine_destroy(struct refine *refine)
{
    if (refine == NULL) {
        return;
    }
    free(refine->weights);
    free(refine->needed);
    free(refine->loads);
    for (size_t i = 0; i < (size_t)refine->profile->model_count * DEVICE_KINDS_MAX; i++) {
        free(refine->scatters[i]);
    }
    free(refine->scatters);
    free(refine->first_runs);
    free(refine);
}

static struct first_runs *first_runs_of(
    const struct refine *refine, uint32_t model, uint32_t device)
{
    return &refine->first_runs[(size_t)model * DEVICE_KINDS_MAX + device];
}

/* What points call the share that @ran had. */
static uint32_t point_gpu(const struct refine_ran *ran)
{
    return ran->gpu == REFINE_ALL_UNITS ? 0 : ran->gpu;
}

/* The weight of the point of @ran at @items, which begins with @runs. */
static struct weight *weight_of(
    struct refine *refine, const struct refine_ran *ran, uint32_t items, uint32_t runs)
{
    const uint32_t gpu = point_gpu(ran);
    for (uint32_t i = 0; i < refine->weight_count; i++) {
        struct weight *weight = &refine->weights[i];
        if (weight->model == ran->model && weight->device == ran->device &&
            weight->items == items && weight->gpu == gpu) {
            return weight;
        }
    }
    if (refine->weight_count == refine->weight_max) {
        const uint32_t larger = refine->weight_max == 0 ? 64 : 2 * refine->weight_max;
        struct weight *weights = memory_zeroed(larger, sizeof(*weights));
        for (uint32_t i = 0; i < refine->weight_count; i++) {
            weights[i] = refine->weights[i];
        }
        free(refine->weights);
        refine->weights = weights;
        refine->weight_max = larger;
    }
    struct weight *added = &refine->weights[refine->weight_count];
    *added = (struct weight){
        .model = ran->model, .device = ran->device, .items = items, .gpu = gpu, .runs = runs};
    refine->weight_count++;
    return added;
}

/*
 * Move @mean and @sd towards @seen, which counts as one of @runs (Welford's method, with a
 * bounded number of runs it becomes exponential forgetting).
 */
static void move(int64_t *mean, int64_t *sd, uint32_t runs, int64_t seen)
{
    const double share = 1.0 / (double)runs;
    const double off = (double)(seen - *mean);
    const double variance = (1 - share) * ((double)*sd * (double)*sd + share * off * off);
    *mean += (int64_t)(share * off);
    *sd = (int64_t)sqrt(variance);
}

static uint32_t count_up(struct weight *weight)
{
    weight->runs += weight->runs < REFINE_WEIGHT_MAX ? 1 : 0;
    weight->seen += weight->seen < UINT32_MAX ? 1 : 0;
    return weight->runs;
}

/* The most that a run counts where @known was measured. */
static int64_t run_ns_max(const struct estimate *known)
{
    return known->run_ns + OUTLIER_DEVIATIONS * max_i64(known->sd_ns, known->run_ns / 4);
}

/*
 * Let no other point of the whole device be worse than @seen allows: fewer items take no longer,
 * and more items no longer than one batch after the other. A point that is too good is tried, and
 * then corrected by its own runs.
 */
static void keep_in_line(struct profile_curve *curve, const struct profile_point *seen)
{
    for (uint32_t i = 0; i < curve->point_count; i++) {
        struct profile_point *point = &curve->points[i];
        const uint32_t batches = (point->items + seen->items - 1) / seen->items;
        const double most = (double)seen->run_ns * batches;
        if (point->gpu == 0 && point->cpu == 0 && (double)point->run_ns > most) {
            point->sd_ns = (int64_t)((double)point->sd_ns * most / (double)point->run_ns);
            point->run_ns = (int64_t)most;
        }
    }
}

/* What others did to @ran, and what was chance, by what was @known of it. */
static void learn_scatter(
    struct refine *refine, const struct refine_ran *ran, const struct estimate *known)
{
    struct profile_curve *curve = &refine->profile->models[ran->model].curves[ran->device];
    struct scatter **scatter =
        &refine->scatters[(size_t)ran->model * DEVICE_KINDS_MAX + ran->device];
    if (*scatter == NULL) {
        *scatter = memory_zeroed(1, sizeof(**scatter));
        scatter_init(*scatter, curve->interference);
    }
    const double alone_ns =
        (double)known->run_ns / slowing_factor(&known->slowing, curve->interference);
    scatter_add(
        *scatter, (double)ran->run_ns / alone_ns, &ran->slowing, &curve->interference,
        curve->quantiles);
}

static void learn_run(struct refine *refine, const struct refine_ran *ran)
{
    struct profile *profile = refine->profile;
    struct profile_curve *curve = &profile->models[ran->model].curves[ran->device];
    const struct config whole = {.batch = ran->items};
    const struct estimate known =
        profile_run_only(profile, ran->model, ran->device, ran->items, whole);
    const bool is_point = known.source == ESTIMATE_MEASURED;

    if (!is_point && curve->point_count >= REFINE_POINTS_MAX) {
        return;
    }
    struct profile_point point = {
        .items = ran->items,
        .run_ns = known.run_ns,
        .sd_ns = known.sd_ns,
        .slowing = known.slowing,
        .interference = known.interference,
    };
    if (known.source != ESTIMATE_MISSING && known.run_ns > 0) {
        learn_scatter(refine, ran, &known);
    }
    const uint32_t prior = is_point                           ? REFINE_PRIOR
                           : known.source == ESTIMATE_MISSING ? 0
                                                              : REFINE_GUESS;
    const uint32_t runs = count_up(weight_of(refine, ran, ran->items, prior));
    move(
        &point.run_ns, &point.sd_ns, runs,
        is_point ? min_i64(ran->run_ns, run_ns_max(&known)) : ran->run_ns);
    point.slowing.beside += (ran->slowing.beside - point.slowing.beside) / (double)runs;
    point.slowing.crowded += (ran->slowing.crowded - point.slowing.crowded) / (double)runs;
    point.run_ns = max_i64(point.run_ns, 1); /* As documents want it. */
    keep_in_line(curve, &point);
    profile_put_point(profile, ran->model, ran->device, &point);
}

/* The point of a GPU that takes as long as @ran, which may have fewer items; NULL: none. */
static const struct profile_point *padded_point(
    const struct profile *profile, const struct refine_ran *ran)
{
    const struct profile_curve *curve = &profile->models[ran->model].curves[ran->device];
    for (uint32_t i = 0; i < curve->point_count; i++) { /* By items, ascending, for each share. */
        const struct profile_point *point = &curve->points[i];
        if (point->gpu == point_gpu(ran) && point->items >= ran->items) {
            return point;
        }
    }
    return NULL;
}

/* Where fewer items take as long as the next point: that is learnt, and no other. */
static void learn_padded(struct refine *refine, const struct refine_ran *ran)
{
    const struct profile_point *found = padded_point(refine->profile, ran);
    if (found == NULL) {
        return;
    }
    struct profile_point point = *found;
    const struct estimate known = {.run_ns = point.run_ns, .sd_ns = point.sd_ns};
    move(
        &point.run_ns, &point.sd_ns, count_up(weight_of(refine, ran, point.items, REFINE_PRIOR)),
        min_i64(ran->run_ns, run_ns_max(&known)));
    point.run_ns = max_i64(point.run_ns, 1); /* As documents want it. */
    profile_put_point(refine->profile, ran->model, ran->device, &point);
}

/* Where several models were loaded before one run, what each has cost is not known. */
static void learn_first_run(struct refine *refine, const struct refine_ran *ran)
{
    const struct profile *profile = refine->profile;
    const struct config whole = {.batch = ran->items};
    const struct profile_point *padded = ran->gpu != 0 ? padded_point(profile, ran) : NULL;
    if (ran->fresh_count > 1 || (ran->gpu != 0 && padded == NULL)) {
        return;
    }
    const int64_t later_ns =
        padded != NULL
            ? padded->run_ns
            : profile_run_only(profile, ran->model, ran->device, ran->items, whole).run_ns;
    struct profile_curve *curve = &profile->models[ran->fresh].curves[ran->device];
    struct first_runs *first = first_runs_of(refine, ran->fresh, ran->device);
    if (first->seen == 0) {
        first->mean_ns = curve->first_run_ns;
        first->runs = REFINE_GUESS;
    }
    first->runs += first->runs < REFINE_WEIGHT_MAX ? 1 : 0;
    first->seen += first->seen < UINT32_MAX ? 1 : 0;
    const int64_t off_ns_max =
        first->mean_ns + OUTLIER_DEVIATIONS * max_i64(first->sd_ns, later_ns / 4);
    move(&first->mean_ns, &first->sd_ns, first->runs, min_i64(ran->run_ns - later_ns, off_ns_max));
    curve->first_run_ns = max_i64(first->mean_ns, 0);
}

/* A step up for every longer hand-off and one down for every shorter one end at the median. */
static void learn_handoff(struct profile *profile, const struct refine_ran *ran)
{
    const int64_t known_ns = profile->models[ran->model].curves[ran->device].handoff_ns;
    const int64_t step_ns = known_ns / HANDOFF_STEPS + 1;
    int64_t handoff_ns = ran->handoff_ns;

    if (known_ns > 0) {
        handoff_ns = handoff_ns > known_ns ? min_i64(known_ns + step_ns, handoff_ns)
                                           : max_i64(known_ns - step_ns, handoff_ns);
    }
    profile_set_handoff(profile, ran->model, ran->device, handoff_ns);
}

void refine_run(struct refine *refine, const struct refine_ran *ran)
{
    ASSERT(ran->items > 0);
    if (ran->run_ns < 0 || ran->run_ns > DURATION_NS_MAX || ran->handoff_ns < 0 ||
        ran->handoff_ns > DURATION_NS_MAX) {
        return; /* A clock that went wrong. */
    }
    refine->count++;
    const bool can_compare = profile_is_measured(refine->profile, ran->model, ran->device);
    if (!ran->is_shared && ran->fresh_count > 0 && can_compare) {
        learn_first_run(refine, ran);
    } else if (!ran->is_shared && ran->gpu != 0) {
        learn_padded(refine, ran);
    } else if (!ran->is_shared) {
        learn_run(refine, ran);
    }
    learn_handoff(refine->profile, ran);
}

static int by_size(const void *a, const void *b)
{
    const int64_t *left = a;
    const int64_t *right = b;
    return (*left > *right) - (*left < *right);
}

/* The median of the loads that are kept: what was known before stands for those not yet seen. */
static int64_t learn_load(struct loads *loads, int64_t known_ns, int64_t load_ns)
{
    int64_t sorted[LOADS_KEPT];

    for (uint32_t i = loads->count; i < LOADS_KEPT; i++) {
        loads->ns[i] = known_ns > 0 ? known_ns : load_ns;
    }
    loads->ns[loads->count % LOADS_KEPT] = load_ns;
    loads->count++;
    memcpy(sorted, loads->ns, sizeof(sorted));
    qsort(sorted, LOADS_KEPT, sizeof(sorted[0]), by_size);
    return sorted[LOADS_KEPT / 2];
}

void refine_load(struct refine *refine, uint32_t model, int64_t load_ns, uint64_t bytes)
{
    struct profile_model *known = &refine->profile->models[model];

    if (load_ns < 0 || load_ns > DURATION_NS_MAX) {
        return;
    }
    refine->count++;
    known->load_fixed_ns = learn_load(&refine->loads[model], known->load_fixed_ns, load_ns);
    if (bytes != 0) {
        known->resident_bytes = bytes;
        known->load_bytes = bytes;
    }
}

void refine_workspace(struct refine *refine, uint32_t model, uint32_t items, uint64_t bytes)
{
    struct needed *needed = &refine->needed[model];
    uint32_t at = 0;
    ASSERT(model < refine->profile->model_count);
    while (at < needed->count && needed->points[at].items < items) {
        at++;
    }
    if (at == needed->count || needed->points[at].items != items) {
        if (needed->count == REFINE_WORKSPACES_MAX) {
            return;
        }
        memmove(
            &needed->points[at + 1], &needed->points[at],
            (needed->count - at) * sizeof(needed->points[0]));
        needed->points[at] = (struct estimate_bytes){.items = items};
        needed->count++;
    }
    if (bytes > needed->points[at].bytes) {
        needed->points[at].bytes = bytes;
    }
}

/* Whether what @model is said to need is enough for all that its runs have needed. */
static bool covers(const struct profile *profile, uint32_t model, const struct needed *needed)
{
    for (uint32_t i = 0; i < needed->count; i++) {
        const struct estimate_bytes *point = &needed->points[i];
        if (profile_workspace_bytes(profile, model, point->items) < point->bytes) {
            return false;
        }
    }
    return true;
}

void refine_learn_workspaces(struct refine *refine)
{
    for (uint32_t model = 0; model < refine->profile->model_count; model++) {
        const struct needed *needed = &refine->needed[model];
        struct profile_model *known = &refine->profile->models[model];
        struct estimate_bytes samples[REFINE_WORKSPACES_MAX + 1];
        uint32_t count = 0;
        if (covers(refine->profile, model, needed)) {
            continue;
        }
        const uint64_t one = profile_workspace_bytes(refine->profile, model, 1);
        if (needed->points[0].items > 1 && one > 0) { /* Not seen, but known. */
            samples[count++] = (struct estimate_bytes){.items = 1, .bytes = one};
        }
        for (uint32_t i = 0; i < needed->count; i++) {
            samples[count++] = needed->points[i];
        }
        estimate_workspace(
            samples, count, &known->workspace_bytes, &known->workspace_bytes_per_item);
    }
}

/* Whether @ns differs from @told_ns by more than a @part of it. */
static bool has_moved(int64_t ns, int64_t told_ns, int64_t part)
{
    const int64_t off_ns = ns > told_ns ? ns - told_ns : told_ns - ns;
    return off_ns > told_ns / part;
}

bool refine_tell(struct refine *refine, struct learnt *news_out)
{
    for (uint32_t i = 0; i < refine->weight_count; i++) {
        struct weight *weight = &refine->weights[refine->next % refine->weight_count];
        const struct profile_model *model = &refine->profile->models[weight->model];
        const struct config whole = {.batch = weight->items};
        const struct estimate known =
            profile_run_only(refine->profile, weight->model, weight->device, weight->items, whole);
        const struct learnt news = {
            .model = weight->model,
            .device = weight->device,
            .items = weight->items,
            .runs = weight->seen,
            .run_ns = known.run_ns,
            .sd_ns = known.sd_ns,
            .handoff_ns = model->curves[weight->device].handoff_ns,
            .load_ns = refine->loads[weight->model].count > 0 ? model->load_fixed_ns : 0,
            .first_run_ns = first_runs_of(refine, weight->model, weight->device)->seen > 0
                                ? model->curves[weight->device].first_run_ns
                                : 0,
        };
        refine->next++;
        const bool is_news = has_moved(news.run_ns, weight->told_ns, TELL_RUN) ||
                             has_moved(news.handoff_ns, weight->told_handoff_ns, TELL_REST) ||
                             has_moved(news.load_ns, weight->told_load_ns, TELL_REST) ||
                             has_moved(news.first_run_ns, weight->told_first_ns, TELL_REST);
        if (is_news && (weight->seen > 0 || weight->is_measured) && weight->gpu == 0) {
            weight->told_ns = news.run_ns;
            weight->told_handoff_ns = news.handoff_ns;
            weight->told_load_ns = news.load_ns;
            weight->told_first_ns = news.first_run_ns;
            *news_out = news;
            return true;
        }
    }
    return false;
}

/* Let what was measured of @model on @device be told as well. */
static void note_measured(struct refine *refine, uint32_t model, uint32_t device)
{
    const struct profile_curve *curve = &refine->profile->models[model].curves[device];
    const struct refine_ran whole = {.model = model, .device = device};
    for (uint32_t i = 0; i < curve->point_count; i++) {
        if (curve->points[i].gpu == 0 && curve->points[i].run_ns > 0) {
            weight_of(refine, &whole, curve->points[i].items, REFINE_PRIOR)->is_measured = true;
        }
    }
}

void refine_tell_again(struct refine *refine, uint32_t kind_count)
{
    for (uint32_t model = 0; model < refine->profile->model_count; model++) {
        for (uint32_t device = 0; device < kind_count; device++) {
            note_measured(refine, model, device);
        }
    }
    for (uint32_t i = 0; i < refine->weight_count; i++) {
        refine->weights[i].told_ns = 0;
    }
}

static bool is_sane(const struct refine *refine, const struct learnt *news)
{
    const int64_t times[] = {
        news->run_ns - 1, news->sd_ns, news->handoff_ns, news->load_ns, news->first_run_ns};
    for (uint32_t i = 0; i < ARRAY_COUNT(times); i++) {
        if (times[i] < 0 || times[i] > DURATION_NS_MAX) {
            return false;
        }
    }
    return news->model < refine->profile->model_count && news->device < DEVICE_KINDS_MAX &&
           news->items > 0 && news->items <= ITEMS_MAX &&
           !profile_kinds_have(refine->profile->models[news->model].barred, news->device);
}

/* How many runs of @model were seen here on @device, whatever their items. */
static uint64_t runs_seen(const struct refine *refine, uint32_t model, uint32_t device)
{
    uint64_t seen = 0;
    for (uint32_t i = 0; i < refine->weight_count; i++) {
        const struct weight *weight = &refine->weights[i];
        seen += weight->model == model && weight->device == device ? weight->seen : 0;
    }
    return seen;
}

bool refine_hear(struct refine *refine, const struct learnt *news)
{
    struct profile *profile = refine->profile;
    if (!is_sane(refine, news)) {
        return false;
    }
    struct profile_curve *curve = &profile->models[news->model].curves[news->device];
    const struct config whole = {.batch = news->items};
    const struct estimate known =
        profile_run_only(profile, news->model, news->device, news->items, whole);
    const bool is_point = known.source == ESTIMATE_MEASURED;
    if ((!is_point && curve->point_count >= REFINE_POINTS_MAX) || (is_point && news->runs == 0)) {
        return false;
    }
    const struct refine_ran whole_ran = {.model = news->model, .device = news->device};
    struct weight *weight = weight_of(refine, &whole_ran, news->items, is_point ? REFINE_PRIOR : 0);
    if (weight->seen >= REFINE_OWN) {
        return false;
    }
    const double own = (double)weight->seen / REFINE_OWN;
    const struct profile_point point = {
        .items = news->items,
        .run_ns =
            max_i64((int64_t)(own * (double)known.run_ns + (1 - own) * (double)news->run_ns), 1),
        .sd_ns = (int64_t)(own * (double)known.sd_ns + (1 - own) * (double)news->sd_ns),
        .slowing = known.slowing, /* As if it was the same there. */
        .interference = known.interference,
    };
    refine->count++;
    keep_in_line(curve, &point);
    profile_put_point(profile, news->model, news->device, &point);
    weight->told_ns = point.run_ns;
    if (runs_seen(refine, news->model, news->device) < REFINE_OWN) {
        profile_set_handoff(profile, news->model, news->device, news->handoff_ns);
        weight->told_handoff_ns = news->handoff_ns;
    }
    if (refine->loads[news->model].count == 0 && news->load_ns > 0) {
        profile->models[news->model].load_fixed_ns = news->load_ns;
    }
    if (first_runs_of(refine, news->model, news->device)->seen == 0 && news->first_run_ns > 0) {
        curve->first_run_ns = news->first_run_ns;
    }
    return true;
}

uint64_t refine_count(const struct refine *refine)
{
    return refine->count;
}
