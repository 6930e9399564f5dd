#include "view/board.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/rng.h"
#include "dies.h"

enum { WORKERS = 5, DELAY_NS = 100 };

static struct arena arena;
static struct board board;

static uint32_t incarnation; /* Of the rows that follow. */

static int set_up(ATTR_UNUSED void **state)
{
    incarnation = 0;
    arena_init(&arena);
    board_init(&board, &arena, WORKERS, DELAY_NS);
    return 0;
}

static int tear_down(ATTR_UNUSED void **state)
{
    arena_deinit(&arena);
    return 0;
}

static bool publish(uint32_t worker, enum row_parts parts, int64_t at_ns, uint64_t sequence)
{
    struct row row = {
        .worker = worker,
        .parts = parts,
        .load = {.at_ns = at_ns, .sequence = sequence, .queued_ns = (int64_t)sequence * 10},
        .cache = {.at_ns = at_ns, .sequence = sequence, .free_bytes = sequence * 20},
    };
    row.load.incarnation = incarnation;
    row.cache.incarnation = incarnation;
    return board_publish(&board, &row);
}

static void every_worker_starts_idle_accepting_and_empty(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < WORKERS; i++) {
        const struct row_load *load = board_load(&board, i, /* now_ns */ 0);
        assert_int_equal(load->sequence, 0);
        assert_int_equal(load->queued_ns, 0);
        assert_true(load->at_ns < INT64_MIN / 8); /* Known for ever. */
        assert_true(board_cache(&board, i, 0)->at_ns < INT64_MIN / 8);
        assert_int_equal(load->accepting, 1);
        assert_true(model_set_is_empty(&board_cache(&board, i, 0)->resident));
        assert_int_equal(board.entries[i].live.worker, i);
        assert_int_equal(board.entries[i].live.parts, ROW_BOTH);
        assert_int_equal(board.entries[i].live.load.accepting, 1);
    }
}

static void a_row_is_seen_after_the_delay_and_not_before(ATTR_UNUSED void **state)
{
    assert_true(publish(1, ROW_BOTH, 1000, 1));

    assert_int_equal(board_load(&board, 1, 1099)->sequence, 0);
    assert_int_equal(board_cache(&board, 1, 1099)->sequence, 0);
    assert_int_equal(board_load(&board, 1, 1099)->accepting, 1);
    assert_int_equal(board_load(&board, 1, 1100)->sequence, 1);
    assert_int_equal(board_load(&board, 1, 1100)->queued_ns, 10);
    assert_int_equal(board_cache(&board, 1, 1100)->free_bytes, 20);
    assert_int_equal(board_load(&board, 2, 1100)->sequence, 0);
}

static void a_reader_sees_the_newest_version_that_is_old_enough(ATTR_UNUSED void **state)
{
    assert_true(publish(3, ROW_LOAD, 1000, 1));
    assert_true(publish(3, ROW_LOAD, 1040, 2));
    assert_true(publish(3, ROW_LOAD, 1080, 3));

    assert_int_equal(board_load(&board, 3, 1090)->sequence, 0);
    assert_int_equal(board_load(&board, 3, 1139)->sequence, 1);
    assert_int_equal(board_load(&board, 3, 1140)->sequence, 2);
    assert_int_equal(board_load(&board, 3, 1180)->sequence, 3);
}

static void without_old_enough_versions_the_oldest_is_shown(ATTR_UNUSED void **state)
{
    for (uint64_t i = 1; i <= 10; i++) {
        assert_true(publish(0, ROW_BOTH, 1000, i));
    }
    assert_int_equal(board_load(&board, 0, 1000)->sequence, 10 - (BOARD_VERSIONS - 1));
    assert_int_equal(board_cache(&board, 0, 1000)->sequence, 10 - (BOARD_VERSIONS - 1));
}

static bool publish_waiting(
    uint32_t worker, int64_t at_ns, uint64_t sequence, uint16_t queued, uint16_t urgency)
{
    const struct row row = {
        .worker = worker,
        .parts = ROW_LOAD,
        .load =
            {
                .at_ns = at_ns,
                .sequence = sequence,
                .queued_items = queued,
                .urgency = urgency,
            },
    };
    return board_publish(&board, &row);
}

static void it_is_known_at_how_many_workers_tasks_wait(ATTR_UNUSED void **state)
{
    assert_int_equal(board.waiting_count, 0);
    assert_true(publish_waiting(2, 1000, 1, /* queued */ 3, /* urgency */ 0));
    assert_true(publish_waiting(4, 1010, 1, /* queued */ 1, /* urgency */ 0));
    assert_int_equal(board.waiting_count, 2);
    assert_true(publish_waiting(2, 1020, 2, /* queued */ 1, /* urgency */ 0));
    assert_int_equal(board.waiting_count, 2);
    assert_true(publish_waiting(2, 1030, 3, /* queued */ 0, /* urgency */ 0));
    assert_false(publish_waiting(4, 1040, 1, /* queued */ 0, /* urgency */ 0)); /* Old news. */
    assert_int_equal(board.waiting_count, 1);
}

