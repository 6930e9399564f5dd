/* Covers: src/trace/writer.c, src/trace/events.c */
#include "trace/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "trace_fixture.h"

static char written[16384];
static size_t written_count;

static void take(ATTR_UNUSED void *context, const char *bytes, size_t count)
{
    assert_true(written_count + count < sizeof(written));
    memcpy(written + written_count, bytes, count);
    written_count += count;
    written[written_count] = '\0';
}

struct fixture {
    struct trace_fixture world;
    struct trace_writer *writer;
};

static void begin(struct fixture *fixture, enum trace_form form)
{
    written_count = 0;
    written[0] = '\0';
    trace_fixture_init(&fixture->world);
    const struct trace_writer_options options = {
        .form = form,
        .fleet = fixture->world.fleet,
        .catalogue = fixture->world.catalogue,
        .write = take,
    };
    fixture->writer = trace_writer_create(&options);
}

static void end(struct fixture *fixture)
{
    trace_writer_destroy(fixture->writer);
    trace_fixture_deinit(&fixture->world);
}

/* A record of task detect of job 0.@number on @worker. */
static void add(
    struct fixture *fixture, enum record_kind kind, int64_t at_ms, uint32_t number, uint32_t worker,
    int64_t value)
{
    struct record record = job_record(kind, at_ms * MS, number, OCR);
    if (kind != RECORD_ARRIVED && kind != RECORD_ANSWERED) {
        record.task = DETECT;
        record.worker = worker;
    }
    record.batch = kind == RECORD_STARTED || kind == RECORD_ENDED ? 2 : 0;
    record.model = kind == RECORD_WEIGHED && worker == 1 ? 1 : RECORD_NONE;
    record.value = value;
    trace_writer_add(fixture->writer, &record);
}

static void add_load(struct fixture *fixture, enum record_kind kind, int64_t at_ms)
{
    struct record record = plain_record(kind, at_ms * MS);
    record.worker = 1;
    record.model = 0;
    trace_writer_add(fixture->writer, &record);
}

static void a_choice_names_what_it_was_weighed_against(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    begin(&fixture, TRACE_TEXT);
    add(&fixture, RECORD_WEIGHED, 1, /* number */ 1, /* worker */ 0, 41 * MS);
    add(&fixture, RECORD_WEIGHED, 1, /* number */ 1, /* worker */ 1, 67 * MS);
    add(&fixture, RECORD_PLACED, 1, /* number */ 1, /* worker */ 0, 0);
    add(&fixture, RECORD_PLACED, 2, /* number */ 2, /* worker */ 0, 0);
    assert_string_equal(
        written, "[    1.000 ms] n0 placed job 0.1 ocr/detect on w0; "
                 "w0: ends in 41.000 ms, w1: 67.000 ms (must load ppocr-rec)\n"
                 "[    2.000 ms] n0 placed job 0.2 ocr/detect on w0\n");
    end(&fixture);
}

static void what_belongs_to_no_choice_is_left_out(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    begin(&fixture, TRACE_TEXT);
    add(&fixture, RECORD_WEIGHED, 1, /* number */ 1, /* worker */ 0, 41 * MS);
    add(&fixture, RECORD_QUEUED, 1, /* number */ 1, /* worker */ 0, 1);
    add(&fixture, RECORD_WEIGHED, 1, /* number */ 1, /* worker */ 0, 41 * MS);
    add(&fixture, RECORD_WEIGHED, 1, /* number */ 2, /* worker */ 0, 42 * MS);
    add(&fixture, RECORD_PLACED, 1, /* number */ 2, /* worker */ 0, 0);
    add(&fixture, RECORD_WEIGHED, 2, /* number */ 3, /* worker */ 0, 41 * MS);
    struct record other = job_record(RECORD_PLACED, 2 * MS, /* number */ 3, OCR);
    other.task = READ;
    other.worker = 1;
    trace_writer_add(fixture.writer, &other);
    assert_string_equal(
        written, "[    1.000 ms] n0 queued job 0.1 ocr/detect on w0\n"
                 "[    1.000 ms] n0 placed job 0.2 ocr/detect on w0; w0: ends in 42.000 ms\n"
                 "[    2.000 ms] n0 placed job 0.3 ocr/read on w1\n");
    end(&fixture);
}

