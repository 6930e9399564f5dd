#include "view/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"

enum { NODES = 3, WORKERS = 6, DELAY_NS = 100 };

/* Three machines with two workers each; the view is that of the second. */
static struct arena arena;
static struct pool pool;
static struct fleet *fleet;
static struct board board;
static struct view view;

static int set_up(ATTR_UNUSED void **state)
{
    struct fleet_worker device = {.gpu_units = 1};

    fleet = fleet_create();
    device.device = fleet_device(fleet, "l4");
    for (uint32_t i = 0; i < NODES; i++) {
        if (!fleet_add_machine(fleet, &device, WORKERS / NODES, /* cpu_units */ 1)) {
            return 1;
        }
    }
    arena_init(&arena);
    board_init(&board, &arena, WORKERS, DELAY_NS);
    pool_init(&pool, sizeof(struct reservation), 8, 8);
    view = (struct view){
        .now_ns = 1000,
        .node = 1,
        .worker_first = 2,
        .worker_count = 2,
        .fleet = fleet,
        .board = &board,
    };
    reservations_init(&view.reservations, &pool);
    return 0;
}

static int tear_down(ATTR_UNUSED void **state)
{
    pool_deinit(&pool);
    arena_deinit(&arena);
    fleet_destroy(fleet);
    return 0;
}

static void publish(uint32_t worker, int64_t at_ns, int64_t queued_ns, uint32_t accepting)
{
    static uint64_t sequence = 0;
    sequence++;
    const struct row row = {
        .worker = worker,
        .parts = ROW_BOTH,
        .load =
            {
                .at_ns = at_ns,
                .queued_ns = queued_ns,
                .sequence = sequence,
                .accepting = (uint8_t)accepting,
            },
        .cache = {.at_ns = at_ns, .sequence = sequence, .resident = {{1 << 5}}},
    };
    assert_true(board_publish(&board, &row));
}

static void own_workers_are_read_live(ATTR_UNUSED void **state)
{
    board.entries[3].live.load = (struct row_load){.at_ns = 990, .queued_ns = 40, .accepting = 1};
    model_set_add(&board.entries[3].live.cache.loading, 7);

    assert_false(view_is_own(&view, 1));
    assert_true(view_is_own(&view, 2));
    assert_true(view_is_own(&view, 3));
    assert_false(view_is_own(&view, 4));
    assert_int_equal(view_free_at_ns(&view, 3), 1030);
    assert_int_equal(view_age_ns(&view, 3), 0);
    assert_true(view_holds_model(&view, 3, 7));
    assert_false(view_holds_model(&view, 2, 7));
}

static void other_workers_are_read_from_the_board_with_their_age(ATTR_UNUSED void **state)
{
    publish(4, /* at_ns */ 700, /* queued_ns */ 500, /* accepting */ 1);

    assert_int_equal(view_age_ns(&view, 4), 200);
    assert_int_equal(view_free_at_ns(&view, 4), 1300);
    assert_true(view_holds_model(&view, 4, 5));
    assert_false(view_holds_model(&view, 4, 6));
    view.now_ns = 1400;
    assert_int_equal(view_age_ns(&view, 4), 600);
    assert_int_equal(view_free_at_ns(&view, 4), 1400); /* Never before now. */
    view.now_ns = 800;
    assert_int_equal(view_age_ns(&view, 4), 0);
}

static void a_worker_that_has_not_spoken_when_it_could_has_not_changed(ATTR_UNUSED void **state)
{
    view.row_load_ns = 400;
    publish(4, /* at_ns */ 700, /* queued_ns */ 500, /* accepting */ 1);
    board.entries[3].live.load = (struct row_load){.at_ns = 990, .accepting = 1};

    assert_int_equal(view_unseen_ns(&view, 3), 0); /* Its own. */
    assert_int_equal(view_unseen_ns(&view, 4), 200);
    view.now_ns = 1200;
    assert_int_equal(view_unseen_ns(&view, 4), 400);
    view.now_ns = 1201;
    assert_int_equal(view_unseen_ns(&view, 4), 0); /* Its next row would be here. */
    view.row_load_ns = 0;
}

