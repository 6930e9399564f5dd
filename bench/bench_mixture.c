/*
 * How fast mixtures are solved for, and what more starts gain.
 *
 *     bench_mixture [full]
 *
 * Ten workflows of two to five tasks on 80 equal machines, with `full` also on 800. Mean times are
 * those the solver predicts, in percent over the best of the rows. Rates then change by 5 and by
 * 20 %, up and down in turn, and the old mixture is the start; mean times are then compared with
 * solving from nothing. Times are of the processor.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/rng.h"
#include "lower_bound.h"
#include "mixture/mixture.h"
#include "mixture/program.h"
#include "model/catalogue.h"
#include "model/fleet.h"
#include "profile/profile.h"

#define LOAD 0.7

enum { WORKFLOWS = 10, SEED = 7, ROUNDS = 5, DRAWS = 20000000 };

struct cluster {
    struct catalogue *catalogue;
    struct profile *profile;
    struct fleet *fleet;
    double rates[WORKFLOWS];
    struct program_input input;
};

/* Value and seconds, the best time of several rounds. */
struct outcome {
    double mean_ms;
    double seconds;
    struct mixture *mixture;
};

/* Of this process on a processor, which other work does not lengthen: there is one thread. */
static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void demand(bool condition)
{
    if (!condition) {
        (void)fputs("the case cannot be built\n", stderr);
        exit(EXIT_FAILURE);
    }
}

/* Two to five tasks, each behind one or two earlier ones. Returns their run time together. */
static double add_workflow(struct cluster *the, struct rng *rng, uint32_t number)
{
    char name[NAME_BYTES_MAX];
    (void)snprintf(name, sizeof(name), "w%u", number);
    struct workflow *workflow = workflow_create(name);
    const uint32_t task_count = 2 + rng_below(rng, 4);
    double sum_ms = 0;
    for (uint32_t i = 0; i < task_count; i++) {
        const double ms = 1 + 19 * rng_unit(rng);
        struct workflow_task task = {0};
        uint32_t index;
        (void)snprintf(task.name, sizeof(task.name), "w%u-%u", number, i);
        task.run = catalogue_model(the->catalogue, task.name);
        const struct profile_point point = {.items = 1, .run_ns = (int64_t)(ms * 1e6)};
        demand(profile_add_point(the->profile, task.run, 0, &point) == WEFT_OK);
        demand(workflow_add_task(workflow, &task, &index) == WEFT_OK);
        struct workflow_edge edge = {.to = i};
        for (uint32_t k = 0; k < 2 && i > 0; k++) {
            const uint32_t from = rng_below(rng, i);
            const uint32_t bytes = rng_below(rng, 3000000);
            edge.from = from;
            edge.bytes = bytes;
            (void)workflow_add_edge(workflow, &edge); /* The second may be the first again. */
        }
        sum_ms += ms;
    }
    demand(workflow_seal(workflow, NULL) == WEFT_OK);
    demand(catalogue_add_workflow(the->catalogue, workflow) == WEFT_OK);
    return sum_ms;
}

static void cluster_open(struct cluster *the, uint32_t machines)
{
    struct rng rng = rng_stream(SEED, RNG_TEST, 0);
    *the = (struct cluster){
        .catalogue = catalogue_create(),
        .profile = profile_create(MODELS_MAX),
        .fleet = fleet_create(),
    };
    const struct fleet_worker device = {
        .device = fleet_device(the->fleet, "gpu"), .memory_bytes = 1, .gpu_units = 1};
    for (uint32_t i = 0; i < machines; i++) {
        demand(fleet_add_machine(the->fleet, &device, 1, 1));
    }
    the->fleet->network.link_bytes_per_s = 1250000000;
    for (uint32_t i = 0; i < WORKFLOWS; i++) {
        const double sum_ms = add_workflow(the, &rng, i);
        the->rates[i] = LOAD * machines / WORKFLOWS / (sum_ms / 1e3);
    }
    the->input = (struct program_input){
        .catalogue = the->catalogue,
        .profile = the->profile,
        .fleet = the->fleet,
        .rates_per_s = the->rates,
    };
}

static void cluster_close(struct cluster *the)
{
    profile_destroy(the->profile);
    catalogue_destroy(the->catalogue);
    fleet_destroy(the->fleet);
}

