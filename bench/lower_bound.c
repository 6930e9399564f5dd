#include "lower_bound.h"

#ifdef WITH_CLP

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <Clp_C_Interface.h>

#include "base/memory.h"
#include "mixture/pattern.h"
#include "mixture/program.h"
#include "mixture/sites.h"
#include "mixture/workload.h"
#include "model/contract.h"
#include "model/digraph.h"
#include "model/workflow.h"

enum { PLACEMENTS_MAX = 50000, UNITS_MAX = 16 };

/* The program while it is being built, by columns. */
struct bound {
    const struct workload *workload;
    const struct sites *sites;
    const struct stream *stream;
    uint32_t number; /* Of the stream, */
    int row;         /* and its row. */
    int row_count;
    Clp_Simplex *model;
    double *work; /* By queue: of the column at hand. */
    struct spot spots[UNITS_MAX];
    double head_ns[UNITS_MAX];
    double tail_ns[UNITS_MAX];
    uint32_t placements;
};

bool lower_bound_is_there(void)
{
    return true;
}

static double unit_time(const struct bound *bound, uint32_t unit, struct spot spot)
{
    const struct contraction *units = bound->stream->units;
    const uint32_t device = sites_device(bound->sites, spot.site, spot.slot);
    double sum_ns = 0;
    for (uint32_t i = units->member_first[unit]; i < units->member_first[unit + 1]; i++) {
        const double mean_ns = stream_time(bound->stream, units->members[i], device)->mean_ns;
        sum_ns = mean_ns < 0 ? (double)INFINITY : sum_ns + mean_ns;
    }
    return sum_ns;
}

/* What an edge takes between the spots of its ends; if @adds, its work is counted. */
static double edge_time(struct bound *bound, const struct digraph_edge *edge, bool adds)
{
    const struct spot from = bound->spots[edge->from];
    const struct spot to = bound->spots[edge->to];
    struct crossing crossing;
    double longest_ns = 0;
    if (spot_same_machine(from, to)) {
        return 0;
    }
    sites_cross(bound->sites, from.site, to.site, &crossing);
    for (uint32_t i = 0; i < crossing.count; i++) {
        const double wire_ns =
            (double)edge->bytes / bound->sites->queues[crossing.queues[i]].bytes_per_ns;
        longest_ns = wire_ns > longest_ns ? wire_ns : longest_ns;
        bound->work[crossing.queues[i]] += adds ? wire_ns : 0;
    }
    return bound->sites->latency_ns + longest_ns;
}

/*
 * The least time of the placement at hand: the longest way, or what one worker has to do
 * between the earliest it can begin and the least that comes after. Counts the work, too.
 */
static double placed_time(struct bound *bound)
{
    const struct digraph *graph = bound->stream->units->graph;
    const uint32_t count = graph->vertex_count;
    double longest_ns = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t unit = graph->order[i];
        bound->head_ns[unit] = 0;
        for (uint32_t k = 0; k < graph->vertices[unit].in_count; k++) {
            const struct digraph_edge *edge = digraph_in(graph, unit, k);
            const double at_ns = bound->head_ns[edge->from] +
                                 unit_time(bound, edge->from, bound->spots[edge->from]) +
                                 edge_time(bound, edge, true);
            bound->head_ns[unit] = at_ns > bound->head_ns[unit] ? at_ns : bound->head_ns[unit];
        }
    }
    for (uint32_t i = count; i-- > 0;) {
        const uint32_t unit = graph->order[i];
        const double time_ns = unit_time(bound, unit, bound->spots[unit]);
        bound->tail_ns[unit] = 0;
        for (uint32_t k = 0; k < graph->vertices[unit].out_count; k++) {
            const struct digraph_edge *edge = digraph_out(graph, unit, k);
            const double after_ns = bound->tail_ns[edge->to] +
                                    unit_time(bound, edge->to, bound->spots[edge->to]) +
                                    edge_time(bound, edge, false);
            bound->tail_ns[unit] =
                after_ns > bound->tail_ns[unit] ? after_ns : bound->tail_ns[unit];
        }
        const double way_ns = bound->head_ns[unit] + time_ns + bound->tail_ns[unit];
        longest_ns = way_ns > longest_ns ? way_ns : longest_ns;
        const struct spot spot = bound->spots[unit];
        bound->work[bound->sites->sites[spot.site].worker_first + spot.slot] += time_ns;
    }
    for (uint32_t i = 0; i < count; i++) {
        double head_ns = (double)INFINITY;
        double tail_ns = (double)INFINITY;
        double sum_ns = 0;
        for (uint32_t k = 0; k < count; k++) {
            if (spot_equal(bound->spots[i], bound->spots[k])) {
                head_ns = bound->head_ns[k] < head_ns ? bound->head_ns[k] : head_ns;
                tail_ns = bound->tail_ns[k] < tail_ns ? bound->tail_ns[k] : tail_ns;
                sum_ns += unit_time(bound, k, bound->spots[k]);
            }
        }
        const double all_ns = head_ns + sum_ns + tail_ns;
        longest_ns = all_ns > longest_ns ? all_ns : longest_ns;
    }
    return longest_ns;
}