static void a_row_on_its_way_is_not_yet_read(ATTR_UNUSED void **state)
{
    publish(4, /* at_ns */ 950, /* queued_ns */ 500, /* accepting */ 0);

    assert_true(view_is_usable(&view, 4));
    assert_int_equal(view_free_at_ns(&view, 4), 1000);
    view.now_ns = 1050;
    assert_false(view_is_usable(&view, 4));
    assert_int_equal(view_free_at_ns(&view, 4), 1550);
}

static void a_worker_that_never_spoke_is_idle_and_very_old(ATTR_UNUSED void **state)
{
    assert_true(view_age_ns(&view, 5) > INT64_C(1) << 60);
    assert_int_equal(view_free_at_ns(&view, 5), 1000);
    assert_true(view_is_usable(&view, 5));
}

/* The view is that of node 1; workers 0 and 1 are on node 0, workers 4 and 5 on node 2. */
static void rows_do_not_cross_a_cut_until_it_has_healed(ATTR_UNUSED void **state)
{
    board_allow_cuts(&board, &arena, /* cuts_max */ 2);
    publish(0, /* at_ns */ 700, /* queued_ns */ 900, /* accepting */ 1);
    publish(4, /* at_ns */ 700, /* queued_ns */ 500, /* accepting */ 1);
    publish(4, /* at_ns */ 950, /* queued_ns */ 5000, /* accepting */ 1);
    board_cut(&board, &arena, /* node_first */ 2, /* now_ns */ 1000);
    for (int64_t at_ns = 1010; at_ns < 1100; at_ns += 10) { /* More than the board keeps. */
        publish(0, at_ns, /* queued_ns */ 2000, /* accepting */ 0);
        publish(4, at_ns, /* queued_ns */ 6000, /* accepting */ 0);
    }
    view.now_ns = 1300;
    assert_ptr_equal(view_cut(&view, 4), &board.cuts[0]);
    assert_int_equal(view_load(&view, 4)->queued_ns, 500); /* What was under way is not seen. */
    assert_int_equal(view_cache(&view, 4)->at_ns, 700);
    assert_int_equal(view_age_ns(&view, 4), 500);
    assert_true(view_is_usable(&view, 4));
    assert_null(view_cut(&view, 0)); /* They are on one side. */
    assert_int_equal(view_load(&view, 0)->queued_ns, 2000);
    assert_int_equal(view_load(&view, 2)->at_ns, board.entries[2].live.load.at_ns);
    board_heal(&board, /* node_first */ 2, /* now_ns */ 1400);
    view.now_ns = 1499;
    assert_int_equal(view_load(&view, 4)->queued_ns, 500);
    view.now_ns = 1500; /* Healed, and the delay has passed. */
    assert_int_equal(view_load(&view, 4)->queued_ns, 6000);
    assert_int_equal(view_cache(&view, 4)->at_ns, 1090);
}

