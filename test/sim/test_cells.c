/*
 * Clusters that are large enough for cells: where tasks go, and who is shown rows.
 *
 * Covers: src/view/cells.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "policy/registry.h"
#include "stage.h"

enum { NODES = 128, JOBS = 20, VICTIM = 7 };

static struct stage stage;
static uint32_t strayed; /* Tasks that ran in another cell than that of their owner, */
static uint32_t joined;  /* and those that did so after a node was lost. */
static bool is_lost;

static void on_record(ATTR_UNUSED void *context, const struct record *record)
{
    is_lost = is_lost || record->kind == RECORD_NODE_LOST;
    if (record->kind == RECORD_STARTED) {
        const bool is_far = record->worker % 2 != record->job.node % 2;
        strayed += is_far && !is_lost ? 1 : 0;
        joined += is_far && is_lost ? 1 : 0;
    }
}

static void open_stage(void)
{
    strayed = 0;
    joined = 0;
    is_lost = false;
    stage_open(&stage, NODES, MB(100));
    (void)stage_model(&stage, "a", 0, MS(5));
    (void)stage_model(&stage, "b", 0, MS(5));
    (void)stage_chain(&stage, "chain", "a b");
    stage.options.on_record = on_record;
    stage.options.check = false; /* It would take minutes. */
}

/* Play the jobs, which come to all nodes from @at_ns on. */
static struct sim_counters play(const char *policy, int64_t at_ns)
{
    struct sim_counters counters;
    struct weft_error error;
    assert_int_equal(policy_set_parse(policy, &stage.policies, &error), WEFT_OK);
    stage.sim = sim_create(&stage.options);
    for (uint32_t i = 0; i < JOBS * NODES; i++) {
        stage_request(&stage, at_ns + MS(1) * (i / NODES), i % NODES == VICTIM ? 0 : i % NODES, 0);
    }
    sim_run(stage.sim);
    sim_counters(stage.sim, &counters);
    stage_close(&stage);
    assert_int_equal(counters.answered, JOBS * NODES);
    return counters;
}

static void tasks_stay_in_the_cell_of_their_owner(ATTR_UNUSED void **state)
{
    static const char *const policies[] = {"compass", "weft", "least-work", "heft", "first-fit"};
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        open_stage();
        (void)play(policies[i], 0);
        assert_int_equal(strayed, 0);
    }
}

static void rows_are_for_the_own_cell_alone(ATTR_UNUSED void **state)
{
    open_stage();
    const struct sim_counters cells = play("po2", 0);
    open_stage();
    stage.options.cell_nodes = UINT32_MAX;
    const struct sim_counters all = play("po2", 0);
    assert_true(strayed > 0);
    assert_int_equal(cells.row_messages % (NODES / 2 - 1), 0);
    assert_int_equal(all.row_messages % (NODES - 1), 0);
    assert_true(cells.row_messages < all.row_messages * 6 / 10);
}

static void cells_join_when_members_leave(ATTR_UNUSED void **state)
{
    open_stage();
    stage.faults[0] = (struct fault){.kind = FAULT_CRASH, .victim = VICTIM, .at_ns = MS(1)};
    stage.options.fault_count = 1;
    (void)play("po2", MS(10000));
    assert_true(is_lost);
    assert_true(joined > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_stay_in_the_cell_of_their_owner),
        cmocka_unit_test(rows_are_for_the_own_cell_alone),
        cmocka_unit_test(cells_join_when_members_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
