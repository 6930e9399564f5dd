/*
 * What one client may have, so that others have something: connections, bytes in flight,
 * time, and nothing at all without the token.
 *
 * Covers: src/server/http.c src/server/http_clients.c src/server/http_sweep.c
 * src/server/http_turn.c src/server/http_process.c src/server/infer.c src/server/infer_receive.c
 * src/server/routes.c
 */
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
#include "base/memory.h"
#include "server/http_inside.h"
#include "server/server_inside.h"
#include "serving/world.h"

enum { HEAD_BYTES_MAX = 1024, MEGABYTE = 1000000 };

#define LAST   " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
#define HEALTH "GET /v2/health/live" LAST
#define ABOUT  "GET /v2" LAST

/* A request of text or bytes, and where it comes from. */
struct request {
    char *text;
    size_t count;
    uint8_t from; /* 127.0.0.from; 0: any. */
    char *reply;
};

static void ask(struct world *world, void *context)
{
    struct request *request = context;
    const int descriptor = world_dial_from(world, request->from);
    (void)world_say(descriptor, request->text, request->count); /* A refusal may come first. */
    request->reply = world_hear(descriptor, /* count_out */ NULL);
    (void)close(descriptor);
}

/* Ask, and expect an answer that has @part in it. */
static void expect(struct world *world, struct request *request, const char *part)
{
    world_run(world, ask, request);
    if (strstr(request->reply, part) == NULL) {
        fail_msg("no '%s' in: %.400s", part, request->reply);
    }
    free(request->reply);
}

static void expect_text(struct world *world, uint8_t from, const char *text, const char *part)
{
    struct request request = {.text = (char *)(uintptr_t)text, .count = strlen(text), .from = from};
    expect(world, &request, part);
}

/* An image of @bytes, a multiple of 3, in bytes; the answer is wanted as @is_binary says. */
static struct request image(size_t bytes, bool is_binary)
{
    char json[256];
    struct request request = {.text = memory_zeroed(1, HEAD_BYTES_MAX + bytes)};
    const int json_bytes = snprintf(
        json, sizeof(json),
        "{\"parameters\":{\"binary_data_output\":%s},\"inputs\":[{\"name\":\"pixels\","
        "\"shape\":[1,%zu,3],\"datatype\":\"UINT8\",\"parameters\":{\"binary_data_size\":%zu}}]}",
        is_binary ? "true" : "false", bytes / 3, bytes);
    request.count = (size_t)snprintf(
        request.text, HEAD_BYTES_MAX,
        "POST /v2/models/image/infer HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
        "Inference-Header-Content-Length: %d\r\nContent-Length: %zu\r\n\r\n%s",
        json_bytes, (size_t)json_bytes + bytes, json);
    (void)memset(request.text + request.count, 200, bytes);
    request.count += bytes;
    return request;
}

static void a_token_is_neither_longer_nor_shorter(ATTR_UNUSED void **state)
{
    static const struct {
        const char *given;
        const char *part;
    } cases[] = {
        {"Authorization: Bearer secret\r\n", "200 OK"},
        {"authorization: bearer secret\r\n", "200 OK"},
        {"", "401 Unauthorized"},
        {"Authorization: Bearer secret2\r\n", "401 Unauthorized"},
        {"Authorization: Bearer secret secret\r\n", "401 Unauthorized"},
        {"Authorization: Bearer secre\r\n", "401 Unauthorized"},
        {"Authorization: Bearer Secret\r\n", "401 Unauthorized"},
        {"Authorization: Bearer \r\n", "401 Unauthorized"},
        {"Authorization: secret\r\n", "401 Unauthorized"},
        {"Authorization: Basic secret\r\n", "401 Unauthorized"},
        {"Authorization: Bearer\tsecret\r\n", "401 Unauthorized"},
    };
    struct world world;
    world_start_with_token(&world);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[256];
        (void)snprintf(
            text, sizeof(text), "GET /v2 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n%s\r\n",
            cases[i].given);
        expect_text(&world, /* from */ 0, text, cases[i].part);
    }
    expect_text(&world, /* from */ 0, HEALTH, "200 OK");
    world_stop(&world);
}

static void what_was_held_is_given_back(ATTR_UNUSED void **state)
{
    const struct server_options options = {.limits = {.held_bytes_max = 2 * MEGABYTE}};
    struct world world;
    struct request request = image(MEGABYTE / 2 / 3 * 3, /* is_binary */ true);
    world_start(&world, &options);
    for (uint32_t i = 0; i < 20; i++) {
        expect(&world, &request, "200 OK");
    }
    /* Refused ones too. */
    struct request wrong = image(MEGABYTE / 2 / 3 * 3, /* is_binary */ true);
    char *name = strstr(wrong.text, "pixels");
    (void)memcpy(name, "pixxls", 6);
    for (uint32_t i = 0; i < 20; i++) {
        expect(&world, &wrong, "400 Bad Request");
    }
    expect(&world, &request, "200 OK");
    free(request.text);
    free(wrong.text);
    world_stop(&world);
}

