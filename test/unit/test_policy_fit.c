/*
 * Where a config of a home queue can start: legal instances, and devices large enough.
 *
 * Covers: src/policy/fit.c
 */
#include "configs/configs.h"
#include "home_fixture.h"
#include "model/sharing.h"
#include "policy/fit.h"

static struct cluster cluster;
static struct policy_input input;

static void open(uint32_t node_count)
{
    home_init(&cluster, node_count, /* model_count */ 1);
    (void)cluster_task(&cluster, 0);
    home_point(&cluster, 0, /* items */ 1, /* cpu */ 1, /* gpu */ 1, 20);
    home_point(&cluster, 0, /* items */ 2, /* cpu */ 1, /* gpu */ 3, 10);
    home_point(&cluster, 0, /* items */ 4, /* cpu */ 1, /* gpu */ 0, 5);
    cluster_seal(&cluster);
    input = (struct policy_input){
        .view = &cluster.view,
        .profile = cluster.profile,
        .catalogue = &cluster.catalogue,
    };
}

static int setup(void **state)
{
    *state = &cluster;
    open(/* node_count */ 2);
    return 0;
}

static int setup_four(void **state)
{
    *state = &cluster;
    open(/* node_count */ 4);
    return 0;
}

static uint32_t find(uint32_t batch, uint32_t gpu)
{
    const struct queue_facts queue = home_queue(&cluster, 0, batch, 0, 0);
    const struct fit_ask ask = {
        .input = &input,
        .queue = &queue,
        .task = &cluster.graph->tasks[0],
    };
    const struct config config = {.batch = batch, .cpu = 1, .gpu = gpu};
    return fit_find_one(&ask, &config, /* device */ 0).worker;
}

/* Worker 0 of MIG: instances of one unit at slices 6 and 2. Five units are free. */
static void cut_up(void)
{
    struct fleet_worker *device = &cluster.fleet->workers[0];
    device->sharing = SHARES_MIG;
    struct shares shares = sharing_idle(device);
    struct share taken[MIG_UNITS];
    for (uint32_t i = 0; i < MIG_UNITS; i++) {
        taken[i] = sharing_take(device, &shares, /* gpu */ 1);
    }
    for (uint32_t i = 0; i < MIG_UNITS; i++) {
        if (taken[i].slice != 2 && taken[i].slice != 6) {
            sharing_give(device, &shares, &taken[i], /* was_ready */ true);
        }
    }
    struct row row = cluster.board.entries[0].live;
    row.load.gpu_free = (uint8_t)shares.free;
    row.load.layout = shares.layout;
    cluster_write(&cluster, &row);
    cluster_usable(&cluster, 1, false);
}

static void units_that_are_no_instance_do_not_fit(void **state)
{
    (void)state;
    cut_up();
    assert_int_equal(view_free_units(&cluster.view, 0).gpu, 5);
    assert_int_equal(find(1, 1), 0);
    assert_int_equal(find(1, 2), 0);
    assert_int_equal(find(2, 3), WORKER_NONE); /* Four slices, from 0 or 4: both are cut. */
    assert_int_equal(find(2, 4), WORKER_NONE);
}

static void a_share_that_no_instance_has_is_not_offered(void **state)
{
    (void)state;
    cluster.fleet->workers[0].sharing = SHARES_MIG;
    cluster_usable(&cluster, 1, false);
    struct row row = cluster.board.entries[0].live;
    row.load.layout = sharing_idle(&cluster.fleet->workers[0]).layout;
    cluster_write(&cluster, &row);
    assert_int_equal(find(1, 5), WORKER_NONE); /* It would hold seven. */
    assert_int_equal(find(1, 7), 0);
}

static void a_policy_offers_what_the_layout_allows(void **state)
{
    (void)state;
    cluster.graph->slo_ns = 15 * MS; /* Only three units and more are fast enough. */
    cut_up();
    cluster_seat(&cluster, "esg:recheck=100");
    const struct queue_facts queue = home_queue(&cluster, 0, /* items */ 2, 0, /* slo_ms */ 15);
    const struct dispatch_answer answer = home_ask(&cluster, &queue);
    for (uint32_t i = 0; i < answer.count; i++) {
        assert_true(answer.configs[i].gpu <= 2);
    }
}

