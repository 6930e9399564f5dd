/* Covers: src/process/linger.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "process/short.h"

enum { SOON_MAX = 128, LATE_ONE = 8 }; /* As in linger.c. */
enum { MOST_NS = 50, SOON_NS = MOST_NS, LATE_NS = 2 * MOST_NS + 1 };

static struct process_linger linger;
static int64_t now_ns;

/* Batches end and are launched, each @pause_ns after the one before it. How often the loop was
 * awake when one ended. */
static uint32_t launch(uint32_t count, int64_t pause_ns)
{
    uint32_t awake = 0;
    for (uint32_t i = 0; i < count; i++) {
        now_ns += 1000;
        process_linger_idle(&linger, now_ns);
        awake += process_linger_lasts(&linger, now_ns) ? 1 : 0;
        now_ns += pause_ns;
        process_linger_launch(&linger, now_ns);
        assert_false(process_linger_lasts(&linger, now_ns));
    }
    return awake;
}

/* How many must come soon until the loop stays awake. */
static uint32_t needed(void)
{
    uint32_t count = 0;
    while (launch(1, SOON_NS) == 0) {
        count++;
        assert_true(count <= SOON_MAX);
    }
    return count;
}

static int setup(ATTR_UNUSED void **state)
{
    now_ns = 1;
    process_linger_init(&linger, MOST_NS);
    return 0;
}

static void it_is_awake_once_enough_have_come_soon(ATTR_UNUSED void **state)
{
    assert_int_equal(launch(LATE_ONE - 1, LATE_NS), 0);
    assert_int_equal(launch(PROCESS_SIGNS_MIN - 1, SOON_NS), 0);
    assert_int_equal(launch(1, LATE_NS), 0);
    assert_int_equal(launch(1 + LATE_ONE, SOON_NS), 0); /* To make up for the late one. */
    assert_int_equal(launch(1, SOON_NS), 1);
}

static void it_is_awake_for_a_moment(ATTR_UNUSED void **state)
{
    (void)needed();
    process_linger_idle(&linger, now_ns);
    assert_true(process_linger_lasts(&linger, now_ns + MOST_NS));
    assert_false(process_linger_lasts(&linger, now_ns + MOST_NS + 1));
}

static void what_is_launched_beside_others_says_nothing(ATTR_UNUSED void **state)
{
    (void)launch(PROCESS_SIGNS_MIN - 1, SOON_NS);
    now_ns += 1000000;
    process_linger_launch(&linger, now_ns);
    assert_int_equal(needed(), 1);
}

static void one_in_ten_may_be_late(ATTR_UNUSED void **state)
{
    (void)needed();
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(launch(1, LATE_NS), 1);
        assert_int_equal(launch(9, SOON_NS), 9);
    }
}

/* A loop that sleeps is woken first. */
static void what_wakes_it_may_take_longer(ATTR_UNUSED void **state)
{
    assert_int_equal(launch(PROCESS_SIGNS_MIN, 2 * MOST_NS), 0);
    assert_int_equal(launch(5, MOST_NS + 1), 5);
    assert_int_equal(launch(1, SOON_NS), 0); /* But not when it is awake. */
}

/* What wakes it may take longer then, however many came soon. */
static void one_that_is_to_sleep_is_never_awake(ATTR_UNUSED void **state)
{
    (void)needed();
    linger.sleeps = true;
    assert_int_equal(launch(100, 2 * MOST_NS), 0);
    assert_true(process_linger_is_steady(&linger));
    linger.sleeps = false;
    assert_int_equal(launch(100, SOON_NS), 100);
    linger.sleeps = true;
    assert_int_equal(launch(100, LATE_NS), 0);
    assert_false(process_linger_is_steady(&linger));
}

/* However long clients came soon before. */
static void one_that_sleeps_notices_that_they_do_not(ATTR_UNUSED void **state)
{
    (void)launch(100000, SOON_NS);
    linger.sleeps = true;
    (void)launch(200, LATE_NS);
    assert_false(process_linger_is_steady(&linger));
}

static void half_of_them_may_not(ATTR_UNUSED void **state)
{
    (void)needed();
    uint32_t awake = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        awake += launch(1, LATE_NS) + launch(1, SOON_NS);
    }
    assert_true(awake < 20);
}

/* A client that comes back only while the loop sleeps: it is disturbed less and less. */
static void where_it_never_lasts_it_is_tried_less(ATTR_UNUSED void **state)
{
    for (uint32_t want = PROCESS_SIGNS_MIN; want < 4 * SOON_MAX; want *= 2) {
        assert_int_equal(needed(), want < SOON_MAX ? want : SOON_MAX);
        while (launch(1, LATE_NS) == 1) {
        }
    }
    (void)needed(); /* Where it has lasted, it is tried sooner again. */
    (void)launch(4 * SOON_MAX, SOON_NS);
    while (launch(1, LATE_NS) == 1) {
    }
    assert_int_equal(needed(), SOON_MAX / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(it_is_awake_once_enough_have_come_soon, setup),
        cmocka_unit_test_setup(it_is_awake_for_a_moment, setup),
        cmocka_unit_test_setup(what_is_launched_beside_others_says_nothing, setup),
        cmocka_unit_test_setup(one_in_ten_may_be_late, setup),
        cmocka_unit_test_setup(what_wakes_it_may_take_longer, setup),
        cmocka_unit_test_setup(one_that_is_to_sleep_is_never_awake, setup),
        cmocka_unit_test_setup(one_that_sleeps_notices_that_they_do_not, setup),
        cmocka_unit_test_setup(half_of_them_may_not, setup),
        cmocka_unit_test_setup(where_it_never_lasts_it_is_tried_less, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