static void a_second_cut_does_not_show_what_the_first_one_hid(ATTR_UNUSED void **state)
{
    board_allow_cuts(&board, &arena, /* cuts_max */ 2);
    publish(4, /* at_ns */ 700, /* queued_ns */ 500, /* accepting */ 1);
    board_cut(&board, &arena, /* node_first */ 2, /* now_ns */ 1000);
    publish(0, /* at_ns */ 1010, /* queued_ns */ 11, /* accepting */ 1);
    publish(4, /* at_ns */ 1010, /* queued_ns */ 600, /* accepting */ 1);
    board_cut(&board, &arena, /* node_first */ 1, /* now_ns */ 1200); /* Nodes 1 and 2 from 0. */
    publish(0, /* at_ns */ 1210, /* queued_ns */ 22, /* accepting */ 1);
    publish(4, /* at_ns */ 1210, /* queued_ns */ 700, /* accepting */ 1);
    board_heal(&board, /* node_first */ 2, /* now_ns */ 1400);
    view.now_ns = 1600;
    assert_int_equal(view_load(&view, 4)->queued_ns, 700); /* Node 1 hears node 2 again, */
    assert_int_equal(view_load(&view, 0)->queued_ns, 11);  /* and node 0 not yet. */
    view.node = 0;
    view.worker_first = 0;
    assert_int_equal(view_load(&view, 4)->queued_ns, 500); /* Node 0 has heard nothing since. */
    board_heal(&board, /* node_first */ 1, /* now_ns */ 1600);
    view.now_ns = 1700;
    assert_int_equal(view_load(&view, 4)->queued_ns, 700);
    board_cut(&board, &arena, /* node_first */ 2, /* now_ns */ 1800);
    assert_int_equal(board.cut_count, 1); /* What has healed is forgotten. */
    view.now_ns = 1900;
    assert_int_equal(view_load(&view, 4)->queued_ns, 700);
}

/* Workers 2 and 3 are the view's own. */
static void a_search_passes_those_who_are_certainly_busy(ATTR_UNUSED void **state)
{
    for (uint32_t worker = 0; worker < WORKERS; worker++) {
        publish(worker, /* at_ns */ 700, /* queued_ns */ 500, /* accepting */ 1); /* Till 1300. */
    }
    assert_int_equal(view_skip_busy(&view, 0, /* until_ns */ 1301), 0);
    assert_int_equal(view_skip_busy(&view, 0, /* until_ns */ 1300), 2);
    assert_int_equal(view_skip_busy(&view, 3, /* until_ns */ 1300), 3);
    assert_int_equal(view_skip_busy(&view, 4, /* until_ns */ 1300), WORKERS);
    assert_int_equal(view_skip_busy(&view, WORKERS, /* until_ns */ 1300), WORKERS);
    publish(5, /* at_ns */ 850, /* queued_ns */ 9000, /* accepting */ 1);
    assert_int_equal(view_skip_busy(&view, 4, /* until_ns */ 1300), WORKERS);
    publish(5, /* at_ns */ 950, /* queued_ns */ 9000, /* accepting */ 1); /* Under way: perhaps. */
    assert_int_equal(view_skip_busy(&view, 4, /* until_ns */ 1300), 5);
    board_allow_cuts(&board, &arena, /* cuts_max */ 1);
    board_cut(&board, &arena, /* node_first */ 1, /* now_ns */ 1000);
    assert_int_equal(view_skip_busy(&view, 0, /* until_ns */ 1300), 0);
}

/* Readers may still see that a task waited when its worker has said that none does. */
static void tasks_may_wait_until_all_rows_that_say_otherwise_are_seen(ATTR_UNUSED void **state)
{
    struct row row = {.worker = 4, .parts = ROW_LOAD};
    row.load = (struct row_load){.at_ns = 500, .sequence = 1000, .queued_items = 2};
    assert_false(view_may_wait(&view));
    assert_true(board_publish(&board, &row));
    assert_true(view_may_wait(&view));
    row.load = (struct row_load){.at_ns = 950, .sequence = 1001};
    assert_true(board_publish(&board, &row));
    assert_int_equal(view_load(&view, 4)->queued_items, 2);
    assert_true(view_may_wait(&view));
    view.now_ns = 950 + DELAY_NS;
    assert_int_equal(view_load(&view, 4)->queued_items, 0);
    assert_false(view_may_wait(&view));
}

static void own_reservations_come_on_top(ATTR_UNUSED void **state)
{
    publish(4, /* at_ns */ 800, /* queued_ns */ 300, /* accepting */ 1);
    const uint64_t seen = view_load(&view, 4)->sequence;

    const uint64_t sequence = reservations_add(&view.reservations, 4, 70);
    assert_int_equal(view_free_at_ns(&view, 4), 1270);
    assert_int_equal(view_free_at_ns(&view, 5), 1000);
    reservations_acknowledge(&view.reservations, 4, sequence, seen);
    assert_int_equal(view_free_at_ns(&view, 4), 1200);
}

