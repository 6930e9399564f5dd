/* summary_report.c - from what a summary has counted to figures. */
#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "trace/stability.h"
#include "trace/summary_inside.h"
#include "trace/warmup.h"

static double part(uint64_t some, uint64_t all)
{
    return all == 0 ? FIGURE_NONE : (double)some / (double)all;
}

static double mean_ms(int64_t sum_ns, uint64_t count)
{
    return count == 0 ? FIGURE_NONE : (double)sum_ns / (double)count / 1e6;
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

/* Jobs that should have met an SLO, and those that did. */
struct hits {
    uint64_t jobs;
    uint64_t hits;
};

/* Those of @workflow, without what arrived before @first_ns if the warm-up had to be found. */
static struct hits hits_of(
    const struct summary *summary, const struct workflow_sum *workflow, int64_t first_ns)
{
    struct hits slo = {.jobs = workflow->slo_jobs, .hits = workflow->slo_hits};
    if (!summary->warmup_auto || workflow->slo_ns <= 0) {
        return slo;
    }
    slo.jobs -= count_before(&workflow->misses_ns, first_ns);
    for (uint64_t i = 0; i < workflow->latencies_ns.count; i++) {
        if (!is_counted(summary, workflow, i, first_ns)) {
            slo.jobs--;
            slo.hits -= workflow->latencies_ns.values[i] <= workflow->slo_ns ? 1 : 0;
        }
    }
    return slo;
}

static double slo_hit_rate(const struct summary *summary, int64_t first_ns)
{
    struct hits all = {0};
    for (uint32_t i = 0; i < summary->workflow_count; i++) {
        const struct hits own = hits_of(summary, &summary->workflows[i], first_ns);
        all.jobs += own.jobs;
        all.hits += own.hits;
    }
    return part(all.hits, all.jobs);
}

/* Take what arrived before @first_ns out of what was counted. */
static void report_warmup(const struct summary *summary, int64_t first_ns, struct report *report)
{
    report->warmup_jobs = summary->warmup_jobs < report->jobs ? summary->warmup_jobs : report->jobs;
    report->slo_hit_rate = slo_hit_rate(summary, first_ns);
    if (summary->warmup_auto) {
        report->warmup_jobs = count_before(&summary->requests_ns, first_ns);
        report->slo_hung_up -= count_before(&summary->hung_up_ns, first_ns);
    }
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

/* The mean latency of the counted jobs of @workflow; FIGURE_NONE: there is none. */
static double mean_latency_ns(
    const struct summary *summary, const struct workflow_sum *workflow, int64_t first_ns,
    uint64_t *counted_out)
{
    if (workflow->histogram != NULL) {
        *counted_out = histogram_count(workflow->histogram);
        return quantiles_of_histogram(workflow->histogram, /* unit */ 1).mean;
    }
    double sum_ns = 0;
    uint64_t count = 0;
    for (uint64_t i = 0; i < workflow->latencies_ns.count; i++) {
        if (is_counted(summary, workflow, i, first_ns)) {
            sum_ns += (double)workflow->latencies_ns.values[i];
            count++;
        }
    }
    *counted_out = count;
    return count == 0 ? FIGURE_NONE : sum_ns / (double)count;
}

static void report_fairness(
    const struct summary *summary, int64_t first_ns, struct fairness *fairness_out)
{
    fairness_out->count = summary->workflow_count;
    for (uint32_t i = 0; i < summary->workflow_count; i++) {
        const struct workflow_sum *workflow = &summary->workflows[i];
        const struct hits slo = hits_of(summary, workflow, first_ns);
        const double critical_ns = (double)workflow->critical_ns;
        uint64_t counted = 0;
        const double mean_ns = mean_latency_ns(summary, workflow, first_ns, &counted);
        fairness_out->rows[i] = (struct fairness_row){
            .slowdown = critical_ns > 0 ? mean_ns / critical_ns : FIGURE_NONE,
            .slo_hit_rate = part(slo.hits, slo.jobs),
            .priority = workflow->priority,
            .counted = counted,
            .slo_jobs = slo.jobs,
            .slo_hits = slo.hits,
        };
    }
    fairness_judge(fairness_out);
}

static double per_job(const struct summary *summary, double all)
{
    const uint64_t completed = tally_completed(tally_total(summary->tally));
    return completed == 0 ? FIGURE_NONE : all / (double)completed;
}

/* From the first arrival to the last answer. */
static double duration_of(const struct summary *summary)
{
    const bool began = summary->first_ns != INT64_MAX;
    return began ? (double)(summary->last_ns - summary->first_ns) : 0;
}

void summary_report(const struct summary *summary, struct report *report_out)
{
    const double duration_ns = duration_of(summary);
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
    report_fairness(summary, first_ns, &report.fairness);
    report.stable =
        report.counted > 0 && stability_of(summary->backlogs.values, summary->backlogs.count);
    *report_out = report;
}

/* The latencies of the counted jobs of @workflow, and the sums of their parts. */
static uint64_t list_counted(
    const struct summary *summary, const struct workflow_sum *workflow, int64_t first_ns,
    double *latencies_ms_out, int64_t part_ns_out[LATENCY_PARTS])
{
    uint64_t count = 0;
    for (uint32_t k = 0; k < LATENCY_PARTS; k++) {
        part_ns_out[k] = summary->warmup_auto ? 0 : workflow->part_ns[k];
    }
    for (uint64_t i = 0; i < workflow->latencies_ns.count; i++) {
        if (!is_counted(summary, workflow, i, first_ns)) {
            continue;
        }
        latencies_ms_out[count++] = (double)workflow->latencies_ns.values[i] / 1e6;
        for (uint32_t k = 0; k < LATENCY_PARTS && summary->warmup_auto; k++) {
            part_ns_out[k] += workflow->parts_ns[k].values[i];
        }
    }
    return count;
}

static struct details_workflow count_jobs(const struct tally_counts *counts)
{
    return (struct details_workflow){
        .jobs = counts->arrived + counts->ended[OUTCOME_REFUSED],
        .completed = tally_completed(counts),
        .refused = counts->ended[OUTCOME_REFUSED],
        .failed = counts->ended[OUTCOME_FAILED],
        .cancelled = tally_cancelled(counts),
    };
}

/* Fill the row of @workflow, and add its parts to those of all. */
static void detail_workflow(
    const struct summary *summary, const struct workflow_sum *workflow, int64_t first_ns,
    struct details_workflow *row, int64_t all_ns[LATENCY_PARTS])
{
    const struct hits slo = hits_of(summary, workflow, first_ns);
    int64_t part_ns[LATENCY_PARTS];
    double *latencies_ms = memory_zeroed(workflow->latencies_ns.count + 1, sizeof(double));
    row->counted = list_counted(summary, workflow, first_ns, latencies_ms, part_ns);
    row->latency_ms = quantiles_of(latencies_ms, row->counted);
    if (workflow->histogram != NULL) {
        row->counted = histogram_count(workflow->histogram);
        row->latency_ms = quantiles_of_histogram(workflow->histogram, /* unit */ 1e6);
    }
    row->slo_hit_rate = part(slo.hits, slo.jobs);
    for (uint32_t i = 0; i < LATENCY_PARTS; i++) {
        row->part_ms[i] = mean_ms(part_ns[i], row->counted);
        all_ns[i] += part_ns[i];
    }
    free(latencies_ms);
}

struct details *summary_details(const struct summary *summary)
{
    ASSERT(summary->details != NULL);
    const int64_t first_ns = summary->warmup_auto ? find_steady_ns(summary) : 0;
    const double duration_ns = duration_of(summary);
    struct details *details = details_copy(summary->details);
    struct report report;
    int64_t part_ns[LATENCY_PARTS] = {0};
    for (uint32_t i = 0; i < summary->workflow_count; i++) {
        struct details_workflow *row = &details->workflows[i];
        *row = count_jobs(tally_workflow(summary->tally, i));
        detail_workflow(summary, &summary->workflows[i], first_ns, row, part_ns);
    }
    summary_report(summary, &report);
    details->total = count_jobs(tally_total(summary->tally));
    details->total.counted = report.counted;
    details->total.latency_ms = report.latency_ms;
    details->total.slo_hit_rate = report.slo_hit_rate;
    for (uint32_t i = 0; i < LATENCY_PARTS; i++) {
        details->total.part_ms[i] = mean_ms(part_ns[i], report.counted);
    }
    for (uint32_t i = 0; i < details->worker_count; i++) {
        struct details_worker *worker = &details->workers[i];
        worker->busy = duration_ns > 0 ? worker->busy_ns / duration_ns : 0;
    }
    return details;
}
