/*
 * weft's home queues: which tasks wait there, and where their batches run.
 *
 * Covers: src/policy/weft_home.c src/policy/weft_home_plan.c src/policy/weft_haste.c
 *         src/policy/weft_learn.c src/policy/weft_give_up.c src/policy/weft_copy.c
 *         src/policy/weft_batch.c src/policy/weft_begin.c src/policy/weft_spare.c
 *         src/policy/weft_inputs.c src/policy/weft_ended.c src/policy/weft_kinds.c
 *         src/policy/weft_spot.c src/policy/paying.c
 */
#include "home_fixture.h"
#include "policy/weft_learn.h"

static struct cluster cluster;

/* Two tasks in a row with shares and batches. A byte is a nanosecond on links. */
static int setup(void **state)
{
    *state = &cluster;
    home_init_priced(&cluster);
    for (uint32_t model = 0; model < 2; model++) {
        home_shares(&cluster, model);
        home_point(&cluster, model, 4, 1, 1, 200);
        cluster_load(&cluster, model, 500 * MS);
        (void)cluster_task(&cluster, model);
    }
    cluster_edge(&cluster, 0, 1, 5 * MS);
    cluster_seal(&cluster);
    return 0;
}

static void tasks_with_shares_wait(void **state)
{
    (void)state;
    cluster_seat(&cluster, "weft");
    assert_true(policy_waits(&cluster.seat, 0));
    assert_true(policy_tick_ns(&cluster.seat) > 0);
    cluster_seat(&cluster, "weft:gather=0");
    assert_false(policy_waits(&cluster.seat, 0));
    assert_int_equal(policy_tick_ns(&cluster.seat), 0);
    cluster_seat(&cluster, "place=weft,dispatch=esg");
    assert_false(policy_waits(&cluster.seat, 0));
    cluster_seat(&cluster, "dispatch=weft");
    assert_true(policy_waits(&cluster.seat, 0));
}

static void one_device_that_costs_nothing_needs_no_home_queue(void **state)
{
    (void)state;
    cluster.fleet->prices.gpu = 0;
    cluster_seat(&cluster, "weft");
    assert_true(policy_waits(&cluster.seat, 0));
    for (uint32_t worker = 1; worker < 3; worker++) { /* One is cut, and one is a processor. */
        cluster.fleet->workers[worker].partition = worker;
    }
    cluster.fleet->workers[3].gpu_units = 1;
    cluster_seat(&cluster, "weft");
    assert_false(policy_waits(&cluster.seat, 0));
    cluster.fleet->prices.gpu = 1; /* Units are saved. */
    cluster_seat(&cluster, "weft");
    assert_true(policy_waits(&cluster.seat, 0));
}

/* Where ways are long on average, tasks are placed whose own inputs travel for long. */
static void tasks_whose_inputs_travel_for_long_are_placed(void **state)
{
    (void)state;
    cluster.graph->edges[0].bytes = 7 * MS; /* An eighth of the second run, not of both. */
    cluster_seat(&cluster, "weft");
    assert_true(policy_waits(&cluster.seat, 1));
    cluster.graph->edges[0].bytes = 9 * MS;
    cluster_seat(&cluster, "weft");
    assert_true(policy_waits(&cluster.seat, 0));
    assert_false(policy_waits(&cluster.seat, 1));
    struct queue_facts queue = home_queue(&cluster, 1, 1, 0, 900);
    queue.worker = 2;
    queue.gpu_free = 7;
    queue.cpu_free = 16;
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 1); /* As with esg. */
    cluster_seat(&cluster, "weft:gather=0");
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 0);
}

/* A tenth of a run is long for what has to go where its models are. */
static void ways_are_long_sooner_where_memory_is_too_small(void **state)
{
    (void)state;
    cluster.graph->edges[0].bytes = 9 * MS;
    cluster.graph->input_bytes = 3 * MS;
    cluster_seat(&cluster, "weft");
    assert_true(policy_waits(&cluster.seat, 0));
    cluster.fleet->workers[2].memory_bytes = 2 << 18;
    cluster_seat(&cluster, "weft");
    assert_true(policy_waits(&cluster.seat, 0));
    cluster.fleet->workers[2].memory_bytes--;
    cluster_seat(&cluster, "weft");
    assert_false(policy_waits(&cluster.seat, 0));
    cluster.graph->input_bytes = 3 * MS / 2; /* A twentieth. */
    cluster_seat(&cluster, "weft");
    assert_true(policy_waits(&cluster.seat, 0));
}

/* All seven units end soonest; while no more than half are idle a batch has two of them at most. */
static void units_that_cost_nothing_are_used_while_they_are_idle(void **state)
{
    (void)state;
    const struct queue_facts queue = home_queue(&cluster, 1, 1, 0, 300);
    cluster.fleet->prices = (struct fleet_prices){.gpu = 0};
    cluster_seat(&cluster, "weft");
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 7);
    home_occupy(&cluster, 1, 0, 500);
    home_occupy(&cluster, 2, 0, 500);
    cluster_seat(&cluster, "weft"); /* It knows what is idle for a moment. */
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 2);
    home_occupy(&cluster, 3, 0, 500);
    cluster_seat(&cluster, "weft");
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 1);
}

/* The config of @items of the second task, which wait at worker 2. */
static struct config config_there(const char *policy, uint32_t items)
{
    struct queue_facts queue = home_queue(&cluster, 1, items, 0, 900);
    queue.worker = 2;
    queue.gpu_free = 7;
    cluster_seat(&cluster, policy);
    const struct dispatch_answer answer = home_ask(&cluster, &queue);
    assert_int_equal(answer.count, 1);
    return answer.configs[0];
}

