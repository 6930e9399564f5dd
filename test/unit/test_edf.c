/* edf: by deadline; without one, last and by arrival. */
#include "policy_fixture.h"

static void keys_grow_with_the_deadline_whatever_the_arrival(void **state)
{
    (void)state;
    struct cluster cluster;
    cluster_init(&cluster, 1, 1);
    cluster_seat(&cluster, "edf");
    assert_int_equal(cluster_order(&cluster, 900, 1000), cluster_order(&cluster, 5, 1000));
    assert_true(cluster_order(&cluster, 900, 1000) < cluster_order(&cluster, 5, 1001));
    assert_true(cluster_order(&cluster, 0, 1) < cluster_order(&cluster, 0, INT64_C(1) << 60));
    assert_true(cluster_order(&cluster, 0, -5) < cluster_order(&cluster, 0, 0)); /* Overdue. */
    cluster_deinit(&cluster);
}

static void jobs_without_deadline_come_last_and_by_arrival(void **state)
{
    (void)state;
    struct cluster cluster;
    cluster_init(&cluster, 1, 1);
    cluster_seat(&cluster, "edf");
    const int64_t years_100_ns = INT64_C(3153600000) * 1000000000;
    const int64_t oldest = cluster_order(&cluster, 0, INT64_MAX);
    assert_true(cluster_order(&cluster, years_100_ns, years_100_ns) < oldest);
    assert_true(oldest < cluster_order(&cluster, 1, INT64_MAX));
    assert_true(
        cluster_order(&cluster, 1, INT64_MAX) < cluster_order(&cluster, years_100_ns, INT64_MAX));
    cluster_deinit(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_grow_with_the_deadline_whatever_the_arrival),
        cmocka_unit_test(jobs_without_deadline_come_last_and_by_arrival),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
