/*
 * weft: what a node believes of workers whose rows are old.
 *
 * Covers: src/policy/weft.c src/policy/weft_fade.c
 */
#include "policy/weft_fade.h"

#include "weft_fixture.h"

enum { RUN_NS = 100000, OLD_NS = 400000, TIMES = 64 };

/* Machines of one worker, in two racks of four, whose rows come once in a second. */
static void init(struct cluster *cluster, const char *options)
{
    char text[128];
    cluster_init(cluster, 8, 1);
    cluster->fleet->network.kind = NETWORK_TWO_TIER;
    cluster->fleet->network.nodes_per_rack = 4;
    cluster->fleet->network.core_bytes_per_s = 1000000000;
    weft_tasks(cluster, 2, RUN_NS);
    cluster_edge(cluster, 0, 1, 0);
    cluster_seal(cluster);
    (void)snprintf(text, sizeof(text), ":doubt=0:toll=0:links=0:stay=0%s", options);
    weft_seat(cluster, text);
    cluster->view.row_load_ns = 1000000000;
    for (uint32_t worker = 0; worker < 8; worker++) {
        cluster_queue(cluster, worker, 0);
    }
}

/* How often each worker gets a task, of TIMES. */
static void count(struct cluster *cluster, uint64_t bytes, uint32_t *counts_out)
{
    memset(counts_out, 0, cluster->fleet->worker_count * sizeof(*counts_out));
    for (uint32_t i = 0; i < TIMES; i++) {
        counts_out[weft_place(cluster, 1, bytes)]++;
    }
}

static void rows_fade_with_the_tasks_that_could_have_run_unseen(void **state)
{
    (void)state;
    struct cluster cluster;
    init(&cluster, "");
    assert_int_equal(weft_faded(&cluster.view, 1, RUN_NS), 0);
    cluster.view.now_ns += RUN_NS;
    assert_in_range(weft_faded(&cluster.view, 1, RUN_NS), 500, 512);
    assert_int_equal(weft_faded(&cluster.view, 0, RUN_NS), 0);
    cluster.view.now_ns += 99 * RUN_NS;
    assert_in_range(weft_faded(&cluster.view, 1, RUN_NS), 1000, 1024);
    cluster.view.row_load_ns = RUN_NS; /* It would have said so. */
    assert_int_equal(weft_faded(&cluster.view, 1, RUN_NS), 0);
    cluster_deinit(&cluster);
}

static void a_handicap_is_up_to_half_of_the_mean(void **state)
{
    (void)state;
    struct rng rng = rng_from_seed(1);
    int64_t most_ns = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        const int64_t ns = weft_chance_ns(&rng, /* mean_ns */ 1 << 20, /* faded */ 512);
        assert_in_range(ns, 0, 1 << 18);
        most_ns = ns > most_ns ? ns : most_ns;
    }
    assert_true(most_ns > (1 << 18) * 9 / 10);
    const struct rng before = rng;
    assert_int_equal(weft_chance_ns(&rng, 1 << 20, 0), 0);
    assert_memory_equal(&rng, &before, sizeof(rng));
}

/* Worker 0 is far behind; of the others of its rack, 3 has a little less to do by its row. */
static void init_with_rows(struct cluster *cluster, const char *options)
{
    init(cluster, options);
    cluster_queue(cluster, 0, 10 * OLD_NS);
    for (uint32_t worker = 1; worker < 8; worker++) {
        cluster_queue(cluster, worker, 2 * OLD_NS);
    }
    cluster_queue(cluster, 3, 2 * OLD_NS - 20000);
}

static void old_rows_leave_it_to_chance(void **state)
{
    (void)state;
    struct cluster cluster;
    uint32_t counts[8];
    init_with_rows(&cluster, "");
    count(&cluster, 100000, counts);
    assert_int_equal(counts[3], TIMES); /* As long as rows are new. */
    cluster.view.now_ns += OLD_NS;
    count(&cluster, 100000, counts);
    assert_int_equal(counts[1] + counts[2] + counts[3], TIMES); /* All within the rack. */
    for (uint32_t worker = 1; worker < 4; worker++) {
        assert_in_range(counts[worker], TIMES / 8, TIMES / 2);
    }
    cluster.view.row_load_ns = OLD_NS - 1;
    count(&cluster, 100000, counts);
    assert_int_equal(counts[3], TIMES); /* Or are true. */
    cluster_deinit(&cluster);

    for (uint32_t i = 0; i < 2; i++) {
        init_with_rows(&cluster, i == 0 ? ":chance=0" : ":fade=0");
        cluster.view.now_ns += OLD_NS;
        count(&cluster, 100000, counts);
        assert_int_equal(counts[3], TIMES);
        cluster_deinit(&cluster);
    }
}

/* A handicap decides between workers of others, not whether a task leaves. */
static void chance_keeps_nothing_at_home(void **state)
{
    (void)state;
    struct cluster cluster;
    uint32_t counts[8];
    init_with_rows(&cluster, "");
    cluster.view.now_ns += OLD_NS;
    /* 1000000 are left; others are believed to have 780000, and the way takes 100000. */
    cluster_queue(&cluster, 0, OLD_NS * 7 / 2);
    count(&cluster, 100000, counts);
    assert_int_equal(counts[0], 0);
    cluster_deinit(&cluster);
}

/* All rows are of before the first job: idle. What comes to this node comes to others, too. */
static void what_own_workers_have_is_believed_of_others(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        struct cluster cluster;
        const bool is_source = i != 1; /* Only those say how busy a node is when a job comes. */
        init(&cluster, i == 2 ? ":fade=0" : "");
        cluster.view.now_ns += OLD_NS;
        cluster_queue(&cluster, 0, 2 * OLD_NS);
        for (uint32_t k = 0; k < TIMES; k++) {
            assert_int_not_equal(weft_place(&cluster, is_source ? 0 : 1, 100000), 0);
        }
        cluster_queue(&cluster, 0, OLD_NS * 3 / 2); /* Half of what it had to do then. */
        if (i == 0) {
            assert_int_equal(weft_place(&cluster, 1, 100000), 0);
        } else {
            assert_int_not_equal(weft_place(&cluster, 1, 100000), 0);
        }
        cluster_deinit(&cluster);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_fade_with_the_tasks_that_could_have_run_unseen),
        cmocka_unit_test(a_handicap_is_up_to_half_of_the_mean),
        cmocka_unit_test(old_rows_leave_it_to_chance),
        cmocka_unit_test(chance_keeps_nothing_at_home),
        cmocka_unit_test(what_own_workers_have_is_believed_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
