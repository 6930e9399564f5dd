#include "cli/compare_fairness.h"

#include <math.h>

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
    for (uint32_t i = 0; i < group->seed_count; i++) {
        const struct compare_run *run = compare_plan_run(plan, group, policy, i);
        if (run->has_result) {
            add_to(&slowdown, run->result.report.fairness.rows[workflow].slowdown);
            add_to(&hits, run->result.report.fairness.rows[workflow].slo_hit_rate);
        }
    }
    return (struct fairness_row){.slowdown = mean_of(&slowdown), .slo_hit_rate = mean_of(&hits)};
}

static void add_policy(
    struct table *table, const struct compare_plan *plan, const struct compare_group *group,
    uint32_t policy)
{
    const struct catalogue *catalogue = group->scenario->catalogue;
    struct fairness fairness = {.count = catalogue->workflow_count};
    for (uint32_t i = 0; i < fairness.count; i++) {
        fairness.rows[i] = row_of(plan, group, policy, i);
    }
    fairness_judge(&fairness);
    for (uint32_t i = 0; i < fairness.count; i++) {
        table_add(table, "%s", i == 0 ? group->policies[policy].text : "");
        if (i == 0) {
            table_add_number(table, 3, fairness.index);
        } else {
            table_add(table, "%s", "");
        }
        table_add(table, "%s", catalogue->workflows[i]->name);
        table_add_number(table, 2, fairness.rows[i].slowdown);
        table_add_number(table, 1, 100 * fairness.rows[i].slo_hit_rate);
        table_add(table, "%s", i == fairness.worst ? "worst" : "");
    }
}

void compare_fairness_print(
    const struct compare_plan *plan, const struct compare_group *group, FILE *file)
{
    static const struct table_column columns[] = {
        {"POLICY", false},   {"FAIRNESS", true}, {"WORKFLOW", false},
        {"SLOW-DOWN", true}, {"SLO %", true},    {"", false},
    };
    struct table table;
    table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (uint32_t i = 0; i < group->policy_count; i++) {
        add_policy(&table, plan, group, i);
    }
    (void)fputc('\n', file);
    table_print(&table, file);
    table_deinit(&table);
}
