/*
 * What rows cost in clusters of 16 to 1,024 nodes, and how good decisions are: rows to all nodes
 * against rows within cells (view/cells.h), the same jobs and seeds, in turn. Two workloads: jobs
 * of ten tasks of 2 to 11 ms, where rows change faster than they may be shown, and those of
 * Compass, where memory is short.
 *
 *     bench_cells [nodes-max] [seeds]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/units.h"
#include "document/scenario.h"
#include "ten_tasks.h"
#include "wire/row.h"

enum { JOBS_PER_NODE = 60, NODES_FIRST = 16 };

#define COMPASS "scenarios/compass/compass.yaml"

/* What `weft serve` decides by, and what it could. */
static const char *const policies[] = {
    "weft", "place=compass:pool:keep=16,order=weft,dispatch=first-fit:gpu=4:paying,cache=compass",
    "least-work"};
static const char *const names[] = {"weft", "compass", "least-work"};

enum { POLICIES = ARRAY_COUNT(policies) };

/* Sums over runs. */
struct figures {
    double mean_ms;
    double p99_ms;
    double messages_per_s; /* Rows that a node sends. */
    double bytes_per_s;    /* Of these. */
    double decision_us;
    double events_per_s; /* Of a node. */
};

static uint64_t stopwatch_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static size_t row_bytes(uint32_t parts)
{
    uint8_t bytes[ROW_BYTES_MAX];
    const struct row row = {.parts = parts};
    return row_encode(&row, bytes, sizeof(bytes));
}

static void run(struct sim_options *options, struct figures *sum)
{
    struct sim_counters counters;
    struct report report;
    options->stopwatch_ns = stopwatch_ns;
    struct sim *sim = sim_create(options);
    sim_run(sim);
    sim_counters(sim, &counters);
    sim_report(sim, &report);
    sim_destroy(sim);
    const double node_seconds = (double)counters.now_ns * 1e-9 * options->fleet->node_count;
    const double load_bytes = (double)row_bytes(ROW_LOAD);
    const double cache_bytes = (double)row_bytes(ROW_BOTH) - load_bytes;
    sum->mean_ms += report.latency_ms.mean;
    sum->p99_ms += report.latency_ms.p99;
    sum->messages_per_s += (double)counters.row_messages / node_seconds;
    sum->bytes_per_s += ((double)counters.row_messages * load_bytes +
                         (double)counters.cache_messages * cache_bytes) /
                        node_seconds;
    sum->decision_us += counters.decision_mean_ns * 1e-3;
    sum->events_per_s += (double)counters.steps / node_seconds;
}

static void run_short(
    uint32_t nodes, uint64_t seed, const char *policy, uint32_t cell_nodes, struct figures *sum)
{
    struct ten_tasks ten;
    ten_tasks_open(&ten, nodes, (uint64_t)JOBS_PER_NODE * nodes, /* load */ 0.7, policy);
    ten.options.seed = seed;
    ten.options.cell_nodes = cell_nodes;
    run(&ten.options, sum);
    ten_tasks_close(&ten);
}

static void run_compass(
    uint32_t nodes, uint64_t seed, const char *policy, uint32_t cell_nodes, struct figures *sum)
{
    char workers[16];
    struct scenario *scenario = NULL;
    struct policy_set set;
    struct weft_error error;
    (void)snprintf(workers, sizeof(workers), "%u", nodes);
    const struct scenario_setting settings[] = {{"workers", workers}};
    if (scenario_load_with(COMPASS, settings, 1, &scenario, &error) != WEFT_OK ||
        policy_set_parse(policy, &set, &error) != WEFT_OK) {
        (void)fprintf(stderr, "%s\n", error.message);
        exit(EXIT_FAILURE);
    }
    scenario->arrivals.rate_per_s = 0.7 * nodes; /* Of 0.9 that a device can do. */
    struct sim_options options = {
        .fleet = scenario->fleet,
        .catalogue = scenario->catalogue,
        .profile = scenario->profile,
        .policies = &set,
        .arrivals = &scenario->arrivals,
        .jobs = (uint64_t)JOBS_PER_NODE * nodes,
        .warmup = scenario->warmup,
        .seed = seed,
        .row_load_ns = scenario->rows.load_ns,
        .row_cache_ns = scenario->rows.cache_ns,
        .cell_nodes = cell_nodes,
    };
    run(&options, sum);
    scenario_destroy(scenario);
}

static void print(uint32_t nodes, const char *rows, const struct figures *sum, uint32_t seeds)
{
    (void)printf(
        "| %5u | %-9s | %9.0f | %8.1f | %8.2f | %8.0f | %8.2f | %8.2f |", nodes, rows,
        sum->messages_per_s / seeds, sum->bytes_per_s / seeds / 1e3, sum->decision_us / seeds,
        sum->events_per_s / seeds, sum->mean_ms / seeds, sum->p99_ms / seeds);
}

static void measure(const char *workload, uint32_t policy, uint32_t nodes_max, uint32_t seeds)
{
    (void)printf(
        "\n%s, %s policy\n\n"
        "| nodes | rows      | sent /s   | kB/s     | decide µs| events/s | mean ms  | p99 ms   "
        "| mean, to all = 1 |\n|---|---|---|---|---|---|---|---|---|\n",
        workload, names[policy]);
    void (*const run_one)(uint32_t, uint64_t, const char *, uint32_t, struct figures *) =
        workload[0] == 'C' ? run_compass : run_short;
    for (uint32_t nodes = NODES_FIRST; nodes <= nodes_max; nodes *= 2) {
        struct figures all = {0};
        struct figures cells = {0};
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            run_one(nodes, seed, policies[policy], /* cell_nodes */ UINT32_MAX, &all);
            run_one(nodes, seed, policies[policy], /* cell_nodes */ 0, &cells);
        }
        print(nodes, "to all", &all, seeds);
        (void)printf(" 1 |\n");
        print(nodes, "in cells", &cells, seeds);
        (void)printf(" %.3f |\n", cells.mean_ms / all.mean_ms);
        (void)fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    const uint32_t nodes_max = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1024;
    const uint32_t seeds = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 2;
    for (uint32_t i = 0; i < POLICIES; i++) {
        measure("Short tasks", i, nodes_max, seeds);
        measure("Compass", i, nodes_max, seeds);
    }
    return EXIT_SUCCESS;
}
