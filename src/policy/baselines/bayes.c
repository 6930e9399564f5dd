/*
 * bayes.c - constrained Bayesian optimisation with noisy expected improvement.
 */
#include "policy/baselines/bayes.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/exact.h"
#include "base/memory.h"
#include "policy/baselines/gaussian.h"
#include "policy/baselines/latency.h"

enum { CANDIDATES = 160, DRAWS = 32 };

_Static_assert((int)BAYES_TRIALS_MAX <= (int)GAUSSIAN_POINTS_MAX, "every trial is a point");

/* Beyond this many deviations from what was expected, a trial is left out. */
#define OUTLIER 1.96

struct bayes {
    struct bayes_problem *problem;
    uint32_t count;
    double points[BAYES_TRIALS_MAX][GAUSSIAN_DIMS_MAX];
    struct bayes_trial trials[BAYES_TRIALS_MAX];
    struct gaussian cost;
    struct gaussian excess;
    struct gaussian_joint cost_joint;
    struct gaussian_joint excess_joint;
    double bests[DRAWS];             /* The cost of the best feasible trial in each draw. */
    double start[GAUSSIAN_DIMS_MAX]; /* The first of the evenly spread points. */
    double steps[GAUSSIAN_DIMS_MAX]; /* From one of them to the next. */
    uint64_t spread;                 /* How many of them were taken. */
};

static void try_point(struct bayes *bayes, const double *point)
{
    ASSERT(bayes->count < BAYES_TRIALS_MAX);
    memcpy(bayes->points[bayes->count], point, bayes->problem->dims * sizeof(*point));
    bayes->trials[bayes->count++] = bayes->problem->try_point(bayes->problem->context, point);
}

/*
 * Points that fill a cube evenly: multiples of powers of a root (Roberts, 2018), from a random
 * start. They do here what a Sobol sequence does elsewhere.
 */
static void spread_init(struct bayes *bayes)
{
    const double dims = bayes->problem->dims;
    double root = 2;
    for (uint32_t i = 0; i < 64; i++) { /* root^(dims + 1) = root + 1. */
        root = exact_pow(1 + root, 1 / (dims + 1));
    }
    double power = 1;
    for (uint32_t i = 0; i < bayes->problem->dims; i++) {
        power /= root;
        bayes->steps[i] = power;
        bayes->start[i] = rng_unit(&bayes->problem->rng);
    }
}

static void spread_next(struct bayes *bayes, double *point_out)
{
    bayes->spread++;
    for (uint32_t i = 0; i < bayes->problem->dims; i++) {
        const double at = bayes->start[i] + (double)bayes->spread * bayes->steps[i];
        point_out[i] = at - (double)(uint64_t)at;
    }
}

static void fit_all(struct bayes *bayes, const bool *left_out)
{
    gaussian_init(&bayes->cost, bayes->problem->dims);
    gaussian_init(&bayes->excess, bayes->problem->dims);
    for (uint32_t i = 0; i < bayes->count; i++) {
        if (!left_out[i]) {
            (void)gaussian_add(&bayes->cost, bayes->points[i], bayes->trials[i].cost);
            (void)gaussian_add(&bayes->excess, bayes->points[i], bayes->trials[i].excess);
        }
    }
    gaussian_fit(&bayes->cost);
    gaussian_fit(&bayes->excess);
}

static bool is_odd(double value, struct gaussian_guess guess)
{
    const double off = value > guess.mean ? value - guess.mean : guess.mean - value;
    return off > OUTLIER * guess.sd;
}

/* Fit both processes; then again without the trials that the others make unlikely. */
static void fit(struct bayes *bayes)
{
    struct gaussian_guess costs[GAUSSIAN_POINTS_MAX];
    struct gaussian_guess excesses[GAUSSIAN_POINTS_MAX];
    bool left_out[BAYES_TRIALS_MAX] = {false};
    uint32_t odd = 0;
    fit_all(bayes, left_out);
    gaussian_leave_one_out(&bayes->cost, costs);
    gaussian_leave_one_out(&bayes->excess, excesses);
    for (uint32_t i = 0; i < bayes->count; i++) {
        left_out[i] =
            is_odd(bayes->trials[i].cost, costs[i]) && is_odd(bayes->trials[i].excess, excesses[i]);
        odd += left_out[i] ? 1 : 0;
    }
    if (odd > 0 && odd < bayes->count / 4) {
        fit_all(bayes, left_out);
    }
}

/* What the best feasible trial costs in each of some draws of both processes. */
static void draw_bests(struct bayes *bayes)
{
    const uint32_t count = bayes->cost.count;
    double normals[GAUSSIAN_POINTS_MAX];
    double costs[GAUSSIAN_POINTS_MAX];
    double excesses[GAUSSIAN_POINTS_MAX];
    gaussian_join(&bayes->cost, &bayes->cost_joint);
    gaussian_join(&bayes->excess, &bayes->excess_joint);
    for (uint32_t draw = 0; draw < DRAWS; draw++) {
        for (uint32_t i = 0; i < count; i++) {
            normals[i] = exact_normal(&bayes->problem->rng);
        }
        gaussian_draw(&bayes->cost_joint, normals, costs);
        for (uint32_t i = 0; i < count; i++) {
            normals[i] = exact_normal(&bayes->problem->rng);
        }
        gaussian_draw(&bayes->excess_joint, normals, excesses);
        double best = bayes->cost.mean + 3 * bayes->cost.scale; /* With none: any will do. */
        for (uint32_t i = 0; i < count; i++) {
            best = excesses[i] <= 0 && costs[i] < best ? costs[i] : best;
        }
        bayes->bests[draw] = best;
    }
}