/* Of numbers in JSON an answer is four times as long as what was asked. */
static void answers_count_like_requests(ATTR_UNUSED void **state)
{
    const struct server_options options = {
        .limits = {.held_bytes_max = 8 * MEGABYTE, .address_held_bytes_max = 4 * MEGABYTE}};
    struct world world;
    struct request request = image(MEGABYTE / 3 * 3, /* is_binary */ false);
    world_start(&world, &options);
    expect(&world, &request, "HTTP/1.1 500 ");
    request.from = 2;
    expect(&world, &request, "the answer takes up to 5");
    free(request.text);
    request = image(MEGABYTE / 2 / 3 * 3, /* is_binary */ false);
    expect(&world, &request, "HTTP/1.1 200 OK");
    free(request.text);
    world_stop(&world);
}

/* "0," is two bytes, and four of a number. */
static void tensors_made_from_json_count_too(ATTR_UNUSED void **state)
{
    enum { COUNT = MEGABYTE };
    const struct server_options options = {
        .limits = {.held_bytes_max = 5 * MEGABYTE, .address_held_bytes_max = 5 * MEGABYTE}};
    struct world world;
    struct request request = {.text = memory_zeroed(1, HEAD_BYTES_MAX + 2 * (size_t)COUNT)};
    char json[128];
    const int json_bytes = snprintf(
        json, sizeof(json),
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[%d],\"datatype\":\"FP32\",\"data\":[0", COUNT);
    request.count = (size_t)snprintf(
        request.text, HEAD_BYTES_MAX,
        "POST /v2/models/echo/infer HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
        "Content-Length: %zu\r\n\r\n%s",
        (size_t)json_bytes + 2 * (COUNT - 1) + 4, json);
    for (uint32_t i = 1; i < COUNT; i++) {
        request.text[request.count++] = ',';
        request.text[request.count++] = '0';
    }
    (void)memcpy(request.text + request.count, "]}]}", 4);
    request.count += 4;
    world_start(&world, &options);
    expect(&world, &request, "HTTP/1.1 413 ");
    expect(&world, &request, "larger than what one client's address may have in flight");
    free(request.text);
    world_stop(&world);
}

struct holder {
    int descriptors[16];
    uint32_t count;
    uint8_t from;
    const char *text;
    size_t length;
};

/* Connect @count times and say what there is to say; leave them open. */
static void hold(struct world *world, void *context)
{
    struct holder *holder = context;
    for (uint32_t i = 0; i < holder->count; i++) {
        holder->descriptors[i] = world_dial_from(world, holder->from);
        if (!world_say(holder->descriptors[i], holder->text, holder->length)) {
            abort();
        }
    }
}

static void let_go(struct holder *holder)
{
    for (uint32_t i = 0; i < holder->count; i++) {
        (void)close(holder->descriptors[i]);
    }
}

static uint32_t open_now;

static bool has_opened(const struct world *world)
{
    return http_server_counts(world->server->http).open == open_now;
}

/* Wait until the server has exactly @count connections. */
static void await_open(struct world *world, uint32_t count)
{
    open_now = count;
    assert_true(world_run_until(world, has_opened));
}

static uint64_t bytes_expected;

static bool has_read(const struct world *world)
{
    return http_server_counts(world->server->http).bytes_in >= bytes_expected;
}

/* Let @holder send all it has, and the server read that. */
static void hold_bytes(struct world *world, struct holder *holder)
{
    bytes_expected =
        http_server_counts(world->server->http).bytes_in + (uint64_t)holder->count * holder->length;
    world_run(world, hold, holder);
    assert_true(world_run_until(world, has_read));
}

static void one_address_cannot_have_all_bytes(ATTR_UNUSED void **state)
{
    const struct server_options options = {
        .limits = {.held_bytes_max = 4 * MEGABYTE, .address_held_bytes_max = MEGABYTE}};
    struct world world;
    struct request request = image(MEGABYTE * 2 / 5 / 3 * 3, /* is_binary */ true);
    struct holder holder = {
        .count = 1, .from = 2, .text = request.text, .length = request.count - 3};
    world_start(&world, &options);
    struct request large = image(MEGABYTE * 6 / 5 / 3 * 3, /* is_binary */ true);
    expect(&world, &large, "HTTP/1.1 413 ");
    hold_bytes(&world, &holder);
    request.from = 2;
    expect(&world, &request, "HTTP/1.1 200 "); /* 0.8 MB of 1. */
    struct holder second = holder;
    hold_bytes(&world, &second);
    expect(&world, &request, "of this client's address fill its share");
    request.from = 3;
    expect(&world, &request, "HTTP/1.1 200 ");
    let_go(&holder);
    let_go(&second);
    await_open(&world, 0);
    request.from = 2;
    expect(&world, &request, "HTTP/1.1 200 "); /* Those who leave give back. */
    free(request.text);
    free(large.text);
    world_stop(&world);
}

