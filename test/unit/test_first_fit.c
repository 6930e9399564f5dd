/*
 * first-fit: the holder if it has room, else the first worker that has.
 */
#include "policy_fixture.h"

static void init(struct cluster *cluster, const char *policy)
{
    cluster_init(cluster, 4, 1);
    (void)cluster_task(cluster, 0);
    cluster_seal(cluster);
    cluster_seat(cluster, policy);
    for (uint32_t worker = 0; worker < 4; worker++) {
        struct row row = cluster->board.entries[worker].live;
        row.load.gpu_free = 4;
        row.load.cpu_free = 8;
        cluster_write(cluster, &row);
    }
}

static void fill(struct cluster *cluster, uint32_t worker, uint8_t gpu_free, uint16_t cpu_free)
{
    struct row row = cluster->board.entries[worker].live;
    row.load.gpu_free = gpu_free;
    row.load.cpu_free = cpu_free;
    cluster_write(cluster, &row);
}

/* The worker of the only candidate; WORKER_NONE if there is none. */
static uint32_t ask(struct cluster *cluster, uint32_t holder, struct config *config_out)
{
    const struct queue_facts queue = {
        .worker = WORKER_NONE, .waiting = 3, .items = 3, .head_items = 1, .holder = holder};
    struct dispatch_answer answer;
    policy_dispatch(&cluster->seat, &queue, &answer);
    *config_out = answer.configs[0];
    return answer.count == 0 ? WORKER_NONE : answer.workers[0];
}

static void the_holder_comes_first_then_the_first_with_room(void **state)
{
    (void)state;
    struct cluster cluster;
    struct config config;
    init(&cluster, "first-fit:batch=5:gpu=2:cpu=3");
    assert_int_equal(ask(&cluster, 2, &config), 2);
    assert_int_equal(config.batch, 5);
    assert_int_equal(config.gpu, 2);
    assert_int_equal(config.cpu, 3);
    fill(&cluster, 2, /* gpu_free */ 1, /* cpu_free */ 8);
    assert_int_equal(ask(&cluster, 2, &config), 0);
    fill(&cluster, 0, /* gpu_free */ 4, /* cpu_free */ 2);
    assert_int_equal(ask(&cluster, 2, &config), 1);
    cluster_usable(&cluster, 1, false);
    assert_int_equal(ask(&cluster, 2, &config), 3);
    fill(&cluster, 3, 0, 0);
    assert_int_equal(ask(&cluster, 2, &config), WORKER_NONE);
    cluster_deinit(&cluster);
}

static void who_cannot_run_it_is_passed_over(void **state)
{
    (void)state;
    struct cluster cluster;
    struct config config;
    init(&cluster, "first-fit");
    cluster_run(&cluster, 0, /* device */ 1, 1, 100);
    cluster.fleet->workers[3].device = 1;
    assert_int_equal(ask(&cluster, 2, &config), 3);
    fill(&cluster, 3, 0, 0);
    assert_int_equal(ask(&cluster, 2, &config), WORKER_NONE);
    cluster_deinit(&cluster);
}

static void shares_are_cut_to_what_a_machine_has(void **state)
{
    (void)state;
    struct cluster cluster;
    struct config config;
    init(&cluster, "first-fit:batch=1:gpu=9:cpu=99");
    assert_int_equal(ask(&cluster, 1, &config), 1);
    assert_int_equal(config.batch, 1);
    assert_int_equal(config.gpu, 4);
    assert_int_equal(config.cpu, 8);
    cluster_deinit(&cluster);
}

static void the_oldest_job_comes_first_and_placed_tasks_run_where_they_are(void **state)
{
    (void)state;
    struct cluster cluster;
    struct dispatch_answer answer;
    init(&cluster, "first-fit");
    assert_true(cluster.seat.binds);
    assert_true(cluster_order(&cluster, 5, 100) < cluster_order(&cluster, 6, 50));
    const struct queue_facts queue = {.worker = 3, .waiting = 1, .items = 1, .head_items = 1};
    policy_dispatch(&cluster.seat, &queue, &answer);
    assert_int_equal(answer.count, 1);
    assert_int_equal(answer.configs[0].batch, 8);
    cluster_deinit(&cluster);
}

