/*
 * compare_saturation.h - `weft compare --saturation`: for every scenario and policy the
 * highest rate at which the runs are stable.
 *
 * All searches go on together: each round runs the next rate of every open one with all
 * seeds, so that cores are busy even with few seeds. Then each policy is run at a half
 * and at 0.8 of the rate that was found for it.
 */
#ifndef LAB_COMPARE_SATURATION_H
#define LAB_COMPARE_SATURATION_H

#include "lab/compare_runs.h"
#include "lab/saturation.h"

/* Parts of the saturation rate at which latencies are measured. */
enum saturation_part { SATURATION_AT_HALF, SATURATION_AT_MOST, SATURATION_PARTS };

enum { SATURATION_POINTS_MAX = SATURATION_TRIES_MAX + SATURATION_PARTS };

#define SATURATION_NOT_RUN UINT32_MAX

/* All seeds of one rate. */
struct saturation_point {
    double rate_per_s;
    uint32_t run_first; /* Into the study's runs. */
};

/* One policy in one scenario. */
struct saturation_case {
    uint32_t group;
    uint32_t policy;
    struct saturation search;
    uint32_t point_count;
    struct saturation_point points[SATURATION_POINTS_MAX]; /* In the order in which they ran. */
    uint32_t parts[SATURATION_PARTS]; /* Into the points; SATURATION_NOT_RUN: there is none. */
};

struct compare_saturation {
    const struct compare_plan *plan; /* Borrowed. */
    double precision;
    uint32_t case_count;
    struct saturation_case *cases;
    uint32_t run_count;
    uint32_t run_capacity;
    struct compare_run *runs;
};

/* What is known of one point. */
struct saturation_figures {
    uint32_t finished_count; /* Runs with a result; the rest is about them. */
    uint32_t stable_count;
    double latency_ms; /* Means over the seeds of means; NAN without any. */
    double slowdown;
    uint64_t jobs;
    uint64_t completed;
};

/* "5%" or "0.05". Errors: WEFT_INVALID. */
enum weft_status compare_saturation_read_precision(
    const char *text, double *precision_out, struct weft_error *error);

/*
 * Prepare for the scenarios and policies of @plan.
 *
 * Errors: WEFT_INVALID if one of them has no rate to change.
 */
enum weft_status compare_saturation_init(
    struct compare_saturation *study, const struct compare_plan *plan, double precision,
    struct weft_error *error);
void compare_saturation_deinit(struct compare_saturation *study);

/* Run all of it with @all. Errors: those of child_work_run(). */
enum weft_status compare_saturation_run(
    struct compare_saturation *study, struct compare_runs *all, struct weft_error *error);

struct saturation_figures compare_saturation_figures(
    const struct compare_saturation *study, const struct saturation_case *subject,
    const struct saturation_point *point);

#endif /* LAB_COMPARE_SATURATION_H */
