/* report_rows.c - the rows of a report: workflows, tasks, models and workers. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/units.h"
#include "cli/report_text.h"
#include "console/table.h"

enum {
    ROWS_MAX = 10, /* Of a table: the largest. --json has all. */
    NAME_WIDTH = 16,
    TASK_WIDTH = 28,
};

/* Which rows of a table are shown: the ROWS_MAX with the largest weights. */
struct shown {
    bool *rows;
    uint32_t count; /* Of all rows that have something to show. */
};

/* Rows of weight 0 have nothing to show. */
static struct shown choose(const double *weights, uint32_t count)
{
    struct shown shown = {.rows = memory_zeroed(count + 1, sizeof(*shown.rows))};
    for (uint32_t i = 0; i < count; i++) {
        shown.count += weights[i] > 0 ? 1 : 0;
    }
    for (uint32_t k = 0; k < ROWS_MAX; k++) {
        uint32_t best = count;
        for (uint32_t i = 0; i < count; i++) {
            if (!shown.rows[i] && weights[i] > 0 && (best == count || weights[i] > weights[best])) {
                best = i;
            }
        }
        if (best == count) {
            break;
        }
        shown.rows[best] = true;
    }
    return shown;
}

/* Print @table of @shown, whose rows are called @name and come in the order of @order. */
static void print(
    struct table *table, struct shown shown, const char *name, const char *order, FILE *file)
{
    (void)fputc('\n', file);
    table_print(table, file);
    if (shown.count > ROWS_MAX) {
        (void)fprintf(
            file, "the %d of %" PRIu32 " %s with the most %s; --json lists all\n", ROWS_MAX,
            shown.count, name, order);
    }
    table_deinit(table);
    free(shown.rows);
}

/* A name of at most @width characters; what is longer loses its end. */
static void add_name(struct table *table, const char *name, int width)
{
    if (snprintf(NULL, 0, "%s", name) <= width) {
        table_add(table, "%s", name);
    } else {
        table_add(table, "%.*s…", width - 1, name);
    }
}

static double mean_ms(int64_t sum_ns, uint64_t count)
{
    return count == 0 ? (double)NAN : (double)sum_ns / (double)count / 1e6;
}

static double ratio(double some, double all)
{
    return all > 0 ? some / all : (double)NAN;
}

/* The figures of a growing run depend on how long it was. */
static void add_workflow(
    struct table *table, const char *name, const struct details_workflow *row, bool stable)
{
    char bound[REPORT_BOUND_BYTES];
    const bool is_growing = !stable && row->counted > 0;
    add_name(table, name, NAME_WIDTH);
    table_add(table, "%" PRIu64, row->counted);
    if (is_growing) {
        table_add(table, "%s", report_text_bound(row->latency_ms.mean, bound));
        table_add(table, "-");
    } else {
        table_add_number(table, 1, row->latency_ms.mean);
        table_add_number(table, 1, row->latency_ms.p99);
    }
    if (is_growing && row->slo_hit_rate > 0) {
        table_add(table, "< %.1f", 100 * row->slo_hit_rate);
    } else {
        table_add_number(table, 1, 100 * row->slo_hit_rate);
    }
    for (uint32_t i = 0; i < LATENCY_PARTS; i++) {
        table_add_number(table, 1, is_growing ? (double)NAN : row->part_ms[i]);
    }
    if (is_growing) {
        table_style_row(table, STYLE_FAINT);
    }
}

static void print_workflows(
    const struct details *details, const struct catalogue *catalogue, bool stable, FILE *file)
{
    static const struct table_column columns[] = {
        {"WORKFLOW", false}, {"JOBS", true},    {"MEAN ms", true},
        {"P99 ms", true},    {"SLO %", true},   {"QUEUED", true},
        {"LOADING", true},   {"RUNNING", true}, {"MOVING", true},
    };
    double *weights = memory_zeroed(details->workflow_count + 1, sizeof(*weights));
    struct table table;
    for (uint32_t i = 0; i < details->workflow_count; i++) {
        weights[i] = (double)details->workflows[i].jobs;
    }
    const struct shown shown = choose(weights, details->workflow_count);
    table_init(&table, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < details->workflow_count; i++) {
        if (shown.rows[i]) {
            add_workflow(&table, catalogue->workflows[i]->name, &details->workflows[i], stable);
        }
    }
    if (shown.count > 1) {
        add_workflow(&table, "all", &details->total, stable);
    }
    free(weights);
    print(&table, shown, "workflows", "jobs", file);
}

