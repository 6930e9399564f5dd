#include "cli/compare_fairness.h"

#include <inttypes.h>
#include <math.h>

#include "base/units.h"
#include "console/table.h"
#include "trace/quantiles.h"

/* The mean of those that are added and not NAN. */
struct mean {
    double sum;
    uint32_t count;
};

static void add_to(struct mean *mean, double value)
{
    if (!isnan(value)) {
        mean->sum += value;
        mean->count++;
    }
}

static double mean_of(const struct mean *mean)
{
    return mean->count == 0 ? FIGURE_NONE : mean->sum / mean->count;
}

/* The workflow with number @workflow under @policy, over all seeds. */
static struct fairness_row row_of(
    const struct compare_plan *plan, const struct compare_group *group, uint32_t policy,
    uint32_t workflow)
{
    struct mean slowdown = {0};
    struct mean hits = {0};
    struct fairness_row all = {
        .priority = group->scenario->catalogue->workflows[workflow]->priority};
    for (uint32_t i = 0; i < group->seed_count; i++) {
        const struct compare_run *run = compare_plan_run(plan, group, policy, i);
        if (run->has_result) {
            const struct fairness_row *row = &run->result.report.fairness.rows[workflow];
            add_to(&slowdown, row->slowdown);
            add_to(&hits, row->slo_hit_rate);
            all.counted += row->counted;
            all.slo_jobs += row->slo_jobs;
            all.slo_hits += row->slo_hits;
        }
    }
    all.slowdown = mean_of(&slowdown);
    all.slo_hit_rate = mean_of(&hits);
    return all;
}

void compare_fairness_of(
    const struct compare_plan *plan, const struct compare_group *group, uint32_t policy,
    struct fairness *fairness_out)
{
    fairness_out->count = group->scenario->catalogue->workflow_count;
    for (uint32_t i = 0; i < fairness_out->count; i++) {
        fairness_out->rows[i] = row_of(plan, group, policy, i);
    }
    fairness_judge(fairness_out);
}

/* As workflows say it: 1 is the most urgent. */
static uint32_t said(uint32_t priority)
{
    return PRIORITY_MAX + 1 - priority;
}

void compare_fairness_note(const struct fairness *fairness, const char *policy, FILE *file)
{
    struct fairness_level levels[PRIORITY_MAX + 1];
    const uint32_t count = fairness_levels(fairness, levels);
    const char *separator = "";
    if (count < 2) {
        return;
    }
    (void)fprintf(file, "%s: SLOs met by priority: ", policy);
    for (uint32_t i = 0; i < count; i++) {
        if (FIGURE_IS_NONE(levels[i].slo_hit_rate)) {
            continue;
        }
        (void)fprintf(file, "%s%.1f %% of ", separator, 100 * levels[i].slo_hit_rate);
        if (levels[i].priority > 0) {
            (void)fprintf(file, "%" PRIu32, said(levels[i].priority));
        } else {
            (void)fprintf(file, "those without");
        }
        separator = ", ";
    }
    (void)fputc('\n', file);
}

static void add_policy(
    struct table *table, const struct compare_plan *plan, const struct compare_group *group,
    uint32_t policy)
{
    const struct catalogue *catalogue = group->scenario->catalogue;
    struct fairness fairness;
    compare_fairness_of(plan, group, policy, &fairness);
    for (uint32_t i = 0; i < fairness.count; i++) {
        table_add(table, "%s", i == 0 ? group->policies[policy].text : "");
        if (i == 0) {
            table_add_number(table, 3, fairness.index);
        } else {
            table_add(table, "%s", "");
        }
        table_add(table, "%s", catalogue->workflows[i]->name);
        if (fairness.rows[i].priority > 0) {
            table_add(table, "%" PRIu32, said(fairness.rows[i].priority));
        } else {
            table_add(table, "-");
        }
        table_add_number(table, 2, fairness.rows[i].slowdown);
        table_add_number(table, 1, 100 * fairness.rows[i].slo_hit_rate);
        table_add(table, "%s", i == fairness.worst ? "worst" : "");
    }
}

void compare_fairness_print(
    const struct compare_plan *plan, const struct compare_group *group, FILE *file)
{
    static const struct table_column columns[] = {
        {"POLICY", false},   {"FAIRNESS", true}, {"WORKFLOW", false}, {"PRIORITY", true},
        {"SLOW-DOWN", true}, {"SLO %", true},    {"", false},
    };
    struct table table;
    table_init(&table, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < group->policy_count; i++) {
        add_policy(&table, plan, group, i);
    }
    (void)fputc('\n', file);
    table_print(&table, file);
    table_deinit(&table);
}
