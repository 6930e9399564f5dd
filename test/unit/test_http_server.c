/*
 * A whole server in this process, and a client on another thread. What processes and
 * scripts can show is in test/integration/test_http.py; this one runs under sanitizers.
 *
 * Covers: src/server/http.c src/server/http_process.c src/server/http_write.c
 * src/server/infer.c src/server/infer_head.c src/server/infer_work.c src/server/models.c
 * src/server/repository.c src/server/routes.c src/server/server.c src/server/tls.c
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "serving/world.h"

enum { CLIENTS = 4, ROUNDS = 50 };

/* A client that comes again and again. */
struct client {
    pthread_t thread;
    struct world *world;
    const char *text;
    size_t length;
};

static void expect(struct world *world, const char *text, const char *part)
{
    char *reply = world_ask(world, text, strlen(text));
    if (strstr(reply, part) == NULL) {
        fail_msg("%s\n---\n%s", text, reply);
    }
    free(reply);
}

/* A POST of @body that asks for the end of the connection. */
static void post(struct world *world, const char *path, const char *body, const char *part)
{
    const size_t room = strlen(body) + 256;
    char *text = malloc(room);
    (void)snprintf(
        text, room,
        "POST %s HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s", path,
        strlen(body), body);
    expect(world, text, part);
    free(text);
}

#define END " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
#define GO  " HTTP/1.1\r\nHost: h\r\n\r\n"

static void resources_answer(ATTR_UNUSED void **state)
{
    static const struct {
        const char *text;
        const char *part;
    } cases[] = {
        {"GET /v2" END, "\"name\":\"weft\""},
        {"GET /v2/" END, "\"name\":\"weft\""},
        {"GET /v2/health/live" END, "{\"live\":true}"},
        {"GET /v2/health/ready" END, "{\"ready\":true}"},
        {"GET /v2/models/image" END,
         "\"inputs\":[{\"name\":\"pixels\",\"datatype\":\"UINT8\",\"shape\":[-1,-1,3]}],"
         "\"outputs\":[{\"name\":\"pixels\",\"datatype\":\"INVALID\",\"shape\":[-1]}]"},
        {"GET /v2/models/text/versions/1/config" END,
         "\"data_type\":\"TYPE_STRING\",\"dims\":[-1]"},
        {"GET /v2/models/echo/ready" END, "{\"name\":\"echo\",\"ready\":true}"},
        {"GET /v2/models/stats" END, "\"name\":\"hops\""},
        {"HEAD /v2/models/echo/stats" END, "Content-Length: 3"},
        {"OPTIONS /v2" END, "204 No Content"},
        {"OPTIONS *" END, "Allow: GET, HEAD, POST, OPTIONS"},
        {"POST /v2" END, "405 Method Not Allowed"},
        {"POST /v2/models/echo/infer" END, "411 Length Required"},
        {"POST /v2/models/echo/infer HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n"
         "Connection: close\r\n\r\n",
         "400 Bad Request"},
        {"POST /v2/repository/index" END, "200 OK"}, /* Nothing is a body, too. */
        {"DELETE /v2" END, "405 Method Not Allowed"},
        {"GET /v2/models/echo/infer" END, "405 Method Not Allowed"},
        {"GET /v2/models/nobody" END, "there is no model 'nobody'"},
        {"GET /v2/models/echo/versions/2" END, "404 Not Found"},
        {"GET /v2/models/echo/" END, "404 Not Found"},
        {"GET /" END, "404 Not Found"},
        {"GET /v2/../x" END, "400 Bad Request"},
        {"nonsense\r\n\r\n", "400 Bad Request"},
    };
    struct world world;
    world_start(&world, /* options */ NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect(&world, cases[i].text, cases[i].part);
    }
    post(
        &world, "/v2/repository/index", "{}",
        "\"name\":\"types\",\"version\":\"1\",\"state\":\"READY\"");
    post(&world, "/v2/repository/models/x/load", "", "no repository to load from");
    post(&world, "/v2/repository/index", "[]", "not a JSON object");
    world_stop(&world);
}

