#include "lab/child_work.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "console/interrupt.h"

enum { COUNT = 40, FIGURES = 20000 }; /* A result larger than a pipe holds at once. */

struct result {
    uint32_t index;
    uint32_t figures[FIGURES];
};

struct ledger {
    uint32_t good[COUNT];
    char deaths[COUNT][80];
};

static void count_up(ATTR_UNUSED void *context, uint32_t index, void *result)
{
    struct result *mine = result;
    mine->index = index;
    for (uint32_t i = 0; i < FIGURES; i++) {
        mine->figures[i] = index + i;
    }
}

/* Numbers 3 and 7 do not get that far. */
static void count_or_die(void *context, uint32_t index, void *result)
{
    if (index == 3) {
        (void)raise(SIGKILL);
    }
    if (index == 7) {
        _exit(5);
    }
    count_up(context, index, result);
}

static void note(void *context, uint32_t index, const void *result, const char *death)
{
    struct ledger *ledger = context;
    const struct result *whole = result;
    assert_in_range(index, 0, COUNT - 1);
    if (result == NULL) {
        (void)snprintf(ledger->deaths[index], sizeof(ledger->deaths[index]), "%s", death);
        return;
    }
    assert_null(death);
    assert_int_equal(whole->index, index);
    for (uint32_t i = 0; i < FIGURES; i++) {
        assert_int_equal(whole->figures[i], index + i);
    }
    ledger->good[index]++;
}

static struct child_work work_of(
    struct ledger *ledger, void (*work)(void *context, uint32_t index, void *result),
    uint32_t parallel)
{
    return (struct child_work){
        .count = COUNT,
        .parallel = parallel,
        .result_bytes = sizeof(struct result),
        .context = ledger,
        .run = work,
        .done = note,
    };
}

static void everything_is_done_once(ATTR_UNUSED void **state)
{
    static const uint32_t parallels[] = {0, 1, 3, COUNT + 5};
    for (size_t i = 0; i < sizeof(parallels) / sizeof(parallels[0]); i++) {
        struct ledger ledger = {0};
        const struct child_work work = work_of(&ledger, count_up, parallels[i]);
        assert_int_equal(child_work_run(&work, NULL), WEFT_OK);
        for (uint32_t k = 0; k < COUNT; k++) {
            assert_int_equal(ledger.good[k], 1);
        }
    }
}

static void a_run_that_dies_takes_no_other_along(ATTR_UNUSED void **state)
{
    struct ledger ledger = {0};
    const struct child_work work = work_of(&ledger, count_or_die, /* parallel */ 4);
    assert_int_equal(child_work_run(&work, NULL), WEFT_OK);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(ledger.good[i], i == 3 || i == 7 ? 0 : 1);
    }
    assert_string_equal(ledger.deaths[3], "signal 9 (Killed)");
    assert_string_equal(ledger.deaths[7], "exit code 5");
}

/* A child takes an interrupt as usual, whatever its parent does with it. */
static void interrupt_oneself(void *context, uint32_t index, void *result)
{
    if (index == 5) {
        (void)raise(SIGINT);
    }
    count_up(context, index, result);
}

static void children_do_not_hold_interrupts_back(ATTR_UNUSED void **state)
{
    struct ledger ledger = {0};
    const struct child_work work = work_of(&ledger, interrupt_oneself, /* parallel */ 2);
    interrupt_catch();
    assert_int_equal(child_work_run(&work, NULL), WEFT_OK);
    assert_string_equal(ledger.deaths[5], "signal 2 (Interrupt)");
    interrupt_release();
}

static void nothing_to_do_is_done_at_once(ATTR_UNUSED void **state)
{
    struct ledger ledger = {0};
    struct child_work work = work_of(&ledger, count_up, 0);
    work.count = 0;
    assert_int_equal(child_work_run(&work, NULL), WEFT_OK);
}

static void sleep_long(ATTR_UNUSED void *context, ATTR_UNUSED uint32_t index, void *result)
{
    const struct timespec minute = {.tv_sec = 60};
    (void)nanosleep(&minute, NULL);
    memset(result, 0, 1);
}

/* Last: an interrupt stays remembered. */
static void an_interrupt_ends_all_of_them(ATTR_UNUSED void **state)
{
    struct ledger ledger = {0};
    struct weft_error error;
    const struct child_work work = work_of(&ledger, sleep_long, /* parallel */ 3);
    interrupt_catch();
    (void)alarm(30); /* If it does not end at once, this ends the test. */
    (void)raise(SIGINT);
    assert_true(interrupt_came());
    assert_int_equal(child_work_run(&work, &error), WEFT_CANCELLED);
    (void)alarm(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_done_once),
        cmocka_unit_test(a_run_that_dies_takes_no_other_along),
        cmocka_unit_test(children_do_not_hold_interrupts_back),
        cmocka_unit_test(nothing_to_do_is_done_at_once),
        cmocka_unit_test(an_interrupt_ends_all_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
