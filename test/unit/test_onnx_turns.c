/*
 * How many rows run at a time is what took least, and follows when that changes.
 *
 * Covers: src/onnx/turns.c
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
#include "onnx/turns.h"

enum { ROW_BYTES = 1000, BATCHES = 20000 };

/* What a batch of @rows rows takes, in turns of @turn. */
typedef int64_t (*cost_ns)(uint64_t rows, uint64_t turn);

/* Each call costs as much as nine rows: the fewer, the better. */
static int64_t products_ns(uint64_t rows, uint64_t turn)
{
    return (int64_t)((rows + turn - 1) / turn * 9000 + rows * 1000);
}

/* A row takes longer, the more there are beside it. */
static int64_t lines_ns(uint64_t rows, uint64_t turn)
{
    return (int64_t)(rows * (10000 + 1000 * turn));
}

/* Four rows are best. */
static int64_t fours_ns(uint64_t rows, uint64_t turn)
{
    return (int64_t)(rows * (10000 + 600 * turn) + (rows + turn - 1) / turn * 10000);
}

/* Run @count batches of @rows rows; how many were trials. */
static uint32_t run_batches(
    struct onnx_turns *turns, uint32_t count, uint64_t rows, uint64_t rows_max, cost_ns cost)
{
    uint32_t trials = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct onnx_turn turn = onnx_turns_choose(turns, rows, ROW_BYTES, rows_max);
        assert_in_range(turn.rows, 1, rows < rows_max ? rows : rows_max);
        trials += turn.is_trial ? 1 : 0;
        if (turn.is_trial) {
            (void)onnx_turns_tell(turns, &turn, cost(rows, turn.rows), rows * ROW_BYTES);
        }
    }
    return trials;
}

static uint64_t best(struct onnx_turns *turns, uint64_t rows)
{
    return onnx_turns_best(turns, rows, ROW_BYTES, UINT64_MAX).rows;
}

static void nothing_is_known_at_first(ATTR_UNUSED void **state)
{
    struct onnx_turns turns = {.classes = {{.wait = 0}}};
    assert_int_equal(best(&turns, 6), 6);
    assert_false(onnx_turns_choose(&turns, 1, ROW_BYTES, UINT64_MAX).is_trial);
    const struct onnx_turn first = onnx_turns_choose(&turns, 6, ROW_BYTES, UINT64_MAX);
    assert_true(first.is_trial);
    assert_int_equal(first.rows, 6); /* As without a choice. */
}

static void what_takes_least_is_chosen(ATTR_UNUSED void **state)
{
    struct onnx_turns products = {.classes = {{.wait = 0}}};
    struct onnx_turns lines = {.classes = {{.wait = 0}}};
    struct onnx_turns fours = {.classes = {{.wait = 0}}};
    (void)run_batches(&products, 30, 6, UINT64_MAX, products_ns);
    (void)run_batches(&lines, 30, 6, UINT64_MAX, lines_ns);
    (void)run_batches(&fours, 60, 32, UINT64_MAX, fours_ns);
    assert_int_equal(best(&products, 6), 6);
    assert_int_equal(best(&products, 7), 7);
    assert_int_equal(best(&lines, 6), 1);
    assert_int_equal(best(&lines, 13), 1); /* Of a number that never ran. */
    assert_int_equal(best(&fours, 32), 4);
    assert_int_equal(best(&fours, 3), 3); /* Four are not there. */
}

static void rows_of_another_size_are_another_matter(ATTR_UNUSED void **state)
{
    struct onnx_turns turns = {.classes = {{.wait = 0}}};
    (void)run_batches(&turns, 30, 6, UINT64_MAX, lines_ns);
    assert_int_equal(onnx_turns_best(&turns, 6, 8 * ROW_BYTES, UINT64_MAX).rows, 6);
    assert_int_equal(onnx_turns_best(&turns, 6, UINT64_MAX, UINT64_MAX).rows, 6);
}

static void a_limit_holds(ATTR_UNUSED void **state)
{
    struct onnx_turns turns = {.classes = {{.wait = 0}}};
    (void)run_batches(&turns, 60, 100, 3, products_ns);
    assert_int_equal(onnx_turns_best(&turns, 100, ROW_BYTES, 3).rows, 3);
}

static void trials_become_rare(ATTR_UNUSED void **state)
{
    struct onnx_turns turns = {.classes = {{.wait = 0}}};
    const uint32_t first = run_batches(&turns, BATCHES / 2, 32, UINT64_MAX, products_ns);
    const uint32_t later = run_batches(&turns, BATCHES / 2, 32, UINT64_MAX, products_ns);
    assert_in_range(first, 4, 32);
    assert_in_range(later, 1, 4);
}

