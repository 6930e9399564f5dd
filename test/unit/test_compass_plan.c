/*
 * compass_plan: the order of tasks, transfers, and what earlier tasks of the job leave
 * behind for later ones.
 */
#include "policy_fixture.h"

enum { A = 1, B = 2, C = 3, D = 4 };

#define PLAN    "compass:jitter=0"
#define RUN_NS  1000
#define LOAD_NS 6400
#define MEMORY  1000

static void init(struct cluster *cluster, uint32_t node_count, uint32_t worker_count)
{
    cluster_init(cluster, node_count, worker_count);
    for (uint32_t model = A; model <= D; model++) {
        cluster_load(cluster, model, LOAD_NS);
        cluster->profile->models[model].resident_bytes = MEMORY / 2;
        cluster_run(cluster, model, 0, 1, RUN_NS);
    }
    for (uint32_t worker = 0; worker < cluster->fleet->worker_count; worker++) {
        struct row row = cluster->board.entries[worker].live;
        cluster->fleet->workers[worker].memory_bytes = MEMORY;
        row.cache.free_bytes = MEMORY;
        cluster_write(cluster, &row);
    }
}

static void hold_all(struct cluster *cluster)
{
    for (uint32_t worker = 0; worker < cluster->fleet->worker_count; worker++) {
        for (uint32_t model = A; model <= D; model++) {
            cluster_hold(cluster, worker, model);
        }
    }
}

static void plan(struct cluster *cluster, uint16_t *placement_out)
{
    cluster_seal(cluster);
    cluster_seat(cluster, PLAN);
    cluster_place_job(cluster, placement_out);
}

static void branches_run_side_by_side(void **state)
{
    (void)state;
    struct cluster cluster;
    uint16_t placement[4];
    init(&cluster, 2, 1);
    hold_all(&cluster);
    for (uint32_t model = A; model <= D; model++) {
        (void)cluster_task(&cluster, model);
    }
    cluster_edge(&cluster, 0, 1, 10);
    cluster_edge(&cluster, 0, 2, 10);
    cluster_edge(&cluster, 1, 3, 10);
    cluster_edge(&cluster, 2, 3, 10);
    plan(&cluster, placement);
    assert_int_equal(placement[0], 0); /* Where the request is. */
    assert_int_equal(placement[1], 0);
    assert_int_equal(placement[2], 1);
    assert_int_equal(placement[3], 1); /* Where the later branch ends. */
    cluster_deinit(&cluster);
}

static void a_transfer_longer_than_the_branch_keeps_it(void **state)
{
    (void)state;
    struct cluster cluster;
    uint16_t placement[3];
    init(&cluster, 2, 1);
    hold_all(&cluster);
    for (uint32_t model = A; model <= C; model++) {
        (void)cluster_task(&cluster, model);
    }
    cluster_edge(&cluster, 0, 1, 2 * RUN_NS);
    cluster_edge(&cluster, 0, 2, 2 * RUN_NS);
    plan(&cluster, placement);
    assert_int_equal(placement[0], placement[1]);
    assert_int_equal(placement[0], placement[2]);
    cluster_deinit(&cluster);
}

static void a_second_device_of_the_machine_needs_no_transfer(void **state)
{
    (void)state;
    struct cluster cluster;
    uint16_t placement[3];
    init(&cluster, 2, 2);
    hold_all(&cluster);
    for (uint32_t model = A; model <= C; model++) {
        (void)cluster_task(&cluster, model);
    }
    cluster_edge(&cluster, 0, 1, 2 * RUN_NS);
    cluster_edge(&cluster, 0, 2, 2 * RUN_NS);
    plan(&cluster, placement);
    assert_int_equal(placement[0], 0);
    assert_int_equal(placement[1], 0);
    assert_int_equal(placement[2], 1);
    cluster_deinit(&cluster);
}

static void the_longest_way_is_placed_first(void **state)
{
    (void)state;
    struct cluster cluster;
    uint16_t placement[3];
    init(&cluster, 2, 1);
    cluster_hold(&cluster, 1, A); /* Two tasks want the only warm worker. */
    cluster_load(&cluster, A, 1500);
    (void)cluster_task(&cluster, A);
    (void)cluster_task(&cluster, A);
    (void)cluster_task(&cluster, B);
    cluster_edge(&cluster, 1, 2, 0); /* The second has something behind it. */
    plan(&cluster, placement);
    assert_int_equal(placement[1], 1);
    cluster_deinit(&cluster);
}

