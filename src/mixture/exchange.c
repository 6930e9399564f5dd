/* exchange.c - machines of one kind in each other's place: see attempt_exchange(). */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "mixture/attempt.h"
#include "mixture/kept.h"
#include "mixture/sites.h"
#include "mixture/workload.h"
#include "queueing/waiting.h"

#define GAIN_MIN 1e-6 /* Of the mean time: a pair has to promise more. */

enum {
    PASSES_MAX = 4,
    EVALUATIONS_MAX = 200000, /* Of single patterns, in one call. */
};

/* What all wait at the workers of @site in a nanosecond, if others did there what at @like. */
static double wait_like(const struct attempt *attempt, uint32_t site, uint32_t like)
{
    const struct sites *sites = attempt->sites;
    const struct congestion *congestion = &attempt->congestion;
    double sum = 0;
    for (uint32_t slot = 0; slot < sites->sites[site].slot_count; slot++) {
        const uint32_t own = sites->sites[site].worker_first + slot;
        const struct queue_site *here = &sites->queues[own];
        const struct queue_site *there = &sites->queues[sites->sites[like].worker_first + slot];
        const double load = congestion->loads[own] - here->load + there->load;
        const double residual_ns =
            congestion->residuals_ns[own] - here->residual_ns + there->residual_ns;
        if (load >= 1) {
            return (double)INFINITY;
        }
        sum += congestion->visits[own] * waiting_behind(load, congestion->aheads[own], residual_ns);
        sum += congestion->visits[sites->queue_count + own] *
               waiting_ahead(congestion->aheads[own], residual_ns);
    }
    return sum;
}

static void swap(double *a, double *b)
{
    const double kept = *a;
    *a = *b;
    *b = kept;
}

/* The load of others of two machines, instead of all that is placed there: the same to the sum. */
static void swap_others(struct sites *sites, uint32_t a, uint32_t b)
{
    for (uint32_t slot = 0; slot < sites->sites[a].slot_count; slot++) {
        struct queue_site *one = &sites->queues[sites->sites[a].worker_first + slot];
        struct queue_site *two = &sites->queues[sites->sites[b].worker_first + slot];
        swap(&one->load, &two->load);
        swap(&one->residual_ns, &two->residual_ns);
    }
}

/* Whether two machines are better off in each other's place. They are there if so. */
static bool try_pair(struct attempt *attempt, uint32_t a, uint32_t b)
{
    struct congestion *congestion = &attempt->congestion;
    const double before_ns = congestion->mean_ns;
    const double gain = wait_like(attempt, a, a) + wait_like(attempt, b, b) -
                        wait_like(attempt, a, b) - wait_like(attempt, b, a);
    if (!(gain > GAIN_MIN * before_ns * attempt->workload->rate)) {
        return false;
    }
    swap_others(attempt->sites, a, b);
    if (congestion_evaluate(congestion, attempt->descent.shares) < before_ns) {
        return true;
    }
    swap_others(attempt->sites, a, b); /* Other ways are the longest then. */
    (void)congestion_evaluate(congestion, attempt->descent.shares);
    return false;
}

/* All pairs once. Counts those that helped; @places has, by site, whose others it has. */
static uint32_t pass(struct attempt *attempt, uint64_t evaluations_max, uint32_t *places)
{
    uint32_t count = 0;
    for (uint32_t a = 0; a < attempt->sites->site_count; a++) {
        for (uint32_t b = a + 1; b < attempt->sites->site_count; b++) {
            if (attempt->congestion.evaluations >= evaluations_max) {
                return count;
            }
            if (attempt->kinds[a] == attempt->kinds[b] && try_pair(attempt, a, b)) {
                const uint32_t place = places[a];
                places[a] = places[b];
                places[b] = place;
                count++;
            }
        }
    }
    return count;
}

/* The load of others goes back to where it is, and what is placed follows it. */
static void move(struct attempt *attempt, const uint32_t *places)
{
    struct sites *sites = attempt->sites;
    struct queue_site *queues = memory_zeroed(sites->queue_count, sizeof(*queues));
    struct kept kept = {0};
    for (uint32_t i = 0; i < sites->queue_count; i++) {
        queues[i] = sites->queues[i];
    }
    for (uint32_t i = 0; i < sites->site_count; i++) {
        for (uint32_t slot = 0; slot < sites->sites[i].slot_count; slot++) {
            const struct queue_site *now = &queues[sites->sites[i].worker_first + slot];
            struct queue_site *home = &sites->queues[sites->sites[places[i]].worker_first + slot];
            home->load = now->load;
            home->residual_ns = now->residual_ns;
        }
    }
    kept_take(&kept, attempt);
    for (uint32_t i = 0; i < kept.seat_count; i++) {
        kept.seats[i].site = (uint16_t)places[kept.seats[i].site];
    }
    kept_restore(&kept, attempt);
    kept_deinit(&kept);
    free(queues);
}

uint32_t attempt_exchange(struct attempt *attempt)
{
    if (attempt->kinds == NULL) {
        return 0;
    }
    const uint32_t site_count = attempt->sites->site_count;
    uint32_t *places = memory_zeroed(site_count, sizeof(*places));
    const uint64_t evaluations_max = attempt->congestion.evaluations + EVALUATIONS_MAX;
    uint32_t count = 0;
    uint32_t more = 1;
    for (uint32_t i = 0; i < site_count; i++) {
        places[i] = i;
    }
    (void)congestion_evaluate(&attempt->congestion, attempt->descent.shares);
    for (uint32_t i = 0; i < PASSES_MAX && more > 0; i++) {
        more = pass(attempt, evaluations_max, places);
        count += more;
    }
    if (count > 0) {
        move(attempt, places);
    }
    free(places);
    return count;
}
