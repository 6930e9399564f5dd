#include "view/cells.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"

static uint32_t cells_of_members(uint32_t up_count)
{
    const struct members members = {.node_count = 2000, .up_count = up_count};
    return cells_count(&members, CELL_NODES);
}

static void a_cell_never_has_fewer_members_than_it_should(ATTR_UNUSED void **state)
{
    assert_int_equal(cells_of_members(0), 1);
    assert_int_equal(cells_of_members(127), 1);
    assert_int_equal(cells_of_members(128), 2);
    assert_int_equal(cells_of_members(255), 2);
    assert_int_equal(cells_of_members(256), 4);
    assert_int_equal(cells_of_members(1024), 16);
}

static void nodes_are_dealt_out_evenly(ATTR_UNUSED void **state)
{
    uint32_t counts[4] = {0};
    for (uint32_t node = 0; node < 256; node++) {
        assert_in_range(cells_of(node, 4), 0, 3);
        counts[cells_of(node, 4)]++;
    }
    for (uint32_t cell = 0; cell < 4; cell++) {
        assert_int_equal(counts[cell], 64);
    }
}

static void cells_split_in_two(ATTR_UNUSED void **state)
{
    for (uint32_t node = 0; node < 2000; node++) {
        assert_int_equal(cells_of(node, 8) % 4, cells_of(node, 4));
    }
}

static bool may_differ; /* The last machine has slots. */

/* Three machines like @device, and one more with @last. */
static bool are_alike(const struct fleet_worker *last, uint32_t last_count)
{
    const struct fleet_worker device = {.memory_bytes = 8, .gpu_units = 1};
    struct fleet *fleet = fleet_create();
    (void)fleet_device(fleet, "small");
    (void)fleet_device(fleet, "large");
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(fleet_add_machine(fleet, &device, 2, /* cpu_units */ 1));
    }
    assert_true(fleet_add_machine(fleet, last, last_count, /* cpu_units */ 4));
    if (may_differ) {
        assert_true(fleet_add_slots(fleet, last_count));
    }
    const bool alike = cells_are_alike(fleet);
    fleet_destroy(fleet);
    return alike;
}

static void machines_that_differ_are_noticed(ATTR_UNUSED void **state)
{
    struct fleet_worker last = {.memory_bytes = 8, .gpu_units = 1};
    assert_true(are_alike(&last, 2));
    assert_false(are_alike(&last, 1));
    may_differ = true;
    assert_false(are_alike(&last, 2));
    may_differ = false;
    last.device = 1;
    assert_false(are_alike(&last, 2));
    last.device = 0;
    last.memory_bytes = 4;
    assert_false(are_alike(&last, 2));
    last.memory_bytes = 8;
    last.gpu_units = 4;
    assert_false(are_alike(&last, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cell_never_has_fewer_members_than_it_should),
        cmocka_unit_test(nodes_are_dealt_out_evenly),
        cmocka_unit_test(cells_split_in_two),
        cmocka_unit_test(machines_that_differ_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