/* How much better than the best so far @point is expected to be, if it is feasible. */
static double expected_gain(const struct bayes *bayes, const double *point)
{
    const struct gaussian_guess cost = gaussian_at(&bayes->cost, point);
    const struct gaussian_guess excess = gaussian_at(&bayes->excess, point);
    double gain = 0;
    for (uint32_t draw = 0; draw < DRAWS; draw++) {
        const double better = bayes->bests[draw] - cost.mean;
        const double z = better / cost.sd;
        const double size = z < 0 ? -z : z;
        const double density = size > 37 ? 0 : 0.3989422804014327 * exact_exp(-z * z / 2);
        gain += better * latency_normal_share(z) + cost.sd * density;
    }
    return gain / DRAWS * latency_normal_share(-excess.mean / excess.sd);
}

/* The best trial: feasible as seen and as believed, and believed to be cheapest. */
static uint32_t best_trial(const struct bayes *bayes, bool *feasible_out)
{
    uint32_t best = UINT32_MAX;
    double best_cost = 0;
    uint32_t least = 0;
    for (uint32_t i = 0; i < bayes->count; i++) {
        const struct gaussian_guess cost = gaussian_at(&bayes->cost, bayes->points[i]);
        const struct gaussian_guess excess = gaussian_at(&bayes->excess, bayes->points[i]);
        if (bayes->trials[i].excess <= 0 && excess.mean <= 0 &&
            (best == UINT32_MAX || cost.mean < best_cost)) {
            best = i;
            best_cost = cost.mean;
        }
        least = bayes->trials[i].excess < bayes->trials[least].excess ? i : least;
    }
    *feasible_out = best != UINT32_MAX;
    return best != UINT32_MAX ? best : least;
}

/* A point near @around: half of its coordinates are moved. */
static void nudge(struct bayes *bayes, const double *around, double *point_out)
{
    for (uint32_t i = 0; i < bayes->problem->dims; i++) {
        const double moved = rng_unit(&bayes->problem->rng);
        const double by = 0.2 * exact_normal(&bayes->problem->rng);
        const double at = around[i] + (moved < 0.5 ? by : 0);
        point_out[i] = at < 0 ? 0 : at > 0.999999 ? 0.999999 : at;
    }
}

/* Where to try next. */
static void choose(struct bayes *bayes, double *point_out)
{
    double best_gain = -1;
    bool feasible;
    const uint32_t best = best_trial(bayes, &feasible);
    for (uint32_t i = 0; i < CANDIDATES; i++) {
        double point[GAUSSIAN_DIMS_MAX];
        if (i % 2 == 0) {
            spread_next(bayes, point);
        } else {
            nudge(bayes, bayes->points[best], point);
        }
        const double gain = expected_gain(bayes, point);
        if (gain > best_gain) {
            best_gain = gain;
            memcpy(point_out, point, bayes->problem->dims * sizeof(*point));
        }
    }
}

/* One round: each further point is chosen as if the ones before it came out as believed. */
static void round_of(struct bayes *bayes)
{
    double chosen[BAYES_BATCH_MAX][GAUSSIAN_DIMS_MAX];
    const uint32_t batch = bayes->problem->batch;
    fit(bayes);
    for (uint32_t i = 0; i < batch; i++) {
        draw_bests(bayes);
        choose(bayes, chosen[i]);
        const double cost = gaussian_at(&bayes->cost, chosen[i]).mean;
        const double excess = gaussian_at(&bayes->excess, chosen[i]).mean;
        if (i + 1 < batch && gaussian_add(&bayes->cost, chosen[i], cost) &&
            gaussian_add(&bayes->excess, chosen[i], excess)) {
            gaussian_refit(&bayes->cost);
            gaussian_refit(&bayes->excess);
        }
    }
    for (uint32_t i = 0; i < batch; i++) {
        try_point(bayes, chosen[i]);
    }
}

struct bayes_result bayes_search(struct bayes_problem *problem, double *point_out)
{
    ASSERT(problem->dims <= GAUSSIAN_DIMS_MAX);
    ASSERT(problem->batch > 0 && problem->batch <= BAYES_BATCH_MAX);
    ASSERT(problem->random_count > 0);
    ASSERT(problem->random_count + problem->round_count * problem->batch <= BAYES_TRIALS_MAX);
    struct bayes *bayes = memory_zeroed(1, sizeof(*bayes));
    double point[GAUSSIAN_DIMS_MAX];
    bool feasible;
    bayes->problem = problem;
    spread_init(bayes);
    for (uint32_t i = 0; i < problem->random_count; i++) {
        for (uint32_t k = 0; k < problem->dims; k++) {
            point[k] = rng_unit(&problem->rng);
        }
        try_point(bayes, point);
    }
    for (uint32_t i = 0; i < problem->round_count; i++) {
        round_of(bayes);
    }
    fit(bayes);
    const uint32_t best = best_trial(bayes, &feasible);
    memcpy(point_out, bayes->points[best], problem->dims * sizeof(*point_out));
    const struct bayes_result result = {
        .feasible = feasible, .trials = bayes->count, .trial = bayes->trials[best]};
    free(bayes);
    return result;
}
