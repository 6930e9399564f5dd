#include "mixture/sites.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "mixture/background.h"
#include "mixture/machine_classes.h"
#include "mixture/program.h"
#include "mixture/workload.h"
#include "model/workflow.h"

#define NS_PER_S 1e9

static uint32_t greatest_divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/*
 * Order the machines of a class by the load of others, and deal them out again by steps of
 * about 0.618 of all: any few neighbours then have nearly the mean.
 */
static void mix_machines(const struct program_input *input, struct machine_class *machines)
{
    const uint32_t count = machines->node_count;
    uint32_t *sorted = memory_zeroed(count, sizeof(*sorted));
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t node = machines->nodes[i];
        uint32_t at = i;
        while (at > 0 &&
               background_of_machine(input, sorted[at - 1]) > background_of_machine(input, node)) {
            sorted[at] = sorted[at - 1];
            at--;
        }
        sorted[at] = node;
    }
    uint32_t step = (uint32_t)(0.618 * count) | 1U;
    while (step > 1 && greatest_divisor(step, count) > 1) {
        step -= 2;
    }
    for (uint32_t i = 0; i < count; i++) {
        machines->nodes[i] = sorted[(uint64_t)i * step % count];
    }
    free(sorted);
}

/* The mean over a class of what others put on a slot, or on a link: 0 up, 1 down. */
static struct program_background mean_background(
    const struct sites *sites, const struct program_input *input, const uint64_t *rates,
    const struct machine_class *machines, uint32_t index)
{
    const bool is_link = rates != NULL;
    const uint32_t count = sites->average ? machines->node_count : 1; /* All are equal. */
    struct program_background mean = {0};
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t node = machines->nodes[i];
        const uint32_t link = index * sites->fleet->node_count + node;
        const struct program_background one =
            is_link ? background_of_link(input, link, rates[link])
                    : background_of_worker(input, sites_worker(sites, node, index));
        mean.load += one.load / count;
        mean.residual_ns += one.residual_ns / count;
    }
    return mean;
}

static uint32_t add_queue(struct sites *sites, const struct queue_site *queue)
{
    sites->queues[sites->queue_count] = *queue;
    return sites->queue_count++;
}

static uint32_t add_link(
    struct sites *sites, uint64_t rate, struct program_background others, uint32_t site)
{
    if (rate == 0) {
        return QUEUE_NONE;
    }
    const struct queue_site queue = {
        .copies = 1,
        .load = others.load,
        .residual_ns = others.residual_ns,
        .bytes_per_ns = (double)rate / NS_PER_S,
        .shared = sites->fleet->network.sharing == SHARING_FAIR,
        .site = site,
    };
    return add_queue(sites, &queue);
}

static void add_site(
    struct sites *sites, const struct program_input *input, const uint64_t *rates, uint32_t group,
    double size)
{
    const uint32_t number = sites->site_count;
    const struct machine_class *machines = &sites->classes[group];
    const uint32_t down = sites->fleet->node_count + machines->nodes[0];
    struct site *site = &sites->sites[sites->site_count++];
    site->machines = group;
    site->slot_count = sites->fleet->nodes[machines->nodes[0]].worker_count;
    site->worker_first = sites->queue_count;
    for (uint32_t slot = 0; slot < site->slot_count; slot++) {
        const struct program_background others =
            mean_background(sites, input, NULL, machines, slot);
        const struct queue_site queue = {
            .load = others.load,
            .residual_ns = others.residual_ns,
            .site = number,
            .slot = slot,
        };
        (void)add_queue(sites, &queue);
    }
    site->up = add_link(
        sites, rates[machines->nodes[0]], mean_background(sites, input, rates, machines, 0),
        number);
    site->down =
        add_link(sites, rates[down], mean_background(sites, input, rates, machines, 1), number);
    site->core_up = QUEUE_NONE;
    site->core_down = QUEUE_NONE;
    sites_resize(sites, number, size);
}

/* A link that belongs to no machine. */
static uint32_t add_core_link(
    struct sites *sites, const struct program_input *input, const uint64_t *rates, uint32_t link)
{
    return add_link(sites, rates[link], background_of_link(input, link, rates[link]), QUEUE_NONE);
}

/* Racks and the one link for all come last: they belong to no site. */
static void add_core(struct sites *sites, const struct program_input *input, const uint64_t *rates)
{
    const struct fleet *fleet = sites->fleet;
    const uint32_t core = 2 * fleet->node_count;
    sites->bottleneck = QUEUE_NONE;
    if (fleet->network.kind == NETWORK_BOTTLENECK) {
        sites->bottleneck = add_core_link(sites, input, rates, core);
    }
    if (fleet->network.kind != NETWORK_TWO_TIER) {
        return;
    }
    for (uint32_t rack = 0; rack < fleet_rack_count(fleet); rack++) {
        const uint32_t up = add_core_link(sites, input, rates, core + 2 * rack);
        const uint32_t down = add_core_link(sites, input, rates, core + 2 * rack + 1);
        for (uint32_t i = 0; i < sites->site_count; i++) {
            struct site *site = &sites->sites[i];
            if (fleet_rack(fleet, sites->classes[site->machines].nodes[0]) == rack) {
                site->core_up = up;
                site->core_down = down;
            }
        }
    }
}

