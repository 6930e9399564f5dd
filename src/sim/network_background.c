/*
 * network_background.c - what others send over each link, beside the machines we know.
 *
 * Each limited link has a stream of its own, so that neither another link nor anything a
 * node does shifts it. Other traffic follows the rule of its link: it waits its turn, or
 * takes its share.
 */
#include "base/exact.h"
#include "base/units.h"
#include "sim/inside.h"

static double rate_on(const struct network_background *background, uint64_t bytes_per_s)
{
    if (bytes_per_s == 0 || background->bytes == 0) {
        return 0;
    }
    if (background->load > 0) {
        return background->load * (double)bytes_per_s / (double)background->bytes;
    }
    return background->rate_per_s;
}

static void schedule_next(struct sim *sim, uint32_t number)
{
    struct network_link *link = &sim->network.links[number];
    const double gap_ns = NS_PER_S / link->rate_per_s * exact_exponential(&link->rng);
    const int64_t whole_ns =
        gap_ns < (double)DURATION_NS_MAX ? (int64_t)(gap_ns + 0.5) : DURATION_NS_MAX;
    sim->network.queued++;
    schedule(sim, sim->now_ns + whole_ns, payload_of(TIMED_BACKGROUND, 0, 0, number));
}

void network_background_start(struct sim *sim)
{
    struct network *network = &sim->network;
    for (uint32_t i = 0; i < network->link_count; i++) {
        struct network_link *link = &network->links[i];
        link->rate_per_s = rate_on(&sim->options.fleet->network.background, network->rates[i]);
        if (link->rate_per_s > 0) {
            link->rng = rng_stream(sim->options.seed, RNG_NETWORK, NETWORK_STREAM_LINKS + i);
            schedule_next(sim, i);
        }
    }
}

static uint64_t draw_bytes(const struct network_background *background, struct rng *rng)
{
    if (!background->exponential) {
        return background->bytes;
    }
    const double bytes = (double)background->bytes * exact_exponential(rng);
    return bytes < 1 ? 1 : (uint64_t)bytes;
}

/*
 * Whether a client is left to be disturbed: one that waits or will come. If nothing
 * but other traffic is in the queue there is none, whatever the counts say.
 */
static bool is_watched(const struct sim *sim)
{
    const bool is_alone = event_queue_count(&sim->queue) == sim->network.queued + sim->ticks &&
                          sim->parcels.used == 0;
    return sim_is_awaited(sim) && !is_alone;
}

void network_background_next(struct sim *sim, uint32_t number)
{
    const struct network_background *background = &sim->options.fleet->network.background;
    struct network *network = &sim->network;
    struct network_link *link = &network->links[number];
    network->queued--;
    if (!is_watched(sim)) {
        return;
    }
    const uint64_t bytes = draw_bytes(background, &link->rng);
    network->background_count++;
    network->background_bytes += bytes;
    if (sim->options.fleet->network.sharing == SHARING_FAIR) {
        const struct route route = {.count = 1, .links = {number}};
        (void)links_fair_start(&network->fair, sim->now_ns, &route, bytes, NETWORK_TAG_BACKGROUND);
    } else {
        const int64_t wire_ns = fleet_bytes_ns(bytes, network->rates[number]);
        (void)links_fifo_take(&network->fifo, number, sim->now_ns, wire_ns);
    }
    schedule_next(sim, number);
}
