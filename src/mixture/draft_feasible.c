/* draft_feasible.c - to where every queue has less work than it can do: see draft.h. */
#include <math.h>

#include "mixture/draft.h"
#include "mixture/sites.h"

#define LOAD_START 0.9  /* On the way to a feasible point, the first load of the fullest. */
#define GROWTH_MIN 1e-4 /* A stage on that way that gains less leads nowhere. */

enum { STAGES_MAX = 80, STUCK_MAX = 8 };

/*
 * By how much all rates could grow until the fullest queue uses @part of the room that others
 * leave; or for 0, until it has half of the room that it has now.
 */
static double growth(const struct draft *draft, double part)
{
    double least = (double)INFINITY;
    for (uint32_t i = 0; i < draft->sites->queue_count; i++) {
        const double others = draft->sites->queues[i].load;
        const double load = draft->congestion.loads[i];
        if (load > others) {
            const double limit = part > 0 ? others + part * (1 - others) : (1 + load) / 2;
            least = fmin(least, (limit - others) / (load - others));
        }
    }
    return least;
}

/* Whether what is not of jobs, or the inputs of requests, fill a queue: nothing helps then. */
static bool is_full_anyway(const struct draft *draft)
{
    for (uint32_t i = 0; i < draft->sites->queue_count; i++) {
        if (draft->sites->queues[i].load >= 1) {
            return true;
        }
    }
    return false;
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
    if (is_full_anyway(draft)) {
        return false;
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
