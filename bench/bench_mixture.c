/*
 * How fast the program over placements is solved, and how near it comes to the best known.
 *
 *     bench_mixture [full [SECONDS]]
 *
 * The best known mean time of a case is the lowest that any solver of this run has found: the
 * program with many restarts, and long descents over all patterns of the case from several
 * starts; or what was met before, by Ipopt or by variants of the program that are no better on
 * other cases.
 * With `full`, also Ipopt where it is built in, for SECONDS from each start (30), and
 * 40,000 variables. Times are of the processor.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "lower_bound.h"
#include "mixture/draft_mixture.h"
#include "mixture/mixture.h"
#include "mixture/sites.h"
#include "mixture_case.h"
#include "mixture_oracle.h"

#define LOAD         0.7
#define SHARE_OTHERS 0.01 /* Of patterns that the solution does not use, for Ipopt to start. */

/* The lowest mean times that were ever met with 80 machines: equal ones, different ones. */
static const double met_ms[] = {48.9220, 52.8452};

/* Widths of longest ways for Ipopt, of the mean time: it stops at their corners, too. */
static const double blurs[] = {1e-2, 1e-3, 1e-4, 0};

enum { ROUNDS = 5, DRAWS = 20000000, ORACLE_SECONDS = 30, ORACLES = 5, BLURS = 4 };

/* One way to solve a case: value and seconds, the best time of several rounds. */
struct outcome {
    double mean_ms;
    double seconds;
    bool ended; /* Ipopt saw nothing more to gain. */
};

static struct outcome solve(
    const struct mixture_case *the, const struct program_options *options, uint32_t rounds,
    struct mixture **mixture_out)
{
    struct outcome outcome = {.seconds = (double)INFINITY};
    for (uint32_t i = 0; i < rounds; i++) {
        struct mixture *mixture = NULL;
        struct weft_error error;
        const double start = mixture_case_seconds();
        if (program_solve(&the->input, options, &mixture, NULL, &error) != WEFT_OK) {
            (void)fprintf(stderr, "%s\n", error.message);
            exit(EXIT_FAILURE);
        }
        const double taken = mixture_case_seconds() - start;
        outcome.seconds = taken < outcome.seconds ? taken : outcome.seconds;
        outcome.mean_ms = mixture->mean_ns / 1e6;
        if (mixture_out != NULL && i + 1 == rounds) {
            *mixture_out = mixture;
        } else {
            mixture_destroy(mixture);
        }
    }
    return outcome;
}

/* A long descent over all patterns, from start number @start. */
static struct outcome descend(struct mixture_case *the, uint32_t start, uint32_t steps)
{
    mixture_case_restart(the, start);
    const double began = mixture_case_seconds();
    const double mean_ns = descent_run(&the->draft->descent, steps, 1e-9);
    return (struct outcome){.mean_ms = mean_ns / 1e6, .seconds = mixture_case_seconds() - began};
}

static struct outcome ask_oracle(struct draft *draft, double seconds, bool near)
{
    struct outcome outcome;
    const double began = mixture_case_seconds();
    outcome.mean_ms = mixture_oracle_solve(draft, seconds, near, &outcome.ended) / 1e6;
    outcome.seconds = mixture_case_seconds() - began;
    return outcome;
}

static void print(const char *what, struct outcome outcome, double best_ms)
{
    (void)printf(
        "  %-44s %9.2f ms  mean %9.4f ms  %+7.3f %% of the best known\n", what,
        1e3 * outcome.seconds, outcome.mean_ms, 100 * (outcome.mean_ms / best_ms - 1));
}

static double lower(double a, double b)
{
    return a < b ? a : b;
}

/* How Ipopt goes on from the solution. */
struct polish {
    bool all;     /* Over all patterns of the case, besides its own placements. */
    bool blurred; /* With longest ways blurred, less and less. */
};

