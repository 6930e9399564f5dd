/* draft_feasible.c - to where every queue has less work than it can do: see draft.h. */
#include <math.h>
#include <stdlib.h>

#include "base/exact.h"
#include "base/memory.h"
#include "mixture/draft.h"
#include "mixture/sites.h"
#include "mixture/workload.h"

#define LOAD_START   0.9  /* On the way to a feasible point, the first load of the fullest. */
#define GROWTH_MIN   1e-4 /* A stage on that way that gains less leads nowhere. */
#define BALANCE_STEP 0.3

enum { STAGES_MAX = 80, STUCK_MAX = 8, BALANCE_TURNS = 512 };

/*
 * Prices that only full queues have: the 16th power of how much of the room that others leave
 * is used, relative to the fullest. Returns the latter.
 */
static double price_fullness(const struct draft *draft, double *prices_out)
{
    double fullest = 0;
    for (uint32_t i = 0; i < draft->sites->queue_count; i++) {
        const double others = draft->sites->queues[i].load;
        const double own = draft->congestion.loads[i] - others;
        prices_out[i] = own > 0 ? own / (1 - others) : 0;
        fullest = prices_out[i] > fullest ? prices_out[i] : fullest;
    }
    for (uint32_t i = 0; i < draft->sites->queue_count && fullest > 0; i++) {
        const struct queue_site *queue = &draft->sites->queues[i];
        double power = prices_out[i] / fullest;
        for (uint32_t k = 0; k < 4; k++) {
            power *= power;
        }
        prices_out[i] = queue->load < 1 ? power / (1 - queue->load) / queue->copies : 0;
    }
    return fullest;
}

static double price_of(const struct draft *draft, uint32_t index, const double *prices)
{
    const struct pattern *pattern = &draft->patterns.items[index];
    double sum = 0;
    for (uint32_t i = 0; i < pattern->demand_count; i++) {
        const struct demand *demand = &draft->patterns.demands[pattern->demand_first + i];
        sum += prices[demand->queue] * demand->work_ns;
    }
    return sum;
}

/* Away from full queues: shares shrink with the price of their pattern. */
static void leave_full(struct draft *draft, const double *prices)
{
    struct descent *descent = &draft->descent;
    double *means = memory_zeroed(draft->workload->stream_count, sizeof(*means));
    for (uint32_t i = 0; i < descent->count; i++) {
        means[draft->patterns.items[i].stream] += descent->shares[i] * price_of(draft, i, prices);
    }
    for (uint32_t i = 0; i < descent->count; i++) {
        const double mean = means[draft->patterns.items[i].stream];
        const double relative = mean > 0 ? price_of(draft, i, prices) / mean - 1 : 0;
        descent->shares[i] *= exact_exp(-BALANCE_STEP * (relative < 4 ? relative : 4));
    }
    descent_normalise(descent);
    free(means);
}

/* Patterns for each stream that avoid what is full, whatever they take. */
static void find_ways_round(struct draft *draft, const double *prices)
{
    struct spot found[WORKFLOW_TASKS_MAX];
    struct congestion *congestion = &draft->congestion;
    for (uint32_t i = 0; i < draft->sites->queue_count; i++) {
        congestion->tolls[i] = (struct toll){.work = 1e9 * prices[i]};
        congestion->prices[i] = 0;
        congestion->prices[draft->sites->queue_count + i] = 0;
    }
    for (uint32_t i = 0; i < draft->workload->stream_count; i++) {
        if (!isinf(response_find(&draft->response, i, found))) {
            (void)draft_add(draft, i, found);
        }
    }
    descent_admit(&draft->descent, DRAFT_SHARE_FRESH);
}

/*
 * Lower the fullest queue by multiplicative weights until all are below 1 with some room, or
 * nothing is gained any more. False if no feasible point was met.
 */
static bool balance(struct draft *draft)
{
    struct congestion *congestion = &draft->congestion;
    double *prices = memory_zeroed(draft->sites->queue_count, sizeof(*prices));
    bool is_feasible = false;
    for (uint32_t i = 0; i < BALANCE_TURNS && !is_feasible; i++) {
        (void)congestion_evaluate(congestion, draft->descent.shares);
        const double fullest = price_fullness(draft, prices);
        const double enough = 0.97 + 0.0299 * i / BALANCE_TURNS;
        is_feasible = fullest < enough && !isinf(congestion->mean_ns);
        if (!is_feasible && draft->patterns_max > 0 && i % 32 == 31) {
            find_ways_round(draft, prices);
        } else if (!is_feasible) {
            leave_full(draft, prices);
        }
    }
    free(prices);
    return is_feasible;
}

/* By how much all rates could grow until the fullest queue has half of the room it has now. */
static double growth(const struct draft *draft, double part)
{
    double least = (double)INFINITY;
    for (uint32_t i = 0; i < draft->sites->queue_count; i++) {
        const double others = draft->sites->queues[i].load;
        const double load = draft->congestion.loads[i];
        if (load > others) {
            const double limit = part > 0 ? others + part * (1 - others) : (1 + load) / 2;
            const double factor = (limit - others) / (load - others);
            least = factor < least ? factor : least;
        }
    }
    return least;
}

bool draft_find_feasible(struct draft *draft)
{
    /*
     * From rates that are low enough to the true ones: at each stage the descent makes room
     * where it is missing, because waits are longest there.
     */
    struct congestion *congestion = &draft->congestion;
    uint32_t stuck = 0;
    if (!isinf(congestion_evaluate(congestion, draft->descent.shares))) {
        return true;
    }
    if (balance(draft)) {
        return true;
    }
    congestion->scale *= growth(draft, LOAD_START);
    for (uint32_t stage = 0; stage < STAGES_MAX && stuck < STUCK_MAX; stage++) {
        (void)descent_run(&draft->descent, 20, 0);
        const double factor = growth(draft, 0);
        if (congestion->scale * factor >= 1) {
            congestion->scale = 1;
            return !isinf(congestion_evaluate(congestion, draft->descent.shares));
        }
        stuck = factor < 1 + GROWTH_MIN ? stuck + 1 : 0;
        if (draft->patterns_max > 0 && stage % 4 == 0) {
            congestion_slopes(congestion);
            (void)draft_extend(draft);
        }
        congestion->scale *= factor;
        (void)congestion_evaluate(congestion, draft->descent.shares);
    }
    congestion->scale = 1;
    (void)congestion_evaluate(congestion, draft->descent.shares);
    return false;
}
