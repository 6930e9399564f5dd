/*
 * weft: batches and what workers load meanwhile.
 *
 * Covers: src/policy/weft_spot.c src/policy/weft_home.c
 */
#include "home_fixture.h"

static struct cluster cluster;

/* Two tasks in a row; worker 2 begins to load the second model. */
static int setup(void **state)
{
    *state = &cluster;
    home_init_two(&cluster, /* way_ms */ 5);
    cluster_seal(&cluster);
    for (uint32_t worker = 0; worker < 3; worker++) {
        cluster_drop(&cluster, worker, 1);
    }
    struct row row = cluster.board.entries[2].live;
    cluster.view.now_ns = CLUSTER_NOW_NS; /* Of which rows are. */
    model_set_add(&row.cache.loading, 1);
    cluster_write(&cluster, &row);
    cluster_seat(&cluster, "weft");
    return 0;
}

/* Where the second task starts now, whose input is at worker 2; WORKER_NONE: it waits. */
static uint32_t starts_at(uint32_t *waits_for_out)
{
    struct queue_facts queue = home_queue(&cluster, 1, 1, 0, 900);
    queue.holder = 2;
    const struct dispatch_answer answer = home_ask(&cluster, &queue);
    *waits_for_out = answer.count > 0 ? WORKER_NONE : answer.waits_for;
    return answer.count > 0 ? answer.workers[0] : WORKER_NONE;
}

/* Worker 3 has the model, and is full for 100 ms, which count twice. */
static void a_model_that_is_on_its_way_is_not_there(void **state)
{
    (void)state;
    uint32_t waits_for;
    home_occupy(&cluster, 3, /* gpu */ 0, 100);
    assert_int_equal(starts_at(&waits_for), WORKER_NONE);
    assert_int_equal(waits_for, 3);
    cluster.view.now_ns += 301 * MS; /* Less than 200 are left of the load. */
    home_occupy(&cluster, 3, /* gpu */ 0, 100);
    assert_int_equal(starts_at(&waits_for), 2);
}

/* Worker 2 loads another model before its own, so that it is later than worker 0. */
static void a_load_waits_for_the_one_before_it(void **state)
{
    (void)state;
    uint32_t waits_for;
    struct row row = cluster.board.entries[2].live;
    row.cache.loading = (struct model_set){{0}};
    row.cache.resident = (struct model_set){{0}};
    model_set_add(&row.cache.loading, 0);
    row.cache.free_bytes = 1 << 20;
    cluster_write(&cluster, &row);
    row = cluster.board.entries[0].live;
    row.cache.free_bytes = 1 << 20;
    cluster_write(&cluster, &row);
    home_occupy(&cluster, 3, /* gpu */ 0, 2000);
    home_occupy(&cluster, 1, /* gpu */ 0, 2000);
    assert_int_equal(starts_at(&waits_for), 0);
}

/* It would hold units for half a second that others need. */
static void under_load_no_batch_holds_units_while_a_model_comes(void **state)
{
    (void)state;
    uint32_t waits_for;
    home_occupy(&cluster, 1, /* gpu */ 0, 2000);
    home_occupy(&cluster, 3, /* gpu */ 0, 2000);
    assert_int_equal(starts_at(&waits_for), 2); /* Half of all units are idle. */
    home_occupy(&cluster, 0, /* gpu */ 0, 2000);
    cluster.view.now_ns += MS;
    assert_int_equal(starts_at(&waits_for), WORKER_NONE);
    assert_int_equal(waits_for, 2);
    cluster.view.now_ns += 498 * MS + MS / 2; /* In a moment. */
    assert_int_equal(starts_at(&waits_for), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_CASE(a_model_that_is_on_its_way_is_not_there),
        CLUSTER_CASE(a_load_waits_for_the_one_before_it),
        CLUSTER_CASE(under_load_no_batch_holds_units_while_a_model_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
