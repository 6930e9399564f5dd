/* draft_to_mixture.c - patterns on sites as placements on workers: see draft_mixture.h. */
#include "mixture/draft_mixture.h"

#include <math.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "mixture/draft.h"
#include "mixture/mixture.h"
#include "mixture/program.h"
#include "mixture/sites.h"
#include "mixture/workload.h"
#include "model/catalogue.h"

#define SHARE_MIN 1e-7 /* A job in ten million: not worth a placement. */

enum {
    PLACEMENTS_MAX = 512, /* Of one pattern, as long as each machine has its part. */
    TURNS_MAX = 8, /* How often a pattern is spread over its sites, each time in other pairs. */
};

/* The machines of each site: those of its class, in turn. */
static uint32_t *assign_machines(const struct sites *sites)
{
    uint32_t *first = memory_zeroed(sites->site_count, sizeof(*first));
    uint32_t *given = memory_zeroed(sites->class_count, sizeof(*given));
    for (uint32_t i = 0; i < sites->site_count; i++) {
        const uint32_t group = sites->sites[i].machines;
        first[i] = given[group];
        given[group] += (uint32_t)(sites->sites[i].size + 0.5);
    }
    free(given);
    return first;
}

static uint32_t size_of(const struct sites *sites, uint32_t site)
{
    return (uint32_t)(sites->sites[site].size + 0.5);
}

/* One pattern while it is being spread. */
struct spreading {
    const struct sites *sites;
    const uint32_t *first; /* By site: its first machine in the class. */
    const struct spot *spots;
    uint32_t task_count;
    uint32_t site_count; /* Sites of the pattern, each once, and how many machines of each. */
    uint32_t used[WORKFLOW_TASKS_MAX];
    uint32_t copies[WORKFLOW_TASKS_MAX];
};

static void find_used(struct spreading *spreading)
{
    spreading->site_count = 0;
    for (uint32_t i = 0; i < spreading->task_count; i++) {
        const struct spot spot = spreading->spots[i];
        uint32_t at = 0;
        while (at < spreading->site_count && spreading->used[at] != spot.site) {
            at++;
        }
        if (at == spreading->site_count) {
            spreading->used[at] = spot.site;
            spreading->copies[at] = 0;
            spreading->site_count++;
        }
        if (spot.copy >= spreading->copies[at]) {
            spreading->copies[at] = spot.copy + 1U;
        }
    }
}

/*
 * The machine of @spot at point @unit of [0, 1): points are divided among the machines of a
 * site evenly, so each has the same part. Copies stand apart; a turn pairs others.
 */
static uint16_t worker_at(
    const struct spreading *spreading, struct spot spot, double unit, uint32_t turn)
{
    const struct sites *sites = spreading->sites;
    const uint32_t size = size_of(sites, spot.site);
    uint32_t order = 0;
    while (spreading->used[order] != spot.site) {
        order++;
    }
    uint32_t index = (uint32_t)(unit * size);
    index = index < size ? index : size - 1;
    ASSERT(size > 0 && spreading->copies[order] > 0);
    const uint32_t apart = size / spreading->copies[order];
    const uint32_t turned = (order + 1) * turn * (apart / TURNS_MAX + 1);
    index += spot.copy == 0 && order == 0 ? 0 : turned % (apart > 0 ? apart : 1);
    index = (index + spot.copy * apart) % size;
    const struct machine_class *machines = &sites->classes[sites->sites[spot.site].machines];
    const uint32_t node = machines->nodes[spreading->first[spot.site] + index];
    return (uint16_t)sites_worker(sites, node, spot.slot);
}

/* The next point after @unit at which some site of the pattern passes to its next machine. */
static double next_cut(const struct spreading *spreading, double unit)
{
    double next = 1;
    for (uint32_t i = 0; i < spreading->site_count; i++) {
        const double size = size_of(spreading->sites, spreading->used[i]);
        const double cut = (floor(unit * size + 1e-9) + 1) / size;
        next = cut < next ? cut : next;
    }
    return next;
}

