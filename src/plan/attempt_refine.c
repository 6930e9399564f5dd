/* attempt_refine.c - from a start that is already good: see attempt.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plan/attempt.h"
#include "plan/sites.h"
#include "plan/workload.h"

#define LOAD_LEAST 0.02 /* Of a machine that others have nearly filled, where it is used. */

enum { REFINE_ROUNDS = 5, FIT_TURNS = 16, POLISH_STEPS = 400 };

bool attempt_refresh(struct attempt *attempt)
{
    if (!attempt_find_feasible(attempt)) {
        return false;
    }
    (void)attempt_settle(attempt);
    (void)descent_run(&attempt->descent, 60, 1e-5);
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
static void fit_loads(struct attempt *attempt, const double *targets)
{
    struct descent *descent = &attempt->descent;
    for (uint32_t turn = 0; turn < FIT_TURNS; turn++) {
        (void)congestion_evaluate(&attempt->congestion, descent->shares);
        for (uint32_t i = 0; i < descent->count; i++) {
            const struct pattern *pattern = &attempt->patterns.items[i];
            for (uint32_t k = 0; k < pattern->demand_count; k++) {
                const uint32_t queue = attempt->patterns.demands[pattern->demand_first + k].queue;
                const double others = attempt->sites->queues[queue].load;
                const double own = attempt->congestion.loads[queue] - others;
                if (targets[queue] > 0 && own > 0) {
                    const double wanted = targets[queue] - others;
                    descent->shares[i] *= damped((wanted > LOAD_LEAST ? wanted : LOAD_LEAST) / own);
                }
            }
        }
        descent_normalise(descent);
    }
}

bool attempt_refine(struct attempt *attempt, const double *targets)
{
    struct descent *descent = &attempt->descent;
    fit_loads(attempt, targets);
    if (!attempt_find_feasible(attempt)) {
        return false;
    }
    (void)attempt_settle(attempt);
    (void)descent_run(descent, 100, 1e-5);
    for (uint32_t round = 0; round < REFINE_ROUNDS && !attempt_is_spent(attempt); round++) {
        congestion_slopes(&attempt->congestion);
        if (attempt_extend(attempt) == 0) {
            break;
        }
        (void)attempt_settle(attempt);
        (void)descent_run(descent, 100, 1e-5);
    }
    return true;
}

void attempt_polish(struct attempt *attempt)
{
    struct descent *descent = &attempt->descent;
    const size_t bytes = descent->count * sizeof(double);
    const double before_ns = attempt->congestion.mean_ns;
    double *kept = memory_zeroed(2 * (size_t)descent->count, sizeof(*kept));
    memcpy(kept, descent->shares, bytes);
    memcpy(kept + descent->count, attempt->congestion.extras_ns, bytes);
    (void)descent_run(descent, POLISH_STEPS, 1e-7);
    if (!(attempt_settle(attempt) < before_ns)) { /* By what joins cost there. */
        memcpy(descent->shares, kept, bytes);
        memcpy(attempt->congestion.extras_ns, kept + descent->count, bytes);
        (void)congestion_evaluate(&attempt->congestion, descent->shares);
    }
    free(kept);
}
