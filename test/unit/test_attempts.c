/* Covers: src/client/attempts.c. */
#include "client/attempts.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/error.h"

enum { SERVERS = 3, WAITS_MAX = 20000 };

/* What a server does. */
enum act { ANSWERS, FAILS, IS_FULL, REFUSES, IS_SILENT };

struct servers {
    enum act acts[SERVERS];
    atomic_uint asked[SERVERS];
    atomic_bool speaks; /* Those that are silent answer now. */
    atomic_uint released;
};

static struct servers servers;

static void wait_ms(long ms)
{
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = ms * 1000000};
    (void)nanosleep(&pause, NULL);
}

static enum weft_status ask(
    void *context, uint32_t number, struct http_reply *reply_out, struct weft_error *error)
{
    struct servers *of = context;
    atomic_fetch_add(&of->asked[number], 1);
    while (of->acts[number] == IS_SILENT && !atomic_load(&of->speaks)) {
        wait_ms(1);
    }
    switch (of->acts[number]) {
    case FAILS:
        return error_set(error, WEFT_IO, "server %u is away", number);
    case IS_FULL:
        return error_set(error, WEFT_BUSY, "server %u is full", number);
    case REFUSES:
        return error_set(error, WEFT_FAILED, "server %u refuses", number);
    case ANSWERS:
    case IS_SILENT:
        break;
    }
    reply_out->status = 100 + number;
    reply_out->body = strdup("an answer");
    return WEFT_OK;
}

static void release(void *context)
{
    atomic_fetch_add(&((struct servers *)context)->released, 1);
}

/* Ask all, and expect @status, of server @number. */
static void check(const enum act *acts, enum weft_status status, uint32_t number)
{
    struct http_reply reply = {.body = NULL};
    struct weft_error error = {.status = WEFT_OK};
    const struct attempts attempts = {
        .count = SERVERS,
        .silence_ms = 5,
        .ask = ask,
        .release = release,
        .context = &servers,
    };
    memset(&servers, 0, sizeof(servers));
    memcpy(servers.acts, acts, sizeof(servers.acts));
    assert_int_equal(attempts_run(&attempts, &reply, &error), status);
    if (status == WEFT_OK) {
        assert_int_equal(reply.status, 100 + number);
        assert_string_equal(reply.body, "an answer");
        free(reply.body);
    } else if (status == WEFT_FAILED) {
        assert_int_equal(error.message[7], '0' + (int)number); /* "server 1 ..." */
    }
    assert_int_equal(atomic_load(&servers.asked[number]), 1);
    atomic_store(&servers.speaks, true);
    for (uint32_t i = 0; i < WAITS_MAX && atomic_load(&servers.released) == 0; i++) {
        wait_ms(1);
    }
    assert_int_equal(atomic_load(&servers.released), 1);
    for (uint32_t i = 0; i < SERVERS; i++) { /* On a slow machine more than needed may be asked. */
        assert_in_range(atomic_load(&servers.asked[i]), i <= number ? 1 : 0, 1);
    }
}

static void the_next_is_asked_when_one_fails(ATTR_UNUSED void **state)
{
    check((const enum act[]){FAILS, IS_FULL, ANSWERS}, WEFT_OK, 2);
    check((const enum act[]){FAILS, FAILS, FAILS}, WEFT_IO, 2);
}

static void the_next_is_asked_while_one_is_silent(ATTR_UNUSED void **state)
{
    check((const enum act[]){IS_SILENT, IS_SILENT, ANSWERS}, WEFT_OK, 2);
    check((const enum act[]){IS_SILENT, FAILS, ANSWERS}, WEFT_OK, 2);
}

static void a_refusal_is_the_last_word(ATTR_UNUSED void **state)
{
    check((const enum act[]){FAILS, REFUSES, FAILS}, WEFT_FAILED, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_is_asked_when_one_fails),
        cmocka_unit_test(the_next_is_asked_while_one_is_silent),
        cmocka_unit_test(a_refusal_is_the_last_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
