/*
 * network.c - parcels on their way.
 *
 * FIFO links: a tensor occupies each link of its route for as long as all of it takes
 * there. Its first byte goes on at once to the next link (cut-through) and waits there in
 * the order of arrival; its last byte leaves no link before it has left the one before.
 * A fast link behind a slow one is occupied only for what the tensor takes on the fast
 * one: in between, it carries others.
 *
 * Fair links: a tensor crosses all of them at one rate, which changes as others come and
 * go; see links_fair.h.
 *
 * The latency is added once. Messages without a tensor are too small to queue.
 */
#include "sim/network.h"

#include <string.h>

#include "base/numbers.h"
#include "sim/editions.h"
#include "sim/inside.h"

static bool is_fair(const struct sim *sim)
{
    return sim->options.fleet->network.sharing == SHARING_FAIR;
}

static void wake(void *context, int64_t at_ns)
{
    struct sim *sim = context;
    sim->network.queued++;
    schedule(sim, at_ns, payload_of(TIMED_PASSED, 0, 0, 0));
}

void network_init(struct sim *sim)
{
    const struct fleet *fleet = sim->options.fleet;
    struct network *network = &sim->network;
    const uint32_t count = links_count(fleet);
    network->link_count = count;
    network->rates = arena_alloc(&sim->arena, count * sizeof(*network->rates));
    network->links = arena_alloc(&sim->arena, count * sizeof(*network->links));
    links_rates(fleet, network->rates);
    carried_init(&network->carried);
    if (is_fair(sim)) {
        links_fair_init(&network->fair, count, network->rates, wake, sim);
    } else {
        network->fifo.free_ns = arena_alloc(&sim->arena, count * sizeof(int64_t));
        network->awaited = arena_alloc(&sim->arena, count * sizeof(*network->awaited));
        network->reached_ns = arena_alloc(&sim->arena, count * sizeof(*network->reached_ns));
        network->goes_ahead = fleet->network.background.bytes == 0;
        for (uint32_t node = 0; node < fleet->node_count; node++) {
            network->goes_ahead = network->goes_ahead && network->rates[node] > 0;
        }
    }
}

void network_deinit(struct sim *sim)
{
    carried_deinit(&sim->network.carried);
    if (is_fair(sim)) {
        links_fair_deinit(&sim->network.fair);
    }
}

static uint32_t pack(
    struct sim *sim, uint32_t from, uint32_t to, const struct message *message, bool has_tensor)
{
    (void)pool_reserve(&sim->parcels, 1);
    const uint32_t slot = pool_take_raw(&sim->parcels);
    struct parcel *parcel = pool_at(&sim->parcels, slot);
    parcel->from = from;
    parcel->to = to;
    parcel->has_tensor = has_tensor;
    parcel->is_lost = false;
    parcel->is_carried = false;
    parcel->hop = 0;
    parcel->made = 0;
    parcel->last_ns = 0;
    parcel->sent_ns = sim->now_ns;
    parcel->message = *message;
    if (message_placement_count(message) > 0) {
        memcpy(
            parcel->placement, message->work.placement,
            message->work.placement_count * sizeof(parcel->placement[0]));
    }
    return slot;
}

/* Give @parcel the next FIFO link of its route, from @at_ns on. Returns when its first byte leaves.
 */
static int64_t take_link(
    struct sim *sim, struct parcel *parcel, const struct route *route, int64_t at_ns)
{
    struct network *network = &sim->network;
    const uint32_t link = route->links[parcel->hop];
    const int64_t latency_ns = parcel->hop == 0 ? sim->options.fleet->network.latency_ns : 0;
    const int64_t wire_ns = fleet_bytes_ns(parcel->message.work.bytes, network->rates[link]);
    if (sim->options.check) {
        checkers_reach(sim, link, at_ns);
    }
    const int64_t first_ns = links_fifo_take(&network->fifo, link, at_ns, wire_ns) + latency_ns;
    const int64_t last_ns = first_ns + wire_ns;
    parcel->last_ns = max_i64(last_ns, parcel->last_ns);
    parcel->hop++;
    return first_ns;
}

/*
 * Whether no other can come before a parcel that leaves now, at the link that it reaches at
 * @next_ns: it did not wait, so that those who leave later arrive later (all have a link of their
 * own to leave by, and then the latency), and none of those who left before is still to come.
 */
static bool is_next(const struct sim *sim, const struct route *route, int64_t next_ns)
{
    const struct network *network = &sim->network;
    return route->count == 2 && network->goes_ahead &&
           next_ns == sim->now_ns + sim->options.fleet->network.latency_ns &&
           network->awaited[route->links[1]] == 0;
}

/* A parcel will reach each link of the rest of its route in an event of its own. */
static void expect(struct sim *sim, const struct parcel *parcel, const struct route *route)
{
    for (uint32_t i = parcel->hop; i < route->count; i++) {
        sim->network.awaited[route->links[i]]++;
    }
}