static void it_is_known_when_something_was_urgent_last(ATTR_UNUSED void **state)
{
    assert_true(board.urgent_ns < INT64_MIN / 8); /* Never. */
    assert_true(publish_waiting(2, 1000, 1, /* queued */ 0, /* urgency */ 7));
    assert_true(publish_waiting(2, 1050, 2, /* queued */ 0, /* urgency */ 0));
    assert_int_equal(board.urgent_ns, 1000);
    assert_true(publish_waiting(3, 990, 1, /* queued */ 0, /* urgency */ 7));
    assert_int_equal(board.urgent_ns, 1000);
}

static void rows_only_move_forward(ATTR_UNUSED void **state)
{
    assert_true(publish(2, ROW_BOTH, 1000, 5));

    assert_false(publish(2, ROW_BOTH, 1001, 5));
    assert_false(publish(2, ROW_BOTH, 1002, 4));
    assert_int_equal(board_load(&board, 2, 5000)->sequence, 5);
    assert_int_equal(board_load(&board, 2, 5000)->at_ns, 1000);
    assert_true(publish(2, ROW_BOTH, 1003, 6));
}

static void a_later_life_beats_any_sequence_of_an_earlier_one(ATTR_UNUSED void **state)
{
    assert_true(publish(2, ROW_BOTH, 1000, 500));
    incarnation = 2;
    assert_true(publish(2, ROW_LOAD, 1001, 1));
    assert_int_equal(board_load(&board, 2, 5000)->sequence, 1);
    assert_int_equal(board_cache(&board, 2, 5000)->sequence, 500);
    incarnation = 1;
    assert_false(publish(2, ROW_LOAD, 1002, 600));
    assert_true(publish(2, ROW_BOTH, 1003, 3)); /* News for the cache only. */
    assert_int_equal(board_load(&board, 2, 5000)->incarnation, 2);
    assert_int_equal(board_cache(&board, 2, 5000)->incarnation, 1);
    incarnation = 2;
    assert_false(publish(2, ROW_LOAD, 1004, 1));
    assert_true(publish(2, ROW_BOTH, 1005, 2));
}

static void the_parts_of_a_row_move_on_their_own(ATTR_UNUSED void **state)
{
    assert_true(publish(2, ROW_LOAD, 1000, 5));
    assert_true(publish(2, ROW_CACHE, 1001, 3));
    assert_true(publish(2, ROW_BOTH, 1002, 4)); /* News for the cache only. */

    assert_int_equal(board_load(&board, 2, 5000)->sequence, 5);
    assert_int_equal(board_cache(&board, 2, 5000)->sequence, 4);
    assert_true(publish(2, ROW_BOTH, 1003, 6));
    assert_int_equal(board_load(&board, 2, 5000)->sequence, 6);
    assert_int_equal(board_cache(&board, 2, 5000)->sequence, 6);
}

static void readers_agree_with_a_full_history(ATTR_UNUSED void **state)
{
    enum { STEPS = 20000 };
    static int64_t published_ns[STEPS + 1];
    struct rng rng = rng_from_seed(51);
    int64_t now_ns = 0;

    published_ns[0] = INT64_MIN / 4;
    for (uint64_t i = 1; i <= STEPS; i++) {
        now_ns += rng_below(&rng, 80);
        published_ns[i] = now_ns;
        assert_true(publish(4, ROW_BOTH, now_ns, i));
        const int64_t read_ns = now_ns + rng_below(&rng, 80);
        uint64_t expected = i;
        while (published_ns[expected] > read_ns - DELAY_NS && expected + BOARD_VERSIONS - 1 > i &&
               expected > 0) {
            expected--;
        }
        assert_int_equal(board_load(&board, 4, read_ns)->sequence, expected);
        assert_int_equal(board_cache(&board, 4, read_ns)->sequence, expected);
    }
}

static void publish_stranger(ATTR_UNUSED void *argument)
{
    (void)publish(WORKERS, ROW_BOTH, 1, 1);
}

static void a_row_of_an_unknown_worker_is_a_programmer_error(ATTR_UNUSED void **state)
{
    assert_true(dies(publish_stranger, NULL));
}

#define BOARD_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOARD_TEST(every_worker_starts_idle_accepting_and_empty),
        BOARD_TEST(a_row_is_seen_after_the_delay_and_not_before),
        BOARD_TEST(a_reader_sees_the_newest_version_that_is_old_enough),
        BOARD_TEST(without_old_enough_versions_the_oldest_is_shown),
        BOARD_TEST(it_is_known_at_how_many_workers_tasks_wait),
        BOARD_TEST(it_is_known_when_something_was_urgent_last),
        BOARD_TEST(rows_only_move_forward),
        BOARD_TEST(a_later_life_beats_any_sequence_of_an_earlier_one),
        BOARD_TEST(the_parts_of_a_row_move_on_their_own),
        BOARD_TEST(readers_agree_with_a_full_history),
        BOARD_TEST(a_row_of_an_unknown_worker_is_a_programmer_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
