/*
 * Covers: src/policy/expert.c, src/policy/opportunistic.c
 *
 * A placement by hand, and one without any thought.
 *
 *     a ──1──► b ──1──► d
 *     └───9──► c ──9──►┘
 */
#include "policy_fixture.h"

enum { A, B, C, D, TASKS };

static void init(struct cluster *cluster, const char *policy)
{
    cluster_init(cluster, 5, 1);
    for (uint32_t i = 0; i < TASKS; i++) {
        (void)cluster_task(cluster, 0);
    }
    cluster_edge(cluster, A, B, 1);
    cluster_edge(cluster, A, C, 9);
    cluster_edge(cluster, B, D, 1);
    cluster_edge(cluster, C, D, 9);
    cluster_seal(cluster);
    cluster_seat(cluster, policy);
}

static void check(struct cluster *cluster, const uint16_t *expected)
{
    uint16_t placement[TASKS];
    cluster->job.id.number++;
    cluster_place_job(cluster, placement);
    for (uint32_t i = 0; i < TASKS; i++) {
        assert_int_equal(placement[i], expected[i]);
    }
}

static void whole_jobs_go_round(ATTR_UNUSED void **state)
{
    struct cluster cluster;
    init(&cluster, "expert");
    cluster_queue(&cluster, 0, 1000000); /* Queues do not matter. */
    for (uint32_t i = 0; i < 12; i++) {
        const uint16_t worker = (uint16_t)(i % 5);
        check(&cluster, (uint16_t[]){worker, worker, worker, worker});
    }
    cluster_usable(&cluster, 3, false);
    uint32_t seen = 0;
    for (uint32_t i = 0; i < 8; i++) {
        uint16_t placement[TASKS];
        cluster_place_job(&cluster, placement);
        seen |= 1U << placement[A];
    }
    assert_int_equal(seen, 1U << 0 | 1U << 1 | 1U << 2 | 1U << 4);
    cluster_deinit(&cluster);
}

static void nodes_begin_with_their_own_workers(ATTR_UNUSED void **state)
{
    struct cluster cluster;
    init(&cluster, "expert");
    cluster.view.worker_first = 3;
    check(&cluster, (uint16_t[]){3, 3, 3, 3});
    check(&cluster, (uint16_t[]){4, 4, 4, 4});
    check(&cluster, (uint16_t[]){0, 0, 0, 0});
    cluster_deinit(&cluster);
}

/* The heavy branch stays, the light one leaves, and the join is where its large input is. */
static void a_split_moves_what_is_light(ATTR_UNUSED void **state)
{
    struct cluster cluster;
    init(&cluster, "expert:split=2");
    check(&cluster, (uint16_t[]){0, 1, 0, 0});
    check(&cluster, (uint16_t[]){2, 3, 2, 2});
    check(&cluster, (uint16_t[]){4, 0, 4, 4});
    cluster_deinit(&cluster);
    init(&cluster, "expert:split=99"); /* There are no more than five, and four tasks. */
    check(&cluster, (uint16_t[]){0, 1, 0, 0});
    check(&cluster, (uint16_t[]){4, 0, 4, 4});
    cluster_deinit(&cluster);
}

/* Two racks of three, the last of each of the other kind, which alone can run the branch c. */
static void what_a_worker_cannot_run_stays_in_its_rack(ATTR_UNUSED void **state)
{
    struct cluster cluster;
    cluster_init(&cluster, 6, 1);
    cluster.fleet->network.kind = NETWORK_TWO_TIER;
    cluster.fleet->network.nodes_per_rack = 3;
    cluster.fleet->workers[2].device = 1;
    cluster.fleet->workers[5].device = 1;
    cluster_run(&cluster, 0, /* device */ 0, 1, 100);
    cluster_run(&cluster, 1, /* device */ 1, 1, 100);
    for (uint32_t i = 0; i < TASKS; i++) {
        (void)cluster_task(&cluster, i == C ? 1 : 0);
    }
    cluster_edge(&cluster, A, B, 1);
    cluster_edge(&cluster, A, C, 9);
    cluster_edge(&cluster, B, D, 1);
    cluster_edge(&cluster, C, D, 9);
    cluster_seal(&cluster);
    cluster_seat(&cluster, "expert");
    check(&cluster, (uint16_t[]){0, 0, 2, 0});
    check(&cluster, (uint16_t[]){1, 1, 2, 1});
    check(&cluster, (uint16_t[]){0, 0, 2, 0}); /* For 2, which takes turns with itself: */
    check(&cluster, (uint16_t[]){3, 3, 5, 3});
    check(&cluster, (uint16_t[]){4, 4, 5, 4});
    check(&cluster, (uint16_t[]){3, 3, 5, 3});
    check(&cluster, (uint16_t[]){0, 0, 2, 0});
    check(&cluster, (uint16_t[]){1, 1, 2, 1});
    check(&cluster, (uint16_t[]){1, 1, 2, 1}); /* in the second round it is the other. */
    cluster_usable(&cluster, 5, false);        /* None is left there: one of another rack. */
    check(&cluster, (uint16_t[]){4, 4, 2, 4});
    cluster_usable(&cluster, 2, false);
    check(&cluster, (uint16_t[]){3, 3, PLACEMENT_UNBOUND, 3});
    cluster_deinit(&cluster);
}

static void nothing_is_placed_where_nothing_is_usable(ATTR_UNUSED void **state)
{
    struct cluster cluster;
    const uint16_t none = PLACEMENT_UNBOUND;
    init(&cluster, "expert:split=2");
    for (uint32_t worker = 0; worker < 5; worker++) {
        cluster_usable(&cluster, worker, false);
    }
    check(&cluster, (uint16_t[]){none, none, none, none});
    cluster_usable(&cluster, 4, true);
    check(&cluster, (uint16_t[]){4, 4, 4, 4});
    cluster_deinit(&cluster);
}

static void opportunism_takes_any_idle_worker(ATTR_UNUSED void **state)
{
    struct cluster cluster;
    uint32_t seen = 0;
    init(&cluster, "opportunistic");
    cluster_queue(&cluster, 1, 1);
    cluster_queue(&cluster, 2, 900);
    cluster_usable(&cluster, 4, false);
    for (uint32_t i = 0; i < 60; i++) { /* Not the one that has the inputs, nor the first. */
        seen |= 1U << cluster_place(&cluster, C, 2, 2);
    }
    assert_int_equal(seen, 1U << 0 | 1U << 3);
    cluster_queue(&cluster, 0, 7);
    cluster_queue(&cluster, 3, 7);
    assert_int_equal(cluster_place(&cluster, C, WORKER_NONE, 2), 1); /* Where work ends first. */
    cluster_deinit(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_jobs_go_round),
        cmocka_unit_test(nodes_begin_with_their_own_workers),
        cmocka_unit_test(a_split_moves_what_is_light),
        cmocka_unit_test(what_a_worker_cannot_run_stays_in_its_rack),
        cmocka_unit_test(nothing_is_placed_where_nothing_is_usable),
        cmocka_unit_test(opportunism_takes_any_idle_worker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
