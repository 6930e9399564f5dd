/* po2: draws different workers, takes the least loaded of them, looks at no other. */
#include "policy_fixture.h"

enum { WORKERS = 10, DRAWS = 20000 };

static void init(struct cluster *cluster, uint32_t worker_count, const char *text)
{
    cluster_init(cluster, worker_count, 1);
    (void)cluster_task(cluster, 0);
    cluster_seal(cluster);
    cluster_seat(cluster, text);
}

/*
 * With queues 0 < 1 < ... < n-1, worker k wins if it is drawn and none before it is:
 * C(n-1-k, d-1) of the C(n, d) pairs or triples. A draw with repetition would let the
 * last worker win at times; it never may.
 */
static void shares_are_those_of_drawing_without_repetition(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double shares[WORKERS]; /* For n = 10. */
    } cases[] = {
        {"po2:choices=1", {.1, .1, .1, .1, .1, .1, .1, .1, .1, .1}},
        {"po2", {9 / 45., 8 / 45., 7 / 45., 6 / 45., 5 / 45., 4 / 45., 3 / 45., 2 / 45., 1 / 45.}},
        {"po2:choices=3",
         {36 / 120., 28 / 120., 21 / 120., 15 / 120., 10 / 120., 6 / 120., 3 / 120., 1 / 120.}},
        {"po2:choices=10", {1}},
        {"po2:choices=32", {1}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cluster cluster;
        uint32_t counts[WORKERS] = {0};
        init(&cluster, WORKERS, cases[i].text);
        for (uint32_t worker = 0; worker < WORKERS; worker++) {
            cluster_queue(&cluster, worker, worker);
        }
        for (uint32_t draw = 0; draw < DRAWS; draw++) {
            counts[cluster_place(&cluster, 0, 5, 5)]++;
        }
        for (uint32_t worker = 0; worker < WORKERS; worker++) {
            const double expected = cases[i].shares[worker] * DRAWS;
            const double error = counts[worker] - expected;
            assert_true(error * error <= 16 * expected); /* Four deviations of a Poisson count. */
        }
        cluster_deinit(&cluster);
    }
}

static void one_choice_is_blind(void **state)
{
    (void)state;
    struct cluster cluster;
    uint32_t last = 0;
    init(&cluster, 2, "po2:choices=1");
    cluster_queue(&cluster, 1, 50);
    for (uint32_t draw = 0; draw < 1000; draw++) {
        last += cluster_place(&cluster, 0, WORKER_NONE, 0);
    }
    assert_in_range(last, 400, 600); /* Blind: the busy one is as good. */
    cluster_deinit(&cluster);
}

static void a_tie_goes_to_the_lowest_index(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, 2, "po2");
    for (uint32_t draw = 0; draw < 100; draw++) {
        assert_int_equal(cluster_place(&cluster, 0, 1, 1), 0);
    }
    cluster_deinit(&cluster);
}

/* A hundred workers, few of them usable: guesses miss, and the draw is still even. */
static void rare_usable_workers_are_drawn_evenly(void **state)
{
    (void)state;
    struct cluster cluster;
    uint32_t counts[100] = {0};
    init(&cluster, 100, "po2:choices=1");
    for (uint32_t worker = 0; worker < 100; worker++) {
        cluster_usable(&cluster, worker, worker == 3 || worker == 4 || worker == 98);
    }
    for (uint32_t draw = 0; draw < 3000; draw++) {
        counts[cluster_place(&cluster, 0, WORKER_NONE, 0)]++;
    }
    assert_in_range(counts[3], 880, 1120);
    assert_in_range(counts[4], 880, 1120);
    assert_in_range(counts[98], 880, 1120);
    cluster_usable(&cluster, 3, false);
    cluster_usable(&cluster, 4, false);
    assert_int_equal(cluster_place(&cluster, 0, WORKER_NONE, 0), 98);
    cluster_usable(&cluster, 98, false);
    assert_int_equal(cluster_place(&cluster, 0, WORKER_NONE, 0), WORKER_NONE);
    cluster_deinit(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_those_of_drawing_without_repetition),
        cmocka_unit_test(one_choice_is_blind),
        cmocka_unit_test(a_tie_goes_to_the_lowest_index),
        cmocka_unit_test(rare_usable_workers_are_drawn_evenly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
