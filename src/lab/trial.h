/*
 * trial.h - one checked run of a scenario in a child process, and how it failed.
 *
 * The child writes the scenario as a document and runs what it reads from that, so that
 * what fails here fails from a file as well.
 */
#ifndef LAB_TRIAL_H
#define LAB_TRIAL_H

#include "document/scenario.h"

enum { TRIAL_FAILURE_BYTES_MAX = 256 };

struct trial {
    uint64_t events_max;                   /* More are no end. */
    unsigned seconds_max;                  /* So is more time. */
    char failure[TRIAL_FAILURE_BYTES_MAX]; /* How the last run failed; "" if it did not. */
};

/*
 * Run @scenario with its first seed and say in trial->failure how it failed. One that is no
 * good document has not failed.
 *
 * Errors: WEFT_CANCELLED if an interrupt came; WEFT_IO.
 */
enum weft_status trial_run(
    struct trial *trial, const struct scenario *scenario, struct weft_error *error);

#endif /* LAB_TRIAL_H */
