/* Covers: src/protocol/http_head.c src/protocol/http_chunks.c */
#include "protocol/http_head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"

/* What becomes of @text, fed at once: 200 if it is a head, 0 if more must come. */
static uint32_t status_of(const char *text, size_t length)
{
    struct http_head head;
    struct http_fault fault = {0, NULL};
    size_t scanned = 0;
    const enum http_got whole = http_head_read(text, length, &scanned, &head, &fault);
    const uint32_t status = whole == HTTP_DONE ? 200 : whole == HTTP_MORE ? 0 : fault.status;

    /* Byte by byte it comes to the same end. */
    struct http_fault fault_slow = {0, NULL};
    enum http_got slow = HTTP_MORE;
    scanned = 0;
    for (size_t i = 1; i <= length && slow == HTTP_MORE; i++) {
        slow = http_head_read(text, i, &scanned, &head, &fault_slow);
    }
    assert_int_equal(slow, whole);
    assert_int_equal(fault_slow.status, fault.status);
    return status;
}

static uint32_t status(const char *text)
{
    return status_of(text, strlen(text));
}

#define HOST "Host: h\r\n"

static void a_head_is_read_into_its_parts(ATTR_UNUSED void **state)
{
    static const char text[] = "POST /v2/x?q=1 HTTP/1.1\r\nHost: a\r\nContent-Length:  12 \r\n"
                               "X-Slo-Ms:5\r\nExpect: 100-continue\r\nEmpty:\r\n\r\nrest";
    struct http_head head;
    struct http_fault fault;
    size_t scanned = 0;
    uint64_t number;
    assert_int_equal(http_head_read(text, sizeof(text) - 1, &scanned, &head, &fault), HTTP_DONE);
    assert_int_equal(head.method, HTTP_POST);
    assert_true(http_span_is(head.target, "/v2/x?q=1"));
    assert_int_equal(head.bytes, sizeof(text) - 1 - 4);
    assert_int_equal(head.length, 12);
    assert_true(head.keep_alive);
    assert_true(head.expects_continue);
    assert_int_equal(head.header_count, 5);
    assert_true(http_span_number(*http_head_find(&head, "x-slo-ms"), &number));
    assert_int_equal(number, 5);
    assert_int_equal(http_head_find(&head, "empty")->length, 0);
    assert_null(http_head_find(&head, "absent"));
}