static void responses_have_a_date_and_those_without_a_body_no_length(ATTR_UNUSED void **state)
{
    struct world world;
    world_start(&world, /* options */ NULL);
    char *reply = world_ask(&world, "OPTIONS /v2" END, strlen("OPTIONS /v2" END));
    const char *date = strstr(reply, "\r\nDate: ");
    assert_null(strstr(reply, "Content-Length"));
    assert_non_null(date);
    assert_string_equal(reply + strlen(reply) - 4, "\r\n\r\n");
    date += strlen("\r\nDate: ");
    bool is_now = false;
    struct timespec now; /* Not time(), which may be a tick behind the clock that servers read. */
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    for (time_t at = now.tv_sec - WORLD_LIMIT_S; at <= now.tv_sec; at++) {
        char text[64];
        struct tm parts;
        assert_non_null(gmtime_r(&at, &parts));
        assert_true(strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT\r\n", &parts) > 0);
        is_now = is_now || strncmp(date, text, strlen(text)) == 0;
    }
    assert_true(is_now);
    free(reply);
    expect(&world, "GET /v2/health/live" END, "\r\nContent-Length: ");
    world_stop(&world);
}

static void errors_keep_the_letters_of_their_language(ATTR_UNUSED void **state)
{
    struct world world;
    world_start(&world, /* options */ NULL);
    expect(&world, "GET /v2/models/Gr%C3%BC%C3%9Fe" END, "there is no model 'Grüße'");
    expect(&world, "GET /v2/models/a%22b%FF" END, "there is no model 'a\\\"b?'");
    world_stop(&world);
}

static void inference_gives_back_what_it_got(ATTR_UNUSED void **state)
{
    struct world world;
    world_start(&world, /* options */ NULL);
    post(
        &world, "/v2/models/echo/infer",
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[3],\"datatype\":\"FP32\",\"data\":[1,2.5,-3]}]}",
        "\"shape\":[3],\"data\":[1,2.5,-3]}]}");
    post(
        &world, "/v2/models/hops/infer",
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[7]}]}",
        "\"data\":[7]");
    post(
        &world, "/v2/models/text/infer",
        "{\"inputs\":[{\"name\":\"text\",\"shape\":[1],\"datatype\":\"BYTES\",\"data\":[\"a\"]}]}",
        "\"data\":[\"a\"]");
    post(
        &world, "/v2/models/fail/infer",
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[7]}]}",
        "the job failed: task 't0': there is \\\"no face\\\" in it");
    post(
        &world, "/v2/models/slow/infer",
        "{\"parameters\":{\"timeout\":20000},\"inputs\":[{\"name\":\"x\",\"shape\":[1],"
        "\"datatype\":\"FP32\",\"data\":[7]}]}",
        "504 Gateway Timeout");
    post(&world, "/v2/models/echo/infer", "{", "400 Bad Request");
    /* Type and shape of results are known now. */
    expect(&world, "GET /v2/models/echo" END, "\"outputs\":[{\"name\":\"x\",\"datatype\":\"FP32\"");
    world_stop(&world);
}

static void bytes_come_back_as_bytes(ATTR_UNUSED void **state)
{
    static const char json[] =
        "{\"parameters\":{\"binary_data_output\":true},\"inputs\":[{\"name\":\"x\",\"shape\":[2],"
        "\"datatype\":\"FP32\",\"parameters\":{\"binary_data_size\":8}}]}";
    char text[1024];
    struct world world;
    world_start(&world, /* options */ NULL);
    const int length = snprintf(
        text, sizeof(text),
        "POST /v2/models/echo/infer HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
        "Inference-Header-Content-Length: %zu\r\nContent-Length: %zu\r\n\r\n%sABCDEFGH",
        sizeof(json) - 1, sizeof(json) - 1 + 8, json);
    char *reply = world_ask(&world, text, (size_t)length);
    assert_non_null(strstr(reply, "200 OK"));
    assert_non_null(strstr(reply, "Inference-Header-Content-Length: "));
    assert_string_equal(reply + strlen(reply) - 8, "ABCDEFGH");
    free(reply);
    world_stop(&world);
}

static void deadlines_have_a_bound(ATTR_UNUSED void **state)
{
    static const struct {
        const char *ms;
        const char *part;
    } cases[] = {
        {"60000", "200 OK"},
        {"60000.0", "200 OK"},
        {"60000.1234567", "200 OK"},
        {"1125899906", "200 OK"},
        {"1125899906.9", "400 Bad Request"},
        {"1125899907", "400 Bad Request"},
        {"4294967295", "400 Bad Request"},
        {"18446744073709551615", "400 Bad Request"},
        {"99999999999999999999999", "400 Bad Request"},
        {"0", "400 Bad Request"},
        {"0.0000001", "400 Bad Request"},
        {"5.", "400 Bad Request"},
        {".5", "400 Bad Request"},
        {"5.5.5", "400 Bad Request"},
        {"1e3", "400 Bad Request"},
        {"-1", "400 Bad Request"},
        {"soon", "x-slo-ms is not a number of milliseconds"},
    };
    static const char body[] =
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[7]}]}";
    struct world world;
    world_start(&world, /* options */ NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[512];
        (void)snprintf(
            text, sizeof(text),
            "POST /v2/models/echo/infer HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
            "x-slo-ms: %s\r\nContent-Length: %zu\r\n\r\n%s",
            cases[i].ms, sizeof(body) - 1, body);
        expect(&world, text, cases[i].part);
    }
    post(
        &world, "/v2/models/echo/infer",
        "{\"parameters\":{\"timeout\":1125899906842},\"inputs\":[{\"name\":\"x\",\"shape\":[1],"
        "\"datatype\":\"FP32\",\"data\":[7]}]}",
        "200 OK");
    post(
        &world, "/v2/models/echo/infer", "{\"parameters\":{\"timeout\":4700000000000000}}",
        "400 Bad Request");
    world_stop(&world);
}

