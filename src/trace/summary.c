/*
 * summary.c - counters and latencies, one switch a record.
 *
 * Quantiles are exact: every counted latency is kept, by workflow, and sorted when a
 * report is asked for. Times are whole nanoseconds until then. If the warm-up is to be
 * found, it is not known before that: everything is counted, with its time of arrival, and
 * what came before the steady state is taken out of the report.
 *
 * With bounded memory there are histograms instead, and every n-th backlog.
 */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bitset.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "model/graph.h"
#include "trace/summary_inside.h"

enum { BACKLOGS_MAX = 65536 }; /* If memory is bounded; enough to see whether they come back. */

#define NS_PER_HOUR 3.6e12

/* The shortest run of one item of @model over the kinds of device that the fleet has. */
static int64_t fastest_ns(const struct summary_options *options, uint32_t model)
{
    const struct fleet *fleet = options->fleet;
    int64_t best_ns = INT64_MAX;
    for (uint32_t i = 0; i < fleet->worker_count; i++) {
        const uint32_t device = fleet->workers[i].device;
        if (i > 0 && device == fleet->workers[i - 1].device) {
            continue; /* Fleets are long runs of the same kind. */
        }
        if (profile_is_measured(options->profile, model, device)) {
            const int64_t run_ns = profile_run_one_ns(options->profile, model, device);
            best_ns = min_i64(run_ns, best_ns);
        }
    }
    return best_ns == INT64_MAX ? 0 : best_ns;
}

static int64_t critical_path_ns(
    const struct summary_options *options, const struct workflow *workflow)
{
    int64_t *run_ns = memory_zeroed(workflow->task_count, sizeof(*run_ns));
    int64_t *rank_ns = memory_zeroed(workflow->task_count, sizeof(*rank_ns));
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        run_ns[i] = fastest_ns(options, workflow->tasks[i].run);
    }
    const int64_t longest_ns = graph_longest_path(workflow, run_ns, rank_ns);
    free(rank_ns);
    free(run_ns);
    return longest_ns;
}

static void prepare_workflows(struct summary *summary, const struct summary_options *options)
{
    const struct catalogue *catalogue = options->catalogue;
    const uint32_t count = catalogue->workflow_count;
    summary->workflow_count = count;
    summary->workflows = memory_zeroed(count + 1, sizeof(*summary->workflows));
    summary->queue_first = memory_zeroed(count + 1, sizeof(*summary->queue_first));
    summary->queue_models = memory_zeroed(catalogue->queue_count + 1, sizeof(uint32_t));
    for (uint32_t i = 0; i < count; i++) {
        const struct workflow *workflow = catalogue->workflows[i];
        summary->workflows[i].critical_ns = critical_path_ns(options, workflow);
        summary->workflows[i].slo_ns = workflow->slo_ns;
        summary->workflows[i].priority = workflow->priority;
        if (options->detailed && options->bounded) {
            summary->workflows[i].histogram = memory_zeroed(1, sizeof(struct histogram));
        }
        summary->queue_first[i] = workflow->queue_first;
        for (uint32_t k = 0; k < workflow->task_count; k++) {
            summary->queue_models[workflow->queue_first + k] = workflow->tasks[k].model_count;
        }
    }
}

static void prepare_workers(struct summary *summary, const struct fleet *fleet)
{
    summary->worker_count = fleet->worker_count;
    summary->worker_share = memory_zeroed(fleet->worker_count + 1, sizeof(double));
    summary->workers = memory_zeroed(bitset_words(fleet->worker_count) + 1, sizeof(uint64_t));
    for (uint32_t i = 0; i < fleet->worker_count; i++) {
        summary->worker_share[i] = 1.0 / (double)fleet->workers[i].gpu_units;
    }
}

struct summary *summary_create(const struct summary_options *options)
{
    ASSERT(options->warmup >= 0);
    ASSERT(options->warmup <= 1);
    struct summary *summary = memory_zeroed(1, sizeof(*summary));
    const double share = options->warmup_auto ? 0 : options->warmup;
    const double warmup = share * (double)options->jobs_expected;
    summary->warmup_auto = options->warmup_auto;
    if (options->bounded) {
        ASSERT(!options->warmup_auto);
        summary->latencies = memory_zeroed(1, sizeof(*summary->latencies));
        summary->slowdowns = memory_zeroed(1, sizeof(*summary->slowdowns));
        summary->backlogs.count_max = BACKLOGS_MAX;
    }
    summary->warmup_jobs = (uint64_t)warmup;
    if ((double)summary->warmup_jobs + 1e-6 < warmup) { /* 7% of 100 is not 7.000000000000001. */
        summary->warmup_jobs++;
    }
    summary->counted_first_ns = INT64_MAX;
    summary->first_ns = INT64_MAX;
    summary->tally = tally_create(options->fleet, options->catalogue, options->detailed);
    if (options->detailed) {
        summary->details = details_create(options->fleet, options->catalogue);
    }
    prepare_workflows(summary, options);
    prepare_workers(summary, options->fleet);
    summary->cpu_price = options->fleet->prices.cpu / NS_PER_HOUR;
    summary->gpu_price = options->fleet->prices.gpu / NS_PER_HOUR;
    return summary;
}