static void four_batches_share_a_device_that_costs_nothing(void **state)
{
    (void)state;
    cluster.fleet->prices.gpu = 0;
    assert_int_equal(config_there("weft:gather=0", 1).gpu, 2);
    assert_int_equal(config_there("weft:gather=0:parts=7", 1).gpu, 1);
    assert_int_equal(config_there("weft:gather=0:parts=1", 1).gpu, 0);
    cluster.fleet->workers[2].partitions = 5; /* It is shared already. */
    assert_int_equal(config_there("weft:gather=0", 1).gpu, 0);
    cluster.fleet->workers[2].partitions = 0;
    cluster.fleet->prices.gpu = 1; /* Where shares are not looked for, the device is not cut. */
    assert_int_equal(config_there("weft:gather=0", 1).gpu, 0);
}

/* On two units an item takes 62 ms, and several take that each until four were measured. */
static void a_batch_has_as_many_as_pay(void **state)
{
    (void)state;
    cluster.fleet->prices.gpu = 0;
    assert_int_equal(config_there("weft:gather=0", 1).batch, 1);
    assert_int_equal(config_there("weft:gather=0", 4).batch, 1);
    home_point(&cluster, 1, 4, 1, 2, 100);
    assert_int_equal(config_there("weft:gather=0", 2).batch, 2);
    assert_int_equal(config_there("weft:gather=0", 4).batch, 4);
    assert_int_equal(config_there("weft:gather=0:paying=0", 4).batch, 1);
}

static void a_full_worker_with_the_model_is_waited_for(void **state)
{
    (void)state;
    cluster_seat(&cluster, "weft");
    const struct queue_facts queue = home_queue(&cluster, 1, 1, 0, 900);
    for (uint32_t worker = 1; worker < 4; worker++) {
        cluster_drop(&cluster, worker, 1);
    }
    assert_int_equal(home_ask(&cluster, &queue).workers[0], 0);
    home_occupy(&cluster, 0, 0, 40);
    const struct dispatch_answer waits = home_ask(&cluster, &queue);
    assert_int_equal(waits.count, 0);
    assert_int_equal(waits.wake_at_ns, 0);
    assert_int_equal(waits.waits_for, 0);
    home_occupy(
        &cluster, 0, 0,
        700); /* Twice that is less than a load of 500 that costs others twice as much. */
    assert_int_equal(home_ask(&cluster, &queue).waits_for, 0);
    home_occupy(&cluster, 0, 0, 800);
    const struct dispatch_answer leaves = home_ask(&cluster, &queue);
    assert_true(leaves.count > 0);
    assert_int_not_equal(leaves.workers[0], 0);
    home_occupy(&cluster, 0, 0, 40);
    cluster_seat(&cluster, "weft:hold=0");
    assert_true(home_ask(&cluster, &queue).count > 0);
}

/* Worker 3 is of another kind, three times as slow; five configs of the others are cheaper. */
static void add_slow_kind(void)
{
    struct profile *profile = cluster.profile;
    const struct profile_point point = {.items = 1, .cpu = 1, .gpu = 1, .run_ns = 300 * MS};
    for (uint32_t model = 0; model < 2; model++) {
        home_point(&cluster, model, 1, 2, 1, 95);
        home_point(&cluster, model, 1, 3, 1, 90);
        assert_int_equal(profile_add_point(profile, model, /* device */ 1, &point), WEFT_OK);
    }
    cluster.fleet->workers[3].device = 1;
}

static void what_would_wait_for_one_kind_of_device_takes_another(void **state)
{
    (void)state;
    add_slow_kind();
    cluster_seat(&cluster, "weft");
    const struct queue_facts queue = home_queue(&cluster, 1, 1, 0, 900);
    assert_int_not_equal(home_ask(&cluster, &queue).workers[0], 3);
    for (uint32_t worker = 0; worker < 3; worker++) {
        home_occupy(&cluster, worker, 0, 100); /* Twice that, and 30: sooner than 300. */
    }
    assert_int_equal(home_ask(&cluster, &queue).count, 0);
    for (uint32_t worker = 0; worker < 3; worker++) {
        home_occupy(&cluster, worker, 0, 200);
    }
    const struct dispatch_answer leaves = home_ask(&cluster, &queue);
    assert_int_equal(leaves.count, 1);
    assert_int_equal(leaves.workers[0], 3);
    const struct queue_facts urgent = home_queue(&cluster, 1, 1, 600, 900);
    const struct dispatch_answer waits = home_ask(&cluster, &urgent); /* It would be late there. */
    assert_int_equal(waits.count, 0);
    assert_int_not_equal(waits.waits_for, 3);
    cluster_seat(&cluster, "dispatch=weft:gather=0"); /* Nothing else places what need not wait. */
    assert_int_equal(home_ask(&cluster, &queue).workers[0], 3);
}

/* The wait counts twice, as others wait too; a load three times, unless there is room for it. */
static void a_load_into_free_memory_costs_nobody(void **state)
{
    (void)state;
    cluster_seat(&cluster, "weft");
    const struct queue_facts queue = home_queue(&cluster, 1, 1, 0, 900);
    for (uint32_t worker = 1; worker < 4; worker++) {
        cluster_drop(&cluster, worker, 1);
    }
    home_occupy(&cluster, 0, 0, 400);
    assert_int_equal(home_ask(&cluster, &queue).count, 0);
    struct row row = cluster.board.entries[2].live;
    row.cache.free_bytes = 1 << 20;
    cluster_write(&cluster, &row);
    const struct dispatch_answer loads = home_ask(&cluster, &queue);
    assert_true(loads.count > 0);
    assert_int_equal(loads.workers[0], 2);
    home_occupy(&cluster, 0, 0, 200); /* Twice that is less than a load. */
    assert_int_equal(home_ask(&cluster, &queue).count, 0);
}

