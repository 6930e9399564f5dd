/* heft: the textbook example, and what the planner counts and does not count. */
#include "policy_fixture.h"

enum { FIRST, LEFT, RIGHT, JOIN };

/* A diamond whose middle tasks take 100 each and whose edges move @bytes. */
static void init_diamond(struct cluster *cluster, uint64_t bytes)
{
    for (uint32_t task = 0; task < 4; task++) {
        (void)cluster_task(cluster, task);
        cluster_run(cluster, task, 0, 1, 100);
    }
    cluster_edge(cluster, FIRST, LEFT, bytes);
    cluster_edge(cluster, FIRST, RIGHT, bytes);
    cluster_edge(cluster, LEFT, JOIN, bytes);
    cluster_edge(cluster, RIGHT, JOIN, bytes);
    cluster_seal(cluster);
    cluster_seat(cluster, "heft");
}

static void expect(struct cluster *cluster, const uint32_t *workers)
{
    uint16_t placement[16];
    assert_true(cluster->graph->task_count <= 16);
    cluster_place_job(cluster, placement);
    for (uint32_t task = 0; task < cluster->graph->task_count; task++) {
        assert_int_equal(placement[task], workers[task]);
    }
}

/* Topcuoglu 2002, figure 2 and table 1; the schedule is figure 3 (a), which fills no gap. */
static void the_published_example_gives_the_published_schedule(void **state)
{
    (void)state;
    static const int64_t run_us[10][3] = {
        {14, 16, 9}, {13, 19, 18}, {11, 13, 19}, {13, 8, 17},  {12, 13, 10},
        {13, 16, 9}, {7, 15, 11},  {5, 11, 14},  {18, 12, 20}, {21, 7, 16},
    };
    static const uint32_t edges[15][3] = {
        {1, 2, 18}, {1, 3, 12}, {1, 4, 9},   {1, 5, 11},  {1, 6, 14},
        {2, 8, 19}, {2, 9, 16}, {3, 7, 23},  {4, 8, 27},  {4, 9, 23},
        {5, 9, 13}, {6, 8, 15}, {7, 10, 17}, {8, 10, 11}, {9, 10, 13},
    };
    static const uint32_t expected[10] = {2, 0, 2, 1, 2, 1, 2, 0, 1, 1};
    struct cluster cluster;
    cluster_init(&cluster, 3, 1);
    assert_int_equal(fleet_device(cluster.fleet, "third"), 2);
    for (uint32_t kind = 0; kind < 3; kind++) {
        cluster.fleet->workers[kind].device = kind;
    }
    for (uint32_t task = 0; task < 10; task++) {
        (void)cluster_task(&cluster, task);
        for (uint32_t kind = 0; kind < 3; kind++) {
            cluster_run(&cluster, task, kind, 1, run_us[task][kind] * 1000);
        }
    }
    for (size_t i = 0; i < 15; i++) {
        cluster_edge(&cluster, edges[i][0] - 1, edges[i][1] - 1, edges[i][2] * 1000);
    }
    cluster_seal(&cluster);
    cluster_seat(&cluster, "heft");
    expect(&cluster, expected);
    assert_false(cluster.seat.places_tasks); /* Static. */
    cluster_deinit(&cluster);
}

static void queues_and_models_change_nothing(void **state)
{
    (void)state;
    static const uint32_t expected[] = {0, 0, 1, 1};
    struct cluster cluster;
    cluster_init(&cluster, 3, 1);
    init_diamond(&cluster, 99);
    for (uint32_t task = 0; task < 4; task++) {
        cluster_load(&cluster, task, 1000000);
        cluster_hold(&cluster, 2, task);
    }
    expect(&cluster, expected);
    cluster_queue(&cluster, 0, 1000000);
    cluster_queue(&cluster, 1, 1000000);
    expect(&cluster, expected);
    cluster_deinit(&cluster);
}

static void tasks_part_only_if_the_transfer_is_worth_it(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        uint32_t workers[4];
    } cases[] = {
        {0, {0, 0, 1, 0}},
        {99, {0, 0, 1, 1}},  /* There done at 299, here at 300; the join goes to the later. */
        {100, {0, 0, 0, 0}}, /* Both at 300: the lowest index. */
        {5000, {0, 0, 0, 0}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cluster cluster;
        cluster_init(&cluster, 2, 1);
        init_diamond(&cluster, cases[i].bytes);
        expect(&cluster, cases[i].workers);
        cluster_deinit(&cluster);
    }
}

static void devices_of_one_machine_exchange_for_nothing(void **state)
{
    (void)state;
    static const uint32_t expected[] = {0, 0, 1, 0};
    struct cluster cluster;
    cluster_init(&cluster, 2, 2);
    init_diamond(&cluster, 5000);
    expect(&cluster, expected);
    cluster_deinit(&cluster);
    cluster_init(&cluster, 1, 2); /* No other machine to ask the way to. */
    init_diamond(&cluster, 5000);
    expect(&cluster, expected);
    cluster_deinit(&cluster);
}

