#include "mixture/response.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "mixture/congestion.h"
#include "mixture/mean_length.h"
#include "mixture/sites.h"
#include "mixture/workload.h"
#include "model/contract.h"
#include "model/digraph.h"
#include "model/workflow.h"
#include "queueing/toll.h"

#define SITE_MIN 0.5 /* Smaller sites are about to vanish. */

enum {
    SWEEPS_MAX = 8,

    /* In all placements: 5,000 placements of 20 tasks, more than they need. */
    TASKS_LOOKED_AT_MAX = 100000,
};

/* Spots that may be worth trying, cheapest first. */
struct spots {
    uint32_t count;
    struct spot items[RESPONSE_SPOTS_MAX];
    double costs[RESPONSE_SPOTS_MAX];
};

void response_init(struct response *response, const struct congestion *congestion)
{
    *response = (struct response){.congestion = congestion};
    patterns_init(&response->trial);
}

void response_deinit(struct response *response)
{
    patterns_deinit(&response->trial);
    free(response->tried);
    free(response->best);
    free(response->tasks);
}

static const struct stream *stream_at(const struct response *response, uint32_t stream)
{
    return &response->congestion->workload->streams[stream];
}

static void reserve(struct response *response, uint32_t task_count)
{
    if (task_count <= response->unit_capacity) {
        return;
    }
    free(response->tried);
    free(response->best);
    free(response->tasks);
    response->tried = memory_zeroed(task_count, sizeof(struct spot));
    response->best = memory_zeroed(task_count, sizeof(struct spot));
    response->tasks = memory_zeroed(task_count, sizeof(struct spot));
    response->unit_capacity = task_count;
}

double response_cost(struct response *response, uint32_t number, const struct spot *tasks)
{
    const struct congestion *congestion = response->congestion;
    struct patterns *trial = &response->trial;
    const struct pattern_of of = {
        .sites = congestion->sites,
        .stream = stream_at(response, number),
        .number = number,
        .requeue = congestion->workload->requeue,
    };
    patterns_clear(trial);
    response->evaluations++;
    if (patterns_add(trial, &of, tasks) == UINT32_MAX) {
        return (double)INFINITY;
    }
    double starts[PATTERN_STEPS_MAX];
    double cost_ns = congestion->workload->plain_joins
                         ? pattern_length(trial, 0, congestion->prices, starts, NULL)
                         : mean_length(congestion, trial, 0);
    for (uint32_t i = 0; i < trial->demand_count; i++) {
        const struct demand *demand = &trial->demands[i];
        cost_ns += toll_of(
            &congestion->tolls[demand->queue], demand->work_ns, demand->ahead_ns, demand->second);
    }
    return cost_ns;
}

static double cost_of_units(struct response *response, uint32_t number, const struct spot *units)
{
    const struct stream *stream = stream_at(response, number);
    for (uint32_t i = 0; i < stream->workflow->task_count; i++) {
        response->tasks[i] = units[stream->units->group_of[i]];
    }
    return response_cost(response, number, response->tasks);
}

/* Insert by cost; the most expensive one falls out of a full list. */
static void insert(struct spots *spots, struct spot spot, double cost)
{
    if (spots->count == RESPONSE_SPOTS_MAX && cost >= spots->costs[spots->count - 1]) {
        return;
    }
    uint32_t at = spots->count < RESPONSE_SPOTS_MAX ? spots->count++ : spots->count - 1;
    while (at > 0 && spots->costs[at - 1] > cost) {
        spots->items[at] = spots->items[at - 1];
        spots->costs[at] = spots->costs[at - 1];
        at--;
    }
    spots->items[at] = spot;
    spots->costs[at] = cost;
}

