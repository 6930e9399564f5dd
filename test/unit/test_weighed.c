/* Covers: src/policy/weighed.c, and that policies say what they weighed. */
#include "policy/weighed.h"

#include "policy_fixture.h"

static struct weighed weighed;

/* Four workers that have 40, 20, 30 and 10 us to do; model 0 is on worker 1 alone. */
static void init(struct cluster *cluster, const char *policy)
{
    static const int64_t queued_ns[4] = {40000, 20000, 30000, 10000};
    cluster_init(cluster, 4, 1);
    cluster_run(cluster, 0, /* device */ 0, /* items */ 1, 5000);
    cluster_load(cluster, 0, 100000);
    (void)cluster_task(cluster, 0);
    cluster_seal(cluster);
    weighed.count = 0;
    cluster->meter.weighed = &weighed;
    cluster_seat(cluster, policy);
    for (uint32_t worker = 0; worker < 4; worker++) {
        cluster_queue(cluster, worker, queued_ns[worker]);
    }
    cluster_hold(cluster, 1, 0);
}

static const struct weighed_worker *find(uint32_t worker)
{
    for (uint32_t i = 0; i < weighed.count; i++) {
        if (weighed.items[i].worker == worker) {
            return &weighed.items[i];
        }
    }
    return NULL;
}

static void every_worker_is_weighed(void **state)
{
    (void)state;
    static const char *const policies[] = {"compass", "least-work", "jit", "weft"};
    for (uint32_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        struct cluster cluster;
        init(&cluster, policies[i]);
        const uint32_t chosen = cluster_place(&cluster, 0, WORKER_NONE, 0);
        assert_int_equal(weighed.count, 4);
        for (uint32_t worker = 0; worker < 4; worker++) {
            const struct weighed_worker *item = find(worker);
            assert_non_null(item);
            assert_int_equal(item->task, 0);
            assert_int_equal(item->lacks, worker == 1 ? WEIGHED_LACKS_NOTHING : 0);
            assert_true(item->end_ns >= CLUSTER_NOW_NS + 5000);
            assert_true(item->end_ns >= find(chosen)->end_ns); /* One kind of device: it decides. */
        }
        cluster_deinit(&cluster);
    }
}

static void a_plan_says_it_of_each_task(void **state)
{
    (void)state;
    static const char *const policies[] = {"compass", "heft"};
    for (uint32_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        struct cluster cluster;
        uint16_t placement[2];
        cluster_init(&cluster, 4, 1);
        cluster_run(&cluster, 0, /* device */ 0, /* items */ 1, 5000);
        const uint32_t first = cluster_task(&cluster, 0);
        const uint32_t second = cluster_task(&cluster, 0);
        cluster_edge(&cluster, first, second, /* bytes */ 10);
        cluster_seal(&cluster);
        cluster.meter.weighed = &weighed;
        cluster_seat(&cluster, policies[i]);
        cluster_place_job(&cluster, placement);
        assert_int_equal(weighed.count, 8);
        assert_int_equal(weighed.items[0].task, first);
        assert_int_equal(weighed.items[4].task, second);
        cluster_place_job(&cluster, placement); /* It begins again. */
        assert_int_equal(weighed.count, 8);
        cluster_deinit(&cluster);
    }
}

static void nobody_asks_and_nothing_is_noted(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, "least-work");
    cluster.meter.weighed = NULL;
    cluster_seat(&cluster, "least-work");
    assert_int_equal(cluster_place(&cluster, 0, WORKER_NONE, 0), 3);
    assert_int_equal(weighed.count, 0);
    cluster_deinit(&cluster);
}

static void the_best_are_kept_and_a_worker_once(void **state)
{
    (void)state;
    struct cluster cluster;
    cluster_init(&cluster, 10, 1);
    (void)cluster_task(&cluster, 0);
    cluster_seal(&cluster);
    weighed.count = 0;
    weighed.first = 0;
    const struct policy_input input = {.view = &cluster.view, .weighed = &weighed};
    for (uint32_t worker = 0; worker < 10; worker++) {
        weigh(&input, cluster.graph, 0, worker, 100 - (int64_t)worker);
    }
    weigh(&input, cluster.graph, 0, 9, 50);
    weigh(&input, cluster.graph, 0, 9, 60); /* Later than known: of no interest. */
    assert_int_equal(weighed.count, WEIGHED_PER_TASK);
    for (uint32_t worker = 0; worker < 10; worker++) {
        assert_int_equal(find(worker) != NULL, worker >= 10 - WEIGHED_PER_TASK);
    }
    assert_int_equal(find(9)->end_ns, 50);
    cluster_deinit(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_worker_is_weighed),
        cmocka_unit_test(a_plan_says_it_of_each_task),
        cmocka_unit_test(nobody_asks_and_nothing_is_noted),
        cmocka_unit_test(the_best_are_kept_and_a_worker_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
