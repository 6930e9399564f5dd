/* The network of a cluster document. What is refused is in test_bad_documents.c. */
#include "document/network_document.h"

#include "document/cluster_document.h"
#include "document_fixture.h"

#define MACHINES "machines: {count: 6, device: {kind: t4, memory: 8GB, h2d: 10GB/s}}\n"

static struct fleet *read_good(const char *text)
{
    struct tree *tree = parsed(text);
    struct fleet *fleet = NULL;
    struct weft_error error = {0};

    assert_good(cluster_read(tree->root, &fleet, &error), &error);
    tree_destroy(tree);
    return fleet;
}

static void nothing_said_is_a_star_of_fifo_links(ATTR_UNUSED void **state)
{
    struct fleet *fleet = read_good(MACHINES "network: {link: 10Gb/s}\n");

    assert_int_equal(fleet->network.kind, NETWORK_STAR);
    assert_int_equal(fleet->network.sharing, SHARING_FIFO);
    assert_int_equal(fleet_up_rate(fleet, 5), 1250000000);
    assert_int_equal(fleet_down_rate(fleet, 0), 1250000000);
    assert_int_equal(fleet->network.background.bytes, 0);
    assert_int_equal(fleet_rack_count(fleet), 1);
    fleet_destroy(fleet);
}

static void racks_are_counted_or_sized(ATTR_UNUSED void **state)
{
    static const uint32_t halves[6] = {0, 0, 0, 1, 1, 1};
    static const uint32_t fours[6] = {0, 0, 0, 0, 1, 1};
    struct fleet *counted = read_good(
        MACHINES
        "network: {kind: two-tier, racks: 2, core: 40Gb/s, link: 10Gb/s, sharing: fair}\n");
    struct fleet *sized =
        read_good(MACHINES "network: {kind: two-tier, per_rack: 4, core: 40Gb/s}\n");

    assert_int_equal(counted->network.sharing, SHARING_FAIR);
    assert_int_equal(counted->network.core_bytes_per_s, 5000000000);
    assert_int_equal(fleet_rack_count(counted), 2);
    assert_int_equal(fleet_rack_count(sized), 2);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(fleet_rack(counted, i), halves[i]);
        assert_int_equal(fleet_rack(sized, i), fours[i]);
    }
    fleet_destroy(counted);
    fleet_destroy(sized);
}

static void directions_and_machines_have_rates_of_their_own(ATTR_UNUSED void **state)
{
    struct fleet *fleet =
        read_good("machines:\n"
                  "  - {count: 2, device: {kind: t4, memory: 8GB, h2d: 10GB/s}}\n"
                  "  - {up: 1GB/s, device: {kind: t4, memory: 8GB, h2d: 10GB/s}}\n"
                  "  - {down: 2GB/s, device: {kind: t4, memory: 8GB, h2d: 10GB/s}}\n"
                  "network: {link: 5GB/s, up: 3GB/s}\n");

    assert_int_equal(fleet_up_rate(fleet, 1), 3000000000);
    assert_int_equal(fleet_down_rate(fleet, 1), 5000000000);
    assert_int_equal(fleet_up_rate(fleet, 2), 1000000000);
    assert_int_equal(fleet_down_rate(fleet, 2), 5000000000);
    assert_int_equal(fleet_up_rate(fleet, 3), 3000000000);
    assert_int_equal(fleet_down_rate(fleet, 3), 2000000000);
    fleet_destroy(fleet);
}

/* On an idle network the slowest link of the way decides. */
static void estimates_know_the_way(ATTR_UNUSED void **state)
{
    struct fleet *tiers =
        read_good(MACHINES "network: {kind: two-tier, racks: 2, core: 1GB/s, link: 4GB/s, "
                           "down: 2GB/s, latency: 5ns}\n");
    struct fleet *shared = read_good(MACHINES "network: {kind: bottleneck, core: 500MB/s}\n");

    assert_int_equal(fleet_transfer_ns(tiers, 0, 1, 1000), 505);
    assert_int_equal(fleet_transfer_ns(tiers, 0, 3, 1000), 1005);
    assert_int_equal(fleet_transfer_ns(tiers, 3, 3, 1000), 0);
    assert_int_equal(fleet_transfer_ns(shared, 0, 1, 1000), 2000);
    fleet_destroy(tiers);
    fleet_destroy(shared);
}

static void background_is_a_share_or_a_rate(ATTR_UNUSED void **state)
{
    struct fleet *share = read_good(MACHINES "network: {link: 10Gb/s, background: 30%}\n");
    struct fleet *rate =
        read_good(MACHINES "network:\n"
                           "  link: 10Gb/s\n"
                           "  background: {rate: 200/s, bytes: 2MB, sizes: exponential}\n");

    assert_true(share->network.background.load > 0.299 && share->network.background.load < 0.301);
    assert_int_equal(share->network.background.bytes, 1000000);
    assert_false(share->network.background.exponential);
    assert_true(rate->network.background.rate_per_s == 200);
    assert_int_equal(rate->network.background.bytes, 2000000);
    assert_true(rate->network.background.exponential);
    fleet_destroy(share);
    fleet_destroy(rate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_said_is_a_star_of_fifo_links),
        cmocka_unit_test(racks_are_counted_or_sized),
        cmocka_unit_test(directions_and_machines_have_rates_of_their_own),
        cmocka_unit_test(estimates_know_the_way),
        cmocka_unit_test(background_is_a_share_or_a_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
