/* Covers: src/client/timing.c src/client/asked.c */
#include "client/load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/memory.h"
#include "client/asked.h"
#include "model/catalogue.h"
#include "serving/scripted.h"

#define MS INT64_C(1000000)

enum { DUE = 20 };

/* What a run came to; too large for a stack. */
static struct load_report report;
static struct weft_error error;

static uint32_t url_count = 1;
static int64_t silence_ns;               /* 0: nothing is silent for too long. */
static int64_t patience_ns = 60000 * MS; /* Less only where some answers never end. */

/* DUE requests, 5 ms apart. */
static enum weft_status run(const struct http_url *url, size_t body_bytes, uint32_t connections)
{
    const struct catalogue catalogue = {.workflow_count = 1}; /* Only that is read. */
    const struct arrivals arrivals = {.kind = ARRIVALS_CONSTANT, .rate_per_s = 200, .mix = {1}};
    struct arrival_stream stream;
    char *body = memory_zeroed(1, body_bytes + 1);
    arrival_stream_init(&stream, &arrivals, &catalogue, /* seed */ 1);
    const struct load_options options = {
        .urls = url,
        .url_count = url_count,
        .path = "/",
        .headers = "",
        .body = body,
        .body_bytes = body_bytes,
        .arrivals = &stream,
        .until_ns = (silence_ns > 0 ? 4 : 1) * (DUE * 5 + 2) * MS, /* What comes late is seen. */
        .patience_ns = patience_ns,
        .silence_ns = silence_ns,
        .has_keys = silence_ns > 0,
        .connections = connections,
    };
    error.message[0] = '\0';
    const enum weft_status status = load_run(&options, &report, &error);
    free(body);
    return status;
}

static enum weft_status run_script(struct script script, size_t body_bytes, uint32_t connections)
{
    struct scripted scripted;
    scripted_start(&scripted, script);
    const enum weft_status status = run(&scripted.url, body_bytes, connections);
    scripted_stop(&scripted);
    return status;
}

/* All that was due has come to some end. */
static void is_accounted_for(void)
{
    assert_true(report.due >= DUE - 1);
    assert_int_equal(
        report.due,
        report.good + report.refused + report.late + report.failed + report.broken + report.open);
}

static void answers_are_counted_by_what_they_say(ATTR_UNUSED void **state)
{
    static const struct {
        const char *answer;
        size_t offset;
    } rows[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", offsetof(struct load_report, good)},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
         offsetof(struct load_report, good)},
        {"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", offsetof(struct load_report, refused)},
        {"HTTP/1.1 504 No\r\nContent-Length: 0\r\n\r\n", offsetof(struct load_report, late)},
        {"HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n", offsetof(struct load_report, failed)},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct script script = {.first = rows[i].answer, .end = SCRIPT_AGAIN};
        assert_int_equal(run_script(script, 10, 4), WEFT_OK);
        is_accounted_for();
        const uint64_t *count = (const void *)((const char *)&report + rows[i].offset);
        assert_int_equal(*count, report.due);
    }
}

static void an_answer_may_end_with_its_connection(ATTR_UNUSED void **state)
{
    assert_int_equal(run_script((struct script){.first = "HTTP/1.0 200 OK\r\n\r\nok"}, 10, 4), 0);
    is_accounted_for();
    assert_int_equal(report.good, report.due);
}

static void connections_that_break_are_counted_and_replaced(ATTR_UNUSED void **state)
{
    const struct script script = {
        .first = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        .end = SCRIPT_AGAIN,
        .answers_max = 3,
    };
    assert_int_equal(run_script(script, 10, 2), WEFT_OK);
    is_accounted_for();
    assert_true(report.good >= 3);
    assert_int_equal(report.open, 0);
}