/* The caller owns the mixture. */
static struct outcome solve(const struct cluster *the, uint32_t starts, const struct mixture *start)
{
    const struct program_options options = {.restarts = starts, .start = start};
    struct outcome outcome = {.seconds = (double)INFINITY};
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct weft_error error;
        mixture_destroy(outcome.mixture);
        const double began = seconds();
        if (program_solve(&the->input, &options, &outcome.mixture, NULL, &error) != WEFT_OK) {
            (void)fprintf(stderr, "%s\n", error.message);
            exit(EXIT_FAILURE);
        }
        outcome.seconds = fmin(outcome.seconds, seconds() - began);
        outcome.mean_ms = outcome.mixture->mean_ns / 1e6;
    }
    return outcome;
}

static void run_starts(const struct cluster *the)
{
    static const uint32_t starts[] = {1, 2, 6, 16};
    struct outcome outcomes[4];
    double best_ms = (double)INFINITY;
    for (uint32_t i = 0; i < 4; i++) {
        outcomes[i] = solve(the, starts[i], /* start */ NULL);
        best_ms = fmin(best_ms, outcomes[i].mean_ms);
    }
    for (uint32_t i = 0; i < 4; i++) {
        (void)printf(
            "  %2u starts: %8.2f ms, jobs take %.3f ms, %+.2f %%\n", starts[i],
            1e3 * outcomes[i].seconds, outcomes[i].mean_ms,
            100 * (outcomes[i].mean_ms / best_ms - 1));
        mixture_destroy(outcomes[i].mixture);
    }
}

static void run_changes(struct cluster *the)
{
    static const double changes[] = {0.05, 0.2};
    for (uint32_t i = 0; i < 2; i++) {
        struct outcome old = solve(the, /* starts */ 0, /* start */ NULL);
        double rates[WORKFLOWS];
        memcpy(rates, the->rates, sizeof(rates));
        for (uint32_t k = 0; k < WORKFLOWS; k++) {
            the->rates[k] *= k % 2 == 0 ? 1 + changes[i] : 1 - changes[i];
        }
        struct outcome cold = solve(the, /* starts */ 0, /* start */ NULL);
        struct outcome warm = solve(the, /* starts */ 0, old.mixture);
        (void)printf(
            "  rates changed by %2.0f %%: %8.2f ms, jobs take %+.2f %% of solving from nothing\n",
            100 * changes[i], 1e3 * warm.seconds, 100 * (warm.mean_ms / cold.mean_ms - 1));
        memcpy(the->rates, rates, sizeof(rates));
        mixture_destroy(old.mixture);
        mixture_destroy(cold.mixture);
        mixture_destroy(warm.mixture);
    }
}

static void print_bound(const struct cluster *the)
{
    struct lower_bound bound;
    if (lower_bound_find(&the->input, &bound)) {
        (void)printf("  bound for any policy: %.2f ms\n", bound.mean_ns / 1e6);
    }
}

/* A draw beside one random number, which it cannot do without. */
static void run_draws(const struct cluster *the)
{
    struct outcome solved = solve(the, /* starts */ 0, /* start */ NULL);
    struct rng rng = rng_stream(1, RNG_TEST, 0);
    uint64_t sum = 0;
    double best[2] = {(double)INFINITY, (double)INFINITY};
    for (uint32_t round = 0; round < ROUNDS; round++) {
        double began = seconds();
        for (uint32_t i = 0; i < DRAWS; i++) {
            sum += rng_next(&rng);
        }
        best[0] = fmin(best[0], seconds() - began);
        began = seconds();
        for (uint32_t i = 0; i < DRAWS; i++) {
            sum += mixture_draw(solved.mixture, i % WORKFLOWS, &rng)[0];
        }
        best[1] = fmin(best[1], seconds() - began);
    }
    (void)printf(
        "  a draw: %.1f ns, %.1f times a random number (%llu)\n", 1e9 * best[1] / DRAWS,
        best[1] / best[0], (unsigned long long)(sum % 10));
    mixture_destroy(solved.mixture);
}

int main(int argc, char **argv)
{
    const bool full = argc > 1 && strcmp(argv[1], "full") == 0;
    if (argc > 2 || (argc > 1 && !full)) {
        (void)fprintf(stderr, "usage: %s [full]\n", argv[0]);
        return EXIT_FAILURE;
    }
    for (uint32_t machines = 80; machines <= (full ? 800U : 80U); machines *= 10) {
        struct cluster the;
        cluster_open(&the, machines);
        (void)printf("%u machines, %u workflows\n", machines, (unsigned)WORKFLOWS);
        run_starts(&the);
        run_changes(&the);
        if (machines == 80) {
            run_draws(&the);
            print_bound(&the);
        }
        cluster_close(&the);
        (void)fflush(stdout);
    }
    return EXIT_SUCCESS;
}