/* Everything on one worker, for each worker of each site. */
static void list_single(struct response *response, uint32_t number, struct spots *spots_out)
{
    const struct sites *sites = response->congestion->sites;
    const struct stream *stream = stream_at(response, number);
    const uint32_t unit_count = stream->units->graph->vertex_count;
    spots_out->count = 0;
    for (uint32_t site = 0; site < sites->site_count; site++) {
        if (sites->sites[site].size < SITE_MIN) {
            continue; /* Queues of a part of a machine look short. */
        }
        for (uint32_t slot = 0; slot < sites->sites[site].slot_count; slot++) {
            const struct spot spot = {.site = (uint16_t)site, .slot = (uint16_t)slot};
            for (uint32_t i = 0; i < unit_count; i++) {
                response->tried[i] = spot;
            }
            const double cost = cost_of_units(response, number, response->tried);
            const uint32_t queue = sites->sites[site].worker_first + slot;
            /* Where not all can run, some may: they come last, by the wait there. */
            insert(
                spots_out, spot, isinf(cost) ? 1e30 + response->congestion->prices[queue] : cost);
        }
    }
}

/* Whether a site can have one machine more than the @units use there, and its number. */
static bool fresh_copy(
    const struct sites *sites, const struct spot *units, uint32_t count, struct spot *spot)
{
    uint32_t copies = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (units[i].site == spot->site && units[i].copy >= copies) {
            copies = units[i].copy + 1U;
        }
    }
    spot->copy = (uint16_t)copies;
    return copies == 0 || (double)copies + 1 <= sites->sites[spot->site].size;
}

/*
 * Move all units on @from, or only unit @only if there is one, to @to, if that lowers the
 * cost. The units are those of response->best, and change with it.
 */
static bool try_move(
    struct response *response, uint32_t number, uint32_t only, struct spot from, struct spot to,
    double *cost)
{
    const uint32_t count = stream_at(response, number)->units->graph->vertex_count;
    bool changes = false;
    for (uint32_t i = 0; i < count; i++) {
        const bool moves = only == UINT32_MAX ? spot_equal(response->best[i], from) : i == only;
        response->tried[i] = moves ? to : response->best[i];
        changes = changes || !spot_equal(response->tried[i], response->best[i]);
    }
    if (!changes) {
        return false;
    }
    const double moved = cost_of_units(response, number, response->tried);
    if (!(moved < *cost * (1 - 1e-12))) {
        return false;
    }
    *cost = moved;
    memcpy(response->best, response->tried, count * sizeof(*response->best));
    return true;
}

/* Unit @unit, or its whole worker, to each other worker that is in use or on the list. */
static bool improve_unit(
    struct response *response, uint32_t number, uint32_t unit, const struct spots *spots,
    double *cost)
{
    const struct sites *sites = response->congestion->sites;
    const uint32_t count = stream_at(response, number)->units->graph->vertex_count;
    bool improved = false;
    for (uint32_t i = 0; i < count; i++) {
        const struct spot used = response->best[i];
        bool is_first = true;
        for (uint32_t k = 0; k < i; k++) {
            is_first = is_first && !spot_equal(response->best[k], used);
        }
        if (is_first) {
            improved |= try_move(response, number, unit, response->best[unit], used, cost);
        }
        for (uint32_t slot = 0; is_first && slot < sites->sites[used.site].slot_count; slot++) {
            const struct spot beside = {used.site, used.copy, (uint16_t)slot};
            improved |= try_move(response, number, unit, response->best[unit], beside, cost);
        }
    }
    for (uint32_t i = 0; i < spots->count; i++) {
        struct spot spot = spots->items[i];
        if (fresh_copy(sites, response->best, count, &spot)) {
            improved |= try_move(response, number, unit, response->best[unit], spot, cost);
        }
        spot = spots->items[i];
        if (fresh_copy(sites, response->best, count, &spot)) {
            improved |= try_move(response, number, UINT32_MAX, response->best[unit], spot, cost);
        }
    }
    return improved;
}