/* Where a task goes that waits for worker 0, or loads where the other model has to leave. */
static uint32_t wait_or_evict(const char *policy)
{
    cluster_seat(&cluster, policy);
    for (uint32_t i = 0; i < 20; i++) {
        cluster.view.now_ns += 10 * MS;
        policy_arrived(&cluster.seat, &cluster.job);
    }
    const struct queue_facts queue = home_queue(&cluster, 1, 1, 0, 900);
    home_occupy(&cluster, 0, 0, 800);
    const struct dispatch_answer answer = home_ask(&cluster, &queue);
    return answer.count == 0 ? answer.waits_for : answer.workers[0];
}

static void what_is_used_often_is_not_evicted(void **state)
{
    (void)state;
    for (uint32_t worker = 1; worker < 4; worker++) {
        cluster_drop(&cluster, worker, 1);
    }
    assert_int_not_equal(wait_or_evict("weft"), 0); /* Half of the memory has room for all. */
    for (uint32_t worker = 0; worker < 4; worker++) {
        cluster.fleet->workers[worker].memory_bytes = (4 << 18) - 2;
    }
    assert_int_equal(wait_or_evict("weft"), 0);
    assert_int_not_equal(wait_or_evict("weft:keep=0"), 0);
}

static void a_late_task_takes_what_ends_first(void **state)
{
    (void)state;
    cluster_seat(&cluster, "weft");
    /* With 45 ms left no config is in time but the whole device, and none is free. */
    const struct queue_facts queue = home_queue(&cluster, 1, 1, 855, 900);
    for (uint32_t worker = 0; worker < 4; worker++) {
        home_occupy(&cluster, worker, 2, 400);
    }
    const struct dispatch_answer answer = home_ask(&cluster, &queue);
    assert_int_equal(answer.count, 1);
    assert_int_equal(answer.configs[0].gpu, 2);
    for (uint32_t worker = 0; worker < 4; worker++) {
        home_occupy(
            &cluster, worker, 2,
            15); /* Waited for twice, and 30 of running: less than 62 at once. */
    }
    assert_int_equal(home_ask(&cluster, &queue).count, 0);
}

/*
 * What was put off runs only while half of the units are idle. It has all the time there is once
 * its own is over.
 */
static void what_was_put_off_runs_where_much_is_idle(void **state)
{
    (void)state;
    cluster_seat(&cluster, "weft");
    struct queue_facts queue = home_queue(&cluster, 1, 1, 855, 900);
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 7); /* As fast as it can. */
    queue.put_off = true;
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 7);
    struct queue_facts over = home_queue(&cluster, 1, 1, 901, 900);
    over.put_off = true;
    assert_int_equal(home_ask(&cluster, &over).configs[0].gpu, 1);
    for (uint32_t worker = 0; worker < 4; worker++) {
        home_occupy(&cluster, worker, 3, 400);
    }
    cluster.view.now_ns += MS; /* It is not looked at anew for every task. */
    assert_int_equal(home_ask(&cluster, &queue).count, 0);
    queue.put_off = false;
    assert_int_not_equal(home_ask(&cluster, &queue).count, 0);
}

/* With 20 ms left even the whole device is too slow; but what was measured may be wrong. */
static void what_seems_late_hurries_where_much_is_idle(void **state)
{
    (void)state;
    cluster_seat(&cluster, "weft");
    const struct queue_facts queue = home_queue(&cluster, 1, 1, 880, 900);
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 7);
    for (uint32_t worker = 0; worker < 3; worker++) {
        home_occupy(&cluster, worker, 0, 400);
    }
    cluster.view.now_ns += MS;
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 1);
}

/* The hope of a job with an SLO of 900 ms, @left_ms before it; the fastest rest takes 60. */
static enum hope hope(int64_t left_ms)
{
    struct job_facts job = cluster.job;
    job.deadline_ns = cluster.view.now_ns + left_ms * MS;
    job.arrived_ns = job.deadline_ns - 900 * MS;
    const struct ready_facts facts = {
        .job = &job, .items = 1, .ready_ns = cluster.view.now_ns - MS};
    return policy_hope(&cluster.seat, &facts);
}

/* While nothing is idle three quarters of the 840 ms that all may wait have to be left. */
static void the_busier_the_sooner_a_job_is_put_off(void **state)
{
    (void)state;
    cluster_seat(&cluster, "weft");
    assert_int_equal(hope(60), HOPE_GOOD);
    assert_int_equal(hope(59), HOPE_LATE);
    for (uint32_t worker = 0; worker < 4; worker++) {
        home_occupy(&cluster, worker, 0, 400);
    }
    cluster_seat(&cluster, "weft"); /* It has seen nothing else. */
    assert_int_equal(hope(60 + 630), HOPE_GOOD);
    assert_int_equal(hope(60 + 629), HOPE_LATE);
}

