/* summary_report.c - from what a summary has counted to figures. */
#include <stdlib.h>

#include "base/memory.h"
#include "trace/stability.h"
#include "trace/summary_inside.h"
#include "trace/warmup.h"

static double part(uint64_t some, uint64_t all)
{
    return all == 0 ? FIGURE_NONE : (double)some / (double)all;
}

/* A counted job, where its place in the order of arrival matters. */
struct timed {
    int64_t arrived_ns;
    int64_t latency_ns;
};

static int compare_timed(const void *left, const void *right)
{
    const struct timed *a = left;
    const struct timed *b = right;
    if (a->arrived_ns != b->arrived_ns) {
        return a->arrived_ns < b->arrived_ns ? -1 : 1;
    }
    return (a->latency_ns > b->latency_ns) - (a->latency_ns < b->latency_ns);
}

static uint64_t latency_count(const struct summary *summary)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < summary->workflow_count; i++) {
        count += summary->workflows[i].latencies_ns.count;
    }
    return count;
}

/* When the first job of the steady state arrived. */
static int64_t find_steady_ns(const struct summary *summary)
{
    const uint64_t count = latency_count(summary);
    if (count == 0) {
        return 0;
    }
    struct timed *jobs = memory_zeroed(count, sizeof(*jobs));
    double *latencies = memory_zeroed(count, sizeof(*latencies));
    uint64_t filled = 0;
    for (uint32_t i = 0; i < summary->workflow_count; i++) {
        const struct workflow_sum *workflow = &summary->workflows[i];
        for (uint64_t k = 0; k < workflow->latencies_ns.count; k++) {
            jobs[filled].arrived_ns = workflow->arrivals_ns.values[k];
            jobs[filled].latency_ns = workflow->latencies_ns.values[k];
            filled++;
        }
    }
    qsort(jobs, count, sizeof(*jobs), compare_timed);
    for (uint64_t i = 0; i < count; i++) {
        latencies[i] = (double)jobs[i].latency_ns;
    }
    const int64_t steady_ns = jobs[warmup_of(latencies, count)].arrived_ns;
    free(latencies);
    free(jobs);
    return steady_ns;
}

/* Whether the job with this number of @workflow arrived at @first_ns or later. */
static bool is_counted(
    const struct summary *summary, const struct workflow_sum *workflow, uint64_t number,
    int64_t first_ns)
{
    return !summary->warmup_auto || workflow->arrivals_ns.values[number] >= first_ns;
}

static uint64_t count_before(const struct series *series, int64_t end_ns)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < series->count; i++) {
        count += series->values[i] < end_ns ? 1 : 0;
    }
    return count;
}

/* Take what arrived before @first_ns out of what was counted. */
static void report_warmup(const struct summary *summary, int64_t first_ns, struct report *report)
{
    report->warmup_jobs = summary->warmup_jobs < report->jobs ? summary->warmup_jobs : report->jobs;
    if (!summary->warmup_auto) {
        return;
    }
    uint64_t slo_jobs = summary->slo_jobs - count_before(&summary->misses_ns, first_ns);
    uint64_t slo_hits = summary->slo_hits;
    for (uint32_t i = 0; i < summary->workflow_count; i++) {
        const struct workflow_sum *workflow = &summary->workflows[i];
        for (uint64_t k = 0; k < workflow->latencies_ns.count && workflow->slo_ns > 0; k++) {
            if (!is_counted(summary, workflow, k, first_ns)) {
                slo_jobs--;
                slo_hits -= workflow->latencies_ns.values[k] <= workflow->slo_ns ? 1 : 0;
            }
        }
    }
    report->warmup_jobs = count_before(&summary->requests_ns, first_ns);
    report->slo_hit_rate = part(slo_hits, slo_jobs);
    report->slo_hung_up -= count_before(&summary->hung_up_ns, first_ns);
}

