/*
 * bench_search.c - the search for configs against the one it is made after.
 *
 * Reference: the search stage by stage with a time blade and a cost blade, but without
 * dominance (ESG_1Q as published, K cheapest paths). It is left out where it would take
 * minutes. Profiles are drawn: sub-linear in the share, about linear in the batch, with a
 * cliff where the CPU is too small, and five per cent of noise, so that no two are alike.
 * Targets are 0.8, 1.0 and 1.2 times the time at the smallest config of every stage. In rows
 * called hard no config is both slower and dearer than another: dominance helps least there.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/exact.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/units.h"
#include "configs/search.h"
#include "quantile.h"

enum { STAGES = 8, CHOICES = 1000, PATHS = 5, TIMED = 60, REFERENCE_TIMED = 6 };

#define REFERENCE_POINTS_MAX 20000000

struct shape {
    uint32_t stages;
    uint32_t batches;
    uint32_t cpus;
    uint32_t gpus;
    double limit_ms; /* What the 95th percentile is to stay under. */
    bool reference;
    bool hard; /* No config is both slower and dearer than another. */
};

struct problem {
    struct search_choice choices[STAGES][CHOICES];
    struct search_stage stages[STAGES];
    int64_t longest_ns; /* All stages at their smallest config. */
};

static uint64_t now_ns(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time); /* Cannot fail. */
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static struct search_choice draw_choice(
    struct rng *rng, double base_ms, uint32_t batch, uint32_t cpu, uint32_t gpu)
{
    const double speed = exact_pow(gpu, 0.6);
    const double starved = batch > 4 * cpu ? 2.0 : 1.0;
    const double noise = 0.95 + 0.1 * rng_unit(rng);
    const double ms = base_ms * (0.2 + 0.8 * batch / speed + 0.05 / cpu) * starved * noise;
    const double price = 0.034 * cpu + 0.67 * gpu;
    return (struct search_choice){
        .time_ns = (int64_t)(ms * 1e6),
        .cost = (int64_t)(ms * 1e6 * price / 3.6 / batch),
        .batch = batch,
    };
}

static void draw_hard(struct rng *rng, const struct shape *shape, struct problem *problem)
{
    const uint32_t count = shape->batches * shape->cpus * shape->gpus;
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        for (uint32_t i = 0; i < count; i++) {
            const double ms = 80 + 900 * rng_unit(rng);
            problem->choices[stage][i] = (struct search_choice){
                .time_ns = (int64_t)(ms * 1e6), .cost = (int64_t)(1e14 / (ms * ms)), .batch = 1};
        }
        problem->stages[stage] =
            (struct search_stage){.count = count, .choices = problem->choices[stage]};
        problem->longest_ns += 400000000;
    }
}

static void draw_problem(struct rng *rng, const struct shape *shape, struct problem *problem)
{
    problem->longest_ns = 0;
    if (shape->hard) {
        draw_hard(rng, shape, problem);
        return;
    }
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        const double base_ms = 80 + 900 * rng_unit(rng);
        uint32_t count = 0;
        for (uint32_t b = 1; b <= shape->batches; b++) {
            for (uint32_t c = 1; c <= shape->cpus; c++) {
                for (uint32_t g = 1; g <= shape->gpus; g++) {
                    problem->choices[stage][count++] = draw_choice(rng, base_ms, b, c, g);
                }
            }
        }
        problem->stages[stage] =
            (struct search_stage){.count = count, .choices = problem->choices[stage]};
        problem->longest_ns += problem->choices[stage][0].time_ns;
    }
}

/* The published search: prefixes, both blades, and no dominance. */
struct prefix {
    int64_t time_ns;
    int64_t cost;
};

struct reference {
    struct prefix *now;
    struct prefix *next;
    uint64_t visited;
};

