/*
 * network.c - a star of FIFO links: each machine has one to the switch and one from it.
 *
 * A tensor occupies the sender's link for its whole length, reaches the switch with its
 * first byte (cut-through), and then waits for the receiver's link in the order of
 * arrival there. Messages without a tensor are too small to queue: they take the latency.
 */
#include "sim/inside.h"

#include <string.h>

static int64_t later(int64_t a_ns, int64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

void network_send(
    struct sim *sim, uint32_t from, uint32_t to, const struct message *message, bool has_tensor)
{
    const struct fleet_network *network = &sim->options.fleet->network;
    (void)pool_reserve(&sim->parcels, 1);
    const uint32_t slot = pool_take(&sim->parcels);
    struct parcel *parcel = pool_at(&sim->parcels, slot);
    parcel->to = to;
    parcel->incarnation = sim->nodes[to].incarnation;
    parcel->has_tensor = has_tensor;
    parcel->message = *message;
    if (message->placement_count > 0) {
        memcpy(
            parcel->placement, message->placement,
            message->placement_count * sizeof(parcel->placement[0]));
    }
    if (has_tensor) {
        parcel->wire_ns = fleet_bytes_ns(message->bytes, network->link_bytes_per_s);
    }
    if (parcel->wire_ns == 0) {
        happen(sim, sim->now_ns + network->latency_ns, payload_of(HAPPENS_DELIVERED, 0, 0, slot));
        return;
    }
    struct sim_node *sender = &sim->nodes[from];
    const int64_t start_ns = later(sim->now_ns, sender->up_free_ns);
    sender->up_free_ns = start_ns + parcel->wire_ns;
    happen(sim, start_ns + network->latency_ns, payload_of(HAPPENS_AT_SWITCH, 0, 0, slot));
}

void network_at_switch(struct sim *sim, uint32_t slot)
{
    const struct parcel *parcel = pool_at(&sim->parcels, slot);
    struct sim_node *receiver = &sim->nodes[parcel->to];
    const int64_t start_ns = later(sim->now_ns, receiver->down_free_ns);
    receiver->down_free_ns = start_ns + parcel->wire_ns;
    happen(sim, receiver->down_free_ns, payload_of(HAPPENS_DELIVERED, 0, 0, slot));
}

void network_deliver(struct sim *sim, uint32_t slot)
{
    const struct parcel *parcel = pool_at(&sim->parcels, slot);
    struct sim_node *receiver = &sim->nodes[parcel->to];
    const uint32_t to = parcel->to;
    if (receiver->node == NULL || receiver->incarnation != parcel->incarnation) {
        pool_give(&sim->parcels, slot);
        return; /* Nobody is there who could take it. */
    }
    /* The step may send, and so move the parcels: it works on a copy of this one. */
    struct message message = parcel->message;
    uint16_t placement[WORKFLOW_TASKS_MAX];
    memcpy(placement, parcel->placement, message.placement_count * sizeof(placement[0]));
    message.placement = message.placement_count > 0 ? placement : NULL;
    struct event event = {.kind = EVENT_MESSAGE};
    event.message.message = &message;
    if (parcel->has_tensor) {
        sim->handle++;
        receiver->handles++;
        event.kind = EVENT_TENSOR_ARRIVED;
        event.message.tensor.id = sim->handle;
    }
    pool_give(&sim->parcels, slot);
    sim_step(sim, to, &event);
}
