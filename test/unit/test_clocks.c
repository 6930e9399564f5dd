/*
 * How the clocks of several traces stand to each other.
 *
 * Covers: src/cli/clocks.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/clocks.h"

/* Clock 1 is 1000 ahead of 0; the fastest trips take 10 there and 20 back. */
static void note_pair(struct clocks *clocks)
{
    clocks_note(clocks, 0, 500, 1, 1600);
    clocks_note(clocks, 0, 600, 1, 1610);
    clocks_note(clocks, 1, 1700, 0, 720);
    clocks_note(clocks, 1, 1800, 0, 900);
}

static void the_fastest_trips_say_how_far_clocks_are_apart(void **state)
{
    (void)state;
    struct clocks clocks;
    clocks_init(&clocks, 2);
    note_pair(&clocks);
    assert_true(clocks_compare(&clocks));
    assert_int_equal(clocks.ahead_ns[0], 0);
    assert_int_equal(clocks.ahead_ns[1], 995); /* 1000 less half of what back takes longer. */
    assert_int_equal(clocks.error_ns[1], 15);
}

static void one_that_only_another_knows_is_compared_over_that(void **state)
{
    (void)state;
    struct clocks clocks;
    clocks_init(&clocks, 3);
    note_pair(&clocks);
    clocks_note(&clocks, 1, 1000, 2, 8); /* Clock 2 is 997 behind 1. */
    clocks_note(&clocks, 2, 10, 1, 1012);
    clocks_note(&clocks, 0, 0, 2, 100); /* And with 0 there was a slow trip. */
    clocks_note(&clocks, 2, 100, 0, 300);
    assert_true(clocks_compare(&clocks));
    assert_int_equal(clocks.ahead_ns[2], 995 - 997);
    assert_int_equal(clocks.error_ns[2], 15 + 5);
}

static void a_clock_that_is_known_from_one_side_is_not_known(void **state)
{
    (void)state;
    struct clocks clocks;
    clocks_init(&clocks, 2);
    clocks_note(&clocks, 0, 500, 1, 1600);
    assert_false(clocks_compare(&clocks));
    assert_false(clocks.is_known[1]);
}

static void a_clock_that_drifts_is_not_known_better_than_exactly(void **state)
{
    (void)state;
    struct clocks clocks;
    clocks_init(&clocks, 2);
    clocks_note(&clocks, 0, 0, 1, 10);
    clocks_note(&clocks, 1, 1000, 0, 900);
    assert_true(clocks_compare(&clocks));
    assert_int_equal(clocks.error_ns[1], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fastest_trips_say_how_far_clocks_are_apart),
        cmocka_unit_test(one_that_only_another_knows_is_compared_over_that),
        cmocka_unit_test(a_clock_that_is_known_from_one_side_is_not_known),
        cmocka_unit_test(a_clock_that_drifts_is_not_known_better_than_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
