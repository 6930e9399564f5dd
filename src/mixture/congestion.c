#include "mixture/congestion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mixture/pattern.h"
#include "mixture/sites.h"
#include "mixture/workload.h"
#include "model/workflow.h"
#include "queueing/toll.h"
#include "queueing/waiting.h"

void congestion_init(
    struct congestion *congestion, const struct workload *workload, const struct sites *sites,
    const struct patterns *patterns)
{
    const uint32_t count = sites->queue_count;
    *congestion =
        (struct congestion){.workload = workload, .sites = sites, .patterns = patterns, .scale = 1};
    congestion->loads = memory_zeroed(count, sizeof(double));
    congestion->aheads = memory_zeroed(count, sizeof(double));
    congestion->residuals_ns = memory_zeroed(count, sizeof(double));
    congestion->prices = memory_zeroed(2 * (size_t)count, sizeof(double));
    congestion->waiters = memory_zeroed(2 * (size_t)count, sizeof(double));
    congestion->tolls = memory_zeroed(count, sizeof(*congestion->tolls));
}

void congestion_deinit(struct congestion *congestion)
{
    free(congestion->loads);
    free(congestion->aheads);
    free(congestion->residuals_ns);
    free(congestion->prices);
    free(congestion->waiters);
    free(congestion->tolls);
    free(congestion->lengths_ns);
    free(congestion->slopes);
    free(congestion->extras_ns);
    free(congestion->flows);
}

/* Room for all patterns there are by now. */
static void follow(struct congestion *congestion)
{
    const uint32_t from = congestion->capacity;
    const uint32_t to = 2 * congestion->patterns->count;
    if (congestion->patterns->count <= from) {
        return;
    }
    congestion->lengths_ns = memory_zeroed_more(congestion->lengths_ns, from, to, sizeof(double));
    congestion->slopes = memory_zeroed_more(congestion->slopes, from, to, sizeof(double));
    congestion->extras_ns = memory_zeroed_more(congestion->extras_ns, from, to, sizeof(double));
    congestion->flows = memory_zeroed_more(congestion->flows, from, to, sizeof(double));
    congestion->capacity = to;
}

static void sum_loads(struct congestion *congestion, const double *shares)
{
    const struct patterns *patterns = congestion->patterns;
    const struct sites *sites = congestion->sites;
    for (uint32_t i = 0; i < sites->queue_count; i++) {
        congestion->loads[i] = 0;
        congestion->aheads[i] = 0;
        congestion->residuals_ns[i] = 0;
    }
    for (uint32_t i = 0; i < patterns->count; i++) {
        const struct pattern *pattern = &patterns->items[i];
        const struct demand *demands = patterns->demands + pattern->demand_first;
        const double flow =
            congestion->workload->streams[pattern->stream].rate * congestion->scale * shares[i];
        congestion->flows[i] = flow;
        for (uint32_t k = 0; k < pattern->demand_count && flow > 0; k++) {
            congestion->loads[demands[k].queue] += flow * demands[k].work_ns;
            congestion->aheads[demands[k].queue] += flow * demands[k].ahead_ns;
            congestion->residuals_ns[demands[k].queue] += flow * demands[k].second;
        }
    }
    for (uint32_t i = 0; i < sites->queue_count; i++) {
        const struct queue_site *queue = &sites->queues[i];
        congestion->loads[i] = queue->load + congestion->loads[i] / queue->copies;
        congestion->aheads[i] /= queue->copies;
        congestion->residuals_ns[i] =
            queue->residual_ns + congestion->residuals_ns[i] / queue->copies;
    }
}

/* False if a queue has no end. */
static bool set_prices(struct congestion *congestion)
{
    const struct sites *sites = congestion->sites;
    for (uint32_t i = 0; i < sites->queue_count; i++) {
        const double load = congestion->loads[i];
        const double residual_ns = congestion->residuals_ns[i];
        const double ahead = congestion->aheads[i];
        if (load >= 1) {
            return false;
        }
        congestion->prices[sites->queue_count + i] = waiting_ahead(ahead, residual_ns);
        congestion->prices[i] =
            sites->queues[i].shared ? load / (1 - load) : waiting_behind(load, ahead, residual_ns);
    }
    return true;
}

/* The longest path of pattern @index; its @flow waits at the queues on it. */
static double take_longest(struct congestion *congestion, uint32_t index, double flow)
{
    const struct patterns *patterns = congestion->patterns;
    double starts[PATTERN_STEPS_MAX];
    uint32_t via[PATTERN_STEPS_MAX];
    const double longest_ns = pattern_length(patterns, index, congestion->prices, starts, via);
    uint32_t step = flow > 0 ? patterns->items[index].step_count - 1 : STEP_NONE;
    while (step != STEP_NONE) {
        const struct arc *arc = &patterns->arcs[via[step]];
        for (uint32_t i = 0; i < arc->wait_count; i++) {
            const struct wait_term *wait = &patterns->waits[arc->wait_first + i];
            congestion->waiters[wait->price] += flow * wait->weight;
        }
        step = arc->from;
    }
    return longest_ns;
}

