#include "cli/compare_saturation_print.h"

#include <inttypes.h>
#include <math.h>

#include "base/units.h"
#include "cli/report_json.h"
#include "console/table.h"

static const struct compare_group *group_of(
    const struct compare_saturation *study, const struct saturation_case *subject)
{
    return &study->plan->groups[subject->group];
}

static const char *policy_of(
    const struct compare_saturation *study, const struct saturation_case *subject)
{
    return group_of(study, subject)->policies[subject->policy].text;
}

/* Over the saturation of the first policy, whose case comes before; NAN unless both were found. */
static double ratio_to_first(const struct saturation_case *subject)
{
    const struct saturation_case *first = subject - subject->policy;
    const bool is_known =
        subject->search.verdict == SATURATION_FOUND && first->search.verdict == SATURATION_FOUND;
    return is_known ? subject->search.rate_low / first->search.rate_low : (double)NAN;
}

static struct saturation_figures figures_at(
    const struct compare_saturation *study, const struct saturation_case *subject,
    enum saturation_part part)
{
    if (subject->parts[part] == SATURATION_NOT_RUN) {
        return (struct saturation_figures){.latency_ms = (double)NAN, .slowdown = (double)NAN};
    }
    return compare_saturation_figures(study, subject, &subject->points[subject->parts[part]]);
}

/* What an interrupted search knows. */
static void add_bracket(struct table *table, const struct saturation *search)
{
    if (search->try_count == 0) {
        table_add(table, "-");
    } else if (search->rate_low <= 0) {
        table_add(table, "below %g", search->rate_high);
    } else if (search->rate_high <= 0) {
        table_add(table, "above %g", search->rate_low);
    } else {
        table_add(table, "%g to %g", search->rate_low, search->rate_high);
    }
}

static void add_rate(struct table *table, const struct saturation *search)
{
    if (search->verdict == SATURATION_OPEN) {
        table_add(table, "-");
        add_bracket(table, search);
    } else if (search->verdict == SATURATION_NEVER) {
        table_add(table, "none");
        table_add(table, "below %g", search->rate_high);
    } else if (search->verdict == SATURATION_ALWAYS) {
        table_add(table, "none");
        table_add(table, "above %g", search->rate_low);
    } else {
        table_add(table, "%g", search->rate_low);
        table_add(table, "%g to %g", search->rate_low, search->rate_high);
    }
}

static void add_row(
    struct table *table, const struct compare_saturation *study,
    const struct saturation_case *subject)
{
    const double ratio = ratio_to_first(subject);
    table_add(table, "%s", policy_of(study, subject));
    add_rate(table, &subject->search);
    if (isnan(ratio)) {
        table_add(table, "-");
    } else {
        table_add(table, "%.2f", ratio);
    }
    for (uint32_t i = 0; i < SATURATION_PARTS; i++) {
        const struct saturation_figures figures =
            figures_at(study, subject, (enum saturation_part)i);
        if (subject->search.verdict == SATURATION_FOUND && figures.finished_count > 0) {
            table_add_number(table, 1, figures.latency_ms);
            table_add_number(table, 2, figures.slowdown);
        } else {
            table_add(table, "-");
            table_add(table, "-");
        }
    }
}

/* What the figures of a row do not say. */
static void print_notes(
    const struct compare_saturation *study, const struct saturation_case *subject, FILE *file)
{
    const struct saturation *search = &subject->search;
    if (search->verdict == SATURATION_OPEN) {
        (void)fprintf(
            file, "%s: interrupted after %" PRIu32 " rates\n", policy_of(study, subject),
            search->try_count);
        return;
    }
    if (search->verdict == SATURATION_NEVER) {
        (void)fprintf(
            file, "%s: unstable even at %g/s, the lowest rate that was tried\n",
            policy_of(study, subject), search->rate_high);
        return;
    }
    if (search->verdict == SATURATION_ALWAYS) {
        (void)fprintf(
            file, "%s: stable even at %g/s, the highest rate that was tried%s\n",
            policy_of(study, subject), search->rate_low,
            group_of(study, subject)->scenario->jobs < 100 ? "; runs this short cannot tell" : "");
    }
    for (uint32_t i = 0; i < subject->point_count; i++) {
        const struct saturation_point *point = &subject->points[i];
        const struct saturation_figures figures = compare_saturation_figures(study, subject, point);
        if (point->rate_per_s == search->rate_low && figures.completed < figures.jobs) {
            (void)fprintf(
                file,
                "%s: at %g/s, %" PRIu64 " of %" PRIu64 " jobs were refused, failed or cancelled\n",
                policy_of(study, subject), point->rate_per_s, figures.jobs - figures.completed,
                figures.jobs);
        }
    }
}

