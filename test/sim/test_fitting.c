/*
 * Clusters in which not everything fits everywhere, under every policy: no job may fail.
 *
 * Covers: src/node/placing.c src/node/routing.c src/node/home.c src/policy/compose_ask.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "policy/registry.h"
#include "stage.h"

enum { JOBS = 120 };

/* Four machines of which the last alone is large. */
static void open_mixed(struct stage *stage)
{
    stage_open(stage, /* node_count */ 4, MB(100));
    stage->fleet->workers[3].memory_bytes = MB(400);
}

/* How many jobs were answered for each reason. */
static uint32_t answers[REASON_COUNT];

static void on_record(void *context, const struct record *record)
{
    (void)context;
    answers[record->reason] += record->kind == RECORD_ANSWERED ? 1 : 0;
}

/* Play requests for workflows in turn, with @items. Returns what became of them. */
static struct report play(
    struct stage *stage, const char *policies, uint32_t workflow_count, uint32_t items)
{
    struct report report;
    struct weft_error error;
    memset(answers, 0, sizeof(answers));
    assert_int_equal(policy_set_parse(policies, &stage->policies, &error), WEFT_OK);
    stage->options.on_record = on_record;
    stage->sim = sim_create(&stage->options);
    for (uint32_t i = 0; i < JOBS; i++) {
        const struct arrival arrival = {.workflow = i % workflow_count, .items = items};
        sim_request(stage->sim, MS(60 * i), i % stage->fleet->node_count, &arrival);
    }
    sim_run(stage->sim);
    sim_report(stage->sim, &report);
    assert_int_equal(report.jobs, JOBS);
    return report;
}

/* @build makes a cluster and workflows, and says how many; @items of the requests. */
static void expect_all_to_complete(uint32_t (*build)(struct stage *stage), uint32_t items)
{
    for (uint32_t i = 0; policy_registry[i] != NULL; i++) {
        struct stage stage;
        const uint32_t workflow_count = build(&stage);
        const struct report report = play(&stage, policy_registry[i]->name, workflow_count, items);
        if (report.completed != JOBS) {
            fail_msg(
                "%s: %u of %u completed", policy_registry[i]->name, (unsigned)report.completed,
                (unsigned)JOBS);
        }
        stage_close(&stage);
    }
}

/* A model that one machine can hold comes first, in the middle, and as a join. */
static uint32_t build_large(struct stage *stage)
{
    static const char *const models[] = {"small", "large", "small", "large"};
    open_mixed(stage);
    (void)stage_model(stage, "small", MB(20), MS(5));
    (void)stage_model(stage, "last", MB(20), MS(5));
    (void)stage_model(stage, "large", MB(150), MS(10));
    (void)stage_chain(stage, "first", "large small");
    (void)stage_chain(stage, "middle", "small large last");
    (void)stage_diamond(stage, "join", models);
    return 3;
}

static void a_large_model_runs_where_it_fits(void **state)
{
    (void)state;
    expect_all_to_complete(build_large, /* items */ 1);
}

/* One item fits everywhere. What the requests have fits one machine, and was planned before. */
static uint32_t build_items(struct stage *stage)
{
    static const char *const models[] = {"small", "work", "small", "work"};
    open_mixed(stage);
    (void)stage_model(stage, "small", MB(20), MS(5));
    (void)stage_model(stage, "last", MB(20), MS(5));
    const uint32_t work = stage_model(stage, "work", MB(40), MS(10));
    stage->profile->models[work].workspace_bytes_per_item = MB(20);
    (void)stage_chain(stage, "first", "work small");
    (void)stage_chain(stage, "middle", "small work last");
    (void)stage_diamond(stage, "join", models);
    return 3;
}

static void many_items_run_where_their_workspace_fits(void **state)
{
    (void)state;
    expect_all_to_complete(build_items, /* items */ 6);
}

/* Devices of one kind, some of them in two parts, which hold half. */
static uint32_t build_partitions(struct stage *stage)
{
    struct fleet_worker half = {.gpu_units = 1, .partitions = 2};
    stage_open(stage, /* node_count */ 2, MB(200));
    half.memory_bytes = MB(100);
    half.bus_bytes_per_s = stage->fleet->workers[0].bus_bytes_per_s;
    half.device = stage->fleet->workers[0].device;
    assert_true(fleet_add_machine(stage->fleet, &half, /* device_count */ 1, /* cpu_units */ 4));
    assert_true(fleet_add_machine(stage->fleet, &half, /* device_count */ 1, /* cpu_units */ 4));
    (void)stage_model(stage, "small", MB(20), MS(5));
    (void)stage_model(stage, "large", MB(120), MS(10));
    (void)stage_chain(stage, "chain", "small large");
    return 1;
}

static void a_partition_is_given_only_what_fits_it(void **state)
{
    (void)state;
    expect_all_to_complete(build_partitions, /* items */ 1);
}

/* Only as items become known does it turn out that no worker can hold them. */
static void what_fits_nowhere_fails_and_says_why(void **state)
{
    (void)state;
    for (uint32_t i = 0; policy_registry[i] != NULL; i++) {
        struct stage stage;
        const uint32_t workflow_count = build_items(&stage);
        const struct report report =
            play(&stage, policy_registry[i]->name, workflow_count, /* items */ 30);
        assert_int_equal(report.failed, JOBS);
        assert_int_equal(answers[REASON_TOO_LARGE], JOBS);
        stage_close(&stage);
    }
}

/* Then its home queues are not used, and it is asked by worker: it must have an answer. */
static void a_policy_that_binds_dispatches_where_another_places(void **state)
{
    (void)state;
    for (uint32_t i = 0; policy_registry[i] != NULL; i++) {
        struct stage stage;
        char text[64];
        if (!policy_registry[i]->binds) {
            continue;
        }
        (void)snprintf(text, sizeof(text), "place=po2,dispatch=%s", policy_registry[i]->name);
        const uint32_t workflow_count = build_large(&stage);
        stage.fleet->workers[3].gpu_units = 4; /* Configs of one do not fit all. */
        const struct report report = play(&stage, text, workflow_count, /* items */ 1);
        assert_int_equal(report.completed, JOBS);
        stage_close(&stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_model_runs_where_it_fits),
        cmocka_unit_test(many_items_run_where_their_workspace_fits),
        cmocka_unit_test(a_partition_is_given_only_what_fits_it),
        cmocka_unit_test(what_fits_nowhere_fails_and_says_why),
        cmocka_unit_test(a_policy_that_binds_dispatches_where_another_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