/* What requests wait on their way up from the machines that they reached: see sites.h. */
static double add_ingress(struct congestion *congestion)
{
    const struct sites *sites = congestion->sites;
    double sum_ns = 0;
    for (uint32_t i = 0; i < sites->site_count; i++) {
        const uint32_t up = sites->sites[i].up;
        if (up != QUEUE_NONE) {
            const double waiting =
                congestion->scale * sites->sites[i].size *
                (sites->queues[up].shared ? sites->ingress_work : sites->ingress_rate);
            congestion->waiters[up] += waiting;
            sum_ns += waiting * congestion->prices[up];
        }
    }
    return sum_ns;
}

double congestion_evaluate(struct congestion *congestion, const double *shares)
{
    const struct patterns *patterns = congestion->patterns;
    follow(congestion);
    sum_loads(congestion, shares);
    congestion->mean_ns = (double)INFINITY;
    if (!set_prices(congestion)) {
        return congestion->mean_ns;
    }
    const size_t price_bytes = 2 * (size_t)congestion->sites->queue_count * sizeof(double);
    memset(congestion->waiters, 0, price_bytes);
    double sum_ns = add_ingress(congestion);
    for (uint32_t i = 0; i < patterns->count; i++) {
        const double flow = congestion->flows[i];
        const double length_ns = congestion->extras_ns[i] + take_longest(congestion, i, flow);
        congestion->lengths_ns[i] = length_ns;
        sum_ns += flow * length_ns;
    }
    congestion->evaluations += patterns->count;
    congestion->mean_ns = sum_ns / (congestion->workload->rate * congestion->scale);
    return congestion->mean_ns;
}

/* What all that use queue @index pay for a nanosecond more of work, ahead, and of its square. */
static struct toll toll_per_copy(const struct congestion *congestion, uint32_t index)
{
    const uint32_t queue_count = congestion->sites->queue_count;
    const double load = congestion->loads[index];
    const double room = 1 - load;
    if (congestion->sites->queues[index].shared) {
        return (struct toll){.work = congestion->waiters[index] / (room * room)};
    }
    const struct toll_waiters waiters = {
        .behind = congestion->waiters[index],
        .ahead = congestion->waiters[queue_count + index],
    };
    return toll_at(load, congestion->aheads[index], congestion->residuals_ns[index], waiters);
}

void congestion_slopes(struct congestion *congestion)
{
    const struct patterns *patterns = congestion->patterns;
    const struct sites *sites = congestion->sites;
    for (uint32_t i = 0; i < sites->queue_count; i++) {
        const struct toll toll = toll_per_copy(congestion, i);
        const double copies = sites->queues[i].copies;
        congestion->tolls[i] = (struct toll){
            .work = toll.work / copies,
            .second = toll.second / copies,
            .ahead = toll.ahead / copies,
        };
    }
    for (uint32_t i = 0; i < patterns->count; i++) {
        const struct pattern *pattern = &patterns->items[i];
        const struct demand *demands = patterns->demands + pattern->demand_first;
        double slope = congestion->lengths_ns[i];
        for (uint32_t k = 0; k < pattern->demand_count; k++) {
            slope += toll_of(
                &congestion->tolls[demands[k].queue], demands[k].work_ns, demands[k].ahead_ns,
                demands[k].second);
        }
        congestion->slopes[i] = slope;
    }
}

double congestion_size_slope(const struct congestion *congestion, uint32_t number)
{
    const struct sites *sites = congestion->sites;
    const struct site *site = &sites->sites[number];
    double sum = 0;
    for (uint32_t i = 0; i < sites->queue_count; i++) {
        const struct queue_site *queue = &sites->queues[i];
        if (queue->site != number) {
            continue;
        }
        const struct toll toll = toll_per_copy(congestion, i);
        const double own_load = congestion->loads[i] - queue->load;
        const double own_residual_ns = congestion->residuals_ns[i] - queue->residual_ns;
        sum -= toll_of(&toll, own_load, congestion->aheads[i], own_residual_ns);
    }
    if (site->up != QUEUE_NONE) { /* More machines, more requests that reach them. */
        sum += congestion->scale * congestion->prices[site->up] * site->size *
               (sites->queues[site->up].shared ? sites->ingress_work : sites->ingress_rate);
    }
    return sum / site->size / (congestion->workload->rate * congestion->scale);
}

uint32_t congestion_busiest(const struct congestion *congestion)
{
    uint32_t busiest = 0;
    for (uint32_t i = 1; i < congestion->sites->queue_count; i++) {
        if (congestion->loads[i] > congestion->loads[busiest]) {
            busiest = i;
        }
    }
    return busiest;
}
