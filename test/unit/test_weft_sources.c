/*
 * weft: sources of one job, which are placed before any of them is sent.
 *
 * Covers: src/policy/weft_sources.c
 */
#include "weft_fixture.h"

#define RUN_NS (10 * NS_PER_MS)

enum { TASKS = 4, WORKERS = 3 };

static struct cluster cluster;

/* Three sources, which the last task joins; @is_chain: one source, and the others behind it. */
static void init(bool is_chain)
{
    cluster_init(&cluster, WORKERS, /* worker_count */ 1);
    weft_tasks(&cluster, TASKS, RUN_NS);
    for (uint32_t task = 0; task + 1 < TASKS; task++) {
        cluster_edge(&cluster, task, is_chain ? task + 1 : TASKS - 1, 0);
    }
    cluster_seal(&cluster);
    for (uint32_t model = 0; model < TASKS; model++) {
        for (uint32_t worker = 0; worker < WORKERS; worker++) {
            cluster_hold(&cluster, worker, model);
        }
    }
    weft_seat(&cluster, "");
}

static void sources_do_not_wait_for_one_another(void **state)
{
    uint16_t placement[TASKS] = {
        PLACEMENT_UNBOUND, PLACEMENT_UNBOUND, PLACEMENT_UNBOUND, PLACEMENT_UNBOUND};
    (void)state;
    init(/* is_chain */ false);
    for (uint32_t source = 0; source < WORKERS; source++) {
        placement[source] = (uint16_t)weft_place_beside(&cluster, source, 0, placement);
        assert_int_equal(placement[source], source);
    }
    cluster_queue(&cluster, 2, 5 * RUN_NS);
    assert_int_equal(weft_place_beside(&cluster, 2, 0, placement), 0); /* Behind the first. */
    cluster_deinit(&cluster);
}

/* What was placed before, and has run or is in a row, does not count again. */
static void only_sources_count(void **state)
{
    const uint16_t placement[TASKS] = {0, 0, PLACEMENT_UNBOUND, PLACEMENT_UNBOUND};
    (void)state;
    init(/* is_chain */ true);
    assert_int_equal(weft_place_beside(&cluster, 2, 0, placement), 0);
    cluster_deinit(&cluster);
    init(/* is_chain */ false);
    assert_int_equal(weft_place_beside(&cluster, 3, 0, placement), 0); /* The join. */
    assert_int_equal(weft_place_beside(&cluster, 2, 0, placement), 1);
    cluster_deinit(&cluster);
}

/* One that is placed again is not in its own way. */
static void a_source_does_not_wait_for_itself(void **state)
{
    const uint16_t placement[TASKS] = {0, PLACEMENT_UNBOUND, PLACEMENT_UNBOUND, PLACEMENT_UNBOUND};
    (void)state;
    init(/* is_chain */ false);
    assert_int_equal(weft_place_beside(&cluster, 0, 0, placement), 0);
    assert_int_equal(weft_place_beside(&cluster, 1, 0, placement), 1);
    cluster_deinit(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_do_not_wait_for_one_another),
        cmocka_unit_test(only_sources_count),
        cmocka_unit_test(a_source_does_not_wait_for_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
