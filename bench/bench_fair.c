/*
 * What max-min fair links cost: steps of nodes a second beside FIFO links, in the same
 * scenario and the same run. On idle links transfers seldom meet; on busy ones most share
 * links with most others, through one another, and a change moves many rates.
 *
 *     bench_fair [workers] [jobs]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sim/sim.h"

#define LINK_BYTES_PER_S UINT64_C(1250000000)
#define JOB_S            0.065 /* Of work. */

#define DEVICE_LOAD 0.7

enum { TASKS = 10, EDGES = 10, LIGHT_BYTES = 100000, RACK_NODES = 20 };

struct bench {
    uint32_t workers;
    uint64_t jobs;
    uint64_t edge_bytes;
    enum network_kind kind;
    const char *policy;
};

/* Of this process on a processor: others on the machine do not count. */
static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void need(enum weft_status status)
{
    if (status != WEFT_OK) {
        exit(EXIT_FAILURE);
    }
}

/* A fork into two chains of four, and a join; 2 to 11 ms each. */
static void add_workflow(struct catalogue *catalogue, struct profile *profile, uint64_t bytes)
{
    static const uint32_t edges[EDGES][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {0, 5},
                                             {5, 6}, {6, 7}, {7, 8}, {4, 9}, {8, 9}};
    struct workflow *workflow = workflow_create("ten");
    struct weft_error error;
    for (uint32_t i = 0; i < TASKS; i++) {
        struct workflow_task task = {0};
        uint32_t number;
        (void)snprintf(task.name, sizeof(task.name), "t%u", i);
        task.run = catalogue_model(catalogue, task.name);
        const struct profile_point point = {.items = 1, .run_ns = (i + 2) * INT64_C(1000000)};
        need(profile_add_point(profile, task.run, 0, &point));
        need(workflow_add_task(workflow, &task, &number));
    }
    for (uint32_t i = 0; i < EDGES; i++) {
        const struct workflow_edge edge = {.from = edges[i][0], .to = edges[i][1], .bytes = bytes};
        need(workflow_add_edge(workflow, &edge));
    }
    need(workflow_seal(workflow, &error));
    need(catalogue_add_workflow(catalogue, workflow));
}

static struct fleet *make_fleet(const struct bench *bench, enum network_sharing sharing)
{
    struct fleet *fleet = fleet_create();
    const struct fleet_worker device = {
        .device = fleet_device(fleet, "gpu"),
        .memory_bytes = UINT64_C(16000000000),
        .bus_bytes_per_s = UINT64_C(10000000000),
        .gpu_units = 1,
    };
    for (uint32_t i = 0; i < bench->workers; i++) {
        if (!fleet_add_machine(fleet, &device, 1, /* cpu_units */ 8)) {
            exit(EXIT_FAILURE);
        }
    }
    fleet->network = (struct fleet_network){
        .link_bytes_per_s = LINK_BYTES_PER_S,
        .latency_ns = 5000,
        .kind = bench->kind,
        .sharing = sharing,
        .nodes_per_rack = RACK_NODES,
        .core_bytes_per_s = LINK_BYTES_PER_S * RACK_NODES,
    };
    return fleet;
}

/* Steps a second. */
static double run(const struct bench *bench, enum network_sharing sharing, double *latency_out)
{
    struct fleet *fleet = make_fleet(bench, sharing);
    struct catalogue *catalogue = catalogue_create();
    struct profile *profile = profile_create(MODELS_MAX);
    struct policy_set policies;
    struct weft_error error;
    add_workflow(catalogue, profile, bench->edge_bytes);
    need(policy_set_parse(bench->policy, &policies, &error));
    const struct arrivals arrivals = {
        .kind = ARRIVALS_POISSON,
        .rate_per_s = DEVICE_LOAD * bench->workers / JOB_S,
        .mix = {1},
    };
    const struct sim_options options = {
        .fleet = fleet,
        .catalogue = catalogue,
        .profile = profile,
        .policies = &policies,
        .arrivals = &arrivals,
        .jobs = bench->jobs,
        .warmup = 0.1,
        .seed = 1,
        .row_load_ns = 10000000,
        .row_cache_ns = 100000000,
    };
    struct sim *sim = sim_create(&options);
    const double start = seconds();
    sim_run(sim);
    const double taken = seconds() - start;
    struct sim_counters counters;
    struct report report;
    sim_counters(sim, &counters);
    sim_report(sim, &report);
    *latency_out = report.latency_ms.mean;
    sim_destroy(sim);
    fleet_destroy(fleet);
    catalogue_destroy(catalogue);
    profile_destroy(profile);
    return (double)counters.steps / taken;
}

static void compare(const struct bench *bench, const char *name)
{
    double fifo_ms;
    double fair_ms;
    const double fifo = run(bench, SHARING_FIFO, &fifo_ms);
    const double fair = run(bench, SHARING_FAIR, &fair_ms);
    (void)printf(
        "%4u workers, %-21s FIFO %.2f M events/s (%.1f ms a job), fair %.2f M events/s "
        "(%.1f ms); ratio %.2f\n",
        bench->workers, name, fifo / 1e6, fifo_ms, fair / 1e6, fair_ms, fair / fifo);
}

/* Edges that keep the links of each machine busy for this share of the time, if all move. */
static uint64_t bytes_for(double link_load)
{
    const double transfers_per_s = DEVICE_LOAD / JOB_S * EDGES;
    return (uint64_t)((double)LINK_BYTES_PER_S * link_load / transfers_per_s);
}

static void compare_all(uint32_t workers, uint64_t jobs)
{
    struct bench bench = {
        .workers = workers,
        .jobs = jobs,
        .edge_bytes = LIGHT_BYTES,
        .policy = "least-work",
    };
    compare(&bench, "star, links at 0.01:");
    bench.policy = "po2"; /* The other sends everything to the same few, and nothing moves. */
    bench.edge_bytes = bytes_for(0.4);
    compare(&bench, "star, links at 0.4:");
    bench.kind = NETWORK_TWO_TIER;
    compare(&bench, "two-tier, at 0.4:");
    bench.kind = NETWORK_STAR;
    bench.edge_bytes = bytes_for(0.6);
    compare(&bench, "star, links at 0.6:");
}

int main(int argc, char **argv)
{
    const uint64_t jobs = argc > 2 ? strtoull(argv[2], NULL, 10) : 20000;
    if (argc > 1) {
        compare_all((uint32_t)strtoul(argv[1], NULL, 10), jobs);
    } else {
        compare_all(/* workers */ 80, jobs);
        compare_all(/* workers */ 500, jobs);
    }
    return EXIT_SUCCESS;
}
