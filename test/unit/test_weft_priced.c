/*
 * weft: what a batch may cost where units have a price and no job is due at any time.
 *
 * Covers: src/policy/weft_priced.c src/policy/weft_home.c
 */
#include "home_fixture.h"

static struct cluster cluster;

/*
 * One task on four devices of seven units. Of the first model all units take nearly a third of the
 * time of one, and cost twice as much; of the second nearly a seventh, and cost the same.
 */
static int setup(void **state)
{
    *state = &cluster;
    home_init_priced(&cluster);
    home_shares(&cluster, 0);
    home_point(&cluster, 1, 1, 1, 1, 100);
    home_point(&cluster, 1, 1, 1, 7, 15);
    for (uint32_t model = 0; model < 2; model++) {
        cluster_load(&cluster, model, 500 * MS);
        (void)cluster_task(&cluster, model);
    }
    cluster_seal(&cluster);
    cluster_seat(&cluster, "weft");
    return 0;
}

/* What a batch of @task gets that has no deadline. */
static struct dispatch_answer ask(uint32_t task)
{
    const struct queue_facts queue = home_queue(&cluster, task, 1, 0, 0);
    return home_ask(&cluster, &queue);
}

/* How many units it gets while @idle are left. */
static uint32_t units_of(uint32_t task, uint32_t idle)
{
    cluster.view.now_ns += 1000 * MS;
    for (uint32_t worker = 0; worker < 4; worker++) {
        const uint32_t units = idle < 7 ? idle : 7;
        home_free(&cluster, worker, units, 16);
        idle -= units;
    }
    return ask(task).configs[0].gpu;
}

static void time_is_bought_at_its_price(void **state)
{
    (void)state;
    assert_int_equal(units_of(0, 28), 2); /* A fifth more for three fifths of the time. */
    assert_int_equal(units_of(1, 28), 7);
}

static void the_fewer_are_idle_the_less_is_bought(void **state)
{
    (void)state;
    assert_int_equal(units_of(1, 14), 7);
    assert_int_equal(units_of(1, 8), 1); /* It would leave one. */
    assert_int_equal(units_of(0, 4), 1);
}

/* No device has seven units left. Soon one has: that is better than one unit, which is free. */
static void a_short_wait_is_worth_it(void **state)
{
    (void)state;
    cluster.view.now_ns += 1000 * MS;
    for (uint32_t worker = 0; worker < 4; worker++) {
        home_occupy(&cluster, worker, 6, worker == 2 ? 10 : 200);
    }
    const struct dispatch_answer answer = ask(1);
    assert_int_equal(answer.count, 0);
    assert_int_equal(answer.waits_for, 2);
}

static void a_long_one_is_not(void **state)
{
    (void)state;
    cluster.view.now_ns += 1000 * MS;
    for (uint32_t worker = 0; worker < 4; worker++) {
        home_occupy(&cluster, worker, 6, 200);
    }
    const struct dispatch_answer answer = ask(1);
    assert_int_equal(answer.count, 1);
    assert_int_equal(answer.configs[0].gpu, 1);
}

/* Where some workflow has an SLO, what has none takes what is cheapest. */
static void with_slos_the_cheapest_is_taken(void **state)
{
    (void)state;
    cluster.graph->slo_ns = 900 * MS;
    cluster_seat(&cluster, "weft");
    assert_int_equal(units_of(0, 28), 1);
}

/* It has all the time there is, and shall cost little. */
static void what_was_put_off_is_not_hurried(void **state)
{
    (void)state;
    struct queue_facts queue = home_queue(&cluster, 0, 1, 901, 900);
    queue.put_off = true;
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_CASE(time_is_bought_at_its_price),
        CLUSTER_CASE(the_fewer_are_idle_the_less_is_bought),
        CLUSTER_CASE(a_short_wait_is_worth_it),
        CLUSTER_CASE(a_long_one_is_not),
        CLUSTER_CASE(with_slos_the_cheapest_is_taken),
        CLUSTER_CASE(what_was_put_off_is_not_hurried),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
