/* Covers: src/client/http_answer.c src/client/http_call.c */
#include "client/http_call.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/memory.h"
#include "serving/scripted.h"

enum { LARGE_BYTES = 32 << 20 };

/* What a call came to. */
struct outcome {
    enum weft_status status;
    struct weft_error error;
    struct http_reply reply;
    char body[256];
};

/* Only what a test says differs from this. */
struct asked {
    size_t body_bytes;
    uint32_t timeout_s;
    uint64_t answer_bytes_max;
    bool is_tls;
};

static struct outcome call(struct script script, struct asked asked)
{
    struct scripted scripted;
    struct outcome outcome = {.status = WEFT_OK};
    scripted_start(&scripted, script);
    scripted.url.is_tls = asked.is_tls;
    char *body = asked.body_bytes == 0 ? NULL : memory_zeroed(1, asked.body_bytes);
    const struct http_call made = {
        .url = &scripted.url,
        .method = "POST",
        .path = "/",
        .body = body,
        .body_bytes = asked.body_bytes,
        .timeout_s = asked.timeout_s == 0 ? 60 : asked.timeout_s,
        .answer_bytes_max = asked.answer_bytes_max,
    };
    outcome.status = http_call(&made, &outcome.reply, &outcome.error);
    if (outcome.status == WEFT_OK) {
        assert_int_equal(outcome.reply.body[outcome.reply.body_bytes], 0);
        (void)snprintf(outcome.body, sizeof(outcome.body), "%s", outcome.reply.body);
        free(outcome.reply.body);
    } else {
        assert_int_equal(outcome.error.status, outcome.status);
    }
    scripted_stop(&scripted);
    free(body);
    return outcome;
}

static struct outcome says(const char *text)
{
    return call((struct script){.first = text}, (struct asked){.timeout_s = 60});
}

static void is_answer(const char *text, uint32_t status, const char *body)
{
    const struct outcome outcome = says(text);
    assert_string_equal(outcome.error.message, "");
    assert_int_equal(outcome.status, WEFT_OK);
    assert_int_equal(outcome.reply.status, status);
    assert_int_equal(outcome.reply.body_bytes, strlen(body));
    assert_string_equal(outcome.body, body);
}

static void fails(struct outcome outcome, enum weft_status status, const char *cause)
{
    assert_int_equal(outcome.status, status);
    if (strstr(outcome.error.message, cause) == NULL) {
        fail_msg("'%s' is not in '%s'", cause, outcome.error.message);
    }
}

static void answers_end_by_length_chunks_or_hanging_up(ATTR_UNUSED void **state)
{
    is_answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello");
    is_answer("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 404, "");
    is_answer(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n",
        200, "hello");
    is_answer("HTTP/1.0 200 OK\r\n\r\nhello", 200, "hello");
    is_answer("HTTP/1.1 204 No Content\r\n\r\n", 204, "");
    is_answer(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nA: b\r\n\r\n"
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        200, "ok");
}

static void a_complete_answer_needs_no_hanging_up(ATTR_UNUSED void **state)
{
    const struct outcome outcome = call(
        (struct script){
            .first = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", .end = SCRIPT_STAY},
        (struct asked){.timeout_s = 60});
    assert_int_equal(outcome.status, WEFT_OK);
    assert_string_equal(outcome.body, "ok");
}

static void what_is_cut_is_no_answer(ATTR_UNUSED void **state)
{
    fails(says(""), WEFT_IO, "it hung up");
    fails(says("HTTP/1.1 200 OK\r\nContent-"), WEFT_IO, "cut off");
    fails(says("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello"), WEFT_IO, "cut off");
    fails(
        says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), WEFT_IO,
        "cut off");
    fails(says("HTTP/1.1 100 Continue\r\n\r\n"), WEFT_IO, "it hung up");
}

static void what_is_wrong_is_no_answer(ATTR_UNUSED void **state)
{
    fails(says("hello\r\n\r\n"), WEFT_IO, "no answer");
    fails(says("HTTP/1.1 200 OK\nContent-Length: 2\n\nok"), WEFT_IO, "without CR");
    fails(
        says("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhello"), WEFT_IO, "longer than it says");
    fails(
        says("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 4\r\n\r\nhello"), WEFT_IO,
        "no answer");
    fails(
        says("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nhello"), WEFT_IO,
        "no answer");
    fails(
        says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello0\r\n\r\n"), WEFT_IO,
        "not in proper chunks");
    fails(
        says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
             "Inference-Header-Content-Length: 3\r\n\r\n{}"),
        WEFT_IO, "its JSON is longer than its body");
    fails(says("HTTP/1.1 101 Switching Protocols\r\n\r\n"), WEFT_IO, "no answer");
}