static int by_time(const void *left, const void *right)
{
    const struct search_choice *a = left;
    const struct search_choice *b = right;
    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static void keep_bound(int64_t *bounds, uint32_t *count, int64_t cost)
{
    uint32_t at = *count;
    while (at > 0 && bounds[at - 1] > cost) {
        at--;
    }
    if (at >= PATHS) {
        return;
    }
    *count += *count < PATHS ? 1 : 0;
    for (uint32_t i = *count - 1; i > at; i--) {
        bounds[i] = bounds[i - 1];
    }
    bounds[at] = cost;
}

/* What all stages after a given one take and cost at least, and cost if fastest. */
struct after {
    int64_t time_ns[STAGES + 1];
    int64_t cost[STAGES + 1];
    int64_t fastest[STAGES + 1];
};

static struct after sum_up(struct search_choice sorted[][CHOICES], const struct shape *shape)
{
    struct after after = {.time_ns = {0}};
    const uint32_t count = shape->batches * shape->cpus * shape->gpus;
    for (uint32_t stage = shape->stages; stage-- > 0;) {
        int64_t least = INT64_MAX;
        for (uint32_t i = 0; i < count; i++) {
            least = sorted[stage][i].cost < least ? sorted[stage][i].cost : least;
        }
        after.time_ns[stage] = after.time_ns[stage + 1] + sorted[stage][0].time_ns;
        after.cost[stage] = after.cost[stage + 1] + least;
        after.fastest[stage] = after.fastest[stage + 1] + sorted[stage][0].cost;
    }
    return after;
}

/* The cost of the cheapest path; -1 if the search outgrows its memory. */
static int64_t search_reference(
    struct reference *reference, const struct problem *problem, const struct shape *shape,
    int64_t target_ns)
{
    static struct search_choice sorted[STAGES][CHOICES];
    const uint32_t count = problem->stages[0].count;
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        memcpy(sorted[stage], problem->choices[stage], count * sizeof(sorted[0][0]));
        qsort(sorted[stage], count, sizeof(sorted[0][0]), by_time);
    }
    const struct after after = sum_up(sorted, shape);
    size_t prefixes = 1;
    int64_t bounds[PATHS];
    uint32_t bound_count = 0;
    reference->now[0] = (struct prefix){0, 0};
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        size_t kept = 0;
        bound_count = 0; /* A path and its continuation must not count twice. */
        for (size_t p = 0; p < prefixes; p++) {
            for (uint32_t i = 0; i < count; i++) {
                const int64_t time_ns = reference->now[p].time_ns + sorted[stage][i].time_ns;
                const int64_t cost = reference->now[p].cost + sorted[stage][i].cost;
                reference->visited++;
                if (time_ns + after.time_ns[stage + 1] > target_ns) {
                    break;
                }
                if (bound_count == PATHS && cost + after.cost[stage + 1] > bounds[PATHS - 1]) {
                    continue;
                }
                if (kept == REFERENCE_POINTS_MAX) {
                    return -1;
                }
                keep_bound(bounds, &bound_count, cost + after.fastest[stage + 1]);
                reference->next[kept++] = (struct prefix){time_ns, cost};
            }
        }
        prefixes = 0;
        for (size_t p = 0; p < kept; p++) {
            if (bound_count < PATHS ||
                reference->next[p].cost + after.cost[stage + 1] <= bounds[PATHS - 1]) {
                reference->now[prefixes++] = reference->next[p];
            }
        }
    }
    return bound_count == 0 ? INT64_MAX : bounds[0];
}

struct figures {
    double median_ms;
    double p95_ms;
    double points;
};

static struct figures sum_up_times(double *times_ms, uint32_t count, uint64_t points)
{
    qsort(times_ms, count, sizeof(*times_ms), quantile_compare);
    return (struct figures){
        .median_ms = times_ms[count / 2],
        .p95_ms = times_ms[count * 95 / 100],
        .points = (double)points / count,
    };
}

/* The best of three, as others use this machine too. */
static double time_search(
    const struct problem *problem, uint32_t stages, const struct search_query *query,
    struct search_answer *answer_out, struct search_effort *effort_out)
{
    double best_ms = 1e9;
    for (uint32_t round = 0; round < 3; round++) {
        const uint64_t began_ns = now_ns();
        search_run(problem->stages, stages, query, answer_out, effort_out);
        const double ms = (double)(now_ns() - began_ns) / 1e6;
        best_ms = ms < best_ms ? ms : best_ms;
    }
    return best_ms;
}