/* A column with @work, in @row beside the queues, that costs @cost. */
static void add_column(struct bound *bound, int row, double cost)
{
    const uint32_t queue_count = bound->sites->queue_count;
    int *rows = memory_zeroed(queue_count + 1, sizeof(*rows));
    double *values = memory_zeroed(queue_count + 1, sizeof(*values));
    int starts[2] = {0, 0};
    for (uint32_t i = 0; i < queue_count; i++) {
        if (bound->work[i] > 0) {
            rows[starts[1]] = (int)i;
            values[starts[1]++] = bound->stream->rate * bound->work[i];
        }
    }
    rows[starts[1]] = row;
    values[starts[1]++] = 1;
    const double low = 0;
    const double high = 1;
    Clp_addColumns(bound->model, 1, &low, &high, &cost, starts, rows, values);
    free(rows);
    free(values);
}

static void clear_work(struct bound *bound)
{
    memset(bound->work, 0, bound->sites->queue_count * sizeof(*bound->work));
}

/* All ways to spot units from @unit on. False if there are too many. */
static bool list_placements(struct bound *bound, uint32_t unit)
{
    const struct sites *sites = bound->sites;
    const double weight = bound->stream->rate / bound->workload->rate;
    if (unit == bound->stream->units->graph->vertex_count) {
        clear_work(bound);
        add_column(bound, bound->row, weight * placed_time(bound));
        bound->placements++;
        return bound->placements <= PLACEMENTS_MAX;
    }
    for (uint32_t site = 0; site < sites->site_count; site++) {
        uint32_t copies = 0;
        for (uint32_t i = 0; i < unit; i++) {
            const struct spot spot = bound->spots[i];
            copies = spot.site == site && spot.copy >= copies ? spot.copy + 1U : copies;
        }
        for (uint32_t copy = 0; copy <= copies && copy < sites->sites[site].size; copy++) {
            for (uint32_t slot = 0; slot < sites->sites[site].slot_count; slot++) {
                const struct spot spot = {(uint16_t)site, (uint16_t)copy, (uint16_t)slot};
                bound->spots[unit] = spot;
                if (!isinf(unit_time(bound, unit, spot)) && !list_placements(bound, unit + 1)) {
                    return false;
                }
            }
        }
    }
    return true;
}

static double count_placements(const struct bound *bound)
{
    const uint32_t units = bound->stream->units->graph->vertex_count;
    double spots = 0;
    double ways = 1;
    for (uint32_t i = 0; i < bound->sites->site_count; i++) {
        spots += bound->sites->sites[i].slot_count;
    }
    for (uint32_t i = 0; i < units; i++) {
        ways *= spots * (i + 1); /* At most: an old copy, or a new one. */
    }
    return units > UNITS_MAX ? (double)INFINITY : ways;
}

