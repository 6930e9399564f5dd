/* Covers: src/trace/details.c and the rows of src/trace/summary_report.c */
#include "trace/details.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "trace/summary.h"
#include "trace_fixture.h"

struct fixture {
    struct trace_fixture world;
    struct summary *summary;
    struct details *details;
};

static void begin(struct fixture *fixture, const struct summary_options *given)
{
    *fixture = (struct fixture){.details = NULL};
    trace_fixture_init(&fixture->world);
    struct summary_options options = *given;
    options.fleet = fixture->world.fleet;
    options.catalogue = fixture->world.catalogue;
    options.profile = fixture->world.profile;
    options.detailed = true;
    fixture->summary = summary_create(&options);
}

static void end(struct fixture *fixture)
{
    details_destroy(fixture->details);
    summary_destroy(fixture->summary);
    trace_fixture_deinit(&fixture->world);
}

static const struct details *details(struct fixture *fixture)
{
    details_destroy(fixture->details);
    fixture->details = summary_details(fixture->summary);
    return fixture->details;
}

static void job(
    struct fixture *fixture, enum record_kind kind, int64_t at_ms, uint32_t number,
    uint32_t workflow, int64_t value)
{
    struct record record = job_record(kind, at_ms * MS, number, workflow);
    record.value = value;
    summary_add(fixture->summary, &record);
}

/* A record of task @task on worker 0, in a batch of one. */
static void task(
    struct fixture *fixture, enum record_kind kind, int64_t at_ms, uint32_t number,
    uint32_t workflow, uint32_t task)
{
    struct record record = job_record(kind, at_ms * MS, number, workflow);
    record.task = task;
    record.worker = 0;
    record.batch = 1;
    record.value = 1;
    if (kind == RECORD_ENDED) {
        record.value = 10 * MS;
    }
    summary_add(fixture->summary, &record);
}

static void model(struct fixture *fixture, enum record_kind kind, int64_t at_ms, uint16_t number)
{
    struct record record = plain_record(kind, at_ms * MS);
    record.worker = 0;
    record.model = number;
    summary_add(fixture->summary, &record);
}

/* Job @number of ocr from @at_ms on: 2 ms away, 5 queued of which 3 loading, 10 running, twice. */
static void ocr_job(struct fixture *fixture, int64_t at_ms, uint32_t number)
{
    job(fixture, RECORD_ARRIVED, at_ms, number, OCR, 1);
    for (uint32_t i = 0; i < 2; i++, at_ms += 17) {
        task(fixture, RECORD_QUEUED, at_ms + 2, number, OCR, i);
        model(fixture, RECORD_LOADING, at_ms + 4, (uint16_t)i);
        model(fixture, RECORD_LOADED, at_ms + 7, (uint16_t)i);
        task(fixture, RECORD_STARTED, at_ms + 7, number, OCR, i);
        task(fixture, RECORD_ENDED, at_ms + 17, number, OCR, i);
        model(fixture, RECORD_EVICTED, at_ms + 17, (uint16_t)i);
    }
    job(fixture, RECORD_ANSWERED, at_ms + 1, number, OCR, 35 * MS);
}

static void assert_near(double value, double expected)
{
    assert_true(fabs(value - expected) < 1e-9);
}

static void assert_parts(
    const struct details_workflow *row, double queued, double loading, double running,
    double moving)
{
    assert_near(row->part_ms[LATENCY_QUEUED], queued);
    assert_near(row->part_ms[LATENCY_LOADING], loading);
    assert_near(row->part_ms[LATENCY_RUNNING], running);
    assert_near(row->part_ms[LATENCY_MOVING], moving);
}

static void the_time_of_a_workflow_is_split(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    begin(&fixture, &(struct summary_options){.jobs_expected = 3});
    ocr_job(&fixture, /* at_ms */ 0, /* number */ 1);
    ocr_job(&fixture, /* at_ms */ 100, /* number */ 2);
    job(&fixture, RECORD_ARRIVED, /* at_ms */ 200, /* number */ 3, TAG, 1);
    job(&fixture, RECORD_ANSWERED, /* at_ms */ 260, /* number */ 3, TAG, 60 * MS);
    const struct details *rows = details(&fixture);
    assert_int_equal(rows->workflow_count, 2);
    assert_int_equal(rows->workflows[OCR].counted, 2);
    assert_near(rows->workflows[OCR].latency_ms.mean, 35);
    assert_near(rows->workflows[OCR].slo_hit_rate, 1);
    assert_parts(&rows->workflows[OCR], 4, 6, 20, 5);
    assert_int_equal(rows->workflows[TAG].counted, 1);
    assert_true(isnan(rows->workflows[TAG].slo_hit_rate));
    assert_parts(&rows->workflows[TAG], 0, 0, 0, 60); /* Nothing is known of its task. */
    assert_int_equal(rows->total.counted, 3);
    assert_near(rows->total.latency_ms.mean, 130.0 / 3);
    assert_parts(&rows->total, 8.0 / 3, 4, 40.0 / 3, 70.0 / 3);
    end(&fixture);
}

static void what_came_within_the_warm_up_is_not_in_the_rows(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    begin(&fixture, &(struct summary_options){.jobs_expected = 2, .warmup = 0.5});
    job(&fixture, RECORD_ARRIVED, /* at_ms */ 0, /* number */ 1, OCR, 1);
    job(&fixture, RECORD_ANSWERED, /* at_ms */ 90, /* number */ 1, OCR, 90 * MS);
    ocr_job(&fixture, /* at_ms */ 100, /* number */ 2);
    const struct details *rows = details(&fixture);
    assert_int_equal(rows->workflows[OCR].completed, 2);
    assert_int_equal(rows->workflows[OCR].counted, 1);
    assert_near(rows->workflows[OCR].slo_hit_rate, 1);
    assert_parts(&rows->workflows[OCR], 4, 6, 20, 5);
    end(&fixture);
}

