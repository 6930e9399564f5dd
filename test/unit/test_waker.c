/* Covers: src/engine/waker.c */
#include "engine/waker.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "unit/thread_seen.h"

static void let_sleep(pid_t thread)
{
    while (!thread_is_asleep(thread)) {
        (void)sched_yield();
    }
}

static bool has_two(cpu_set_t *allowed_out)
{
    return sched_getaffinity(0, sizeof(*allowed_out), allowed_out) == 0 &&
           CPU_COUNT(allowed_out) > 1;
}

static void it_wakes_up_whenever_it_is_told(ATTR_UNUSED void **state)
{
    cpu_set_t allowed;
    if (!has_two(&allowed)) {
        skip();
    }
    struct waker *waker = waker_create();
    assert_non_null(waker);
    const pid_t thread = thread_called("weft-waker");
    assert_true(thread > 0);
    for (uint32_t i = 0; i < 8; i++) {
        let_sleep(thread);
        const long before = thread_sleeps(thread);
        waker_wake(waker);
        while (thread_sleeps(thread) == before) {
            (void)sched_yield();
        }
    }
    waker_destroy(waker);
    assert_true(thread_has_gone("weft-waker"));
}

static void it_ends_however_often_it_was_told(ATTR_UNUSED void **state)
{
    cpu_set_t allowed;
    if (!has_two(&allowed)) {
        skip();
    }
    struct waker *waker = waker_create();
    assert_non_null(waker);
    for (uint32_t i = 0; i < 1000; i++) {
        waker_wake(waker);
    }
    waker_destroy(waker);
    waker_destroy(NULL);
    assert_true(thread_has_gone("weft-waker"));
}

static void with_one_processor_there_is_none(ATTR_UNUSED void **state)
{
    cpu_set_t allowed;
    cpu_set_t one;
    if (!has_two(&allowed)) {
        skip();
    }
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_null(waker_create());
    assert_int_equal(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
}

static void who_waits_is_known(ATTR_UNUSED void **state)
{
    assert_false(waker_is_expected());
    waker_expect(true);
    assert_true(waker_is_expected());
    waker_expect(false);
    assert_false(waker_is_expected());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_wakes_up_whenever_it_is_told),
        cmocka_unit_test(it_ends_however_often_it_was_told),
        cmocka_unit_test(with_one_processor_there_is_none),
        cmocka_unit_test(who_waits_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
