#include "cli/check_scenario.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/units.h"
#include "console/table.h"
#include "lab/offered.h"
#include "model/builtin.h"

enum { TASKS_SHOWN = 64 };

static void print_head(const struct offered *offered)
{
    if (offered->rate_per_s <= 0) {
        (void)printf("  all requests come at once\n");
        return;
    }
    (void)printf(
        "  at %.6g/s: %.3g of %" PRIu32 " workers busy if nothing is batched%s\n",
        offered->rate_per_s, offered->busy, offered->worker_count,
        offered->busy >= offered->worker_count ? "; that is more than they can do" : "");
}

static void add_task(
    struct table *table, const struct workflow *workflow, uint32_t task,
    const struct offered *offered, uint32_t number)
{
    const struct offered_task *mean = &offered->tasks[workflow->queue_first + task];
    table_add(table, "  %s", task == 0 ? workflow->name : "");
    table_add(table, "%s", workflow->tasks[task].name);
    table_add(table, mean->items == floor(mean->items) ? "%.0f" : "%.1f", mean->items);
    table_add(table, "%.4g", 1e3 * mean->run_s);
    table_add(table, "%.3g", offered->rates[number] * mean->run_s);
}

static void print_tasks(const struct scenario *scenario, const struct offered *offered)
{
    static const struct table_column columns[] = {
        {"  workflow", false}, {"task", false}, {"items", true}, {"run ms", true}, {"busy", true}};
    const struct catalogue *catalogue = scenario->catalogue;
    struct table table;
    uint32_t count = 0;
    table_init(&table, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        const struct workflow *workflow = catalogue->workflows[i];
        for (uint32_t task = 0; task < workflow->task_count; task++) {
            if (builtin_is_reserved(catalogue->models[workflow->tasks[task].run])) {
                continue;
            }
            if (count < TASKS_SHOWN) {
                add_task(&table, workflow, task, offered, i);
            }
            count++;
        }
    }
    table_print(&table, stdout);
    table_deinit(&table);
    if (count > TASKS_SHOWN) {
        (void)printf("  and %" PRIu32 " more tasks\n", count - TASKS_SHOWN);
    }
}

void check_scenario_print(const struct scenario *scenario)
{
    struct offered offered;
    offered_init(&offered, scenario);
    print_head(&offered);
    print_tasks(scenario, &offered);
    offered_deinit(&offered);
}
