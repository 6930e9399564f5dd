#include "cli/compare_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/units.h"
#include "cli/compare_fairness.h"
#include "cli/report_text.h"
#include "console/table.h"
#include "lab/saturation.h"
#include "lab/statistics.h"

/* One figure of a run; NAN if it has none. */
typedef double figure(const struct report *report);

static double latency_mean(const struct report *report)
{
    return report->latency_ms.mean;
}

static double latency_p99(const struct report *report)
{
    return report->latency_ms.p99;
}

static double slowdown_mean(const struct report *report)
{
    return report->slowdown.mean;
}

static double slo_percent(const struct report *report)
{
    return 100 * report->slo_hit_rate;
}

static double cache_percent(const struct report *report)
{
    return 100 * report->cache_hit_rate;
}

static double loads(const struct report *report)
{
    return (double)report->loads;
}

static double price_per_job(const struct report *report)
{
    return report->price_per_job;
}

static double price_reserved(const struct report *report)
{
    return report->price_reserved;
}

static double busy_percent(const struct report *report)
{
    return 100 * report->utilisation;
}

static double workers_used(const struct report *report)
{
    return report->workers_used;
}

static double is_stable(const struct report *report)
{
    return report->stable ? 1 : 0;
}

/* One row of the table: the runs of a policy. */
struct line {
    const struct compare_plan *plan;
    const struct compare_group *group;
    uint32_t policy;
    double *values;            /* Scratch: one per seed. */
    double *others;            /* Scratch: the same of the policy that it is compared with. */
    struct fairness *fairness; /* Of that policy. */
};

static double sum(const double *values, uint32_t count)
{
    double all = 0;
    for (uint32_t i = 0; i < count; i++) {
        all += values[i];
    }
    return all;
}

static uint32_t gather(const struct line *line, figure *figure_of)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < line->group->seed_count; i++) {
        const struct compare_run *run = compare_plan_run(line->plan, line->group, line->policy, i);
        const double value = run->has_result ? figure_of(&run->result.report) : (double)NAN;
        if (!isnan(value)) {
            line->values[count] = value;
            count++;
        }
    }
    return count;
}

/* Whether enough runs of @policy are stable: otherwise latencies depend on their length. */
static bool is_steady(const struct line *line, uint32_t policy)
{
    const struct line other = {
        .plan = line->plan, .group = line->group, .policy = policy, .values = line->values};
    const uint32_t count = gather(&other, is_stable);
    return saturation_is_majority((uint32_t)sum(line->values, count), count);
}

/* Whether jobs were counted in runs that are not steady. */
static bool is_growing(const struct line *line)
{
    return !is_steady(line, line->policy) && gather(line, latency_mean) > 0;
}

static void add_mean(struct table *table, const struct line *line, int decimals, figure *figure_of)
{
    const uint32_t count = gather(line, figure_of);
    table_add_number(table, decimals, statistics_mean(line->values, count));
}

static void add_latency(struct table *table, const struct line *line, bool grows)
{
    const uint32_t count = gather(line, latency_mean);
    const struct interval interval = statistics_interval(line->values, count);
    char bound[REPORT_BOUND_BYTES];
    if (grows) {
        table_add(table, "%s", report_text_bound(interval.mean, bound));
    } else if (count == 0) {
        table_add(table, "-");
    } else if (isnan(interval.half_width)) {
        table_add(table, "%.1f", interval.mean);
    } else {
        table_add(table, "%.1f ± %.1f", interval.mean, interval.half_width);
    }
}

static void add_stable(struct table *table, const struct line *line)
{
    const uint32_t count = gather(line, is_stable);
    table_add(table, "%.0f of %" PRIu32, sum(line->values, count), count);
}

