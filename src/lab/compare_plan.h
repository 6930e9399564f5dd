/*
 * compare_plan.h - what `weft compare` runs: every scenario at every rate under every
 * policy with every seed. Everything is read and checked before the first run.
 */
#ifndef LAB_COMPARE_PLAN_H
#define LAB_COMPARE_PLAN_H

#include "lab/run.h"

/* Options of the command, as they were written. NULL or not given: the default. */
struct compare_options {
    const char
        *policies; /* See option_list_policies(). Default: the scenario's, and all that place. */
    const char *rates; /* See option_list_rates(). */
    struct argument_count seeds;
    const char *jobs;
    const char *warmup; /* See run_settings. */
    struct argument_list sets;
};

/* One scenario at one rate: one table. */
struct compare_group {
    const char *path; /* Borrowed, like the next. */
    const char *rate; /* As given; NULL: the scenario's. */
    struct scenario *scenario;
    uint32_t policy_count;
    struct policy_set *policies;
    uint32_t seed_count;
    uint64_t *seeds;
    uint32_t run_first; /* Into the runs of the plan: by policy, then by seed. */
};

struct compare_run {
    uint32_t group;
    uint32_t policy;
    uint32_t seed;     /* Index. */
    double rate_per_s; /* Instead of the scenario's; 0: that. */
    bool is_done;      /* With a result, or because its process died. */
    bool has_result;
    struct run_result result;
};

struct compare_plan {
    const struct compare_options *options; /* Borrowed. */
    uint32_t group_count;
    struct compare_group *groups;
    uint32_t run_count;
    struct compare_run *runs;
    char *rate_bytes; /* Of the groups' rates. */
};

/*
 * Read @path_count scenarios at @paths. On success the caller owns what is in @plan_out.
 *
 * Errors: those of run_load(), policy_set_parse(), option_list_policies(); WEFT_INVALID for
 * numbers out of range.
 */
enum weft_status compare_plan_init(
    struct compare_plan *plan_out, char *const *paths, uint32_t path_count,
    const struct compare_options *options, struct weft_error *error);

void compare_plan_deinit(struct compare_plan *plan);

/* The run of @group with the policy and seed of these indices. */
const struct compare_run *compare_plan_run(
    const struct compare_plan *plan, const struct compare_group *group, uint32_t policy,
    uint32_t seed);

/* The command that repeats @run alone. */
void compare_plan_command(
    const struct compare_plan *plan, const struct compare_run *run, char *text, size_t text_bytes);

#endif /* LAB_COMPARE_PLAN_H */