static void servers_that_only_break_are_an_error(ATTR_UNUSED void **state)
{
    static const struct {
        struct script script;
        const char *cause;
    } rows[] = {
        {{.first = ""}, "end of file"},
        {{.end = SCRIPT_RESET}, "connection reset"},
        {{.first = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"}, "end of file"},
        {{.first = "nonsense\r\n\r\n", .end = SCRIPT_AGAIN}, "protocol error"},
        {{.first = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nok", .end = SCRIPT_AGAIN},
         "protocol error"},
        {{.first = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx", .end = SCRIPT_AGAIN},
         "protocol error"},
        {{.reads_nothing = true, .first = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP"},
         "protocol error"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(run_script(rows[i].script, 10, 4), WEFT_IO);
        is_accounted_for();
        assert_int_equal(report.good, 0);
        if (strstr(error.message, rows[i].cause) == NULL) {
            fail_msg("'%s' is not in '%s'", rows[i].cause, error.message);
        }
    }
    struct scripted scripted;
    scripted_start(&scripted, (struct script){.first = ""});
    scripted_stop(&scripted);
    assert_int_equal(run(&scripted.url, 10, 4), WEFT_IO);
    assert_int_equal(report.broken, report.due);
}

static void endless_answers_do_not_outlast_the_patience(ATTR_UNUSED void **state)
{
    static char piece[8192];
    (void)memset(piece, 'a', sizeof(piece) - 1);
    const struct script body = {.first = "HTTP/1.1 200 OK\r\n\r\n", .then = piece, .pause_ms = 1};
    patience_ns = 500 * MS;
    assert_int_equal(run_script(body, 10, 4), WEFT_OK);
    is_accounted_for();
    assert_int_equal(report.open, report.due);
    patience_ns = 60000 * MS;
    const struct script head = {.first = "HTTP/1.1 200 OK\r\nA: ", .then = piece};
    assert_int_equal(run_script(head, 10, 4), WEFT_IO);
    is_accounted_for();
    assert_int_equal(report.good, 0);
}

/* The request is still being written when its answer is there. */
static void an_answer_may_come_before_the_request_has_left(ATTR_UNUSED void **state)
{
    const struct script script = {
        .reads_nothing = true,
        .first = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        .end = SCRIPT_STAY,
    };
    assert_int_equal(run_script(script, (size_t)16 << 20, 1), WEFT_OK);
    is_accounted_for();
    assert_int_equal(report.good, report.due);
}

/* Two servers, of which the first follows @first, and answers of the second. */
static void run_two(struct script first, uint32_t connections)
{
    const struct script good = {
        .first = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", .end = SCRIPT_AGAIN};
    struct scripted servers[2];
    scripted_start(&servers[0], first);
    scripted_start(&servers[1], good);
    const struct http_url urls[] = {servers[0].url, servers[1].url};
    url_count = 2;
    silence_ns = 50 * MS;
    assert_int_equal(run(urls, 10, connections), WEFT_OK);
    url_count = 1;
    silence_ns = 0;
    scripted_stop(&servers[0]);
    scripted_stop(&servers[1]);
    is_accounted_for();
}

static void another_address_is_asked_where_one_is_silent(ATTR_UNUSED void **state)
{
    run_two((struct script){.end = SCRIPT_STAY}, 4); /* It takes requests, and says nothing. */
    assert_int_equal(report.good, report.due);
    assert_true(report.silent >= 1);
    assert_int_equal(report.retried, 0);
    assert_int_equal(report.open, 0);
}

static void one_that_was_silent_may_answer_or_break_at_last(ATTR_UNUSED void **state)
{
    run_two(
        (struct script){.then = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", .pause_ms = 70},
        4);
    assert_int_equal(report.good, report.due); /* None counts twice. */
    assert_true(report.silent >= 1);
    run_two((struct script){.then = "nonsense\r\n\r\n", .pause_ms = 100}, 4);
    assert_int_equal(report.good, report.due);
    assert_int_equal(report.broken, 0);
}

static void those_that_wait_are_asked_in_turn(ATTR_UNUSED void **state)
{
    struct asked_queue queue = {.items = NULL};
    for (uint64_t i = 0; i < 3000; i++) { /* It grows. */
        asked_push(&queue, (struct asked){.number = i});
        if (i % 3 == 2) {
            assert_int_equal(asked_pop(&queue).number, i / 3);
        }
    }
    assert_int_equal(queue.count, 2000);
    assert_true(asked_holds(&queue, 1500));
    asked_forget(&queue, 1500);
    assert_false(asked_holds(&queue, 1500));
    assert_false(asked_holds(&queue, 999));
    for (uint64_t i = 1000; i < 3000; i++) {
        assert_int_equal(i == 1500 ? 1500 : asked_pop(&queue).number, i);
    }
    assert_int_equal(queue.count, 0);
    asked_deinit(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_counted_by_what_they_say),
        cmocka_unit_test(an_answer_may_end_with_its_connection),
        cmocka_unit_test(connections_that_break_are_counted_and_replaced),
        cmocka_unit_test(servers_that_only_break_are_an_error),
        cmocka_unit_test(endless_answers_do_not_outlast_the_patience),
        cmocka_unit_test(an_answer_may_come_before_the_request_has_left),
        cmocka_unit_test(another_address_is_asked_where_one_is_silent),
        cmocka_unit_test(one_that_was_silent_may_answer_or_break_at_last),
        cmocka_unit_test(those_that_wait_are_asked_in_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