static void latency_counts_too(void **state)
{
    (void)state;
    static const uint32_t apart[] = {0, 0, 1, 1};
    static const uint32_t together[] = {0, 0, 0, 0};
    struct cluster cluster;
    cluster_init(&cluster, 2, 1);
    init_diamond(&cluster, 50);
    cluster.fleet->network.latency_ns = 49;
    expect(&cluster, apart);
    cluster.fleet->network.latency_ns = 50;
    expect(&cluster, together);
    cluster_deinit(&cluster);
}

/* Ingress at worker 1. Going from there to worker 0 or 2 costs the request's bytes. */
static void the_request_is_an_input_like_any_other(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        int64_t special_ns; /* Run time on worker 2; 100 on the others. */
        uint32_t worker;
    } cases[] = {
        {0, 100, 0}, {10, 100, 1}, {10, 89, 2}, {10, 90, 1}, {500, 1, 1}, {0, 99, 2},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cluster cluster;
        cluster_init(&cluster, 3, 1);
        cluster.fleet->workers[2].device = 1;
        (void)cluster_task(&cluster, 0);
        cluster_run(&cluster, 0, 0, 1, 100);
        cluster_run(&cluster, 0, 1, 1, cases[i].special_ns);
        cluster.graph->input_bytes = cases[i].bytes;
        cluster_seal(&cluster);
        cluster_seat(&cluster, "heft");
        cluster.job.ingress = 1;
        expect(&cluster, &cases[i].worker);
        cluster_deinit(&cluster);
    }
}

/* first gives items; the edge costs 30 an item, and special devices win with many. */
static uint32_t second_worker(struct items_rule gives, uint32_t request_items)
{
    struct cluster cluster;
    uint16_t placement[2];
    cluster_init(&cluster, 2, 1);
    cluster.fleet->workers[1].device = 1;
    struct workflow_task task = {.name = "first", .run = 0, .gives = gives};
    uint32_t number = 0;
    assert_int_equal(workflow_add_task(cluster.graph, &task, &number), WEFT_OK);
    (void)cluster_task(&cluster, 1);
    const struct workflow_edge edge = {.from = 0, .to = 1, .bytes = 30, .per_item = true};
    assert_int_equal(workflow_add_edge(cluster.graph, &edge), WEFT_OK);
    cluster_run(&cluster, 0, 0, 1, 10);
    cluster_run(&cluster, 0, 1, 1, 100000);
    for (uint32_t items = 1; items <= 8; items++) {
        cluster_run(&cluster, 1, 0, items, 100 * items);
        cluster_run(&cluster, 1, 1, items, 300); /* 300 + 30 items < 100 items from 5 on. */
    }
    cluster_seal(&cluster);
    cluster_seat(&cluster, "heft");
    cluster.job.items = request_items;
    cluster_place_job(&cluster, placement);
    assert_int_equal(placement[0], 0);
    cluster_deinit(&cluster);
    return placement[1];
}

static void items_are_expected_from_request_and_producers(void **state)
{
    (void)state;
    const struct items_rule as_many = {0, 0};
    assert_int_equal(second_worker(as_many, 4), 0);
    assert_int_equal(second_worker(as_many, 5), 1);
    assert_int_equal(second_worker((struct items_rule){1, 7}, 8), 0); /* 4 expected. */
    assert_int_equal(second_worker((struct items_rule){1, 9}, 1), 1); /* 5 expected. */
    assert_int_equal(second_worker((struct items_rule){4, 4}, 8), 0);
}

static void a_device_that_was_never_measured_is_not_the_fastest(void **state)
{
    (void)state;
    struct cluster cluster;
    cluster_init(&cluster, 3, 1);
    cluster.fleet->workers[0].device = 1;
    init_diamond(&cluster, 5000);
    static const uint32_t known[] = {1, 1, 1, 1};
    expect(&cluster, known);
    static const uint32_t nowhere[] = {
        PLACEMENT_UNBOUND, PLACEMENT_UNBOUND, PLACEMENT_UNBOUND, PLACEMENT_UNBOUND};
    cluster_usable(&cluster, 1, false); /* What could run it is gone: none has it. */
    cluster_usable(&cluster, 2, false);
    expect(&cluster, nowhere);
    cluster_deinit(&cluster);

    cluster_init(&cluster, 2, 1); /* Nothing is known of anything: all are alike. */
    (void)cluster_task(&cluster, 3);
    cluster_seal(&cluster);
    cluster_seat(&cluster, "heft");
    static const uint32_t unknown[] = {0};
    expect(&cluster, unknown);
    cluster_deinit(&cluster);
}

static void unusable_workers_are_passed_over(void **state)
{
    (void)state;
    static const uint32_t expected[] = {1, 1, 3, 3};
    static const uint32_t unbound[] = {
        PLACEMENT_UNBOUND, PLACEMENT_UNBOUND, PLACEMENT_UNBOUND, PLACEMENT_UNBOUND};
    struct cluster cluster;
    cluster_init(&cluster, 4, 1);
    init_diamond(&cluster, 10);
    cluster_usable(&cluster, 0, false);
    cluster_usable(&cluster, 2, false);
    expect(&cluster, expected);
    cluster_usable(&cluster, 1, false);
    cluster_usable(&cluster, 3, false);
    expect(&cluster, unbound);
    cluster_deinit(&cluster);
}

