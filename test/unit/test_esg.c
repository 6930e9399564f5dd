/*
 * What esg answers for home queues and for a worker's own ones.
 *
 * Covers: src/policy/esg_order.c src/policy/esg_plan.c src/policy/esg_search.c
 *         src/policy/esg_warm.c src/policy/fit.c
 */
#include "home_fixture.h"

static struct cluster cluster;

/*
 * Three tasks in a row. Each runs 100 ms alone on one unit; twice the units are 1.6 times as
 * fast, and a batch of four takes as long as two items.
 */
static int setup(void **state)
{
    *state = &cluster;
    home_init(&cluster, /* node_count */ 4, /* model_count */ 3);
    for (uint32_t model = 0; model < 3; model++) {
        home_point(&cluster, model, 1, 1, 1, 100);
        home_point(&cluster, model, 1, 1, 2, 62);
        home_point(&cluster, model, 1, 2, 4, 40);
        home_point(&cluster, model, 1, 2, 7, 30);
        home_point(&cluster, model, 4, 1, 1, 200);
        home_point(&cluster, model, 4, 2, 4, 80);
        cluster_load(&cluster, model, 500 * MS);
        (void)cluster_task(&cluster, model);
        if (model > 0) {
            cluster_edge(&cluster, model - 1, model, 5 * MS); /* A byte is a nanosecond. */
        }
    }
    cluster.graph->slo_ns = 300 * MS;
    cluster_seal(&cluster);
    return 0;
}

static void expect_config(const struct config *config, uint32_t batch, uint32_t cpu, uint32_t gpu)
{
    assert_int_equal(config->batch, batch);
    assert_int_equal(config->cpu, cpu);
    assert_int_equal(config->gpu, gpu);
}

static void with_time_to_spare_the_cheapest_config_runs(void **state)
{
    (void)state;
    cluster_seat(&cluster, "esg:wait=0:margin=0");
    const struct queue_facts queue = home_queue(&cluster, 0, 1, 0, 300);
    const struct dispatch_answer answer = home_ask(&cluster, &queue);

    assert_int_equal(answer.count, 1);          /* It can start, so no other is looked for. */
    expect_config(&answer.configs[0], 1, 1, 1); /* 3 × 100 ms is just in time. */
}

static void what_is_lost_is_made_up_for(void **state)
{
    (void)state;
    cluster_seat(&cluster, "esg:wait=0:margin=0");
    /* The second task begins at 150 ms instead of 100: 150 are left for two. */
    const struct queue_facts queue = home_queue(&cluster, 1, 1, 150, 300);
    const struct dispatch_answer answer = home_ask(&cluster, &queue);

    expect_config(&answer.configs[0], 1, 1, 2); /* And four together in 80 ms. */
    cluster_seat(&cluster, "esg:wait=0:margin=0:adapt=0");
    /* Planned ahead for batches of four in 80 ms, and run with the one that is there. */
    expect_config(&home_ask(&cluster, &queue).configs[0], 1, 2, 4);
}

static void batches_are_no_larger_than_the_queue(void **state)
{
    (void)state;
    cluster_seat(&cluster, "esg:wait=0:margin=0");
    struct queue_facts queue = home_queue(&cluster, 2, 3, 0, 300);
    expect_config(&home_ask(&cluster, &queue).configs[0], 1, 1, 1);
    queue = home_queue(&cluster, 2, 4, 0, 300);
    expect_config(&home_ask(&cluster, &queue).configs[0], 4, 1, 1);
    cluster_seat(&cluster, "esg:wait=0:margin=0:batch=0");
    expect_config(&home_ask(&cluster, &queue).configs[0], 1, 1, 1);
    cluster_seat(&cluster, "esg:wait=0:margin=0:share=0");
    expect_config(&home_ask(&cluster, &queue).configs[0], 1, 2, 7);
}

