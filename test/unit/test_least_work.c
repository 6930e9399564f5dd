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

/* Every worker asked, in order: what the policy must agree with however it searches. */
static uint32_t by_asking_all(const struct view *view)
{
    uint32_t best = WORKER_NONE;
    for (uint32_t worker = 0; worker < view->fleet->worker_count; worker++) {
        if (view_is_usable(view, worker) &&
            (best == WORKER_NONE || view_free_at_ns(view, worker) < view_free_at_ns(view, best))) {
            best = worker;
        }
    }
    return best;
}

/* Rows of all ages, own workers in the middle, promises, workers that take nothing, ties. */
static void searching_is_the_same_as_asking_all(void **state)
{
    (void)state;
    enum { DELAY_NS = 5, ROUNDS = 20000 };
    struct rng rng = rng_stream(1, RNG_TEST, 0);
    struct cluster cluster;
    cluster_init(&cluster, 6, 2);
    cluster_load(&cluster, 0, 1000000);
    (void)cluster_task(&cluster, 0);
    cluster_seal(&cluster);
    cluster_seat(&cluster, "least-work");
    cluster.board.delay_ns = DELAY_NS;
    cluster.view.node = 2;
    cluster.view.worker_first = 4;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        cluster.view.now_ns += (int64_t)rng_range(&rng, 0, 4);
        const uint32_t worker = rng_below(&rng, 12);
        struct row *row = &cluster.board.entries[worker].live;
        row->parts = ROW_LOAD;
        row->load.at_ns = cluster.view.now_ns;
        row->load.sequence = ++cluster.sequence;
        row->load.queued_ns = (int64_t)rng_range(&rng, 0, 40);
        row->load.accepting = rng_below(&rng, 8) > 0 ? 1 : 0;
        if (!view_is_own(&cluster.view, worker) || rng_below(&rng, 2) == 0) { /* Others wait. */
            (void)board_publish(&cluster.board, row);
        }
        cluster.view.now_ns += (int64_t)rng_range(&rng, 0, 10);
        if (rng_below(&rng, 4) == 0) {
            (void)reservations_add(&cluster.view.reservations, rng_below(&rng, 12), 7);
        } else if (rng_below(&rng, 2) == 0) {
            reservations_forget(&cluster.view.reservations, rng_below(&rng, 12));
        }
        assert_int_equal(cluster_place(&cluster, 0, WORKER_NONE, 4), by_asking_all(&cluster.view));
    }
    cluster_deinit(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_work_wins_and_the_lowest_index_in_a_tie),
        cmocka_unit_test(a_resident_model_does_not_matter),
        cmocka_unit_test(work_that_was_promised_counts),
        cmocka_unit_test(unusable_workers_are_passed_over),
        cmocka_unit_test(searching_is_the_same_as_asking_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
