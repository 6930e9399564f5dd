/* Covers: src/server/metrics.c src/server/metrics_text.c src/server/metrics_device.c */
#include "server/metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"

static struct fleet *fleet;
static struct catalogue *catalogue;
static struct metrics *metrics;

static int setup(ATTR_UNUSED void **state)
{
    struct fleet_worker device = {.memory_bytes = 10, .bus_bytes_per_s = 10, .gpu_units = 1};
    struct workflow *workflow = workflow_create("w\"1");
    const struct workflow_task task = {.name = "t", .run = 0, .models = {0}, .model_count = 1};
    uint32_t index;
    fleet = fleet_create();
    device.device = fleet_device(fleet, "d");
    assert_true(fleet_add_machine(fleet, &device, /* workers */ 2, /* cpu_units */ 1));
    catalogue = catalogue_create();
    assert_int_equal(catalogue_model(catalogue, "m"), 0);
    workflow->slo_ns = 1000000;
    assert_int_equal(workflow_add_task(workflow, &task, &index), WEFT_OK);
    assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);
    assert_int_equal(catalogue_add_workflow(catalogue, workflow), WEFT_OK);
    metrics = metrics_create(fleet, catalogue);
    return 0;
}

static int teardown(ATTR_UNUSED void **state)
{
    metrics_destroy(metrics);
    catalogue_destroy(catalogue);
    fleet_destroy(fleet);
    return 0;
}

static uint32_t noted_worker; /* That the next records are of. */

static void note(
    enum record_kind kind, int64_t at_us, uint32_t job, enum reason reason, int64_t value)
{
    const struct record record = {
        .worker = noted_worker,
        .at_ns = at_us * 1000,
        .job = {.node = 0, .number = job},
        .kind = (uint8_t)kind,
        .reason = (uint8_t)reason,
        .value = value,
        .batch = 2,
    };
    metrics_add(metrics, &record);
}

static void the_time_of_a_job_is_split_without_gaps(ATTR_UNUSED void **state)
{
    struct metrics_timing timing;
    note(RECORD_ARRIVED, 0, 1, REASON_NONE, 3);
    note(RECORD_QUEUED, 10, 1, REASON_NONE, 1);  /* 10 on its way. */
    note(RECORD_STARTED, 40, 1, REASON_NONE, 1); /* 30 waiting. */
    note(RECORD_ENDED, 140, 1, REASON_NONE, 1);  /* 100 running. */
    note(RECORD_ANSWERED, 160, 1, REASON_NONE, 160000);
    assert_true(metrics_timing(metrics, (struct job_id){.node = 0, .number = 1}, &timing));
    assert_int_equal(timing.queue_ns, 30000);
    assert_int_equal(timing.run_ns, 100000);
    assert_int_equal(timing.other_ns, 30000);
    assert_false(metrics_timing(metrics, (struct job_id){.node = 0, .number = 2}, &timing));
    const struct metrics_workflow *counts = metrics_workflow(metrics, 0);
    assert_int_equal(counts->items, 3);
    assert_int_equal(tally_open(counts->tally), 0);
    assert_true(counts->batches == 0.5); /* One of two tasks of a batch. */
    assert_int_equal(counts->time.run_ns, 100000);
}

/* Two jobs that one batch ends are answered after both have been recorded. */
static void the_times_of_jobs_that_end_together_are_known(ATTR_UNUSED void **state)
{
    struct metrics_timing timing;
    for (uint32_t job = 1; job <= METRICS_ENDED + 1; job++) {
        note(RECORD_ARRIVED, 0, job, REASON_NONE, 1);
        note(RECORD_QUEUED, 10, job, REASON_NONE, 1);
        note(RECORD_STARTED, 10 + job, job, REASON_NONE, 1);
        note(RECORD_ENDED, 500, job, REASON_NONE, 1);
    }
    for (uint32_t job = 1; job <= METRICS_ENDED + 1; job++) {
        note(RECORD_ANSWERED, 500, job, REASON_NONE, 500000);
    }
    for (uint32_t job = 2; job <= METRICS_ENDED + 1; job++) {
        assert_true(metrics_timing(metrics, (struct job_id){.node = 0, .number = job}, &timing));
        assert_int_equal(timing.queue_ns, job * 1000);
        assert_int_equal(timing.queue_ns + timing.run_ns + timing.other_ns, 500000);
    }
    assert_false(metrics_timing(metrics, (struct job_id){.node = 0, .number = 1}, &timing));
}