static void lines_of_json_say_where_time_went(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    begin(&fixture, TRACE_LINES);
    add(&fixture, RECORD_ARRIVED, 1, /* number */ 1, /* worker */ 0, 1);
    add(&fixture, RECORD_WEIGHED, 1, /* number */ 1, /* worker */ 1, 67 * MS);
    add(&fixture, RECORD_PLACED, 1, /* number */ 1, /* worker */ 1, 0);
    add(&fixture, RECORD_ANSWERED, 9, /* number */ 1, /* worker */ 0, 8 * MS);
    assert_string_equal(
        written,
        "{\"at_ns\":1000000,\"node\":0,\"kind\":\"arrived\",\"job\":\"0.1\",\"workflow\":\"ocr\","
        "\"items\":1,\"slo_ns\":50000000}\n"
        "{\"at_ns\":1000000,\"node\":0,\"kind\":\"placed\",\"job\":\"0.1\",\"workflow\":\"ocr\","
        "\"task\":\"detect\",\"worker\":1,"
        "\"weighed\":[{\"worker\":1,\"end_ns\":67000000,\"load\":\"ppocr-rec\"}]}\n"
        "{\"at_ns\":9000000,\"node\":0,\"kind\":\"answered\",\"job\":\"0.1\",\"workflow\":\"ocr\","
        "\"latency_ns\":8000000,\"queued_ns\":0,\"loading_ns\":0,\"running_ns\":0,"
        "\"moving_ns\":8000000}\n");
    end(&fixture);
}

static void assert_has(const char *text)
{
    if (strstr(written, text) == NULL) {
        fail_msg("%s is not in %s", text, written);
    }
}

static void viewers_get_batches_loads_transfers_and_jobs(ATTR_UNUSED void **state)
{
    struct fixture fixture;
    begin(&fixture, TRACE_EVENTS);
    for (uint32_t number = 1; number <= 2; number++) {
        add(&fixture, RECORD_ARRIVED, 1, number, /* worker */ 0, 1);
        add(&fixture, RECORD_SENT, 1, number, /* worker */ 1, 100);
        add(&fixture, RECORD_QUEUED, 3, number, /* worker */ 1, 1);
    }
    add_load(&fixture, RECORD_LOADING, 3);
    add_load(&fixture, RECORD_LOADED, 5);
    add(&fixture, RECORD_STARTED, 5, /* number */ 1, /* worker */ 1, 2);
    add(&fixture, RECORD_STARTED, 5, /* number */ 2, /* worker */ 1, 2);
    add(&fixture, RECORD_ENDED, 9, /* number */ 1, /* worker */ 1, 4 * MS);
    add(&fixture, RECORD_ENDED, 9, /* number */ 2, /* worker */ 1, 4 * MS);
    add(&fixture, RECORD_ANSWERED, 10, /* number */ 1, /* worker */ 0, 9 * MS);
    end(&fixture);
    assert_memory_equal(written, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{", 40);
    assert_string_equal(written + written_count - 5, "}\n]}\n");
    assert_has("{\"ph\":\"M\",\"name\":\"thread_name\",\"ts\":0.000,\"pid\":1,\"tid\":67,"
               "\"args\":{\"name\":\"w1 fast\"}}");
    assert_has("{\"ph\":\"X\",\"name\":\"ppocr-det\",\"ts\":3000.000,\"pid\":1,\"tid\":66,"
               "\"dur\":2000.000,\"cat\":\"load\",\"args\":{\"end\":\"loaded\"}}");
    assert_has("{\"ph\":\"X\",\"name\":\"ocr/detect\",\"ts\":5000.000,\"pid\":1,\"tid\":67,"
               "\"dur\":4000.000,\"cat\":\"batch\","
               "\"args\":{\"batch\":2,\"gpu\":0,\"jobs\":[\"0.1\",\"0.2\"]}}");
    assert_has("\"ph\":\"b\",\"name\":\"ocr/detect\",\"ts\":1000.000,\"pid\":2,\"tid\":0,"
               "\"cat\":\"transfer\"");
    assert_has("\"ph\":\"e\",\"name\":\"ocr/detect\",\"ts\":3000.000");
    assert_has("\"ph\":\"e\",\"name\":\"ocr\",\"ts\":10000.000,\"pid\":2,\"tid\":0,"
               "\"cat\":\"job\"");
    assert_has("\"name\":\"jobs\",\"ts\":10000.000,\"pid\":2,\"tid\":0,\"args\":{\"open\":1}}");
    char *batch = strstr(written, "\"cat\":\"batch\"");
    assert_null(strstr(batch + 1, "\"cat\":\"batch\"")); /* Once for both of its tasks. */
}

static void names_say_the_form(ATTR_UNUSED void **state)
{
    assert_int_equal(trace_form_of("a.json"), TRACE_EVENTS);
    assert_int_equal(trace_form_of("a.jsonl"), TRACE_LINES);
    assert_int_equal(trace_form_of("a.txt"), TRACE_TEXT);
    assert_int_equal(trace_form_of("-"), TRACE_TEXT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_choice_names_what_it_was_weighed_against),
        cmocka_unit_test(what_belongs_to_no_choice_is_left_out),
        cmocka_unit_test(lines_of_json_say_where_time_went),
        cmocka_unit_test(viewers_get_batches_loads_transfers_and_jobs),
        cmocka_unit_test(names_say_the_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