/* Over the next FIFO link of its route, as soon as that is free. */
static void hop(struct sim *sim, uint32_t slot, const struct route *route)
{
    struct parcel *parcel = pool_at(&sim->parcels, slot);
    const int64_t next_ns = take_link(sim, parcel, route, sim->now_ns);
    if (parcel->hop < route->count) {
        if (parcel->hop > 1 || !is_next(sim, route, next_ns)) {
            if (parcel->hop == 1) {
                expect(sim, parcel, route);
            }
            schedule(sim, next_ns, payload_of(TIMED_AT_SWITCH, 0, 0, slot));
            return;
        }
        (void)take_link(sim, parcel, route, next_ns);
    }
    schedule(sim, parcel->last_ns, payload_of(TIMED_DELIVERED, 0, 0, slot));
}

/* What waits for nothing but the latency comes in the order in which it leaves. */
static void deliver_after_latency(struct sim *sim, uint32_t slot)
{
    const int64_t at_ns = sim->now_ns + sim->options.fleet->network.latency_ns;
    event_queue_line_up(&sim->queue, at_ns, payload_of(TIMED_DELIVERED, 0, 0, slot));
}

void network_send(
    struct sim *sim, uint32_t from, uint32_t to, const struct message *message,
    struct handle tensor)
{
    const struct fleet *fleet = sim->options.fleet;
    const bool has_tensor = tensor.id != 0;
    const uint32_t slot = pack(sim, from, to, message, has_tensor);
    struct route route = {0};
    if (has_tensor) {
        ((struct parcel *)pool_at(&sim->parcels, slot))->made = editions_made(sim, tensor);
        carried_note(sim, slot);
        links_route(fleet, sim->network.rates, from, to, &route);
    }
    if (route.count == 0 || message->work.bytes == 0) {
        deliver_after_latency(sim, slot);
    } else if (is_fair(sim)) {
        (void)links_fair_start(&sim->network.fair, sim->now_ns, &route, message->work.bytes, slot);
        if (sim->options.check) {
            checkers_links(sim);
        }
    } else {
        hop(sim, slot, &route);
    }
}

void network_lose(struct sim *sim, network_loses *loses, uint32_t a, uint32_t b)
{
    for (uint32_t slot = 0; slot < sim->parcels.capacity; slot++) {
        if (pool_is_taken(&sim->parcels, slot)) {
            struct parcel *parcel = pool_at(&sim->parcels, slot);
            parcel->is_lost = parcel->is_lost || loses(parcel, a, b);
            if (parcel->is_lost && parcel->is_carried) {
                carried_drop(sim, parcel);
            }
        }
    }
}

void network_find(struct sim *sim, uint32_t node, struct job_id job, uint32_t asker)
{
    if (carried_has(sim, node, job)) {
        struct event event = {.at_ns = sim->now_ns, .kind = EVENT_UNDER_WAY};
        event.under_way.job = job;
        event.under_way.asker = asker;
        sim_event(sim, node, &event);
    }
}

void network_at_switch(struct sim *sim, uint32_t slot)
{
    const struct parcel *parcel = pool_at(&sim->parcels, slot);
    struct route route;
    links_route(sim->options.fleet, sim->network.rates, parcel->from, parcel->to, &route);
    ASSERT(sim->network.awaited[route.links[parcel->hop]] > 0);
    sim->network.awaited[route.links[parcel->hop]]--;
    hop(sim, slot, &route);
}

void network_passed(struct sim *sim)
{
    uint32_t tag;
    sim->network.queued--;
    while (links_fair_finish(&sim->network.fair, sim->now_ns, &tag)) {
        if (tag != NETWORK_TAG_BACKGROUND) {
            deliver_after_latency(sim, tag);
        }
    }
    if (sim->options.check) {
        checkers_links(sim);
    }
}

void network_deliver(struct sim *sim, uint32_t slot)
{
    struct parcel *parcel = pool_at(&sim->parcels, slot);
    struct sim_node *receiver = &sim->nodes[parcel->to];
    const uint32_t to = parcel->to;
    if (sim->options.check) {
        checkers_deliver(sim, parcel);
    }
    if (parcel->is_carried) {
        carried_drop(sim, parcel);
    }
    if (receiver->node == NULL || parcel->is_lost) {
        pool_give(&sim->parcels, slot);
        return; /* No node is there that could take it. */
    }
    if (message_has_placement(parcel->message.kind)) {
        parcel->message.work.placement = parcel->placement;
    }
    message_add_age(&parcel->message, sim->now_ns - parcel->sent_ns); /* As between machines. */
    struct event event = {.kind = EVENT_MESSAGE};
    event.message.message = &parcel->message;
    if (parcel->has_tensor) {
        event.kind = EVENT_TENSOR_ARRIVED;
        event.message.tensor = sim_new_tensor(sim, to);
        editions_note(sim, event.message.tensor, parcel->made);
    }
    sim_take_step(sim, to, &event);
    pool_give(&sim->parcels, slot); /* What the step sends may move the others. */
    sim_end_step(sim, to);
}
