#include "runtime/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "dies.h"

static void a_manual_clock_stands_still_until_it_is_set(ATTR_UNUSED void **state)
{
    struct clock clock;
    clock_init(&clock, CLOCK_KIND_MANUAL);
    assert_int_equal(clock_read(&clock), 0);
    clock_set(&clock, 17);
    assert_int_equal(clock.now_ns, 17);
    assert_int_equal(clock_read(&clock), 17);
    clock_set(&clock, 17);
    assert_int_equal(clock_read(&clock), 17);
}

static void a_calendar_is_read_backwards(ATTR_UNUSED void **state)
{
    struct clock clock;
    clock_init(&clock, CLOCK_KIND_MANUAL);
    assert_int_equal(clock_wall_ns(&clock, 17), 17);
    clock_init(&clock, CLOCK_KIND_REAL);
    const int64_t now_s = (int64_t)time(NULL);
    const int64_t start_s = clock_wall_ns(&clock, 0) / 1000000000;
    assert_in_range(start_s, now_s - 60, now_s + 60);
    const int64_t later_s = clock_wall_ns(&clock, INT64_C(3600000000000)) / 1000000000;
    assert_in_range(later_s - start_s, 3540, 3660);
}

static void set_back(void *clock)
{
    clock_set(clock, 4);
}

static void no_clock_goes_backwards(ATTR_UNUSED void **state)
{
    struct clock clock;
    clock_init(&clock, CLOCK_KIND_MANUAL);
    clock_set(&clock, 5);
    assert_true(dies(set_back, &clock));
    clock_init(&clock, CLOCK_KIND_REAL);
    assert_true(dies(set_back, &clock));
}

static void a_real_clock_starts_at_zero_and_moves_by_itself(ATTR_UNUSED void **state)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    struct clock clock;
    clock_init(&clock, CLOCK_KIND_REAL);
    assert_int_equal(clock.now_ns, 0);
    const int64_t before_ns = clock_read(&clock);
    assert_true(before_ns >= 0);
    (void)nanosleep(&pause, NULL);
    assert_int_equal(clock.now_ns, before_ns); /* It was not looked at. */
    assert_true(clock_read(&clock) >= before_ns + 2000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_manual_clock_stands_still_until_it_is_set),
        cmocka_unit_test(a_calendar_is_read_backwards),
        cmocka_unit_test(no_clock_goes_backwards),
        cmocka_unit_test(a_real_clock_starts_at_zero_and_moves_by_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