static void data_comes_before_warm_models_before_packing(void **state)
{
    (void)state;
    cluster_seat(&cluster, "esg:wait=0:margin=0");
    struct queue_facts queue = home_queue(&cluster, 1, 1, 0, 300);
    queue.holder = 2;
    assert_int_equal(home_ask(&cluster, &queue).workers[0], 2);
    queue.holder = WORKER_NONE;
    assert_int_equal(home_ask(&cluster, &queue).workers[0], 0); /* The home's own. */
    home_free(&cluster, 0, 0, 16);
    home_free(&cluster, 3, 2, 16);
    assert_int_equal(home_ask(&cluster, &queue).workers[0], 3); /* The tightest. */
    cluster_seat(&cluster, "esg:wait=0:margin=0:locality=0");
    queue.holder = 2;
    assert_int_equal(home_ask(&cluster, &queue).workers[0], 3);
}

static void a_local_start_is_weighed_against_a_load(void **state)
{
    (void)state;
    cluster_seat(&cluster, "esg:wait=0:margin=0");
    struct queue_facts queue = home_queue(&cluster, 1, 1, 0, 300);
    queue.holder = 2;
    cluster_drop(&cluster, 2, 1);
    /* To move the inputs takes 5 ms, to load the model 500. */
    assert_int_not_equal(home_ask(&cluster, &queue).workers[0], 2);
}

static void what_a_transfer_makes_late_comes_after_what_it_does_not(void **state)
{
    (void)state;
    cluster_seat(&cluster, "esg:wait=0:margin=0");
    /* 180 ms for two tasks: 100 and 80, and none for the 5 ms to another machine. */
    struct queue_facts queue = home_queue(&cluster, 1, 1, 120, 300);
    queue.holder = 2;
    home_free(&cluster, 2, 0, 16);
    const struct dispatch_answer answer = home_ask(&cluster, &queue);
    assert_int_not_equal(answer.configs[0].gpu, 1);
    bool later = false;
    for (uint32_t i = 1; i < answer.count; i++) {
        later |= answer.configs[i].gpu == 1;
    }
    assert_true(later);
}

static void what_fits_nowhere_waits_and_then_runs_small(void **state)
{
    (void)state;
    cluster_seat(&cluster, "esg:wait=0:margin=0:k=1:recheck=3");
    for (uint32_t worker = 0; worker < 4; worker++) {
        home_free(&cluster, worker, 1, 16);
    }
    struct queue_facts queue = home_queue(&cluster, 2, 1, 200, 270); /* 70 ms: two units. */
    assert_int_equal(home_ask(&cluster, &queue).count, 0);
    queue.rechecks = 4;
    const struct dispatch_answer answer = home_ask(&cluster, &queue);
    assert_int_equal(answer.count, 1);
    expect_config(&answer.configs[0], 1, 1, 1);
    home_free(&cluster, 3, 2, 16);
    expect_config(&home_ask(&cluster, &queue).configs[0], 1, 1, 2);
}

static void the_deadline_counts_when_a_budget_is_spent(void **state)
{
    (void)state;
    /* Groups of one: the first task has 100 ms, of which 95 are gone; 205 are left in all. */
    cluster_seat(&cluster, "esg:wait=0:margin=0:group=1");
    struct queue_facts queue = home_queue(&cluster, 0, 1, 95, 300);
    expect_config(&home_ask(&cluster, &queue).configs[0], 1, 1, 1);
    queue = home_queue(&cluster, 0, 1, 205, 300); /* Three times 30 ms is all there is. */
    expect_config(&home_ask(&cluster, &queue).configs[0], 1, 2, 7);
    queue = home_queue(&cluster, 0, 1, 253, 303); /* Lost: no reason to hurry. */
    expect_config(&home_ask(&cluster, &queue).configs[0], 1, 1, 1);
}

