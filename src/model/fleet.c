#include "model/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "base/units.h"
#include "model/grow.h"

__extension__ typedef unsigned __int128 fleet_product;

struct fleet *fleet_create(void)
{
    struct fleet *fleet = memory_zeroed(1, sizeof(*fleet));
    fleet->devices = memory_zeroed(DEVICE_KINDS_MAX, sizeof(*fleet->devices));
    return fleet;
}

void fleet_destroy(struct fleet *fleet)
{
    if (fleet == NULL) {
        return;
    }
    free(fleet->workers);
    free(fleet->nodes);
    free(fleet->devices);
    free(fleet);
}

uint32_t fleet_device(struct fleet *fleet, const char *name)
{
    ASSERT(strlen(name) < NAME_BYTES_MAX);

    for (uint32_t i = 0; i < fleet->device_count; i++) {
        if (strcmp(fleet->devices[i], name) == 0) {
            return i;
        }
    }
    if (fleet->device_count == DEVICE_KINDS_MAX) {
        return WORKER_NONE;
    }
    (void)snprintf(fleet->devices[fleet->device_count], NAME_BYTES_MAX, "%s", name);
    return fleet->device_count++;
}

/* @count workers like @device, all its partitions, for the machine that was added last. */
static void add_workers(struct fleet *fleet, const struct fleet_worker *device, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        fleet->workers = grow(fleet->workers, fleet->worker_count, sizeof(*fleet->workers));
        fleet->workers[fleet->worker_count] = *device;
        fleet->workers[fleet->worker_count].node = fleet->node_count - 1;
        fleet->workers[fleet->worker_count].partition = i % fleet_partitions(device);
        fleet->worker_count++;
    }
    fleet->nodes[fleet->node_count - 1].worker_count += count;
    fleet->nodes[fleet->node_count - 1].slot_count += count;
}

bool fleet_add_machine(
    struct fleet *fleet, const struct fleet_worker *device, uint32_t device_count,
    uint32_t cpu_units)
{
    ASSERT(device_count > 0);
    ASSERT(device->gpu_units > 0);
    ASSERT(device->device < fleet->device_count);

    const uint64_t worker_count = (uint64_t)device_count * fleet_partitions(device);
    if (fleet->node_count == NODES_MAX || worker_count > WORKERS_MAX - fleet->worker_count) {
        return false;
    }
    fleet->nodes = grow(fleet->nodes, fleet->node_count, sizeof(*fleet->nodes));
    fleet->nodes[fleet->node_count] =
        (struct fleet_node){.worker_first = fleet->worker_count, .cpu_units = cpu_units};
    fleet->node_count++;
    add_workers(fleet, device, (uint32_t)worker_count);
    return true;
}

bool fleet_add_devices(struct fleet *fleet, const struct fleet_worker *device, uint32_t count)
{
    ASSERT(fleet->node_count > 0);
    ASSERT(device->gpu_units > 0);
    ASSERT(device->device < fleet->device_count);

    const uint64_t worker_count = (uint64_t)count * fleet_partitions(device);
    if (worker_count > WORKERS_MAX - fleet->worker_count) {
        return false;
    }
    add_workers(fleet, device, (uint32_t)worker_count);
    return true;
}

bool fleet_add_slots(struct fleet *fleet, uint32_t count)
{
    ASSERT(fleet->node_count > 0);

    struct fleet_node *node = &fleet->nodes[fleet->node_count - 1];
    const struct fleet_worker absent = {.gpu_units = 1, .is_absent = true};
    const uint32_t worker_count = node->worker_count;
    if (count < worker_count || count - worker_count > WORKERS_MAX - fleet->worker_count) {
        return false;
    }
    add_workers(fleet, &absent, count - worker_count);
    node->worker_count = worker_count;
    fleet->has_slots = true;
    return true;
}

uint32_t fleet_first_sharer(const struct fleet *fleet, uint32_t worker)
{
    const struct fleet_worker *workers = fleet->workers;
    if (!workers[worker].shares_memory) {
        return worker;
    }
    uint32_t first = fleet->nodes[workers[worker].node].worker_first;
    while (!workers[first].shares_memory) {
        first++;
    }
    return first;
}

uint32_t fleet_next_sharer(const struct fleet *fleet, uint32_t worker, uint32_t after)
{
    const struct fleet_node *node = &fleet->nodes[fleet->workers[worker].node];
    uint32_t next = after == WORKER_NONE ? node->worker_first : after + 1;
    if (!fleet->workers[worker].shares_memory) {
        return WORKER_NONE;
    }
    while (next < node->worker_first + node->worker_count &&
           (next == worker || !fleet->workers[next].shares_memory)) {
        next++;
    }
    return next < node->worker_first + node->worker_count ? next : WORKER_NONE;
}

