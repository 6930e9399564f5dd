/* Which configs a task can run with on a fleet, in what order and at what price. */
#include "configs/budget.h"
#include "configs/configs.h"
#include "policy_fixture.h"

#define HOUR_NS INT64_C(3600000000000)

static struct cluster cluster;

static void point(uint32_t items, uint32_t cpu, uint32_t gpu, int64_t run_ns)
{
    const struct profile_point added = {.items = items, .cpu = cpu, .gpu = gpu, .run_ns = run_ns};
    assert_int_equal(profile_add_point(cluster.profile, 0, 0, &added), WEFT_OK);
}

static int setup(void **state)
{
    *state = &cluster;
    cluster_init(&cluster, /* node_count */ 2, /* worker_count */ 1); /* 4 units, 8 of CPU. */
    cluster.fleet->workers[0].memory_bytes = 1000;
    cluster.fleet->workers[1].memory_bytes = 1000;
    (void)cluster_task(&cluster, 0);
    cluster_seal(&cluster);
    return 0;
}

static struct configs collect(struct configs_rules rules)
{
    struct configs configs;
    configs_collect(
        &cluster.arena, cluster.fleet, cluster.profile, &cluster.graph->tasks[0], &rules, &configs);
    return configs;
}

static void cost_is_price_times_time_over_items(void **state)
{
    (void)state;
    const struct configs_prices prices = {.cpu = 34000, .gpu = 670000};
    const struct config alone = {.batch = 1, .cpu = 1, .gpu = 1};
    const struct config shared = {.batch = 4, .cpu = 2, .gpu = 3};

    /* An hour of one unit of each is 0.704 dollars. */
    assert_int_equal(configs_cost(prices, alone, HOUR_NS), INT64_C(704000000000));
    assert_int_equal(
        configs_cost(prices, shared, HOUR_NS), INT64_C(1000000) * (2 * 34000 + 3 * 670000) / 4);
    /* The longest times there are do not overflow. */
    assert_true(configs_cost(prices, shared, DURATION_NS_MAX) > 0);
}

/* Others on the device, in whatever partition, make a smaller share slower than it is alone. */
static void interference_and_handoffs_are_planned_for(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < cluster.fleet->worker_count; i++) {
        cluster.fleet->workers[i].sharing = SHARES_SM;
        cluster.fleet->workers[i].interference = 0.5;
    }
    point(1, 0, 0, 1000);
    point(1, 0, 1, 2000);
    struct configs configs = collect((struct configs_rules){.margin = 0});
    assert_int_equal(configs.count, 2);
    assert_int_equal(configs.choices[0].config.gpu, 4);
    assert_int_equal(configs.weights[0].time_ns, 1000);
    assert_int_equal(configs.weights[1].time_ns, 2000 * 11 / 8); /* Three of four are others'. */
    assert_int_equal(configs.choices[1].run_ns, 2000);
    assert_int_equal(configs.choices[1].beside_ns, 2000 * 11 / 8);
    struct profile_point *known = &cluster.profile->models[0].curves[0].points[1];
    assert_int_equal(known->gpu, 1);
    known->interference = 1; /* What was measured of such a batch counts more. */
    configs = collect((struct configs_rules){.margin = 0});
    assert_int_equal(configs.weights[1].time_ns, 2000 * 7 / 4);
    known->interference = 0;
    profile_set_handoff(cluster.profile, 0, 0, 100);
    cluster.fleet->workers[0].partitions = 2;
    configs = collect((struct configs_rules){.margin = 0});
    assert_int_equal(configs.weights[0].time_ns, 1100 * 5 / 4); /* Four of eight. */
}

static void prices_are_those_of_the_fleet(void **state)
{
    (void)state;
    assert_int_equal(configs_prices(cluster.fleet).gpu, 670000);
    cluster.fleet->prices = (struct fleet_prices){.cpu = 0, .gpu = 0.5};
    assert_int_equal(configs_prices(cluster.fleet).gpu, 500000);
    assert_int_equal(configs_prices(cluster.fleet).cpu, 0);
}