static void a_lost_batch_does_not_take_longer_than_its_share(void **state)
{
    (void)state;
    cluster_seat(&cluster, "esg:wait=0:margin=0:group=1");
    const struct queue_facts queue = home_queue(&cluster, 0, 4, 400, 300);
    /* Four items on one unit are cheapest, but 200 ms make others late: 80 ms do not. */
    expect_config(&home_ask(&cluster, &queue).configs[0], 4, 2, 4);
}

static void jobs_without_a_deadline_run_as_cheap_as_can_be(void **state)
{
    (void)state;
    cluster_seat(&cluster, "esg");
    const struct queue_facts queue = home_queue(&cluster, 0, 4, 5000, 0);
    expect_config(&home_ask(&cluster, &queue).configs[0], 4, 1, 1);
}

static void a_queue_waits_for_more_while_that_is_in_time(void **state)
{
    (void)state;
    cluster_seat(&cluster, "esg:margin=0");
    struct queue_facts queue = home_queue(&cluster, 2, 2, 0, 600);
    assert_true(home_ask(&cluster, &queue).count > 0); /* It is not known whether more will come. */
    for (uint32_t i = 0; i < 20; i++) {
        cluster.view.now_ns += 10 * MS;
        (void)home_join(&cluster, 2, 600);
    }
    queue = home_queue(&cluster, 2, 2, 0, 600);
    const struct dispatch_answer answer = home_ask(&cluster, &queue);
    assert_int_equal(answer.count, 0);
    assert_int_equal(answer.wake_at_ns, cluster.view.now_ns + 20 * MS); /* Two more. */
    queue = home_queue(&cluster, 2, 2, 550, 600); /* Four together take longer than that. */
    assert_true(home_ask(&cluster, &queue).count > 0);
    queue = home_queue(&cluster, 2, 4, 0, 600); /* Full. */
    assert_true(home_ask(&cluster, &queue).count > 0);
}

/* Two came within 100 ns; no more come, and they are not looked for all the time. */
static void a_silence_makes_a_queue_wait_for_longer(void **state)
{
    (void)state;
    uint32_t looks = 0;
    cluster_seat(&cluster, "esg:margin=0");
    (void)home_join(&cluster, 2, 600);
    cluster.view.now_ns += 100;
    (void)home_join(&cluster, 2, 600);
    const int64_t since_ns = cluster.view.now_ns;
    for (int64_t wake_ns = 1; wake_ns > 0 && looks < 1000; looks++) {
        const int64_t silence_ns = cluster.view.now_ns - since_ns;
        const struct queue_facts queue =
            home_queue(&cluster, 2, 2, (uint32_t)(silence_ns / MS), 600);
        wake_ns = home_ask(&cluster, &queue).wake_at_ns;
        assert_true(wake_ns == 0 || wake_ns - cluster.view.now_ns >= silence_ns / 8);
        cluster.view.now_ns = wake_ns > 0 ? wake_ns : cluster.view.now_ns;
    }
    assert_true(cluster.view.now_ns - since_ns > 10 * MS);
    assert_true(looks > 2 && looks < 200);
}

static void the_earliest_due_comes_first_and_the_lost_last(void **state)
{
    (void)state;
    cluster_seat(&cluster, "esg");
    const int64_t now_ns = cluster.view.now_ns;
    const int64_t early = cluster_order(&cluster, now_ns, now_ns + 300 * MS);
    const int64_t later = cluster_order(&cluster, now_ns, now_ns + 400 * MS);
    const int64_t lost = cluster_order(&cluster, now_ns - 290 * MS, now_ns + 10 * MS);
    const int64_t never = cluster_order(&cluster, now_ns, INT64_MAX);
    assert_true(early < later);
    assert_true(later > lost); /* Behind by one deadline, not for ever, */
    assert_true(early < lost); /* but behind what is still in time. */
    assert_true(later < never);
}

