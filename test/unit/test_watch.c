#include "cli/watch.h"

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

enum { CHAIN = 0, JOB = 5 };

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
    assert_null(watch_event(watch, /* is_bad */ true, 0)); /* On time is no news. */
}

static void a_worker_shows_what_it_runs(ATTR_UNUSED void **state)
{
    happen(RECORD_ARRIVED, 0, TASK_NONE, 1);
    happen(RECORD_STARTED, 1, 2, 1);
    assert_int_equal(watch_worker(watch, 1)->tasks, 1);
    assert_int_equal(watch_worker(watch, 1)->model, 2);
    assert_int_equal(watch_worker(watch, 0)->tasks, 0);
    happen(RECORD_ENDED, 5, 2, 4 * MS);
    assert_int_equal(watch_worker(watch, 1)->tasks, 0);
}

/* The newest event must be about the job being late, and name this cause. */
static void expect_cause(const char *cause)
{
    happen(RECORD_ANSWERED, 300, TASK_NONE, 300 * MS);
    assert_int_equal(watch_workflow(watch, CHAIN)->late, 1);
    const struct watch_event *event = watch_event(watch, /* is_bad */ true, 0);
    assert_non_null(event);
    assert_non_null(strstr(event->text, "late: chain 1.5 took 300ms; "));
    assert_non_null(strstr(event->text, cause));
}

static void a_late_job_may_have_waited_for_a_model(ATTR_UNUSED void **state)
{
    happen(RECORD_ARRIVED, 0, TASK_NONE, 1);
    happen(RECORD_QUEUED, 10, 2, 1);
    happen(RECORD_LOADED, 150, 2, 0);
    happen(RECORD_STARTED, 160, 2, 1);
    happen(RECORD_ENDED, 250, 2, 90 * MS);
    expect_cause("c2 waited 140ms for its model on w1");
}

static void a_late_job_may_have_waited_in_a_queue(ATTR_UNUSED void **state)
{
    happen(RECORD_LOADED, 5, 1, 0); /* Long before. */
    happen(RECORD_ARRIVED, 6, TASK_NONE, 1);
    happen(RECORD_QUEUED, 10, 1, 1);
    happen(RECORD_STARTED, 160, 1, 1);
    happen(RECORD_ENDED, 250, 1, 90 * MS);
    expect_cause("c1 waited 150ms in the queue of w1");
}

static void a_late_job_may_just_have_run_long(ATTR_UNUSED void **state)
{
    happen(RECORD_ARRIVED, 0, TASK_NONE, 1);
    happen(RECORD_QUEUED, 10, 3, 1);
    happen(RECORD_STARTED, 20, 3, 1);
    happen(RECORD_ENDED, 290, 3, 270 * MS);
    expect_cause("c3 ran 270ms on w1");
}

static void models_do_not_hide_why_jobs_were_late(ATTR_UNUSED void **state)
{
    happen(RECORD_ARRIVED, 0, TASK_NONE, 1);
    for (int64_t i = 0; i < WATCH_EVENTS; i++) {
        happen(RECORD_LOADING, i, 4, 0);
    }
    expect_cause("took 300ms");
    for (int64_t i = 0; i < WATCH_EVENTS; i++) {
        happen(RECORD_EVICTED, 400 + i, 4, 0);
    }
    assert_int_equal(watch_event(watch, /* is_bad */ true, 0)->at_ns, 300 * MS);
    assert_null(watch_event(watch, /* is_bad */ true, 1));
}

static void the_last_few_events_are_kept(ATTR_UNUSED void **state)
{
    for (int64_t i = 0; i < 20; i++) {
        happen(i % 2 == 0 ? RECORD_LOADING : RECORD_EVICTED, i, 4, 0);
    }
    assert_string_equal(watch_event(watch, /* is_bad */ false, 0)->text, "evicted m4 on w1");
    assert_int_equal(watch_event(watch, /* is_bad */ false, 0)->at_ns, 19 * MS);
    assert_string_equal(watch_event(watch, /* is_bad */ false, 1)->text, "loading m4 on w1");
    assert_int_equal(
        watch_event(watch, /* is_bad */ false, WATCH_EVENTS - 1)->at_ns, (20 - WATCH_EVENTS) * MS);
    assert_null(watch_event(watch, /* is_bad */ false, WATCH_EVENTS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_is_counted_where_it_belongs, setup, teardown),
        cmocka_unit_test_setup_teardown(a_worker_shows_what_it_runs, setup, teardown),
        cmocka_unit_test_setup_teardown(a_late_job_may_have_waited_for_a_model, setup, teardown),
        cmocka_unit_test_setup_teardown(a_late_job_may_have_waited_in_a_queue, setup, teardown),
        cmocka_unit_test_setup_teardown(a_late_job_may_just_have_run_long, setup, teardown),
        cmocka_unit_test_setup_teardown(models_do_not_hide_why_jobs_were_late, setup, teardown),
        cmocka_unit_test_setup_teardown(the_last_few_events_are_kept, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
