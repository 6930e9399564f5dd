#include "model/fleet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/rng.h"

__extension__ typedef unsigned __int128 wide;

static void machines_number_their_workers_in_a_row(ATTR_UNUSED void **state)
{
    struct fleet *fleet = fleet_create();
    struct fleet_worker worker = {.node = 99, .memory_bytes = 1000, .gpu_units = 7};

    worker.device = fleet_device(fleet, "l4");
    assert_true(fleet_add_machine(fleet, &worker, /* device_count */ 2, /* cpu_units */ 16));
    worker.device = fleet_device(fleet, "h100");
    assert_true(fleet_add_machine(fleet, &worker, /* device_count */ 3, /* cpu_units */ 32));

    assert_int_equal(fleet->node_count, 2);
    assert_int_equal(fleet->worker_count, 5);
    assert_int_equal(fleet->nodes[1].worker_first, 2);
    assert_int_equal(fleet->nodes[1].worker_count, 3);
    assert_int_equal(fleet->nodes[1].cpu_units, 32);
    assert_int_equal(fleet->workers[1].node, 0);
    assert_int_equal(fleet->workers[1].device, 0);
    assert_int_equal(fleet->workers[4].node, 1);
    assert_int_equal(fleet->workers[4].device, 1);
    assert_int_equal(fleet->workers[4].memory_bytes, 1000);
    fleet_destroy(fleet);
    fleet_destroy(NULL);
}

/* Processors and GPUs of one machine. */
static void a_machine_may_have_several_kinds_of_devices(ATTR_UNUSED void **state)
{
    struct fleet *fleet = fleet_create();
    struct fleet_worker cpu = {.device = fleet_device(fleet, "cpu"), .gpu_units = 1};
    struct fleet_worker gpu = {.device = fleet_device(fleet, "gpu"), .gpu_units = 16};
    assert_true(fleet_add_machine(fleet, &cpu, /* device_count */ 2, /* cpu_units */ 2));
    assert_true(fleet_add_devices(fleet, &gpu, /* count */ 1));
    assert_true(fleet_add_machine(fleet, &cpu, /* device_count */ 2, /* cpu_units */ 2));
    assert_true(fleet_add_devices(fleet, &gpu, /* count */ 0));
    assert_int_equal(fleet->nodes[0].worker_count, 3);
    assert_int_equal(fleet->workers[2].node, 0);
    assert_int_equal(fleet->workers[2].device, gpu.device);
    assert_int_equal(fleet->nodes[1].worker_first, 3);
    assert_int_equal(fleet->nodes[1].worker_count, 2);
    assert_false(fleet_add_devices(fleet, &gpu, WORKERS_MAX));
    gpu.partitions = 5;
    assert_true(fleet_add_devices(fleet, &gpu, /* count */ 2));
    assert_int_equal(fleet->nodes[1].worker_count, 12);
    assert_int_equal(fleet_first_partition(fleet, 9), 5); /* After two workers on processors. */
    assert_int_equal(fleet_first_partition(fleet, 10), 10);
    assert_int_equal(fleet->workers[14].partition, 4);
    assert_false(fleet_add_devices(fleet, &gpu, WORKERS_MAX / 5));
    fleet_destroy(fleet);
}

static void a_device_kind_keeps_its_number(ATTR_UNUSED void **state)
{
    struct fleet *fleet = fleet_create();
    char name[16];

    for (uint32_t i = 0; i < DEVICE_KINDS_MAX; i++) {
        (void)snprintf(name, sizeof(name), "kind%u", i);
        assert_int_equal(fleet_device(fleet, name), i);
    }
    assert_int_equal(fleet_device(fleet, "kind7"), 7);
    assert_int_equal(fleet_device(fleet, "one more"), WORKER_NONE);
    assert_int_equal(fleet->device_count, DEVICE_KINDS_MAX);
    fleet_destroy(fleet);
}

static void partitions_are_workers_of_one_device(ATTR_UNUSED void **state)
{
    struct fleet *fleet = fleet_create();
    struct fleet_worker worker = {.gpu_units = 1};

    worker.device = fleet_device(fleet, "l4");
    assert_true(fleet_add_machine(fleet, &worker, /* device_count */ 1, /* cpu_units */ 1));
    worker.partitions = 3;
    assert_true(fleet_add_machine(fleet, &worker, /* device_count */ 2, /* cpu_units */ 1));
    assert_int_equal(fleet->worker_count, 7);
    assert_int_equal(fleet->nodes[1].worker_count, 6);
    static const uint32_t first[] = {0, 1, 1, 1, 4, 4, 4};
    for (uint32_t i = 0; i < 7; i++) {
        assert_int_equal(fleet_first_partition(fleet, i), first[i]);
    }
    assert_false(fleet_add_machine(fleet, &worker, WORKERS_MAX / 3, /* cpu_units */ 1));
    assert_false(fleet_add_machine(fleet, &worker, UINT32_MAX, /* cpu_units */ 1));
    fleet_destroy(fleet);
}

