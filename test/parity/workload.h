/*
 * workload.h - a small cluster that is too small for its models, for both hosts.
 *
 * Three workflows (a chain, a diamond, and one that multiplies its items) over six models,
 * of which a device holds about three: plans, queues, loads and evictions all happen.
 */
#ifndef PARITY_WORKLOAD_H
#define PARITY_WORKLOAD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "model/catalogue.h"
#include "policy/compose.h"
#include "profile/profile.h"

enum { WORKLOAD_MODELS = 6 };

#define MS INT64_C(1000000)

struct workload {
    struct fleet *fleet;
    struct catalogue *catalogue;
    struct profile *profile;
};

struct workload_options {
    uint32_t node_count;
    uint32_t workers_per_node;
    int64_t run_ns; /* Of the fastest model; the slowest takes four times as long. */
    int64_t sd_ns;
};

static inline uint32_t workload_task(
    struct workflow *workflow, const char *name, uint32_t model, struct items_rule gives)
{
    struct workflow_task task = {.run = model, .gives = gives};
    uint32_t index;
    (void)snprintf(task.name, sizeof(task.name), "%s", name);
    if (model < WORKLOAD_MODELS) {
        task.models[0] = model;
        task.model_count = 1;
    }
    assert_int_equal(workflow_add_task(workflow, &task, &index), WEFT_OK);
    return index;
}

static inline void workload_edge(struct workflow *workflow, uint32_t from, uint32_t to)
{
    const struct workflow_edge edge = {
        .from = from, .to = to, .bytes = 1000 + 77 * from, .per_item = from % 2 == 0};
    assert_int_equal(workflow_add_edge(workflow, &edge), WEFT_OK);
}

static inline void workload_add(struct workload *workload, struct workflow *workflow)
{
    assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);
    assert_int_equal(catalogue_add_workflow(workload->catalogue, workflow), WEFT_OK);
}

static inline void workload_workflows(struct workload *workload)
{
    const struct items_rule same = {0, 0};
    struct workflow *chain = workflow_create("chain");
    chain->slo_ns = 200 * MS;
    chain->input_bytes = 5000;
    for (uint32_t i = 0; i < 4; i++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "c%u", i);
        (void)workload_task(chain, name, i, same);
    }
    for (uint32_t i = 0; i < 3; i++) {
        workload_edge(chain, i, i + 1);
    }
    workload_add(workload, chain);

    struct workflow *diamond = workflow_create("diamond");
    diamond->input_bytes = 3000;
    (void)workload_task(diamond, "top", WORKLOAD_MODELS, same);
    (void)workload_task(diamond, "left", 4, same);
    (void)workload_task(diamond, "middle", 1, same);
    (void)workload_task(diamond, "right", 5, same);
    (void)workload_task(diamond, "bottom", 2, same);
    for (uint32_t i = 1; i < 4; i++) {
        workload_edge(diamond, 0, i);
        workload_edge(diamond, i, 4);
    }
    workload_add(workload, diamond);

    struct workflow *spread = workflow_create("spread");
    (void)workload_task(spread, "cut", 3, (struct items_rule){2, 9});
    (void)workload_task(spread, "read", 0, same);
    (void)workload_task(spread, "note", 5, same);
    workload_edge(spread, 0, 1);
    workload_edge(spread, 0, 2);
    workload_add(workload, spread);
}

static inline void workload_init(struct workload *workload, const struct workload_options *options)
{
    workload->fleet = fleet_create();
    struct fleet_worker device = {.memory_bytes = 1000, .bus_bytes_per_s = 20000, .gpu_units = 1};
    device.device = fleet_device(workload->fleet, "small");
    for (uint32_t i = 0; i < options->node_count; i++) {
        assert_true(fleet_add_machine(
            workload->fleet, &device, options->workers_per_node, /* cpu_units */ 8));
    }
    workload->catalogue = catalogue_create();
    for (uint32_t i = 0; i <= WORKLOAD_MODELS; i++) { /* The last one is a function. */
        char name[8];
        (void)snprintf(name, sizeof(name), "m%u", i);
        assert_int_equal(catalogue_model(workload->catalogue, name), i);
    }
    workload_workflows(workload);
    workload->profile = profile_create(WORKLOAD_MODELS + 1);
    for (uint32_t i = 0; i <= WORKLOAD_MODELS; i++) {
        struct profile_model *model = &workload->profile->models[i];
        const bool is_function = i == WORKLOAD_MODELS;
        model->resident_bytes = is_function ? 0 : 200 + 30 * i;
        model->load_bytes = model->resident_bytes;
        model->load_fixed_ns = 100003;
        model->workspace_bytes = is_function ? 0 : 20;
        model->workspace_bytes_per_item = is_function ? 0 : 3;
        const int64_t one_ns = options->run_ns + options->run_ns * (int64_t)i * 3 / 5;
        const struct profile_point one = {.items = 1, .run_ns = one_ns, .sd_ns = options->sd_ns};
        const struct profile_point many = {
            .items = 16, .run_ns = 2 * one_ns, .sd_ns = options->sd_ns};
        assert_int_equal(profile_add_point(workload->profile, i, device.device, &one), WEFT_OK);
        assert_int_equal(profile_add_point(workload->profile, i, device.device, &many), WEFT_OK);
    }
}

static inline void workload_deinit(struct workload *workload)
{
    fleet_destroy(workload->fleet);
    catalogue_destroy(workload->catalogue);
    profile_destroy(workload->profile);
}

#endif /* PARITY_WORKLOAD_H */
