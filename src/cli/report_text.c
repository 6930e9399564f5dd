#include "cli/report_text.h"

#include <inttypes.h>
#include <math.h>

#include "console/style.h"

const char *report_text_bound(double latency_ms, char text[static REPORT_BOUND_BYTES])
{
    const bool in_s = latency_ms >= 1000;
    (void)snprintf(
        text, REPORT_BOUND_BYTES, "> %.*f %s", in_s && latency_ms < 10000 ? 1 : 0,
        in_s ? latency_ms / 1000 : latency_ms, in_s ? "s" : "ms");
    return text;
}

/* "-" if there is no figure. */
static void print_percent(double percent, int decimals, FILE *file)
{
    if (isnan(percent)) {
        (void)fprintf(file, "-");
    } else {
        (void)fprintf(file, "%.*f %%", decimals, percent);
    }
}

/* Whether figures that depend on the length of the run were counted. */
static bool is_growing(const struct report *report)
{
    return report->counted > 0 && !report->stable;
}

static void print_backlog(const struct report *report, FILE *file)
{
    if (is_growing(report)) {
        (void)fprintf(
            file,
            "  backlog    GROWING, %.1f jobs on average: figures depend on the run's length\n",
            report->in_system_mean);
    } else {
        (void)fprintf(
            file, "  backlog    %s, %.1f jobs in the system on average\n",
            report->counted == 0 ? "-" : "stable", report->in_system_mean);
    }
}

static void print_load(const struct run_result *result, FILE *file)
{
    const struct report *report = &result->report;
    (void)fprintf(file, "  cache      ");
    print_percent(100 * report->cache_hit_rate, 1, file);
    (void)fprintf(
        file, " hits, %" PRIu64 " loads, %" PRIu64 " evictions\n", report->loads,
        report->evictions);
    (void)fprintf(
        file, "  workers    %" PRIu32 " of %" PRIu32 " used, %.1f %% busy\n", report->workers_used,
        result->worker_count, 100 * report->utilisation);
    print_backlog(report, file);
    (void)fprintf(
        file, "  simulated  %.1f s in %.2f s: %" PRIu64 " events, %.0f/s; %.0f tasks/s\n",
        report->duration_s, result->wall_s, result->counters.events,
        (double)result->counters.events / result->wall_s, (double)report->tasks / result->wall_s);
    (void)fprintf(
        file, "  decisions  %" PRIu64 ", mean %.0f ns, p99 %.0f ns\n", result->counters.decisions,
        result->counters.decision_mean_ns, result->counters.decision_p99_ns);
    (void)fprintf(file, "  trace      %016" PRIx64 "\n", report->trace_hash);
}

static void print_latencies(const struct report *report, FILE *file)
{
    const struct quantiles *latency = &report->latency_ms;
    const struct quantiles *slowdown = &report->slowdown;
    char bound[REPORT_BOUND_BYTES];
    if (report->counted == 0) {
        (void)fprintf(file, "  latency    -\n  slow-down  -\n");
        return;
    }
    if (is_growing(report)) {
        (void)fprintf(
            file, "  latency    mean %s, growing\n  slow-down  -\n",
            report_text_bound(latency->mean, bound));
        return;
    }
    (void)fprintf(
        file, "  latency    mean %.1f ms, p50 %.1f, p95 %.1f, p99 %.1f, max %.1f\n", latency->mean,
        latency->p50, latency->p95, latency->p99, latency->max);
    if (isnan(slowdown->mean)) {
        (void)fprintf(file, "  slow-down  -\n");
        return;
    }
    (void)fprintf(
        file, "  slow-down  mean %.2f, p50 %.2f, p95 %.2f, p99 %.2f\n", slowdown->mean,
        slowdown->p50, slowdown->p95, slowdown->p99);
}

/* In parts of the whole: these hold for a growing run as well. */
static void print_time(const struct details_workflow *total, FILE *file)
{
    double whole_ms = 0;
    for (uint32_t i = 0; i < LATENCY_PARTS; i++) {
        whole_ms += total->part_ms[i];
    }
    if (!(whole_ms > 0)) {
        return;
    }
    (void)fprintf(file, "  time       ");
    for (uint32_t i = 0; i < LATENCY_PARTS; i++) {
        (void)fprintf(
            file, "%s%s %.1f %%", i == 0 ? "" : ", ", latency_part_names[i],
            100 * total->part_ms[i] / whole_ms);
    }
    (void)fputc('\n', file);
}

static void print_slo(const struct report *report, FILE *file)
{
    const bool is_bound = is_growing(report) && report->slo_hit_rate > 0;
    (void)fprintf(file, "  SLO        %s", is_bound ? "< " : "");
    print_percent(100 * report->slo_hit_rate, 2, file);
    (void)fprintf(file, " met");
    if (report->slo_hung_up > 0) {
        (void)fprintf(file, "; %" PRIu64 " clients hung up before it", report->slo_hung_up);
    }
    (void)fprintf(file, "\n");
}

static void print_title(const struct run_result *result, FILE *file)
{
    const enum style style = style_is_on(file) ? STYLE_BOLD : STYLE_PLAIN;
    char rate[RUN_RATE_BYTES];
    (void)fprintf(
        file, "%s%s: %s%s, seed %" PRIu64 "%s\n", style_begin(style), result->scenario,
        result->policy, run_rate_text(result->rate_per_s, result->mean_per_s, rate), result->seed,
        style_end(style));
}

static void print_jobs(const struct report *report, bool interrupted, FILE *file)
{
    const uint64_t open =
        report->jobs - report->completed - report->refused - report->failed - report->cancelled;
    if (interrupted) {
        (void)fprintf(file, "  INTERRUPTED: this is what had ended by then\n");
    }
    (void)fprintf(
        file,
        "  jobs       %" PRIu64 ": %" PRIu64 " completed, %" PRIu64 " refused, %" PRIu64
        " failed, ",
        report->jobs, report->completed, report->refused, report->failed);
    if (report->cancelled > 0) {
        (void)fprintf(file, "%" PRIu64 " cancelled, ", report->cancelled);
    }
    if (report->repeated > 0) {
        (void)fprintf(file, "%" PRIu64 " attempts repeated, ", report->repeated);
    }
    if (open > 0) {
        (void)fprintf(file, "%" PRIu64 " not answered yet, ", open);
    }
    (void)fprintf(file, "%" PRIu64 " counted\n", report->counted);
}

void report_text_print(const struct run_result *result, const struct details *details, FILE *file)
{
    const struct report *report = &result->report;
    print_title(result, file);
    print_jobs(report, result->interrupted, file);
    if (result->warmup_found) {
        (void)fprintf(
            file, "  warm-up    %" PRIu64 " jobs, found by MSER-5\n", report->warmup_jobs);
    }
    print_latencies(report, file);
    if (details != NULL) {
        print_time(&details->total, file);
    }
    if (result->has_slo) {
        print_slo(report, file);
    }
    if (report->completed > 0) {
        (void)fprintf(file, "  cost       %.3f device seconds per job\n", report->cost_per_job);
    }
    if (report->price_per_job > 0) {
        (void)fprintf(
            file, "  price      %.3g per job while it ran, %.3g with what was held for it\n",
            report->price_per_job, report->price_reserved);
    }
    print_load(result, file);
}
