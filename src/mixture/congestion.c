#include "mixture/congestion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mixture/blur.h"
#include "mixture/pattern.h"
#include "mixture/sites.h"
#include "mixture/workload.h"
#include "model/workflow.h"
#include "queueing/toll.h"
#include "queueing/waiting.h"

/* What all jobs ask of a queue: side by side, because all of it is added to at once. */
struct asked {
    double work;
    double ahead;
    double second_ns;
    double unused; /* Two to a cache line. */
};

/* The wait where others leave no room: longer than anything that can be planned. */
#define PRICE_FULL_NS 1e30

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
    congestion->visits = memory_zeroed(2 * (size_t)count, sizeof(double));
    congestion->tolls = memory_zeroed(count, sizeof(*congestion->tolls));
    congestion->asked = memory_zeroed(count, sizeof(*congestion->asked));
}

void congestion_deinit(struct congestion *congestion)
{
    free(congestion->loads);
    free(congestion->aheads);
    free(congestion->residuals_ns);
    free(congestion->prices);
    free(congestion->visits);
    free(congestion->tolls);
    free(congestion->asked);
    free(congestion->lengths_ns);
    free(congestion->slopes);
    free(congestion->extras_ns);
    free(congestion->flows);
    free(congestion->starts);
    free(congestion->via);
    ways_deinit(&congestion->ways);
}

void congestion_forget(struct congestion *congestion)
{
    ways_clear(&congestion->ways);
}

/* Room for all patterns there are by now. */
static void follow(struct congestion *congestion)
{
    const struct patterns *patterns = congestion->patterns;
    if (patterns->count > congestion->capacity) {
        const uint32_t from = congestion->capacity;
        const uint32_t to = 2 * patterns->count;
        congestion->lengths_ns =
            memory_zeroed_more(congestion->lengths_ns, from, to, sizeof(double));
        congestion->slopes = memory_zeroed_more(congestion->slopes, from, to, sizeof(double));
        congestion->extras_ns = memory_zeroed_more(congestion->extras_ns, from, to, sizeof(double));
        congestion->flows = memory_zeroed_more(congestion->flows, from, to, sizeof(double));
        congestion->capacity = to;
    }
    ways_follow(&congestion->ways, patterns);
    if (patterns->step_count_max > congestion->scratch_capacity) {
        free(congestion->starts);
        free(congestion->via);
        congestion->scratch_capacity = 2 * patterns->step_count_max;
        congestion->starts = memory_zeroed(congestion->scratch_capacity, sizeof(double));
        congestion->via = memory_zeroed(congestion->scratch_capacity, sizeof(uint32_t));
    }
}

static void sum_loads(struct congestion *congestion, const double *shares)
{
    const struct patterns *patterns = congestion->patterns;
    const struct sites *sites = congestion->sites;
    struct asked *asked = congestion->asked;
    memset(asked, 0, sites->queue_count * sizeof(*asked));
    for (uint32_t i = 0; i < patterns->count; i++) {
        const struct pattern *pattern = &patterns->items[i];
        const struct demand *demands = patterns->demands + pattern->demand_first;
        const double flow =
            congestion->workload->streams[pattern->stream].rate * congestion->scale * shares[i];
        congestion->flows[i] = flow;
        for (uint32_t k = 0; k < pattern->demand_count && flow > 0; k++) {
            struct asked *sum = &asked[demands[k].queue];
            sum->work += flow * demands[k].work_ns;
            sum->ahead += flow * demands[k].ahead_ns;
            sum->second_ns += flow * demands[k].second;
        }
    }
    for (uint32_t i = 0; i < sites->queue_count; i++) {
        const struct queue_site *queue = &sites->queues[i];
        congestion->loads[i] = queue->load + asked[i].work / queue->copies;
        congestion->aheads[i] = asked[i].ahead / queue->copies;
        congestion->residuals_ns[i] = queue->residual_ns + asked[i].second_ns / queue->copies;
    }
}

/* False if a queue that is used has no end. One that others fill is only to be avoided. */
static bool set_prices(struct congestion *congestion)
{
    const struct sites *sites = congestion->sites;
    bool is_feasible = true;
    for (uint32_t i = 0; i < sites->queue_count; i++) {
        const double load = congestion->loads[i];
        const double residual_ns = congestion->residuals_ns[i];
        const double ahead = congestion->aheads[i];
        if (load < 1) {
            congestion->prices[sites->queue_count + i] = waiting_ahead(ahead, residual_ns);
            congestion->prices[i] = sites->queues[i].shared
                                        ? load / (1 - load)
                                        : waiting_behind(load, ahead, residual_ns);
        } else {
            congestion->prices[sites->queue_count + i] = PRICE_FULL_NS;
            congestion->prices[i] = PRICE_FULL_NS;
            is_feasible = is_feasible && load <= sites->queues[i].load;
        }
    }
    return is_feasible;
}