/* Long texts that come as bytes are checked on another thread. */
static void long_texts_are_checked_elsewhere(ATTR_UNUSED void **state)
{
    enum { TEXT_BYTES = 100000, HEAD_BYTES = 512 };
    static const struct {
        uint32_t length; /* As the text says itself. */
        const char *part;
    } cases[] = {
        {TEXT_BYTES - 4, "200 OK"},
        {TEXT_BYTES - 3, "the lengths of its texts do not add up"},
        {7, "the lengths of its texts do not add up"},
    };
    static const char json[] =
        "{\"inputs\":[{\"name\":\"text\",\"shape\":[1],\"datatype\":\"BYTES\","
        "\"parameters\":{\"binary_data_size\":100000}}]}";
    char *text = malloc(HEAD_BYTES + TEXT_BYTES);
    struct world world;
    world_start(&world, /* options */ NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const int head = snprintf(
            text, HEAD_BYTES,
            "POST /v2/models/text/infer HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
            "Inference-Header-Content-Length: %zu\r\nContent-Length: %zu\r\n\r\n%s",
            sizeof(json) - 1, sizeof(json) - 1 + TEXT_BYTES, json);
        (void)memset(text + head, 'a', TEXT_BYTES);
        (void)memcpy(text + head, &cases[i].length, sizeof(cases[i].length));
        char *reply = world_ask(&world, text, (size_t)head + TEXT_BYTES);
        assert_non_null(strstr(reply, cases[i].part));
        free(reply);
    }
    free(text);
    world_stop(&world);
}

/* A megabyte of numbers is read, and written, on another thread. */
static void long_json_is_read_elsewhere(ATTR_UNUSED void **state)
{
    enum { COUNT = 100000 };
    char *body = malloc(COUNT * 8 + 256);
    struct world world;
    size_t length = (size_t)snprintf(
        body, 128, "{\"inputs\":[{\"name\":\"x\",\"shape\":[%d],\"datatype\":\"FP32\",\"data\":[",
        COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        length += (size_t)snprintf(body + length, 16, "%s%u", i == 0 ? "" : ",", i);
    }
    (void)snprintf(body + length, 8, "]}]}");
    world_start(&world, /* options */ NULL);
    post(&world, "/v2/models/echo/infer", body, ",99998,99999]}]}");
    world_stop(&world);
    free(body);
}

static void requests_sent_ahead_are_answered_in_order(ATTR_UNUSED void **state)
{
    static const char text[] =
        "GET /v2/health/live" GO "GET /v2/models/none1" GO
        "POST /v2/models/echo/infer HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
        "2e\r\n{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\r\n"
        "18\r\n\"FP32\",\"data\":[12345]}]}\r\n0\r\n\r\n"
        "GET /v2/models/none2" GO "GET /v2/models/none3" END;
    struct world world;
    world_start(&world, /* options */ NULL);
    char *reply = world_ask(&world, text, sizeof(text) - 1);
    const char *first = strstr(reply, "none1");
    const char *second = strstr(reply, "12345");
    const char *third = strstr(reply, "none2");
    const char *last = strstr(reply, "none3");
    if (first == NULL || second == NULL || third == NULL || last == NULL) {
        fail_msg("%s", reply);
    }
    assert_true(first < second);
    assert_true(second < third);
    assert_true(third < last);
    free(reply);
    world_stop(&world);
}

static void *talk_often(void *argument)
{
    const struct client *client = argument;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        const bool leaves = i % 5 == 4; /* Without waiting for an answer. */
        const int descriptor = world_dial(client->world);
        if (!world_say(descriptor, client->text, client->length)) {
            abort();
        }
        char *reply = leaves ? NULL : world_hear(descriptor, /* count_out */ NULL);
        if (!leaves && strstr(reply, "\"data\":[5]") == NULL) {
            abort();
        }
        free(reply);
        (void)close(descriptor);
    }
    return NULL;
}

static void *drain_after(void *argument)
{
    struct client *clients = argument;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        (void)pthread_join(clients[i].thread, NULL);
    }
    runtime_stop(clients[0].world->cluster.runtime);
    return NULL;
}

