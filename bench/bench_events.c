/*
 * How many steps of nodes a simulation makes a second, beside a bare hold loop (take the
 * earliest, put one back) on the same event queue.
 *
 *     bench_events [workers] [jobs]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/event_queue.h"
#include "base/exact.h"
#include "sim/sim.h"

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Operations a second of the queue alone, with @pending items in it. */
static double hold(uint32_t pending)
{
    enum { ROUNDS = 5000000 };
    struct event_queue queue;
    struct rng rng = rng_stream(1, RNG_TEST, 0);
    struct timed_item item;
    event_queue_init(&queue);
    for (uint32_t i = 0; i < pending; i++) {
        event_queue_push(&queue, (int64_t)rng_range(&rng, 0, 10000000), i);
    }
    const double start = seconds();
    for (uint32_t i = 0; i < ROUNDS && event_queue_pop(&queue, &item); i++) {
        const int64_t gap_ns = (int64_t)rng_range(&rng, 0, 10000000);
        event_queue_push(&queue, item.at_ns + gap_ns, item.payload);
    }
    const double taken = seconds() - start;
    event_queue_deinit(&queue);
    return ROUNDS / taken;
}

/* Ten tasks: a fork into two chains of four, and a join; 2 to 11 ms each. */
static struct workflow *make_workflow(struct catalogue *catalogue, struct profile *profile)
{
    static const uint32_t edges[][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {0, 5},
                                        {5, 6}, {6, 7}, {7, 8}, {4, 9}, {8, 9}};
    struct workflow *workflow = workflow_create("ten");
    for (uint32_t i = 0; i < 10; i++) {
        struct workflow_task task = {0};
        uint32_t number;
        (void)snprintf(task.name, sizeof(task.name), "t%u", i);
        task.run = catalogue_model(catalogue, task.name);
        const struct profile_point point = {.items = 1, .run_ns = (i + 2) * INT64_C(1000000)};
        if (profile_add_point(profile, task.run, 0, &point) != WEFT_OK ||
            workflow_add_task(workflow, &task, &number) != WEFT_OK) {
            exit(EXIT_FAILURE);
        }
    }
    for (uint32_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
        const struct workflow_edge edge = {.from = edges[i][0], .to = edges[i][1], .bytes = 100000};
        if (workflow_add_edge(workflow, &edge) != WEFT_OK) {
            exit(EXIT_FAILURE);
        }
    }
    struct weft_error error;
    if (workflow_seal(workflow, &error) != WEFT_OK ||
        catalogue_add_workflow(catalogue, workflow) != WEFT_OK) {
        exit(EXIT_FAILURE);
    }
    return workflow;
}

int main(int argc, char **argv)
{
    const uint32_t workers = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 80;
    const uint64_t jobs = argc > 2 ? strtoull(argv[2], NULL, 10) : 100000;
    struct fleet *fleet = fleet_create();
    struct catalogue *catalogue = catalogue_create();
    struct profile *profile = profile_create(MODELS_MAX);
    const struct fleet_worker device = {
        .device = fleet_device(fleet, "gpu"),
        .memory_bytes = UINT64_C(16000000000),
        .bus_bytes_per_s = UINT64_C(10000000000),
        .gpu_units = 1,
    };
    for (uint32_t i = 0; i < workers; i++) {
        (void)fleet_add_machine(fleet, &device, 1, 8);
    }
    fleet->network.link_bytes_per_s = UINT64_C(1250000000);
    fleet->network.latency_ns = 5000;
    (void)make_workflow(catalogue, profile);
    struct policy_set policies;
    struct weft_error error;
    if (policy_set_parse("least-work", &policies, &error) != WEFT_OK) {
        return EXIT_FAILURE;
    }
    const struct arrivals arrivals = {
        .kind = ARRIVALS_POISSON,
        .rate_per_s = 0.7 * workers / 0.065, /* Load 0.7: a job is 65 ms of work. */
        .mix = {1},
    };
    const struct sim_options options = {
        .fleet = fleet,
        .catalogue = catalogue,
        .profile = profile,
        .policies = &policies,
        .arrivals = &arrivals,
        .jobs = jobs,
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
    const double rate = (double)counters.events / taken;
    const double reference = hold(workers * 3);
    (void)printf(
        "%u workers, %" PRIu64 " jobs of 10 tasks, FIFO links, least-work\n"
        "  %.2f M events/s, %.2f M tasks/s, %.1f events a job, %.0f ns an event\n"
        "  mean latency %.2f ms, utilisation %.2f\n"
        "  bare hold loop on the same queue: %.1f M operations/s; ratio %.3f\n",
        workers, jobs, rate / 1e6, (double)report.tasks / taken / 1e6,
        (double)counters.events / (double)jobs, 1e9 / rate, report.latency_ms.mean,
        report.utilisation, reference / 1e6, rate / reference);
    sim_destroy(sim);
    fleet_destroy(fleet);
    catalogue_destroy(catalogue);
    profile_destroy(profile);
    return EXIT_SUCCESS;
}
