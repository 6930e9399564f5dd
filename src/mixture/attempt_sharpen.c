/* attempt_sharpen.c - past the corners of the mean time: see attempt.h. */
#include "mixture/attempt.h"
#include "mixture/kept.h"

#define BLUR_FACTOR 0.2  /* From one width to the next. */
#define BLUR_LEAST  3e-5 /* Of the mean time: less than this is no blur. */
#define GAIN_MIN    1e-4 /* Relative: a run that gains less ends a width. */
#define SLOPE_NEAR  1e-3 /* Relative: a pattern that costs so little more may be of use yet. */

enum { RUN_STEPS = 100, RUNS_MAX = 4 };

/* The shares at one width, without what has less than @least and costs more. */
static void descend(struct attempt *attempt, double width, double least)
{
    struct congestion *congestion = &attempt->congestion;
    congestion->blur_ns = width * attempt_settle(attempt);
    for (uint32_t i = 0; i < RUNS_MAX && !attempt_is_spent(attempt); i++) {
        const double before_ns = congestion_evaluate(congestion, attempt->descent.shares);
        congestion_slopes(congestion);
        if (least > 0) {
            attempt_prune(attempt, SLOPE_NEAR, least);
        }
        if (descent_run(&attempt->descent, RUN_STEPS, 1e-7) > before_ns * (1 - GAIN_MIN)) {
            break;
        }
    }
}

void attempt_sharpen(struct attempt *attempt, double first, double least)
{
    struct kept kept = {0};
    (void)attempt_settle(attempt);
    kept_take(&kept, attempt);
    double width = first;
    while (width > BLUR_LEAST) {
        descend(attempt, width, least);
        width *= BLUR_FACTOR;
    }
    (void)attempt_settle(attempt);
    (void)descent_run(&attempt->descent, RUN_STEPS, 1e-7);
    if (!(attempt_settle(attempt) < kept.mean_ns)) { /* By what joins cost there. */
        kept_restore(&kept, attempt);
    }
    kept_deinit(&kept);
}
