/*
 * Mean times of every policy on the scenarios of Nona, over what no policy can go below.
 *
 *     bench_nona_bound [SEEDS [JOBS]]
 *
 * The reference is the bound of a linear program (lower_bound.h), found in the same run. A
 * mean whose upper confidence limit is below it would mean that one of the two is wrong: it
 * is marked, and the program then fails. Needs Clp.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/units.h"
#include "document/scenario.h"
#include "lower_bound.h"
#include "mixture/program.h"
#include "read_count.h"
#include "sim/sim.h"

#define USAGE "bench_nona_bound [SEEDS [JOBS]]"

enum { SEEDS_DEFAULT = 4, SEEDS_MAX = 64, JOBS_DEFAULT = 6000, CASES_RATES_MAX = 3 };

#define ROW_LOAD_NS  NS_PER_MS
#define ROW_CACHE_NS (100 * NS_PER_MS)

static const char *const policies[] = {
    "nona", "expert",        "expert:split=2", "fair",    "fifo", "po2",
    "hash", "opportunistic", "least-work",     "compass", "heft",
};

static const struct {
    const char *name;
    uint32_t times; /* As many jobs: short ones need more of them. */
    double rates[CASES_RATES_MAX];
} cases[] = {
    {"diamond", 1, {0.1, 20, 60}},        {"one-link", 1, {10, 100, 600}},
    {"sizes", 10, {4167, 6667, 7500}},    {"nona", 4, {750, 1500, 2250}},
    {"network-bound", 1, {25, 100, 500}}, {"racks", 1, {50, 125, 350}},
};

/* Student's t for a 95 % interval with n - 1 degrees of freedom, nearly. */
static double quantile(uint32_t count)
{
    static const double few[] = {0, 0, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26};
    return count < ARRAY_COUNT(few) ? few[count] : 2.1;
}

struct figures {
    double mean_ms;
    double half_ms; /* Of the 95 % interval. */
    bool stable;
};

static struct figures simulate(
    const struct scenario *scenario, const struct arrivals *arrivals, const char *policy,
    uint32_t seeds, uint64_t jobs)
{
    struct figures outcome = {.stable = true};
    double sum = 0;
    double squares = 0;
    struct policy_set set;
    if (policy_set_parse(policy, &set, NULL) != WEFT_OK) {
        exit(EXIT_FAILURE);
    }
    for (uint32_t seed = 1; seed <= seeds; seed++) {
        struct report report;
        const struct sim_options options = {
            .fleet = scenario->fleet,
            .catalogue = scenario->catalogue,
            .profile = scenario->profile,
            .policies = &set,
            .arrivals = arrivals,
            .jobs = jobs,
            .warmup = 0.1,
            .seed = seed,
            .row_load_ns = ROW_LOAD_NS,
            .row_cache_ns = ROW_CACHE_NS,
        };
        struct sim *sim = sim_create(&options);
        sim_run(sim);
        sim_report(sim, &report);
        sim_destroy(sim);
        sum += report.latency_ms.mean;
        squares += report.latency_ms.mean * report.latency_ms.mean;
        outcome.stable = outcome.stable && report.stable;
    }
    outcome.mean_ms = sum / seeds;
    if (seeds > 1) {
        const double variance = (squares - sum * sum / seeds) / (seeds - 1);
        outcome.half_ms = quantile(seeds) * sqrt((variance > 0 ? variance : 0) / seeds);
    }
    return outcome;
}

/* False if some mean is below the bound. */
static bool run_case(
    const struct scenario *scenario, double rate_per_s, uint32_t seeds, uint64_t jobs)
{
    struct arrivals arrivals = scenario->arrivals;
    double *rates = memory_zeroed(scenario->catalogue->workflow_count, sizeof(*rates));
    struct lower_bound bound;
    bool is_above = true;
    if (!arrivals_set_rate(&arrivals, rate_per_s) ||
        !arrivals_rates(&arrivals, scenario->catalogue, rates)) {
        exit(EXIT_FAILURE);
    }
    const struct program_input input = {
        .catalogue = scenario->catalogue,
        .profile = scenario->profile,
        .fleet = scenario->fleet,
        .rates_per_s = rates,
    };
    if (!lower_bound_find(&input, &bound)) {
        exit(EXIT_FAILURE);
    }
    const double bound_ms = bound.mean_ns / 1e6;
    (void)printf(
        "%s at %g/s: no policy below %.2f ms (%u workflows with all placements, %u relaxed)\n",
        scenario->name, rate_per_s, bound_ms, bound.listed, bound.relaxed);
    for (size_t i = 0; i < ARRAY_COUNT(policies); i++) {
        const struct figures outcome = simulate(scenario, &arrivals, policies[i], seeds, jobs);
        const bool is_below = outcome.mean_ms + outcome.half_ms < bound_ms;
        is_above = is_above && !is_below;
        (void)printf(
            "  %-16s %10.2f ± %-8.2f %8.2f x bound%s%s\n", policies[i], outcome.mean_ms,
            outcome.half_ms, outcome.mean_ms / bound_ms,
            outcome.stable ? "" : "  (past saturation)", is_below ? "  BELOW" : "");
    }
    free(rates);
    return is_above;
}

int main(int argc, char **argv)
{
    const uint32_t seeds =
        argc > 1 ? (uint32_t)read_count(argv[1], SEEDS_MAX, USAGE) : (uint32_t)SEEDS_DEFAULT;
    const uint64_t jobs = argc > 2 ? read_count(argv[2], 1000000000, USAGE) : JOBS_DEFAULT;
    bool is_above = true;
    if (!lower_bound_is_there()) {
        (void)printf("skipped: needs Clp; apt-get install coinor-libclp-dev\n");
        return EXIT_SUCCESS;
    }
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        char path[128];
        struct scenario *scenario = NULL;
        struct weft_error error = {0};
        (void)snprintf(path, sizeof(path), "scenarios/nona/%s.yaml", cases[i].name);
        if (scenario_load(path, &scenario, &error) != WEFT_OK) {
            (void)fprintf(stderr, "%s\n", error.message);
            return EXIT_FAILURE;
        }
        for (size_t k = 0; k < CASES_RATES_MAX; k++) {
            is_above =
                run_case(scenario, cases[i].rates[k], seeds, cases[i].times * jobs) && is_above;
        }
        scenario_destroy(scenario);
    }
    return is_above ? EXIT_SUCCESS : EXIT_FAILURE;
}