static void print_title(
    const struct compare_saturation *study, const struct compare_group *group, FILE *file)
{
    const struct scenario *scenario = group->scenario;
    (void)fprintf(
        file,
        "%s: saturation within %g %%, %" PRIu32 " worker%s, %" PRIu64 " jobs, %" PRIu32 " seed%s\n",
        scenario->name, 100 * study->precision, scenario->fleet->worker_count,
        scenario->fleet->worker_count == 1 ? "" : "s", scenario->jobs, group->seed_count,
        group->seed_count == 1 ? "" : "s");
}

static void print_group(
    const struct compare_saturation *study, const struct saturation_case *cases, FILE *file)
{
    static const struct table_column columns[] = {
        {"POLICY", false},           {"RATE /s", true},           {"BRACKET /s", true},
        {"VS FIRST", true},          {"LATENCY ms AT 0.5", true}, {"SLOW-DOWN", true},
        {"LATENCY ms AT 0.8", true}, {"SLOW-DOWN", true},
    };
    const struct compare_group *group = group_of(study, cases);
    struct table table;
    table_init(&table, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < group->policy_count; i++) {
        add_row(&table, study, &cases[i]);
    }
    print_title(study, group, file);
    table_print(&table, file);
    table_deinit(&table);
    for (uint32_t i = 0; i < group->policy_count; i++) {
        print_notes(study, &cases[i], file);
    }
}

void compare_saturation_print(const struct compare_saturation *study, FILE *file)
{
    uint32_t first = 0;
    while (first < study->case_count) {
        if (first > 0) {
            (void)fputc('\n', file);
        }
        print_group(study, &study->cases[first], file);
        first += group_of(study, &study->cases[first])->policy_count;
    }
}

/* null for what is not a number, or not known. */
static json_t *real_json(double value)
{
    return isfinite(value) && value > 0 ? json_real(value) : json_null();
}

static json_t *part_json(
    const struct compare_saturation *study, const struct saturation_case *subject,
    enum saturation_part part)
{
    const struct saturation_figures figures = figures_at(study, subject, part);
    if (subject->parts[part] == SATURATION_NOT_RUN) {
        return json_null();
    }
    return json_pack(
        "{s:f, s:o, s:o, s:I, s:I}", "rate", subject->points[subject->parts[part]].rate_per_s,
        "latency_ms", real_json(figures.latency_ms), "slowdown", real_json(figures.slowdown),
        "stable", (json_int_t)figures.stable_count, "finished", (json_int_t)figures.finished_count);
}

static json_t *case_json(
    const struct compare_saturation *study, const struct saturation_case *subject)
{
    static const char *const verdicts[] = {
        [SATURATION_OPEN] = "open",
        [SATURATION_FOUND] = "found",
        [SATURATION_NEVER] = "never stable",
        [SATURATION_ALWAYS] = "always stable",
    };
    const struct compare_group *group = group_of(study, subject);
    const struct saturation *search = &subject->search;
    return json_pack(
        "{s:s, s:s, s:s, s:o, s:o, s:o, s:f, s:I, s:I, s:o, s:o}", "scenario",
        group->scenario->name, "policy", policy_of(study, subject), "verdict",
        verdicts[search->verdict], "rate_low", real_json(search->rate_low), "rate_high",
        real_json(search->rate_high), "ratio_to_first", real_json(ratio_to_first(subject)),
        "precision", study->precision, "tries", (json_int_t)search->try_count, "seeds",
        (json_int_t)group->seed_count, "at_half", part_json(study, subject, SATURATION_AT_HALF),
        "at_0.8", part_json(study, subject, SATURATION_AT_MOST));
}

/* By policy, then in the order in which the rates were tried. */
static void add_runs(
    json_t *runs, const struct compare_saturation *study, const struct saturation_case *subject)
{
    for (uint32_t i = 0; i < subject->point_count; i++) {
        const struct compare_run *run = &study->runs[subject->points[i].run_first];
        for (uint32_t k = 0; k < group_of(study, subject)->seed_count; k++, run++) {
            if (run->has_result) {
                (void)json_array_append_new(runs, report_json(&run->result));
            }
        }
    }
}

json_t *compare_saturation_json(const struct compare_saturation *study)
{
    json_t *cases = json_array();
    json_t *runs = json_array();
    for (uint32_t i = 0; i < study->case_count; i++) {
        (void)json_array_append_new(cases, case_json(study, &study->cases[i]));
        add_runs(runs, study, &study->cases[i]);
    }
    return json_pack("{s:o, s:o}", "saturation", cases, "runs", runs);
}