void summary_destroy(struct summary *summary)
{
    if (summary == NULL) {
        return;
    }
    for (uint32_t i = 0; i < summary->workflow_count; i++) {
        series_deinit(&summary->workflows[i].latencies_ns);
        series_deinit(&summary->workflows[i].arrivals_ns);
        series_deinit(&summary->workflows[i].misses_ns);
        for (uint32_t k = 0; k < LATENCY_PARTS; k++) {
            series_deinit(&summary->workflows[i].parts_ns[k]);
        }
        free(summary->workflows[i].histogram);
    }
    details_destroy(summary->details);
    tally_destroy(summary->tally);
    free(summary->workflows);
    free(summary->queue_models);
    free(summary->queue_first);
    free(summary->worker_share);
    free(summary->workers);
    series_deinit(&summary->requests_ns);
    series_deinit(&summary->hung_up_ns);
    series_deinit(&summary->backlogs);
    free(summary->latencies);
    free(summary->slowdowns);
    free(summary);
}

static uint64_t in_system(const struct summary *summary)
{
    return tally_open(tally_total(summary->tally));
}

/* The number of jobs in the system is about to change. */
static void advance(struct summary *summary, int64_t at_ns)
{
    if (at_ns > summary->last_ns && summary->first_ns != INT64_MAX) {
        const int64_t passed_ns = at_ns - summary->last_ns;
        summary->backlog_area_ns += (double)in_system(summary) * (double)passed_ns;
        summary->late_ns = 0; /* All that has ended did so by now. */
    }
    summary->last_ns = at_ns > summary->last_ns ? at_ns : summary->last_ns;
}

/* A request came, whatever became of it. */
static void on_request(struct summary *summary, const struct record *record)
{
    advance(summary, record->at_ns);
    if (summary->first_ns == INT64_MAX) {
        summary->first_ns = record->at_ns;
    }
    if (summary->counted_first_ns == INT64_MAX &&
        summary_request_count(summary) >= summary->warmup_jobs) {
        summary->counted_first_ns = record->at_ns;
    }
    series_push(&summary->backlogs, (int64_t)in_system(summary));
    if (summary->warmup_auto) {
        series_push(&summary->requests_ns, record->at_ns);
    }
    (void)tally_add(summary->tally, record, /* parts_out */ NULL);
}

/*
 * A job or request of @record that arrived at @arrived_ns did not get what it wanted; @hung_up if
 * its client left while it could still have come in time.
 */
static void miss_slo(
    struct summary *summary, const struct record *record, int64_t arrived_ns, bool hung_up)
{
    ASSERT(record->workflow < summary->workflow_count);
    struct workflow_sum *workflow = &summary->workflows[record->workflow];
    if (workflow->slo_ns <= 0 || arrived_ns < summary->counted_first_ns) {
        return;
    }
    workflow->slo_jobs++;
    summary->slo_hung_up += hung_up ? 1 : 0;
    if (summary->warmup_auto) {
        series_push(&workflow->misses_ns, arrived_ns);
    }
    if (summary->warmup_auto && hung_up) {
        series_push(&summary->hung_up_ns, arrived_ns);
    }
}

/* A counted job took so long. */
static void count_latency(
    struct summary *summary, struct workflow_sum *workflow, int64_t latency_ns)
{
    if (summary->latencies == NULL) {
        series_push(&workflow->latencies_ns, latency_ns);
        return;
    }
    histogram_add(summary->latencies, latency_ns);
    if (workflow->histogram != NULL) {
        histogram_add(workflow->histogram, latency_ns);
    }
    if (workflow->critical_ns > 0) {
        const double slowdown = (double)latency_ns / (double)workflow->critical_ns;
        histogram_add(summary->slowdowns, (int64_t)(slowdown * SLOWDOWN_STEPS));
    }
}

/* Where the time of a counted job went. */
static void count_parts(
    const struct summary *summary, struct workflow_sum *workflow, const struct latency_parts *parts)
{
    for (uint32_t i = 0; i < LATENCY_PARTS; i++) {
        workflow->part_ns[i] += parts->ns[i];
        if (summary->warmup_auto) {
            series_push(&workflow->parts_ns[i], parts->ns[i]);
        }
    }
}

static void on_completed(
    struct summary *summary, const struct record *record, bool is_in_time,
    const struct latency_parts *parts)
{
    struct workflow_sum *workflow = &summary->workflows[record->workflow];
    if (record->at_ns - record->value < summary->counted_first_ns) {
        return;
    }
    count_latency(summary, workflow, record->value);
    if (summary->details != NULL) {
        count_parts(summary, workflow, parts);
    }
    if (summary->warmup_auto) {
        series_push(&workflow->arrivals_ns, record->at_ns - record->value);
    }
    if (workflow->slo_ns > 0) {
        workflow->slo_jobs++;
        workflow->slo_hits += is_in_time ? 1 : 0;
    }
}

