/*
 * run.h - from a scenario on the command line to a finished simulation.
 */
#ifndef LAB_RUN_H
#define LAB_RUN_H

#include "console/arguments.h"
#include "console/progress.h"
#include "document/scenario.h"
#include "lab/run_invariants.h"
#include "sim/sim.h"

/* What the command line changes in a scenario. NULL: nothing. */
struct run_settings {
    const char *rate;
    const char *jobs;
    const char *warmup;               /* A share, or "auto": see run_warmup_is_auto(). */
    const struct argument_list *sets; /* "key=value" each; applied first. */
};

enum { RUN_RATE_BYTES = 80 };

struct run_options {
    const struct policy_set *policies;
    uint64_t seed;
    bool check;
    uint64_t events_max;          /* Events after which a run counts as endless; 0: no limit. */
    bool weighs;                  /* Records also tell what policies weighed. */
    bool warmup_auto;             /* Leave out what the run itself shows to be its warm-up. */
    struct progress *progress;    /* NULL: none is shown. */
    struct details **details_out; /* The run in rows, which the caller owns. NULL: none are made. */
    void (*on_record)(void *context, const struct record *record);
    void *context;
};

/* One run. Plain bytes: it also travels from a child to its parent. */
struct run_result {
    char scenario[NAME_BYTES_MAX];
    char policy[POLICY_TEXT_BYTES_MAX];
    uint64_t seed;
    double rate_per_s;     /* As the scenario has it; 0: the arrivals are a list. */
    double mean_per_s;     /* What comes on average: more, where there are bursts. */
    uint32_t worker_count; /* Of the fleet. */
    bool has_slo;          /* See run_has_slo(). */
    bool warmup_found;     /* By the run itself. */
    bool interrupted;      /* The figures are of what had ended by then. */
    struct report report;
    struct sim_counters counters;
    double wall_s;
    char broken[RUN_INVARIANTS_BYTES_MAX]; /* Why a checked run is wrong as a whole; "": it is not.
                                            */
};

/*
 * Read the scenario at @path and apply @settings. On success the caller owns *scenario_out.
 *
 * Errors: those of scenario_load_with().
 */
enum weft_status run_load(
    const char *path, const struct run_settings *settings, struct scenario **scenario_out,
    struct weft_error *error);

/* Whether @warmup, which may be NULL, leaves it to each run how much of it is not counted. */
bool run_warmup_is_auto(const char *warmup);

/* Whether at least one workflow of @scenario has an SLO. */
bool run_has_slo(const struct scenario *scenario);

/* " at 3/s", " at 4.2/s on average, 3/s between bursts", or "" for arrivals without a rate. */
const char *run_rate_text(double rate_per_s, double mean_per_s, char text[static RUN_RATE_BYTES]);

/*
 * Simulate @scenario. False, with the result so far, if an interrupt came first. A run that
 * is stopped after events_max events is broken.
 */
bool run_simulate(
    const struct scenario *scenario, const struct run_options *options,
    struct run_result *result_out);

#endif /* LAB_RUN_H */