/* Memory for two models: the third that a job brings makes something leave. */
static void room_is_used_up_by_what_is_planned(void **state)
{
    (void)state;
    struct cluster cluster;
    uint16_t placement[3];
    init(&cluster, 2, 1);
    struct row row = cluster.board.entries[1].live;
    row.load.run_ns = 2 * LOAD_NS + 5 * RUN_NS; /* Busy, and more so than loading takes. */
    row.load.queued_ns = row.load.run_ns;
    cluster_write(&cluster, &row);
    for (uint32_t model = A; model <= C; model++) {
        (void)cluster_task(&cluster, model);
    }
    cluster_edge(&cluster, 0, 1, 0);
    cluster_edge(&cluster, 1, 2, 0);
    plan(&cluster, placement);
    assert_int_equal(placement[0], 0);
    assert_int_equal(placement[1], 0);
    assert_int_equal(placement[2], 1);
    cluster_deinit(&cluster);
}

static void items_make_tasks_longer(void **state)
{
    (void)state;
    struct cluster cluster;
    uint16_t placement[1];
    init(&cluster, 2, 1);
    hold_all(&cluster);
    (void)cluster_task(&cluster, A);
    cluster.fleet->workers[1].device = 1; /* Slower for one, faster for eight. */
    cluster_run(&cluster, A, 0, 8, 8 * RUN_NS);
    cluster_run(&cluster, A, 1, 1, 2 * RUN_NS);
    cluster_run(&cluster, A, 1, 8, 3 * RUN_NS);
    plan(&cluster, placement);
    assert_int_equal(placement[0], 0);
    cluster.job.items = 8;
    cluster_place_job(&cluster, placement);
    assert_int_equal(placement[0], 1);
    cluster_deinit(&cluster);
}

static void workers_that_are_gone_get_nothing(void **state)
{
    (void)state;
    struct cluster cluster;
    uint16_t placement[2];
    init(&cluster, 4, 1);
    (void)cluster_task(&cluster, A);
    (void)cluster_task(&cluster, B);
    cluster_edge(&cluster, 0, 1, 0);
    cluster_usable(&cluster, 0, false);
    cluster_usable(&cluster, 2, false);
    cluster_hold(&cluster, 2, A);
    cluster_hold(&cluster, 3, B);
    plan(&cluster, placement);
    assert_int_equal(placement[0], 1);
    assert_int_equal(placement[1], 3);
    cluster_usable(&cluster, 1, false);
    cluster_usable(&cluster, 3, false);
    placement[0] = PLACEMENT_UNBOUND;
    cluster_place_job(&cluster, placement);
    assert_int_equal(placement[0], PLACEMENT_UNBOUND);
    cluster_deinit(&cluster);
}

/* Loads of alternating buses are not taken for one another. */
static void every_bus_has_its_own_load_time(void **state)
{
    (void)state;
    struct cluster cluster;
    uint16_t placement[1];
    init(&cluster, 6, 1);
    (void)cluster_task(&cluster, A);
    for (uint32_t worker = 0; worker < 6; worker++) {
        cluster.fleet->workers[worker].bus_bytes_per_s = worker % 2 == 0 ? 100000000 : 1000000000;
    }
    cluster.fleet->workers[5].bus_bytes_per_s = 2000000000;
    plan(&cluster, placement);
    assert_int_equal(placement[0], 5);
    cluster_deinit(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branches_run_side_by_side),
        cmocka_unit_test(a_transfer_longer_than_the_branch_keeps_it),
        cmocka_unit_test(a_second_device_of_the_machine_needs_no_transfer),
        cmocka_unit_test(the_longest_way_is_placed_first),
        cmocka_unit_test(room_is_used_up_by_what_is_planned),
        cmocka_unit_test(items_make_tasks_longer),
        cmocka_unit_test(workers_that_are_gone_get_nothing),
        cmocka_unit_test(every_bus_has_its_own_load_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