static void all_together_have_a_bound_of_bytes(ATTR_UNUSED void **state)
{
    const struct server_options options = {
        .limits = {.held_bytes_max = MEGABYTE, .address_held_bytes_max = MEGABYTE * 2 / 3}};
    struct world world;
    struct request request = image(MEGABYTE * 3 / 5 / 3 * 3, /* is_binary */ true);
    struct holder holder = {
        .count = 1, .from = 2, .text = request.text, .length = request.count - 3};
    world_start(&world, &options);
    hold_bytes(&world, &holder);
    request.from = 3;
    expect(&world, &request, "fill the memory that is meant for them");
    let_go(&holder);
    await_open(&world, 0);
    expect(&world, &request, "HTTP/1.1 200 ");
    free(request.text);
    world_stop(&world);
}

static void one_address_cannot_have_all_connections(ATTR_UNUSED void **state)
{
    const struct server_options options = {
        .limits = {.connections_max = 5, .address_connections_max = 3}};
    struct world world;
    struct holder first = {.count = 3, .from = 2, .text = "", .length = 0};
    struct holder second = {.count = 2, .from = 3, .text = "", .length = 0};
    world_start(&world, &options);
    world_run(&world, hold, &first);
    await_open(&world, 3);
    expect_text(&world, /* from */ 2, ABOUT, "HTTP/1.1 503 ");
    expect_text(&world, /* from */ 2, ABOUT, "too many connections");
    expect_text(&world, /* from */ 2, HEALTH, "HTTP/1.1 200 ");
    expect_text(&world, /* from */ 3, ABOUT, "HTTP/1.1 200 ");
    world_run(&world, hold, &second);
    await_open(&world, 5); /* No more clients, but to ask how it is. */
    expect_text(&world, /* from */ 4, ABOUT, "HTTP/1.1 503 ");
    expect_text(&world, /* from */ 4, HEALTH, "HTTP/1.1 200 ");
    let_go(&second);
    await_open(&world, 3);
    expect_text(&world, /* from */ 4, ABOUT, "HTTP/1.1 200 ");
    expect_text(&world, /* from */ 2, ABOUT, "HTTP/1.1 503 ");
    let_go(&first);
    await_open(&world, 0);
    expect_text(&world, /* from */ 2, ABOUT, "HTTP/1.1 200 ");
    world_stop(&world);
}

/* Who fills its share, and what is above it too, leaves room for the health of others. */
static void spare_connections_have_a_bound_for_each_address(ATTR_UNUSED void **state)
{
    const struct server_options options = {
        .limits = {.connections_max = 16, .address_connections_max = 1}};
    struct world world;
    struct holder first = {.count = 1 + 8, .from = 2, .text = "", .length = 0};
    world_start(&world, &options);
    world_run(&world, hold, &first);
    await_open(&world, 1 + 8);
    expect_text(&world, /* from */ 2, "", "HTTP/1.1 503 "); /* At once. */
    expect_text(&world, /* from */ 3, ABOUT, "HTTP/1.1 200 ");
    let_go(&first);
    await_open(&world, 0);
    expect_text(&world, /* from */ 2, ABOUT, "HTTP/1.1 200 ");
    world_stop(&world);
}

static bool has_slow(const struct world *world)
{
    return http_server_counts(world->server->http).slow > 0;
}

static bool has_no_tensors(const struct world *world)
{
    return runtime_counts(world->cluster.runtime).tensors == 0;
}

/* An answer of megabytes goes to a client that reads nothing: its kernel takes a few KB. */
static void check_reader(const struct http_limits *limits)
{
    const struct server_options options = {.limits = *limits};
    struct world world;
    struct request request = image((size_t)8 * MEGABYTE / 3 * 3, /* is_binary */ true);
    struct holder holder = {.count = 1, .from = 2, .text = request.text, .length = request.count};
    world_start(&world, &options);
    world_run(&world, hold, &holder);
    assert_true(world_run_until(&world, has_slow));
    await_open(&world, 0);
    assert_true(world_run_until(&world, has_no_tensors)); /* Another thread may still write. */
    let_go(&holder);
    free(request.text);
    world_stop(&world);
}

static void what_our_own_kernel_took_is_not_read(ATTR_UNUSED void **state)
{
    /* At this rate the megabytes in the buffer of the socket would take minutes. */
    const struct http_limits limits = {.grace_ms = 200, .bytes_per_s_min = 10000};
    check_reader(&limits);
}