static void spread_pattern(
    struct spreading *spreading, struct mixture *mixture, uint32_t workflow, double share)
{
    uint16_t placement[WORKFLOW_TASKS_MAX];
    uint32_t machines = 0;
    uint32_t apart = 1;
    find_used(spreading);
    for (uint32_t i = 0; i < spreading->site_count; i++) {
        const uint32_t size = size_of(spreading->sites, spreading->used[i]);
        const uint32_t copies = spreading->copies[i];
        ASSERT(copies > 0);
        machines += size;
        apart = size / copies > apart ? size / copies : apart;
    }
    ASSERT(machines > 0);
    const bool pairs = spreading->site_count > 1 || spreading->copies[0] > 1;
    uint32_t turns = pairs ? PLACEMENTS_MAX / machines : 1;
    turns = min_u32(turns, TURNS_MAX);
    turns = turns > apart ? apart : turns; /* More would pair the same machines again. */
    turns = turns == 0 ? 1 : turns;
    for (uint32_t turn = 0; turn < turns; turn++) {
        double unit = 0;
        while (unit < 1) {
            const double next = next_cut(spreading, unit);
            const double middle = unit + (next - unit) / 2;
            for (uint32_t i = 0; i < spreading->task_count; i++) {
                placement[i] = worker_at(spreading, spreading->spots[i], middle, turn);
            }
            const enum weft_status status =
                mixture_add_pattern(mixture, workflow, placement, share * (next - unit) / turns);
            ASSERT(status == WEFT_OK || status == WEFT_LIMIT);
            unit = next;
        }
    }
}

void draft_predict(const struct draft *draft, struct mixture *mixture)
{
    const struct congestion *congestion = &draft->congestion;
    const struct sites *sites = draft->sites;
    const struct workload *workload = draft->workload;
    uint32_t *first = assign_machines(sites);
    const uint32_t node_count = sites->fleet->node_count;
    for (uint32_t i = 0; i < sites->site_count; i++) {
        const struct site *site = &sites->sites[i];
        for (uint32_t k = 0; k < size_of(sites, i); k++) {
            const uint32_t node = sites->classes[site->machines].nodes[first[i] + k];
            for (uint32_t slot = 0; slot < site->slot_count; slot++) {
                mixture->worker_load[sites_worker(sites, node, slot)] =
                    congestion->loads[site->worker_first + slot];
            }
            mixture->link_load[node] = site->up == QUEUE_NONE ? 0 : congestion->loads[site->up];
            mixture->link_load[node_count + node] =
                site->down == QUEUE_NONE ? 0 : congestion->loads[site->down];
            if (sites->fleet->network.kind == NETWORK_TWO_TIER && site->core_up != QUEUE_NONE) {
                const uint32_t core = 2 * node_count + 2 * fleet_rack(sites->fleet, node);
                mixture->link_load[core] = congestion->loads[site->core_up];
                mixture->link_load[core + 1] = congestion->loads[site->core_down];
            }
        }
    }
    if (sites->bottleneck != QUEUE_NONE) {
        mixture->link_load[(size_t)2 * node_count] = congestion->loads[sites->bottleneck];
    }
    for (uint32_t i = 0; i < workload->stream_count; i++) {
        mixture->workflows[workload->streams[i].number].mean_ns = 0;
    }
    for (uint32_t i = 0; i < draft->descent.count; i++) {
        const uint32_t number = workload->streams[draft->patterns.items[i].stream].number;
        mixture->workflows[number].mean_ns +=
            isinf(congestion->mean_ns) ? (double)INFINITY
                                       : draft->descent.shares[i] * congestion->lengths_ns[i];
    }
    mixture->mean_ns = congestion->mean_ns;
    free(first);
}

struct mixture *draft_to_mixture(const struct draft *draft, const struct program_input *input)
{
    const struct sites *sites = draft->sites;
    const struct workload *workload = draft->workload;
    struct mixture *mixture = mixture_create(
        input->catalogue->workflow_count, input->fleet->worker_count, links_count(input->fleet));
    uint32_t *first = assign_machines(sites);
    struct spreading spreading = {.sites = sites, .first = first};
    for (uint32_t i = 0; i < workload->stream_count; i++) {
        const struct stream *stream = &workload->streams[i];
        mixture_set_workflow(
            mixture, stream->number, stream->workflow->task_count,
            input->rates_per_s[stream->number]);
    }
    for (uint32_t i = 0; i < draft->descent.count; i++) {
        const struct pattern *pattern = &draft->patterns.items[i];
        if (draft->descent.shares[i] > SHARE_MIN) {
            spreading.spots = draft->patterns.spots + pattern->spot_first;
            spreading.task_count = workload->streams[pattern->stream].workflow->task_count;
            spread_pattern(
                &spreading, mixture, workload->streams[pattern->stream].number,
                draft->descent.shares[i]);
        }
    }
    const enum weft_status status = mixture_seal(mixture, NULL);
    ASSERT(status == WEFT_OK);
    draft_predict(draft, mixture);
    free(first);
    return mixture;
}
