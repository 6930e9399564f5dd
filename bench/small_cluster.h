/*
 * small_cluster.h - equal machines in a star, and workflows for them: what the solver is asked.
 */
#ifndef SMALL_CLUSTER_H
#define SMALL_CLUSTER_H

#include <stdio.h>
#include <stdlib.h>

#include "mixture/program.h"
#include "model/catalogue.h"
#include "model/fleet.h"
#include "profile/profile.h"

enum { CLUSTER_WORKFLOWS_MAX = 10 };

struct cluster {
    struct catalogue *catalogue;
    struct profile *profile;
    struct fleet *fleet;
    double work_ms[CLUSTER_WORKFLOWS_MAX]; /* Of a job of each workflow. */
    double rates[CLUSTER_WORKFLOWS_MAX];
    struct program_input input;
};

static inline void demand(bool condition)
{
    if (!condition) {
        (void)fputs("the case cannot be built\n", stderr);
        exit(EXIT_FAILURE);
    }
}

/* Without workflows. */
static inline void cluster_open(
    struct cluster *the, uint32_t machines, uint32_t workers, uint64_t link_bytes_per_s)
{
    *the = (struct cluster){
        .catalogue = catalogue_create(),
        .profile = profile_create(MODELS_MAX),
        .fleet = fleet_create(),
    };
    const struct fleet_worker device = {
        .device = fleet_device(the->fleet, "server"), .memory_bytes = 1, .gpu_units = 1};
    for (uint32_t i = 0; i < machines; i++) {
        demand(fleet_add_machine(the->fleet, &device, workers, /* cpu_units */ 1));
    }
    the->fleet->network.link_bytes_per_s = link_bytes_per_s;
    the->input = (struct program_input){
        .catalogue = the->catalogue,
        .profile = the->profile,
        .fleet = the->fleet,
        .rates_per_s = the->rates,
    };
}

static inline void cluster_close(struct cluster *the)
{
    profile_destroy(the->profile);
    catalogue_destroy(the->catalogue);
    fleet_destroy(the->fleet);
}

/* Append to @workflow, the next to be added, a task of @ms with its own model. */
static inline void cluster_add_task(
    struct cluster *the, struct workflow *workflow, double ms,
    enum profile_distribution distribution)
{
    struct workflow_task task = {0};
    uint32_t index;
    (void)snprintf(
        task.name, sizeof(task.name), "t%u-%u", (unsigned)the->catalogue->workflow_count,
        (unsigned)workflow->task_count);
    task.run = catalogue_model(the->catalogue, task.name);
    const struct profile_point point = {.items = 1, .run_ns = (int64_t)(ms * 1e6)};
    demand(profile_add_point(the->profile, task.run, 0, &point) == WEFT_OK);
    the->profile->models[task.run].curves[0].distribution = distribution;
    demand(workflow_add_task(workflow, &task, &index) == WEFT_OK);
    the->work_ms[the->catalogue->workflow_count] += ms;
}

static inline void cluster_add_workflow(struct cluster *the, struct workflow *workflow)
{
    demand(workflow_seal(workflow, NULL) == WEFT_OK);
    demand(catalogue_add_workflow(the->catalogue, workflow) == WEFT_OK);
}

/* @load of every worker, in equal parts by the workflows. */
static inline void cluster_load(struct cluster *the, double load)
{
    const uint32_t count = the->catalogue->workflow_count;
    for (uint32_t i = 0; i < count; i++) {
        the->rates[i] = load * the->fleet->worker_count / count / (the->work_ms[i] / 1e3);
    }
}

#endif /* SMALL_CLUSTER_H */
