/*
 * ten_tasks.h - what the benchmarks of the simulator run: jobs of ten tasks, a fork into two
 * chains of four and a join, of 2 to 11 ms each, on machines of one device with FIFO links.
 */
#ifndef TEN_TASKS_H
#define TEN_TASKS_H

#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"
#include "sim/sim.h"

#define TEN_TASKS_WORK_S 0.065 /* Of one job. */

struct ten_tasks {
    struct fleet *fleet;
    struct catalogue *catalogue;
    struct profile *profile;
    struct policy_set policies;
    struct arrivals arrivals;
    struct sim_options options;
};

static inline void ten_tasks_need(enum weft_status status)
{
    if (status != WEFT_OK) {
        exit(EXIT_FAILURE);
    }
}

static inline void ten_tasks_workflow(struct ten_tasks *ten)
{
    static const uint32_t edges[][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {0, 5},
                                        {5, 6}, {6, 7}, {7, 8}, {4, 9}, {8, 9}};
    struct workflow *workflow = workflow_create("ten");
    struct weft_error error;
    for (uint32_t i = 0; i < 10; i++) {
        struct workflow_task task = {0};
        uint32_t number;
        (void)snprintf(task.name, sizeof(task.name), "t%u", i);
        task.run = catalogue_model(ten->catalogue, task.name);
        const struct profile_point point = {.items = 1, .run_ns = (i + 2) * INT64_C(1000000)};
        ten_tasks_need(profile_add_point(ten->profile, task.run, 0, &point));
        ten_tasks_need(workflow_add_task(workflow, &task, &number));
    }
    for (uint32_t i = 0; i < ARRAY_COUNT(edges); i++) {
        const struct workflow_edge edge = {.from = edges[i][0], .to = edges[i][1], .bytes = 100000};
        ten_tasks_need(workflow_add_edge(workflow, &edge));
    }
    ten_tasks_need(workflow_seal(workflow, &error));
    ten_tasks_need(catalogue_add_workflow(ten->catalogue, workflow));
}

/* @jobs jobs that keep @workers devices busy for @load of the time, under @policy. */
static inline void ten_tasks_open(
    struct ten_tasks *ten, uint32_t workers, uint64_t jobs, double load, const char *policy)
{
    struct weft_error error;
    *ten = (struct ten_tasks){
        .fleet = fleet_create(),
        .catalogue = catalogue_create(),
        .profile = profile_create(MODELS_MAX),
    };
    const struct fleet_worker device = {
        .device = fleet_device(ten->fleet, "gpu"),
        .memory_bytes = UINT64_C(16000000000),
        .bus_bytes_per_s = UINT64_C(10000000000),
        .gpu_units = 1,
    };
    for (uint32_t i = 0; i < workers; i++) {
        (void)fleet_add_machine(ten->fleet, &device, 1, /* cpu_units */ 8);
    }
    ten->fleet->network.link_bytes_per_s = UINT64_C(1250000000);
    ten->fleet->network.latency_ns = 5000;
    ten_tasks_workflow(ten);
    ten_tasks_need(policy_set_parse(policy, &ten->policies, &error));
    ten->arrivals = (struct arrivals){
        .kind = ARRIVALS_POISSON,
        .rate_per_s = load * workers / TEN_TASKS_WORK_S,
        .mix = {1},
    };
    ten->options = (struct sim_options){
        .fleet = ten->fleet,
        .catalogue = ten->catalogue,
        .profile = ten->profile,
        .policies = &ten->policies,
        .arrivals = &ten->arrivals,
        .jobs = jobs,
        .warmup = 0.1,
        .seed = 1,
        .row_load_ns = 10000000,
        .row_cache_ns = 100000000,
    };
}

static inline void ten_tasks_close(struct ten_tasks *ten)
{
    fleet_destroy(ten->fleet);
    catalogue_destroy(ten->catalogue);
    profile_destroy(ten->profile);
}

#endif /* TEN_TASKS_H */
