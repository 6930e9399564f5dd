/*
 * Clients that ask the repository for something and do not wait for it, and a repository
 * that answers when it likes.
 *
 * Covers: src/server/repository.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/error.h"
#include "server/server_inside.h"
#include "serving/world.h"

enum { ASKED_MAX = 16 };

/* A repository that keeps those who ask waiting. */
struct keeper {
    uint32_t asked_count;
    server_changed changed[ASKED_MAX];
    void *askers[ASKED_MAX];
    char names[ASKED_MAX][NAME_BYTES_MAX];
    uint32_t unloaded;
};

static struct keeper keeper;

static void keep(void *context, const char *name, server_changed changed, void *asker)
{
    struct keeper *kept = context;
    assert_true(kept->asked_count < ASKED_MAX);
    kept->changed[kept->asked_count] = changed;
    kept->askers[kept->asked_count] = asker;
    (void)snprintf(kept->names[kept->asked_count], NAME_BYTES_MAX, "%s", name);
    kept->asked_count++;
}

static enum weft_status unload(void *context, const char *name, struct weft_error *error)
{
    ((struct keeper *)context)->unloaded++;
    return strcmp(name, "none") == 0 ? error_set(error, WEFT_NOT_FOUND, "no 'none'") : WEFT_OK;
}

static void start(struct world *world)
{
    const struct server_options options = {
        .repository = {.context = &keeper, .load = keep, .unload = unload}};
    keeper = (struct keeper){.asked_count = 0};
    world_start(world, &options);
}

#define LOAD                                                                                       \
    "POST /v2/repository/models/a/load HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n"               \
    "Connection: close\r\n\r\n{}"

static bool has_asked(const struct world *world)
{
    (void)world;
    return keeper.asked_count > 0;
}

static bool is_alone(const struct world *world)
{
    return http_server_counts(world->server->http).open == 0;
}

static void who_left_is_forgotten_when_the_repository_answers(ATTR_UNUSED void **state)
{
    static const enum weft_status outcomes[] = {WEFT_OK, WEFT_NOT_FOUND, WEFT_INVALID};
    for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
        struct world world;
        start(&world);
        const int descriptor = world_dial(&world);
        assert_true(world_say(descriptor, LOAD, strlen(LOAD)));
        assert_true(world_run_until(&world, has_asked));
        assert_string_equal(keeper.names[0], "a");
        (void)close(descriptor);
        assert_true(world_run_until(&world, is_alone));
        keeper.changed[0](keeper.askers[0], outcomes[i], "because"); /* No client is told. */
        world_stop(&world);
    }
}

/* The server ends first; the repository answers when it ends too. */
static void the_server_may_end_before_the_repository_answers(ATTR_UNUSED void **state)
{
    struct world world;
    start(&world);
    const int descriptor = world_dial(&world);
    assert_true(world_say(descriptor, LOAD, strlen(LOAD)));
    assert_true(world_run_until(&world, has_asked));
    server_stop(world.server);
    keeper.changed[0](keeper.askers[0], WEFT_OK, "");
    echo_stop(&world.cluster);
    (void)close(descriptor);
}

static void leave_halfway(struct world *world, void *context)
{
    const char *text = context;
    const int descriptor = world_dial(world);
    (void)world_say(descriptor, text, strlen(text));
    (void)close(descriptor);
}

static void who_leaves_before_its_body_is_there_asks_nothing(ATTR_UNUSED void **state)
{
    static char text[] =
        "POST /v2/repository/models/a/load HTTP/1.1\r\nHost: h\r\nContent-Length: 50\r\n\r\n{";
    struct world world;
    start(&world);
    world_run(&world, leave_halfway, text);
    assert_true(world_run_until(&world, is_alone));
    assert_int_equal(keeper.asked_count, 0);
    world_stop(&world);
}

static void answers_come_when_the_change_is_made(ATTR_UNUSED void **state)
{
    static const struct {
        enum weft_status status;
        const char *message;
        const char *part;
    } cases[] = {
        {WEFT_OK, "", "HTTP/1.1 200 "},
        {WEFT_OK, "{\"edition\":7}", "HTTP/1.1 200 "},
        {WEFT_NOT_FOUND, "because", "HTTP/1.1 404 "},
        {WEFT_INVALID, "because", "HTTP/1.1 400 "},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world world;
        start(&world);
        const int descriptor = world_dial(&world);
        assert_true(world_say(descriptor, LOAD, strlen(LOAD)));
        assert_true(world_run_until(&world, has_asked));
        keeper.changed[0](keeper.askers[0], cases[i].status, cases[i].message);
        char reply[1024] = "";
        assert_true(read(descriptor, reply, sizeof(reply) - 1) > 0);
        assert_non_null(strstr(reply, cases[i].part));
        assert_non_null(strstr(reply, cases[i].message));
        assert_int_equal(
            strstr(reply, "Content-Length: 0\r\n") != NULL, cases[i].message[0] == '\0');
        (void)close(descriptor);
        world_stop(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_left_is_forgotten_when_the_repository_answers),
        cmocka_unit_test(the_server_may_end_before_the_repository_answers),
        cmocka_unit_test(who_leaves_before_its_body_is_there_asks_nothing),
        cmocka_unit_test(answers_come_when_the_change_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
