/*
 * Clients that leave: while they are answered, while they wait, with more sent ahead than
 * was read. The server goes on, and nothing of theirs is held.
 *
 * Covers: src/runtime/loop.c src/server/http.c src/server/http_write.c src/server/infer.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/memory.h"
#include "model/catalogue.h"
#include "server/server_inside.h"
#include "serving/world.h"

enum { ROUNDS = 40, LARGE_FLOATS = 2000000, JSON_BYTES_MAX = 512 };

#define GO   " HTTP/1.1\r\nHost: h\r\n\r\n"
#define LAST " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"

static bool is_quiet(const struct world *world)
{
    return server_is_drained(world->server);
}

/* Everything that clients left behind is gone, and others are answered. */
static void check_well(struct world *world)
{
    char *reply = world_ask(world, "GET /v2" LAST, strlen("GET /v2" LAST));
    assert_non_null(strstr(reply, "\"name\":\"weft\""));
    free(reply);
    server_drain(world->server);
    if (!world->has_drained) {
        runtime_run(world->cluster.runtime);
    }
    assert_true(is_quiet(world));
    assert_int_equal(runtime_counts(world->cluster.runtime).tensors, 0);
    world_stop(world);
}

/* Leave at once, with what the server has said unread: it hears of it by a reset. */
static void drop(int descriptor)
{
    const struct linger at_once = {.l_onoff = 1};
    (void)setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    (void)close(descriptor);
}

/* A request that is answered with megabytes. */
static char *large_request(size_t *count_out)
{
    char json[JSON_BYTES_MAX];
    char head[JSON_BYTES_MAX];
    const size_t data_bytes = LARGE_FLOATS * sizeof(float);
    const int json_bytes = snprintf(
        json, sizeof(json),
        "{\"parameters\":{\"binary_data_output\":true},\"inputs\":[{\"name\":\"x\",\"shape\":[%d],"
        "\"datatype\":\"FP32\",\"parameters\":{\"binary_data_size\":%zu}}]}",
        LARGE_FLOATS, data_bytes);
    const int head_bytes = snprintf(
        head, sizeof(head),
        "POST /v2/models/echo/infer HTTP/1.1\r\nHost: h\r\n"
        "Inference-Header-Content-Length: %d\r\nContent-Length: %zu\r\n\r\n",
        json_bytes, (size_t)json_bytes + data_bytes);
    *count_out = (size_t)head_bytes + (size_t)json_bytes + data_bytes;
    char *text = memory_zeroed(1, *count_out);
    (void)memcpy(text, head, (size_t)head_bytes);
    (void)memcpy(text + head_bytes, json, (size_t)json_bytes);
    return text;
}

static void leave_large_answers(struct world *world, void *context)
{
    size_t count = 0;
    char *text = large_request(&count);
    (void)context;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        char some[100];
        const int descriptor = world_dial(world);
        if (!world_say(descriptor, text, count) || recv(descriptor, some, sizeof(some), 0) <= 0) {
            abort();
        }
        if (i % 2 == 0) {
            drop(descriptor);
        } else {
            (void)close(descriptor);
        }
    }
    free(text);
}

static void a_client_that_leaves_during_a_large_answer_harms_no_other(ATTR_UNUSED void **state)
{
    struct world world;
    world_start(&world, /* options */ NULL);
    world_run(&world, leave_large_answers, /* context */ NULL);
    check_well(&world);
}

static void leave_after(struct world *world, void *context)
{
    const char *text = context;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        const int descriptor = world_dial(world);
        (void)world_say(descriptor, text, strlen(text)); /* It may have been dropped. */
        if (i % 2 == 0) {
            drop(descriptor);
        } else {
            (void)close(descriptor);
        }
    }
}

static void a_client_that_leaves_before_its_answer_harms_no_other(ATTR_UNUSED void **state)
{
    char ahead[200 * sizeof("GET /v2" GO)] = "";
    struct world world;
    for (uint32_t i = 0; i < 200; i++) {
        (void)memcpy(ahead + i * strlen("GET /v2" GO), "GET /v2" GO, sizeof("GET /v2" GO));
    }
    world_start(&world, /* options */ NULL);
    world_run(&world, leave_after, (void *)(uintptr_t) "GET /v2" GO "GET /v2" GO);
    world_run(&world, leave_after, ahead);
    check_well(&world);
}