static void a_job_without_slo_waits_at_home_for_those_with_one(void **state)
{
    (void)state;
    cluster_seat(&cluster, "weft");
    const int64_t alone_ns = cluster_order(&cluster, 7, INT64_MAX);
    const int64_t due_ns = cluster_order(&cluster, 7, 900 * MS);
    cluster_beside(&cluster, 0, 900 * MS);
    cluster_seat(&cluster, "weft");
    assert_int_equal(cluster_order(&cluster, 7, INT64_MAX), alone_ns + NO_DEADLINE_NS);
    assert_int_equal(cluster_order(&cluster, 7, 900 * MS), due_ns);
}

/* How many of 200 jobs that have all their time before them are put off at @task. */
static uint32_t count_put_off(uint32_t task, uint32_t priority)
{
    struct job_facts job = cluster.job;
    uint32_t count = 0;
    job.priority = priority;
    for (uint32_t i = 0; i < 200; i++) {
        cluster.view.now_ns += 50 * MS;
        job.id.number = i + 1;
        job.arrived_ns = cluster.view.now_ns - MS;
        job.deadline_ns = cluster.view.now_ns + 900 * MS;
        const struct ready_facts facts = {
            .job = &job, .task = task, .items = 1, .ready_ns = cluster.view.now_ns - MS};
        count += policy_hope(&cluster.seat, &facts) == HOPE_LATE ? 1 : 0;
    }
    return count;
}

/* A row says that half of the later tasks are put off. */
static void what_would_be_put_off_later_does_not_begin(void **state)
{
    (void)state;
    for (uint32_t worker = 0; worker < 4; worker++) {
        home_occupy(&cluster, worker, 0, 60000);
    }
    cluster_seat(&cluster, "weft");
    assert_int_equal(count_put_off(0, 0), 0);
    struct row row = cluster.board.entries[3].live;
    row.load.put_off = 128;
    cluster_write(&cluster, &row);
    (void)count_put_off(0, 0);
    const uint32_t count = count_put_off(0, 0); /* 0.9 of what is lost so and later: 0.82. */
    assert_true(count > 150 && count < 180);
    assert_int_equal(count_put_off(1, 0), 0); /* What has begun, */
    assert_int_equal(count_put_off(0, 1), 0); /* and what is urgent, goes on. */
    cluster_seat(&cluster, "weft:begin=0");
    assert_int_equal(count_put_off(0, 0), 0);
    for (uint32_t worker = 0; worker < 4; worker++) {
        home_occupy(&cluster, worker, 7, 0);
    }
    cluster_seat(&cluster, "weft");
    assert_int_equal(count_put_off(0, 0), 0); /* There is room. */
}

/* Half of the jobs that come are urgent: others are put off first, and then what is left of it. */
static void what_is_urgent_is_put_off_last(void **state)
{
    (void)state;
    for (uint32_t worker = 0; worker < 4; worker++) {
        home_occupy(&cluster, worker, 0, 60000);
    }
    struct row row = cluster.board.entries[3].live;
    row.load.put_off = 128;
    cluster_write(&cluster, &row);
    cluster_seat(&cluster, "weft");
    for (uint32_t i = 0; i < 400; i++) {
        struct job_facts job = cluster.job;
        job.priority = i % 2;
        assert_true(policy_admit(&cluster.seat, &job).admitted);
    }
    (void)count_put_off(0, 0);
    assert_int_equal(count_put_off(0, 0), 200); /* 0.82 of all: all of these, */
    const uint32_t count = count_put_off(0, 1);
    assert_true(count > 110 && count < 145); /* and 0.32 of 0.5. */
}

/* In the queue of a worker: not what waits for its model, whose load would end with it. */
static void what_waits_for_its_model_is_not_put_off(void **state)
{
    (void)state;
    cluster_seat(&cluster, "weft:gather=0");
    assert_int_equal(hope(59), HOPE_LATE);
    cluster_drop(&cluster, 0, 0);
    assert_int_equal(hope(59), HOPE_GOOD);
}

static void all_inputs_of_a_batch_count(void **state)
{
    (void)state;
    cluster_seat(&cluster, "weft:haste=0");
    struct queue_facts queue = home_queue(&cluster, 1, 4, 0, 2000);
    const uint32_t holders[] = {1, 2, 2, 3};
    queue.holder = 1;
    queue.look_count = 4;
    memcpy(queue.holders, holders, sizeof(holders));
    const struct dispatch_answer answer = home_ask(&cluster, &queue);
    assert_int_equal(answer.configs[0].batch, 4);
    assert_int_equal(answer.workers[0], 2);
}

/* The first worker that has all wins, but not where batches leave no memory to work with. */
static void what_would_wait_for_memory_goes_elsewhere(void **state)
{
    (void)state;
    const struct queue_facts queue = home_queue(&cluster, 1, 1, 0, 900);
    const uint64_t item_bytes = 1 << 16;
    cluster.profile->models[1].workspace_bytes_per_item = item_bytes;
    for (uint32_t worker = 0; worker < 4; worker++) { /* Both models, and three items. */
        cluster.fleet->workers[worker].memory_bytes = (2 << 18) + 3 * item_bytes;
    }
    cluster_seat(&cluster, "weft");
    home_occupy(&cluster, 0, 5, 400);
    assert_int_equal(home_ask(&cluster, &queue).workers[0], 0);
    home_occupy(&cluster, 0, 4, 400);
    assert_int_not_equal(home_ask(&cluster, &queue).workers[0], 0);
    for (uint32_t worker = 0; worker < 4; worker++) {
        cluster.fleet->workers[worker].memory_bytes = 8 << 18;
    }
    cluster_seat(&cluster, "weft");
    assert_int_equal(home_ask(&cluster, &queue).workers[0], 0);
}

