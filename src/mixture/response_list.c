#include "mixture/response_list.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "mixture/congestion.h"
#include "mixture/sites.h"
#include "mixture/workload.h"
#include "model/contract.h"
#include "model/digraph.h"

struct list {
    const struct congestion *congestion;
    const struct stream *stream;
    const struct digraph *graph;
    double *ranks;     /* By unit: the costliest way to the end. */
    double *finish_ns; /* By unit that is placed; below 0 if not. */
    struct spot *units;
};

/* The time of @unit on a kind of device, and its variance. INFINITY if it cannot run there. */
static double unit_time(
    const struct stream *stream, uint32_t unit, uint32_t device, double *variance_out)
{
    const struct contraction *units = stream->units;
    double sum_ns = 0;
    double variance = 0;
    for (uint32_t i = units->member_first[unit]; i < units->member_first[unit + 1]; i++) {
        const struct task_time *time = stream_time(stream, units->members[i], device);
        sum_ns = time->mean_ns < 0 ? (double)INFINITY : sum_ns + time->mean_ns;
        variance += time->variance;
    }
    *variance_out = variance;
    return sum_ns;
}

/* On the fastest kind of device there is: ranks only order the units. */
static void rank_units(struct list *list)
{
    const struct digraph *graph = list->graph;
    for (uint32_t i = graph->vertex_count; i-- > 0;) {
        const uint32_t unit = graph->order[i];
        double fastest_ns = (double)INFINITY;
        double longest_ns = 0;
        for (uint32_t device = 0; device < DEVICE_KINDS_MAX; device++) {
            double variance;
            const double time_ns = unit_time(list->stream, unit, device, &variance);
            fastest_ns = time_ns < fastest_ns ? time_ns : fastest_ns;
        }
        for (uint32_t k = 0; k < graph->vertices[unit].out_count; k++) {
            const double rank = list->ranks[digraph_out(graph, unit, k)->to];
            longest_ns = rank > longest_ns ? rank : longest_ns;
        }
        list->ranks[unit] = longest_ns + (isinf(fastest_ns) ? 0 : fastest_ns);
    }
}

/* The unit with the highest rank of those whose producers are all placed. */
static uint32_t next_unit(const struct list *list)
{
    uint32_t best = VERTEX_NONE;
    for (uint32_t unit = 0; unit < list->graph->vertex_count; unit++) {
        bool is_ready = list->finish_ns[unit] < 0;
        for (uint32_t k = 0; k < list->graph->vertices[unit].in_count && is_ready; k++) {
            is_ready = list->finish_ns[digraph_in(list->graph, unit, k)->from] >= 0;
        }
        if (is_ready && (best == VERTEX_NONE || list->ranks[unit] > list->ranks[best])) {
            best = unit;
        }
    }
    return best;
}

/* What crosses from @from to @to takes, waits included; tolls are added to @toll. */
static double cross_ns(
    const struct list *list, struct spot from, struct spot to, double bytes, double *toll)
{
    const struct congestion *congestion = list->congestion;
    const struct sites *sites = congestion->sites;
    struct crossing crossing;
    double waits_ns = 0;
    double longest_ns = 0;
    if (spot_same_machine(from, to)) {
        return 0;
    }
    sites_cross(sites, from.site, to.site, &crossing);
    for (uint32_t i = 0; i < crossing.count; i++) {
        const uint32_t link = crossing.queues[i];
        const double wire_ns = bytes / sites->queues[link].bytes_per_ns;
        longest_ns = wire_ns > longest_ns ? wire_ns : longest_ns;
        waits_ns += congestion->prices[link] * (sites->queues[link].shared ? wire_ns : 1);
        *toll += congestion->tolls[link].work * wire_ns +
                 congestion->tolls[link].second * wire_ns * wire_ns;
    }
    return sites->latency_ns + longest_ns + waits_ns;
}

/* When @unit would end on @spot; with tolls in @cost_out. */
static double end_on(const struct list *list, uint32_t unit, struct spot spot, double *cost_out)
{
    const struct congestion *congestion = list->congestion;
    const struct sites *sites = congestion->sites;
    const uint32_t queue = sites->sites[spot.site].worker_first + spot.slot;
    double variance;
    const double time_ns =
        unit_time(list->stream, unit, sites_device(sites, spot.site, spot.slot), &variance);
    double toll = congestion->tolls[queue].work * time_ns +
                  congestion->tolls[queue].second * (time_ns * time_ns + variance);
    double ready_ns = 0;
    bool continues = false;
    for (uint32_t k = 0; k < list->graph->vertices[unit].in_count; k++) {
        const struct digraph_edge *edge = digraph_in(list->graph, unit, k);
        const struct spot from = list->units[edge->from];
        const double at_ns =
            list->finish_ns[edge->from] + cross_ns(list, from, spot, (double)edge->bytes, &toll);
        continues = continues || spot_equal(from, spot);
        ready_ns = at_ns > ready_ns ? at_ns : ready_ns;
    }
    ready_ns += continues ? 0 : congestion->prices[queue];
    for (uint32_t i = 0; i < list->graph->vertex_count; i++) {
        if (list->finish_ns[i] > ready_ns && spot_equal(list->units[i], spot)) {
            ready_ns = list->finish_ns[i];
        }
    }
    *cost_out = ready_ns + time_ns + toll;
    return ready_ns + time_ns;
}

/* Copies of @spot's machine that are in use, and one more if the site has it. */
static uint32_t copies_of(const struct list *list, struct spot spot)
{
    uint32_t copies = 0;
    for (uint32_t i = 0; i < list->graph->vertex_count; i++) {
        if (list->finish_ns[i] >= 0 && list->units[i].site == spot.site &&
            list->units[i].copy >= copies) {
            copies = list->units[i].copy + 1U;
        }
    }
    const double size = list->congestion->sites->sites[spot.site].size;
    return copies == 0 || copies + 1.0 <= size ? copies + 1 : copies;
}

static bool place(struct list *list, uint32_t unit, const struct spot *spots, uint32_t count)
{
    double best = (double)INFINITY;
    double best_end_ns = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t copies = copies_of(list, spots[i]);
        for (uint32_t copy = 0; copy < copies; copy++) {
            const struct spot spot = {spots[i].site, (uint16_t)copy, spots[i].slot};
            double cost;
            const double end_ns = end_on(list, unit, spot, &cost);
            if (cost < best) { /* Strict: the first wins a tie. */
                best = cost;
                best_end_ns = end_ns;
                list->units[unit] = spot;
            }
        }
    }
    list->finish_ns[unit] = best_end_ns;
    return !isinf(best);
}

bool response_list_solve(
    const struct congestion *congestion, const struct stream *stream, const struct spot *spots,
    uint32_t count, struct spot *units_out)
{
    const struct digraph *graph = stream->units->graph;
    struct list list = {
        .congestion = congestion, .stream = stream, .graph = graph, .units = units_out};
    list.ranks = memory_zeroed(graph->vertex_count, sizeof(*list.ranks));
    list.finish_ns = memory_zeroed(graph->vertex_count, sizeof(*list.finish_ns));
    bool is_placed = true;
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        list.finish_ns[i] = -1;
    }
    rank_units(&list);
    for (uint32_t i = 0; i < graph->vertex_count && is_placed; i++) {
        is_placed = place(&list, next_unit(&list), spots, count);
    }
    free(list.ranks);
    free(list.finish_ns);
    return is_placed;
}
