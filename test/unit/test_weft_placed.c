/*
 * weft: copies of models, and configs, where all tasks of shares are placed.
 *
 * Covers: src/policy/weft_copy.c src/policy/esg_warm.c src/policy/esg_search.c
 *         src/policy/compose_ask.c
 */
#include "home_fixture.h"
#include "weft_fixture.h"

static struct cluster cluster;

/* Two tasks in a row whose inputs travel for a third of their runs. */
static int setup(void **state)
{
    *state = &cluster;
    home_init_two(&cluster, /* way_ms */ 10);
    cluster.graph->input_bytes = 10 * MS;
    cluster_seal(&cluster);
    cluster_seat(&cluster, "weft");
    return 0;
}

/* @worker has neither model, and room for both. */
static void empty(uint32_t worker)
{
    struct row row = cluster.board.entries[worker].live;
    model_set_remove(&row.cache.resident, 0);
    model_set_remove(&row.cache.resident, 1);
    row.cache.free_bytes = 1 << 20;
    cluster_write(&cluster, &row);
}

static void place_both(void)
{
    for (uint32_t i = 0; i < 4; i++) {
        (void)weft_place(&cluster, i % 2, 0);
        cluster.view.now_ns += MS;
    }
}

/* Nobody else's: all nodes would take the same worker, and the same model. */
static void a_node_copies_what_it_places_to_its_own_workers(void **state)
{
    (void)state;
    assert_false(policy_waits(&cluster.seat, 0));
    assert_true(policy_tick_ns(&cluster.seat) > 0);
    empty(0);
    empty(2);
    assert_int_equal(policy_tick(&cluster.seat).warm_count, 0); /* Nothing has come. */
    place_both();
    const struct tick_answer answer = policy_tick(&cluster.seat);
    assert_int_equal(answer.warm_count, 1);
    assert_int_equal(answer.warms[0].worker, 0);
    assert_int_equal(answer.warms[0].model, 0);
}

/* Worker 0 takes the first model, and so the node of worker 1 the second one. */
static void nodes_agree_on_which_is_copied_where(void **state)
{
    (void)state;
    empty(0);
    empty(1);
    cluster.view.node = 1;
    cluster.view.worker_first = 1;
    cluster_seat(&cluster, "weft");
    place_both();
    const struct tick_answer answer = policy_tick(&cluster.seat);
    assert_int_equal(answer.warm_count, 1);
    assert_int_equal(answer.warms[0].worker, 1);
    assert_int_equal(answer.warms[0].model, 1);
}

/* How soon a task follows another on a node does not say how soon it does on a worker. */
static void a_worker_waits_for_nothing_that_its_node_places(void **state)
{
    (void)state;
    for (uint32_t model = 0; model < 2; model++) {
        home_point(&cluster, model, 2, 1, 1, 101);
    }
    cluster_seat(&cluster, "weft");
    place_both();
    struct queue_facts queue = home_queue(&cluster, 0, 1, 0, 900);
    queue.worker = 0;
    queue.gpu_free = 7;
    queue.cpu_free = 16;
    assert_int_equal(home_ask(&cluster, &queue).wake_at_ns, 0);
}

/* The units that the head of the queue of worker 0 gets, which can hardly be in time. */
static uint32_t units_of_late(void)
{
    struct queue_facts queue = home_queue(&cluster, 1, 1, 250, 265);
    queue.worker = 0;
    queue.gpu_free = 7;
    queue.cpu_free = 16;
    return home_ask(&cluster, &queue).configs[0].gpu;
}

/* As at home: it may be in time all the same, and nobody else wants the units. */
static void what_is_nearly_late_takes_what_is_idle(void **state)
{
    (void)state;
    assert_int_equal(units_of_late(), 7);
    for (uint32_t worker = 1; worker < 4; worker++) {
        home_free(&cluster, worker, 0, 16);
    }
    cluster_seat(&cluster, "weft");
    assert_int_equal(units_of_late(), 1);
}

/* Loads of 400 ms are forgiven where all models fit: less than eight times 60 ms. */
static void what_each_worker_loads_by_itself_is_not_copied(void **state)
{
    (void)state;
    for (uint32_t model = 0; model < 2; model++) {
        cluster_load(&cluster, model, 400 * MS);
    }
    cluster_seat(&cluster, "weft");
    assert_int_equal(policy_tick_ns(&cluster.seat), 0);
    cluster.fleet->workers[2].memory_bytes = (1 << 19) - 1;
    cluster_seat(&cluster, "weft");
    assert_true(policy_tick_ns(&cluster.seat) > 0);
}

static void tasks_of_whole_devices_need_no_ticks(void **state)
{
    (void)state;
    cluster_seat(&cluster, "weft:gather=0");
    assert_int_equal(policy_tick_ns(&cluster.seat), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_CASE(a_node_copies_what_it_places_to_its_own_workers),
        CLUSTER_CASE(nodes_agree_on_which_is_copied_where),
        CLUSTER_CASE(a_worker_waits_for_nothing_that_its_node_places),
        CLUSTER_CASE(what_is_nearly_late_takes_what_is_idle),
        CLUSTER_CASE(what_each_worker_loads_by_itself_is_not_copied),
        CLUSTER_CASE(tasks_of_whole_devices_need_no_ticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
