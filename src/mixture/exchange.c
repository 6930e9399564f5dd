/* exchange.c - machines of one kind in each other's place: see draft_exchange(). */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "mixture/draft.h"
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
static double wait_like(const struct draft *draft, uint32_t site, uint32_t like)
{
    const struct sites *sites = draft->sites;
    const struct congestion *congestion = &draft->congestion;
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
static bool try_pair(struct draft *draft, uint32_t a, uint32_t b)
{
    struct congestion *congestion = &draft->congestion;
    const double before_ns = congestion->mean_ns;
    const double gain = wait_like(draft, a, a) + wait_like(draft, b, b) - wait_like(draft, a, b) -
                        wait_like(draft, b, a);
    if (!(gain > GAIN_MIN * before_ns * draft->workload->rate)) {
        return false;
    }
    swap_others(draft->sites, a, b);
    if (congestion_evaluate(congestion, draft->descent.shares) < before_ns) {
        return true;
    }
    swap_others(draft->sites, a, b); /* Other ways are the longest then. */
    (void)congestion_evaluate(congestion, draft->descent.shares);
    return false;
}

/* All pairs once. Counts those that helped; @places has, by site, whose others it has. */
static uint32_t pass(struct draft *draft, uint64_t evaluations_max, uint32_t *places)
{
    uint32_t count = 0;
    for (uint32_t a = 0; a < draft->sites->site_count; a++) {
        for (uint32_t b = a + 1; b < draft->sites->site_count; b++) {
            if (draft->congestion.evaluations >= evaluations_max) {
                return count;
            }
            if (draft->kinds[a] == draft->kinds[b] && try_pair(draft, a, b)) {
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
static void move(struct draft *draft, const uint32_t *places)
{
    struct sites *sites = draft->sites;
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
    kept_take(&kept, draft);
    for (uint32_t i = 0; i < kept.spot_count; i++) {
        kept.spots[i].site = (uint16_t)places[kept.spots[i].site];
    }
    kept_restore(&kept, draft);
    kept_deinit(&kept);
    free(queues);
}

uint32_t draft_exchange(struct draft *draft)
{
    if (draft->kinds == NULL) {
        return 0;
    }
    const uint32_t site_count = draft->sites->site_count;
    uint32_t *places = memory_zeroed(site_count, sizeof(*places));
    const uint64_t evaluations_max = draft->congestion.evaluations + EVALUATIONS_MAX;
    uint32_t count = 0;
    uint32_t more = 1;
    for (uint32_t i = 0; i < site_count; i++) {
        places[i] = i;
    }
    (void)congestion_evaluate(&draft->congestion, draft->descent.shares);
    for (uint32_t i = 0; i < PASSES_MAX && more > 0; i++) {
        more = pass(draft, evaluations_max, places);
        count += more;
    }
    if (count > 0) {
        move(draft, places);
    }
    free(places);
    return count;
}