/* The figures of the line and of the first policy, for the seeds in which both have one. */
static uint32_t gather_pairs(const struct line *line, figure *figure_of)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < line->group->seed_count; i++) {
        const struct compare_run *base = compare_plan_run(line->plan, line->group, 0, i);
        const struct compare_run *run = compare_plan_run(line->plan, line->group, line->policy, i);
        if (!base->has_result || !run->has_result) {
            continue;
        }
        line->others[count] = figure_of(&base->result.report);
        line->values[count] = figure_of(&run->result.report);
        count += isnan(line->others[count]) || isnan(line->values[count]) ? 0 : 1;
    }
    return count;
}

static void add_ratio(struct table *table, const struct line *line, bool comparable)
{
    const uint32_t count = gather_pairs(line, slowdown_mean);
    const struct interval interval = statistics_paired_ratio(line->others, line->values, count);
    if (!comparable || !isfinite(interval.mean)) {
        table_add(table, "-");
    } else if (isnan(interval.half_width)) {
        table_add(table, "%.2f", interval.mean);
    } else {
        table_add(table, "%.2f ± %.2f", interval.mean, interval.half_width);
    }
}

/* Better, worse, or not to be told apart. */
static enum style style_of(const struct interval *interval)
{
    if (isnan(interval->half_width)) {
        return STYLE_PLAIN;
    }
    if (interval->mean + interval->half_width < 0) {
        return STYLE_GOOD;
    }
    return interval->mean - interval->half_width > 0 ? STYLE_BAD : STYLE_PLAIN;
}

static void add_difference(struct table *table, const struct line *line, bool comparable)
{
    const uint32_t count = gather_pairs(line, latency_mean);
    const struct interval interval = statistics_paired_percent(line->others, line->values, count);
    if (!comparable || !isfinite(interval.mean)) {
        table_add(table, "-");
    } else if (isnan(interval.half_width)) {
        table_add(table, "%+.1f %%", interval.mean);
    } else {
        table_add(table, "%+.1f ± %.1f %%", interval.mean, interval.half_width);
        table_style(table, style_of(&interval));
    }
}

static void add_slo(struct table *table, double percent, bool grows)
{
    if (grows && percent > 0) {
        table_add(table, "< %.1f", percent);
    } else {
        table_add_number(table, 1, percent);
    }
}

static void add_row(struct table *table, const struct line *line, bool has_slo)
{
    const bool grows = is_growing(line);
    const bool comparable = line->policy > 0 && !grows && is_steady(line, /* policy */ 0);
    table_add(table, "%s", line->group->policies[line->policy].text);
    add_latency(table, line, grows);
    if (grows) {
        table_add(table, "-");
        table_add(table, "-");
    } else {
        add_mean(table, line, 1, latency_p99);
        add_mean(table, line, 2, slowdown_mean);
    }
    add_ratio(table, line, comparable);
    if (has_slo) {
        const struct fairness *fairness = line->fairness;
        const bool is_known = fairness->worst < fairness->count;
        const uint32_t count = gather(line, slo_percent);
        add_slo(table, statistics_mean(line->values, count), grows);
        add_slo(
            table, is_known ? 100 * fairness->rows[fairness->worst].slo_hit_rate : FIGURE_NONE,
            grows);
    } else {
        table_add(table, "-");
        table_add(table, "-");
    }
    table_add_number(table, 2, grows ? FIGURE_NONE : line->fairness->index);
    add_mean(table, line, 1, cache_percent);
    add_mean(table, line, 0, loads);
    add_mean(table, line, 1, busy_percent);
    add_mean(table, line, 1, workers_used);
    add_stable(table, line);
    add_difference(table, line, comparable);
    if (grows) {
        table_style_row(table, STYLE_FAINT);
    }
}

