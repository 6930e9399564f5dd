#include "service/watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "parity/workload.h"

static struct workload workload;
static struct watch *watch;

enum { CHAIN = 0, JOB = 5, LAST = 3 };

static int setup(ATTR_UNUSED void **state)
{
    const struct workload_options options = {
        .node_count = 2, .workers_per_node = 1, .run_ns = 1 * MS};
    workload_init(&workload, &options);
    watch = watch_create(workload.fleet, workload.catalogue);
    return 0;
}

static int teardown(ATTR_UNUSED void **state)
{
    watch_destroy(watch);
    workload_deinit(&workload);
    return 0;
}

/* A record of the only job, a run of the chain, whose SLO is 200 ms. */
static void happen(enum record_kind kind, int64_t at_ms, uint32_t task, int64_t value)
{
    const struct record record = {
        .at_ns = at_ms * MS,
        .job = {.node = 1, .number = JOB},
        .value = value,
        .task = task,
        .worker = 1,
        .workflow = CHAIN,
        .model = (uint16_t)task,
        .kind = (uint8_t)kind,
    };
    watch_add(watch, &record);
}

static void a_job_is_counted_where_it_belongs(ATTR_UNUSED void **state)
{
    happen(RECORD_ARRIVED, 0, TASK_NONE, 1);
    happen(RECORD_ANSWERED, 150, TASK_NONE, 150 * MS);
    const struct watch_workflow *chain = watch_workflow(watch, CHAIN);
    assert_int_equal(chain->arrived, 1);
    assert_int_equal(chain->done, 1);
    assert_int_equal(chain->late, 0);
    assert_int_equal(histogram_max(&chain->latency_ns), 150 * MS);
    assert_int_equal(watch_workflow(watch, 1)->arrived, 0);
    struct watch_workflow total;
    watch_total(watch, &total);
    assert_int_equal(total.done, 1);
    assert_null(watch_job(watch, 0)); /* On time is no news. */
}

static void a_worker_shows_what_it_runs(ATTR_UNUSED void **state)
{
    happen(RECORD_ARRIVED, 0, TASK_NONE, 1);
    happen(RECORD_STARTED, 1, 2, 1);
    assert_int_equal(watch_worker(watch, 1)->model, 2);
    assert_int_equal(watch_worker(watch, 1)->workflow, CHAIN);
    assert_int_equal(watch_worker(watch, 0)->model, 0);
}

/* The newest of the bad jobs must be this one, and this its time in milliseconds. */
static void expect_late(
    const int64_t parts_ms[LATENCY_PARTS], enum latency_part longest, uint32_t task)
{
    happen(RECORD_ANSWERED, 300, TASK_NONE, 300 * MS);
    assert_int_equal(watch_workflow(watch, CHAIN)->late, 1);
    const struct watch_job *job = watch_job(watch, 0);
    assert_non_null(job);
    assert_int_equal(job->id.number, JOB);
    assert_int_equal(job->reason, REASON_NONE);
    assert_int_equal(job->latency_ns, 300 * MS);
    assert_int_equal(job->late_ns, 100 * MS);
    struct watch_workflow total;
    watch_total(watch, &total);
    for (uint32_t i = 0; i < LATENCY_PARTS; i++) {
        assert_int_equal(job->spent.ns[i], parts_ms[i] * MS);
        assert_int_equal(watch_workflow(watch, CHAIN)->late_ns[i], parts_ms[i] * MS);
        assert_int_equal(total.late_ns[i], parts_ms[i] * MS);
    }
    assert_int_equal(job->spent.longest, longest);
    assert_int_equal(job->spent.task, task);
    assert_int_equal(job->spent.worker, 1);
}

static void a_late_job_may_have_waited_for_a_model(ATTR_UNUSED void **state)
{
    happen(RECORD_ARRIVED, 0, TASK_NONE, 1);
    happen(RECORD_QUEUED, 10, LAST, 1);
    happen(RECORD_LOADING, 30, LAST, 0); /* Others came first. */
    happen(RECORD_LOADED, 150, LAST, 0);
    happen(RECORD_STARTED, 160, LAST, 1);
    happen(RECORD_ENDED, 250, LAST, 90 * MS);
    expect_late((const int64_t[]){30, 120, 90, 60}, LATENCY_LOADING, LAST);
}

static void a_model_may_be_on_its_way_before_the_task_is(ATTR_UNUSED void **state)
{
    happen(RECORD_LOADING, 1, LAST, 0);
    happen(RECORD_ARRIVED, 0, TASK_NONE, 1);
    happen(RECORD_QUEUED, 110, LAST, 1);
    happen(RECORD_LOADED, 150, LAST, 0);
    happen(RECORD_STARTED, 160, LAST, 1);
    happen(RECORD_ENDED, 290, LAST, 130 * MS);
    expect_late((const int64_t[]){10, 40, 130, 120}, LATENCY_RUNNING, LAST);
}

static void a_late_job_may_have_waited_in_a_queue(ATTR_UNUSED void **state)
{
    happen(RECORD_LOADING, 2, LAST, 0);
    happen(RECORD_LOADED, 5, LAST, 0); /* Long before. */
    happen(RECORD_ARRIVED, 6, TASK_NONE, 1);
    happen(RECORD_OFFERED, 10, LAST, 1); /* A wait at its holder is a wait. */
    happen(RECORD_QUEUED, 90, LAST, 1);
    happen(RECORD_STARTED, 160, LAST, 1);
    happen(RECORD_ENDED, 250, LAST, 90 * MS);
    expect_late((const int64_t[]){150, 0, 90, 60}, LATENCY_QUEUED, LAST);
}

