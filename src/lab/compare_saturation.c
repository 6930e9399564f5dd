#include "lab/compare_saturation.h"

#include <math.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "document/quantity.h"

enum { RUNS_FIRST = 256 };

enum weft_status compare_saturation_read_precision(
    const char *text, double *precision_out, struct weft_error *error)
{
    double precision = 0;
    if (!quantity_parse(QUANTITY_FRACTION, text, &precision) ||
        precision < SATURATION_PRECISION_MIN || precision > 1) {
        return error_set(
            error, WEFT_INVALID, "'--precision' is '%s'; it must be between 0.1%% and 100%%", text);
    }
    *precision_out = precision;
    return WEFT_OK;
}

/* Whether the arrivals of @scenario have a rate that can be changed. */
static bool has_rate(const struct scenario *scenario)
{
    struct arrivals arrivals = scenario->arrivals;
    return arrivals.rate_per_s > 0 && arrivals_set_rate(&arrivals, arrivals.rate_per_s);
}

enum weft_status compare_saturation_init(
    struct compare_saturation *study, const struct compare_plan *plan, double precision,
    struct weft_error *error)
{
    ASSERT(precision >= SATURATION_PRECISION_MIN);
    uint32_t case_count = 0;
    for (uint32_t i = 0; i < plan->group_count; i++) {
        if (!has_rate(plan->groups[i].scenario)) {
            return error_set(
                error, WEFT_INVALID, "%s: its arrivals have no rate that could be raised",
                plan->groups[i].path);
        }
        case_count += plan->groups[i].policy_count;
    }
    *study = (struct compare_saturation){
        .plan = plan,
        .precision = precision,
        .case_count = case_count,
        .cases = memory_zeroed((size_t)case_count + 1, sizeof(*study->cases)),
    };
    struct saturation_case *subject = study->cases;
    for (uint32_t i = 0; i < plan->group_count; i++) {
        for (uint32_t k = 0; k < plan->groups[i].policy_count; k++, subject++) {
            subject->group = i;
            subject->policy = k;
            for (uint32_t part = 0; part < SATURATION_PARTS; part++) {
                subject->parts[part] = SATURATION_NOT_RUN;
            }
            saturation_init(
                &subject->search, plan->groups[i].scenario->arrivals.rate_per_s, precision);
        }
    }
    return WEFT_OK;
}

void compare_saturation_deinit(struct compare_saturation *study)
{
    free(study->cases);
    free(study->runs);
    *study = (struct compare_saturation){0};
}

static void reserve_runs(struct compare_saturation *study, uint32_t count)
{
    if (study->run_count + count <= study->run_capacity) {
        return;
    }
    uint32_t capacity = study->run_capacity == 0 ? RUNS_FIRST : study->run_capacity;
    while (capacity < study->run_count + count) {
        capacity *= 2;
    }
    study->runs = memory_zeroed_more(study->runs, study->run_count, capacity, sizeof(*study->runs));
    study->run_capacity = capacity;
}

/* Its index; runs are added if this rate has not been run before. */
static uint32_t add_point(
    struct compare_saturation *study, struct saturation_case *subject, double rate_per_s)
{
    for (uint32_t i = 0; i < subject->point_count; i++) {
        if (subject->points[i].rate_per_s == rate_per_s) {
            return i;
        }
    }
    ASSERT(subject->point_count < SATURATION_POINTS_MAX);
    const uint32_t seed_count = study->plan->groups[subject->group].seed_count;
    subject->points[subject->point_count] = (struct saturation_point){
        .rate_per_s = rate_per_s,
        .run_first = study->run_count,
    };
    reserve_runs(study, seed_count);
    for (uint32_t i = 0; i < seed_count; i++) {
        study->runs[study->run_count] = (struct compare_run){
            .group = subject->group,
            .policy = subject->policy,
            .seed = i,
            .rate_per_s = rate_per_s,
        };
        study->run_count++;
    }
    return subject->point_count++;
}