/* While plans hold nothing is bought, and with trouble=0 what is idle. */
static void what_is_idle_is_used(void **state)
{
    (void)state;
    const struct queue_facts queue = home_queue(&cluster, 1, 1, 0, 300);
    cluster_seat(&cluster, "weft");
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 1);
    cluster_seat(&cluster, "weft:trouble=0");
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 7);
    for (uint32_t worker = 0; worker < 4; worker++) {
        home_occupy(&cluster, worker, 1, 400);
    }
    cluster.view.now_ns += MS; /* It is not looked at anew for every task. */
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 1);
    cluster_seat(&cluster, "weft:haste=0:trouble=0");
    home_occupy(&cluster, 0, 7, 0);
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 1);
}

/* The whole device, which costs nothing, needs two CPUs: less of it is in time as well. */
static void haste_makes_nobody_wait(void **state)
{
    (void)state;
    const struct queue_facts queue = home_queue(&cluster, 1, 1, 0, 300);
    cluster.fleet->prices = (struct fleet_prices){.gpu = 0};
    cluster_seat(&cluster, "weft");
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 7);
    for (uint32_t worker = 0; worker < 4; worker++) {
        home_free(&cluster, worker, 7, 1);
    }
    const struct dispatch_answer answer = home_ask(&cluster, &queue);
    assert_true(answer.count > 0);
    assert_int_equal(answer.configs[0].cpu, 1);
}

/* Eight batches load their model first: each is late by a sixth of its time. */
static void start_late(const char *policy)
{
    const struct queue_facts patient = home_queue(&cluster, 1, 1, 0, 3000);
    cluster_seat(&cluster, policy);
    for (uint32_t worker = 0; worker < 4; worker++) {
        cluster_drop(&cluster, worker, 1);
    }
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(home_ask(&cluster, &patient).count, 1);
    }
    for (uint32_t worker = 0; worker < 4; worker++) {
        cluster_hold(&cluster, worker, 1);
    }
}

/* Where units have a price, time is bought only if batches start late now and then. */
static void haste_is_bought_where_plans_fail(void **state)
{
    (void)state;
    const struct queue_facts queue = home_queue(&cluster, 1, 1, 0, 300);
    cluster_seat(&cluster, "weft:trouble=0");
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 7);
    cluster_seat(&cluster, "weft");
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 1);
    start_late("weft");
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 7);
}

/* A third of what is needed for full haste buys a ninth of it. */
static void little_trouble_buys_little(void **state)
{
    (void)state;
    const struct queue_facts queue = home_queue(&cluster, 1, 1, 0, 150);
    start_late("weft:trouble=16");
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 1);
    start_late("weft:trouble=32");
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 2);
}

static void a_slow_worker_is_avoided(void **state)
{
    (void)state;
    cluster_seat(&cluster, "weft");
    const struct queue_facts queue = home_queue(&cluster, 1, 1, 0, 900);
    const struct dispatch_answer before = home_ask(&cluster, &queue);
    const struct ended_facts ended = {
        .task = 1,
        .worker = before.workers[0],
        .items = 1,
        .config = before.configs[0],
        .run_ns = 400 * MS,
        .completed = true,
    };
    assert_int_equal(before.workers[0], 0);
    struct ended_facts usual = ended;
    usual.run_ns = before.configs[0].gpu == 1 ? 100 * MS : 62 * MS; /* As measured. */
    for (uint32_t i = 0; i < 8; i++) { /* Or it may be the profile that is wrong. */
        usual.worker = 1 + i % 3;
        policy_ended(&cluster.seat, &usual);
    }
    policy_ended(&cluster.seat, &ended);
    assert_int_equal(home_ask(&cluster, &queue).workers[0], 1);
    cluster_seat(&cluster, "weft:learn=0");
    policy_ended(&cluster.seat, &ended);
    assert_int_equal(home_ask(&cluster, &queue).workers[0], 0);
}

/* @worker says that it takes so many times longer than expected. */
static void slow_down(uint32_t worker, uint32_t times)
{
    struct row row = cluster.board.entries[worker].live;
    row.load.accepting = (uint8_t)(ROW_ACCEPTING + (times - 1) * ROW_SLOWNESS_PARTS);
    row.load.at_ns = cluster.view.now_ns;
    cluster_write(&cluster, &row);
}

/* Not if all are: then it is the profile that is wrong. */
static void a_worker_that_is_slow_by_its_row_is_avoided(void **state)
{
    (void)state;
    cluster_seat(&cluster, "weft");
    const struct queue_facts queue = home_queue(&cluster, 1, 1, 0, 900);
    slow_down(0, 4);
    assert_int_equal(home_ask(&cluster, &queue).workers[0], 1);
    for (uint32_t worker = 1; worker < 4; worker++) {
        slow_down(worker, 4);
    }
    cluster_seat(&cluster, "weft");
    const struct queue_facts hurried = home_queue(&cluster, 1, 1, 0, 300);
    assert_int_equal(home_ask(&cluster, &hurried).workers[0], 0);
    assert_int_equal(home_ask(&cluster, &hurried).configs[0].gpu, 1);
}