static void count_way(struct congestion *congestion, const struct written_way *way, double flow)
{
    const struct wait_term *visits = congestion->ways.visits + way->visit_first;
    for (uint32_t i = 0; i < way->visit_count; i++) {
        congestion->visits[visits[i].price] += flow * visits[i].weight;
    }
}

static double way_length(const struct congestion *congestion, const struct written_way *way)
{
    const struct wait_term *visits = congestion->ways.visits + way->visit_first;
    double length_ns = way->fixed_ns;
    for (uint32_t i = 0; i < way->visit_count; i++) {
        length_ns += visits[i].weight * congestion->prices[visits[i].price];
    }
    return length_ns;
}

/* All of the @count ways at @ways that are nearly the longest, each with its part of the flow. */
static double take_blurred(
    struct congestion *congestion, const struct written_way *ways, const double *lengths_ns,
    uint32_t count, double flow)
{
    double parts[BLUR_WAYS_MAX];
    const double length_ns = blur_longest(lengths_ns, count, congestion->blur_ns, parts);
    for (uint32_t i = 0; i < count; i++) {
        if (flow * parts[i] > 0) {
            count_way(congestion, &ways[i], flow * parts[i]);
        }
    }
    return length_ns;
}

/* The longest of the ways of pattern @index that are written out, and who is visited on it. */
static double take_longest(struct congestion *congestion, uint32_t index, double flow)
{
    const struct written_way *ways = congestion->ways.items + congestion->ways.ranges[index].first;
    const uint32_t count = congestion->ways.ranges[index].count;
    double lengths_ns[BLUR_WAYS_MAX];
    double second_ns = -1;
    uint32_t longest = 0;
    lengths_ns[0] = way_length(congestion, &ways[0]);
    for (uint32_t i = 1; i < count; i++) {
        lengths_ns[i] = way_length(congestion, &ways[i]);
        if (lengths_ns[i] > lengths_ns[longest]) { /* Strict: the first way wins a tie. */
            second_ns = lengths_ns[longest];
            longest = i;
        } else if (lengths_ns[i] > second_ns) {
            second_ns = lengths_ns[i];
        }
    }
    if (second_ns > lengths_ns[longest] - congestion->blur_ns) {
        return take_blurred(congestion, ways, lengths_ns, count, flow);
    }
    if (flow > 0) {
        count_way(congestion, &ways[longest], flow);
    }
    return lengths_ns[longest];
}

/* The same back along the graph of a pattern that has many ways. */
static double take_graph(struct congestion *congestion, uint32_t index, double flow)
{
    const double longest_ns = pattern_length(
        congestion->patterns, index, congestion->prices, congestion->starts, congestion->via);
    const struct patterns *patterns = congestion->patterns;
    const struct pattern *pattern = &patterns->items[index];
    uint32_t step = flow > 0 ? pattern->step_count - 1 : STEP_NONE;
    while (step != STEP_NONE) {
        const struct arc *arc = &patterns->arcs[congestion->via[step]];
        for (uint32_t v = 0; v < arc->visit_count; v++) {
            const struct wait_term *visit = &patterns->visits[arc->visit_first + v];
            congestion->visits[visit->price] += flow * visit->weight;
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
            const double visits =
                congestion->scale * sites->sites[i].size *
                (sites->queues[up].shared ? sites->ingress_work : sites->ingress_visits);
            congestion->visits[up] += visits;
            sum_ns += visits * congestion->prices[up];
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
    memset(congestion->visits, 0, price_bytes);
    double sum_ns = add_ingress(congestion);
    for (uint32_t i = 0; i < patterns->count; i++) {
        const double flow = congestion->flows[i];
        const bool is_written = congestion->ways.ranges[i].count > 0;
        const double length_ns =
            congestion->extras_ns[i] +
            (is_written ? take_longest(congestion, i, flow) : take_graph(congestion, i, flow));
        congestion->lengths_ns[i] = length_ns;
        sum_ns += flow * length_ns;
    }
    congestion->evaluations += patterns->count;
    congestion->mean_ns = sum_ns / (congestion->workload->rate * congestion->scale);
    return congestion->mean_ns;
}

/* What all visits to queue @index pay for a nanosecond more of work, ahead, and of its square. */
static struct toll toll_per_copy(const struct congestion *congestion, uint32_t index)
{
    const uint32_t queue_count = congestion->sites->queue_count;
    const double load = congestion->loads[index];
    const double room = 1 - load;
    if (congestion->sites->queues[index].shared) {
        return (struct toll){.work = congestion->visits[index] / (room * room)};
    }
    const struct toll_waiters visits = {
        .behind = congestion->visits[index],
        .ahead = congestion->visits[queue_count + index],
    };
    return toll_at(load, congestion->aheads[index], congestion->residuals_ns[index], visits);
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
               (sites->queues[site->up].shared ? sites->ingress_work : sites->ingress_visits);
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