static void no_answer_is_held_for_ever(ATTR_UNUSED void **state)
{
    const struct http_limits limits = {.grace_ms = 100, .bytes_per_s_min = 1, .answer_ms = 300};
    check_reader(&limits);
}

/* A body that comes in drips: how many bytes, how often, and what becomes of it. */
struct drip {
    size_t bytes;
    uint32_t times;
    bool is_cut;
};

static void drip(struct world *world, void *context)
{
    static const char head[] =
        "POST /v2/models/echo/infer HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n";
    static const char blanks[1000];
    const struct timespec pause = {.tv_nsec = 5000000};
    struct drip *dripped = context;
    const int descriptor = world_dial(world);
    (void)world_say(descriptor, head, sizeof(head) - 1);
    for (uint32_t i = 0; i < dripped->times && !dripped->is_cut; i++) {
        char none;
        (void)nanosleep(&pause, NULL); /* Longer is as good. */
        dripped->is_cut = !world_say(descriptor, blanks, dripped->bytes) ||
                          recv(descriptor, &none, 1, MSG_DONTWAIT) == 0;
    }
    (void)close(descriptor);
}

static void a_slow_body_is_cut_off_by_its_rate(ATTR_UNUSED void **state)
{
    const struct server_options options = {
        .limits = {.grace_ms = 100, .bytes_per_s_min = MEGABYTE}};
    struct world world;
    struct drip slow = {.bytes = 10, .times = 1000};
    world_start(&world, &options);
    world_run(&world, drip, &slow); /* 2 KB/s at most. */
    assert_true(slow.is_cut);
    assert_int_equal(http_server_counts(world.server->http).slow, 1);
    world_stop(&world);
}

static void a_body_that_is_fast_enough_is_not(ATTR_UNUSED void **state)
{
    const struct server_options options = {.limits = {.grace_ms = 100, .bytes_per_s_min = 10}};
    struct world world;
    struct drip quick = {.bytes = 1000, .times = 150};
    world_start(&world, &options);
    world_run(&world, drip, &quick);
    assert_false(quick.is_cut);
    assert_int_equal(http_server_counts(world.server->http).slow, 0);
    world_stop(&world);
}

/* A chunk counts as soon as it says how long it is. */
static void a_chunk_that_is_too_large_is_refused_before_it_comes(ATTR_UNUSED void **state)
{
    const struct server_options options = {.limits = {.body_bytes_max = 1000, .grace_ms = 100}};
    struct world world;
    world_start(&world, &options);
    expect_text(
        &world, /* from */ 0,
        "POST /v2/models/echo/infer HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3e9\r\n{",
        "413 Content Too Large");
    world_stop(&world);
}

/* What a client has sent ahead is answered in several turns of the loop, and all of it. */
static void who_sends_many_ahead_waits_for_others(ATTR_UNUSED void **state)
{
    enum { COUNT = 40 };
    static const char one[] = "GET /v2/health/live HTTP/1.1\r\nHost: h\r\n\r\n";
    static const char last[] = "GET /v2 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    char text[COUNT * sizeof(one) + sizeof(last)] = "";
    size_t length = 0;
    struct world world;
    world_start(&world, NULL);
    for (uint32_t i = 0; i < COUNT; i++) {
        memcpy(text + length, one, sizeof(one) - 1);
        length += sizeof(one) - 1;
    }
    memcpy(text + length, last, sizeof(last));
    length += sizeof(last) - 1;
    const uint32_t before = world.server->http->turn;
    char *reply = world_ask(&world, text, length);
    assert_true(world.server->http->turn - before >= COUNT / 4);
    uint32_t answers = 0;
    for (const char *at = strstr(reply, "200 OK"); at != NULL; at = strstr(at + 1, "200 OK")) {
        answers++;
    }
    assert_int_equal(answers, COUNT + 1);
    free(reply);
    world_stop(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_sends_many_ahead_waits_for_others),
        cmocka_unit_test(a_token_is_neither_longer_nor_shorter),
        cmocka_unit_test(what_was_held_is_given_back),
        cmocka_unit_test(answers_count_like_requests),
        cmocka_unit_test(tensors_made_from_json_count_too),
        cmocka_unit_test(one_address_cannot_have_all_bytes),
        cmocka_unit_test(all_together_have_a_bound_of_bytes),
        cmocka_unit_test(one_address_cannot_have_all_connections),
        cmocka_unit_test(spare_connections_have_a_bound_for_each_address),
        cmocka_unit_test(what_our_own_kernel_took_is_not_read),
        cmocka_unit_test(no_answer_is_held_for_ever),
        cmocka_unit_test(a_slow_body_is_cut_off_by_its_rate),
        cmocka_unit_test(a_body_that_is_fast_enough_is_not),
        cmocka_unit_test(a_chunk_that_is_too_large_is_refused_before_it_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