/* Plans count on others beside a batch: one that takes so long is no slower than planned. */
static void what_others_do_to_a_batch_is_no_news(void **state)
{
    (void)state;
    for (uint32_t worker = 0; worker < 4; worker++) {
        cluster.fleet->workers[worker].sharing = SHARES_SM;
        cluster.fleet->workers[worker].interference = 0.7;
    }
    cluster_seat(&cluster, "weft:haste=0");
    const struct queue_facts queue = home_queue(&cluster, 1, 1, 0, 190);
    const struct dispatch_answer before = home_ask(&cluster, &queue);
    assert_int_equal(before.configs[0].gpu, 1);
    struct ended_facts ended = {
        .task = 1,
        .items = 1,
        .config = before.configs[0],
        .run_ns = 160 * MS, /* Of 100; six of seven units are others'. */
        .completed = true,
    };
    for (uint32_t i = 0; i < 16; i++) {
        ended.worker = i % 4;
        policy_ended(&cluster.seat, &ended);
    }
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 1);
    ended.run_ns = 260 * MS;
    for (uint32_t i = 0; i < 16; i++) {
        ended.worker = i % 4;
        policy_ended(&cluster.seat, &ended);
    }
    assert_int_not_equal(home_ask(&cluster, &queue).configs[0].gpu, 1);
}

/* What 100 ms of @batch have to be taken for. */
static int64_t learnt_ns(
    const struct weft_learn *learn, const struct weft_batch *batch, int64_t now_ns)
{
    const int64_t of_worker = weft_learnt_worker(learn, batch->worker, now_ns);
    const int64_t of_config = weft_learnt_config(learn, batch->queue, batch->device, batch->config);
    return 100 * MS + weft_learnt_more_ns(100 * MS, of_config, of_worker);
}

static void what_is_learnt_of_a_worker_fades(void **state)
{
    (void)state;
    static struct weft_learn learn;
    const struct weft_batch slow = {.queue = 3, .worker = 5, .config = {.batch = 1, .gpu = 1}};
    struct weft_batch other = slow;
    for (uint32_t i = 0; i < 20; i++) {
        weft_learn_note(&learn, &slow, 100 * MS, 400 * MS, i);
        other.worker = 6 + i;
        weft_learn_note(&learn, &other, 100 * MS, 100 * MS, i);
    }
    assert_in_range(learnt_ns(&learn, &slow, 20), 300 * MS, 420 * MS);
    assert_in_range(learnt_ns(&learn, &other, 20), 80 * MS, 130 * MS);
    const int64_t later_ns = WEFT_LEARN_SPAN_NS + 20;
    assert_int_equal(learnt_ns(&learn, &slow, later_ns), learnt_ns(&learn, &other, later_ns));
    /* What a config takes everywhere is remembered. */
    for (uint32_t i = 0; i < 50; i++) {
        other.config.gpu = 2;
        other.worker = i;
        weft_learn_note(&learn, &other, 100 * MS, 200 * MS, later_ns);
    }
    assert_in_range(learnt_ns(&learn, &other, 3 * later_ns), 150 * MS, 210 * MS);
}

/* A profile that is wrong is mostly wrong about the model: other configs need not be tried. */
static void a_config_that_has_not_run_takes_what_its_queue_takes(void **state)
{
    (void)state;
    static struct weft_learn learn;
    struct weft_batch batch = {.queue = 3, .config = {.batch = 1, .gpu = 1}};
    for (uint32_t i = 0; i < 20; i++) {
        batch.worker = i % 4;
        weft_learn_note(&learn, &batch, 100 * MS, 200 * MS, i);
    }
    const struct weft_batch untried = {
        .queue = 3, .worker = 9, .config = {.batch = 4, .cpu = 2, .gpu = 7}};
    const struct weft_batch other = {.queue = 4, .worker = 9, .config = {.batch = 1, .gpu = 1}};
    assert_in_range(learnt_ns(&learn, &untried, 20), 180 * MS, 220 * MS);
    assert_in_range(learnt_ns(&learn, &other, 20), 180 * MS, 220 * MS);
    for (uint32_t i = 0; i < 4; i++) { /* It is not the workers that are slow. */
        assert_int_equal(weft_learnt_worker(&learn, i, 20), WEFT_LEARN_ONE);
    }
}

/* Batches of another queue take @run_ns, instead of 100 ms. */
static void learn_of_another(int64_t run_ns)
{
    struct ended_facts ended = {
        .task = 0,
        .items = 1,
        .config = {.batch = 1, .gpu = 1},
        .run_ns = run_ns,
        .completed = true,
    };
    for (uint32_t i = 0; i < 16; i++) {
        ended.worker = i % 4;
        policy_ended(&cluster.seat, &ended);
    }
}

/* A profile that is wrong about all that ran is wrong about the rest. */
static void what_all_takes_is_expected_of_a_queue_that_is_new(void **state)
{
    (void)state;
    const struct queue_facts queue = home_queue(&cluster, 1, 1, 0, 150);
    cluster_seat(&cluster, "weft:haste=0");
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 1);
    learn_of_another(200 * MS);
    assert_int_not_equal(home_ask(&cluster, &queue).configs[0].gpu, 1);
    cluster_seat(&cluster, "weft:haste=0:learn=0");
    learn_of_another(200 * MS);
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 1);
}

static void models_in_use_are_copied_into_free_memory(void **state)
{
    (void)state;
    cluster_seat(&cluster, "weft");
    for (uint32_t worker = 1; worker < 4; worker++) {
        cluster_drop(&cluster, worker, 1);
    }
    (void)home_join(&cluster, 1, 900);
    cluster.view.now_ns += 100 * MS;
    (void)home_join(&cluster, 1, 900);
    assert_int_equal(policy_tick(&cluster.seat).warm_count, 0); /* All memory is in use. */
    struct row row = cluster.board.entries[2].live;
    row.cache.free_bytes = 1 << 19;
    cluster_write(&cluster, &row);
    const struct tick_answer answer = policy_tick(&cluster.seat);
    assert_true(answer.warm_count > 0);
    assert_int_equal(answer.warms[0].worker, 2);
    assert_int_equal(answer.warms[0].model, 1);
}

