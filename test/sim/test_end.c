/*
 * When a run ends, and how soon it can be stopped.
 *
 * Covers: src/sim/sim.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "stage.h"

enum { JOBS = 20, EVENTS_MAX = 100000 };

#define HOUR_NS (3600 * INT64_C(1000000000))

static void open_jobs(struct stage *stage)
{
    stage_open(stage, 3, MB(100));
    (void)stage_model(stage, "a", 0, MS(10));
    (void)stage_model(stage, "b", MB(10), MS(10));
    (void)stage_chain(stage, "chain", "a b");
    stage->arrivals = (struct arrivals){.kind = ARRIVALS_POISSON, .rate_per_s = 10, .mix = {1}};
    stage->options.jobs = JOBS;
}

static void begin(struct stage *stage, const char *policy)
{
    struct weft_error error;
    assert_int_equal(policy_set_parse(policy, &stage->policies, &error), WEFT_OK);
    stage->sim = sim_create(&stage->options); /* The trace is not read. */
}

/* Ticks of a policy do not go on until a fault is over that no job will notice. */
static void faults_do_not_keep_a_run_going(ATTR_UNUSED void **state)
{
    static const struct fault faults[] = {
        {.kind = FAULT_SLOW, .at_ns = MS(1), .for_ns = 100 * HOUR_NS, .factor = 2},
        {.kind = FAULT_PARTITION, .victim = 2, .at_ns = MS(1), .for_ns = 100 * HOUR_NS},
        {.kind = FAULT_NO_DIRECTORY, .at_ns = MS(1), .for_ns = 100 * HOUR_NS},
        {.kind = FAULT_CRASH, .victim = 1, .at_ns = 100 * HOUR_NS},
        {.kind = FAULT_LOSE_DEVICE, .victim = 1, .at_ns = 50 * HOUR_NS, .for_ns = HOUR_NS},
    };
    static const char *const policies[] = {"orion", "esg", "infless", "least-work"};
    for (uint32_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        for (uint32_t k = 0; k < sizeof(policies) / sizeof(policies[0]); k++) {
            struct stage stage;
            struct report report;
            open_jobs(&stage);
            stage.faults[0] = faults[i];
            stage.options.fault_count = 1;
            begin(&stage, policies[k]);
            assert_false(sim_run_some(stage.sim, EVENTS_MAX)); /* And its end is checked. */
            sim_report(stage.sim, &report);
            assert_int_equal(report.jobs, JOBS);
            assert_int_equal(report.completed + report.failed, JOBS);
            stage_close(&stage);
        }
    }
}

/* As long as a client waits or will come, a fault that ends is waited for. */
static void a_job_that_waits_for_the_end_of_a_fault_is_answered(ATTR_UNUSED void **state)
{
    struct stage stage;
    struct report report;
    open_jobs(&stage);
    stage.options.jobs = 1;
    for (uint32_t node = 0; node < 3; node++) { /* Whichever is asked. */
        stage.faults[node] =
            (struct fault){.kind = FAULT_STOP, .victim = node, .at_ns = 1, .for_ns = 5000 * MS(1)};
    }
    stage.options.fault_count = 3;
    begin(&stage, "orion");
    assert_false(sim_run_some(stage.sim, EVENTS_MAX));
    sim_report(stage.sim, &report);
    assert_int_equal(report.completed, 1);
    stage_close(&stage);
}

/* Of every node, as often as ever until the last answer; then no more. */
static void policies_tick_while_a_client_waits(ATTR_UNUSED void **state)
{
    struct stage stage;
    struct report report;
    struct sim_counters counters;
    open_jobs(&stage);
    stage.faults[0] = (struct fault){.kind = FAULT_CRASH, .victim = 1, .at_ns = HOUR_NS};
    stage.options.fault_count = 1;
    begin(&stage, "esg");
    assert_false(sim_run_some(stage.sim, EVENTS_MAX));
    sim_report(stage.sim, &report);
    sim_counters(stage.sim, &counters);
    const double ticks = 3 * report.duration_s * 1e9 / (double)policy_find("esg")->tick_ns;
    assert_true(ticks > JOBS);
    assert_true((double)counters.decisions > ticks);
    stage_close(&stage);
}

/* Audits come ten seconds after the last job. */
static void policies_do_not_tick_until_the_last_audit(ATTR_UNUSED void **state)
{
    struct stage stage;
    struct report report;
    struct sim_counters counters;
    open_jobs(&stage);
    begin(&stage, "esg");
    assert_false(sim_run_some(stage.sim, EVENTS_MAX));
    sim_report(stage.sim, &report);
    sim_counters(stage.sim, &counters);
    const double tick_s = (double)policy_find("esg")->tick_ns * 1e-9;
    assert_true((double)counters.now_ns * 1e-9 > report.duration_s + 5);
    assert_true((double)counters.decisions < 3 * (report.duration_s + 2) / tick_s + 5 * JOBS);
    stage_close(&stage);
}

/* What links do by themselves are events, too: 100 a millisecond here, whatever nodes do. */
static void a_run_can_be_stopped_after_any_number_of_events(ATTR_UNUSED void **state)
{
    for (uint32_t sharing = SHARING_FIFO; sharing <= SHARING_FAIR; sharing++) {
        struct stage stage;
        struct sim_counters counters;
        open_jobs(&stage);
        stage.fleet->network.sharing = (enum network_sharing)sharing;
        stage.fleet->network.link_bytes_per_s = MB(1000);
        stage.fleet->network.background = (struct network_background){.load = 0.5, .bytes = 10000};
        begin(&stage, "hash");
        for (uint64_t events = 0; events < 5000; events += 100) {
            sim_counters(stage.sim, &counters);
            assert_int_equal(counters.events, events);
            assert_true(sim_run_some(stage.sim, 100));
        }
        sim_counters(stage.sim, &counters);
        assert_true(counters.steps < counters.events / 10);
        assert_true(counters.now_ns < MS(1000));
        stage_close(&stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_do_not_keep_a_run_going),
        cmocka_unit_test(a_job_that_waits_for_the_end_of_a_fault_is_answered),
        cmocka_unit_test(policies_tick_while_a_client_waits),
        cmocka_unit_test(policies_do_not_tick_until_the_last_audit),
        cmocka_unit_test(a_run_can_be_stopped_after_any_number_of_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