/* Ranks decide who chooses first: the long branch gets the near worker. */
static void the_costlier_branch_chooses_first(void **state)
{
    (void)state;
    struct cluster cluster;
    cluster_init(&cluster, 2, 1);
    (void)cluster_task(&cluster, FIRST);
    (void)cluster_task(&cluster, LEFT);
    (void)cluster_task(&cluster, RIGHT);
    cluster_run(&cluster, FIRST, 0, 1, 10);
    cluster_run(&cluster, LEFT, 0, 1, 100);
    cluster_run(&cluster, RIGHT, 0, 1, 200);
    cluster_edge(&cluster, FIRST, LEFT, 50);
    cluster_edge(&cluster, FIRST, RIGHT, 50);
    cluster_seal(&cluster);
    cluster_seat(&cluster, "heft");
    static const uint32_t expected[] = {0, 1, 0};
    expect(&cluster, expected);
    cluster_deinit(&cluster);
}

/*
 * Three plain workers and a special one. On the mean worker the first task takes 77.5 and
 * the second 67.5, so the first one gets the special worker.
 */
static void ranks_weigh_devices_by_their_number(void **state)
{
    (void)state;
    static const uint32_t expected[] = {3, 0};
    struct cluster cluster;
    cluster_init(&cluster, 4, 1);
    cluster.fleet->workers[3].device = 1;
    (void)cluster_task(&cluster, 0);
    (void)cluster_task(&cluster, 1);
    cluster_run(&cluster, 0, 0, 1, 100);
    cluster_run(&cluster, 0, 1, 1, 10);
    cluster_run(&cluster, 1, 0, 1, 70);
    cluster_run(&cluster, 1, 1, 1, 60);
    cluster_seal(&cluster);
    cluster_seat(&cluster, "heft");
    expect(&cluster, expected);
    cluster_deinit(&cluster);
}

/* A chain of 10 and 10 with a heavy edge, and a task of 100, on two devices of a machine. */
static void ranks_of_one_machine_count_no_transfers(void **state)
{
    (void)state;
    static const uint32_t expected[] = {1, 1, 0};
    struct cluster cluster;
    cluster_init(&cluster, 1, 2);
    for (uint32_t task = 0; task < 3; task++) {
        (void)cluster_task(&cluster, task);
        cluster_run(&cluster, task, 0, 1, task == 2 ? 100 : 10);
    }
    cluster_edge(&cluster, 0, 1, 1000);
    cluster_seal(&cluster);
    cluster_seat(&cluster, "heft");
    expect(&cluster, expected);
    cluster_deinit(&cluster);
}

static void the_largest_job_on_the_largest_fleet_is_planned(void **state)
{
    (void)state;
    static uint16_t placement[WORKFLOW_TASKS_MAX];
    struct cluster cluster;
    cluster_init(&cluster, 1024, 16);
    cluster_run(&cluster, 0, 0, 1, DURATION_NS_MAX);
    for (uint32_t task = 0; task < WORKFLOW_TASKS_MAX; task++) {
        (void)cluster_task(&cluster, 0);
    }
    for (uint32_t task = 0; task + 2 < WORKFLOW_TASKS_MAX; task++) {
        cluster_edge(&cluster, task, WORKFLOW_TASKS_MAX - 1, UINT64_MAX);
    }
    cluster_edge(&cluster, 0, WORKFLOW_TASKS_MAX - 2, UINT64_MAX);
    cluster_seal(&cluster);
    cluster_seat(&cluster, "heft");
    cluster_place_job(&cluster, placement);
    for (uint32_t task = 0; task < WORKFLOW_TASKS_MAX - 2; task++) {
        assert_int_equal(placement[task], task); /* Nothing keeps them together. */
    }
    cluster_deinit(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_example_gives_the_published_schedule),
        cmocka_unit_test(queues_and_models_change_nothing),
        cmocka_unit_test(tasks_part_only_if_the_transfer_is_worth_it),
        cmocka_unit_test(devices_of_one_machine_exchange_for_nothing),
        cmocka_unit_test(latency_counts_too),
        cmocka_unit_test(the_request_is_an_input_like_any_other),
        cmocka_unit_test(items_are_expected_from_request_and_producers),
        cmocka_unit_test(a_device_that_was_never_measured_is_not_the_fastest),
        cmocka_unit_test(unusable_workers_are_passed_over),
        cmocka_unit_test(the_costlier_branch_chooses_first),
        cmocka_unit_test(ranks_weigh_devices_by_their_number),
        cmocka_unit_test(ranks_of_one_machine_count_no_transfers),
        cmocka_unit_test(the_largest_job_on_the_largest_fleet_is_planned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
