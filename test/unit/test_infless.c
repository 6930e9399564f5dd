/*
 * Instances as the pseudo-code of INFless makes them.
 *
 * Covers: src/policy/baselines/pods.c
 */
#include "home_fixture.h"

static struct cluster cluster;

/*
 * One function with an SLO of 200 ms. Eight items in 95 ms on four units just keep half of
 * the SLO; sixteen in 110 do not. Fast alone is seven units.
 */
static int setup(void **state)
{
    *state = &cluster;
    home_init(&cluster, /* node_count */ 4, /* model_count */ 1);
    home_point(&cluster, 0, 1, 1, 1, 100);
    home_point(&cluster, 0, 1, 2, 7, 30);
    home_point(&cluster, 0, 8, 2, 4, 95);
    home_point(&cluster, 0, 8, 2, 6, 90);
    home_point(&cluster, 0, 16, 2, 7, 110);
    (void)cluster_task(&cluster, 0);
    cluster.graph->slo_ns = 200 * MS;
    cluster_seal(&cluster);
    cluster_seat(&cluster, "infless:margin=0:headroom=0:original");
    return 0;
}

/* @rate items a second for one round of a second. */
static void round_at(uint32_t rate)
{
    for (uint32_t i = 0; i < rate; i++) {
        (void)home_join(&cluster, 0, 200);
    }
    cluster.view.now_ns += 1000 * MS;
    (void)policy_tick(&cluster.seat);
}

static struct dispatch_answer ask(uint32_t items, int64_t waited_ms)
{
    struct queue_facts queue = home_queue(&cluster, 0, items, waited_ms, 200);
    queue.head_ready_ns -= waited_ms * MS;
    return home_ask(&cluster, &queue);
}

static void a_slow_queue_gets_single_items(void **state)
{
    (void)state;
    /* One a second: a batch of eight would not fill within 105 ms. */
    const struct dispatch_answer answer = ask(1, 0);
    assert_int_equal(answer.count, 1);
    assert_int_equal(answer.configs[0].batch, 1);
    /* Of 10 a second on one unit and 33 on seven: the latter, which leaves less unused. */
    assert_int_equal(answer.configs[0].gpu, 7);
}

static void a_fast_queue_gets_the_largest_batch_that_fills_in_time(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        round_at(300);
    }
    (void)ask(1, 0); /* The single instance is taken first, if it is still there. */
    const struct dispatch_answer waits = ask(3, 0);
    assert_int_equal(waits.count, 0); /* Half of the SLO is for the batch to fill, */
    assert_true(waits.wake_at_ns > cluster.view.now_ns);
    const struct dispatch_answer runs = ask(3, 111);
    assert_int_equal(runs.count, 1); /* and then it runs as it is. */
    assert_int_equal(runs.configs[0].batch, 3);
    assert_int_equal(ask(8, 0).configs[0].batch, 8);
}

static void options_take_half_of_the_slo_and_the_most_per_leftover(void **state)
{
    (void)state;
    round_at(300);
    round_at(300);
    bool four = false;
    bool six = false;
    for (uint32_t i = 0; i < 6; i++) {
        const struct dispatch_answer answer = ask(16, 0);
        four |= answer.count == 1 && answer.configs[0].gpu == 4;
        six |= answer.count == 1 && answer.configs[0].gpu == 6;
        assert_true(answer.count == 0 || answer.configs[0].batch <= 8); /* 110 is over half. */
    }
    /* 88 a second on six units leave almost nothing; 84 on four leave three units. */
    assert_true(six);
    assert_false(four);
}

static void by_default_the_most_for_what_is_taken(void **state)
{
    (void)state;
    bool six = false;
    cluster_seat(&cluster, "infless:margin=0:headroom=0");
    round_at(300);
    round_at(300);
    for (uint32_t i = 0; i < 6; i++) {
        const struct dispatch_answer answer = ask(16, 0);
        six |= answer.count == 1 && answer.configs[0].gpu == 6;
        assert_true(answer.count == 0 || answer.configs[0].gpu != 7);
    }
    assert_false(six); /* Six units run hardly more than four. */
}

static void instances_run_one_batch_at_a_time(void **state)
{
    (void)state;
    uint32_t started = 0;
    struct dispatch_answer first = ask(1, 0);
    struct dispatch_answer answer = first;
    while (answer.count > 0 && started < 100) {
        started++;
        answer = ask(1, 0);
    }
    assert_int_equal(started, 1); /* Deployed with one. */
    const struct ended_facts ended = {
        .worker = first.workers[0], .items = 1, .config = first.configs[0], .completed = true};
    policy_ended(&cluster.seat, &ended);
    assert_int_equal(ask(1, 0).count, 1);
}

static void an_answer_that_fitted_nowhere_leaves_the_instance_idle(void **state)
{
    (void)state;
    const struct dispatch_answer first = ask(1, 0);
    struct queue_facts queue = home_queue(&cluster, 0, 1, 0, 200);
    queue.rechecks = 1;
    home_free(&cluster, first.workers[0], 0, 16); /* Which is why it moves. */
    const struct dispatch_answer again = home_ask(&cluster, &queue);
    assert_int_equal(again.count, 1);
    assert_int_not_equal(again.workers[0], first.workers[0]);
}

static void idle_instances_go(void **state)
{
    (void)state;
    round_at(300);
    round_at(300);
    for (uint32_t i = 0; i < 30; i++) {
        round_at(0);
    }
    /* Again as at the start: one, for single items. */
    assert_int_equal(ask(16, 0).configs[0].batch, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_CASE(a_slow_queue_gets_single_items),
        CLUSTER_CASE(a_fast_queue_gets_the_largest_batch_that_fills_in_time),
        CLUSTER_CASE(options_take_half_of_the_slo_and_the_most_per_leftover),
        CLUSTER_CASE(by_default_the_most_for_what_is_taken),
        CLUSTER_CASE(instances_run_one_batch_at_a_time),
        CLUSTER_CASE(an_answer_that_fitted_nowhere_leaves_the_instance_idle),
        CLUSTER_CASE(idle_instances_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
