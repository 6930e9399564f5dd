/*
 * fifo: after spark_fifo, executors first stay in the job that releases them.
 *
 *     entry ──► next
 */
#include "policy_fixture.h"

enum { ENTRY, NEXT };

static void init(struct cluster *cluster)
{
    cluster_init(cluster, 4, 1);
    cluster_load(cluster, 0, 1000000);
    (void)cluster_task(cluster, 0);
    (void)cluster_task(cluster, 0);
    cluster_edge(cluster, ENTRY, NEXT, 500);
    cluster_seal(cluster);
    cluster_seat(cluster, "fifo");
}

static void placement_by_idleness(void **state)
{
    (void)state;
    static const struct {
        int64_t queued_ns[4];
        uint32_t here;
        uint32_t entry; /* Where each of the two tasks goes. */
        uint32_t next;
    } cases[] = {
        {{0, 0, 0, 0}, 2, 0, 2},        /* Idle itself: it stays, though others idle before it. */
        {{0, 9, 9, 9}, 0, 0, 0},        /* So does the lowest. */
        {{9, 0, 1, 0}, 2, 1, 1},        /* Busy, others idle: the first of those. */
        {{9, 9, 1, 0}, 2, 3, 3},        /* However short its own queue. */
        {{5, 6, 900, 7}, 2, 0, 2},      /* Nobody idle: it stays, however long its own queue. */
        {{900, 900, 900, 1}, 0, 3, 0},  /* And does not go where work ends first. */
        {{900, 901, 900, 900}, 1, 0, 1} /* An entry does, by lowest index. */
    };
    struct cluster cluster;
    init(&cluster);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (uint32_t worker = 0; worker < 4; worker++) {
            cluster_queue(&cluster, worker, cases[i].queued_ns[worker]);
        }
        assert_int_equal(
            cluster_place(&cluster, ENTRY, WORKER_NONE, cases[i].here), cases[i].entry);
        assert_int_equal(cluster_place(&cluster, NEXT, WORKER_NONE, cases[i].here), cases[i].next);
    }
    cluster_deinit(&cluster);
}

static void a_resident_model_does_not_matter(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster);
    cluster_queue(&cluster, 2, 1);
    cluster_hold(&cluster, 2, 0);
    cluster_hold(&cluster, 3, 0);
    assert_int_equal(cluster_place(&cluster, NEXT, WORKER_NONE, 2), 0);
    cluster_deinit(&cluster);
}

static void a_worker_that_drains_keeps_nothing(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster);
    for (uint32_t worker = 0; worker < 4; worker++) {
        cluster_queue(&cluster, worker, 10 - (int64_t)worker);
    }
    cluster_usable(&cluster, 3, false);
    assert_int_equal(cluster_place(&cluster, NEXT, WORKER_NONE, 3), 2);
    cluster_queue(&cluster, 3, 0); /* Idle, but not for new work. */
    assert_int_equal(cluster_place(&cluster, NEXT, WORKER_NONE, 1), 1);
    assert_int_equal(cluster_place(&cluster, ENTRY, WORKER_NONE, 3), 2);
    for (uint32_t worker = 0; worker < 3; worker++) {
        cluster_usable(&cluster, worker, false);
    }
    assert_int_equal(cluster_place(&cluster, NEXT, WORKER_NONE, 1), WORKER_NONE);
    cluster_deinit(&cluster);
}

static void the_oldest_job_comes_first(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster);
    assert_true(cluster_order(&cluster, 1, 900) < cluster_order(&cluster, 2, 5));
    assert_int_equal(cluster_order(&cluster, 7, 900), cluster_order(&cluster, 7, 5));
    /* When the task became ready plays no part. */
    const int64_t key = cluster_order(&cluster, 7, 900);
    cluster.view.now_ns += 12345;
    assert_int_equal(cluster_order(&cluster, 7, 900), key);
    cluster_deinit(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(placement_by_idleness),
        cmocka_unit_test(a_resident_model_does_not_matter),
        cmocka_unit_test(a_worker_that_drains_keeps_nothing),
        cmocka_unit_test(the_oldest_job_comes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
