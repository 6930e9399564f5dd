/* hash: static, even, by task name and job; whatever the queues are. */
#include "base/hash.h"
#include "policy_fixture.h"

enum { TASKS = 4, WORKERS = 5, JOBS = 2000 };

static void init(struct cluster *cluster)
{
    cluster_init(cluster, WORKERS, 1);
    for (uint32_t i = 0; i < TASKS; i++) {
        (void)cluster_task(cluster, 0);
    }
    cluster_seal(cluster);
    cluster_seat(cluster, "hash");
}

static void place(struct cluster *cluster, uint32_t number, uint16_t *placement_out)
{
    cluster->job.id.number = number;
    cluster_place_job(cluster, placement_out);
}

static void the_worker_is_the_hash_of_name_and_job_modulo_workers(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster);
    for (uint32_t number = 1; number < 50; number++) {
        uint16_t placement[TASKS];
        place(&cluster, number, placement);
        for (uint32_t task = 0; task < TASKS; task++) {
            const uint64_t hash =
                hash_mix(hash_text(cluster.graph->tasks[task].name), job_key(cluster.job.id));
            assert_int_equal(placement[task], hash % WORKERS);
        }
    }
    cluster_deinit(&cluster);
}

static void queues_and_models_change_nothing(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster);
    uint16_t before[TASKS];
    uint16_t after[TASKS];
    place(&cluster, 1, before);
    for (uint32_t i = 0; i < TASKS; i++) {
        cluster_queue(&cluster, before[i], 1000000000);
    }
    cluster_hold(&cluster, (before[0] + 1u) % WORKERS, 0);
    place(&cluster, 1, after);
    assert_memory_equal(before, after, sizeof(before));
    assert_false(cluster.seat.places_tasks); /* Static. */
    cluster_deinit(&cluster);
}

static void load_is_even_over_jobs_and_tasks(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster);
    uint32_t counts[WORKERS] = {0};
    uint32_t together = 0;
    for (uint32_t number = 1; number <= JOBS; number++) {
        uint16_t placement[TASKS];
        place(&cluster, number, placement);
        for (uint32_t i = 0; i < TASKS; i++) {
            counts[placement[i]]++;
        }
        together += placement[0] == placement[1] ? 1 : 0;
    }
    for (uint32_t i = 0; i < WORKERS; i++) {
        assert_in_range(
            counts[i], JOBS * TASKS / WORKERS * 9 / 10, JOBS * TASKS / WORKERS * 11 / 10);
    }
    /* Tasks of a job fall independently of each other: one pair in five meets. */
    assert_in_range(together, JOBS / WORKERS * 8 / 10, JOBS / WORKERS * 12 / 10);
    cluster_deinit(&cluster);
}

static void losing_a_worker_moves_only_what_was_on_it(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster);
    uint32_t moved_to[WORKERS] = {0};
    for (uint32_t number = 1; number <= JOBS; number++) {
        uint16_t before[TASKS];
        uint16_t after[TASKS];
        cluster_usable(&cluster, 2, true);
        place(&cluster, number, before);
        cluster_usable(&cluster, 2, false);
        place(&cluster, number, after);
        for (uint32_t i = 0; i < TASKS; i++) {
            assert_int_not_equal(after[i], 2);
            assert_true(before[i] == 2 || after[i] == before[i]);
            moved_to[after[i]] += before[i] == 2 ? 1 : 0;
        }
    }
    for (uint32_t i = 0; i < WORKERS; i++) { /* And spreads it over all the others. */
        assert_true(i == 2 || moved_to[i] > JOBS * TASKS / WORKERS / 6);
    }
    cluster_deinit(&cluster);
}

/* Three of six: a remainder modulo six fixes the one modulo three. */
static void what_was_on_a_lost_worker_spreads_over_all_the_others(void **state)
{
    (void)state;
    struct cluster cluster;
    uint32_t moved_to[6] = {0};
    cluster_init(&cluster, 6, 1);
    (void)cluster_task(&cluster, 0);
    cluster_seal(&cluster);
    cluster_seat(&cluster, "hash");
    for (uint32_t number = 1; number <= JOBS; number++) {
        uint16_t before;
        uint16_t after;
        uint64_t some = 1 << 0 | 1 << 2 | 1 << 3;
        cluster.view.suspects.count = 0;
        place(&cluster, number, &before);
        cluster.view.suspects = (struct suspects){.count = 3, .bits = &some};
        place(&cluster, number, &after);
        cluster.view.suspects = (struct suspects){.count = 0};
        moved_to[after] += before == 2 ? 1 : 0;
    }
    assert_in_range(moved_to[1], JOBS / 6 / 3 * 7 / 10, JOBS / 6 / 3 * 13 / 10);
    assert_in_range(moved_to[4], JOBS / 6 / 3 * 7 / 10, JOBS / 6 / 3 * 13 / 10);
    assert_in_range(moved_to[5], JOBS / 6 / 3 * 7 / 10, JOBS / 6 / 3 * 13 / 10);
    cluster_deinit(&cluster);
}

static void the_only_usable_worker_gets_all(void **state)
{
    (void)state;
    struct cluster cluster;
    cluster_init(&cluster, 200, 1);
    for (uint32_t i = 0; i < TASKS; i++) {
        (void)cluster_task(&cluster, 0);
    }
    cluster_seal(&cluster);
    cluster_seat(&cluster, "hash");
    for (uint32_t i = 0; i < 200; i++) {
        cluster_usable(&cluster, i, i == 123);
    }
    uint16_t placement[TASKS];
    for (uint32_t number = 1; number < 100; number++) {
        place(&cluster, number, placement);
        for (uint32_t i = 0; i < TASKS; i++) {
            assert_int_equal(placement[i], 123);
        }
    }
    cluster_usable(&cluster, 123, false);
    place(&cluster, 1, placement);
    for (uint32_t i = 0; i < TASKS; i++) {
        assert_int_equal(placement[i], PLACEMENT_UNBOUND);
    }
    cluster_deinit(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worker_is_the_hash_of_name_and_job_modulo_workers),
        cmocka_unit_test(queues_and_models_change_nothing),
        cmocka_unit_test(load_is_even_over_jobs_and_tasks),
        cmocka_unit_test(losing_a_worker_moves_only_what_was_on_it),
        cmocka_unit_test(what_was_on_a_lost_worker_spreads_over_all_the_others),
        cmocka_unit_test(the_only_usable_worker_gets_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