static void what_runs_again_waits_again(ATTR_UNUSED void **state)
{
    happen(RECORD_ARRIVED, 0, TASK_NONE, 1);
    happen(RECORD_QUEUED, 10, LAST, 1);
    happen(RECORD_STARTED, 20, LAST, 1);
    happen(RECORD_STOPPED, 30, LAST, 1);
    happen(RECORD_QUEUED, 50, LAST, 1);
    happen(RECORD_STARTED, 60, LAST, 1);
    happen(RECORD_ENDED, 290, LAST, 230 * MS);
    expect_late((const int64_t[]){10, 0, 230, 60}, LATENCY_RUNNING, LAST);
}

static void a_job_that_failed_says_why(ATTR_UNUSED void **state)
{
    const struct record record = {
        .at_ns = 40 * MS,
        .job = {.node = 1, .number = JOB},
        .value = 40 * MS,
        .workflow = CHAIN,
        .kind = RECORD_ANSWERED,
        .reason = REASON_INVALID,
    };
    happen(RECORD_ARRIVED, 0, TASK_NONE, 1);
    watch_add(watch, &record);
    assert_int_equal(watch_workflow(watch, CHAIN)->failed, 1);
    assert_int_equal(watch_job(watch, 0)->reason, REASON_INVALID);
    assert_null(watch_job(watch, 1));
}

static void requests_end_in_columns_of_their_own(ATTR_UNUSED void **state)
{
    static const enum reason reasons[] = {REASON_LATE,   REASON_LATE,   REASON_LATE,
                                          REASON_CANCEL, REASON_CANCEL, REASON_BATCH_FAILED};
    struct record record = {.workflow = CHAIN, .kind = RECORD_REFUSED, .reason = REASON_ADMISSION};
    watch_add(watch, &record);
    for (uint32_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        happen(RECORD_ARRIVED, 0, TASK_NONE, 1);
        record = (struct record){
            .at_ns = 40 * MS,
            .job = {.node = 1, .number = JOB},
            .value = 40 * MS,
            .workflow = CHAIN,
            .kind = RECORD_ANSWERED,
            .reason = (uint8_t)reasons[i],
        };
        watch_add(watch, &record);
    }
    struct watch_workflow total;
    watch_total(watch, &total);
    const struct watch_workflow *both[] = {watch_workflow(watch, CHAIN), &total};
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(both[i]->arrived, 7);
        assert_int_equal(both[i]->refused, 1);
        assert_int_equal(both[i]->given_up, 3);
        assert_int_equal(both[i]->left, 2);
        assert_int_equal(both[i]->failed, 1);
        assert_int_equal(both[i]->done, 0);
    }
}

static void the_last_few_events_are_kept(ATTR_UNUSED void **state)
{
    for (int64_t i = 0; i < 3 * WATCH_EVENTS; i++) {
        happen(i % 2 == 0 ? RECORD_LOADING : RECORD_EVICTED, i, 4, 0);
    }
    assert_int_equal(watch_event(watch, 0)->change, WATCH_EVICTED);
    assert_int_equal(watch_event(watch, 0)->model, 4);
    assert_int_equal(watch_event(watch, 0)->worker, 1);
    assert_int_equal(watch_event(watch, 0)->at_ns, (3 * WATCH_EVENTS - 1) * MS);
    assert_int_equal(watch_event(watch, 1)->change, WATCH_LOADING);
    assert_int_equal(watch_event(watch, WATCH_EVENTS - 1)->at_ns, 2 * WATCH_EVENTS * MS);
    assert_null(watch_event(watch, WATCH_EVENTS));
    assert_int_equal(watch_loads(watch).loads, 3 * WATCH_EVENTS / 2);
    assert_int_equal(watch_loads(watch).evictions, 3 * WATCH_EVENTS / 2);
}

static void a_load_says_how_long_it_took(ATTR_UNUSED void **state)
{
    happen(RECORD_LOADING, 10, 4, 0);
    happen(RECORD_LOADING, 12, 3, 0);
    happen(RECORD_LOADED, 40, 4, 0);
    assert_int_equal(watch_event(watch, 1)->change, WATCH_LOADED);
    assert_int_equal(watch_event(watch, 1)->took_ns, 30 * MS);
    assert_int_equal(watch_event(watch, 0)->change, WATCH_LOADING);
    assert_int_equal(watch_loads(watch).load_ns, 30 * MS);
    happen(RECORD_LOADED, 42, 3, 0);
    assert_int_equal(watch_loads(watch).load_ns, 60 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_is_counted_where_it_belongs, setup, teardown),
        cmocka_unit_test_setup_teardown(a_worker_shows_what_it_runs, setup, teardown),
        cmocka_unit_test_setup_teardown(a_late_job_may_have_waited_for_a_model, setup, teardown),
        cmocka_unit_test_setup_teardown(a_late_job_may_have_waited_in_a_queue, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_model_may_be_on_its_way_before_the_task_is, setup, teardown),
        cmocka_unit_test_setup_teardown(what_runs_again_waits_again, setup, teardown),
        cmocka_unit_test_setup_teardown(a_job_that_failed_says_why, setup, teardown),
        cmocka_unit_test_setup_teardown(requests_end_in_columns_of_their_own, setup, teardown),
        cmocka_unit_test_setup_teardown(the_last_few_events_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(a_load_says_how_long_it_took, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