static void connections_are_kept_or_closed_as_the_client_says(ATTR_UNUSED void **state)
{
    static const struct {
        const char *text;
        bool keep;
    } cases[] = {
        {"GET / HTTP/1.1\r\n" HOST "\r\n", true},
        {"GET / HTTP/1.1\r\n" HOST "Connection: x, Close\r\n\r\n", false},
        {"GET / HTTP/1.0\r\n\r\n", false},
        {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct http_head head;
        struct http_fault fault;
        size_t scanned = 0;
        const enum http_got got =
            http_head_read(cases[i].text, strlen(cases[i].text), &scanned, &head, &fault);
        assert_int_equal(got, HTTP_DONE);
        assert_int_equal(head.keep_alive, cases[i].keep);
    }
}

static void what_could_be_read_in_two_ways_is_refused(ATTR_UNUSED void **state)
{
    static const struct {
        const char *text;
        uint32_t status;
    } cases[] = {
        {"GET / HTTP/1.1\n" HOST "\r\n", 400},                 /* bare LF */
        {"GET / HTTP/1.1\r\nHost: h\n\r\n", 400},              /* later */
        {"GET / HTTP/1.1\r\n" HOST "A: b\r\n c\r\n\r\n", 400}, /* folded */
        {"GET / HTTP/1.1\r\n" HOST "A : b\r\n\r\n", 400},      /* space */
        {"GET / HTTP/1.1\r\n" HOST ": b\r\n\r\n", 400},        /* no name */
        {"GET / HTTP/1.1\r\n" HOST "A: b\rc\r\n\r\n", 400},    /* bare CR */
        {"GET / HTTP/1.1\r\n" HOST "A: \x01\r\n\r\n", 400},    /* control */
        {"GET / HTTP/1.1\r\n\r\n", 400},                       /* no host */
        {"GET / HTTP/1.1\r\n" HOST HOST "\r\n", 400},          /* two */
        {"GET  / HTTP/1.1\r\n" HOST "\r\n", 400},              /* spaces */
        {"GET / HTTP/1.1 \r\n" HOST "\r\n", 400},
        {"GET /\r\n" HOST "\r\n", 400},
        {" GET / HTTP/1.1\r\n" HOST "\r\n", 400},
        {"G(T / HTTP/1.1\r\n" HOST "\r\n", 400},
        {"GET /\x80 HTTP/1.1\r\n" HOST "\r\n", 400},
        {"GET / HTTP/2.0\r\n" HOST "\r\n", 505},
        {"GET / http/1.1\r\n" HOST "\r\n", 400},
        {"POST / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\n" HOST "Content-Length: 1, 1\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\n" HOST "Content-Length: +1\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\n" HOST "Content-Length: 0x1\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n", 501},
        {"POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: xchunked\r\n\r\n", 501},
        {"POST / HTTP/1.1\r\n" HOST
         "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
         400},
        {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\n" HOST "Expect: tea\r\n\r\n", 417},
        {"GET / HTTP/1.1\r\n" HOST, 0},
        {"", 0},
        {"\r\n\r\nGET / HTTP/1.1\r\n" HOST "\r\n", 200}, /* Left over from before. */
        {"PATCH /x HTTP/1.1\r\n" HOST "\r\n", 200},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (status(cases[i].text) != cases[i].status) {
            fail_msg("case %zu: %u, not %u", i, status(cases[i].text), cases[i].status);
        }
    }
    static const char zero[] = "GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n";
    assert_int_equal(status_of(zero, sizeof(zero) - 1), 400);
}

static void heads_have_a_bound(ATTR_UNUSED void **state)
{
    static char text[HTTP_HEAD_BYTES_MAX + 100];
    int length = snprintf(text, sizeof(text), "GET /");
    memset(text + length, 'a', sizeof(text) - (size_t)length);
    assert_int_equal(status_of(text, HTTP_HEAD_BYTES_MAX), 414);

    memset(text + length, 'a', HTTP_TARGET_BYTES_MAX);
    length += HTTP_TARGET_BYTES_MAX;
    length += snprintf(text + length, 64, " HTTP/1.1\r\n" HOST "\r\n");
    assert_int_equal(status_of(text, (size_t)length), 414);

    length = snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n" HOST "A: ");
    memset(text + length, 'a', sizeof(text) - (size_t)length);
    assert_int_equal(status_of(text, HTTP_HEAD_BYTES_MAX), 431);

    length = snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n" HOST);
    for (uint32_t i = 0; i < HTTP_HEADERS_MAX; i++) {
        length += snprintf(text + length, 16, "A: b\r\n");
    }
    length += snprintf(text + length, 16, "\r\n");
    assert_int_equal(status_of(text, (size_t)length), 431);
}

static void replies_are_read_as_well(ATTR_UNUSED void **state)
{
    static const char good[] = "HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\n{}";
    static const char *const wrong[] = {
        "HTTP/1.1 abc No\r\n\r\n", "HTTP/1.1\r\n\r\n", "FTP/1.1 200 OK\r\n\r\n"};
    struct http_head head;
    struct http_fault fault;
    size_t scanned = 0;
    assert_int_equal(http_reply_read(good, sizeof(good) - 1, &scanned, &head, &fault), HTTP_DONE);
    assert_int_equal(head.status, 503);
    assert_int_equal(head.length, 2);
    for (size_t i = 0; i < 3; i++) {
        scanned = 0;
        const enum http_got got =
            http_reply_read(wrong[i], strlen(wrong[i]), &scanned, &head, &fault);
        assert_int_equal(got, HTTP_BAD);
    }
}

/* Feed @text in pieces of @step bytes; the data is gathered in @out. */
static enum http_got feed(const char *text, size_t step, char *out)
{
    struct http_chunks chunks = {0};
    struct http_fault fault;
    enum http_got got = HTTP_MORE;
    const char *end = text + strlen(text);
    const char *seen = text;
    *out = '\0';
    while (got == HTTP_MORE && text < end) {
        if (seen == text) {
            seen += step < (size_t)(end - text) ? step : (size_t)(end - text);
        }
        struct http_span data;
        size_t used = 0;
        const struct http_span there = {text, (size_t)(seen - text)};
        got = http_chunks_read(&chunks, there, &used, &data, &fault);
        if (got != HTTP_BAD) {
            (void)snprintf(out + strlen(out), 64, "%.*s", (int)data.length, data.bytes);
        }
        text += used;
    }
    return got;
}

static void chunks_give_their_data_however_they_come(ATTR_UNUSED void **state)
{
    static const char text[] = "4\r\nWeft\r\nB;x=\"y\"\r\n serves me \r\n0\r\nT: v\r\n\r\n";
    char out[128];
    for (size_t step = 1; step < sizeof(text); step++) {
        assert_int_equal(feed(text, step, out), HTTP_DONE);
        assert_string_equal(out, "Weft serves me ");
    }
}

static void chunks_that_are_none_are_refused(ATTR_UNUSED void **state)
{
    static const char *const wrong[] = {
        "x\r\n",    "\r\n",           "4\nWeft\r\n",     "4\r\nWeftx\r\n",    "4\r\nWeft\n",
        "-4\r\n",   "4 \r\nWeft\r\n", "0\r\nT: v\n\r\n", "fffffffffffff\r\n", "0x4\r\nWeft",
        "0\r\n\rx",
    };
    char out[128];
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (feed(wrong[i], 1, out) != HTTP_BAD) {
            fail_msg("case %zu", i);
        }
    }
    static char trailer[8000];
    (void)snprintf(trailer, sizeof(trailer), "0\r\nT: ");
    memset(trailer + 6, 'a', 5000);
    assert_int_equal(feed(trailer, 100, out), HTTP_BAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_is_read_into_its_parts),
        cmocka_unit_test(connections_are_kept_or_closed_as_the_client_says),
        cmocka_unit_test(what_could_be_read_in_two_ways_is_refused),
        cmocka_unit_test(heads_have_a_bound),
        cmocka_unit_test(replies_are_read_as_well),
        cmocka_unit_test(chunks_give_their_data_however_they_come),
        cmocka_unit_test(chunks_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
