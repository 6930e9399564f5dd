#include "cli/serve_report.h"

#include <inttypes.h>
#include <math.h>

#include "base/units.h"
#include "cli/report_json.h"
#include "console/table.h"

static void add_row(
    struct table *table, const char *name, int decimals, double served, double predicted)
{
    table_add(table, "  %s", name);
    table_add_number(table, decimals, served);
    table_add_number(table, decimals, predicted);
    table_add_number(table, 3, predicted > 0 ? served / predicted : (double)NAN);
}

static void add_latencies(
    struct table *table, const struct quantiles *served, const struct quantiles *predicted)
{
    add_row(table, "latency mean, ms", 1, served->mean, predicted->mean);
    add_row(table, "latency p50, ms", 1, served->p50, predicted->p50);
    add_row(table, "latency p95, ms", 1, served->p95, predicted->p95);
    add_row(table, "latency p99, ms", 1, served->p99, predicted->p99);
    add_row(table, "latency max, ms", 1, served->max, predicted->max);
}

void serve_report_print(const struct run_result *served, const struct run_result *predicted)
{
    static const struct table_column columns[] = {
        {"", false}, {"served", true}, {"predicted", true}, {"ratio", true}};
    const struct report *left = &served->report;
    const struct report *right = &predicted->report;
    struct table table;
    (void)printf("%s: %s", served->scenario, served->policy);
    if (served->rate_per_s > 0) {
        (void)printf(" at %g/s", served->rate_per_s);
    }
    (void)printf(
        ", seed %" PRIu64 ": served for %.1f s, predicted in %.3f s\n", served->seed,
        served->wall_s, predicted->wall_s);
    table_init(&table, columns, ARRAY_COUNT(columns));
    add_row(&table, "jobs", 0, (double)left->jobs, (double)right->jobs);
    add_row(&table, "completed", 0, (double)left->completed, (double)right->completed);
    add_row(&table, "refused", 0, (double)left->refused, (double)right->refused);
    add_row(&table, "failed", 0, (double)left->failed, (double)right->failed);
    add_latencies(&table, &left->latency_ms, &right->latency_ms);
    if (served->has_slo) {
        add_row(&table, "SLO met, %", 2, 100 * left->slo_hit_rate, 100 * right->slo_hit_rate);
    }
    add_row(&table, "loads", 0, (double)left->loads, (double)right->loads);
    add_row(&table, "evictions", 0, (double)left->evictions, (double)right->evictions);
    add_row(&table, "cache hits, %", 1, 100 * left->cache_hit_rate, 100 * right->cache_hit_rate);
    add_row(&table, "workers busy, %", 1, 100 * left->utilisation, 100 * right->utilisation);
    table_print(&table, stdout);
    table_deinit(&table);
}

void serve_report_json(const struct run_result *served, const struct run_result *predicted)
{
    if (predicted == NULL) {
        report_json_print(json_pack("{s:o}", "served", report_json(served)), stdout);
        return;
    }
    const double mean_ms = predicted->report.latency_ms.mean;
    const double ratio = served->report.latency_ms.mean / mean_ms;
    json_t *both = json_pack(
        "{s:o, s:o, s:o}", "served", report_json(served), "predicted", report_json(predicted),
        "latency_ratio", isfinite(ratio) ? json_real(ratio) : json_null());
    report_json_print(both, stdout);
}