/* Number the copies of each site as they come: moves may have left gaps. */
static void renumber(struct spot *units, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint16_t lower = 0; /* Copies of the site that came before this one. */
        bool is_known = false;
        for (uint32_t k = 0; k < i && !is_known; k++) {
            is_known = spot_same_machine(units[k], units[i]);
            if (units[k].site == units[i].site && units[k].copy >= lower) {
                lower = (uint16_t)(units[k].copy + 1);
            }
        }
        const uint16_t copy = units[i].copy;
        for (uint32_t k = i; k < count && !is_known && copy != lower; k++) {
            if (units[k].site != units[i].site || k == i) {
                continue;
            }
            if (units[k].copy == copy) {
                units[k].copy = lower;
            } else if (units[k].copy == lower) {
                units[k].copy = copy;
            }
        }
        units[i].copy = is_known ? copy : lower;
    }
}

/*
 * Move single units and whole workers until nothing helps, or for as long as large workflows
 * may take. The start is response->best.
 */
static double improve(
    struct response *response, uint32_t number, const struct spots *spots, double cost)
{
    const struct stream *stream = stream_at(response, number);
    const uint32_t count = stream->units->graph->vertex_count;
    const uint64_t last =
        response->evaluations + TASKS_LOOKED_AT_MAX / stream->workflow->task_count;
    bool improved = true;
    for (uint32_t sweep = 0; sweep < SWEEPS_MAX && improved && count > 1; sweep++) {
        improved = false;
        for (uint32_t unit = 0; unit < count && response->evaluations < last; unit++) {
            improved |= improve_unit(response, number, unit, spots, &cost);
            renumber(response->best, count);
        }
    }
    return cost;
}

static bool can_run(const struct response *response, uint32_t number, uint32_t unit, struct spot at)
{
    const struct stream *stream = stream_at(response, number);
    const struct contraction *units = stream->units;
    const uint32_t device = sites_device(response->congestion->sites, at.site, at.slot);
    bool can = true;
    for (uint32_t i = units->member_first[unit]; i < units->member_first[unit + 1] && can; i++) {
        can = stream_time(stream, units->members[i], device)->mean_ns >= 0;
    }
    return can;
}

/*
 * Put a placement to begin with into response->best: each unit stays with its first producer, or
 * else goes to the cheapest worker, that can run it. False if a unit can run nowhere.
 */
static bool begin(struct response *response, uint32_t number, const struct spots *singles)
{
    const struct digraph *graph = stream_at(response, number)->units->graph;
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        const uint32_t unit = graph->order[i];
        if (graph->vertices[unit].in_count > 0) {
            response->best[unit] = response->best[digraph_in(graph, unit, 0)->from];
            if (can_run(response, number, unit, response->best[unit])) {
                continue;
            }
        }
        uint32_t at = 0;
        while (at < singles->count && !can_run(response, number, unit, singles->items[at])) {
            at++;
        }
        if (at == singles->count) {
            return false;
        }
        response->best[unit] = singles->items[at];
    }
    return true;
}

/* Each unit of response->best that can be to a machine of its own, the cheapest first. */
static void scatter(struct response *response, uint32_t number, const struct spots *singles)
{
    const struct sites *sites = response->congestion->sites;
    const uint32_t count = stream_at(response, number)->units->graph->vertex_count;
    for (uint32_t unit = 1; unit < count; unit++) {
        bool moved = false;
        for (uint32_t i = 0; i < singles->count && !moved; i++) {
            struct spot spot = singles->items[i];
            moved = fresh_copy(sites, response->best, count, &spot) &&
                    can_run(response, number, unit, spot);
            response->best[unit] = moved ? spot : response->best[unit];
        }
    }
    renumber(response->best, count);
}

double response_find(
    struct response *response, uint32_t number, enum response_start start, struct spot *tasks_out)
{
    const struct stream *stream = stream_at(response, number);
    const uint32_t task_count = stream->workflow->task_count;
    struct spots singles;
    reserve(response, task_count);
    list_single(response, number, &singles);
    if (!begin(response, number, &singles)) {
        return (double)INFINITY;
    }
    if (start == RESPONSE_APART) {
        scatter(response, number, &singles);
    }
    const double cost = cost_of_units(response, number, response->best);
    const double best = improve(response, number, &singles, cost);
    for (uint32_t i = 0; i < task_count; i++) {
        tasks_out[i] = response->best[stream->units->group_of[i]];
    }
    return best;
}
