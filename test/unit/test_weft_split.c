/*
 * How weft divides the time of a job by what was learnt of the models of its other tasks.
 */
#include "policy/weft_split.h"

#include "configs/search.h"
#include "home_fixture.h"
#include "policy/weft_learn.h"

static struct cluster cluster;

/* Four tasks in a row, of which the first three are a group; the last one has another model. */
static int setup(void **state)
{
    *state = &cluster;
    home_init_priced(&cluster);
    for (uint32_t model = 0; model < 2; model++) {
        home_shares(&cluster, model);
    }
    for (uint32_t task = 0; task < 4; task++) {
        (void)cluster_task(&cluster, /* model */ task == 3 ? 1 : 0);
    }
    for (uint32_t task = 0; task < 3; task++) {
        cluster_edge(&cluster, task, task + 1, 5 * MS);
    }
    cluster_seal(&cluster);
    return 0;
}

/* Batches of @task take @run_ns on a worker of this node, instead of 100 ms. */
static void run_here(uint32_t task, int64_t run_ns)
{
    const struct ended_facts ran = {
        .task = task,
        .worker = cluster.view.worker_first,
        .items = 1,
        .config = {.batch = 1, .cpu = 1, .gpu = 1},
        .run_ns = run_ns,
        .completed = true,
    };
    for (uint32_t i = 0; i < 64; i++) {
        policy_ran(&cluster.seat, &ran);
    }
}

/* Half a second has gone by of a second for the task before the last one. */
static uint32_t units_before_the_last(void)
{
    const struct queue_facts queue = home_queue(&cluster, 2, 1, 500, 1000);
    return home_ask(&cluster, &queue).configs[0].gpu;
}

/* A quarter of the time is for each task, or two fifths for the last one. */
static void what_comes_later_is_given_the_time_that_it_takes(void **state)
{
    (void)state;
    cluster_seat(&cluster, "weft:haste=0");
    assert_int_equal(units_before_the_last(), 1);
    run_here(3, 100 * MS);
    assert_int_equal(units_before_the_last(), 1);
    run_here(3, 200 * MS);
    assert_int_equal(units_before_the_last(), 2);
    cluster_seat(&cluster, "weft:haste=0:learn=0");
    run_here(3, 200 * MS);
    assert_int_equal(units_before_the_last(), 1);
}

static int64_t target_ns(uint32_t task)
{
    const struct queue_facts queue = home_queue(&cluster, task, 1, 0, 1000);
    return weft_split_target_ns(&cluster.seat.inputs[ROLE_DISPATCH], &queue);
}

static int64_t rest(uint32_t task)
{
    const struct queue_facts queue = home_queue(&cluster, task, 1, 0, 1000);
    return weft_split_rest(&cluster.seat.inputs[ROLE_DISPATCH], &queue);
}

static void nothing_changes_as_long_as_nothing_was_learnt(void **state)
{
    (void)state;
    cluster_seat(&cluster, "weft");
    for (uint32_t task = 0; task < 4; task++) {
        const int64_t end_ns = (task == 3 ? 1000 : 750) * MS;
        assert_in_range(target_ns(task), end_ns - 1, end_ns);
        assert_int_equal(rest(task), SEARCH_REST_ONE);
    }
}

static void a_group_is_given_the_time_that_its_models_take(void **state)
{
    (void)state;
    cluster_seat(&cluster, "weft");
    run_here(0, 50 * MS); /* Three of four tasks take half, so their group ends at 1.5 of 2.5. */
    assert_in_range(target_ns(1), 599 * MS, 601 * MS);
    assert_in_range(target_ns(3), 1000 * MS - 1, 1000 * MS);
    assert_int_equal(rest(0), SEARCH_REST_ONE);
}

/* Of a model that has not run here what all takes is believed, but not that it takes less. */
static void what_is_not_known_takes_no_less_than_measured(void **state)
{
    (void)state;
    static struct weft_learn shorter;
    static struct weft_learn longer;
    const struct weft_batch batch = {.model = 3, .config = {.batch = 1, .gpu = 1}};
    for (uint32_t i = 0; i < 16; i++) {
        weft_learn_note(&shorter, &batch, 100 * MS, 50 * MS, i);
        weft_learn_note(&longer, &batch, 100 * MS, 200 * MS, i);
    }
    assert_in_range(weft_learnt_model(&shorter, 3), 120, 136);
    assert_int_equal(weft_learnt_model(&shorter, 4), WEFT_LEARN_ONE);
    assert_in_range(weft_learnt_model(&longer, 4), 480, 520);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_CASE(what_comes_later_is_given_the_time_that_it_takes),
        CLUSTER_CASE(nothing_changes_as_long_as_nothing_was_learnt),
        CLUSTER_CASE(a_group_is_given_the_time_that_its_models_take),
        cmocka_unit_test(what_is_not_known_takes_no_less_than_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
