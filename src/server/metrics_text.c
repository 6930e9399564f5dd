/* metrics_text.c - metrics as Prometheus reads them, under Triton's names and our own. */
#include <inttypes.h>

#include "base/units.h"
#include "server/metrics.h"
#include "trace/text.h"

/* One number of a workflow, and the family it belongs to. */
struct family {
    const char *name;
    const char *kind;
    const char *help;
    double (*value)(const struct metrics_workflow *counts);
};

static double success(const struct metrics_workflow *counts)
{
    return (double)tally_completed(counts->tally);
}

static double failure(const struct metrics_workflow *counts)
{
    return (double)metrics_failures(counts);
}

static double items(const struct metrics_workflow *counts)
{
    return (double)counts->items;
}

static double batches(const struct metrics_workflow *counts)
{
    return counts->batches;
}

static double pending(const struct metrics_workflow *counts)
{
    return (double)tally_open(counts->tally);
}

static double duration_us(const struct metrics_workflow *counts)
{
    return (double)counts->success_ns / 1e3;
}

static double queue_us(const struct metrics_workflow *counts)
{
    return (double)counts->time.queue_ns / 1e3;
}

static double other_us(const struct metrics_workflow *counts)
{
    return (double)counts->time.other_ns / 1e3;
}

static double run_us(const struct metrics_workflow *counts)
{
    return (double)counts->time.run_ns / 1e3;
}

static double nothing(const struct metrics_workflow *counts)
{
    (void)counts;
    return 0;
}

static double refused(const struct metrics_workflow *counts)
{
    return (double)counts->tally->ended[OUTCOME_REFUSED];
}

static double left(const struct metrics_workflow *counts)
{
    return (double)counts->tally->ended[OUTCOME_LEFT];
}

static double late(const struct metrics_workflow *counts)
{
    return (double)counts->tally->ended[OUTCOME_LATE];
}

static double goodput(const struct metrics_workflow *counts)
{
    return counts->has_slo ? (double)counts->tally->ended[OUTCOME_GOOD] : 0;
}

/* A client that left says nothing about the SLO. */
static double slo_asked(const struct metrics_workflow *counts)
{
    const uint64_t *ended = counts->tally->ended;
    return counts->has_slo ? success(counts) + failure(counts) - (double)ended[OUTCOME_LEFT] : 0;
}

static double attainment(const struct metrics_workflow *counts)
{
    return slo_asked(counts) > 0 ? goodput(counts) / slo_asked(counts) : 1;
}

static const struct family families[] = {
    {"nv_inference_request_success", "counter", "requests answered well", success},
    {"nv_inference_request_failure", "counter", "requests refused, failed or cancelled", failure},
    {"nv_inference_count", "counter", "items of requests that were accepted", items},
    {"nv_inference_exec_count", "counter", "batches run for them, over all tasks", batches},
    {"nv_inference_pending_request_count", "gauge", "requests not answered yet", pending},
    {"nv_inference_request_duration_us", "counter", "time of requests answered well", duration_us},
    {"nv_inference_queue_duration_us", "counter", "of that, a task waited", queue_us},
    {"nv_inference_compute_input_duration_us", "counter",
     "of that, no task ran or waited: transfers and decisions", other_us},
    {"nv_inference_compute_infer_duration_us", "counter", "of that, a task ran", run_us},
    {"nv_inference_compute_output_duration_us", "counter",
     "always 0: part of compute_input_duration", nothing},
    {"weft_requests_refused_total", "counter", "requests refused at once", refused},
    {"weft_requests_cancelled_total", "counter", "requests whose client left", left},
    {"weft_requests_late_total", "counter", "requests whose deadline came first", late},
    {"weft_goodput_total", "counter", "requests answered well within the SLO", goodput},
    {"weft_slo_requests_total", "counter", "requests that ended and had an SLO", slo_asked},
    {"weft_slo_attainment_ratio", "gauge", "goodput over requests with an SLO; 1 if none",
     attainment},
};

/* One number of a model. */
struct model_family {
    const char *name;
    const char *help;
    double (*value)(const struct metrics_model *model);
    bool is_gauge;
};

static double needed(const struct metrics_model *model)
{
    return (double)model->needed;
}

static double hits(const struct metrics_model *model)
{
    const uint64_t misses = model->loads - model->prefetches;
    return model->needed > misses ? (double)(model->needed - misses) : 0;
}

static double loads(const struct metrics_model *model)
{
    return (double)model->loads;
}

static double prefetches(const struct metrics_model *model)
{
    return (double)model->prefetches;
}

static double load_failures(const struct metrics_model *model)
{
    return (double)model->load_failures;
}

static double evictions(const struct metrics_model *model)
{
    return (double)model->evictions;
}

static double resident_bytes(const struct metrics_model *model)
{
    return (double)model->resident_bytes;
}

static double evicted_age_s(const struct metrics_model *model)
{
    return (double)model->evicted_age_ns / 1e9;
}

static const struct model_family model_families[] = {
    {"weft_model_needed_total", "times that a task needed the model", needed, false},
    {"weft_model_cache_hits_total", "times that it needed no load on demand", hits, false},
    {"weft_model_loads_total", "loads begun", loads, false},
    {"weft_model_prefetches_total", "of these, ahead of need", prefetches, false},
    {"weft_model_load_failures_total", "loads that failed", load_failures, false},
    {"weft_model_evictions_total", "evictions", evictions, false},
    {"weft_model_evicted_age_seconds_total", "how long they had been resident, summed",
     evicted_age_s, false},
    {"weft_model_resident_bytes", "what it takes in the memory of all workers", resident_bytes,
     true},
};

