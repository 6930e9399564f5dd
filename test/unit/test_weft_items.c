/*
 * weft: tasks of several items, fewer or more than were measured together, and what is late.
 *
 * Covers: src/policy/weft_home.c src/policy/weft_haste.c src/policy/esg_search.c
 */
#include "home_fixture.h"

static struct cluster cluster;

/* A task on four devices with shares, one item and four together. */
static int setup(void **state)
{
    *state = &cluster;
    home_init_priced(&cluster);
    home_shares(&cluster, 0);
    home_point(&cluster, 0, 4, 1, 1, 200);
    home_point(&cluster, 0, 4, 2, 7, 120);
    cluster_load(&cluster, 0, 500 * MS);
    (void)cluster_task(&cluster, 0);
    cluster_seal(&cluster);
    cluster_seat(&cluster, "weft");
    return 0;
}

/* The config of a queue of @items, whose head has @head of them and @left_ms of 900. */
static struct config config_of(uint32_t head, uint32_t items, int64_t left_ms)
{
    struct queue_facts queue = home_queue(&cluster, 0, items, 900 - left_ms, 900);
    queue.head_items = head;
    const struct dispatch_answer answer = home_ask(&cluster, &queue);
    assert_true(answer.count > 0);
    return answer.configs[0];
}

/* Three items run as four do, also if nothing can be in time. */
static void items_between_two_batches_take_the_larger_one(void **state)
{
    (void)state;
    assert_int_equal(config_of(3, 3, 800).gpu, 1);
    assert_int_equal(config_of(3, 3, 200).gpu, 7);
    assert_int_equal(config_of(3, 3, 90).gpu, 7);
    assert_int_equal(config_of(3, 3, 20).gpu, 7);
}

/* Where all is idle and units cost nothing it ends as soon as it can. */
static void items_between_two_batches_are_hurried(void **state)
{
    (void)state;
    cluster.fleet->prices = (struct fleet_prices){.gpu = 0};
    cluster_seat(&cluster, "weft");
    assert_int_equal(config_of(3, 3, 800).gpu, 7);
}

/* What can no longer be in time takes nobody along who still can. */
static void what_will_be_late_runs_alone(void **state)
{
    (void)state;
    assert_int_equal(config_of(1, 4, 800).batch, 4);
    assert_int_equal(config_of(1, 4, 20).batch, 1);
    assert_int_equal(config_of(3, 4, 90).batch, 3);
    struct queue_facts queue = home_queue(&cluster, 0, 4, 901, 900);
    queue.put_off = true; /* All are late. */
    assert_int_equal(home_ask(&cluster, &queue).configs[0].batch, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_CASE(items_between_two_batches_take_the_larger_one),
        CLUSTER_CASE(items_between_two_batches_are_hurried),
        CLUSTER_CASE(what_will_be_late_runs_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
