/*
 * weft: models that come to a worker ahead of their batches, where memory is short.
 *
 * Covers: src/policy/weft_warm.c src/policy/weft_keep.c
 */
#include "home_fixture.h"

static struct cluster cluster;

/* Two tasks in a row; worker 0 alone has the second model, and all memory is in use. */
static int setup(void **state)
{
    *state = &cluster;
    home_init_two(&cluster, /* way_ms */ 5);
    cluster_seal(&cluster);
    cluster.catalogue.model_count = 2;
    for (uint32_t worker = 0; worker < 4; worker++) {
        cluster.fleet->workers[worker].memory_bytes = (4 << 18) - 2;
        if (worker > 0) {
            cluster_drop(&cluster, worker, 1);
        }
    }
    cluster_seat(&cluster, "weft:copy=0:keep=0");
    return 0;
}

/* @items wait for worker 0, which is full, and @ms pass. */
static void wait_for(uint32_t items, int64_t ms)
{
    const struct queue_facts queue = home_queue(&cluster, 1, items, 0, 900);
    home_occupy(&cluster, 0, 0, 400);
    const struct dispatch_answer answer = home_ask(&cluster, &queue);
    assert_int_equal(answer.count, 0);
    assert_int_equal(answer.waits_for, 0);
    cluster.view.now_ns += ms * MS;
}

/* A load of 500 ms that evicts counts three times. */
static void a_queue_that_has_waited_for_long_gets_a_copy(void **state)
{
    (void)state;
    wait_for(1, 700);
    wait_for(2, 390);
    wait_for(1, 30);
    assert_int_equal(policy_tick(&cluster.seat).warm_count, 0); /* 700 + 2 x 390 ms. */
    wait_for(1, 1);
    const struct tick_answer answer = policy_tick(&cluster.seat);
    assert_int_equal(answer.warm_count, 1);
    assert_int_equal(answer.warms[0].model, 1);
    assert_int_not_equal(answer.warms[0].worker, 0);
    assert_int_equal(policy_tick(&cluster.seat).warm_count, 0); /* It begins anew. */
}

static void no_copy_comes_to_a_worker_without_units(void **state)
{
    (void)state;
    wait_for(1, 1600);
    wait_for(1, 1);
    for (uint32_t worker = 1; worker < 4; worker++) {
        home_occupy(&cluster, worker, worker == 2 ? 1 : 0, 100);
    }
    const struct tick_answer answer = policy_tick(&cluster.seat);
    assert_int_equal(answer.warm_count, 1);
    assert_int_equal(answer.warms[0].worker, 2);
}

/* What waits for units waits no less with another copy. */
static void waits_while_no_unit_is_idle_do_not_count(void **state)
{
    (void)state;
    for (uint32_t worker = 1; worker < 4; worker++) {
        home_occupy(&cluster, worker, 0, 9000);
    }
    wait_for(1, 2000);
    wait_for(1, 1);
    for (uint32_t worker = 1; worker < 4; worker++) {
        home_occupy(&cluster, worker, 7, 0);
    }
    assert_int_equal(policy_tick(&cluster.seat).warm_count, 0);
    wait_for(1, 1600);
    wait_for(1, 1);
    assert_int_equal(policy_tick(&cluster.seat).warm_count, 1);
}

/* What was put off waits for something else. */
static void only_what_waits_for_full_workers_counts(void **state)
{
    (void)state;
    wait_for(1, 700);
    struct queue_facts queue = home_queue(&cluster, 1, 1, 0, 900);
    home_occupy(&cluster, 0, 7, 0);
    assert_true(home_ask(&cluster, &queue).count > 0);
    cluster.view.now_ns += 2000 * MS;
    queue.put_off = true;
    (void)home_ask(&cluster, &queue);
    cluster.view.now_ns += 2000 * MS;
    wait_for(1, 0);
    assert_int_equal(policy_tick(&cluster.seat).warm_count, 0);
}

/* What a worker loads is there soon: to wait for that is no reason to load more. */
static void waits_for_a_load_do_not_count(void **state)
{
    (void)state;
    struct row row = cluster.board.entries[0].live;
    model_set_remove(&row.cache.resident, 1);
    model_set_add(&row.cache.loading, 1);
    cluster_write(&cluster, &row);
    wait_for(1, 3000);
    wait_for(1, 1);
    assert_int_equal(policy_tick(&cluster.seat).warm_count, 0);
}

/* A copy is made after each three seconds, so that none stays for much longer than that. */
static void what_was_waited_long_ago_is_forgotten(void **state)
{
    (void)state;
    cluster_seat(&cluster, "weft:copy=0:keep=0.01");
    for (uint32_t i = 0; i < 3; i++) {
        wait_for(1, 3000);
        wait_for(1, 0);
        assert_int_equal(policy_tick(&cluster.seat).warm_count, 1);
    }
    wait_for(1, 3000);
    home_occupy(&cluster, 0, 7, 0);
    const struct queue_facts queue = home_queue(&cluster, 1, 1, 0, 900);
    assert_true(home_ask(&cluster, &queue).count > 0);
    cluster.view.now_ns += 20000 * MS;
    assert_int_equal(policy_tick(&cluster.seat).warm_count, 0);
}

/* Tasks that come often want more workers than one; but nothing leaves memory for that alone. */
static void a_model_comes_ahead_into_free_memory_alone(void **state)
{
    (void)state;
    struct row row = cluster.board.entries[2].live;
    for (uint32_t i = 0; i < 20; i++) {
        cluster.view.now_ns += 10 * MS;
        (void)home_join(&cluster, 1, 900);
    }
    row.cache.free_bytes = (1 << 18) - 1;
    cluster_write(&cluster, &row);
    assert_int_equal(policy_tick(&cluster.seat).warm_count, 0);
    row.cache.free_bytes++;
    cluster_write(&cluster, &row);
    assert_int_equal(policy_tick(&cluster.seat).warm_count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_CASE(a_queue_that_has_waited_for_long_gets_a_copy),
        CLUSTER_CASE(no_copy_comes_to_a_worker_without_units),
        CLUSTER_CASE(waits_while_no_unit_is_idle_do_not_count),
        CLUSTER_CASE(only_what_waits_for_full_workers_counts),
        CLUSTER_CASE(waits_for_a_load_do_not_count),
        CLUSTER_CASE(what_was_waited_long_ago_is_forgotten),
        CLUSTER_CASE(a_model_comes_ahead_into_free_memory_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
