/* draft_refine.c - from a start that is already good: see draft.h. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "mixture/draft.h"
#include "mixture/kept.h"
#include "mixture/sites.h"
#include "mixture/workload.h"

#define LOAD_LEAST    0.02 /* Of a machine that others have nearly filled, where it is used. */
#define BLUR_TURN     0.01 /* Of the mean time, where shares are good already. */
#define TURN_GAIN_MIN 1e-5 /* Relative: a turn that gains less is idle. */
#define SLOPE_NEAR    0.02 /* Relative: a pattern that costs so little more may be of use yet. */
#define SHARE_LEAST   1e-4 /* What has less, and costs more, is found again where it is of use. */

enum { REFINE_ROUNDS = 5, REFINE_STEPS = 50, FIT_TURNS = 16, IDLE_MAX = 2 };

bool draft_refresh(struct draft *draft)
{
    if (!draft_find_feasible(draft)) {
        return false;
    }
    (void)draft_settle(draft);
    (void)descent_run(&draft->descent, 60, 1e-5);
    return true;
}

/* The root of a positive number, or 1: factors of shares must not be 0 or endless. */
static double damped(double ratio)
{
    return ratio > 1e-3 && ratio < 1e3 ? sqrt(ratio) : 1;
}

/*
 * Shares at which each queue has nearly its @target, by turns: all patterns that use a queue
 * get more or less of their stream, in proportion (iterative proportional fitting).
 */
static void fit_loads(struct draft *draft, const double *targets)
{
    struct descent *descent = &draft->descent;
    for (uint32_t turn = 0; turn < FIT_TURNS; turn++) {
        (void)congestion_evaluate(&draft->congestion, descent->shares);
        for (uint32_t i = 0; i < descent->count; i++) {
            const struct pattern *pattern = &draft->patterns.items[i];
            for (uint32_t k = 0; k < pattern->demand_count; k++) {
                const uint32_t queue = draft->patterns.demands[pattern->demand_first + k].queue;
                const double others = draft->sites->queues[queue].load;
                const double own = draft->congestion.loads[queue] - others;
                if (targets[queue] > 0 && own > 0) {
                    const double wanted = targets[queue] - others;
                    descent->shares[i] *= damped((wanted > LOAD_LEAST ? wanted : LOAD_LEAST) / own);
                }
            }
        }
        descent_normalise(descent);
    }
}

/*
 * Patterns that help where longest ways are blurred: tolls are then of all ways that count, and
 * not of one that is the longest by chance. What is of no use goes. Returns how many came.
 */
static uint32_t extend(struct draft *draft)
{
    struct congestion *congestion = &draft->congestion;
    congestion->blur_ns = BLUR_TURN * congestion->mean_ns;
    (void)congestion_evaluate(congestion, draft->descent.shares);
    congestion_slopes(congestion);
    draft_prune(draft, SLOPE_NEAR, SHARE_LEAST);
    (void)congestion_evaluate(congestion, draft->descent.shares);
    congestion_slopes(congestion);
    const uint32_t added = draft_extend(draft);
    (void)draft_settle(draft);
    return added;
}

bool draft_refine(struct draft *draft, const double *targets)
{
    struct descent *descent = &draft->descent;
    fit_loads(draft, targets);
    if (!draft_find_feasible(draft)) {
        return false;
    }
    draft->congestion.blur_ns = BLUR_TURN * draft_settle(draft);
    (void)descent_run(descent, REFINE_STEPS, 1e-5);
    for (uint32_t round = 0; round < REFINE_ROUNDS && !draft_is_spent(draft); round++) {
        if (extend(draft) == 0) {
            break;
        }
        (void)descent_run(descent, REFINE_STEPS, 1e-5);
    }
    draft_sharpen(draft, DRAFT_BLUR_FIRST, SHARE_LEAST);
    return true;
}

void draft_polish(struct draft *draft, uint32_t turns)
{
    struct kept kept = {0};
    uint32_t idle = 0;
    const bool can_extend = draft->patterns_max > 0;
    const double least = can_extend ? SHARE_LEAST : 0; /* What goes must be able to come back. */
    kept_take(&kept, draft);
    for (uint32_t i = 0; i < turns && idle < IDLE_MAX && !draft_is_spent(draft); i++) {
        const double before_ns = kept.mean_ns;
        (void)draft_exchange(draft);
        if (can_extend) {
            (void)extend(draft);
        }
        draft_sharpen(draft, i % 2 == 0 ? BLUR_TURN : DRAFT_BLUR_FIRST, least);
        if (draft->congestion.mean_ns < kept.mean_ns) {
            kept_take(&kept, draft);
        } else {
            kept_restore(&kept, draft);
        }
        idle = kept.mean_ns < before_ns * (1 - TURN_GAIN_MIN) ? 0 : idle + 1;
    }
    kept_deinit(&kept);
}