struct saturation_figures compare_saturation_figures(
    const struct compare_saturation *study, const struct saturation_case *subject,
    const struct saturation_point *point)
{
    ASSERT(point >= subject->points && point < subject->points + subject->point_count);
    struct saturation_figures figures = {0};
    double count = 0;
    for (uint32_t i = 0; i < study->plan->groups[subject->group].seed_count; i++) {
        const struct compare_run *run = &study->runs[point->run_first + i];
        const struct report *report = &run->result.report;
        if (run->has_result) {
            figures.finished_count++;
            figures.stable_count += report->stable ? 1 : 0;
            figures.jobs += report->jobs;
            figures.completed += report->completed;
        }
        if (run->has_result && report->counted > 0) {
            figures.latency_ms += report->latency_ms.mean;
            figures.slowdown += report->slowdown.mean;
            count++;
        }
    }
    figures.latency_ms = count > 0 ? figures.latency_ms / count : (double)NAN;
    figures.slowdown = count > 0 ? figures.slowdown / count : (double)NAN;
    return figures;
}

/* A run that died is not a stable one. */
static void tell(struct compare_saturation *study, struct saturation_case *subject)
{
    const struct saturation_point *point = &subject->points[subject->point_count - 1];
    const struct saturation_figures figures = compare_saturation_figures(study, subject, point);
    const uint32_t seed_count = study->plan->groups[subject->group].seed_count;
    saturation_tell(&subject->search, saturation_is_majority(figures.stable_count, seed_count));
}

/* Of the runs to come, if nothing unusual is found. */
static uint64_t runs_left(const struct compare_saturation *study)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < study->case_count; i++) {
        const struct saturation_case *subject = &study->cases[i];
        const uint64_t points = saturation_tries_left(&subject->search) + SATURATION_PARTS;
        count += points * study->plan->groups[subject->group].seed_count;
    }
    return count;
}

/* Do the runs from @first on. */
static enum weft_status do_runs(
    struct compare_saturation *study, struct compare_runs *all, uint32_t first,
    struct weft_error *error)
{
    return compare_runs_do(all, study->runs + first, study->run_count - first, error);
}

/* The next rate of every open search. *is_open_out is false if there was none. */
static enum weft_status search_once(
    struct compare_saturation *study, struct compare_runs *all, bool *is_open_out,
    struct weft_error *error)
{
    const uint32_t first = study->run_count;
    all->expected_count = first + runs_left(study);
    for (uint32_t i = 0; i < study->case_count; i++) {
        struct saturation_case *subject = &study->cases[i];
        if (subject->search.verdict == SATURATION_OPEN) {
            (void)add_point(study, subject, subject->search.rate_next); /* It is the last one. */
        }
    }
    *is_open_out = study->run_count > first;
    const enum weft_status status = do_runs(study, all, first, error);
    if (status != WEFT_OK) {
        return status;
    }
    for (uint32_t i = 0; i < study->case_count; i++) {
        if (study->cases[i].search.verdict == SATURATION_OPEN) {
            tell(study, &study->cases[i]);
        }
    }
    return WEFT_OK;
}

static enum weft_status measure(
    struct compare_saturation *study, struct compare_runs *all, struct weft_error *error)
{
    static const double shares[SATURATION_PARTS] = {
        [SATURATION_AT_HALF] = 0.5,
        [SATURATION_AT_MOST] = 0.8,
    };
    const uint32_t first = study->run_count;
    for (uint32_t i = 0; i < study->case_count; i++) {
        struct saturation_case *subject = &study->cases[i];
        for (uint32_t k = 0; k < SATURATION_PARTS && subject->search.rate_low > 0; k++) {
            const double rate = saturation_round(shares[k] * subject->search.rate_low);
            subject->parts[k] = add_point(study, subject, rate);
        }
    }
    all->expected_count = study->run_count;
    return do_runs(study, all, first, error);
}

enum weft_status compare_saturation_run(
    struct compare_saturation *study, struct compare_runs *all, struct weft_error *error)
{
    bool is_open = true;
    enum weft_status status = WEFT_OK;
    while (status == WEFT_OK && is_open) {
        status = search_once(study, all, &is_open, error);
    }
    return status == WEFT_OK ? measure(study, all, error) : status;
}
