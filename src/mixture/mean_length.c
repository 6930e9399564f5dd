#include "mixture/mean_length.h"

#include <string.h>

#include "base/assert.h"
#include "base/exact.h"
#include "mixture/congestion.h"
#include "mixture/pattern.h"
#include "mixture/sites.h"
#include "queueing/delay.h"

/* The time up to the begin of a step: its parts, and where all ways to it have met last. */
struct reached {
    double fixed_ns;
    double wait_ns;
    double variance;
    uint32_t dominator;
    uint32_t depth;
};

/* What the wait at @price scatters by, if this @part of it is met: it is 0 where the queue is idle.
 */
static double variance_at(const struct congestion *congestion, uint32_t price, double part)
{
    const uint32_t queue_count = congestion->sites->queue_count;
    const uint32_t queue = price < queue_count ? price : price - queue_count;
    const double load = part * congestion->loads[queue];
    const struct delay delay = delay_at(0, part * congestion->prices[price], load);
    return load > 0 ? delay_variance(&delay) : 0;
}

/*
 * How much of its wait is met at the link up that @arc crosses. What the worker sent before has
 * had the time of the task itself to leave: of an exponential wait, e^(-theta t) is left. That
 * holds for what this worker sent, not for others on its machine, nor for what is not of jobs.
 */
static double part_met(const struct congestion *congestion, const struct arc *arc, uint32_t price)
{
    if (price != arc->up) { /* It may not be the price of a link at all. */
        return 1;
    }
    const struct queue_site *link = &congestion->sites->queues[price];
    const double load = congestion->loads[price];
    const double wait_ns = congestion->prices[price];
    if (link->shared || !(wait_ns > 0)) {
        return 1;
    }
    const uint32_t slots = congestion->sites->sites[link->site].slot_count;
    const double own = (1 - link->load / load) / slots;
    return 1 - own * (1 - exact_exp(-load / wait_ns * arc->quiet_ns));
}

static struct reached after_arc(
    const struct congestion *congestion, const struct patterns *patterns, const struct arc *arc,
    const struct reached *steps)
{
    struct reached reached = {0};
    if (arc->from != STEP_NONE) {
        reached = steps[arc->from];
    }
    reached.fixed_ns += arc->fixed_ns;
    reached.variance += arc->variance;
    for (uint32_t i = 0; i < arc->wait_count; i++) {
        const struct wait_term *wait = &patterns->waits[arc->wait_first + i];
        const double part = part_met(congestion, arc, wait->price);
        reached.wait_ns += wait->weight * part * congestion->prices[wait->price];
        reached.variance +=
            wait->weight * wait->weight * variance_at(congestion, wait->price, part);
    }
    return reached;
}

/* The last step that all ways to both pass; STEP_NONE is the arrival. */
static uint32_t meet(const struct reached *steps, uint32_t a, uint32_t b)
{
    while (a != b) {
        const uint32_t depth_a = a == STEP_NONE ? 0 : steps[a].depth;
        const uint32_t depth_b = b == STEP_NONE ? 0 : steps[b].depth;
        if (depth_a >= depth_b) {
            a = steps[a].dominator;
        } else {
            b = steps[b].dominator;
        }
    }
    return a;
}

static struct delay since(const struct reached *reached, const struct reached *start)
{
    return delay_fit(
        reached->fixed_ns - start->fixed_ns, reached->wait_ns - start->wait_ns,
        reached->variance - start->variance);
}

/*
 * A step that goes on behind the one before it on its worker does so only if its inputs from
 * elsewhere are in time. If they are late the worker has begun with another job.
 */
static void add_lateness(
    const struct congestion *congestion, const struct patterns *patterns, const struct step *step,
    const struct reached *steps, const struct reached *start, struct reached *result)
{
    const struct arc *arcs = patterns->arcs + step->arc_first;
    const struct reached before =
        after_arc(congestion, patterns, &arcs[step->arc_count - 1], steps);
    const struct delay end = since(&before, start);
    struct delay latest = {0};
    for (uint32_t i = 0; i + 1 < step->arc_count; i++) {
        if (!arcs[i].own) {
            const struct reached other = after_arc(congestion, patterns, &arcs[i], steps);
            const struct delay delay = since(&other, start);
            latest = delay_max(&latest, &delay);
        }
    }
    const uint32_t price = congestion->sites->queue_count + step->queue;
    const double wait_ns = congestion->prices[price];
    const double late = delay_exceeds(&latest, &end);
    const double second = variance_at(congestion, price, 1) + wait_ns * wait_ns;
    result->wait_ns += late * wait_ns;
    result->variance += late * second - late * late * wait_ns * wait_ns;
}

static struct reached reach(
    const struct congestion *congestion, const struct patterns *patterns, const struct step *step,
    const struct reached *steps)
{
    const struct arc *arcs = patterns->arcs + step->arc_first;
    uint32_t dominator = arcs[0].from;
    for (uint32_t i = 1; i < step->arc_count; i++) {
        dominator = meet(steps, dominator, arcs[i].from);
    }
    struct reached start = {0};
    if (dominator != STEP_NONE) {
        start = steps[dominator];
    }
    struct reached result = after_arc(congestion, patterns, &arcs[0], steps);
    if (step->arc_count > 1) {
        struct delay latest = since(&result, &start);
        for (uint32_t i = 1; i < step->arc_count; i++) {
            const struct reached other = after_arc(congestion, patterns, &arcs[i], steps);
            const struct delay delay = since(&other, &start);
            latest = delay_max(&latest, &delay);
        }
        result.fixed_ns = start.fixed_ns + latest.fixed;
        result.wait_ns = start.wait_ns + latest.wait;
        result.variance = start.variance + delay_variance(&latest);
        if (step->goes_on) {
            add_lateness(congestion, patterns, step, steps, &start, &result);
        }
    }
    result.dominator = dominator;
    result.depth = dominator == STEP_NONE ? 1 : start.depth + 1;
    return result;
}

double mean_length(
    const struct congestion *congestion, const struct patterns *patterns, uint32_t index)
{
    const struct pattern *pattern = &patterns->items[index];
    struct reached steps[PATTERN_STEPS_MAX];
    ASSERT(pattern->step_count > 0);
    memset(steps, 0, pattern->step_count * sizeof(steps[0]));
    for (uint32_t i = 0; i < pattern->step_count; i++) {
        steps[i] = reach(congestion, patterns, &patterns->steps[pattern->step_first + i], steps);
    }
    const struct reached *end = &steps[pattern->step_count - 1];
    return end->fixed_ns + end->wait_ns;
}