static void endless_answers_are_given_up(ATTR_UNUSED void **state)
{
    static char lines[8192];
    (void)memset(lines, 'a', sizeof(lines) - 1);
    const struct asked bounded = {.answer_bytes_max = 1 << 20};
    fails(
        call((struct script){.first = "HTTP/1.1 200 OK\r\nA: ", .then = lines}, bounded), WEFT_IO,
        "too long");
    fails(
        call((struct script){.then = "HTTP/1.1 100 Continue\r\n\r\n"}, bounded), WEFT_IO,
        "too many interim answers");
    fails(
        call((struct script){.first = "HTTP/1.1 200 OK\r\n\r\n", .then = lines}, bounded),
        WEFT_LIMIT, "the answer is longer than 1048576 bytes");
    fails(
        call(
            (struct script){
                .first = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n",
                .then = lines},
            bounded),
        WEFT_LIMIT, "longer than 1048576 bytes");
    fails(
        call(
            (struct script){
                .first = "HTTP/1.1 200 OK\r\nContent-Length: 1048577\r\n\r\n", .end = SCRIPT_STAY},
            bounded),
        WEFT_LIMIT, "longer than 1048576 bytes");
}

/* Each of them says something, often enough that no single wait is long. */
static void slow_servers_are_given_up(ATTR_UNUSED void **state)
{
    const struct asked hasty = {.timeout_s = 1};
    fails(call((struct script){.end = SCRIPT_STAY}, hasty), WEFT_IO, "longer than 1 s");
    fails(
        call(
            (struct script){.first = "HTTP/1.1 200 OK\r\nA: ", .then = "a", .pause_ms = 10}, hasty),
        WEFT_IO, "longer than 1 s");
    fails(
        call(
            (struct script){
                .first = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n",
                .then = "a",
                .pause_ms = 10},
            hasty),
        WEFT_IO, "longer than 1 s");
    fails(
        call(
            (struct script){.reads_nothing = true, .end = SCRIPT_STAY},
            (struct asked){.timeout_s = 1, .body_bytes = LARGE_BYTES}),
        WEFT_IO, "does not accept the request");
}

static void an_answer_may_come_before_the_request_has_left(ATTR_UNUSED void **state)
{
    const struct outcome outcome = call(
        (struct script){
            .reads_nothing = true,
            .first = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno",
            .end = SCRIPT_STAY},
        (struct asked){.body_bytes = LARGE_BYTES});
    assert_int_equal(outcome.status, WEFT_OK);
    assert_int_equal(outcome.reply.status, 413);
    assert_string_equal(outcome.body, "no");
}

static void broken_connections_are_said(ATTR_UNUSED void **state)
{
    fails(
        call((struct script){.end = SCRIPT_RESET}, (struct asked){.timeout_s = 60}), WEFT_IO,
        "Connection reset");
    struct scripted scripted;
    struct weft_error error;
    struct http_reply reply;
    scripted_start(&scripted, (struct script){.first = ""});
    scripted_stop(&scripted);
    const struct http_call made = {.url = &scripted.url, .method = "GET", .path = "/"};
    assert_int_equal(http_call(&made, &reply, &error), WEFT_IO);
    assert_non_null(strstr(error.message, "cannot connect: Connection refused"));
}

static void tls_that_is_none_is_given_up(ATTR_UNUSED void **state)
{
    const struct asked tls = {.is_tls = true, .timeout_s = 1};
    fails(
        call((struct script){.reads_nothing = true, .first = "HTTP/1.1 200 OK\r\n\r\n"}, tls),
        WEFT_IO, "no TLS");
    fails(
        call((struct script){.reads_nothing = true, .end = SCRIPT_STAY}, tls), WEFT_IO,
        "no TLS: it takes longer than 1 s");
    fails(call((struct script){.reads_nothing = true}, tls), WEFT_IO, "no TLS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_end_by_length_chunks_or_hanging_up),
        cmocka_unit_test(a_complete_answer_needs_no_hanging_up),
        cmocka_unit_test(what_is_cut_is_no_answer),
        cmocka_unit_test(what_is_wrong_is_no_answer),
        cmocka_unit_test(endless_answers_are_given_up),
        cmocka_unit_test(slow_servers_are_given_up),
        cmocka_unit_test(an_answer_may_come_before_the_request_has_left),
        cmocka_unit_test(broken_connections_are_said),
        cmocka_unit_test(tls_that_is_none_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
