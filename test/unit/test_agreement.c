/* Covers: src/model/agreement.c. */
#include "model/agreement.h"

#include "base/attributes.h"
#include "model/fleet.h"
#include "parity/workload.h"

static struct workload world;

static int open_world(ATTR_UNUSED void **state)
{
    const struct workload_options options = {.node_count = 2, .workers_per_node = 1, .run_ns = MS};
    workload_init(&world, &options);
    return 0;
}

static int close_world(ATTR_UNUSED void **state)
{
    workload_deinit(&world);
    return 0;
}

static uint64_t agreement(void)
{
    return agreement_of(world.fleet, world.catalogue, /* names */ 3, /* protocol */ 2);
}

static void nodes_that_read_the_same_agree(ATTR_UNUSED void **state)
{
    const uint64_t first = agreement();
    (void)close_world(NULL);
    (void)open_world(NULL);
    assert_int_equal(agreement(), first);
}

static void every_number_counts(ATTR_UNUSED void **state)
{
    const uint64_t first = agreement();
    struct workflow *workflow = world.catalogue->workflows[1];
    world.fleet->workers[1].memory_bytes++;
    assert_int_not_equal(agreement(), first);
    world.fleet->workers[1].memory_bytes--;
    world.fleet->workers[1].shares_memory = true;
    assert_int_not_equal(agreement(), first);
    world.fleet->workers[1].shares_memory = false;
    world.fleet->nodes[0].worker_count++;
    assert_int_not_equal(agreement(), first);
    world.fleet->nodes[0].worker_count--;
    world.catalogue->models[0][0]++;
    assert_int_not_equal(agreement(), first);
    world.catalogue->models[0][0]--;
    workflow->tasks[0].run++;
    assert_int_not_equal(agreement(), first);
    workflow->tasks[0].run--;
    workflow->edges[0].to++;
    assert_int_not_equal(agreement(), first);
    workflow->edges[0].to--;
    workflow->tasks[0].name[0]++;
    assert_int_not_equal(agreement(), first);
    workflow->tasks[0].name[0]--;
    assert_int_equal(agreement(), first);
}

static void another_catalogue_is_of_the_same_cluster(ATTR_UNUSED void **state)
{
    const uint64_t first = agreement();
    world.catalogue->models[0][0]++;
    assert_true(agreement_is_of_one_cluster(agreement(), first));
    world.fleet->workers[1].memory_bytes++;
    assert_false(agreement_is_of_one_cluster(agreement(), first));
    world.fleet->workers[1].memory_bytes--;
    assert_true(agreement_is_of_one_cluster(agreement(), first));
    const uint64_t other = agreement_of(world.fleet, world.catalogue, /* names */ 4, 2);
    assert_false(agreement_is_of_one_cluster(other, first));
}

static void who_speaks_otherwise_is_of_the_same_cluster(ATTR_UNUSED void **state)
{
    const uint64_t first = agreement();
    const uint64_t other = agreement_of(world.fleet, world.catalogue, 3, /* protocol */ 258);
    assert_int_not_equal(other, first);
    assert_true(agreement_is_of_one_cluster(other, first));
}

static void what_fills_slots_is_no_part_of_it(ATTR_UNUSED void **state)
{
    const uint64_t alike = agreement();
    assert_true(fleet_add_slots(world.fleet, 3));
    const uint64_t first = agreement();
    assert_int_not_equal(first, alike);
    world.fleet->workers[1].memory_bytes++;
    world.fleet->nodes[1].worker_count++;
    assert_int_equal(agreement(), first);
    world.fleet->nodes[1].slot_count++;
    assert_int_not_equal(agreement(), first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nodes_that_read_the_same_agree, open_world, close_world),
        cmocka_unit_test_setup_teardown(every_number_counts, open_world, close_world),
        cmocka_unit_test_setup_teardown(
            another_catalogue_is_of_the_same_cluster, open_world, close_world),
        cmocka_unit_test_setup_teardown(
            who_speaks_otherwise_is_of_the_same_cluster, open_world, close_world),
        cmocka_unit_test_setup_teardown(what_fills_slots_is_no_part_of_it, open_world, close_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
