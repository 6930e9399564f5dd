/* draft_sharpen.c - past the corners of the mean time: see draft.h. */
#include "mixture/draft.h"
#include "mixture/kept.h"

#define BLUR_FACTOR 0.2  /* From one width to the next. */
#define BLUR_LEAST  3e-5 /* Of the mean time: less than this is no blur. */
#define GAIN_MIN    1e-4 /* Relative: a run that gains less ends a width. */
#define SLOPE_NEAR  1e-3 /* Relative: a pattern that costs so little more may be of use yet. */

enum { RUN_STEPS = 100, RUNS_MAX = 4 };

/* The shares at one width, without what has less than @least and costs more. */
static void descend(struct draft *draft, double width, double least)
{
    struct congestion *congestion = &draft->congestion;
    congestion->blur_ns = width * draft_settle(draft);
    for (uint32_t i = 0; i < RUNS_MAX && !draft_is_spent(draft); i++) {
        const double before_ns = congestion_evaluate(congestion, draft->descent.shares);
        congestion_slopes(congestion);
        if (least > 0) {
            draft_prune(draft, SLOPE_NEAR, least);
        }
        if (descent_run(&draft->descent, RUN_STEPS, 1e-7) > before_ns * (1 - GAIN_MIN)) {
            break;
        }
    }
}

void draft_sharpen(struct draft *draft, double first, double least)
{
    struct kept kept = {0};
    (void)draft_settle(draft);
    kept_take(&kept, draft);
    double width = first;
    while (width > BLUR_LEAST) {
        descend(draft, width, least);
        width *= BLUR_FACTOR;
    }
    (void)draft_settle(draft);
    (void)descent_run(&draft->descent, RUN_STEPS, 1e-7);
    if (!(draft_settle(draft) < kept.mean_ns)) { /* By what joins cost there. */
        kept_restore(&kept, draft);
    }
    kept_deinit(&kept);
}
