/* Pods as the pseudo-code of FaST-GShare makes them. */
#include "home_fixture.h"

static struct cluster cluster;

/* Single items: 10 a second on one unit, 16 on two, 25 on four, 30 on seven. */
static int setup(void **state)
{
    *state = &cluster;
    home_init(&cluster, /* node_count */ 4, /* model_count */ 1);
    home_point(&cluster, 0, 1, 1, 1, 100);
    home_point(&cluster, 0, 1, 1, 2, 62);
    home_point(&cluster, 0, 1, 2, 4, 40);
    home_point(&cluster, 0, 1, 2, 7, 33);
    (void)cluster_task(&cluster, 0);
    cluster.graph->slo_ns = 90 * MS; /* One unit does not keep it. */
    cluster_seal(&cluster);
    cluster_seat(&cluster, "fast-gshare:margin=0:headroom=0");
    return 0;
}

static void round_at(uint32_t rate)
{
    for (uint32_t i = 0; i < rate; i++) {
        (void)home_join(&cluster, 0, 90);
    }
    cluster.view.now_ns += 1000 * MS;
    (void)policy_tick(&cluster.seat);
}

/* All batches that can start at once: how many have each share. */
static uint32_t start_all(uint32_t counts_out[8], uint32_t workers_out[16])
{
    uint32_t started = 0;
    memset(counts_out, 0, 8 * sizeof(*counts_out));
    for (;;) {
        const struct queue_facts queue = home_queue(&cluster, 0, 64, 0, 90);
        const struct dispatch_answer answer = home_ask(&cluster, &queue);
        if (answer.count == 0 || started == 16) {
            return started;
        }
        counts_out[answer.configs[0].gpu]++;
        workers_out[started++] = answer.workers[0];
    }
}

static void the_densest_pods_and_one_for_the_rest(void **state)
{
    (void)state;
    uint32_t counts[8];
    uint32_t workers[16];
    round_at(40);
    /* Two units run most for each, 16.1: two of them, and for 7.7 more the least that does. */
    assert_int_equal(start_all(counts, workers), 3);
    assert_int_equal(counts[1], 0); /* Denser still, but it misses the SLO. */
    assert_int_equal(counts[2], 3);
}

static void the_rest_gets_the_pod_that_exceeds_it_least(void **state)
{
    (void)state;
    uint32_t counts[8];
    uint32_t workers[16];
    round_at(37); /* 32.3 and 4.7: of 16, 25 and 30 the 16. */
    (void)start_all(counts, workers);
    assert_int_equal(counts[2], 3);
    cluster_seat(&cluster, "fast-gshare:margin=0:headroom=0");
    cluster.graph->slo_ns = 50 * MS;
    cluster_seat(
        &cluster,
        "fast-gshare:margin=0:headroom=0"); /* Only four and seven units keep it: 25 and 30. */
    round_at(53);
    (void)start_all(counts, workers);
    assert_int_equal(counts[4], 3); /* 50, and 3 more. */
    assert_int_equal(counts[7], 0);
}

static void pods_are_packed_onto_as_few_devices_as_hold_them(void **state)
{
    (void)state;
    uint32_t counts[8];
    uint32_t workers[16];
    round_at(45);
    assert_int_equal(start_all(counts, workers), 3); /* Three of two units on one of seven. */
    assert_int_equal(workers[0], workers[1]);
    assert_int_equal(workers[0], workers[2]);
}

static void what_is_too_much_goes_the_least_dense_first(void **state)
{
    (void)state;
    uint32_t counts[8];
    uint32_t workers[16];
    cluster.graph->slo_ns = 50 * MS;
    cluster_seat(&cluster, "fast-gshare:margin=0:headroom=0");
    round_at(28); /* A pod of 25, and one for 3. */
    for (uint32_t i = 0; i < 6; i++) {
        round_at(20);
    }
    assert_int_equal(start_all(counts, workers), 1);
    assert_int_equal(counts[4], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_CASE(the_densest_pods_and_one_for_the_rest),
        CLUSTER_CASE(the_rest_gets_the_pod_that_exceeds_it_least),
        CLUSTER_CASE(pods_are_packed_onto_as_few_devices_as_hold_them),
        CLUSTER_CASE(what_is_too_much_goes_the_least_dense_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
