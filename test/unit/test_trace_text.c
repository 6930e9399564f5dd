/* Covers: src/trace/text.c, src/trace/json.c */
#include "trace/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "trace_fixture.h"

struct row {
    struct record record;
    const char *text;
    const char *json;
};

#define ANY .task = TASK_NONE, .worker = WORKER_NONE, .workflow = RECORD_NONE, .model = RECORD_NONE
#define JOB .job = {.node = 0, .number = 1}, .workflow = OCR, .model = RECORD_NONE

static const struct row rows[] = {
    {
        {.kind = RECORD_ARRIVED,
         .at_ns = 12500000,
         JOB,
         .task = TASK_NONE,
         .worker = WORKER_NONE,
         .value = 1},
        "[   12.500 ms] n0 arrived job 0.1 ocr",
        "{\"at_ns\":12500000,\"node\":0,\"kind\":\"arrived\",\"job\":\"0.1\","
        "\"workflow\":\"ocr\",\"items\":1}",
    },
    {
        {.kind = RECORD_REFUSED,
         .workflow = TAG,
         .task = TASK_NONE,
         .worker = WORKER_NONE,
         .model = RECORD_NONE,
         .reason = REASON_ADMISSION,
         .value = 5 * MS},
        "[    0.000 ms] n0 refused tag (admission, again after 5.000 ms)",
        "{\"at_ns\":0,\"node\":0,\"kind\":\"refused\",\"workflow\":\"tag\","
        "\"reason\":\"admission\",\"retry_ns\":5000000}",
    },
    {
        {.kind = RECORD_PLACED,
         .at_ns = 12500000,
         JOB,
         .task = DETECT,
         .worker = 3,
         .reason = REASON_PLANNED},
        "[   12.500 ms] n0 placed job 0.1 ocr/detect on w3 (planned)",
        "{\"at_ns\":12500000,\"node\":0,\"kind\":\"placed\",\"job\":\"0.1\","
        "\"workflow\":\"ocr\",\"task\":\"detect\",\"worker\":3,\"reason\":\"planned\"}",
    },
    {
        {.kind = RECORD_RESERVED, JOB, .task = READ, .worker = 1, .value = 1250000},
        "[    0.000 ms] n0 reserved job 0.1 ocr/read on w1 (1.250 ms)",
        "{\"at_ns\":0,\"node\":0,\"kind\":\"reserved\",\"job\":\"0.1\",\"workflow\":\"ocr\","
        "\"task\":\"read\",\"worker\":1,\"reserved_ns\":1250000}",
    },
    {
        {.kind = RECORD_ACKNOWLEDGED,
         .workflow = RECORD_NONE,
         .task = TASK_NONE,
         .worker = 1,
         .model = RECORD_NONE,
         .value = 9},
        "[    0.000 ms] n0 acknowledged on w1 (sequence 9)",
        "{\"at_ns\":0,\"node\":0,\"kind\":\"acknowledged\",\"worker\":1,\"sequence\":9}",
    },
    {
        {.kind = RECORD_SENT, JOB, .task = READ, .worker = 1, .value = 999},
        "[    0.000 ms] n0 sent job 0.1 ocr/read to w1 (999 B)",
        "{\"at_ns\":0,\"node\":0,\"kind\":\"sent\",\"job\":\"0.1\",\"workflow\":\"ocr\","
        "\"task\":\"read\",\"worker\":1,\"bytes\":999}",
    },
    {
        {.kind = RECORD_QUEUED, JOB, .task = READ, .worker = 1, .value = 7},
        "[    0.000 ms] n0 queued job 0.1 ocr/read on w1 (7 items)",
        "{\"at_ns\":0,\"node\":0,\"kind\":\"queued\",\"job\":\"0.1\",\"workflow\":\"ocr\","
        "\"task\":\"read\",\"worker\":1,\"items\":7}",
    },
    {
        {.kind = RECORD_LOADING,
         .at_ns = 1,
         .node = 2,
         .workflow = RECORD_NONE,
         .task = TASK_NONE,
         .worker = 3,
         .model = 0,
         .reason = REASON_DEMAND,
         .value = 4700000},
        "[    0.000 ms] n2 loading ppocr-det on w3 (demand, 4.7 MB)",
        "{\"at_ns\":1,\"node\":2,\"kind\":\"loading\",\"model\":\"ppocr-det\",\"worker\":3,"
        "\"reason\":\"demand\",\"bytes\":4700000}",
    },
    {
        {.kind = RECORD_SHAPED,
         .workflow = RECORD_NONE,
         .task = TASK_NONE,
         .worker = 3,
         .model = RECORD_NONE,
         .value = 2},
        "[    0.000 ms] n0 shaped on w3 (2 units)",
        "{\"at_ns\":0,\"node\":0,\"kind\":\"shaped\",\"worker\":3,\"units\":2}",
    },
    {
        {.kind = RECORD_STARTED,
         JOB,
         .task = DETECT,
         .worker = 3,
         .batch = 2,
         .gpu = 1,
         .value = 2},
        "[    0.000 ms] n0 started job 0.1 ocr/detect on w3 (batch of 2)",
        "{\"at_ns\":0,\"node\":0,\"kind\":\"started\",\"job\":\"0.1\",\"workflow\":\"ocr\","
        "\"task\":\"detect\",\"worker\":3,\"batch\":2,\"gpu\":1,\"items\":2}",
    },
    {
        {.kind = RECORD_STARTED,
         JOB,
         .task = DETECT,
         .worker = 3,
         .batch = 1,
         .gpu = 4,
         .value = 5},
        "[    0.000 ms] n0 started job 0.1 ocr/detect on w3 (5 items, 4 units)",
        "{\"at_ns\":0,\"node\":0,\"kind\":\"started\",\"job\":\"0.1\",\"workflow\":\"ocr\","
        "\"task\":\"detect\",\"worker\":3,\"batch\":1,\"gpu\":4,\"items\":5}",
    },
    {
        {.kind = RECORD_ENDED, JOB, .task = DETECT, .worker = 3, .batch = 1, .value = 10 * MS},
        "[    0.000 ms] n0 ended job 0.1 ocr/detect on w3 after 10.000 ms",
        "{\"at_ns\":0,\"node\":0,\"kind\":\"ended\",\"job\":\"0.1\",\"workflow\":\"ocr\","
        "\"task\":\"detect\",\"worker\":3,\"batch\":1,\"gpu\":0,\"run_ns\":10000000}",
    },
    {
        {.kind = RECORD_STOLEN, JOB, .task = DETECT, .worker = 3},
        "[    0.000 ms] n0 stolen job 0.1 ocr/detect to w3",
        "{\"at_ns\":0,\"node\":0,\"kind\":\"stolen\",\"job\":\"0.1\",\"workflow\":\"ocr\","
        "\"task\":\"detect\",\"worker\":3}",
    },
    {
        {.kind = RECORD_ANSWERED,
         .at_ns = 123456789999,
         JOB,
         .task = TASK_NONE,
         .worker = WORKER_NONE,
         .value = 31250000},
        "[123456.790 ms] n0 answered job 0.1 ocr after 31.250 ms",
        "{\"at_ns\":123456789999,\"node\":0,\"kind\":\"answered\",\"job\":\"0.1\","
        "\"workflow\":\"ocr\",\"latency_ns\":31250000}",
    },
    {
        {.kind = RECORD_ANSWERED,
         JOB,
         .task = TASK_NONE,
         .worker = WORKER_NONE,
         .value = 31250000,
         .reason = REASON_ATTEMPTS},
        "[    0.000 ms] n0 answered job 0.1 ocr after 31.250 ms (too many attempts)",
        "{\"at_ns\":0,\"node\":0,\"kind\":\"answered\",\"job\":\"0.1\",\"workflow\":\"ocr\","
        "\"reason\":\"too many attempts\",\"latency_ns\":31250000}",
    },
    {
        {.kind = RECORD_NODE_LOST, ANY, .value = 4},
        "[    0.000 ms] n0 node lost n4",
        "{\"at_ns\":0,\"node\":0,\"kind\":\"node lost\",\"peer\":4}",
    },
    {
        {.kind = RECORD_DRAINED, .node = 1, ANY},
        "[    0.000 ms] n1 drained",
        "{\"at_ns\":0,\"node\":1,\"kind\":\"drained\"}",
    },
    {
        {.kind = RECORD_SOLVED, ANY, .value = 2},
        "[    0.000 ms] n0 solved problem 2",
        "{\"at_ns\":0,\"node\":0,\"kind\":\"solved\",\"problem\":2}",
    },
};