static void many_clients_come_and_go(ATTR_UNUSED void **state)
{
    static const char body[] =
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[5]}]}";
    char text[512];
    struct world world;
    struct client clients[CLIENTS];
    pthread_t waiter;
    const int length = snprintf(
        text, sizeof(text),
        "POST /v2/models/echo/infer HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
        "Content-Length: %zu\r\n\r\n%s",
        sizeof(body) - 1, body);
    world_start(&world, /* options */ NULL);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client){.world = &world, .text = text, .length = (size_t)length};
        assert_int_equal(pthread_create(&clients[i].thread, NULL, talk_often, &clients[i]), 0);
    }
    assert_int_equal(pthread_create(&waiter, NULL, drain_after, clients), 0);
    runtime_run(world.cluster.runtime);
    (void)pthread_join(waiter, NULL);
    server_drain(world.server); /* What was left behind ends, and nothing is held. */
    if (!world.has_drained) {
        runtime_run(world.cluster.runtime);
    }
    assert_true(world.has_drained);
    assert_int_equal(server_open_count(world.server), 0);
    assert_int_equal(runtime_counts(world.cluster.runtime).tensors, 0);
    world_stop(&world);
}

/* Stop the loop once the server has what was sent. */
static void stop_when_open(void *context)
{
    struct world *world = context;
    struct runtime *runtime = world->cluster.runtime;
    if (server_open_count(world->server) > 0) {
        runtime_stop(runtime);
    } else {
        runtime_call_at(
            runtime, runtime_now_ns(runtime) + INT64_C(10000000), /* background */ false,
            stop_when_open, world);
    }
}

/* A server that is stopped in the middle of things leaves nothing behind. */
static void stopping_forgets_what_is_open(ATTR_UNUSED void **state)
{
    static const char text[] =
        "POST /v2/models/slow/infer HTTP/1.1\r\nHost: h\r\nx-slo-ms: 60000\r\n"
        "Content-Length: 75\r\n\r\n"
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[5555]}]}    ";
    struct world world;
    world_start(&world, /* options */ NULL);
    const int descriptor = world_dial(&world);
    assert_int_equal(send(descriptor, text, sizeof(text) - 1, 0), sizeof(text) - 1);
    stop_when_open(&world);
    runtime_run(world.cluster.runtime);
    assert_int_equal(server_open_count(world.server), 1);
    world_stop(&world);
    (void)close(descriptor);
}

static void what_cannot_be_had_is_said(ATTR_UNUSED void **state)
{
    struct world world;
    struct weft_error error;
    world_start(&world, /* options */ NULL);
    struct server *other = NULL;
    struct server_options options = {
        .runtime = world.cluster.runtime,
        .fleet = world.cluster.fleet,
        .catalogue = world.cluster.catalogue,
        .http = server_http_address(world.server),
    };
    assert_int_equal(server_start(&options, &other, &error), WEFT_IO);
    assert_non_null(strstr(error.message, "address already in use"));
    options.http = "here";
    assert_int_equal(server_start(&options, &other, &error), WEFT_INVALID);
    assert_string_equal(error.message, "'here' is not an address: say HOST:PORT");
    options.http = "127.0.0.1:0";
    options.tls_certificate = "no/such.pem";
    assert_int_equal(server_start(&options, &other, &error), WEFT_INVALID);
    assert_string_equal(error.message, "TLS needs both a certificate and a key");
    options.tls_key = "no/such.key";
    assert_int_equal(server_start(&options, &other, &error), WEFT_INVALID);
    assert_non_null(strstr(error.message, "no/such.pem: no certificate"));
    options.tls_certificate = NULL;
    options.tls_key = NULL;
    options.access.token_file = "no/such.token";
    assert_int_equal(server_start(&options, &other, &error), WEFT_IO);
    assert_non_null(strstr(error.message, "no/such.token"));
    world_stop(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resources_answer),
        cmocka_unit_test(responses_have_a_date_and_those_without_a_body_no_length),
        cmocka_unit_test(errors_keep_the_letters_of_their_language),
        cmocka_unit_test(inference_gives_back_what_it_got),
        cmocka_unit_test(bytes_come_back_as_bytes),
        cmocka_unit_test(deadlines_have_a_bound),
        cmocka_unit_test(long_texts_are_checked_elsewhere),
        cmocka_unit_test(long_json_is_read_elsewhere),
        cmocka_unit_test(requests_sent_ahead_are_answered_in_order),
        cmocka_unit_test(many_clients_come_and_go),
        cmocka_unit_test(stopping_forgets_what_is_open),
        cmocka_unit_test(what_cannot_be_had_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
