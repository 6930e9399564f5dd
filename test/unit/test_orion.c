/*
 * Sizes for a percentile of the whole workflow, fixed before a job runs.
 *
 * Covers: src/policy/baselines/planned.c src/policy/baselines/sizing.c src/policy/baselines/grid.c
 */
#include "home_fixture.h"
#include "policy/baselines/sizing.h"

static struct cluster cluster;

enum { TASKS = 2 };

static int setup(void **state)
{
    *state = &cluster;
    home_init(&cluster, /* node_count */ 4, /* model_count */ TASKS);
    for (uint32_t model = 0; model < TASKS; model++) {
        for (uint32_t batch = 1; batch <= 4; batch *= 2) {
            for (uint32_t cpu = 1; cpu <= 2; cpu++) {
                for (uint32_t gpu = 1; gpu <= 4; gpu++) {
                    /* Alone 100 ms; the device helps the second task more. */
                    const int64_t base = model == 0 ? 40 + 60 / gpu : 10 + 90 / gpu;
                    home_point(
                        &cluster, model, batch, cpu, gpu, base * (1 + batch) / 2 - (cpu - 1) * 2);
                }
            }
        }
        cluster_load(&cluster, model, 50 * MS);
        (void)cluster_task(&cluster, model);
    }
    cluster_edge(&cluster, 0, 1, 0);
    cluster.graph->slo_ns = 170 * MS;
    cluster_seal(&cluster);
    return 0;
}

static struct configs tables[TASKS];
static struct grid grids[TASKS];

static struct sizing_problem problem(int64_t target_ns)
{
    for (uint32_t task = 0; task < TASKS; task++) {
        static const struct configs_rules rules = {.whole = false};
        configs_collect(
            &cluster.arena, cluster.fleet, cluster.profile, &cluster.graph->tasks[task], &rules,
            &tables[task]);
        grid_make(&cluster.arena, &tables[task], &grids[task]);
    }
    return (struct sizing_problem){
        .workflow = cluster.graph,
        .tables = tables,
        .grids = grids,
        .target_ns = target_ns,
        .share = 0.95,
        .spread = 0.1,
        .work_max = 20000,
    };
}

static void a_grid_has_every_step(void **state)
{
    (void)state;
    (void)problem(1);
    assert_int_equal(grids[0].counts[GRID_BATCH], 3);
    assert_int_equal(grids[0].counts[GRID_CPU], 2);
    assert_int_equal(grids[0].counts[GRID_GPU], 4);
    const struct config config =
        tables[0].choices[grid_choice(&grids[0], (struct grid_point){{2, 0, 3}})].config;
    assert_int_equal(config.batch, 4);
    assert_int_equal(config.cpu, 1);
    assert_int_equal(config.gpu, 4);
}

static void sizes_are_the_cheapest_that_keep_the_percentile(void **state)
{
    (void)state;
    const struct sizing_problem sizes = problem(150 * MS);
    uint32_t choices[TASKS];
    struct sizing found;
    sizing_search(&sizes, choices, &found);
    assert_true(found.in_time);
    int64_t best = INT64_MAX;
    for (uint32_t i = 0; i < tables[0].count; i++) {
        for (uint32_t k = 0; k < tables[1].count; k++) {
            const struct sizing sizing = sizing_measure(&sizes, (uint32_t[]){i, k});
            best = sizing.in_time && sizing.cost < best ? sizing.cost : best;
        }
    }
    assert_int_equal(found.cost, best);
    /* A mean that is in time is not enough. */
    const int64_t mean_ns =
        tables[0].choices[choices[0]].run_ns + tables[1].choices[choices[1]].run_ns;
    assert_true(mean_ns < 140 * MS);
    assert_true(found.latency_ns > mean_ns);
}

static void with_little_work_the_nearest_to_the_target_is_kept(void **state)
{
    (void)state;
    struct sizing_problem sizes = problem(150 * MS);
    uint32_t choices[TASKS];
    struct sizing little;
    struct sizing none;
    sizes.work_max = 10;
    sizing_search(&sizes, choices, &little);
    sizes.work_max = 1;
    sizing_search(&sizes, choices, &none);
    assert_true(little.latency_ns <= none.latency_ns);
}

static void every_job_runs_as_planned_whatever_happened(void **state)
{
    (void)state;
    cluster_seat(&cluster, "orion");
    struct queue_facts queue = home_queue(&cluster, 1, 4, 50, 170);
    const struct dispatch_answer early = home_ask(&cluster, &queue);
    queue = home_queue(&cluster, 1, 4, 160, 170); /* A policy that looks would hurry. */
    const struct dispatch_answer late = home_ask(&cluster, &queue);
    assert_int_equal(early.count, 1);
    assert_memory_equal(&early.configs[0], &late.configs[0], sizeof(early.configs[0]));
}

static void what_a_plan_misses_runs_with_what_there_is(void **state)
{
    (void)state;
    cluster.graph->slo_ns = 2000 * MS; /* Time for the largest batches. */
    cluster_seat(&cluster, "orion");
    struct queue_facts queue = home_queue(&cluster, 0, 4, 0, 2000);
    const struct dispatch_answer planned = home_ask(&cluster, &queue);
    assert_int_equal(planned.configs[0].batch, 4);
    assert_false(planned.unplanned);
    queue = home_queue(&cluster, 0, 1, 0, 2000);
    const struct dispatch_answer missed = home_ask(&cluster, &queue);
    assert_int_equal(missed.configs[0].batch, 1);
    assert_int_equal(missed.configs[0].gpu, planned.configs[0].gpu);
    assert_true(missed.unplanned);
    for (uint32_t worker = 0; worker < 4; worker++) {
        home_free(&cluster, worker, 0, 16);
    }
    assert_int_equal(home_ask(&cluster, &queue).count, 0);
}

static void the_next_model_is_loaded_in_time(void **state)
{
    (void)state;
    cluster_seat(&cluster, "orion");
    for (uint32_t worker = 0; worker < 4; worker++) {
        cluster_drop(&cluster, worker, 1);
    }
    assert_true(policy_tick(&cluster.seat).rests); /* Nothing has run yet. */
    const struct queue_facts queue = home_queue(&cluster, 0, 4, 0, 170);
    const struct dispatch_answer answer = home_ask(&cluster, &queue);
    assert_false(cluster.seat.rests);
    const struct tick_answer before = policy_tick(&cluster.seat);
    assert_int_equal(before.warm_count, 0); /* Some 60 ms to go. */
    assert_false(before.rests);
    cluster.view.now_ns += 40 * MS;
    const struct tick_answer tick = policy_tick(&cluster.seat);
    assert_int_equal(tick.warm_count, 1);
    assert_int_equal(tick.warms[0].model, 1);
    assert_int_equal(tick.warms[0].worker, answer.workers[0]);
    assert_true(tick.rests);                                    /* That was all. */
    assert_int_equal(policy_tick(&cluster.seat).warm_count, 0); /* Once. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_CASE(a_grid_has_every_step),
        CLUSTER_CASE(sizes_are_the_cheapest_that_keep_the_percentile),
        CLUSTER_CASE(with_little_work_the_nearest_to_the_target_is_kept),
        CLUSTER_CASE(every_job_runs_as_planned_whatever_happened),
        CLUSTER_CASE(what_a_plan_misses_runs_with_what_there_is),
        CLUSTER_CASE(the_next_model_is_loaded_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
