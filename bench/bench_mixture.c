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
#include "small_cluster.h"

#define LOAD 0.7
#define LINK 1250000000 /* Bytes per second. */

enum { WORKFLOWS = CLUSTER_WORKFLOWS_MAX, SEED = 7, ROUNDS = 5, DRAWS = 20000000 };

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

/* Two to five tasks, each behind one or two earlier ones. */
static void add_random(struct cluster *the, struct rng *rng, uint32_t number)
{
    char name[NAME_BYTES_MAX];
    (void)snprintf(name, sizeof(name), "w%u", number);
    struct workflow *workflow = workflow_create(name);
    const uint32_t task_count = 2 + rng_below(rng, 4);
    for (uint32_t i = 0; i < task_count; i++) {
        cluster_add_task(the, workflow, 1 + 19 * rng_unit(rng), DISTRIBUTION_NORMAL);
        struct workflow_edge edge = {.to = i};
        for (uint32_t k = 0; k < 2 && i > 0; k++) {
            edge.from = rng_below(rng, i);
            edge.bytes = rng_below(rng, 3000000);
            (void)workflow_add_edge(workflow, &edge); /* The second may be the first again. */
        }
    }
    cluster_add_workflow(the, workflow);
}

static void open_case(struct cluster *the, uint32_t machines)
{
    struct rng rng = rng_stream(SEED, RNG_TEST, 0);
    cluster_open(the, machines, /* workers */ 1, LINK);
    for (uint32_t i = 0; i < WORKFLOWS; i++) {
        add_random(the, &rng, i);
    }
    cluster_load(the, LOAD);
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
        open_case(&the, machines);
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