static void models_are_loaded_where_arrivals_will_need_them(void **state)
{
    (void)state;
    for (uint32_t worker = 0; worker < 4; worker++) {
        struct row row = cluster.board.entries[worker].live;
        model_set_remove(&row.cache.resident, 1);
        row.cache.free_bytes = 1000 + worker % 3;
        cluster_write(&cluster, &row);
    }
    cluster_seat(&cluster, "esg");
    assert_int_equal(policy_tick(&cluster.seat).warm_count, 0);
    for (uint32_t i = 0; i < 3; i++) {
        cluster.view.now_ns += 10 * MS;
        (void)home_join(&cluster, 1, 300);
    }
    const struct tick_answer answer = policy_tick(&cluster.seat);
    assert_int_equal(answer.warm_count, 1);
    assert_int_equal(answer.warms[0].model, 1);
    assert_int_equal(answer.warms[0].worker, 2); /* It has the most room. */
    cluster.view.now_ns += 2000 * MS;            /* The queue has run dry. */
    assert_int_equal(policy_tick(&cluster.seat).warm_count, 0);
    cluster_seat(&cluster, "esg:prewarm=0");
    assert_int_equal(policy_tick(&cluster.seat).warm_count, 0);
}

static void on_its_own_queue_a_worker_gets_configs_alone(void **state)
{
    (void)state;
    cluster_seat(&cluster, "dispatch=esg:wait=0:margin=0");
    struct queue_facts queue = home_queue(&cluster, 0, 1, 0, 300);
    queue.worker = 1;
    queue.gpu_free = 7;
    queue.cpu_free = 16;
    const struct dispatch_answer answer = home_ask(&cluster, &queue);
    assert_true(answer.count >= 3);
    expect_config(&answer.configs[0], 1, 1, 1);
    cluster.fleet->workers[1].device = 1; /* Where nothing was measured with shares. */
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 0);
}

/* Plans count a transfer for each task; in the queue of a worker that of its own is over. */
static void what_has_travelled_does_not_travel_again(void **state)
{
    (void)state;
    cluster_seat(&cluster, "esg:wait=0:margin=0:transfers");
    struct queue_facts queue = home_queue(&cluster, 2, 1, 200, 300); /* 100 ms are left. */
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 2);
    queue.worker = 1;
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 1);
    queue = home_queue(&cluster, 2, 1, 201, 300);
    queue.worker = 1;
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 2);
    cluster_seat(&cluster, "esg:wait=0:margin=0:transfers:group=1");
    queue = home_queue(&cluster, 1, 1, 99, 300); /* Due after two thirds. */
    queue.worker = 1;
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_CASE(with_time_to_spare_the_cheapest_config_runs),
        CLUSTER_CASE(what_is_lost_is_made_up_for),
        CLUSTER_CASE(batches_are_no_larger_than_the_queue),
        CLUSTER_CASE(data_comes_before_warm_models_before_packing),
        CLUSTER_CASE(a_local_start_is_weighed_against_a_load),
        CLUSTER_CASE(what_a_transfer_makes_late_comes_after_what_it_does_not),
        CLUSTER_CASE(what_fits_nowhere_waits_and_then_runs_small),
        CLUSTER_CASE(the_deadline_counts_when_a_budget_is_spent),
        CLUSTER_CASE(a_lost_batch_does_not_take_longer_than_its_share),
        CLUSTER_CASE(jobs_without_a_deadline_run_as_cheap_as_can_be),
        CLUSTER_CASE(a_queue_waits_for_more_while_that_is_in_time),
        CLUSTER_CASE(a_silence_makes_a_queue_wait_for_longer),
        CLUSTER_CASE(the_earliest_due_comes_first_and_the_lost_last),
        CLUSTER_CASE(models_are_loaded_where_arrivals_will_need_them),
        CLUSTER_CASE(on_its_own_queue_a_worker_gets_configs_alone),
        CLUSTER_CASE(what_has_travelled_does_not_travel_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