static void a_worker_that_drains_takes_no_new_work(ATTR_UNUSED void **state)
{
    publish(0, /* at_ns */ 100, /* queued_ns */ 0, /* accepting */ 0);
    board.entries[2].live.load.accepting = 0;

    assert_false(view_is_usable(&view, 0));
    assert_false(view_is_usable(&view, 2));
    assert_true(view_is_usable(&view, 1));
    assert_true(view_is_usable(&view, 3));
}

static void the_workers_of_a_lost_node_take_none_either(ATTR_UNUSED void **state)
{
    const uint64_t up = 1 << 0 | 1 << 1;
    const struct members members = {.node_count = NODES, .up_count = 2, .up = &up};
    view.members = &members;

    assert_true(view_is_usable(&view, 1));
    assert_true(view_is_usable(&view, 2));
    assert_false(view_is_usable(&view, 4));
    assert_false(view_is_usable(&view, 5));
}

static void nor_do_the_workers_of_a_suspect(ATTR_UNUSED void **state)
{
    uint64_t some = 1 << 2 | 1 << 0;
    view.suspects = (struct suspects){.count = 2, .bits = &some};

    assert_false(view_is_usable(&view, 0));
    assert_true(view_is_usable(&view, 2));
    assert_false(view_is_usable(&view, 5));
}

static void what_a_slow_worker_takes_is_believed_for_a_while(ATTR_UNUSED void **state)
{
    const int64_t ns = INT64_C(256000);
    publish(4, /* at_ns */ 700, /* queued_ns */ 0, ROW_ACCEPTING);
    assert_int_equal(view_slowed_ns(&view, 4, ns), ns);
    publish(4, /* at_ns */ 701, /* queued_ns */ 0, ROW_ACCEPTING + ROW_SLOWNESS_PARTS / 4);
    assert_int_equal(view_slowed_ns(&view, 4, ns), ns); /* May be chance. */
    publish(4, /* at_ns */ 702, /* queued_ns */ 0, ROW_ACCEPTING + 3 * ROW_SLOWNESS_PARTS);
    assert_true(view_is_usable(&view, 4));
    assert_int_equal(view_slowed_ns(&view, 4, ns), 4 * ns);
    assert_int_equal(view_slower(&view, 4), 3 * VIEW_SLOWER_ONE);
    view.now_ns = 702 + VIEW_SLOWNESS_NS / 2;
    assert_int_equal(view_slowed_ns(&view, 4, ns), ns + 3 * ns / 2);
    view.now_ns = 702 + VIEW_SLOWNESS_NS;
    assert_int_equal(view_slowed_ns(&view, 4, ns), ns);
    publish(0, /* at_ns */ 703, /* queued_ns */ 0, /* accepting */ 0);
    assert_int_equal(view_slowed_ns(&view, 0, ns), ns);
}

#define VIEW_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void what_a_worker_says_stands_until_its_row_is_seen(ATTR_UNUSED void **state)
{
    struct row row = {.worker = 5, .parts = ROW_LOAD};
    row.load = (struct row_load){.at_ns = 500, .sequence = 7, .accepting = 1};
    assert_true(board_publish(&board, &row));
    assert_int_equal(view_free_units(&view, 5).gpu, 0);
    const struct news_entry seen = {.worker = 5, .gpu = 1, .row_sequence = 7, .at_ns = 900};
    const struct news_entry unseen = {
        .worker = 5, .gpu = 1, .cpu = 1, .row_sequence = 8, .at_ns = 900};
    news_note(&view.news, &seen);
    assert_int_equal(view_free_units(&view, 5).gpu, 0);
    assert_int_equal(view_gpu_at_most(&view, 5), 0);
    news_note(&view.news, &unseen);
    assert_int_equal(view_free_units(&view, 5).gpu, 1);
    assert_int_equal(view_gpu_at_most(&view, 5), 1);
    assert_int_equal(view_free_units(&view, 4).gpu, 0); /* Another device, */
    assert_int_equal(view_free_units(&view, 4).cpu, 1); /* of the same machine. */
    row.load.sequence = 8;
    assert_true(board_publish(&board, &row));
    assert_int_equal(view_free_units(&view, 5).gpu, 0);
}

