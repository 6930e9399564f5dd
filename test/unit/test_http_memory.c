/*
 * What the server does when there is no memory. calloc() is replaced by one that fails on
 * demand: see --wrap in test/CMakeLists.txt.
 *
 * Covers: src/server/http.c src/server/http_sweep.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "server/http_inside.h"
#include "serving/world.h"

enum { CLIENTS = 20 };

#define LAST " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"

static atomic_int failures; /* That are still to come. */

/* Under the names that the linker gives to what it has replaced. */
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
    if (size == sizeof(struct connection) && atomic_load(&failures) > 0) {
        (void)atomic_fetch_sub(&failures, 1);
        return NULL;
    }
    return __real_calloc(count, size);
}

static void dial_and_ask(struct world *world, void *context)
{
    uint32_t *answered = context;
    int descriptors[CLIENTS];
    for (uint32_t i = 0; i < CLIENTS; i++) {
        descriptors[i] = world_dial(world);
        (void)world_say(descriptors[i], "GET /v2" LAST, strlen("GET /v2" LAST));
    }
    for (uint32_t i = 0; i < CLIENTS; i++) {
        char *reply = world_hear(descriptors[i], /* count_out */ NULL);
        *answered += strstr(reply, "\"name\":\"weft\"") != NULL ? 1 : 0;
        free(reply);
        (void)close(descriptors[i]);
    }
}

static void a_connection_without_memory_is_accepted_later(ATTR_UNUSED void **state)
{
    struct world world;
    uint32_t answered = 0;
    world_start(&world, /* options */ NULL);
    for (int count = 1; count <= 3; count++) {
        atomic_store(&failures, count);
        answered = 0;
        world_run(&world, dial_and_ask, &answered);
        assert_int_equal(answered, CLIENTS);
        assert_int_equal(atomic_load(&failures), 0);
    }
    world_stop(&world);
}

/* It can be stopped while one waits. */
static void a_server_without_memory_can_be_stopped(ATTR_UNUSED void **state)
{
    struct world world;
    world_start(&world, /* options */ NULL);
    atomic_store(&failures, 1000000);
    const int descriptor = world_dial(&world);
    runtime_stop(world.cluster.runtime);
    runtime_run(world.cluster.runtime);
    world_stop(&world);
    atomic_store(&failures, 0);
    (void)close(descriptor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_without_memory_is_accepted_later),
        cmocka_unit_test(a_server_without_memory_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
