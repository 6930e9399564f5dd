/*
 * generate.h - the three things that `weft generate` makes, one file each.
 */
#ifndef LAB_GENERATE_H
#define LAB_GENERATE_H

#include "console/arguments.h"

/* What the command line says. NULL: not given. */
struct generate_values {
    const char *output;
    struct argument_count seed;

    /* Of a trace: as the arrivals of a scenario have them. */
    const char *workflows;
    struct argument_count jobs;
    const char *kind;
    const char *rate;
    const char *cv;
    const char *burst_rate;
    const char *every;
    const char *length;
    const char *period;
    const char *swing;
    const char *trace;
    const char *speed;
    const char *items_per;

    /* Of workflows. */
    const char *name;
    struct argument_count count;
    struct argument_count tasks_max;

    /* Of operators. */
    const char *networks;
    const char *gmac_ms;
    const char *writes;
    const char *device;
};

/* Errors: WEFT_INVALID, WEFT_LIMIT for what was asked for; WEFT_IO for where it is to go. */
enum weft_status generate_trace(const struct generate_values *values, struct weft_error *error);
enum weft_status generate_workflows(const struct generate_values *values, struct weft_error *error);
enum weft_status generate_operators(const struct generate_values *values, struct weft_error *error);

#endif /* LAB_GENERATE_H */