/* Nothing but @model leaves @worker, which has room for two. */
static void make_room(uint32_t worker, uint32_t model)
{
    struct row row = cluster.board.entries[worker].live;
    model_set_remove(&row.cache.resident, model);
    row.cache.free_bytes = 1 << 19;
    cluster_write(&cluster, &row);
}

/* The second and third of a batch come a moment after the first. First tasks come alone. */
static void what_ran_together_is_awaited_for_a_moment(void **state)
{
    (void)state;
    cluster_seat(&cluster, "weft");
    const int64_t began_ns = cluster.view.now_ns;
    const int64_t until_ns = began_ns + cluster.fleet->network.latency_ns + 1;
    (void)home_join(&cluster, 0, 900);
    const struct queue_facts first = home_queue(&cluster, 0, 1, 0, 900);
    assert_int_equal(home_ask(&cluster, &first).count, 1);
    (void)home_join(&cluster, 1, 900);
    const struct queue_facts queue = home_queue(&cluster, 1, 1, 0, 900);
    assert_int_equal(home_ask(&cluster, &queue).count, 0);
    assert_int_equal(home_ask(&cluster, &queue).wake_at_ns, until_ns);
    cluster.view.now_ns = until_ns - 1; /* What still comes does not make it longer. */
    (void)home_join(&cluster, 1, 900);
    assert_int_equal(home_ask(&cluster, &queue).wake_at_ns, until_ns);
    cluster.view.now_ns = until_ns;
    assert_int_equal(home_ask(&cluster, &queue).count, 1);
    cluster.view.now_ns = began_ns;
    cluster_seat(&cluster, "weft:together=0");
    (void)home_join(&cluster, 1, 900);
    assert_int_equal(home_ask(&cluster, &queue).count, 1);
}

/*
 * In 330 ms a batch of four would be in time behind one task on two units, and is cheap. But one
 * task is all that comes, so both are cheapest on one unit.
 */
static void plans_count_on_no_larger_batches(void **state)
{
    (void)state;
    const struct queue_facts queue = home_queue(&cluster, 0, 1, 0, 330);
    cluster_seat(&cluster, "weft:together=0");
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 2);
    cluster_seat(&cluster, "weft");
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 1);
}

/* Three tasks come to the queue of @task, one in 100 ms. */
static void use_queue(uint32_t task)
{
    for (uint32_t i = 0; i < 3; i++) {
        cluster.view.now_ns += 100 * MS;
        (void)home_join(&cluster, task, 900);
    }
}

/* Whether two tasks wait for two more if four take @ms: one task takes 100. */
static bool waits_for_four_in(int64_t ms)
{
    for (uint32_t model = 0; model < 2; model++) {
        const struct profile_point point = {.items = 4, .cpu = 1, .gpu = 1, .run_ns = ms * MS};
        profile_put_point(cluster.profile, model, 0, &point);
    }
    cluster_seat(&cluster, "weft");
    use_queue(0);
    const struct queue_facts queue = home_queue(&cluster, 0, 2, 0, 1500);
    return home_ask(&cluster, &queue).wake_at_ns != 0;
}

/* It saves 7.5 %. But in one case of four none comes: a quarter less is saved, or 5.6 %. */
static void a_wait_may_be_in_vain(void **state)
{
    (void)state;
    assert_true(waits_for_four_in(370));
    assert_false(waits_for_four_in(375)); /* 6.25 and 4.7 %. */
}

static void what_fewest_workers_hold_is_copied_first(void **state)
{
    (void)state;
    cluster_seat(&cluster, "weft");
    cluster_drop(&cluster, 1, 1);
    make_room(2, 1);
    make_room(3, 0);
    make_room(3, 1);
    use_queue(0);
    use_queue(1);
    const struct tick_answer answer = policy_tick(&cluster.seat);
    assert_int_equal(answer.warm_count, 2);
    assert_int_equal(answer.warms[0].worker, 2);
    assert_int_equal(answer.warms[0].model, 1);
    assert_int_equal(answer.warms[1].worker, 3); /* Now two hold the one, and three the other. */
    assert_int_equal(answer.warms[1].model, 1);
    cluster_hold(&cluster, 1, 1);
    cluster_hold(&cluster, 2, 1);
    assert_int_equal(policy_tick(&cluster.seat).warms[0].model, 0); /* As few: the first. */
}

static void what_fewest_of_the_rack_hold_is_copied_first(void **state)
{
    (void)state;
    cluster.fleet->network.kind = NETWORK_TWO_TIER;
    cluster.fleet->network.nodes_per_rack = 2;
    cluster_drop(
        &cluster, 0,
        0); /* Of the first model there is one, near, of the second there are two, far. */
    cluster_drop(&cluster, 1, 0);
    cluster_drop(&cluster, 2, 1);
    make_room(3, 0);
    make_room(3, 1);
    cluster_seat(&cluster, "weft:copy=2");
    use_queue(0);
    use_queue(1);
    assert_int_equal(policy_tick(&cluster.seat).warms[0].model, 0);
    cluster_seat(&cluster, "weft");
    use_queue(0);
    use_queue(1);
    assert_int_equal(policy_tick(&cluster.seat).warms[0].worker, 3);
    assert_int_equal(policy_tick(&cluster.seat).warms[0].model, 1);
    make_room(2, 1);
    const struct tick_answer answer = policy_tick(&cluster.seat);
    assert_int_equal(answer.warms[0].worker, 2);
    assert_int_equal(answer.warms[0].model, 1);
    assert_int_equal(answer.warms[1].worker, 3); /* Now each has one near: the fewer of all. */
    assert_int_equal(answer.warms[1].model, 0);
}

