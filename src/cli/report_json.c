#include "cli/report_json.h"

#include <inttypes.h>

enum { DIGITS = 12 }; /* Of a number: more is noise, and 0.1 stays 0.1. */

static void add(json_t *object, const char *key, json_t *value)
{
    /* Fails only without memory; then a key is missing, and the reader says so. */
    (void)json_object_set_new(object, key, value == NULL ? json_null() : value);
}

static void add_real(json_t *object, const char *key, double value)
{
    add(object, key, json_real(value)); /* NULL, hence null, for what is not a number. */
}

static void add_count(json_t *object, const char *key, uint64_t value)
{
    add(object, key, json_integer((json_int_t)value));
}

static json_t *quantiles_json(const struct quantiles *quantiles)
{
    json_t *object = json_object();
    add_real(object, "mean", quantiles->mean);
    add_real(object, "p50", quantiles->p50);
    add_real(object, "p95", quantiles->p95);
    add_real(object, "p99", quantiles->p99);
    add_real(object, "max", quantiles->max);
    return object;
}

static void add_report(json_t *object, const struct run_result *result)
{
    const struct report *report = &result->report;
    add_count(object, "jobs", report->jobs);
    add_count(object, "completed", report->completed);
    add_count(object, "refused", report->refused);
    add_count(object, "failed", report->failed);
    add_count(object, "cancelled", report->cancelled);
    add_count(object, "repeated", report->repeated);
    add_count(object, "warmup_jobs", report->warmup_jobs);
    add_count(object, "counted", report->counted);
    add(object, "latency_ms", quantiles_json(&report->latency_ms));
    add(object, "slowdown", quantiles_json(&report->slowdown));
    add_real(object, "slo_hit_rate", report->slo_hit_rate);
    add_count(object, "slo_hung_up", report->slo_hung_up);
    add_real(object, "cost_per_job", report->cost_per_job);
    add_real(object, "price_per_job", report->price_per_job);
    add_real(object, "price_reserved", report->price_reserved);
    add_count(object, "cold_starts", report->cold_starts);
    add_count(object, "claims_declined", report->claims_declined);
    add_count(object, "plan_misses", report->plan_misses);
    add_real(object, "cache_hit_rate", report->cache_hit_rate);
    add_count(object, "loads", report->loads);
    add_count(object, "evictions", report->evictions);
    add_count(object, "moved", report->moved);
    add_count(object, "workers", result->worker_count);
    add_count(object, "workers_used", report->workers_used);
    add_real(object, "utilisation", report->utilisation);
    add_real(object, "in_system_mean", report->in_system_mean);
    add(object, "stable", report->counted > 0 ? json_boolean(report->stable) : NULL);
    add_real(object, "duration_s", report->duration_s);
}

static void add_speed(json_t *object, const struct run_result *result)
{
    const struct sim_counters *counters = &result->counters;
    json_t *decision = json_object();
    add_count(object, "events", counters->events);
    add_count(object, "steps", counters->steps);
    add_count(object, "tasks", result->report.tasks);
    add_real(object, "wall_s", result->wall_s);
    add_real(object, "events_per_s", (double)counters->events / result->wall_s);
    add_real(object, "tasks_per_s", (double)result->report.tasks / result->wall_s);
    add_count(object, "decisions", counters->decisions);
    add_real(decision, "mean", counters->decision_mean_ns);
    add_real(decision, "p99", counters->decision_p99_ns);
    add(object, "decision_ns", decision);
    add_real(object, "row_age_ms", counters->row_age_mean_ns / 1e6);
}

json_t *report_json(const struct run_result *result)
{
    char hash[17]; /* As text: 64 bits do not fit the numbers of most readers. */
    (void)snprintf(hash, sizeof(hash), "%016" PRIx64, result->report.trace_hash);
    json_t *object = json_object();
    add(object, "scenario", json_string(result->scenario));
    add(object, "policy", json_string(result->policy));
    add_count(object, "seed", result->seed);
    add(object, "rate", result->rate_per_s > 0 ? json_real(result->rate_per_s) : NULL);
    add(object, "mean_rate", result->mean_per_s > 0 ? json_real(result->mean_per_s) : NULL);
    add(object, "interrupted", json_boolean(result->interrupted));
    add_report(object, result);
    add_speed(object, result);
    add(object, "trace_hash", json_string(hash));
    return object;
}

/* As workflows say it: 1 is the most urgent, and one without has null. */
static json_t *priority_json(uint32_t priority)
{
    return priority == 0 ? NULL : json_integer(PRIORITY_MAX + 1 - (json_int_t)priority);
}

static json_t *levels_json(const struct fairness *fairness)
{
    struct fairness_level levels[PRIORITY_MAX + 1];
    const uint32_t count = fairness_levels(fairness, levels);
    json_t *rows = json_array();
    for (uint32_t i = 0; i < count; i++) {
        json_t *row = json_object();
        add(row, "priority", priority_json(levels[i].priority));
        add_real(row, "slowdown", levels[i].slowdown);
        add_real(row, "slo_hit_rate", levels[i].slo_hit_rate);
        (void)json_array_append_new(rows, row);
    }
    return rows;
}

