/*
 * weft: how fast jobs run where only time counts.
 *
 * Covers: src/policy/weft_quick.c src/policy/weft_haste.c
 */
#include "home_fixture.h"

static struct cluster cluster;

/*
 * One task on four devices of seven units that cost nothing: of the first model seven units take a
 * third of the time of one, so that a device does less with them; of the second nearly a seventh.
 */
static int setup(void **state)
{
    *state = &cluster;
    home_init(&cluster, /* node_count */ 4, /* model_count */ 2);
    home_shares(&cluster, 0);
    home_point(&cluster, 1, 1, 1, 1, 100);
    home_point(&cluster, 1, 1, 1, 7, 15);
    for (uint32_t model = 0; model < 2; model++) {
        (void)cluster_task(&cluster, model);
    }
    cluster_edge(&cluster, 0, 1, 0);
    cluster_seal(&cluster);
    cluster_seat(&cluster, "weft");
    return 0;
}

/* How many units a batch of @task gets that has no deadline, while @idle are left. */
static uint32_t units_of(uint32_t task, uint32_t idle)
{
    for (uint32_t worker = 0; worker < 4; worker++) {
        const uint32_t units = idle < 7 ? idle : 7;
        home_free(&cluster, worker, units, 16);
        idle -= units;
    }
    cluster.view.now_ns += 1000 * MS;
    const struct queue_facts queue = home_queue(&cluster, task, 1, 0, 0);
    return home_ask(&cluster, &queue).configs[0].gpu;
}

static void the_fewer_are_idle_the_fewer_units_a_batch_has(void **state)
{
    (void)state;
    assert_int_equal(units_of(0, 28), 7);
    assert_int_equal(units_of(0, 21), 7); /* 30 ms and as much for others; of two units, 62 + 8. */
    assert_int_equal(units_of(0, 14), 2);
}

static void what_gains_as_much_as_it_holds_has_the_whole_device(void **state)
{
    (void)state;
    assert_int_equal(units_of(1, 28), 7);
    assert_int_equal(units_of(1, 14), 7);
    assert_int_equal(units_of(1, 8), 1); /* It would leave one. */
}

/* Of two units of CPU a batch on two of the device holds as much as on half of it. */
static void cpu_counts_as_well(void **state)
{
    (void)state;
    assert_int_equal(units_of(0, 16), 2);
    for (uint32_t node = 0; node < 4; node++) {
        cluster.fleet->nodes[node].cpu_units = 2;
    }
    cluster_seat(&cluster, "weft");
    assert_int_equal(units_of(0, 16), 7);
}

static void jobs_with_slos_come_before(void **state)
{
    (void)state;
    cluster.graph->slo_ns = 900 * MS;
    cluster_seat(&cluster, "weft");
    assert_int_equal(units_of(1, 14), 1);
}

/* Five items, where four and eight were measured: all of the device takes 60 ms, a seventh 280. */
static void a_task_of_several_items_has_a_config_for_more(void **state)
{
    (void)state;
    home_point(&cluster, 0, 4, 1, 1, 200);
    home_point(&cluster, 0, 8, 1, 1, 280);
    home_point(&cluster, 0, 8, 2, 7, 60);
    cluster_seat(&cluster, "weft");
    struct queue_facts queue = home_queue(&cluster, 0, 1, 0, 0);
    queue.items = 5;
    queue.head_items = 5;
    cluster.view.now_ns += 1000 * MS;
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_CASE(the_fewer_are_idle_the_fewer_units_a_batch_has),
        CLUSTER_CASE(what_gains_as_much_as_it_holds_has_the_whole_device),
        CLUSTER_CASE(cpu_counts_as_well),
        CLUSTER_CASE(jobs_with_slos_come_before),
        CLUSTER_CASE(a_task_of_several_items_has_a_config_for_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
