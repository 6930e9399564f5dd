/*
 * compare_runs.h - do a list of runs, each in its own process.
 *
 * The list may come in parts: figures for the progress bar go on from part to part.
 */
#ifndef LAB_COMPARE_RUNS_H
#define LAB_COMPARE_RUNS_H

#include "console/progress.h"
#include "lab/compare_plan.h"

struct compare_runs {
    const char *command; /* Its name, for messages. */
    const struct compare_plan *plan;
    uint32_t parallel; /* At once; 0: as many as there are cores. */
    struct progress progress;
    uint64_t done_count;
    uint64_t expected_count; /* Of runs in all parts, as far as one can tell. */
    uint32_t died_count;
    struct compare_run *runs; /* The part that is being done; the caller's. */

    /* Called when a run is done. NULL: nothing waits for it. */
    void (*on_done)(void *context);
    void *context;
};

/*
 * Do @count runs and keep their results in them. A run whose process dies is reported on
 * standard error with the command that repeats it, and has no result.
 *
 * Errors: those of child_work_run().
 */
enum weft_status compare_runs_do(
    struct compare_runs *all, struct compare_run *runs, uint32_t count, struct weft_error *error);

#endif /* LAB_COMPARE_RUNS_H */
