/* Covers: src/trace/recent.c */
#include "trace/recent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "trace_fixture.h"

enum { KEPT = 16 };

static struct recent *recent;
static uint32_t told_count;
static struct record told[KEPT];

static int setup(ATTR_UNUSED void **state)
{
    recent = recent_create(KEPT);
    return 0;
}

static int teardown(ATTR_UNUSED void **state)
{
    recent_destroy(recent);
    return 0;
}

static void take(void *context, const struct record *record)
{
    assert_ptr_equal(context, &told_count);
    assert_true(told_count < KEPT);
    told[told_count++] = *record;
}

static enum recent_answer ask(uint64_t number)
{
    told_count = 0;
    return recent_job(recent, /* node */ 0, number, take, &told_count);
}

/* A record of job 0.@number, on @worker if that is not WORKER_NONE. */
static void add(enum record_kind kind, int64_t at_ms, uint32_t number, uint32_t worker)
{
    struct record record = job_record(kind, at_ms * MS, number, OCR);
    record.worker = worker;
    recent_add(recent, &record);
}

static void add_load(enum record_kind kind, int64_t at_ms, uint32_t worker)
{
    struct record record = plain_record(kind, at_ms * MS);
    record.worker = worker;
    record.model = 0;
    recent_add(recent, &record);
}

static void only_what_concerns_the_job_is_told(ATTR_UNUSED void **state)
{
    add_load(RECORD_LOADING, 0, 1);
    add(RECORD_ARRIVED, 1, 1, WORKER_NONE);
    add(RECORD_ARRIVED, 2, 2, WORKER_NONE);
    add(RECORD_QUEUED, 3, 1, 1);
    add_load(RECORD_LOADED, 4, 1);
    add_load(RECORD_LOADED, 4, 0); /* Another worker. */
    add(RECORD_STARTED, 5, 2, 1);
    add(RECORD_STARTED, 5, 1, 1);
    add(RECORD_STARTED, 5, 3, 0);
    add(RECORD_STARTED, 6, 4, 1); /* Another batch. */
    add(RECORD_ANSWERED, 7, 1, WORKER_NONE);
    add(RECORD_ANSWERED, 8, 2, WORKER_NONE);
    assert_int_equal(ask(1), RECENT_FOUND);
    const enum record_kind kinds[] = {RECORD_LOADING, RECORD_ARRIVED, RECORD_QUEUED,  RECORD_LOADED,
                                      RECORD_STARTED, RECORD_STARTED, RECORD_ANSWERED};
    assert_int_equal(told_count, sizeof(kinds) / sizeof(kinds[0]));
    for (uint32_t i = 0; i < told_count; i++) {
        assert_int_equal(told[i].kind, kinds[i]);
    }
    assert_int_equal(told[4].job.number, 2); /* It ran in the same batch. */
    assert_int_equal(told[5].job.number, 1);
}

static void what_is_too_old_is_told_from_what_never_was(ATTR_UNUSED void **state)
{
    assert_int_equal(ask(1), RECENT_UNKNOWN);
    add(RECORD_ARRIVED, 0, 1, WORKER_NONE);
    add(RECORD_ARRIVED, 0, 2, WORKER_NONE);
    add(RECORD_QUEUED, 0, 1, 0);
    assert_int_equal(ask(0), RECENT_UNKNOWN);
    assert_int_equal(ask(2), RECENT_FOUND);
    assert_int_equal(ask(3), RECENT_UNKNOWN);
    for (uint32_t i = 3; i < 3 + KEPT - 2; i++) {
        add(RECORD_ARRIVED, i, i, WORKER_NONE);
    }
    assert_int_equal(ask(1), RECENT_FORGOTTEN); /* Its end is kept, but not how it began. */
    assert_int_equal(told_count, 0);
    assert_int_equal(ask(2), RECENT_FOUND);
    add(RECORD_ARRIVED, 99, 99, WORKER_NONE);
    assert_int_equal(ask(2), RECENT_FORGOTTEN);
    assert_int_equal(ask(99), RECENT_FOUND);
    assert_int_equal(ask(100), RECENT_UNKNOWN);
}

static void a_job_is_told_though_it_began_before_the_first_record(ATTR_UNUSED void **state)
{
    add(RECORD_QUEUED, 0, 1, 0); /* Nothing has been forgotten: it came from elsewhere. */
    assert_int_equal(ask(1), RECENT_FOUND);
}

static void refused_jobs_are_told_and_other_nodes_are_not(ATTR_UNUSED void **state)
{
    add(RECORD_REFUSED, 0, 1, WORKER_NONE);
    struct record other = job_record(RECORD_ARRIVED, 0, 1, OCR);
    other.job.node = 1;
    recent_add(recent, &other);
    assert_int_equal(ask(1), RECENT_FOUND);
    assert_int_equal(told_count, 1);
    assert_int_equal(told[0].kind, RECORD_REFUSED);
}

static void of_a_node_that_started_again_the_last_life_counts(ATTR_UNUSED void **state)
{
    struct record record = job_record(RECORD_ARRIVED, 0, 1, OCR);
    recent_add(recent, &record);
    record.job.incarnation = 1;
    record.at_ns = MS;
    recent_add(recent, &record);
    assert_int_equal(ask(1), RECENT_FOUND);
    assert_int_equal(told_count, 1);
    assert_int_equal(told[0].at_ns, MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_what_concerns_the_job_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(
            what_is_too_old_is_told_from_what_never_was, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_job_is_told_though_it_began_before_the_first_record, setup, teardown),
        cmocka_unit_test_setup_teardown(
            refused_jobs_are_told_and_other_nodes_are_not, setup, teardown),
        cmocka_unit_test_setup_teardown(
            of_a_node_that_started_again_the_last_life_counts, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
