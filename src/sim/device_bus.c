#include "sim/device_bus.h"

#include "sim/inside.h"

static struct crossing *crossing_at(const struct sim *sim, uint32_t slot)
{
    return pool_at(&sim->crossings, slot);
}

void bus_init(struct sim *sim, uint32_t worker)
{
    sim->workers[worker].bus.first = POOL_NONE;
    sim->workers[worker].bus.last = POOL_NONE;
}

/* Processors load models themselves: as long as the first of the bus is one, it is a thread. */
static void keep_busy(struct sim *sim, uint32_t worker)
{
    struct bus *bus = &sim->workers[worker].bus;
    const bool is_thread = bus->first != POOL_NONE &&
                           crossing_at(sim, bus->first)->model != MODEL_NONE &&
                           sim->options.fleet->workers[worker].splits;
    if (is_thread != bus->is_thread) {
        bus->is_thread = is_thread;
        runs_set_loading(sim, worker, is_thread);
    }
}

/* The bus of the device that starts with @worker takes its first. */
static void start(struct sim *sim, uint32_t worker)
{
    struct bus *bus = &sim->workers[worker].bus;
    bus->stamp++;
    keep_busy(sim, worker);
    if (bus->first == POOL_NONE) {
        return;
    }
    const uint32_t node = sim->options.fleet->workers[worker].node;
    bus->until_ns = sim->now_ns + crossing_at(sim, bus->first)->bus_ns;
    schedule(
        sim, bus->until_ns,
        payload_of(TIMED_CROSSED, sim->nodes[node].incarnation, worker, bus->stamp));
}

void bus_push(struct sim *sim, const struct crossing *crossing)
{
    const uint32_t device = fleet_first_partition(sim->options.fleet, crossing->worker);
    struct bus *bus = &sim->workers[device].bus;
    (void)pool_reserve(&sim->crossings, 1);
    const uint32_t slot = pool_take(&sim->crossings);
    *crossing_at(sim, slot) = *crossing;
    crossing_at(sim, slot)->next = POOL_NONE;
    if (bus->first != POOL_NONE) {
        crossing_at(sim, bus->last)->next = slot;
        bus->last = slot;
        return;
    }
    bus->first = slot;
    bus->last = slot;
    start(sim, device);
}

/* Take @slot, which comes after @before, off the bus of the device that starts with @worker. */
static void unlink_crossing(struct sim *sim, uint32_t worker, uint32_t slot, uint32_t before)
{
    struct bus *bus = &sim->workers[worker].bus;
    const uint32_t next = crossing_at(sim, slot)->next;
    pool_give(&sim->crossings, slot);
    if (bus->last == slot) {
        bus->last = before;
    }
    if (before != POOL_NONE) {
        crossing_at(sim, before)->next = next;
        return;
    }
    bus->first = next;
    start(sim, worker);
}

void bus_drop(struct sim *sim, uint32_t worker, uint32_t model, uint32_t run)
{
    const uint32_t device = fleet_first_partition(sim->options.fleet, worker);
    uint32_t before = POOL_NONE;
    uint32_t slot = sim->workers[device].bus.first;
    while (slot != POOL_NONE) {
        const struct crossing *crossing = crossing_at(sim, slot);
        if (crossing->worker == worker && crossing->model == model && crossing->run == run) {
            unlink_crossing(sim, device, slot, before);
            return;
        }
        before = slot;
        slot = crossing->next;
    }
    ASSERT(false); /* What is dropped was put there. */
}

bool bus_pop(struct sim *sim, uint32_t worker, uint32_t stamp, struct crossing *crossing_out)
{
    const struct bus *bus = &sim->workers[worker].bus;
    if (bus->stamp != stamp || bus->first == POOL_NONE) {
        return false;
    }
    *crossing_out = *crossing_at(sim, bus->first);
    unlink_crossing(sim, worker, bus->first, /* before */ POOL_NONE);
    return true;
}