static void ends_are_told_apart(ATTR_UNUSED void **state)
{
    for (uint32_t job = 1; job <= 4; job++) {
        note(RECORD_ARRIVED, 0, job, REASON_NONE, 1);
    }
    note(RECORD_REFUSED, 0, 0, REASON_FULL, 5);
    note(RECORD_ANSWERED, 500, 1, REASON_NONE, 500000);
    note(RECORD_ANSWERED, 2000, 2, REASON_NONE, 2000000); /* Late. */
    note(RECORD_ANSWERED, 2000, 3, REASON_BATCH_FAILED, 2000000);
    note(RECORD_CANCELLED, 2000, 4, REASON_NONE, 2000000);
    note(RECORD_ANSWERED, 2000, 4, REASON_CANCEL, 2000000);
    note(RECORD_ARRIVED, 0, 5, REASON_NONE, 1);
    note(RECORD_ANSWERED, 900, 5, REASON_LATE, 900000);
    const struct metrics_workflow *counts = metrics_workflow(metrics, 0);
    assert_int_equal(counts->tally->arrived, 5);
    assert_int_equal(tally_completed(counts->tally), 2);
    assert_int_equal(counts->tally->ended[OUTCOME_FAILED], 1);
    assert_int_equal(tally_cancelled(counts->tally), 2);
    assert_int_equal(counts->tally->ended[OUTCOME_LATE], 1);
    assert_int_equal(counts->reasons[REASON_FULL], 1);
    assert_int_equal(counts->reasons[REASON_BATCH_FAILED], 1);
    assert_int_equal(counts->reasons[REASON_CANCEL], 0);
    assert_int_equal(counts->tally->ended[OUTCOME_REFUSED], 1);
    assert_int_equal(counts->tally->ended[OUTCOME_GOOD], 1);
    assert_int_equal(tally_open(counts->tally), 0);
    assert_int_equal(counts->success_ns, 2500000);
}

static void models_are_counted(ATTR_UNUSED void **state)
{
    const struct metrics_model *model = metrics_model(metrics, 0);
    note(RECORD_LOADING, 0, 0, REASON_DEMAND, 700);
    assert_int_equal(model->resident_bytes, 0);
    note(RECORD_LOADED, 100, 0, REASON_NONE, 0);
    assert_int_equal(model->resident_bytes, 700);
    note(RECORD_EVICTED, 200, 0, REASON_ROOM, 0);
    assert_int_equal(model->resident_bytes, 0);
    note(RECORD_LOADING, 300, 0, REASON_DEMAND, 1);
    note(RECORD_LOADED, 400, 0, REASON_NONE, 0);
    note(RECORD_LOADING, 0, 0, REASON_PREFETCH, 1);
    note(RECORD_LOAD_FAILED, 0, 0, REASON_NONE, 1);
    note(RECORD_EVICTED, 600, 0, REASON_ROOM, 0);
    for (uint32_t i = 0; i < 5; i++) {
        note(RECORD_STARTED, 0, 9, REASON_NONE, 1);
    }
    assert_int_equal(model->needed, 5);
    assert_int_equal(model->loads, 3);
    assert_int_equal(model->prefetches, 1);
    assert_int_equal(model->load_failures, 1);
    assert_int_equal(model->evictions, 2);
    assert_int_equal(model->evicted_age_ns, 300000);
}

