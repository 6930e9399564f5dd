/*
 * weft: what is idle, and what follows from it.
 *
 * Covers: src/policy/weft_haste.c src/policy/weft_give_up.c src/policy/weft_home_plan.c
 *         src/policy/weft_keep.c src/policy/esg_order.c
 */
#include "home_fixture.h"
#include "weft_fixture.h"

static struct cluster cluster;

/* Two tasks in a row. */
static int setup(void **state)
{
    *state = &cluster;
    home_init_two(&cluster, /* way_ms */ 5);
    cluster_seal(&cluster);
    cluster_seat(&cluster, "weft");
    return 0;
}

/* From now on all units are busy, or none is. */
static void occupy_all(bool is_busy)
{
    for (uint32_t worker = 0; worker < 4; worker++) {
        home_free(&cluster, worker, is_busy ? 0 : 7, 16);
    }
}

/* The hope, after @ms more, of a job with an SLO of 900 ms, @left_ms before it; 60 are needed. */
static enum hope hope_after(int64_t ms, int64_t left_ms)
{
    struct job_facts job = cluster.job;
    cluster.view.now_ns += ms * MS;
    job.deadline_ns = cluster.view.now_ns + left_ms * MS;
    job.arrived_ns = job.deadline_ns - 900 * MS;
    const struct ready_facts facts = {
        .job = &job, .items = 1, .ready_ns = cluster.view.now_ns - MS};
    return policy_hope(&cluster.seat, &facts);
}

/* Four starts of 60 ms on 28 units: what was idle 9 ms ago counts half. */
static void a_moment_without_idle_units_is_no_load(void **state)
{
    (void)state;
    assert_int_equal(hope_after(0, 70), HOPE_GOOD);
    occupy_all(true);
    assert_int_equal(hope_after(1, 70), HOPE_GOOD);
    occupy_all(false);
    assert_int_equal(hope_after(1000, 70), HOPE_GOOD);
    occupy_all(true);
    assert_int_equal(hope_after(1000, 60 + 600), HOPE_LATE);
    assert_int_equal(hope_after(1000, 60 + 630), HOPE_GOOD);
    occupy_all(false); /* What is idle now is, whatever was. */
    assert_int_equal(hope_after(1, 70), HOPE_GOOD);
}

/* How many units the first task gets that has @slo_ms. */
static uint32_t units_for(int64_t slo_ms)
{
    const struct queue_facts queue = home_queue(&cluster, 0, 1, 0, slo_ms);
    return home_ask(&cluster, &queue).configs[0].gpu;
}

/* Jobs of this node with an SLO of 500 ms have taken @ms. */
static void end_jobs(uint32_t count, int64_t ms)
{
    struct job_facts job = cluster.job;
    job.deadline_ns = job.arrived_ns + 500 * MS;
    const struct answered_facts facts = {.job = &job, .latency_ns = ms * MS, .completed = true};
    for (uint32_t i = 0; i < count; i++) {
        policy_answered(&cluster.seat, &facts);
    }
}

static void jobs_that_are_late_buy_haste(void **state)
{
    (void)state;
    assert_int_equal(units_for(600), 1);
    end_jobs(10, 500);
    assert_int_equal(units_for(600), 1);
    end_jobs(1, 501); /* One of many may have waited for a load. */
    assert_int_equal(units_for(600), 1);
    end_jobs(10, 501);
    assert_int_equal(units_for(600), 7);
    end_jobs(100, 500);
    assert_int_equal(units_for(600), 1);
}

/* Their batches could not have ended sooner; nor did those of jobs without an SLO have to. */
static void jobs_that_are_late_under_load_buy_none(void **state)
{
    (void)state;
    occupy_all(true);
    end_jobs(10, 501);
    occupy_all(false);
    cluster.view.now_ns += 1000 * MS;
    assert_int_equal(units_for(600), 1);
    cluster.job.deadline_ns = INT64_MAX;
    const struct answered_facts facts = {
        .job = &cluster.job, .latency_ns = INT64_MAX, .completed = true};
    for (uint32_t i = 0; i < 10; i++) {
        policy_answered(&cluster.seat, &facts);
    }
    assert_int_equal(units_for(600), 1);
}

/* Whether a batch without an SLO starts that waits for @ago_ms, while @idle of 28 units are idle.
 */
static bool starts(uint32_t idle, int64_t ago_ms, uint32_t priority)
{
    for (uint32_t worker = 0; worker < 4; worker++) {
        home_free(&cluster, worker, idle < 7 ? idle : 7, 16);
        idle -= idle < 7 ? idle : 7;
    }
    cluster.view.now_ns += 1000 * MS;
    struct queue_facts queue = home_queue(&cluster, 0, 1, ago_ms, 0);
    queue.head_priority = priority;
    return home_ask(&cluster, &queue).count > 0;
}

