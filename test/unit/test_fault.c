#include "model/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/rng.h"
#include "model/fleet.h"

#define SECOND INT64_C(1000000000)

enum { NODES = 4, PER_NODE = 2, ROOM = 512 };

static struct fleet *fleet;
static struct fault faults[ROOM];

static int set_up(ATTR_UNUSED void **state)
{
    struct fleet_worker device = {.gpu_units = 1};
    fleet = fleet_create();
    device.device = fleet_device(fleet, "l4");
    for (uint32_t i = 0; i < NODES; i++) {
        if (!fleet_add_machine(fleet, &device, PER_NODE, /* cpu_units */ 1)) {
            return 1;
        }
    }
    return 0;
}

static int tear_down(ATTR_UNUSED void **state)
{
    fleet_destroy(fleet);
    return 0;
}

static void every_kind_but_restart_and_drain_comes_and_node_0_is_spared(ATTR_UNUSED void **state)
{
    const struct fault_random random = {2, 100 * SECOND, SECOND, fault_drawable_kinds()};
    uint32_t kinds = 0;
    int64_t for_ns = 0;
    uint32_t lasting = 0;
    const uint32_t count = fault_draw_all(&random, 1, fleet, /* seed */ 7, faults, ROOM);
    for (uint32_t i = 0; i < count; i++) {
        const struct fault *fault = &faults[i];
        kinds |= UINT32_C(1) << fault->kind;
        assert_true(fault->victim >= (fault_hits_worker(fault->kind) ? PER_NODE : 1));
        assert_true(fault->victim < (fault_hits_worker(fault->kind) ? NODES * PER_NODE : NODES));
        assert_true(fault->at_ns < random.until_ns || fault->kind == FAULT_RESTART);
        if (fault->kind == FAULT_CRASH) { /* It comes back, as the next one says. */
            assert_int_equal(fault->for_ns, 0);
            assert_int_equal(fault[1].kind, FAULT_RESTART);
            assert_int_equal(fault[1].victim, fault->victim);
            assert_true(fault[1].at_ns > fault->at_ns);
        } else if (fault->kind != FAULT_RESTART) {
            assert_true(fault->for_ns > 0);
            for_ns += fault->for_ns;
            lasting++;
        }
        const bool is_slow = fault->kind == FAULT_SLOW;
        assert_true(fault->factor >= (is_slow ? 2 : 0) && fault->factor < (is_slow ? 10 : 0.5));
    }
    assert_int_equal(kinds, fault_drawable_kinds() | UINT32_C(1) << FAULT_RESTART);
    assert_in_range(count, 150, 300); /* 200 on average, and the restarts. */
    assert_in_range(for_ns / lasting, SECOND * 3 / 4, SECOND * 5 / 4);
}

static void a_seed_gives_the_same_faults_and_each_entry_its_own(ATTR_UNUSED void **state)
{
    const struct fault_random two[] = {
        {1, 20 * SECOND, SECOND, UINT32_C(1) << FAULT_SLOW},
        {1, 20 * SECOND, SECOND, UINT32_C(1) << FAULT_SLOW},
    };
    struct fault again[ROOM];
    const uint32_t count = fault_draw_all(two, 2, fleet, /* seed */ 3, faults, ROOM);
    assert_int_equal(fault_draw_all(two, 2, fleet, /* seed */ 3, again, ROOM), count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(faults[i].kind, FAULT_SLOW);
        assert_int_equal(faults[i].at_ns, again[i].at_ns);
        assert_int_equal(faults[i].victim, again[i].victim);
    }
    const uint32_t first = fault_draw_all(two, 1, fleet, /* seed */ 3, again, ROOM);
    assert_true(first > 0 && first < count);
    assert_int_equal(again[0].at_ns, faults[0].at_ns); /* One more entry shifts nothing. */
    assert_int_not_equal(faults[0].at_ns, faults[first].at_ns);
    (void)fault_draw_all(two, 1, fleet, /* seed */ 4, again, ROOM);
    assert_int_not_equal(again[0].at_ns, faults[0].at_ns);
}

static void no_more_are_drawn_than_there_is_room_for(ATTR_UNUSED void **state)
{
    const struct fault_random random = {10, 100 * SECOND, SECOND, UINT32_C(1) << FAULT_CRASH};
    assert_int_equal(fault_draw_all(&random, 1, fleet, /* seed */ 1, faults, 9), 8);
    assert_int_equal(faults[7].kind, FAULT_RESTART); /* None is left without its restart. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_but_restart_and_drain_comes_and_node_0_is_spared),
        cmocka_unit_test(a_seed_gives_the_same_faults_and_each_entry_its_own),
        cmocka_unit_test(no_more_are_drawn_than_there_is_room_for),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
