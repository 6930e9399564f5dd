#include "document/cluster_document.h"

#include "document_fixture.h"

static struct fleet *read_good(const char *text)
{
    struct tree *tree = parsed(text);
    struct fleet *fleet = NULL;
    struct weft_error error = {0};

    assert_good(cluster_read(tree->root, &fleet, &error), &error);
    tree_destroy(tree);
    return fleet;
}

static void machines_and_network_are_read(ATTR_UNUSED void **state)
{
    struct fleet *fleet =
        read_good("machines:\n"
                  "  count: 5\n"
                  "  device: {kind: t4, memory: 14GB, h2d: 10.2GB/s, units: 4, reshape: 3ms}\n"
                  "  devices: 2\n"
                  "  cpu: 8\n"
                  "network: {kind: star, link: 100Gb/s, latency: 2us, sharing: fifo}\n");

    assert_int_equal(fleet->node_count, 5);
    assert_int_equal(fleet->worker_count, 10);
    assert_int_equal(fleet->device_count, 1);
    assert_string_equal(fleet->devices[0], "t4");
    assert_int_equal(fleet->workers[9].node, 4);
    assert_int_equal(fleet->workers[9].memory_bytes, 14000000000);
    assert_int_equal(fleet->workers[9].bus_bytes_per_s, 10200000000);
    assert_int_equal(fleet->workers[9].gpu_units, 4);
    assert_int_equal(fleet->workers[9].reshape_ns, 3000000);
    assert_int_equal(fleet->nodes[4].cpu_units, 8);
    assert_int_equal(fleet->network.link_bytes_per_s, 12500000000);
    assert_int_equal(fleet->network.latency_ns, 2000);
    fleet_destroy(fleet);
}

static void a_mixed_fleet_is_a_list(ATTR_UNUSED void **state)
{
    struct fleet *fleet =
        read_good("cluster: mixed\n"
                  "machines:\n"
                  "  - {count: 2, device: {kind: t4, memory: 14GB, h2d: 10GB/s}}\n"
                  "  - {device: {kind: a30, memory: 24GB, h2d: 0}}\n"
                  "  - {device: {kind: t4, memory: 16GB, h2d: 10GB/s}}\n");

    assert_int_equal(fleet->node_count, 4);
    assert_int_equal(fleet->device_count, 2);
    assert_int_equal(fleet->workers[2].device, 1);
    assert_int_equal(fleet->workers[2].bus_bytes_per_s, 0);
    assert_int_equal(fleet->workers[3].device, 0);
    assert_int_equal(fleet->workers[3].memory_bytes, 16000000000);
    fleet_destroy(fleet);
}

static void defaults_are_one_device_and_no_limit(ATTR_UNUSED void **state)
{
    struct fleet *fleet = read_good("machines: {device: {kind: t4, memory: 14GiB, h2d: 1GiB/s}}\n");

    assert_int_equal(fleet->node_count, 1);
    assert_int_equal(fleet->worker_count, 1);
    assert_int_equal(fleet->nodes[0].cpu_units, 16);
    assert_int_equal(fleet->workers[0].gpu_units, 1);
    assert_int_equal(fleet->workers[0].reshape_ns, 0);
    assert_int_equal(fleet_partitions(&fleet->workers[0]), 1);
    assert_true(fleet->workers[0].interference == 0);
    assert_false(fleet->workers[0].bus_inputs);
    assert_int_equal(fleet->workers[0].keep_alive_ns, 0);
    assert_int_equal(fleet->network.link_bytes_per_s, 0);
    assert_int_equal(fleet->network.latency_ns, 0);
    fleet_destroy(fleet);
}

static void partitions_divide_the_memory_of_a_device(ATTR_UNUSED void **state)
{
    struct fleet *fleet =
        read_good("machines:\n"
                  "  count: 2\n"
                  "  device: {kind: a30, memory: 24GB, h2d: 20GB/s, interference: 10%, "
                  "bus_inputs: true, keep_alive: 10m}\n"
                  "  devices: 2\n"
                  "  partitions: 3\n");

    assert_int_equal(fleet->node_count, 2);
    assert_int_equal(fleet->worker_count, 12);
    assert_int_equal(fleet->workers[11].memory_bytes, 8000000000);
    assert_int_equal(fleet->workers[11].bus_bytes_per_s, 20000000000);
    assert_int_equal(fleet_partitions(&fleet->workers[11]), 3);
    assert_int_equal(fleet_first_partition(fleet, 11), 9);
    assert_true(fleet->workers[11].interference == 0.1);
    assert_true(fleet->workers[11].bus_inputs);
    assert_int_equal(fleet->workers[11].keep_alive_ns, INT64_C(600000000000));
    fleet_destroy(fleet);
}

static void devices_of_a_machine_may_share_its_memory(ATTR_UNUSED void **state)
{
    struct fleet *fleet =
        read_good("machines:\n"
                  "  count: 2\n"
                  "  device: {kind: cpu, memory: 24GB, h2d: 20GB/s, shares_memory: true}\n"
                  "  devices: 3\n");
    assert_int_equal(fleet->worker_count, 6);
    assert_int_equal(fleet->workers[5].memory_bytes, 24000000000); /* Of all three. */
    assert_int_equal(fleet_sharers(fleet, 5), 3);
    assert_int_equal(fleet_first_sharer(fleet, 5), 3);
    fleet_destroy(fleet);

    struct tree *tree = parsed(
        "machines: {partitions: 2, device: {kind: a, memory: 1GB, h2d: 0, shares_memory: true}}\n");
    struct weft_error error = {0};
    assert_int_equal(cluster_read(tree->root, &fleet, &error), WEFT_INVALID);
    assert_string_equal(error.message, "t.yaml:1: 'partitions' do not go with 'shares_memory'");
    tree_destroy(tree);
}

static void a_failure_gives_no_fleet(ATTR_UNUSED void **state)
{
    struct tree *tree = parsed("machines: {device: {kind: t4, memory: lots, h2d: 1GB/s}}\n");
    struct fleet *fleet = NULL;
    struct weft_error error = {0};

    assert_int_equal(cluster_read(tree->root, &fleet, &error), WEFT_INVALID);
    assert_string_equal(
        error.message, "t.yaml:1: 'memory' wants a size such as '14GB', not 'lots'");
    assert_null(fleet);
    tree_destroy(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machines_and_network_are_read),
        cmocka_unit_test(a_mixed_fleet_is_a_list),
        cmocka_unit_test(defaults_are_one_device_and_no_limit),
        cmocka_unit_test(partitions_divide_the_memory_of_a_device),
        cmocka_unit_test(devices_of_a_machine_may_share_its_memory),
        cmocka_unit_test(a_failure_gives_no_fleet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