struct sites *sites_create(const struct program_input *input, const struct sites_options *options)
{
    const uint32_t parts = options->parts == 0 ? 1 : options->parts;
    const struct fleet *fleet = input->fleet;
    const uint32_t link_count = links_count(fleet);
    ASSERT(fleet->node_count > 0);
    struct sites *sites = memory_zeroed(1, sizeof(*sites));
    uint64_t *rates = memory_zeroed(link_count, sizeof(*rates));
    links_rates(fleet, rates);
    sites->fleet = fleet;
    sites->latency_ns = (double)fleet->network.latency_ns;
    sites->average = options->average;
    machine_classes(sites, input, options, rates);
    for (uint32_t group = 0; group < sites->class_count && options->average; group++) {
        mix_machines(input, &sites->classes[group]);
    }
    sites->sites = memory_zeroed(fleet->node_count, sizeof(*sites->sites));
    sites->queues = memory_zeroed(fleet->worker_count + link_count, sizeof(*sites->queues));
    for (uint32_t group = 0; group < sites->class_count; group++) {
        const uint32_t node_count = sites->classes[group].node_count;
        const uint32_t count = parts < node_count ? parts : node_count;
        for (uint32_t i = 0; i < count; i++) {
            add_site(sites, input, rates, group, (double)node_count / count);
        }
    }
    add_core(sites, input, rates);
    free(rates);
    return sites;
}

void sites_destroy(struct sites *sites)
{
    if (sites == NULL) {
        return;
    }
    free(sites->nodes);
    free(sites->classes);
    free(sites->sites);
    free(sites->queues);
    free(sites);
}

void sites_resize(struct sites *sites, uint32_t number, double size)
{
    struct site *site = &sites->sites[number];
    site->size = size;
    for (uint32_t slot = 0; slot < site->slot_count; slot++) {
        sites->queues[site->worker_first + slot].copies = size;
    }
    if (site->up != QUEUE_NONE) {
        sites->queues[site->up].copies = size;
    }
    if (site->down != QUEUE_NONE) {
        sites->queues[site->down].copies = size;
    }
}

/* One machine of the @count gets its part of the requests, and passes most of them on. */
static void add_inputs(
    struct sites *sites, struct queue_site *queue, const struct stream *stream, double part)
{
    const double time_ns = stream->input_bytes / queue->bytes_per_ns;
    const double rate = stream->rate * stream->workflow->source_count * part;
    queue->load += rate * time_ns;
    queue->residual_ns += rate * time_ns * time_ns;
    sites->ingress_work += stream->rate * part * time_ns;
}

void sites_add_ingress(struct sites *sites, const struct workload *workload)
{
    const double count = sites->fleet->node_count;
    const double part = (count - 1) / (count * count);
    for (uint32_t i = 0; i < workload->stream_count; i++) {
        const struct stream *stream = &workload->streams[i];
        if (stream->input_bytes > 0) {
            sites->ingress_visits += stream->rate * part;
        }
        for (uint32_t k = 0; k < sites->site_count && stream->input_bytes > 0; k++) {
            if (sites->sites[k].up != QUEUE_NONE) {
                add_inputs(sites, &sites->queues[sites->sites[k].up], stream, part);
            }
        }
    }
    sites->ingress_work /= sites->site_count;
}

static void cross(struct crossing *crossing, uint32_t queue)
{
    if (queue != QUEUE_NONE) {
        crossing->queues[crossing->count++] = queue;
    }
}

void sites_cross(
    const struct sites *sites, uint32_t from, uint32_t to, struct crossing *crossing_out)
{
    const struct site *source = &sites->sites[from];
    const struct site *target = &sites->sites[to];
    crossing_out->count = 0;
    cross(crossing_out, source->up);
    cross(crossing_out, sites->bottleneck);
    if (source->core_up != target->core_up || source->core_down != target->core_down) {
        cross(crossing_out, source->core_up);
        cross(crossing_out, target->core_down);
    }
    cross(crossing_out, target->down);
}

uint32_t sites_worker(const struct sites *sites, uint32_t node, uint32_t slot)
{
    return sites->fleet->nodes[node].worker_first + slot;
}

uint32_t sites_device(const struct sites *sites, uint32_t site, uint32_t slot)
{
    const uint32_t node = sites->classes[sites->sites[site].machines].nodes[0];
    return sites->fleet->workers[sites_worker(sites, node, slot)].device;
}