static void on_answered(struct summary *summary, const struct record *record)
{
    advance(summary, record->at_ns);
    struct latency_parts parts;
    const enum outcome outcome = tally_add(summary->tally, record, &parts);
    if (outcome == OUTCOME_GOOD || outcome == OUTCOME_SLOW) {
        on_completed(summary, record, outcome == OUTCOME_GOOD, &parts);
        return;
    }
    const bool is_early = record->value <= summary->workflows[record->workflow].slo_ns;
    miss_slo(summary, record, record->at_ns - record->value, outcome == OUTCOME_LEFT && is_early);
}

static void on_started(struct summary *summary, const struct record *record)
{
    ASSERT(record->workflow < summary->workflow_count);
    ASSERT(record->worker < summary->worker_count);
    summary->models_needed +=
        summary->queue_models[summary->queue_first[record->workflow] + record->task];
    if (!bitset_has(summary->workers, record->worker)) {
        bitset_add(summary->workers, record->worker);
        summary->workers_used++;
    }
}

/* What the units of @record cost for its time. */
static double price_of(const struct summary *summary, const struct record *record)
{
    const double rate =
        summary->cpu_price * (double)record->cpu + summary->gpu_price * (double)record->gpu;
    return (double)record->value * rate;
}

/* Tasks of a batch share its cost. A share of 0 units is the whole device. */
static void on_ended(struct summary *summary, const struct record *record)
{
    ASSERT(record->worker < summary->worker_count);
    const double share =
        record->gpu == 0 ? 1.0 : (double)record->gpu * summary->worker_share[record->worker];
    const double tasks = record->batch == 0 ? 1.0 : (double)record->batch;
    const int64_t after_ns = record->at_ns - summary->last_ns;
    const int64_t late_ns = after_ns < record->value ? after_ns : record->value;
    summary->busy_ns += (double)record->value * share / tasks;
    summary->late_ns += late_ns > 0 ? (double)late_ns * share / tasks : 0;
    summary->busy_price += price_of(summary, record) / tasks;
    summary->tasks++;
}

/* Word by word: what was written in pieces a moment ago is slow to read in larger ones. */
static uint64_t word_at(const struct record *record, size_t index)
{
    uint64_t word;
    memcpy(&word, (const uint8_t *)record + index * sizeof(word), sizeof(word));
    return word;
}

static void fold(struct summary *summary, const struct record *record)
{
    _Static_assert(sizeof(*record) == 7 * sizeof(uint64_t), "a record is seven words");
    _Static_assert(offsetof(struct record, job) == sizeof(uint64_t), "two of them are the job");
    const uint64_t words[6] = {
        word_at(record, 0), job_key(record->job), word_at(record, 3),
        word_at(record, 4), word_at(record, 5),   word_at(record, 6),
    };
    summary->hash = hash_mix_six(summary->hash, words);
}

/* What tasks did, for rows. Ends of jobs are told to the tally where they are counted. */
static void add_details(struct summary *summary, const struct record *record)
{
    switch (record->kind) {
    case RECORD_ARRIVED:
    case RECORD_REFUSED:
    case RECORD_ANSWERED:
        return;
    default:
        (void)tally_add(summary->tally, record, /* parts_out */ NULL);
        details_add(summary->details, summary->tally, record);
        return;
    }
}

void summary_add(struct summary *summary, const struct record *record)
{
    if (record->kind == RECORD_WEIGHED) {
        return; /* Nothing has happened: a run is the same with and without them. */
    }
    fold(summary, record);
    if (summary->details != NULL) {
        add_details(summary, record);
    }
    switch (record->kind) {
    case RECORD_ARRIVED:
        on_request(summary, record);
        break;
    case RECORD_REFUSED:
        on_request(summary, record);
        miss_slo(summary, record, record->at_ns, /* hung_up */ false);
        break;
    case RECORD_ANSWERED:
        on_answered(summary, record);
        break;
    case RECORD_STARTED:
        on_started(summary, record);
        break;
    case RECORD_ENDED:
        on_ended(summary, record);
        break;
    case RECORD_PLACED:
        summary->moved +=
            record->reason == REASON_ADJUSTED || record->reason == REASON_FORWARDED ? 1 : 0;
        break;
    case RECORD_STOLEN:
        summary->moved++;
        break;
    case RECORD_RELEASED:
        summary->idle_price += price_of(summary, record);
        break;
    case RECORD_CLAIMED:
        summary->unplanned += record->reason == REASON_UNPLANNED ? 1 : 0;
        break;
    case RECORD_DECLINED:
        summary->declined++;
        break;
    case RECORD_REPEATED:
        summary->repeated++;
        break;
    case RECORD_LOADING:
        summary->loads += record->reason == REASON_SHARED ? 0 : 1;
        summary->cold_starts += record->reason == REASON_DEMAND ? 1 : 0;
        break;
    case RECORD_EVICTED:
        summary->evictions++;
        break;
    default: /* The rest is only hashed. */
        break;
    }
}

uint64_t summary_trace_hash(const struct summary *summary)
{
    return summary->hash;
}