static void print_title(const struct compare_group *group, FILE *file)
{
    const struct scenario *scenario = group->scenario;
    const struct arrivals *arrivals = &scenario->arrivals;
    const double rate_per_s = arrivals->kind == ARRIVALS_LIST ? 0 : arrivals->rate_per_s;
    const enum style style = style_is_on(file) ? STYLE_BOLD : STYLE_PLAIN;
    char rate[RUN_RATE_BYTES];
    (void)fprintf(
        file, "%s%s%s: %" PRIu32 " worker%s, %" PRIu64 " jobs, %" PRIu32 " seed%s%s\n",
        style_begin(style), scenario->name,
        run_rate_text(rate_per_s, arrivals_mean_rate(arrivals), rate),
        scenario->fleet->worker_count, scenario->fleet->worker_count == 1 ? "" : "s",
        scenario->jobs, group->seed_count, group->seed_count == 1 ? "" : "s", style_end(style));
}

/* Latencies are of completed jobs: a policy must not look good by losing some. */
static void print_notes(const struct line *line, FILE *file)
{
    uint64_t jobs = 0;
    uint64_t completed = 0;
    uint32_t uncounted = 0;
    const uint32_t priced = gather(line, price_reserved);
    const double reserved = priced > 0 ? statistics_mean(line->values, priced) : 0;
    if (gather(line, price_per_job) > 0 && reserved > 0) {
        (void)fprintf(
            file, "%s: a job costs %.3g while it runs, %.3g with what is held for it\n",
            line->group->policies[line->policy].text, statistics_mean(line->values, priced),
            reserved);
    }
    for (uint32_t i = 0; i < line->group->seed_count; i++) {
        const struct compare_run *run = compare_plan_run(line->plan, line->group, line->policy, i);
        jobs += run->result.report.jobs;
        completed += run->result.report.completed;
        uncounted += run->has_result && run->result.report.counted == 0 ? 1 : 0;
    }
    if (completed < jobs) {
        (void)fprintf(
            file, "%s: %" PRIu64 " of %" PRIu64 " jobs were refused, failed or cancelled\n",
            line->group->policies[line->policy].text, jobs - completed, jobs);
    }
    if (uncounted > 0) {
        (void)fprintf(
            file, "%s: in %" PRIu32 " of %" PRIu32 " runs no job was counted\n",
            line->group->policies[line->policy].text, uncounted, line->group->seed_count);
    }
}

void compare_table_print(
    const struct compare_plan *plan, const struct compare_group *group, FILE *file)
{
    static const struct table_column columns[] = {
        {"POLICY", false}, {"LATENCY ms", true}, {"P99 ms", true},  {"SLOW-DOWN", true},
        {"RATIO", true},   {"SLO %", true},      {"WORST %", true}, {"FAIR", true},
        {"CACHE %", true}, {"LOADS", true},      {"BUSY %", true},  {"WORKERS", true},
        {"STABLE", true},  {"VS FIRST", true},
    };
    /* WORKERS, BUSY %, LOADS, RATIO, FAIR, ... */
    static const uint8_t spares[] = {11, 10, 9, 4, 7, 8, 2, 6};
    struct table table;
    struct line line = {
        .plan = plan,
        .group = group,
        .values = memory_zeroed(group->seed_count, sizeof(double)),
        .others = memory_zeroed(group->seed_count, sizeof(double)),
        .fairness = memory_zeroed(1, sizeof(struct fairness)),
    };
    table_init(&table, columns, ARRAY_COUNT(columns));
    table_spare(&table, spares, ARRAY_COUNT(spares));
    for (; line.policy < group->policy_count; line.policy++) {
        compare_fairness_of(plan, group, line.policy, line.fairness);
        add_row(&table, &line, run_has_slo(group->scenario));
    }
    print_title(group, file);
    table_print(&table, file);
    table_deinit(&table);
    for (line.policy = 0; line.policy < group->policy_count; line.policy++) {
        print_notes(&line, file);
        compare_fairness_of(plan, group, line.policy, line.fairness);
        compare_fairness_note(line.fairness, group->policies[line.policy].text, file);
    }
    if (group->seed_count == 1) {
        (void)fprintf(file, "one seed: there are no intervals; --seeds N runs more\n");
    }
    free(line.values);
    free(line.others);
    free(line.fairness);
}