static void what_workers_share_is_counted_once(ATTR_UNUSED void **state)
{
    const struct metrics_model *model = metrics_model(metrics, 0);
    fleet->workers[0].shares_memory = true;
    fleet->workers[1].shares_memory = true;
    for (noted_worker = 0; noted_worker < 2; noted_worker++) {
        const enum reason reason = noted_worker == 0 ? REASON_DEMAND : REASON_SHARED;
        note(RECORD_LOADING, 0, 0, reason, 700 + noted_worker); /* A little more was learnt. */
        note(RECORD_LOADED, 100, 0, REASON_NONE, 0);
        assert_int_equal(model->resident_bytes, 700);
    }
    assert_int_equal(model->loads - model->prefetches, 1); /* One miss. */
    noted_worker = 0;
    note(RECORD_EVICTED, 200, 0, REASON_ROOM, 0);
    assert_int_equal(model->resident_bytes, 700);
    noted_worker = 1;
    note(RECORD_EVICTED, 200, 0, REASON_ROOM, 0);
    assert_int_equal(model->resident_bytes, 0);
    noted_worker = 0;
}

static void workers_are_busy_while_they_run(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < 2; i++) { /* Both tasks of a batch that took 300 ns. */
        note(RECORD_STARTED, 0, 1, REASON_NONE, 1);
        note(RECORD_ENDED, 1, 1, REASON_NONE, 300);
    }
    assert_true(metrics_busy_ns(metrics, 0) == 300.0);
    assert_true(metrics_busy_ns(metrics, 1) == 0.0);
}

static void the_text_is_what_prometheus_reads(ATTR_UNUSED void **state)
{
    static const char *const lines[] = {
        "\nnv_inference_request_success{model=\"w\\\"1\",version=\"1\"} 1\n",
        "\nnv_inference_request_failure{model=\"w\\\"1\",version=\"1\"} 1\n",
        "\nnv_inference_count{model=\"w\\\"1\",version=\"1\"} 1\n",
        "\nnv_inference_request_duration_us{model=\"w\\\"1\",version=\"1\"} 700\n",
        "\n# TYPE weft_request_latency_seconds histogram\n",
        "\nweft_request_latency_seconds_bucket{model=\"w\\\"1\",le=\"0.0005\"} 0\n",
        "\nweft_request_latency_seconds_bucket{model=\"w\\\"1\",le=\"0.001\"} 1\n",
        "\nweft_request_latency_seconds_bucket{model=\"w\\\"1\",le=\"+Inf\"} 1\n",
        "\nweft_request_latency_seconds_sum{model=\"w\\\"1\"} 0.000700000\n",
        "\nweft_slo_attainment_ratio{model=\"w\\\"1\",version=\"1\"} 0.5\n",
        "\nweft_model_loads_total{model=\"m\"} 0\n",
        "\n# TYPE weft_model_resident_bytes gauge\nweft_model_resident_bytes{model=\"m\"} 0\n",
        "\nweft_request_failures_total{model=\"w\\\"1\",reason=\"full\"} 1\n",
        "\nweft_requests_late_total{model=\"w\\\"1\",version=\"1\"} 0\n",
        "\nweft_tasks_placed_total 0\n",
    };
    struct buffer buffer = {.length = 0};
    note(RECORD_ARRIVED, 0, 1, REASON_NONE, 1);
    note(RECORD_ANSWERED, 700, 1, REASON_NONE, 700000);
    note(RECORD_REFUSED, 0, 0, REASON_FULL, 5);
    assert_true(metrics_write(metrics, &buffer));
    assert_true(buffer_add(&buffer, "%c", '\0'));
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        if (strstr(buffer.bytes, lines[i]) == NULL) {
            fail_msg("%s in %s", lines[i], buffer.bytes);
        }
    }
    free(buffer.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_time_of_a_job_is_split_without_gaps, setup, teardown),
        cmocka_unit_test_setup_teardown(
            the_times_of_jobs_that_end_together_are_known, setup, teardown),
        cmocka_unit_test_setup_teardown(ends_are_told_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(models_are_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(what_workers_share_is_counted_once, setup, teardown),
        cmocka_unit_test_setup_teardown(workers_are_busy_while_they_run, setup, teardown),
        cmocka_unit_test_setup_teardown(the_text_is_what_prometheus_reads, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
