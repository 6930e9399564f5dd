/* sim_shrink.h - `weft sim --shrink`: the smallest scenario that fails as the given one does. */
#ifndef CLI_SIM_SHRINK_H
#define CLI_SIM_SHRINK_H

#include "document/scenario.h"

enum { SIM_TRIES_MAX_DEFAULT = 3000 };

struct sim_shrink_options {
    const char *out;     /* Where it is to be written. */
    uint64_t events_max; /* Of each run. */
    bool events_given;   /* Whether the command that repeats it has to say so. */
    uint32_t tries_max;
};

/*
 * Run @scenario with its first seed; if it fails, cut it down, write the smallest to
 * options->out and print how it became smaller. *has_failed_out: whether it did.
 *
 * Errors: WEFT_IO; WEFT_CANCELLED if an interrupt came: what was smallest by then is written.
 */
enum weft_status sim_shrink(
    const struct scenario *scenario, const struct sim_shrink_options *options, bool *has_failed_out,
    struct weft_error *error);

#endif /* CLI_SIM_SHRINK_H */