static void what_a_worker_says_counts_claims_up_to_a_number(ATTR_UNUSED void **state)
{
    const struct units unit = {.gpu = 1};
    struct row row = {.worker = 5, .parts = ROW_LOAD};
    row.load = (struct row_load){.at_ns = 500, .sequence = 7, .gpu_free = 1, .accepting = 1};
    assert_true(board_publish(&board, &row));
    const uint64_t first = reservations_claim(&view.reservations, 5, /* run_ns */ 1, unit);
    assert_int_equal(view_free_units(&view, 5).gpu, 0);
    struct news_entry said = {.worker = 5, .gpu = 1, .row_sequence = 8, .counted = first};
    news_note(&view.news, &said); /* One is free beside what was claimed. */
    assert_int_equal(view_free_units(&view, 5).gpu, 1);
    (void)reservations_claim(&view.reservations, 5, /* run_ns */ 1, unit);
    assert_int_equal(view_free_units(&view, 5).gpu, 0);
    said.row_sequence = 9; /* What an earlier row counts, this does as well. */
    said.counted = 0;
    news_note(&view.news, &said);
    assert_int_equal(view_free_units(&view, 5).gpu, 0);
    reservations_acknowledge(&view.reservations, 5, first + 1, /* row_sequence */ 8);
    assert_int_equal(view_free_units(&view, 5).gpu, 1);
}

static void news_of_one_worker_is_not_that_of_another(ATTR_UNUSED void **state)
{
    struct news *news = &view.news;
    const struct news_entry entry = {.worker = 3, .row_sequence = 1};
    const struct news_entry other = {.worker = 3 + NEWS_MAX, .row_sequence = 1};
    news_note(news, &entry);
    assert_non_null(news_since(news, 3, 0));
    assert_null(news_since(news, 3 + NEWS_MAX, 0));
    news_forget(news, 3 + NEWS_MAX);
    assert_non_null(news_since(news, 3, 0));
    news_note(news, &other);
    assert_null(news_since(news, 3, 0)); /* It is as old as its row again. */
    news_forget(news, 3 + NEWS_MAX);
    assert_null(news_since(news, 3 + NEWS_MAX, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VIEW_TEST(own_workers_are_read_live),
        VIEW_TEST(other_workers_are_read_from_the_board_with_their_age),
        VIEW_TEST(a_worker_that_has_not_spoken_when_it_could_has_not_changed),
        VIEW_TEST(a_row_on_its_way_is_not_yet_read),
        VIEW_TEST(a_worker_that_never_spoke_is_idle_and_very_old),
        VIEW_TEST(rows_do_not_cross_a_cut_until_it_has_healed),
        VIEW_TEST(a_second_cut_does_not_show_what_the_first_one_hid),
        VIEW_TEST(a_search_passes_those_who_are_certainly_busy),
        VIEW_TEST(tasks_may_wait_until_all_rows_that_say_otherwise_are_seen),
        VIEW_TEST(own_reservations_come_on_top),
        VIEW_TEST(a_worker_that_drains_takes_no_new_work),
        VIEW_TEST(the_workers_of_a_lost_node_take_none_either),
        VIEW_TEST(nor_do_the_workers_of_a_suspect),
        VIEW_TEST(what_a_worker_says_stands_until_its_row_is_seen),
        VIEW_TEST(what_a_worker_says_counts_claims_up_to_a_number),
        VIEW_TEST(news_of_one_worker_is_not_that_of_another),
        VIEW_TEST(what_a_slow_worker_takes_is_believed_for_a_while),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