static void a_fleet_is_as_large_as_the_limits_and_no_larger(ATTR_UNUSED void **state)
{
    struct fleet *fleet = fleet_create();
    struct fleet_worker worker = {.gpu_units = 1};

    worker.device = fleet_device(fleet, "l4");
    for (uint32_t i = 0; i < NODES_MAX - 1; i++) {
        assert_true(fleet_add_machine(fleet, &worker, /* device_count */ 1, /* cpu_units */ 1));
    }
    assert_false(fleet_add_machine(fleet, &worker, /* device_count */ 2, /* cpu_units */ 1));
    assert_false(fleet_add_machine(fleet, &worker, UINT32_MAX, /* cpu_units */ 1));
    assert_int_equal(fleet->worker_count, NODES_MAX - 1);
    assert_int_equal(fleet->node_count, NODES_MAX - 1);
    assert_true(fleet_add_machine(fleet, &worker, /* device_count */ 1, /* cpu_units */ 1));
    assert_false(fleet_add_machine(fleet, &worker, /* device_count */ 1, /* cpu_units */ 1));
    for (uint32_t i = 0; i < NODES_MAX; i++) {
        assert_int_equal(fleet->workers[i].node, i);
        assert_int_equal(fleet->nodes[i].worker_first, i);
    }
    fleet_destroy(fleet);
}

static void bytes_take_their_time_rounded_up(ATTR_UNUSED void **state)
{
    assert_int_equal(fleet_bytes_ns(1000, 1000000000), 1000);
    assert_int_equal(fleet_bytes_ns(1, 3000000000), 1);
    assert_int_equal(fleet_bytes_ns(4, 3000000000), 2);
    assert_int_equal(fleet_bytes_ns(0, 1), 0);
    assert_int_equal(fleet_bytes_ns(UINT64_MAX, 0), 0);
    assert_int_equal(fleet_bytes_ns(UINT64_MAX, 1), DURATION_NS_MAX);
    assert_int_equal(fleet_bytes_ns(UINT64_MAX, UINT64_MAX), 1000000000);
}

static void bytes_of_any_size_at_any_rate_agree_with_wide_arithmetic(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(31);

    for (uint32_t i = 0; i < 100000; i++) {
        const uint64_t bytes_drawn = rng_next(&rng);
        const uint64_t bytes = bytes_drawn >> rng_below(&rng, 64);
        const uint64_t rate_drawn = rng_next(&rng);
        const uint64_t rate = rate_drawn >> rng_below(&rng, 64);
        if (rate == 0) {
            continue;
        }
        const wide exact = ((wide)bytes * 1000000000 + rate - 1) / rate;
        const wide cut = exact < (wide)DURATION_NS_MAX ? exact : (wide)DURATION_NS_MAX;
        assert_int_equal(fleet_bytes_ns(bytes, rate), (int64_t)cut);
    }
}

static void only_different_machines_pay_for_the_network(ATTR_UNUSED void **state)
{
    struct fleet fleet = {.network = {.link_bytes_per_s = 1000000000, .latency_ns = 50}};

    assert_int_equal(fleet_transfer_ns(&fleet, 3, 3, 1000), 0);
    assert_int_equal(fleet_transfer_ns(&fleet, 3, 4, 1000), 1050);
    fleet.network.link_bytes_per_s = 0;
    assert_int_equal(fleet_transfer_ns(&fleet, 3, 4, 1000), 50);
}

static void no_transfer_takes_less_than_the_least(ATTR_UNUSED void **state)
{
    struct fleet fleet = {.network = {.link_bytes_per_s = 1000000000, .latency_ns = 50}};

    assert_int_equal(fleet_transfer_least_ns(&fleet, 1000), 1050);
    fleet.network.down_bytes_per_s = 500000000;
    assert_int_equal(fleet_transfer_least_ns(&fleet, 1000), 2050);
    fleet.network.has_own_rates = true; /* Any machine may be faster. */
    assert_int_equal(fleet_transfer_least_ns(&fleet, 1000), 50);
}

static void workers_that_share_memory_find_each_other(ATTR_UNUSED void **state)
{
    struct fleet *fleet = fleet_create();
    struct fleet_worker device = {.device = fleet_device(fleet, "d"), .gpu_units = 1};
    assert_true(fleet_add_machine(fleet, &device, 1, /* cpu_units */ 1));
    assert_true(fleet_add_machine(fleet, &device, 1, /* cpu_units */ 1));
    device.shares_memory = true;
    assert_true(fleet_add_devices(fleet, &device, /* count */ 3)); /* 2, 3 and 4, beside 1. */
    assert_int_equal(fleet_first_sharer(fleet, 1), 1);
    assert_int_equal(fleet_next_sharer(fleet, 1, WORKER_NONE), WORKER_NONE);
    assert_int_equal(fleet_sharers(fleet, 1), 1);
    assert_int_equal(fleet_first_sharer(fleet, 4), 2);
    assert_int_equal(fleet_next_sharer(fleet, 3, WORKER_NONE), 2);
    assert_int_equal(fleet_next_sharer(fleet, 3, 2), 4);
    assert_int_equal(fleet_next_sharer(fleet, 3, 4), WORKER_NONE);
    assert_int_equal(fleet_sharers(fleet, 3), 3);
    assert_false(fleet_is_alike(&fleet->workers[1], &fleet->workers[2]));
    fleet_destroy(fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machines_number_their_workers_in_a_row),
        cmocka_unit_test(a_machine_may_have_several_kinds_of_devices),
        cmocka_unit_test(a_device_kind_keeps_its_number),
        cmocka_unit_test(partitions_are_workers_of_one_device),
        cmocka_unit_test(a_fleet_is_as_large_as_the_limits_and_no_larger),
        cmocka_unit_test(bytes_take_their_time_rounded_up),
        cmocka_unit_test(bytes_of_any_size_at_any_rate_agree_with_wide_arithmetic),
        cmocka_unit_test(only_different_machines_pay_for_the_network),
        cmocka_unit_test(no_transfer_takes_less_than_the_least),
        cmocka_unit_test(workers_that_share_memory_find_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
