/* Covers: src/trace/tally.c */
#include "trace/tally.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"

#define US INT64_C(1000)

static struct fleet *fleet;
static struct catalogue *catalogue;
static struct tally *tally;

/* Workflow 0 has one task and an SLO of a millisecond, workflow 1 neither of them. */
static int setup(ATTR_UNUSED void **state)
{
    struct fleet_worker device = {.memory_bytes = 10, .bus_bytes_per_s = 10, .gpu_units = 1};
    const struct workflow_task task = {.name = "t", .run = 0, .models = {0}, .model_count = 1};
    uint32_t index;
    fleet = fleet_create();
    device.device = fleet_device(fleet, "d");
    assert_true(fleet_add_machine(fleet, &device, /* workers */ 2, /* cpu_units */ 1));
    catalogue = catalogue_create();
    assert_int_equal(catalogue_model(catalogue, "m"), 0);
    for (uint32_t i = 0; i < 2; i++) {
        struct workflow *workflow = workflow_create(i == 0 ? "first" : "second");
        workflow->slo_ns = i == 0 ? 1000 * US : 0;
        assert_int_equal(workflow_add_task(workflow, &task, &index), WEFT_OK);
        assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);
        assert_int_equal(catalogue_add_workflow(catalogue, workflow), WEFT_OK);
    }
    tally = tally_create(fleet, catalogue, /* follows */ true);
    return 0;
}

static int teardown(ATTR_UNUSED void **state)
{
    tally_destroy(tally);
    catalogue_destroy(catalogue);
    fleet_destroy(fleet);
    return 0;
}

static enum outcome end(uint32_t workflow, enum reason reason, int64_t took_us)
{
    const struct record record = {
        .at_ns = 5000 * US,
        .job = {.number = 1},
        .workflow = (uint16_t)workflow,
        .kind = RECORD_ANSWERED,
        .reason = (uint8_t)reason,
        .value = took_us * US,
    };
    return tally_add(tally, &record, /* parts_out */ NULL);
}

static void note(
    enum record_kind kind, int64_t at_us, uint32_t worker, struct latency_parts *parts_out)
{
    const struct record record = {
        .at_ns = at_us * US,
        .job = {.number = 1},
        .worker = worker,
        .kind = (uint8_t)kind,
        .value = kind == RECORD_ANSWERED ? at_us * US : 0,
    };
    (void)tally_add(tally, &record, parts_out);
}

static void every_end_is_one_outcome(ATTR_UNUSED void **state)
{
    struct record arrived = {.kind = RECORD_ARRIVED, .workflow = 0};
    const struct record refused = {.kind = RECORD_REFUSED, .reason = REASON_FULL, .workflow = 1};
    for (uint32_t i = 0; i < 6; i++) {
        arrived.job.number = i + 1;
        assert_int_equal(tally_add(tally, &arrived, NULL), OUTCOME_OPEN);
    }
    assert_int_equal(tally_open(tally_total(tally)), 6);
    assert_int_equal(end(0, REASON_NONE, 1000), OUTCOME_GOOD);
    assert_int_equal(end(0, REASON_NONE, 1001), OUTCOME_SLOW);
    assert_int_equal(end(1, REASON_NONE, 1001), OUTCOME_GOOD);
    assert_int_equal(end(0, REASON_LATE, 10), OUTCOME_LATE);
    assert_int_equal(end(0, REASON_CANCEL, 10), OUTCOME_LEFT);
    assert_int_equal(end(0, REASON_BATCH_FAILED, 10), OUTCOME_FAILED);
    assert_int_equal(tally_add(tally, &refused, NULL), OUTCOME_REFUSED);
    assert_int_equal(tally_open(tally_total(tally)), 0);
    assert_int_equal(tally_completed(tally_total(tally)), 3);
    assert_int_equal(tally_completed(tally_workflow(tally, 0)), 2);
    assert_int_equal(tally_cancelled(tally_workflow(tally, 0)), 2);
    assert_int_equal(tally_workflow(tally, 1)->ended[OUTCOME_REFUSED], 1);
    assert_int_equal(tally_workflow(tally, 1)->arrived, 0);
}

static void the_time_of_a_followed_job_is_told_at_its_end(ATTR_UNUSED void **state)
{
    struct latency_parts parts;
    note(RECORD_ARRIVED, 0, 0, NULL);
    note(RECORD_LOADING, 5, 1, NULL);
    note(RECORD_OFFERED, 10, 0, NULL); /* Here it waits first, */
    note(RECORD_QUEUED, 12, 1, NULL);  /* and goes on waiting. */
    note(RECORD_LOADED, 30, 1, NULL);
    note(RECORD_STARTED, 40, 1, NULL);
    note(RECORD_ENDED, 140, 1, NULL);
    note(RECORD_ANSWERED, 160, 0, &parts);
    assert_int_equal(parts.ns[LATENCY_MOVING], 30 * US);
    assert_int_equal(parts.ns[LATENCY_QUEUED], 10 * US);
    assert_int_equal(parts.ns[LATENCY_LOADING], 20 * US);
    assert_int_equal(parts.ns[LATENCY_RUNNING], 100 * US);
    assert_int_equal(parts.worker, 1);
    note(RECORD_ANSWERED, 170, 0, &parts); /* It is gone. */
    assert_int_equal(parts.ns[LATENCY_RUNNING], 0);
}

static void a_tally_that_only_counts_follows_nothing(ATTR_UNUSED void **state)
{
    struct latency_parts parts;
    tally_destroy(tally);
    tally = tally_create(fleet, catalogue, /* follows */ false);
    note(RECORD_ARRIVED, 0, 0, NULL);
    note(RECORD_QUEUED, 10, 0, NULL);
    note(RECORD_ANSWERED, 160, 0, &parts);
    assert_int_equal(parts.ns[LATENCY_MOVING] + parts.ns[LATENCY_QUEUED], 0);
    assert_int_equal(tally_completed(tally_total(tally)), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_end_is_one_outcome, setup, teardown),
        cmocka_unit_test_setup_teardown(
            the_time_of_a_followed_job_is_told_at_its_end, setup, teardown),
        cmocka_unit_test_setup_teardown(a_tally_that_only_counts_follows_nothing, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