static void add_task(
    struct table *table, const struct workflow *workflow, uint32_t task,
    const struct details_task *row, bool stable)
{
    char name[2 * NAME_BYTES_MAX];
    (void)snprintf(name, sizeof(name), "%s/%s", workflow->name, workflow->tasks[task].name);
    add_name(table, name, TASK_WIDTH);
    table_add(table, "%" PRIu64, row->started);
    table_add_number(table, 2, ratio((double)row->started, row->batches));
    table_add_number(table, 2, ratio(row->items, (double)row->started));
    table_add_number(table, 1, stable ? mean_ms(row->queued_ns, row->started) : (double)NAN);
    table_add_number(table, 1, mean_ms(row->loading_ns, row->started));
    table_add_number(table, 1, mean_ms(row->running_ns, row->started));
}

static void print_tasks(
    const struct details *details, const struct catalogue *catalogue, bool stable, FILE *file)
{
    static const struct table_column columns[] = {
        {"TASK", false},  {"RUNS", true},    {"BATCH", true},      {"ITEMS", true},
        {"QUEUED", true}, {"LOADING", true}, {"RUNNING ms", true},
    };
    double *weights = memory_zeroed(details->task_count + 1, sizeof(*weights));
    struct table table;
    for (uint32_t i = 0; i < details->task_count; i++) {
        const struct details_task *row = &details->tasks[i];
        weights[i] = (double)(row->queued_ns + row->loading_ns + row->running_ns);
    }
    const struct shown shown = choose(weights, details->task_count);
    table_init(&table, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        const struct workflow *workflow = catalogue->workflows[i];
        for (uint32_t task = 0; task < workflow->task_count; task++) {
            const uint32_t number = workflow->queue_first + task;
            if (shown.rows[number]) {
                add_task(&table, workflow, task, &details->tasks[number], stable);
            }
        }
    }
    free(weights);
    print(&table, shown, "tasks", "time", file);
}

static void print_models(
    const struct details *details, const struct catalogue *catalogue, FILE *file)
{
    static const struct table_column columns[] = {
        {"MODEL", false}, {"NEEDED", true},  {"HITS %", true},
        {"LOADS", true},  {"LOAD ms", true}, {"EVICTED", true},
    };
    double *weights = memory_zeroed(details->model_count + 1, sizeof(*weights));
    struct table table;
    for (uint32_t i = 0; i < details->model_count; i++) {
        weights[i] = (double)details->models[i].loads;
    }
    const struct shown shown = choose(weights, details->model_count);
    table_init(&table, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < details->model_count; i++) {
        const struct details_model *row = &details->models[i];
        if (!shown.rows[i]) {
            continue;
        }
        add_name(&table, catalogue->models[i], TASK_WIDTH);
        table_add(&table, "%" PRIu64, row->needed);
        const uint64_t hits = row->loads < row->needed ? row->needed - row->loads : 0;
        table_add_number(&table, 1, 100 * ratio((double)hits, (double)row->needed));
        table_add(&table, "%" PRIu64, row->loads);
        table_add_number(&table, 1, mean_ms(row->loading_ns, row->loaded));
        table_add(&table, "%" PRIu64, row->evictions);
    }
    free(weights);
    print(&table, shown, "models", "loads", file);
}

static void print_workers(const struct details *details, const struct fleet *fleet, FILE *file)
{
    static const struct table_column columns[] = {
        {"WORKER", false}, {"DEVICE", false}, {"TASKS", true},     {"BATCH", true},
        {"BUSY %", true},  {"LOADS", true},   {"LOADING s", true}, {"EVICTED", true},
    };
    double *weights = memory_zeroed(details->worker_count + 1, sizeof(*weights));
    struct table table;
    for (uint32_t i = 0; i < details->worker_count; i++) {
        const struct details_worker *row = &details->workers[i];
        weights[i] = row->busy_ns + (double)row->loads;
    }
    const struct shown shown = choose(weights, details->worker_count);
    table_init(&table, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < details->worker_count; i++) {
        const struct details_worker *row = &details->workers[i];
        if (!shown.rows[i]) {
            continue;
        }
        table_add(&table, "w%" PRIu32, i);
        add_name(&table, fleet->devices[fleet->workers[i].device], NAME_WIDTH);
        table_add(&table, "%" PRIu64, row->started);
        table_add_number(&table, 2, ratio((double)row->started, row->batches));
        table_add(&table, "%.1f", 100 * row->busy);
        table_add(&table, "%" PRIu64, row->loads);
        table_add(&table, "%.1f", (double)row->loading_ns / 1e9);
        table_add(&table, "%" PRIu64, row->evictions);
    }
    free(weights);
    print(&table, shown, "workers", "work", file);
}

void report_rows_print(
    const struct details *details, const struct scenario *scenario, bool stable, FILE *file)
{
    print_workflows(details, scenario->catalogue, stable, file);
    print_tasks(details, scenario->catalogue, stable, file);
    print_models(details, scenario->catalogue, file);
    print_workers(details, scenario->fleet, file);
}