/* Turns that are far worse were tried once, and smaller ones not at all. */
static void what_is_hopeless_is_let_be(ATTR_UNUSED void **state)
{
    struct onnx_turns turns = {.classes = {{.wait = 0}}};
    uint64_t least = 32;
    for (uint32_t i = 0; i < 100; i++) {
        const struct onnx_turn turn = onnx_turns_choose(&turns, 32, ROW_BYTES, UINT64_MAX);
        least = turn.rows < least ? turn.rows : least;
        if (turn.is_trial) {
            (void)onnx_turns_tell(&turns, &turn, products_ns(32, turn.rows), 32 * ROW_BYTES);
        }
    }
    assert_int_equal(least, 8); /* 68000 instead of 41000; 16 take 50000. */
}

static void a_choice_that_was_wrong_is_mended(ATTR_UNUSED void **state)
{
    struct onnx_turns turns = {.classes = {{.wait = 0}}};
    (void)run_batches(&turns, BATCHES, 6, UINT64_MAX, products_ns);
    assert_int_equal(best(&turns, 6), 6);
    (void)run_batches(&turns, 20 * BATCHES, 6, UINT64_MAX, lines_ns);
    assert_int_equal(best(&turns, 6), 1);
}

/* One that the machine was too busy for does not decide. */
static void one_slow_trial_changes_nothing(ATTR_UNUSED void **state)
{
    struct onnx_turns turns = {.classes = {{.wait = 0}}};
    (void)run_batches(&turns, 30, 6, UINT64_MAX, lines_ns);
    const struct onnx_turn slow = {.rows = 1, .is_trial = true, .size = 0, .top = 2, .class = 9};
    const struct onnx_trial trial =
        onnx_turns_tell(&turns, &slow, lines_ns(6, 1) * 2, UINT64_C(6) * ROW_BYTES);
    assert_true(trial.is_worse);
    assert_int_equal(best(&turns, 6), 2); /* A quarter more; two at a time take 12 instead of 11. */
    assert_false(onnx_turns_tell(&turns, &slow, lines_ns(6, 1), UINT64_C(6) * ROW_BYTES).is_worse);
    assert_int_equal(best(&turns, 6), 1);
}

static void what_was_found_is_kept(ATTR_UNUSED void **state)
{
    char path[64] = "/tmp/weft-test-XXXXXX";
    struct onnx_turns turns = {.classes = {{.wait = 0}}};
    struct onnx_turns again = {.classes = {{.wait = 0}}};
    assert_true(close(mkstemp(path)) == 0);
    (void)run_batches(&turns, 30, 6, UINT64_MAX, lines_ns);
    onnx_turns_save(&turns, path);
    onnx_turns_load(&again, path);
    assert_int_equal(best(&again, 6), 1);
    assert_int_equal(run_batches(&again, 100, 6, UINT64_MAX, lines_ns), 0);
    onnx_turns_forget(&again);
    assert_int_equal(best(&again, 6), 6);
    assert_int_equal(unlink(path), 0);
}

static void nonsense_is_not_believed(ATTR_UNUSED void **state)
{
    static const char *const texts[] = {
        "",
        "turns",
        "turns 2\n9 0 1\n9 2 2\n",
        "turns 1\n99 0 1\n",
        "turns 1\n9 8 1\n",
        "turns 1\n9 0 -1\n",
        "turns 1\n9 0 nan\n",
        "turns 1\n9 0 inf\n",
        "turns 1\n9 0 1\n9 2",
    };
    for (uint32_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        char path[64] = "/tmp/weft-test-XXXXXX";
        struct onnx_turns turns = {.classes = {{.wait = 0}}};
        const struct onnx_turns nothing = turns;
        const int file = mkstemp(path);
        assert_true(write(file, texts[i], strlen(texts[i])) == (ssize_t)strlen(texts[i]));
        assert_int_equal(close(file), 0);
        onnx_turns_load(&turns, path);
        assert_memory_equal(&turns, &nothing, sizeof(turns));
        assert_int_equal(unlink(path), 0);
        onnx_turns_load(&turns, path); /* It is not there. */
        assert_memory_equal(&turns, &nothing, sizeof(turns));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_at_first),
        cmocka_unit_test(what_takes_least_is_chosen),
        cmocka_unit_test(rows_of_another_size_are_another_matter),
        cmocka_unit_test(a_limit_holds),
        cmocka_unit_test(trials_become_rare),
        cmocka_unit_test(what_is_hopeless_is_let_be),
        cmocka_unit_test(a_choice_that_was_wrong_is_mended),
        cmocka_unit_test(one_slow_trial_changes_nothing),
        cmocka_unit_test(what_was_found_is_kept),
        cmocka_unit_test(nonsense_is_not_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
