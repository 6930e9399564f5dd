/*
 * weft: what it costs others to run a task of shares on a worker.
 *
 * Covers: src/policy/weft_onward.c src/policy/weft.c src/policy/weft_inputs.c
 */
#include "home_fixture.h"
#include "weft_fixture.h"

static struct cluster cluster;

/* Two branches behind a first task, and one more task behind the first of them: b, c, and d. */
enum { FIRST, BEFORE, BESIDE, LAST, TASKS };

/* Ways of the workflow take 12 ms, beside runs of 30 ms; a byte is a nanosecond. */
static int setup(void **state)
{
    *state = &cluster;
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

/* Where @task goes, whose input on worker 0 takes @ms to any other. */
static uint32_t place(uint32_t task, int64_t ms)
{
    return weft_place(&cluster, task, (uint64_t)(ms * MS));
}

/* As if others had the last worker. */
static void make_busy(void)
{
    home_free(&cluster, 3, 0, 16);
}

/* To leave now takes 8 ms, and a later task would have to travel for 12. */
static void a_task_leaves_for_the_models_of_those_after_it(void **state)
{
    (void)state;
    make_busy();
    cluster_seat(&cluster, "weft:fork=0");
    assert_int_equal(place(FIRST, 8), 0);
    assert_int_equal(place(BEFORE, 8), 0);
    cluster_drop(&cluster, 0, LAST);
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

/* Eight times 12 ms are more than 20; where all is idle they count once. */
static void while_all_is_idle_a_later_task_counts_once(void **state)
{
    (void)state;
    cluster_drop(&cluster, 0, LAST);
    cluster_seat(&cluster, "weft:fork=0");
    assert_int_equal(place(FIRST, 8), 1);
    assert_int_equal(place(FIRST, 20), 0);
    cluster_seat(&cluster, "weft:fork=0:onward=0");
    assert_int_equal(place(FIRST, 8), 0);
    make_busy();
    cluster_seat(&cluster, "weft:fork=0");
    assert_int_equal(place(FIRST, 20), 1);
}

static void what_came_before_does_not_count(void **state)
{
    (void)state;
    cluster_seat(&cluster, "weft:fork=0");
    cluster_drop(&cluster, 0, FIRST);
    cluster_drop(&cluster, 0, BESIDE);
    assert_int_equal(place(BEFORE, 8), 0);
    assert_int_equal(place(LAST, 8), 0);
}

/* It may as well be loaded: that takes a millisecond. */
static void a_load_that_is_shorter_than_the_way_counts_instead(void **state)
{
    (void)state;
    cluster_drop(&cluster, 0, LAST);
    cluster_load(&cluster, LAST, MS / 2);
    cluster_seat(&cluster, "weft");
    assert_int_equal(place(FIRST, 8), 0);
}

/* Each of two later tasks would have to travel. */
static void all_that_come_later_count(void **state)
{
    (void)state;
    cluster_seat(&cluster, "weft:onward=1");
    cluster_drop(&cluster, 0, LAST);
    assert_int_equal(place(FIRST, 20), 0);
    cluster_drop(&cluster, 0, BEFORE);
    cluster_drop(&cluster, 0, BESIDE);
    assert_int_equal(place(FIRST, 20), 1);
}

/* Worker 0 lacks the model. The others are alike, but for what is on its way to them. */
static void inputs_take_links_that_are_not_busy(void **state)
{
    (void)state;
    cluster_drop(&cluster, 0, LAST);
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
        CLUSTER_CASE(a_task_leaves_for_the_models_of_those_after_it),
        CLUSTER_CASE(while_all_is_idle_a_later_task_counts_once),
        CLUSTER_CASE(what_came_before_does_not_count),
        CLUSTER_CASE(a_load_that_is_shorter_than_the_way_counts_instead),
        CLUSTER_CASE(all_that_come_later_count),
        CLUSTER_CASE(inputs_take_links_that_are_not_busy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
