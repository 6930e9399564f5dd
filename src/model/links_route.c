#include "model/links_route.h"

#include "base/assert.h"

uint32_t links_count(const struct fleet *fleet)
{
    const uint32_t machines = 2 * fleet->node_count;
    switch (fleet->network.kind) {
    case NETWORK_STAR:
        return machines;
    case NETWORK_TWO_TIER:
        return machines + 2 * fleet_rack_count(fleet);
    case NETWORK_BOTTLENECK:
        return machines + 1;
    }
    ASSERT(false);
}

void links_rates(const struct fleet *fleet, uint64_t *rates_out)
{
    const uint32_t node_count = fleet->node_count;
    for (uint32_t node = 0; node < node_count; node++) {
        rates_out[node] = fleet_up_rate(fleet, node);
        rates_out[node_count + node] = fleet_down_rate(fleet, node);
    }
    for (uint32_t link = 2 * node_count; link < links_count(fleet); link++) {
        rates_out[link] = fleet->network.core_bytes_per_s;
    }
}

static void add(struct route *route, const uint64_t *rates, uint32_t link)
{
    if (rates[link] != 0) {
        route->links[route->count] = link;
        route->count++;
    }
}

void links_route(
    const struct fleet *fleet, const uint64_t *rates, uint32_t from, uint32_t to,
    struct route *route_out)
{
    const uint32_t node_count = fleet->node_count;
    const uint32_t core = 2 * node_count;
    ASSERT(from < node_count);
    ASSERT(to < node_count);

    route_out->count = 0;
    add(route_out, rates, from);
    if (fleet->network.kind == NETWORK_BOTTLENECK) {
        add(route_out, rates, core);
    } else if (fleet->network.kind == NETWORK_TWO_TIER) {
        const uint32_t from_rack = fleet_rack(fleet, from);
        const uint32_t to_rack = fleet_rack(fleet, to);
        if (from_rack != to_rack) {
            add(route_out, rates, core + 2 * from_rack);
            add(route_out, rates, core + 2 * to_rack + 1);
        }
    }
    add(route_out, rates, node_count + to);
}