/* Two machines of one kind: the first has fewer units. */
static void a_smaller_device_of_the_kind_gets_what_it_can_hold(void **state)
{
    (void)state;
    cluster.fleet->workers[0].gpu_units = 2;
    home_free(&cluster, 0, 2, 16);
    assert_int_equal(find(1, 1), 0);
    assert_int_equal(find(2, 3), 1); /* It has two, all free: three would be cut to that. */
    cluster_usable(&cluster, 1, false);
    assert_int_equal(find(2, 3), WORKER_NONE);
    assert_int_equal(find(4, 7), WORKER_NONE);
}

static void memory_is_that_of_the_worker(void **state)
{
    (void)state;
    cluster.profile->models[0].workspace_bytes_per_item = 100;
    cluster.fleet->workers[0].memory_bytes = 300;
    assert_int_equal(find(3, 1), 0);
    assert_int_equal(find(4, 1), 1);
}

/* Both configs are placed by one look at each worker. */
static void several_configs_are_placed_at_once(void **state)
{
    (void)state;
    const struct queue_facts queue = home_queue(&cluster, 0, /* items */ 2, 0, 0);
    const struct fit_ask ask = {.input = &input, .queue = &queue, .task = &cluster.graph->tasks[0]};
    struct fit_trial trials[] = {
        {.config = {.batch = 1, .cpu = 1, .gpu = 1}},
        {.config = {.batch = 2, .cpu = 1, .gpu = 3}},
        {.config = {.batch = 2, .cpu = 1, .gpu = 3}, .device = 1},
    };
    home_free(&cluster, 0, /* gpu */ 2, /* cpu */ 16);
    fit_find(&ask, trials, 3);
    assert_int_equal(trials[0].best.worker, 0);
    assert_int_equal(trials[1].best.worker, 1);
    assert_int_equal(trials[2].best.worker, WORKER_NONE); /* There is no such device. */
    home_free(&cluster, 0, /* gpu */ 7, /* cpu */ 16);
    home_free(&cluster, 1, /* gpu */ 3, /* cpu */ 16);
    fit_find(&ask, trials, 3);
    assert_int_equal(trials[1].best.worker, 0); /* The own node comes before the tighter fit. */
}

static void a_choice_is_one_that_a_single_worker_can_hold(void **state)
{
    (void)state;
    static const struct configs_rules rules = {.whole = false};
    struct configs configs;
    cluster.profile->models[0].workspace_bytes_per_item = 100;
    cluster.fleet->workers[0].gpu_units = 2; /* One has the memory, the other the units. */
    cluster.fleet->workers[0].memory_bytes = 1000;
    cluster.fleet->workers[1].memory_bytes = 200;
    configs_collect(
        &cluster.arena, cluster.fleet, cluster.profile, &cluster.graph->tasks[0], &rules, &configs);
    assert_int_equal(configs.count, 2); /* Not four items on seven units. */
    assert_int_equal(configs.choices[0].config.gpu, 3);
    assert_int_equal(configs.choices[1].config.gpu, 1);
    const struct config *config = &configs.choices[0].config;
    assert_true(configs_can_hold(cluster.fleet, 1, config, /* bytes */ 200));
    assert_false(configs_can_hold(cluster.fleet, 1, config, /* bytes */ 201));
    assert_false(configs_can_hold(cluster.fleet, 0, config, /* bytes */ 200));
}

/* If all homes took the lowest of equal workers, its node would decline most of them. */
static void each_home_looks_from_itself_on(void **state)
{
    (void)state;
    cluster.view.node = 2;
    cluster.view.worker_first = 2;
    cluster.view.worker_count = 1;
    assert_int_equal(find(1, 1), 2);
    home_free(&cluster, 2, 0, 16);
    assert_int_equal(find(1, 1), 3);
    home_free(&cluster, 3, 0, 16);
    assert_int_equal(find(1, 1), 0);
    home_free(&cluster, 1, 6, 16); /* A tighter fit. */
    assert_int_equal(find(1, 1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_CASE(units_that_are_no_instance_do_not_fit),
        CLUSTER_CASE(a_share_that_no_instance_has_is_not_offered),
        CLUSTER_CASE(a_policy_offers_what_the_layout_allows),
        CLUSTER_CASE(a_smaller_device_of_the_kind_gets_what_it_can_hold),
        CLUSTER_CASE(several_configs_are_placed_at_once),
        cmocka_unit_test_setup_teardown(
            each_home_looks_from_itself_on, setup_four, cluster_teardown),
        CLUSTER_CASE(memory_is_that_of_the_worker),
        CLUSTER_CASE(a_choice_is_one_that_a_single_worker_can_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