void report_json_add_fairness(
    json_t *object, const struct report *report, const struct scenario *scenario)
{
    const struct fairness *fairness = &report->fairness;
    struct workflow *const *workflows = scenario->catalogue->workflows;
    json_t *rows = json_array();
    for (uint32_t i = 0; i < fairness->count; i++) {
        json_t *row = json_object();
        add(row, "workflow", json_string(workflows[i]->name));
        add(row, "priority", priority_json(fairness->rows[i].priority));
        add_real(row, "slowdown", fairness->rows[i].slowdown);
        add_real(row, "slo_hit_rate", fairness->rows[i].slo_hit_rate);
        (void)json_array_append_new(rows, row);
    }
    const bool is_known = fairness->worst < fairness->count;
    json_t *all = json_object();
    add_real(all, "index", fairness->index);
    add(all, "worst", is_known ? json_string(workflows[fairness->worst]->name) : NULL);
    add_real(
        all, "worst_slo_hit_rate",
        is_known ? fairness->rows[fairness->worst].slo_hit_rate : FIGURE_NONE);
    add(all, "workflows", rows);
    add(all, "priorities", levels_json(fairness));
    add(object, "fairness", all);
}

/* Milliseconds of each part; together they are the mean latency. */
static json_t *parts_json(const struct details_workflow *row)
{
    json_t *object = json_object();
    for (uint32_t i = 0; i < LATENCY_PARTS; i++) {
        add_real(object, latency_part_names[i], row->part_ms[i]);
    }
    return object;
}

static json_t *workflow_json(const char *name, const struct details_workflow *row)
{
    json_t *object = json_object();
    add(object, "workflow", json_string(name));
    add_count(object, "jobs", row->jobs);
    add_count(object, "completed", row->completed);
    add_count(object, "refused", row->refused);
    add_count(object, "failed", row->failed);
    add_count(object, "cancelled", row->cancelled);
    add_count(object, "counted", row->counted);
    add(object, "latency_ms", quantiles_json(&row->latency_ms));
    add_real(object, "slo_hit_rate", row->slo_hit_rate);
    add(object, "time_ms", parts_json(row));
    return object;
}

static double mean_ms(int64_t sum_ns, uint64_t count)
{
    return count == 0 ? FIGURE_NONE : (double)sum_ns / (double)count / 1e6;
}

static json_t *task_json(
    const struct workflow *workflow, uint32_t task, const struct details_task *row)
{
    json_t *object = json_object();
    add(object, "workflow", json_string(workflow->name));
    add(object, "task", json_string(workflow->tasks[task].name));
    add_count(object, "runs", row->started);
    add_real(object, "batches", row->batches);
    add_real(object, "items", row->items);
    add_real(object, "queued_ms", mean_ms(row->queued_ns, row->started));
    add_real(object, "loading_ms", mean_ms(row->loading_ns, row->started));
    add_real(object, "running_ms", mean_ms(row->running_ns, row->started));
    return object;
}

static json_t *model_json(const char *name, const struct details_model *row)
{
    json_t *object = json_object();
    add(object, "model", json_string(name));
    add_count(object, "needed", row->needed);
    add_count(object, "loads", row->loads);
    add_real(object, "load_ms", mean_ms(row->loading_ns, row->loaded));
    add_count(object, "evictions", row->evictions);
    return object;
}

static json_t *worker_json(
    const struct fleet *fleet, uint32_t worker, const struct details_worker *row)
{
    json_t *object = json_object();
    add_count(object, "worker", worker);
    add_count(object, "node", fleet->workers[worker].node);
    add(object, "device", json_string(fleet->devices[fleet->workers[worker].device]));
    add_count(object, "tasks", row->started);
    add_real(object, "batches", row->batches);
    add_real(object, "busy", row->busy);
    add_count(object, "loads", row->loads);
    add_real(object, "loading_s", (double)row->loading_ns / 1e9);
    add_count(object, "evictions", row->evictions);
    return object;
}

void report_json_add_rows(
    json_t *object, const struct details *details, const struct scenario *scenario)
{
    const struct catalogue *catalogue = scenario->catalogue;
    json_t *workflows = json_array();
    json_t *tasks = json_array();
    json_t *models = json_array();
    json_t *workers = json_array();
    for (uint32_t i = 0; i < details->workflow_count; i++) {
        const struct workflow *workflow = catalogue->workflows[i];
        (void)json_array_append_new(
            workflows, workflow_json(workflow->name, &details->workflows[i]));
        for (uint32_t task = 0; task < workflow->task_count; task++) {
            (void)json_array_append_new(
                tasks, task_json(workflow, task, &details->tasks[workflow->queue_first + task]));
        }
    }
    for (uint32_t i = 0; i < details->model_count; i++) {
        (void)json_array_append_new(models, model_json(catalogue->models[i], &details->models[i]));
    }
    for (uint32_t i = 0; i < details->worker_count; i++) {
        (void)json_array_append_new(workers, worker_json(scenario->fleet, i, &details->workers[i]));
    }
    add(object, "time_ms", parts_json(&details->total));
    add(object, "by_workflow", workflows);
    add(object, "by_task", tasks);
    add(object, "by_model", models);
    add(object, "by_worker", workers);
}

void report_json_print(json_t *json, FILE *file)
{
    /* What could not be written is seen when the file is flushed. */
    (void)json_dumpf(json, file, JSON_INDENT(2) | JSON_REAL_PRECISION(DIGITS));
    (void)fputc('\n', file);
    json_decref(json);
}