static void a_client_that_leaves_without_a_token_harms_no_other(ATTR_UNUSED void **state)
{
    struct world world;
    world_start_with_token(&world);
    world_run(&world, leave_after, (void *)(uintptr_t) "GET /v2" GO "GET /v2" GO "GET /v2" GO);
    char *reply = world_ask(&world, "GET /v2/health/live" LAST, strlen("GET /v2/health/live" LAST));
    assert_non_null(strstr(reply, "200 OK"));
    free(reply);
    world_stop(&world);
}

/* A job of 0.3 s, with so much sent behind it that the server stops reading, and no more. */
static void leave_jobs(struct world *world, void *context)
{
    static const char body[] =
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[7]}]}";
    static char text[JSON_BYTES_MAX + 20000];
    const bool *is_half = context;
    size_t length = (size_t)snprintf(
        text, sizeof(text),
        "POST /v2/models/slow/infer HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n%s",
        sizeof(body) - 1, body);
    while (length < sizeof(text) - sizeof("GET /v2" GO)) {
        (void)memcpy(text + length, "GET /v2" GO, sizeof("GET /v2" GO));
        length += strlen("GET /v2" GO);
    }
    int descriptors[ROUNDS];
    for (uint32_t i = 0; i < ROUNDS; i++) {
        descriptors[i] = world_dial(world);
        if (!world_say(descriptors[i], text, length)) {
            abort();
        }
        if (*is_half && shutdown(descriptors[i], SHUT_WR) != 0) {
            abort();
        }
    }
    for (uint32_t i = 0; i < ROUNDS; i++) {
        if (*is_half) {
            free(world_hear(descriptors[i], /* count_out */ NULL)); /* Until it hangs up too. */
        }
        (void)close(descriptors[i]);
    }
}

static uint32_t find_workflow(const struct world *world, const char *name)
{
    uint32_t index = 0;
    while (strcmp(world->cluster.catalogue->workflows[index]->name, name) != 0) {
        index++;
    }
    return index;
}

static const struct tally_counts *slow_counts(const struct world *world)
{
    return metrics_workflow(world->server->metrics, find_workflow(world, "slow"))->tally;
}

static bool have_all_ended(const struct world *world)
{
    return tally_open(slow_counts(world)) == 0 &&
           tally_completed(slow_counts(world)) + tally_cancelled(slow_counts(world)) == ROUNDS;
}

static void check_cancelled(bool is_half)
{
    struct world world;
    world_start(&world, /* options */ NULL);
    world_run(&world, leave_jobs, &is_half);
    assert_true(world_run_until(&world, have_all_ended));
    /* Some may have run meanwhile; if it was not noticed, it would be all. */
    assert_true(tally_cancelled(slow_counts(&world)) >= ROUNDS / 2);
    assert_true(world_run_until(&world, is_quiet));
    assert_int_equal(server_open_count(world.server), 0);
    assert_int_equal(runtime_counts(world.cluster.runtime).tensors, 0);
    world_stop(&world);
}

static void jobs_of_those_who_left_are_cancelled_whatever_they_sent_ahead(ATTR_UNUSED void **state)
{
    check_cancelled(/* is_half */ false);
}

static void and_so_are_those_of_clients_that_close_their_half(ATTR_UNUSED void **state)
{
    check_cancelled(/* is_half */ true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_that_leaves_during_a_large_answer_harms_no_other),
        cmocka_unit_test(a_client_that_leaves_before_its_answer_harms_no_other),
        cmocka_unit_test(a_client_that_leaves_without_a_token_harms_no_other),
        cmocka_unit_test(jobs_of_those_who_left_are_cancelled_whatever_they_sent_ahead),
        cmocka_unit_test(and_so_are_those_of_clients_that_close_their_half),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