static void every_kind_reads_as_a_sentence(ATTR_UNUSED void **state)
{
    struct trace_fixture world;
    char line[TRACE_LINE_BYTES_MAX];
    trace_fixture_init(&world);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const size_t length = trace_text(&rows[i].record, world.catalogue, line, sizeof(line));
        assert_string_equal(line, rows[i].text);
        assert_int_equal(length, strlen(line));
    }
    trace_fixture_deinit(&world);
}

static void every_kind_is_an_object(ATTR_UNUSED void **state)
{
    struct trace_fixture world;
    char line[TRACE_LINE_BYTES_MAX];
    trace_fixture_init(&world);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const size_t length = trace_json(&rows[i].record, world.catalogue, line, sizeof(line));
        assert_string_equal(line, rows[i].json);
        assert_int_equal(length, strlen(line));
    }
    trace_fixture_deinit(&world);
}

static void only_programs_are_told_the_incarnation_of_a_node(ATTR_UNUSED void **state)
{
    struct trace_fixture world;
    char line[TRACE_LINE_BYTES_MAX];
    trace_fixture_init(&world);
    struct record record = job_record(RECORD_ARRIVED, 0, 5, TAG);
    record.job.node = 7;
    record.job.incarnation = 3;
    (void)trace_text(&record, world.catalogue, line, sizeof(line));
    assert_string_equal(line, "[    0.000 ms] n0 arrived job 7.5 tag");
    (void)trace_json(&record, world.catalogue, line, sizeof(line));
    assert_non_null(strstr(line, "\"job\":\"7.5\",\"life\":3,"));
    trace_fixture_deinit(&world);
}