static void a_worker_that_loads_is_left_alone(void **state)
{
    (void)state;
    cluster_seat(&cluster, "weft");
    make_room(2, 1);
    use_queue(1);
    assert_int_equal(policy_tick(&cluster.seat).warm_count, 1);
    struct row row = cluster.board.entries[2].live;
    model_set_add(&row.cache.loading, 0);
    cluster_write(&cluster, &row);
    assert_int_equal(policy_tick(&cluster.seat).warm_count, 0);
}

/* Tasks of the second queue will come: its model is loaded ahead if inputs travel for long. */
static void models_come_before_tasks_whose_inputs_are_held_up(void **state)
{
    (void)state;
    cluster_seat(&cluster, "weft");
    make_room(2, 1);
    use_queue(0);
    assert_int_equal(policy_tick(&cluster.seat).warm_count, 1);
    cluster.graph->edges[0].bytes = MS;
    cluster_seat(&cluster, "weft");
    use_queue(0);
    assert_int_equal(policy_tick(&cluster.seat).warm_count, 0);
}

/* Where not all models fit, free memory is filled before tasks of the second queue have come. */
static void short_memory_is_filled_with_models_of_jobs_under_way(void **state)
{
    (void)state;
    cluster.graph->edges[0].bytes = MS;
    cluster_seat(&cluster, "weft");
    cluster.catalogue.model_count = 2;
    make_room(2, 1);
    use_queue(0);
    assert_int_equal(policy_tick(&cluster.seat).warm_count, 0);
    cluster.fleet->workers[2].memory_bytes = (1 << 19) - 1;
    const struct tick_answer answer = policy_tick(&cluster.seat);
    assert_int_equal(answer.warm_count, 1);
    assert_int_equal(answer.warms[0].worker, 2);
    assert_int_equal(answer.warms[0].model, 1);
    cluster_seat(&cluster, "weft:copy=0");
    use_queue(0);
    assert_int_equal(policy_tick(&cluster.seat).warm_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_CASE(tasks_with_shares_wait),
        CLUSTER_CASE(one_device_that_costs_nothing_needs_no_home_queue),
        CLUSTER_CASE(tasks_whose_inputs_travel_for_long_are_placed),
        CLUSTER_CASE(ways_are_long_sooner_where_memory_is_too_small),
        CLUSTER_CASE(units_that_cost_nothing_are_used_while_they_are_idle),
        CLUSTER_CASE(four_batches_share_a_device_that_costs_nothing),
        CLUSTER_CASE(a_batch_has_as_many_as_pay),
        CLUSTER_CASE(what_waits_for_its_model_is_not_put_off),
        CLUSTER_CASE(what_ran_together_is_awaited_for_a_moment),
        CLUSTER_CASE(plans_count_on_no_larger_batches),
        CLUSTER_CASE(a_wait_may_be_in_vain),
        CLUSTER_CASE(a_full_worker_with_the_model_is_waited_for),
        CLUSTER_CASE(what_would_wait_for_one_kind_of_device_takes_another),
        CLUSTER_CASE(a_load_into_free_memory_costs_nobody),
        CLUSTER_CASE(what_is_used_often_is_not_evicted),
        CLUSTER_CASE(a_late_task_takes_what_ends_first),
        CLUSTER_CASE(what_was_put_off_runs_where_much_is_idle),
        CLUSTER_CASE(what_seems_late_hurries_where_much_is_idle),
        CLUSTER_CASE(the_busier_the_sooner_a_job_is_put_off),
        CLUSTER_CASE(a_job_without_slo_waits_at_home_for_those_with_one),
        CLUSTER_CASE(what_would_be_put_off_later_does_not_begin),
        CLUSTER_CASE(what_is_urgent_is_put_off_last),
        CLUSTER_CASE(all_inputs_of_a_batch_count),
        CLUSTER_CASE(what_is_idle_is_used),
        CLUSTER_CASE(haste_makes_nobody_wait),
        CLUSTER_CASE(haste_is_bought_where_plans_fail),
        CLUSTER_CASE(little_trouble_buys_little),
        CLUSTER_CASE(a_slow_worker_is_avoided),
        CLUSTER_CASE(a_worker_that_is_slow_by_its_row_is_avoided),
        CLUSTER_CASE(what_others_do_to_a_batch_is_no_news),
        CLUSTER_CASE(what_would_wait_for_memory_goes_elsewhere),
        CLUSTER_CASE(what_is_learnt_of_a_worker_fades),
        CLUSTER_CASE(a_config_that_has_not_run_takes_what_its_queue_takes),
        CLUSTER_CASE(what_all_takes_is_expected_of_a_queue_that_is_new),
        CLUSTER_CASE(models_in_use_are_copied_into_free_memory),
        CLUSTER_CASE(what_fewest_workers_hold_is_copied_first),
        CLUSTER_CASE(what_fewest_of_the_rack_hold_is_copied_first),
        CLUSTER_CASE(a_worker_that_loads_is_left_alone),
        CLUSTER_CASE(models_come_before_tasks_whose_inputs_are_held_up),
        CLUSTER_CASE(short_memory_is_filled_with_models_of_jobs_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