static bool write_head(struct buffer *buffer, const char *name, const char *kind, const char *help)
{
    return buffer_add(buffer, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

bool metrics_write_one(
    struct buffer *buffer, const char *name, const char *kind, const char *help, double value)
{
    return write_head(buffer, name, kind, help) && buffer_add(buffer, "%s %.15g\n", name, value);
}

/* Names come from documents: quotes and backslashes are escaped. */
static bool write_label(struct buffer *buffer, const char *family, const char *name)
{
    return buffer_add(buffer, "%s{model=", family) && buffer_add_quoted(buffer, name);
}

static bool write_workflows(
    const struct metrics *metrics, const struct catalogue *catalogue, struct buffer *buffer)
{
    bool is_good = true;
    for (size_t k = 0; k < ARRAY_COUNT(families) && is_good; k++) {
        const struct family *family = &families[k];
        is_good = write_head(buffer, family->name, family->kind, family->help);
        for (uint32_t i = 0; i < catalogue->workflow_count && is_good; i++) {
            is_good =
                write_label(buffer, family->name, catalogue->workflows[i]->name) &&
                buffer_add(
                    buffer, ",version=\"1\"} %.15g\n", family->value(metrics_workflow(metrics, i)));
        }
    }
    return is_good;
}

static bool write_models(
    const struct metrics *metrics, const struct catalogue *catalogue, struct buffer *buffer)
{
    bool is_good = true;
    for (size_t k = 0; k < ARRAY_COUNT(model_families) && is_good; k++) {
        const struct model_family *family = &model_families[k];
        is_good =
            write_head(buffer, family->name, family->is_gauge ? "gauge" : "counter", family->help);
        for (uint32_t i = 0; i < catalogue->model_count && is_good; i++) {
            is_good = write_label(buffer, family->name, catalogue->models[i]) &&
                      buffer_add(buffer, "} %.15g\n", family->value(metrics_model(metrics, i)));
        }
    }
    return is_good;
}

static bool write_latencies(
    const struct metrics_workflow *counts, const char *name, struct buffer *buffer)
{
    static const char family[] = "weft_request_latency_seconds";
    uint64_t below = 0;
    bool is_good = true;
    for (uint32_t i = 0; i < METRICS_BOUNDS && is_good; i++) {
        below += counts->latencies[i];
        is_good = buffer_add(buffer, "%s_bucket{model=", family) &&
                  buffer_add_quoted(buffer, name) &&
                  buffer_add(buffer, ",le=\"%g\"} %" PRIu64 "\n", metrics_bound_s(i), below);
    }
    return is_good && buffer_add(buffer, "%s_bucket{model=", family) &&
           buffer_add_quoted(buffer, name) &&
           buffer_add(buffer, ",le=\"+Inf\"} %" PRIu64 "\n", tally_completed(counts->tally)) &&
           buffer_add(buffer, "%s_sum{model=", family) && buffer_add_quoted(buffer, name) &&
           buffer_add(buffer, "} %.9f\n", (double)counts->success_ns / 1e9) &&
           buffer_add(buffer, "%s_count{model=", family) && buffer_add_quoted(buffer, name) &&
           buffer_add(buffer, "} %" PRIu64 "\n", tally_completed(counts->tally));
}

/* Only what has happened: there are many reasons. */
static bool write_failures(const struct metrics *metrics, struct buffer *buffer)
{
    static const char family[] = "weft_request_failures_total";
    const struct catalogue *catalogue = metrics_catalogue(metrics);
    bool is_good = write_head(
        buffer, family, "counter", "requests refused or failed, by reason; see the log for causes");
    for (uint32_t i = 0; i < catalogue->workflow_count && is_good; i++) {
        const struct metrics_workflow *counts = metrics_workflow(metrics, i);
        for (uint32_t k = 0; k < REASON_COUNT && is_good; k++) {
            is_good =
                counts->reasons[k] == 0 ||
                (write_label(buffer, family, catalogue->workflows[i]->name) &&
                 buffer_add(
                     buffer, ",reason=\"%s\"} %" PRIu64 "\n", reason_name(k), counts->reasons[k]));
        }
    }
    return is_good;
}

bool metrics_write(const struct metrics *metrics, struct buffer *buffer)
{
    const struct catalogue *catalogue = metrics_catalogue(metrics);
    const struct metrics_totals *totals = metrics_totals(metrics);
    bool is_good = write_workflows(metrics, catalogue, buffer) &&
                   write_models(metrics, catalogue, buffer) && write_failures(metrics, buffer) &&
                   write_head(
                       buffer, "weft_request_latency_seconds", "histogram",
                       "time of requests answered well, as the scheduler saw it");
    for (uint32_t i = 0; i < catalogue->workflow_count && is_good; i++) {
        is_good =
            write_latencies(metrics_workflow(metrics, i), catalogue->workflows[i]->name, buffer);
    }
    return is_good &&
           metrics_write_one(
               buffer, "weft_tasks_placed_total", "counter", "tasks given to workers",
               (double)totals->placed) &&
           metrics_write_one(
               buffer, "weft_tasks_moved_total", "counter", "of these, given away again",
               (double)totals->moved) &&
           metrics_write_one(
               buffer, "weft_tasks_stolen_total", "counter", "tasks taken by idle workers",
               (double)totals->stolen) &&
           metrics_write_one(
               buffer, "weft_nodes_lost_total", "counter", "losses of nodes that nodes heard of",
               (double)totals->nodes_lost);
}