/* Of the jobs that arrived at @first_ns or later, if the warm-up had to be found. */
static void report_latencies(const struct summary *summary, int64_t first_ns, struct report *report)
{
    if (summary->latencies != NULL) {
        report->counted = histogram_count(summary->latencies);
        report->latency_ms = quantiles_of_histogram(summary->latencies, /* unit */ 1e6);
        report->slowdown = quantiles_of_histogram(summary->slowdowns, SLOWDOWN_STEPS);
        return;
    }
    const uint64_t counted = latency_count(summary);
    double *latencies_ms = memory_zeroed(counted + 1, sizeof(double));
    double *slowdowns = memory_zeroed(counted + 1, sizeof(double));
    uint64_t slowdown_count = 0;
    uint64_t count = 0;
    for (uint32_t i = 0; i < summary->workflow_count; i++) {
        const struct workflow_sum *workflow = &summary->workflows[i];
        for (uint64_t k = 0; k < workflow->latencies_ns.count; k++) {
            if (!is_counted(summary, workflow, k, first_ns)) {
                continue;
            }
            const double latency_ns = (double)workflow->latencies_ns.values[k];
            latencies_ms[count++] = latency_ns / 1e6;
            if (workflow->critical_ns > 0) {
                slowdowns[slowdown_count++] = latency_ns / (double)workflow->critical_ns;
            }
        }
    }
    report->counted = count;
    report->latency_ms = quantiles_of(latencies_ms, count);
    report->slowdown = quantiles_of(slowdowns, slowdown_count);
    free(slowdowns);
    free(latencies_ms);
}

static double per_job(const struct summary *summary, double all)
{
    const uint64_t completed = tally_completed(tally_total(summary->tally));
    return completed == 0 ? FIGURE_NONE : all / (double)completed;
}

void summary_report(const struct summary *summary, struct report *report_out)
{
    const bool began = summary->first_ns != INT64_MAX;
    const double duration_ns = began ? (double)(summary->last_ns - summary->first_ns) : 0;
    const double available_ns = duration_ns * (double)summary->worker_count;
    const uint64_t loads = summary->loads;
    const uint64_t needed = summary->models_needed;
    const struct tally_counts *total = tally_total(summary->tally);
    struct report report = {
        .jobs = summary_request_count(summary),
        .completed = tally_completed(total),
        .refused = total->ended[OUTCOME_REFUSED],
        .failed = total->ended[OUTCOME_FAILED],
        .cancelled = tally_cancelled(total),
        .slo_hit_rate = part(summary->slo_hits, summary->slo_jobs),
        .slo_hung_up = summary->slo_hung_up,
        .cost_per_job = per_job(summary, summary->busy_ns / 1e9),
        .price_per_job = per_job(summary, summary->busy_price),
        .price_reserved = per_job(summary, summary->busy_price + summary->idle_price),
        .cold_starts = summary->cold_starts,
        .claims_declined = summary->declined,
        .repeated = summary->repeated,
        .plan_misses = summary->unplanned,
        .cache_hit_rate = part(loads < needed ? needed - loads : 0, needed),
        .loads = loads,
        .evictions = summary->evictions,
        .tasks = summary->tasks,
        .moved = summary->moved,
        .workers_used = summary->workers_used,
        .utilisation = available_ns > 0 ? (summary->busy_ns - summary->late_ns) / available_ns : 0,
        .in_system_mean = duration_ns > 0 ? summary->backlog_area_ns / duration_ns : 0,
        .duration_s = duration_ns / 1e9,
        .trace_hash = summary_trace_hash(summary),
    };
    const int64_t first_ns = summary->warmup_auto ? find_steady_ns(summary) : 0;
    report_warmup(summary, first_ns, &report);
    report_latencies(summary, first_ns, &report);
    report.stable =
        report.counted > 0 && stability_of(summary->backlogs.values, summary->backlogs.count);
    *report_out = report;
}