/* Beside one with an SLO, of whose jobs 10, 20 or all of about 64 were late. */
static void what_has_no_slo_leaves_what_is_idle_to_others(void **state)
{
    (void)state;
    end_jobs(10, 501);
    assert_true(starts(1, 0, 0)); /* There is no other. */
    cluster_beside(&cluster, 1, 500 * MS);
    cluster_seat(&cluster, "weft");
    assert_true(starts(1, 0, 0));
    end_jobs(1, 501); /* An eighth is left. */
    assert_false(starts(3, 0, 0));
    assert_true(starts(4, 0, 0));
    end_jobs(20, 501);
    assert_false(starts(13, 0, 0));
    assert_true(starts(14, 0, 0));     /* Half of all is the most, */
    assert_true(starts(1, 0, 1));      /* and what has a priority leaves nothing, */
    assert_true(starts(1, 600001, 0)); /* nor what has waited for ten minutes. */
    assert_false(starts(1, 599999, 0));
    end_jobs(500, 500);
    assert_true(starts(1, 0, 0));
}

/* The second task is placed, as its input travels for long, and waits at worker 2. */
static void what_is_idle_is_used_in_queues_of_workers_as_well(void **state)
{
    (void)state;
    cluster.fleet->prices = (struct fleet_prices){.gpu = 0};
    cluster.graph->edges[0].bytes = 20 * MS;
    cluster_seat(&cluster, "weft");
    assert_false(policy_waits(&cluster.seat, 1));
    struct queue_facts queue = home_queue(&cluster, 1, 1, 0, 900);
    queue.worker = 2;
    queue.gpu_free = 7;
    queue.cpu_free = 16;
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 7);
    occupy_all(true);
    cluster_seat(&cluster, "weft");
    assert_int_equal(home_ask(&cluster, &queue).configs[0].gpu, 1);
}

/* One task of a model that runs on whole devices, for @items at most; does it wait at its home? */
static bool waits_for(uint32_t items, void (*change)(struct fleet *fleet), const char *policy)
{
    struct cluster whole;
    home_init(&whole, /* node_count */ 4, /* model_count */ 1);
    for (uint32_t i = 1; i <= items; i *= 2) {
        cluster_run(&whole, 0, /* device */ 0, i, 100 * MS);
    }
    (void)cluster_task(&whole, 0);
    cluster_seal(&whole);
    if (change != NULL) {
        change(whole.fleet);
    }
    cluster_seat(&whole, policy);
    const bool waits = policy_waits(&whole.seat, 0);
    cluster_deinit(&whole);
    return waits;
}

static void let_split(struct fleet *fleet)
{
    fleet->workers[1].splits = true;
}

static void let_be_replaced(struct fleet *fleet)
{
    fleet->has_slots = true;
}

static void let_be_one_node(struct fleet *fleet)
{
    fleet->node_count = 1;
}

static void batches_of_whole_devices_are_gathered(void **state)
{
    (void)state;
    assert_true(waits_for(2, NULL, "weft"));
    assert_false(waits_for(1, NULL, "weft")); /* Nothing is gained by it. */
    assert_false(waits_for(2, NULL, "weft:gather=0"));
    assert_false(waits_for(2, let_split, "weft"));
    assert_false(waits_for(2, let_be_replaced, "weft"));
    assert_false(waits_for(2, let_be_one_node, "weft"));
}

/* Where a task goes whose model worker 1 has, which is busy for @wait_ms, if all take @bytes. */
static uint32_t place_beside_a_holder(uint64_t bytes, int64_t load_ms, int64_t wait_ms)
{
    struct cluster whole;
    cluster_init(&whole, /* node_count */ 2, /* worker_count */ 1);
    weft_tasks(&whole, 1, 10 * MS);
    cluster_load(&whole, 0, load_ms * MS);
    whole.profile->models[1].resident_bytes = bytes; /* It is not asked for. */
    cluster_seal(&whole);
    cluster_hold(&whole, 1, 0);
    cluster_queue(&whole, 1, wait_ms * MS);
    weft_seat(&whole, "");
    const uint32_t worker = weft_place(&whole, 0, 0);
    cluster_deinit(&whole);
    return worker;
}

/* A wait, or a load: of 60 ms, of which half are forgiven, or nearly all, up to 80. */
static void where_all_models_fit_a_load_hardly_counts(void **state)
{
    (void)state;
    assert_int_equal(place_beside_a_holder((1 << 20) + 1, 60, 20), 1);
    assert_int_equal(place_beside_a_holder(1 << 20, 60, 20), 0);
    assert_int_equal(place_beside_a_holder(1 << 20, 81, 20), 1);
    assert_int_equal(place_beside_a_holder(1 << 20, 60, 0), 1); /* Nothing is gained by a load. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_CASE(a_moment_without_idle_units_is_no_load),
        CLUSTER_CASE(jobs_that_are_late_buy_haste),
        CLUSTER_CASE(jobs_that_are_late_under_load_buy_none),
        CLUSTER_CASE(what_has_no_slo_leaves_what_is_idle_to_others),
        CLUSTER_CASE(what_is_idle_is_used_in_queues_of_workers_as_well),
        cmocka_unit_test(batches_of_whole_devices_are_gathered),
        cmocka_unit_test(where_all_models_fit_a_load_hardly_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