/* How far the solution is from a stationary point. */
static struct outcome polish(
    const struct mixture_case *the, const struct mixture *mixture, struct polish how,
    double seconds)
{
    struct sites *sites = draft_sites_of(mixture, &the->input, /* joined */ false);
    sites_add_ingress(sites, the->workload);
    struct draft *draft = draft_create(the->workload, sites);
    draft->plain_joins = true;
    struct outcome outcome = {.mean_ms = (double)INFINITY};
    if (draft_from_mixture(draft, mixture, 0, NULL) == WEFT_OK) {
        if (how.all) {
            mixture_case_add_patterns(draft);
            descent_admit(&draft->descent, SHARE_OTHERS);
        }
        double sum_s = 0;
        for (uint32_t i = how.blurred ? 0 : BLURS - 1; i < BLURS; i++) {
            draft->congestion.blur_ns = blurs[i] * mixture->mean_ns;
            outcome = ask_oracle(draft, seconds / (how.blurred ? BLURS : 1), /* near */ true);
            sum_s += outcome.seconds;
        }
        outcome.seconds = sum_s;
    }
    draft_destroy(draft);
    return outcome;
}

/* Rates up and down by a twentieth, and the solution before as a start. */
static void print_warm(struct mixture_case *the, const struct mixture *start)
{
    for (uint32_t i = 0; i < CASE_WORKFLOWS; i++) {
        the->rates[i] *= i % 2 == 0 ? 1.05 : 0.95;
    }
    const struct program_options warm = {.plain_joins = true, .start = start};
    const struct program_options cold = {.plain_joins = true};
    const struct outcome outcome = solve(the, &warm, ROUNDS, NULL);
    const struct outcome whole = solve(the, &cold, 1, NULL);
    print("rates changed by 5 %, from that start", outcome, lower(outcome.mean_ms, whole.mean_ms));
    print("rates changed by 5 %, from nothing", whole, lower(outcome.mean_ms, whole.mean_ms));
    for (uint32_t i = 0; i < CASE_WORKFLOWS; i++) {
        the->rates[i] /= i % 2 == 0 ? 1.05 : 0.95;
    }
}

/* What no policy can go below, state-aware or not; mixtures are far above where queues are. */
static void print_bound(const struct mixture_case *the)
{
    struct lower_bound bound;
    const double began = mixture_case_seconds();
    if (lower_bound_find(&the->input, &bound)) {
        (void)printf(
            "  %-44s %9.2f ms  mean %9.4f ms  (%u placements; %u of %u workflows relaxed)\n",
            "lower bound for any policy, Clp", 1e3 * (mixture_case_seconds() - began),
            bound.mean_ns / 1e6, bound.placements, bound.relaxed, bound.listed + bound.relaxed);
    }
}

/* Ipopt from two drawn starts and from the solution. The lowest mean of all. */
static double print_oracle(
    struct mixture_case *the, const struct mixture *mixture, double best_ms, double seconds)
{
    static const char *const names[ORACLES] = {
        "Ipopt over all patterns, first start",           "Ipopt over all patterns, second start",
        "Ipopt over all patterns, from 4 starts' result", "the same with longest ways blurred",
        "Ipopt over the placements of that result",
    };
    struct outcome outcomes[ORACLES];
    for (uint32_t i = 0; i < ORACLES; i++) {
        if (i < 2) {
            mixture_case_restart(the, i + 1);
            outcomes[i] = ask_oracle(the->draft, seconds, /* near */ false);
        } else {
            const struct polish how = {.all = i < 4, .blurred = i == 3};
            outcomes[i] = polish(the, mixture, how, seconds);
        }
        best_ms = lower(best_ms, outcomes[i].mean_ms);
    }
    for (uint32_t i = 0; i < ORACLES; i++) {
        print(names[i], outcomes[i], best_ms);
        (void)printf("    %s\n", outcomes[i].ended ? "ended by itself" : "stopped");
    }
    return best_ms;
}