static void sizes_never_round_to_a_thousand(ATTR_UNUSED void **state)
{
    static const struct {
        int64_t bytes;
        const char *text;
    } sizes[] = {
        {0, "(0 B)"},         {1000, "(1.0 kB)"},       {999949, "(999.9 kB)"},
        {999950, "(1.0 MB)"}, {1234567890, "(1.2 GB)"}, {1000000000000000, "(1000.0 TB)"},
        {999999, "(1.0 MB)"},
    };
    struct trace_fixture world;
    char line[TRACE_LINE_BYTES_MAX];
    trace_fixture_init(&world);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct record record = job_record(RECORD_SENT, 0, 1, TAG);
        record.value = sizes[i].bytes;
        (void)trace_text(&record, world.catalogue, line, sizeof(line));
        assert_string_equal(strchr(line, '('), sizes[i].text);
    }
    trace_fixture_deinit(&world);
}

static void a_short_line_is_cut_and_terminated(ATTR_UNUSED void **state)
{
    struct trace_fixture world;
    char line[16];
    trace_fixture_init(&world);
    assert_int_equal(trace_text(&rows[0].record, world.catalogue, line, sizeof(line)), 15);
    assert_string_equal(line, "[   12.500 ms] ");
    trace_fixture_deinit(&world);
}

static void json_quotes_what_names_may_hold(ATTR_UNUSED void **state)
{
    struct trace_fixture world;
    char line[TRACE_LINE_BYTES_MAX];
    trace_fixture_init(&world);
    memcpy(world.catalogue->workflows[TAG]->name, "a\"b\\\n", sizeof("a\"b\\\n"));
    const struct record record = job_record(RECORD_ARRIVED, 0, 1, TAG);
    (void)trace_json(&record, world.catalogue, line, sizeof(line));
    assert_non_null(strstr(line, "\"workflow\":\"a\\\"b\\\\\\u000a\""));
    trace_fixture_deinit(&world);
}

static void names_cover_every_kind_and_reason(ATTR_UNUSED void **state)
{
    for (uint32_t kind = 0; kind < RECORD_KIND_COUNT; kind++) {
        assert_true(strlen(record_kind_name(kind)) > 0);
    }
    for (uint32_t reason = REASON_NONE + 1; reason < REASON_COUNT; reason++) {
        assert_true(strlen(reason_name(reason)) > 0);
    }
    assert_string_equal(record_kind_name(RECORD_KIND_COUNT), "unknown");
    assert_string_equal(reason_name(REASON_COUNT), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_reads_as_a_sentence),
        cmocka_unit_test(every_kind_is_an_object),
        cmocka_unit_test(only_programs_are_told_the_incarnation_of_a_node),
        cmocka_unit_test(sizes_never_round_to_a_thousand),
        cmocka_unit_test(a_short_line_is_cut_and_terminated),
        cmocka_unit_test(json_quotes_what_names_may_hold),
        cmocka_unit_test(names_cover_every_kind_and_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
