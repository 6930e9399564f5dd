/*
 * weft: what it costs others to run a task of shares on a worker.
 *
 * Covers: src/policy/weft_onward.c src/policy/weft.c src/policy/weft_inputs.c
 */
#include "home_fixture.h"

static struct cluster cluster;

/* Two branches behind a first task, and one more task behind the first of them: b, c, and d. */
enum { FIRST, BEFORE, BESIDE, LAST, TASKS };

/* Ways of the workflow take 12 ms, beside runs of 30 ms; a byte is a nanosecond. */
static int setup(void **state)
{
    (void)state;
    home_init(&cluster, /* node_count */ 4, /* model_count */ TASKS);
    for (uint32_t model = 0; model < TASKS; model++) {
        home_point(&cluster, model, 1, 1, 1, 100);
        home_point(&cluster, model, 1, 2, 7, 30);
        cluster_load(&cluster, model, 500 * MS);
        cluster.profile->models[model].resident_bytes = 1 << 18;
        (void)cluster_task(&cluster, model);
    }
    cluster_edge(&cluster, FIRST, BEFORE, 12 * MS);
    cluster_edge(&cluster, FIRST, BESIDE, 12 * MS);
    cluster_edge(&cluster, BEFORE, LAST, 12 * MS);
    cluster.fleet->prices = (struct fleet_prices){.cpu = 0.05, .gpu = 1};
    cluster_seal(&cluster);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cluster_deinit(&cluster);
    return 0;
}

static void forget(uint32_t worker, uint32_t model)
{
    struct row row = cluster.board.entries[worker].live;
    model_set_remove(&row.cache.resident, model);
    cluster_write(&cluster, &row);
}

/* Where @task goes, whose input on worker 0 takes @ms to any other. */
static uint32_t place(uint32_t task, int64_t ms)
{
    const uint16_t placement[TASKS] = {0, PLACEMENT_UNBOUND, PLACEMENT_UNBOUND, PLACEMENT_UNBOUND};
    const struct input_facts from = {.worker = 0, .bytes = (uint64_t)(ms * MS)};
    const struct task_facts facts = {
        .job = &cluster.job,
        .placement = placement,
        .task = task,
        .items = 1,
        .planned = WORKER_NONE,
        .here = 0,
        .input_count = 1,
        .inputs = &from,
    };
    return policy_place_task(&cluster.seat, &facts);
}

/* To leave now takes 8 ms, and a later task would have to travel for 12. */
static void a_task_leaves_for_the_models_of_those_after_it(void **state)
{
    (void)state;
    cluster_seat(&cluster, "weft:fork=0");
    assert_int_equal(place(FIRST, 8), 0);
    assert_int_equal(place(BEFORE, 8), 0);
    forget(0, LAST);
    assert_int_equal(place(FIRST, 8), 1);
    assert_int_not_equal(place(BEFORE, 8), 0);
    assert_int_equal(place(BESIDE, 8), 0); /* It does not come after this one. */
    cluster_seat(&cluster, "weft:onward=0.5");
    assert_int_equal(place(FIRST, 8), 0);
    cluster_seat(&cluster, "place=weft,dispatch=esg");
    assert_int_equal(place(FIRST, 8), 1);
    cluster_seat(&cluster, "weft:gather=0"); /* As on whole devices. */
    assert_int_equal(place(FIRST, 8), 0);
}

static void what_came_before_does_not_count(void **state)
{
    (void)state;
    cluster_seat(&cluster, "weft:fork=0");
    forget(0, FIRST);
    forget(0, BESIDE);
    assert_int_equal(place(BEFORE, 8), 0);
    assert_int_equal(place(LAST, 8), 0);
}

/* It may as well be loaded: that takes a millisecond. */
static void a_load_that_is_shorter_than_the_way_counts_instead(void **state)
{
    (void)state;
    forget(0, LAST);
    cluster_load(&cluster, LAST, MS / 2);
    cluster_seat(&cluster, "weft");
    assert_int_equal(place(FIRST, 8), 0);
}

/* Each of two later tasks would have to travel. */
static void all_that_come_later_count(void **state)
{
    (void)state;
    cluster_seat(&cluster, "weft:onward=1");
    forget(0, LAST);
    assert_int_equal(place(FIRST, 20), 0);
    forget(0, BEFORE);
    forget(0, BESIDE);
    assert_int_equal(place(FIRST, 20), 1);
}

/* Worker 0 lacks the model. The others are alike, but for what is on its way to them. */
static void inputs_take_links_that_are_not_busy(void **state)
{
    (void)state;
    forget(0, LAST);
    cluster_seat(&cluster, "weft");
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(place(LAST, 20), 1 + i % 3);
    }
    cluster_seat(&cluster, "weft:toll=0");
    assert_int_equal(place(LAST, 20), 1);
    assert_int_equal(place(LAST, 20), 1);
    cluster_seat(&cluster, "weft:gather=0");
    assert_int_equal(place(LAST, 20), 1);
    assert_int_equal(place(LAST, 20), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_task_leaves_for_the_models_of_those_after_it, setup, teardown),
        cmocka_unit_test_setup_teardown(what_came_before_does_not_count, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_load_that_is_shorter_than_the_way_counts_instead, setup, teardown),
        cmocka_unit_test_setup_teardown(all_that_come_later_count, setup, teardown),
        cmocka_unit_test_setup_teardown(inputs_take_links_that_are_not_busy, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