static void choices_come_by_time(void **state)
{
    (void)state;
    point(1, 1, 1, 900);
    point(1, 2, 4, 300);
    point(2, 2, 4, 300); /* As fast, and half the cost an item. */
    point(4, 8, 0, 500); /* 0 is the whole device. */
    const struct configs configs = collect((struct configs_rules){.margin = 0.1});

    assert_int_equal(configs.count, 4);
    assert_int_equal(configs.choices[0].config.batch, 2);
    assert_int_equal(configs.choices[1].config.batch, 1);
    assert_int_equal(configs.choices[2].config.gpu, 4);
    assert_int_equal(configs.choices[3].run_ns, 900);
    assert_int_equal(configs.weights[3].time_ns, 990); /* Planned with a margin, */
    assert_int_equal(                                  /* paid as measured. */
                     configs.weights[3].cost,
                     configs_cost(configs_prices(cluster.fleet), configs.choices[3].config, 900));
}

static void what_no_worker_can_hold_is_left_out(void **state)
{
    (void)state;
    cluster.profile->models[0].resident_bytes = 600;
    cluster.profile->models[0].workspace_bytes_per_item = 100;
    point(4, 1, 1, 900);
    point(5, 1, 1, 950); /* 1100 bytes. */
    point(1, 9, 1, 100); /* Nine of eight. */
    point(1, 1, 5, 100); /* Five of four. */
    const struct configs configs = collect((struct configs_rules){0});

    assert_int_equal(configs.count, 1);
    assert_int_equal(configs.choices[0].config.batch, 4);
}

static void only_shares_that_the_device_can_be_divided_into_count(void **state)
{
    (void)state;
    for (uint32_t worker = 0; worker < 2; worker++) {
        cluster.fleet->workers[worker].gpu_units = 7;
        cluster.fleet->workers[worker].sharing = SHARES_MIG;
    }
    for (uint32_t gpu = 1; gpu <= 7; gpu++) {
        point(1, 1, gpu, 1000 - gpu);
    }
    const struct configs configs = collect((struct configs_rules){0});

    assert_int_equal(configs.count, 5); /* 7, 4, 3, 2 and 1 of seven. */
    assert_int_equal(configs.choices[1].config.gpu, 4);
}

static void rules_leave_whole_devices_or_single_items(void **state)
{
    (void)state;
    point(1, 1, 1, 900);
    point(8, 1, 1, 4000);
    point(8, 1, 4, 2000);
    const struct configs whole = collect((struct configs_rules){.whole = true});
    const struct configs single = collect((struct configs_rules){.single = true});
    const struct configs both = collect((struct configs_rules){.whole = true, .single = true});

    assert_int_equal(whole.count, 1);
    assert_int_equal(whole.choices[0].run_ns, 2000);
    assert_int_equal(single.count, 1);
    assert_int_equal(single.choices[0].run_ns, 900);
    assert_int_equal(both.count, 1); /* Not measured: guessed. */
    assert_int_equal(both.choices[0].config.batch, 1);
    assert_int_equal(both.choices[0].config.gpu, 4);
    assert_true(both.choices[0].run_ns > 0);
}

static void lengths_count_the_configs_that_all_tasks_have(void **state)
{
    (void)state;
    struct configs_choice first[] = {
        {.config = {.batch = 1, .cpu = 1, .gpu = 1}, .run_ns = 100},
        {.config = {.batch = 1, .cpu = 1, .gpu = 2}, .run_ns = 10}};
    struct configs_choice second[] = {
        {.config = {.batch = 1, .cpu = 1, .gpu = 1}, .run_ns = 300},
        {.config = {.batch = 1, .cpu = 1, .gpu = 4}, .run_ns = 1}};
    const struct configs tables[] = {
        {.count = 2, .choices = first}, {.count = 2, .choices = second}};
    int64_t lengths[2];
    configs_lengths(tables, 2, lengths);

    assert_int_equal(lengths[0], (INT64_C(1) << 38) + 1); /* A quarter. */
    assert_int_equal(lengths[1], (INT64_C(3) << 38) + 1);
    second[0].config.cpu = 2; /* Nothing in common: the fastest of each. */
    second[0].run_ns = 100;
    configs_lengths(tables, 2, lengths);
    assert_true(lengths[0] == lengths[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_CASE(cost_is_price_times_time_over_items),
        CLUSTER_CASE(interference_and_handoffs_are_planned_for),
        CLUSTER_CASE(prices_are_those_of_the_fleet),
        CLUSTER_CASE(choices_come_by_time),
        CLUSTER_CASE(what_no_worker_can_hold_is_left_out),
        CLUSTER_CASE(only_shares_that_the_device_can_be_divided_into_count),
        CLUSTER_CASE(rules_leave_whole_devices_or_single_items),
        CLUSTER_CASE(lengths_count_the_configs_that_all_tasks_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
