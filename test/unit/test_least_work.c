/* least-work: the worker that is free first, and nothing else. */
#include "policy_fixture.h"

static void init(struct cluster *cluster)
{
    cluster_init(cluster, 4, 1);
    cluster_load(cluster, 0, 1000000);
    (void)cluster_task(cluster, 0);
    cluster_seal(cluster);
    cluster_seat(cluster, "least-work");
}

static void the_least_work_wins_and_the_lowest_index_in_a_tie(void **state)
{
    (void)state;
    static const struct {
        int64_t queued_ns[4];
        uint32_t worker;
    } cases[] = {
        {{0, 0, 0, 0}, 0},     {{30, 20, 10, 40}, 2},      {{30, 20, 40, 10}, 3},
        {{30, 20, 10, 10}, 2}, {{11, 10, 12, 10}, 1},      {{5, 6, 7, 8}, 0},
        {{1, 0, 0, 0}, 1},     {{1000, 999, 999, 998}, 3},
    };
    struct cluster cluster;
    init(&cluster);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (uint32_t worker = 0; worker < 4; worker++) {
            cluster_queue(&cluster, worker, cases[i].queued_ns[worker]);
        }
        /* Whatever was planned, and wherever the input is. */
        assert_int_equal(cluster_place(&cluster, 0, WORKER_NONE, 0), cases[i].worker);
        assert_int_equal(cluster_place(&cluster, 0, 1, 3), cases[i].worker);
    }
    cluster_deinit(&cluster);
}

static void a_resident_model_does_not_matter(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster);
    for (uint32_t worker = 0; worker < 4; worker++) {
        cluster_queue(&cluster, worker, worker == 3 ? 1 : 2);
    }
    cluster_hold(&cluster, 0, 0);
    assert_int_equal(cluster_place(&cluster, 0, 0, 0), 3);
    cluster_deinit(&cluster);
}

static void work_that_was_promised_counts(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster);
    assert_int_equal(cluster_place(&cluster, 0, WORKER_NONE, 0), 0);
    cluster_queue(&cluster, 0, 100);
    assert_int_not_equal(reservations_add(&cluster.view.reservations, 1, 50), 0);
    assert_int_not_equal(reservations_add(&cluster.view.reservations, 2, 40), 0);
    cluster_queue(&cluster, 3, 60);
    assert_int_equal(cluster_place(&cluster, 0, WORKER_NONE, 0), 2);
    cluster_deinit(&cluster);
}

static void unusable_workers_are_passed_over(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster);
    for (uint32_t worker = 0; worker < 4; worker++) {
        cluster_queue(&cluster, worker, 10 * (int64_t)worker);
    }
    for (uint32_t worker = 0; worker < 4; worker++) {
        assert_int_equal(cluster_place(&cluster, 0, 0, 0), worker);
        cluster_usable(&cluster, worker, false);
    }
    assert_int_equal(cluster_place(&cluster, 0, 0, 0), WORKER_NONE);
    cluster_deinit(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_work_wins_and_the_lowest_index_in_a_tie),
        cmocka_unit_test(a_resident_model_does_not_matter),
        cmocka_unit_test(work_that_was_promised_counts),
        cmocka_unit_test(unusable_workers_are_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
