#include "mixture/sites.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/bitset.h"
#include "base/memory.h"
#include "base/units.h"
#include "mixture/workload.h"
#include "model/workflow.h"

#define CLASS_NONE UINT32_MAX /* Of a machine that is away. */

/* Whether two machines have the same devices, links, rack and use. */
static bool is_same(
    const struct fleet *fleet, const uint32_t *uses, const uint64_t *rates, uint32_t a, uint32_t b)
{
    const struct fleet_node *one = &fleet->nodes[a];
    const struct fleet_node *two = &fleet->nodes[b];
    const uint32_t down = fleet->node_count;
    bool same = (uses == NULL || uses[a] == uses[b]) && one->worker_count == two->worker_count &&
                rates[a] == rates[b] && rates[down + a] == rates[down + b];
    if (fleet->network.kind == NETWORK_TWO_TIER) {
        same = same && fleet_rack(fleet, a) == fleet_rack(fleet, b);
    }
    for (uint32_t slot = 0; slot < one->worker_count && same; slot++) {
        same = fleet->workers[one->worker_first + slot].device ==
               fleet->workers[two->worker_first + slot].device;
    }
    return same;
}

/* Classes of equal machines, in the order of their first machines. */
static void find_classes(
    struct sites *sites, const struct sites_options *options, const uint64_t *rates)
{
    const uint32_t node_count = sites->fleet->node_count;
    uint32_t *class_of = memory_zeroed(node_count, sizeof(*class_of));
    uint32_t *first = memory_zeroed(node_count, sizeof(*first));
    sites->classes = memory_zeroed(node_count, sizeof(*sites->classes));
    sites->nodes = memory_zeroed(node_count, sizeof(*sites->nodes));
    for (uint32_t node = 0; node < node_count; node++) {
        class_of[node] = CLASS_NONE;
        if (options->away != NULL && bitset_has(options->away, node)) {
            continue;
        }
        uint32_t group = 0;
        while (group < sites->class_count &&
               !is_same(sites->fleet, options->uses, rates, first[group], node)) {
            group++;
        }
        if (group == sites->class_count) {
            first[sites->class_count++] = node;
        }
        class_of[node] = group;
        sites->node_count++;
    }
    uint32_t *next = sites->nodes;
    for (uint32_t group = 0; group < sites->class_count; group++) {
        struct machine_class *machines = &sites->classes[group];
        machines->nodes = next;
        for (uint32_t node = first[group]; node < node_count; node++) {
            if (class_of[node] == group) {
                machines->nodes[machines->node_count++] = node;
            }
        }
        next += machines->node_count;
    }
    free(first);
    free(class_of);
}

/* What traffic that is not of jobs puts on a link. */
static void add_others(const struct network_background *others, struct queue_site *link)
{
    if (others->bytes > 0) {
        const double time_ns = (double)others->bytes / link->bytes_per_ns;
        link->load = others->load > 0 ? others->load : others->rate_per_s / NS_PER_S * time_ns;
        link->residual_ns = link->load * time_ns * (others->exponential ? 2 : 1);
    }
}

static uint32_t add_queue(struct sites *sites, const struct queue_site *queue)
{
    sites->queues[sites->queue_count] = *queue;
    return sites->queue_count++;
}

static uint32_t add_link(struct sites *sites, uint64_t bytes_per_s, uint32_t site)
{
    if (bytes_per_s == 0) {
        return QUEUE_NONE;
    }
    struct queue_site queue = {
        .copies = 1,
        .bytes_per_ns = (double)bytes_per_s / NS_PER_S,
        .shared = sites->fleet->network.sharing == SHARING_FAIR,
        .site = site,
    };
    add_others(&sites->fleet->network.background, &queue);
    return add_queue(sites, &queue);
}

static void add_site(struct sites *sites, const uint64_t *rates, uint32_t group, double size)
{
    const uint32_t number = sites->site_count;
    const uint32_t node = sites->classes[group].nodes[0];
    struct site *site = &sites->sites[sites->site_count++];
    site->machines = group;
    site->slot_count = sites->fleet->nodes[node].worker_count;
    site->worker_first = sites->queue_count;
    for (uint32_t slot = 0; slot < site->slot_count; slot++) {
        (void)add_queue(sites, &(struct queue_site){.site = number, .slot = slot});
    }
    site->up = add_link(sites, rates[node], number);
    site->down = add_link(sites, rates[sites->fleet->node_count + node], number);
    site->core_up = QUEUE_NONE;
    site->core_down = QUEUE_NONE;
    sites_resize(sites, number, size);
}

/* Racks and the one link for all come last: they belong to no site. */
static void add_core(struct sites *sites, const uint64_t *rates)
{
    const struct fleet *fleet = sites->fleet;
    const uint32_t core = 2 * fleet->node_count;
    sites->bottleneck = QUEUE_NONE;
    if (fleet->network.kind == NETWORK_BOTTLENECK) {
        sites->bottleneck = add_link(sites, rates[core], QUEUE_NONE);
    }
    if (fleet->network.kind != NETWORK_TWO_TIER) {
        return;
    }
    for (uint32_t rack = 0; rack < fleet_rack_count(fleet); rack++) {
        const uint32_t up = add_link(sites, rates[core + 2 * rack], QUEUE_NONE);
        const uint32_t down = add_link(sites, rates[core + 2 * rack + 1], QUEUE_NONE);
        for (uint32_t i = 0; i < sites->site_count; i++) {
            struct site *site = &sites->sites[i];
            if (fleet_rack(fleet, sites->classes[site->machines].nodes[0]) == rack) {
                site->core_up = up;
                site->core_down = down;
            }
        }
    }
}

struct sites *sites_create(const struct fleet *fleet, const struct sites_options *options)
{
    const uint32_t parts = options->parts == 0 ? 1 : options->parts;
    const uint32_t link_count = links_count(fleet);
    struct sites *sites = memory_zeroed(1, sizeof(*sites));
    uint64_t *rates = memory_zeroed(link_count, sizeof(*rates));
    links_rates(fleet, rates);
    sites->fleet = fleet;
    sites->latency_ns = (double)fleet->network.latency_ns;
    find_classes(sites, options, rates);
    ASSERT(sites->node_count > 0);
    sites->sites = memory_zeroed(fleet->node_count, sizeof(*sites->sites));
    sites->queues = memory_zeroed(fleet->worker_count + link_count, sizeof(*sites->queues));
    for (uint32_t group = 0; group < sites->class_count; group++) {
        const uint32_t node_count = sites->classes[group].node_count;
        const uint32_t count = parts < node_count ? parts : node_count;
        for (uint32_t i = 0; i < count; i++) {
            add_site(sites, rates, group, (double)node_count / count);
        }
    }
    add_core(sites, rates);
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
    const double count = sites->node_count;
    const double part = (count - 1) / (count * count);
    for (uint32_t i = 0; i < workload->stream_count; i++) {
        const struct stream *stream = &workload->streams[i];
        if (stream->input_bytes > 0) {
            sites->ingress_rate += stream->rate * part;
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
