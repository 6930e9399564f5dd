#include "service/late_report.h"

#include <inttypes.h>

#include "base/units.h"
#include "console/table.h"

static void add_row(struct table *table, const char *name, const struct late_figures *figures)
{
    const double count_ns = 1e9 * (double)figures->late;
    double took_ns = 0;
    for (uint32_t i = 0; i < LATENCY_PARTS; i++) {
        took_ns += (double)figures->ns[i];
    }
    table_add(table, "%s", name);
    table_add(table, "%" PRIu64 " of %" PRIu64, figures->late, figures->done);
    table_add(table, "%.2f", took_ns / count_ns);
    for (uint32_t i = 0; i < LATENCY_PARTS; i++) {
        table_add(table, "%.2f", (double)figures->ns[i] / count_ns);
    }
}

void late_report_print(
    const struct catalogue *catalogue, const struct late_figures *figures, FILE *file)
{
    static const struct table_column columns[] = {
        {"workflow", false}, {"late", true},    {"mean, s", true}, {"queued", true},
        {"loading", true},   {"running", true}, {"moving", true},
    };
    struct table table;
    bool is_any = false;
    table_init(&table, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        if (figures[i].late > 0) {
            add_row(&table, catalogue->workflows[i]->name, &figures[i]);
            is_any = true;
        }
    }
    if (is_any) {
        table_print(&table, file);
    }
    table_deinit(&table);
}
