/*
 * checked_run.h - one checked run of a scenario in a child process, and how it failed.
 *
 * The child writes the scenario as a document and runs what it reads from that, so that
 * what fails here fails from a file as well.
 */
#ifndef LAB_CHECKED_RUN_H
#define LAB_CHECKED_RUN_H

#include "document/scenario.h"

enum { CHECKED_RUN_FAILURE_BYTES_MAX = 256 };

struct checked_run {
    uint64_t events_max;                         /* A run with more has no end. */
    unsigned seconds_max;                        /* So is more time. */
    char failure[CHECKED_RUN_FAILURE_BYTES_MAX]; /* How the last run failed; "" if it did not. */
};

/*
 * Run @scenario with its first seed and say in checked->failure how it failed. One that is not a
 * good document has not failed.
 *
 * Errors: WEFT_CANCELLED if an interrupt came; WEFT_IO.
 */
enum weft_status checked_run_do(
    struct checked_run *checked, const struct scenario *scenario, struct weft_error *error);

#endif /* LAB_CHECKED_RUN_H */
