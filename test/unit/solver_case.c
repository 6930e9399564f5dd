#include "solver_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "model/links_route.h"

static double factors[DEVICE_KINDS_MAX];

void solver_case_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance)) {
        fail_msg("%.12g is not %.12g", value, expected);
    }
}

static void add_machine(struct solver_case *plan, const char *kind, uint32_t worker_count)
{
    const struct fleet_worker device = {
        .device = fleet_device(plan->fleet, kind),
        .memory_bytes = 1000000,
        .gpu_units = 1,
    };
    assert_true(fleet_add_machine(plan->fleet, &device, worker_count, /* cpu_units */ 1));
}

void solver_case_open(struct solver_case *plan, uint32_t node_count, uint32_t worker_count)
{
    *plan = (struct solver_case){
        .catalogue = catalogue_create(),
        .fleet = fleet_create(),
        .profile = profile_create(MODELS_MAX),
    };
    factors[0] = 1;
    for (uint32_t i = 0; i < node_count; i++) {
        add_machine(plan, "plain", worker_count);
    }
    plan->input = (struct program_input){
        .catalogue = plan->catalogue,
        .fleet = plan->fleet,
        .profile = plan->profile,
    };
}

void solver_case_close(struct solver_case *plan)
{
    profile_destroy(plan->profile);
    catalogue_destroy(plan->catalogue);
    fleet_destroy(plan->fleet);
}

void solver_case_add_kind(struct solver_case *plan, const char *kind, double factor)
{
    add_machine(plan, kind, /* worker_count */ 1);
    factors[fleet_device(plan->fleet, kind)] = factor;
}

struct profile_curve *solver_case_model(struct solver_case *plan, const char *name, double ms)
{
    const uint32_t model = catalogue_model(plan->catalogue, name);
    const uint32_t kinds = plan->fleet->device_count > 0 ? plan->fleet->device_count : 1;
    for (uint32_t kind = 0; kind < kinds; kind++) {
        const struct profile_point point = {
            .items = 1, .run_ns = (int64_t)(ms * factors[kind] * 1e6)};
        assert_int_equal(profile_add_point(plan->profile, model, kind, &point), WEFT_OK);
    }
    return &plan->profile->models[model].curves[0];
}

static void add_task(struct solver_case *plan, struct workflow *workflow, const char *name)
{
    struct workflow_task task = {.run = catalogue_find_model(plan->catalogue, name)};
    uint32_t number;
    (void)snprintf(task.name, sizeof(task.name), "%s%u", name, workflow->task_count);
    assert_int_equal(workflow_add_task(workflow, &task, &number), WEFT_OK);
}

static void add_edge(struct workflow *workflow, uint32_t from, uint32_t to, uint64_t bytes)
{
    const struct workflow_edge edge = {.from = from, .to = to, .bytes = bytes};
    assert_int_equal(workflow_add_edge(workflow, &edge), WEFT_OK);
}

static void add_workflow(struct solver_case *plan, struct workflow *workflow, double rate_per_s)
{
    struct weft_error error;
    assert_int_equal(workflow_seal(workflow, &error), WEFT_OK);
    plan->rates[plan->catalogue->workflow_count] = rate_per_s;
    assert_int_equal(catalogue_add_workflow(plan->catalogue, workflow), WEFT_OK);
    plan->input.rates_per_s = plan->rates;
}

void solver_case_single(struct solver_case *plan, const char *model, double rate_per_s)
{
    struct workflow *workflow = workflow_create(model);
    add_task(plan, workflow, model);
    add_workflow(plan, workflow, rate_per_s);
}