static void run_case(uint32_t machines, bool unequal, double oracle_seconds)
{
    static const uint32_t restarts[] = {1, 2, 4, 16};
    static const char *const names[] = {
        "program, 1 start", "program, 2 starts", "program, 4 starts", "program, 16 starts"};
    struct mixture_case the;
    struct outcome outcomes[4];
    struct outcome descents[2];
    struct mixture *mixture = NULL;
    const struct mixture_case_options how = {
        .machines = machines, .load = LOAD, .unequal = unequal, .with_patterns = true};
    mixture_case_open(&the, &how);
    double best_ms = machines == 80 ? met_ms[unequal ? 1 : 0] : (double)INFINITY;
    for (uint32_t i = 0; i < 4; i++) {
        const struct program_options options = {.plain_joins = true, .restarts = restarts[i]};
        const uint32_t rounds = i == 3 || machines > 100 ? 1 : ROUNDS;
        outcomes[i] = solve(&the, &options, rounds, i == 2 ? &mixture : NULL);
        best_ms = lower(best_ms, outcomes[i].mean_ms);
    }
    for (uint32_t i = 0; i < 2; i++) {
        descents[i] = descend(&the, i + 1, machines > 100 ? 300 : 3000);
        best_ms = lower(best_ms, descents[i].mean_ms);
    }
    (void)printf(
        "%u %s machines, %u workflows, %u patterns\n", machines, unequal ? "different" : "equal",
        (uint32_t)CASE_WORKFLOWS, the.draft->patterns.count);
    if (oracle_seconds > 0 && machines <= 100 && mixture_oracle_is_there()) {
        best_ms = print_oracle(&the, mixture, best_ms, oracle_seconds);
    }
    for (uint32_t i = 0; i < 4; i++) {
        print(names[i], outcomes[i], best_ms);
    }
    print("descent over all patterns, first start", descents[0], best_ms);
    print("descent over all patterns, second start", descents[1], best_ms);
    print_bound(&the);
    print_warm(&the, mixture);
    mixture_destroy(mixture);
    mixture_case_close(&the);
}

/* A draw beside one random number, which it cannot do without. */
static void run_draws(void)
{
    struct mixture_case the;
    struct mixture *mixture = NULL;
    const struct mixture_case_options how = {.machines = 80, .load = LOAD};
    mixture_case_open(&the, &how);
    const struct program_options options = {0};
    (void)solve(&the, &options, 1, &mixture);
    struct rng rng = rng_stream(1, RNG_TEST, 0);
    uint64_t sum = 0;
    double best[2] = {(double)INFINITY, (double)INFINITY};
    for (uint32_t round = 0; round < ROUNDS; round++) {
        double start = mixture_case_seconds();
        for (uint32_t i = 0; i < DRAWS; i++) {
            sum += rng_next(&rng);
        }
        best[0] = lower(best[0], mixture_case_seconds() - start);
        start = mixture_case_seconds();
        for (uint32_t i = 0; i < DRAWS; i++) {
            sum += mixture_draw(mixture, i % CASE_WORKFLOWS, &rng)[0];
        }
        best[1] = lower(best[1], mixture_case_seconds() - start);
    }
    (void)printf(
        "a draw from %u placements: %.1f ns, %.1f times a random number (%llu)\n",
        mixture->workflows[0].pattern_count, 1e9 * best[1] / DRAWS, best[1] / best[0],
        (unsigned long long)(sum % 10));
    mixture_destroy(mixture);
    mixture_case_close(&the);
}

int main(int argc, char **argv)
{
    const bool full = argc > 1 && strcmp(argv[1], "full") == 0;
    const double seconds = argc > 2 ? strtod(argv[2], NULL) : ORACLE_SECONDS;
    if (argc > 3 || (argc > 1 && !full) || !(seconds > 0)) {
        (void)fprintf(stderr, "usage: %s [full [SECONDS]]\n", argv[0]);
        return EXIT_FAILURE;
    }
    run_draws();
    for (uint32_t i = 0; i < (full ? 4U : 2U); i++) {
        const uint32_t machines = i < 2 ? 80 : 800;
        run_case(machines, /* unequal */ i % 2 == 1, full ? seconds : 0);
        (void)fflush(stdout);
    }
    return EXIT_SUCCESS;
}