/* Ten slow jobs, then forty alike: MSER-5 leaves the slow ones out. */
static void a_warm_up_that_is_found_is_not_in_the_rows_either(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    struct report report;
    begin(&fixture, &(struct summary_options){.jobs_expected = 50, .warmup_auto = true});
    for (uint32_t i = 1; i <= 10; i++) {
        job(&fixture, RECORD_ARRIVED, i * 1000, i, OCR, 1);
        job(&fixture, RECORD_ANSWERED, i * 1000 + 900, i, OCR, 900 * MS);
    }
    for (uint32_t i = 11; i <= 50; i++) {
        ocr_job(&fixture, i * 1000, i);
    }
    summary_report(fixture.summary, &report);
    const struct details *rows = details(&fixture);
    assert_int_equal(report.counted, 40);
    assert_int_equal(rows->workflows[OCR].counted, 40);
    assert_near(rows->workflows[OCR].slo_hit_rate, 1);
    assert_near(report.slo_hit_rate, 1);
    assert_parts(&rows->workflows[OCR], 4, 6, 20, 5);
    end(&fixture);
}

static void with_bounded_memory_there_are_rows_too(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    begin(&fixture, &(struct summary_options){.bounded = true});
    ocr_job(&fixture, /* at_ms */ 0, /* number */ 1);
    ocr_job(&fixture, /* at_ms */ 100, /* number */ 2);
    const struct details *rows = details(&fixture);
    assert_int_equal(rows->workflows[OCR].counted, 2);
    assert_near(rows->workflows[OCR].latency_ms.mean, 35);
    assert_int_equal(rows->workflows[TAG].counted, 0);
    assert_parts(&rows->workflows[OCR], 4, 6, 20, 5);
    end(&fixture);
}

static void tasks_models_and_workers_have_rows(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    begin(&fixture, &(struct summary_options){.jobs_expected = 2});
    ocr_job(&fixture, /* at_ms */ 0, /* number */ 1);
    ocr_job(&fixture, /* at_ms */ 165, /* number */ 2);
    const struct details *rows = details(&fixture);
    assert_int_equal(rows->task_count, 3);
    const struct details_task *read = &rows->tasks[READ];
    assert_int_equal(read->started, 2);
    assert_near(read->batches, 2);
    assert_near(read->items, 2);
    assert_int_equal(read->queued_ns, 2 * 2 * MS);
    assert_int_equal(read->loading_ns, 2 * 3 * MS);
    assert_int_equal(read->running_ns, 2 * 10 * MS);
    assert_int_equal(rows->tasks[2].started, 0);
    const struct details_model *detector = &rows->models[0];
    assert_int_equal(detector->needed, 2);
    assert_int_equal(detector->loads, 2);
    assert_int_equal(detector->loaded, 2);
    assert_int_equal(detector->evictions, 2);
    assert_int_equal(detector->loading_ns, 2 * 3 * MS);
    assert_int_equal(rows->worker_count, 2);
    assert_int_equal(rows->workers[0].started, 4);
    assert_int_equal(rows->workers[0].loads, 4);
    assert_int_equal(rows->workers[0].evictions, 4);
    assert_int_equal(rows->workers[0].loading_ns, 4 * 3 * MS);
    assert_near(rows->workers[0].busy, 0.2); /* 40 of 200 ms. */
    assert_near(rows->workers[1].busy, 0);
    end(&fixture);
}

static void tasks_of_a_batch_share_it(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    begin(&fixture, &(struct summary_options){.jobs_expected = 2});
    for (uint32_t i = 1; i <= 2; i++) {
        job(&fixture, RECORD_ARRIVED, /* at_ms */ 0, i, TAG, 1);
        task(&fixture, RECORD_QUEUED, /* at_ms */ 0, i, TAG, 0);
    }
    for (uint32_t i = 1; i <= 2; i++) {
        struct record record = job_record(RECORD_STARTED, 0, i, TAG);
        record.task = 0;
        record.worker = 1;
        record.batch = 2;
        record.value = 6; /* Items of both. */
        record.gpu = 1;
        summary_add(fixture.summary, &record);
        record.kind = RECORD_ENDED;
        record.at_ns = 8 * MS;
        record.value = 8 * MS;
        summary_add(fixture.summary, &record);
    }
    for (uint32_t i = 1; i <= 2; i++) {
        job(&fixture, RECORD_ANSWERED, /* at_ms */ 8, i, TAG, 8 * MS);
    }
    const struct details *rows = details(&fixture);
    assert_near(rows->tasks[2].batches, 1);
    assert_near(rows->tasks[2].items, 6);
    assert_int_equal(rows->tasks[2].running_ns, 2 * 8 * MS);
    assert_near(rows->workers[1].batches, 1);
    assert_near(rows->workers[1].busy, 0.25); /* One of four units, all the time. */
    end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_time_of_a_workflow_is_split),
        cmocka_unit_test(what_came_within_the_warm_up_is_not_in_the_rows),
        cmocka_unit_test(a_warm_up_that_is_found_is_not_in_the_rows_either),
        cmocka_unit_test(with_bounded_memory_there_are_rows_too),
        cmocka_unit_test(tasks_models_and_workers_have_rows),
        cmocka_unit_test(tasks_of_a_batch_share_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