static double time_prepared(const struct problem *problem, uint32_t stages)
{
    struct arena arena;
    struct search_chain chain;
    struct search_answer answer;
    arena_init(&arena);
    search_prepare(&arena, problem->stages, stages, problem->longest_ns * 6 / 5, &chain);
    const uint64_t began_ns = now_ns();
    for (uint32_t i = 0; i < 100; i++) {
        const int64_t target_ns = problem->longest_ns * (80 + i % 40) / 100;
        const struct search_query query = {target_ns, 0, 64, PATHS, 0};
        search_best(&problem->stages[0], &chain.fronts[1], &query, &answer);
    }
    const double us = (double)(now_ns() - began_ns) / 100 / 1e3;
    arena_deinit(&arena);
    return us;
}

static void measure(const struct shape *shape, struct reference *reference)
{
    static struct problem problem;
    struct rng rng = rng_stream(1, RNG_TEST, shape->stages * 1000 + shape->batches);
    double ours_ms[TIMED];
    double reference_ms[REFERENCE_TIMED];
    uint64_t points = 0;
    uint32_t compared = 0;
    double prepared_us = 0;
    reference->visited = 0;
    for (uint32_t i = 0; i < TIMED; i++) {
        struct search_answer answer;
        struct search_effort effort;
        draw_problem(&rng, shape, &problem);
        const int64_t target_ns = problem.longest_ns * (8 + i % 3 * 2) / 10;
        const struct search_query query = {target_ns, 0, 64, PATHS, 0};
        ours_ms[i] = time_search(&problem, shape->stages, &query, &answer, &effort);
        points += effort.points;
        if (i == 0) {
            prepared_us = time_prepared(&problem, shape->stages);
        }
        if (i >= REFERENCE_TIMED || !shape->reference) {
            continue;
        }
        const uint64_t began_ns = now_ns();
        const int64_t cost = search_reference(reference, &problem, shape, query.target_ns);
        reference_ms[compared++] = (double)(now_ns() - began_ns) / 1e6;
        ASSERT(cost == -1 || cost == answer.paths[0].cost);
    }
    const struct figures ours = sum_up_times(ours_ms, TIMED, points);
    printf(
        "%6u %7u %9.3f %9.3f", shape->stages, problem.stages[0].count, ours.median_ms, ours.p95_ms);
    if (shape->limit_ms > 0) {
        printf(" %5.0f %s", shape->limit_ms, ours.p95_ms < shape->limit_ms ? "yes" : "NO ");
    } else {
        printf("      hard");
    }
    printf(" %10.0f %9.1f", ours.points, prepared_us);
    if (compared == 0) {
        printf("         -          -       -\n");
        return;
    }
    const struct figures plain = sum_up_times(reference_ms, compared, reference->visited);
    printf(
        " %9.2f %10.0f %6.0fx\n", plain.median_ms, plain.points, plain.median_ms / ours.median_ms);
}

int main(void)
{
    static const struct shape shapes[] = {
        {2, 8, 4, 8, 1, true, false},   {3, 8, 4, 8, 1, true, false},
        {4, 8, 4, 8, 2, true, false},   {5, 8, 4, 8, 5, false, false},
        {8, 8, 4, 8, 30, false, false}, {3, 10, 10, 10, 3, true, false},
        {3, 8, 4, 8, 0, true, true},    {4, 8, 4, 8, 0, false, true},
        {5, 8, 4, 8, 0, false, true},
    };
    struct reference reference = {
        .now = memory_lines(REFERENCE_POINTS_MAX, sizeof(struct prefix)),
        .next = memory_lines(REFERENCE_POINTS_MAX, sizeof(struct prefix)),
    };
    printf("the %u cheapest first configs; reference: the same blades without dominance\n", PATHS);
    printf("stages configs median ms    p95 ms  below ms       sums  ahead us"
           "    ref ms ref visits   ratio\n");
    for (uint32_t i = 0; i < ARRAY_COUNT(shapes); i++) {
        measure(&shapes[i], &reference);
    }
    free(reference.now);
    free(reference.next);
    return 0;
}