void solver_case_pair(struct solver_case *plan, double ms, uint64_t bytes, double rate_per_s)
{
    char names[2][NAME_BYTES_MAX];
    char name[NAME_BYTES_MAX];
    (void)snprintf(name, sizeof(name), "pair%u", plan->catalogue->workflow_count);
    struct workflow *workflow = workflow_create(name);
    for (uint32_t i = 0; i < 2; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "p%u-%u", plan->catalogue->workflow_count, i);
        (void)solver_case_model(plan, names[i], ms);
        add_task(plan, workflow, names[i]);
    }
    add_edge(workflow, 0, 1, bytes);
    add_workflow(plan, workflow, rate_per_s);
}

void solver_case_diamond(struct solver_case *plan, double scale, double rate_per_s)
{
    const uint64_t light = (uint64_t)(1e6 * scale);
    struct workflow *workflow = workflow_create("diamond");
    static const char *const names[] = {"a", "b", "c", "d"};
    static const double times_ms[] = {2, 8, 10, 2};
    for (uint32_t i = 0; i < 4; i++) {
        (void)solver_case_model(plan, names[i], times_ms[i]);
        add_task(plan, workflow, names[i]);
    }
    add_edge(workflow, 0, 1, light);
    add_edge(workflow, 0, 2, 9 * light);
    add_edge(workflow, 1, 3, light);
    add_edge(workflow, 2, 3, 9 * light);
    add_workflow(plan, workflow, rate_per_s);
}

void solver_case_random(
    struct solver_case *plan, struct rng *rng, uint32_t task_count, uint64_t input_bytes,
    double rate_per_s)
{
    char name[NAME_BYTES_MAX];
    (void)snprintf(name, sizeof(name), "random%u", plan->catalogue->workflow_count);
    struct workflow *workflow = workflow_create(name);
    workflow->input_bytes = input_bytes;
    for (uint32_t i = 0; i < task_count; i++) {
        const double ms = 1 + 9 * rng_unit(rng);
        (void)snprintf(name, sizeof(name), "m%u-%u", plan->catalogue->workflow_count, i);
        struct profile_curve *curve = solver_case_model(plan, name, ms);
        if (rng_below(rng, 3) == 0) {
            curve->distribution = DISTRIBUTION_EXPONENTIAL;
        }
        add_task(plan, workflow, name);
        const uint32_t first = i > 0 ? rng_below(rng, i) : 0;
        const uint32_t second = i > 0 ? rng_below(rng, i) : 0;
        if (i > 0) {
            add_edge(workflow, first, i, rng_below(rng, 2000000));
        }
        if (second != first) {
            add_edge(workflow, second, i, rng_below(rng, 2000000));
        }
    }
    add_workflow(plan, workflow, rate_per_s);
}

void solver_case_sizes(struct solver_case *plan, double load)
{
    const double per_s = load * 80 / 9.6e-3;
    solver_case_open(plan, /* node_count */ 80, /* worker_count */ 1);
    (void)solver_case_model(plan, "short", 2);
    (void)solver_case_model(plan, "middle", 8);
    (void)solver_case_model(plan, "long", 60);
    solver_case_single(plan, "short", 0.6 * per_s);
    solver_case_single(plan, "middle", 0.3 * per_s);
    solver_case_single(plan, "long", 0.1 * per_s);
}

struct mixture *solver_case_solve(
    struct solver_case *plan, const struct program_options *options, struct program_report *report)
{
    struct mixture *mixture = NULL;
    struct weft_error error;
    if (program_solve(&plan->input, options, &mixture, report, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
    return mixture;
}

struct mixture *solver_case_by_hand(
    const struct solver_case *plan, const uint16_t *placements, uint32_t count)
{
    const uint32_t task_count = plan->catalogue->workflows[0]->task_count;
    struct mixture *mixture =
        mixture_create(1, plan->fleet->worker_count, links_count(plan->fleet));
    mixture_set_workflow(mixture, 0, task_count, plan->rates[0]);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(
            mixture_add_pattern(mixture, 0, placements + (size_t)i * task_count, 1), WEFT_OK);
    }
    assert_int_equal(mixture_seal(mixture, NULL), WEFT_OK);
    return mixture;
}