uint32_t fleet_sharers(const struct fleet *fleet, uint32_t worker)
{
    uint32_t count = 1;
    for (uint32_t other = fleet_next_sharer(fleet, worker, WORKER_NONE); other != WORKER_NONE;
         other = fleet_next_sharer(fleet, worker, other)) {
        count++;
    }
    return count;
}

void fleet_set_rates(
    struct fleet *fleet, uint32_t node, uint64_t up_bytes_per_s, uint64_t down_bytes_per_s)
{
    ASSERT(node < fleet->node_count);

    fleet->nodes[node].up_bytes_per_s = up_bytes_per_s;
    fleet->nodes[node].down_bytes_per_s = down_bytes_per_s;
    fleet->network.has_own_rates = true;
}

uint64_t fleet_up_rate(const struct fleet *fleet, uint32_t node)
{
    const struct fleet_network *network = &fleet->network;

    if (network->has_own_rates && fleet->nodes[node].up_bytes_per_s != 0) {
        return fleet->nodes[node].up_bytes_per_s;
    }
    return network->up_bytes_per_s != 0 ? network->up_bytes_per_s : network->link_bytes_per_s;
}

uint64_t fleet_down_rate(const struct fleet *fleet, uint32_t node)
{
    const struct fleet_network *network = &fleet->network;

    if (network->has_own_rates && fleet->nodes[node].down_bytes_per_s != 0) {
        return fleet->nodes[node].down_bytes_per_s;
    }
    return network->down_bytes_per_s != 0 ? network->down_bytes_per_s : network->link_bytes_per_s;
}

uint32_t fleet_rack(const struct fleet *fleet, uint32_t node)
{
    const struct fleet_network *network = &fleet->network;

    if (network->kind != NETWORK_TWO_TIER) {
        return 0;
    }
    if (network->rack_count != 0) {
        return (uint32_t)((uint64_t)node * network->rack_count / fleet->node_count);
    }
    return network->nodes_per_rack != 0 ? node / network->nodes_per_rack : 0;
}

uint32_t fleet_rack_count(const struct fleet *fleet)
{
    return fleet->node_count == 0 ? 0 : fleet_rack(fleet, fleet->node_count - 1) + 1;
}

/* The lower of two rates, of which 0 is the highest. */
static uint64_t slower(uint64_t a, uint64_t b)
{
    if (a == 0 || b == 0) {
        return a + b;
    }
    return min_u64(a, b);
}

int64_t fleet_transfer_ns(const struct fleet *fleet, uint32_t from, uint32_t to, uint64_t bytes)
{
    const struct fleet_network *network = &fleet->network;

    if (from == to) {
        return 0;
    }
    uint64_t rate = slower(fleet_up_rate(fleet, from), fleet_down_rate(fleet, to));
    if (network->kind == NETWORK_BOTTLENECK ||
        (network->kind == NETWORK_TWO_TIER && fleet_rack(fleet, from) != fleet_rack(fleet, to))) {
        rate = slower(rate, network->core_bytes_per_s);
    }
    return network->latency_ns + fleet_bytes_ns(bytes, rate);
}

int64_t fleet_transfer_least_ns(const struct fleet *fleet, uint64_t bytes)
{
    const struct fleet_network *network = &fleet->network;
    const uint64_t rate =
        network->has_own_rates ? 0 : slower(fleet_up_rate(fleet, 0), fleet_down_rate(fleet, 0));
    return network->latency_ns + fleet_bytes_ns(bytes, rate);
}

int64_t fleet_bytes_ns(uint64_t bytes, uint64_t bytes_per_s)
{
    uint64_t ns;

    if (bytes_per_s == 0) {
        return 0;
    }
    if (bytes <= UINT64_MAX / NS_PER_S) { /* Nearly always, and a fraction of the cost. */
        const uint64_t product = bytes * NS_PER_S;
        ns = product / bytes_per_s + (product % bytes_per_s != 0 ? 1 : 0);
    } else {
        const fleet_product product = (fleet_product)bytes * NS_PER_S;
        const fleet_product wide = (product + bytes_per_s - 1) / bytes_per_s;
        ns = wide < UINT64_MAX ? (uint64_t)wide : UINT64_MAX;
    }
    return ns < (uint64_t)DURATION_NS_MAX ? (int64_t)ns : DURATION_NS_MAX;
}

bool fleet_is_alike(const struct fleet_worker *a, const struct fleet_worker *b)
{
    const bool shares_alike = fleet_partitions(a) == fleet_partitions(b) &&
                              a->sharing == b->sharing && a->interference == b->interference &&
                              a->bus_inputs == b->bus_inputs &&
                              a->shares_memory == b->shares_memory;
    return shares_alike && a->device == b->device && a->memory_bytes == b->memory_bytes &&
           a->bus_bytes_per_s == b->bus_bytes_per_s && a->gpu_units == b->gpu_units &&
           a->reshape_ns == b->reshape_ns && a->keep_alive_ns == b->keep_alive_ns;
}