/* Every task wherever it likes, and the critical path on the fastest devices. */
static void relax(struct bound *bound)
{
    const struct workflow *workflow = bound->stream->workflow;
    const double one = 1;
    double *end_ns = memory_zeroed(workflow->task_count, sizeof(*end_ns));
    double longest_ns = 0;
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        const uint32_t task = workflow->order[i];
        double fastest_ns = (double)INFINITY;
        const int starts[2] = {0, 0};
        Clp_addRows(bound->model, 1, &one, &one, starts, NULL, NULL);
        const int row = bound->row_count++;
        for (uint32_t queue = 0; queue < bound->sites->queue_count; queue++) {
            const struct queue_site *at = &bound->sites->queues[queue];
            if (at->bytes_per_ns > 0) {
                continue;
            }
            const uint32_t device = sites_device(bound->sites, at->site, at->slot);
            const double mean_ns = stream_time(bound->stream, task, device)->mean_ns;
            if (mean_ns >= 0) {
                fastest_ns = mean_ns < fastest_ns ? mean_ns : fastest_ns;
                clear_work(bound);
                bound->work[queue] = mean_ns;
                add_column(bound, row, 0);
            }
        }
        for (uint32_t k = 0; k < workflow->tasks[task].in_count; k++) {
            const double before_ns = end_ns[workflow_in(workflow, task, k)->from];
            end_ns[task] = before_ns > end_ns[task] ? before_ns : end_ns[task];
        }
        end_ns[task] += fastest_ns;
        longest_ns = end_ns[task] > longest_ns ? end_ns[task] : longest_ns;
    }
    clear_work(bound);
    add_column(bound, bound->row, bound->stream->rate / bound->workload->rate * longest_ns);
    free(end_ns);
}

/* A row a queue, no more work than time is left; a row a stream, all of its jobs. */
static void add_rows(struct bound *bound)
{
    const struct sites *sites = bound->sites;
    const int starts[2] = {0, 0};
    for (uint32_t i = 0; i < sites->queue_count; i++) {
        const double left = 1 - sites->queues[i].load;
        const double low = 0;
        const double high = (left > 0 ? left : 0) * sites->queues[i].copies;
        Clp_addRows(bound->model, 1, &low, &high, starts, NULL, NULL);
    }
    for (uint32_t i = 0; i < bound->workload->stream_count; i++) {
        const double one = 1;
        Clp_addRows(bound->model, 1, &one, &one, starts, NULL, NULL);
    }
    bound->row_count = (int)(sites->queue_count + bound->workload->stream_count);
}

bool lower_bound_find(const struct program_input *input, struct lower_bound *bound_out)
{
    struct workload *workload;
    const struct sites_options options = {0};
    if (workload_create(input, /* items */ 1, &workload, NULL) != WEFT_OK) {
        return false;
    }
    struct sites *sites = sites_create(input->fleet, &options);
    struct bound bound = {.workload = workload, .sites = sites, .model = Clp_newModel()};
    bound.work = memory_zeroed(sites->queue_count, sizeof(*bound.work));
    *bound_out = (struct lower_bound){0};
    Clp_setLogLevel(bound.model, 0);
    add_rows(&bound);
    for (uint32_t i = 0; i < workload->stream_count; i++) {
        bound.stream = &workload->streams[i];
        bound.number = i;
        bound.row = (int)(sites->queue_count + i);
        if (count_placements(&bound) <= PLACEMENTS_MAX && list_placements(&bound, 0)) {
            bound_out->listed++;
        } else {
            relax(&bound);
            bound_out->relaxed++;
        }
    }
    (void)Clp_initialSolve(bound.model);
    bound_out->placements = bound.placements;
    bound_out->mean_ns =
        Clp_status(bound.model) == 0 ? Clp_objectiveValue(bound.model) : (double)INFINITY;
    Clp_deleteModel(bound.model);
    free(bound.work);
    sites_destroy(sites);
    workload_destroy(workload);
    return true;
}

#else

bool lower_bound_is_there(void)
{
    return false;
}

bool lower_bound_find(const struct program_input *input, struct lower_bound *bound_out)
{
    (void)input;
    (void)bound_out;
    return false;
}

#endif /* WITH_CLP */