/* How many items are taken of @items that wait at worker 0. */
static uint32_t taken_of(struct cluster *cluster, uint32_t items)
{
    const struct queue_facts queue = {
        .worker = 0, .waiting = items, .items = items, .head_items = 1};
    struct dispatch_answer answer;
    policy_dispatch(&cluster->seat, &queue, &answer);
    assert_int_equal(answer.count, 1);
    return answer.configs[0].batch;
}

/* Let @items items of the task take @run_ns. */
static void set_run(struct cluster *cluster, uint32_t items, int64_t run_ns)
{
    const struct profile_point point = {.items = items, .run_ns = run_ns};
    profile_put_point(cluster->profile, /* model */ 0, /* device */ 0, &point);
}

static void only_batches_that_pay_are_made(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, "first-fit:batch=8:paying");
    set_run(&cluster, 1, 100);
    set_run(&cluster, 2, 200); /* As long as one by one. */
    assert_int_equal(taken_of(&cluster, 8), 1);
    set_run(&cluster, 2, 140);
    assert_int_equal(taken_of(&cluster, 1), 1);
    assert_int_equal(taken_of(&cluster, 2), 2); /* 140, 140 instead of 100, 200. */
    set_run(&cluster, 2, 160);
    assert_int_equal(taken_of(&cluster, 2), 1); /* Mean 160 instead of 150, */
    assert_int_equal(taken_of(&cluster, 8), 2); /* but sooner for those behind them. */
    set_run(&cluster, 8, 110);
    assert_int_equal(taken_of(&cluster, 8), 8);
    assert_int_equal(taken_of(&cluster, 100), 8);
    assert_int_equal(taken_of(&cluster, 7), 7); /* All that wait, though it is no power of two. */
    cluster_deinit(&cluster);
}

/* How much of the device is taken if @items wait in all, one of them of this model. */
static uint32_t units_for(struct cluster *cluster, uint16_t items, uint32_t gpu_free)
{
    struct row row = cluster->board.entries[0].live;
    row.load.queued_items = items;
    cluster_write(cluster, &row);
    const struct queue_facts queue = {
        .worker = 0, .waiting = 1, .items = 1, .head_items = 1, .gpu_free = gpu_free};
    struct dispatch_answer answer;
    policy_dispatch(&cluster->seat, &queue, &answer);
    assert_int_equal(answer.count, 1);
    return answer.configs[0].gpu;
}

static void a_part_of_the_device_is_taken_if_that_pays(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, "first-fit:gpu=0:paying");
    cluster.fleet->workers[0].gpu_units = 4;
    static const int64_t run_ns[] = {100, 300, 140}; /* By units: all, 1 and 2. */
    for (uint32_t units = 0; units <= 2; units++) {
        const struct profile_point point = {.items = 1, .gpu = units, .run_ns = run_ns[units]};
        profile_put_point(cluster.profile, /* model */ 0, /* device */ 0, &point);
    }
    assert_int_equal(units_for(&cluster, 1, 4), 0); /* Alone: all of it. */
    assert_int_equal(units_for(&cluster, 1, 3), 2); /* Part of it is in use: what is free. */
    assert_int_equal(units_for(&cluster, 1, 1), 1);
    assert_int_equal(units_for(&cluster, 2, 4), 2); /* 140, 140 instead of 100, 200. */
    assert_int_equal(units_for(&cluster, 9, 4), 0); /* Whole batches: no part of it. */
    cluster.fleet->workers[0].interference = 1;
    assert_int_equal(units_for(&cluster, 2, 4), 0); /* 210, 210. */
    cluster.profile->models[0].curves[0].points[2].interference = 0.01;
    assert_int_equal(units_for(&cluster, 2, 4), 2); /* Such a batch suffers less. */
    cluster_deinit(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_holder_comes_first_then_the_first_with_room),
        cmocka_unit_test(who_cannot_run_it_is_passed_over),
        cmocka_unit_test(shares_are_cut_to_what_a_machine_has),
        cmocka_unit_test(only_batches_that_pay_are_made),
        cmocka_unit_test(a_part_of_the_device_is_taken_if_that_pays),
        cmocka_unit_test(the_oldest_job_comes_first_and_placed_tasks_run_where_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
