/* bench.c - `weft bench`: an open loop of requests to a server, and how they fared. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/report_json.h"
#include "client/infer_inputs.h"
#include "client/load.h"
#include "console/interrupt.h"
#include "console/progress.h"
#include "console/table.h"
#include "document/bytes.h"
#include "document/quantity.h"
#include "document/trace_document.h"

#define SILENCE_NS (4 * NS_PER_S) /* As `weft infer`. */

enum { CONNECTIONS_MAX = 10000, SECONDS_MAX = 1000000 };

struct values {
    struct infer_where where;
    const char *rate;
    const char *arrivals;
    const char *trace;
    struct argument_count seconds;
    struct argument_count warmup;
    struct argument_count connections;
    struct argument_count slo;
    struct argument_count deadline;
    struct argument_count seed;
    bool no_keys;
    bool json;
};

/* One run. */
struct bench {
    const struct values *values;
    struct infer_target target;
    struct infer_body body;
    struct arrivals arrivals;
    struct catalogue *catalogue; /* Of the one workflow. */
    struct arena arena;          /* Of a trace. */
    struct progress progress;
    struct load_report report;
};

static bool on_progress(void *context, const struct load_report *report)
{
    struct bench *bench = context;
    const uint64_t seconds = bench->values->seconds.value;
    const uint64_t passed =
        (uint64_t)(progress_clock_ns() - bench->progress.started_ns) / (uint64_t)NS_PER_S;
    (void)report;
    progress_show(&bench->progress, passed < seconds ? passed : seconds, seconds);
    return interrupt_came();
}

/* A catalogue of the one workflow, for the stream of arrivals and the names in a trace. */
static enum weft_status make_catalogue(struct bench *bench, struct weft_error *error)
{
    const struct workflow_task task = {.name = "task"};
    uint32_t index;
    bench->catalogue = catalogue_create();
    if (strlen(bench->target.workflow) >= NAME_BYTES_MAX) {
        return error_set(error, WEFT_INVALID, "the name '%s' is too long", bench->target.workflow);
    }
    (void)catalogue_model(bench->catalogue, "model");
    struct workflow *workflow = workflow_create(bench->target.workflow);
    enum weft_status status = workflow_add_task(workflow, &task, &index);
    if (status == WEFT_OK) {
        status = workflow_seal(workflow, error);
    }
    if (status == WEFT_OK) {
        status = catalogue_add_workflow(bench->catalogue, workflow);
    }
    if (status != WEFT_OK) {
        workflow_destroy(workflow);
    }
    return status;
}

static enum weft_status read_trace(struct bench *bench, struct weft_error *error)
{
    const char *path = bench->values->trace;
    const struct trace_options options = {.catalogue = bench->catalogue};
    struct trace trace;
    const enum weft_status status = trace_load(path, &options, &bench->arena, &trace, error);
    if (status == WEFT_OK) {
        bench->arrivals = (struct arrivals){
            .kind = ARRIVALS_TRACE, .list_count = trace.count, .list = trace.rows, .speed = 1};
        arrivals_set_speed(&bench->arrivals, 1);
    }
    return status;
}

static bool read_rate(const char *text, double *rate_out)
{
    return quantity_parse(QUANTITY_RATE, text, rate_out) && *rate_out > 0 && *rate_out <= 1e6;
}

static enum weft_status read_arrivals(struct bench *bench, struct weft_error *error)
{
    const struct values *values = bench->values;
    const char *kind = values->arrivals == NULL ? "poisson" : values->arrivals;
    double rate = 0;
    if (values->rate != NULL && !read_rate(values->rate, &rate)) {
        return error_set(error, WEFT_INVALID, "--rate: '%s' is not a rate above 0", values->rate);
    }
    if (values->trace != NULL) {
        const enum weft_status status = read_trace(bench, error);
        if (status == WEFT_OK && rate > 0 && !arrivals_set_rate(&bench->arrivals, rate)) {
            return error_set(error, WEFT_INVALID, "--rate: this trace takes no time");
        }
        return status;
    }
    if (strcmp(kind, "poisson") != 0 && strcmp(kind, "constant") != 0) {
        return error_set(
            error, WEFT_INVALID, "--arrivals: 'poisson' or 'constant', not '%s'", kind);
    }
    bench->arrivals = (struct arrivals){
        .kind = kind[0] == 'p' ? ARRIVALS_POISSON : ARRIVALS_CONSTANT,
        .rate_per_s = rate > 0 ? rate : 100,
        .mix = {1},
    };
    return WEFT_OK;
}

static enum weft_status prepare(
    struct bench *bench, const struct operands *operands, struct weft_error *error)
{
    const struct infer_values given = {
        .items = operands->items + 2, .count = operands->count - 2, .fills = true};
    const struct infer_outputs outputs = {.is_binary = true};
    struct infer_where where = bench->values->where;
    where.url = operands->items[0];
    enum weft_status status = infer_target_init(&bench->target, &where, operands->items[1], error);
    bool is_tls = false;
    for (uint32_t i = 0; status == WEFT_OK && i < bench->target.url_count; i++) {
        is_tls = is_tls || bench->target.urls[i].is_tls;
    }
    if (is_tls) {
        status = error_set(error, WEFT_INVALID, "only plain HTTP is supported, not TLS");
    }
    if (status == WEFT_OK) {
        status = make_catalogue(bench, error);
    }
    if (status == WEFT_OK) {
        status = read_arrivals(bench, error);
    }
    return status == WEFT_OK
               ? infer_body_build(&bench->target, &given, &outputs, &bench->body, error)
               : status;
}

static enum weft_status generate(struct bench *bench, struct weft_error *error)
{
    const struct values *values = bench->values;
    const int64_t warmup_ns = (int64_t)values->warmup.value * NS_PER_S;
    const bool has_keys = bench->target.url_count > 1 && !values->no_keys;
    struct arrival_stream stream;
    char path[256];
    char headers[sizeof(bench->target.headers) + 128];
    (void)snprintf(path, sizeof(path), "/v2/models/%.100s/infer", bench->target.workflow);
    (void)snprintf(
        headers, sizeof(headers), "%sInference-Header-Content-Length: %zu\r\n",
        bench->target.headers, bench->body.json_bytes);
    if (values->deadline.value > 0) {
        const size_t length = strlen(headers);
        (void)snprintf(
            headers + length, sizeof(headers) - length, "x-slo-ms: %" PRIu64 "\r\n",
            values->deadline.value);
    }
    arrival_stream_init(&stream, &bench->arrivals, bench->catalogue, values->seed.value);
    const struct load_options options = {
        .urls = bench->target.urls,
        .url_count = bench->target.url_count,
        .path = path,
        .headers = headers,
        .body = bench->body.bytes,
        .body_bytes = bench->body.length,
        .arrivals = &stream,
        .until_ns = (int64_t)values->seconds.value * NS_PER_S + warmup_ns,
        .warmup_ns = warmup_ns,
        .patience_ns = 10 * NS_PER_S,
        .slo_ns = (int64_t)values->slo.value * NS_PER_MS,
        .connections = (uint32_t)values->connections.value,
        .has_keys = has_keys,
        .silence_ns = has_keys ? SILENCE_NS : 0,
        .is_over = on_progress,
        .context = bench,
    };
    interrupt_catch();
    progress_start(&bench->progress, bench->target.workflow);
    const enum weft_status status = load_run(&options, &bench->report, error);
    progress_clear(&bench->progress);
    return status;
}

static double per_second(const struct load_report *report, uint64_t count)
{
    return report->span_ns > 0 ? (double)count * 1e9 / (double)report->span_ns : 0;
}

static void add_times(struct table *table, const char *name, const struct histogram *times)
{
    static const double quantiles[] = {0.5, 0.9, 0.95, 0.99, 0.999};
    table_add(table, "  %s", name);
    table_add(table, "%.3f", histogram_mean(times) / 1e6);
    for (size_t i = 0; i < ARRAY_COUNT(quantiles); i++) {
        table_add(table, "%.3f", (double)histogram_quantile(times, quantiles[i]) / 1e6);
    }
    table_add(table, "%.3f", (double)histogram_max(times) / 1e6);
}

static void print_report(const struct bench *bench)
{
    static const struct table_column columns[] = {
        {"", false},   {"mean, ms", true}, {"p50", true},   {"p90", true},
        {"p95", true}, {"p99", true},      {"p99.9", true}, {"max", true}};
    const struct load_report *report = &bench->report;
    struct table table;
    (void)printf(
        "%s: %" PRIu64 " requests were due in %.1f s: %" PRIu64 " good (%.1f/s), %" PRIu64
        " refused, %" PRIu64 " late, %" PRIu64 " failed, %" PRIu64 " broken, %" PRIu64 " open\n",
        bench->target.workflow, report->due, (double)report->span_ns / 1e9, report->good,
        per_second(report, report->good), report->refused, report->late, report->failed,
        report->broken, report->open);
    if (bench->values->slo.value > 0) {
        (void)printf(
            "goodput within %" PRIu64 " ms: %.1f/s, %.2f %% of what was due\n",
            bench->values->slo.value, per_second(report, report->in_slo),
            report->due > 0 ? 100 * (double)report->in_slo / (double)report->due : 0);
    }
    if (report->behind > 0) {
        (void)printf(
            "%" PRIu64 " were sent more than 1 ms late, for want of one of %" PRIu64
            " connections or of time here; their latency says so\n",
            report->behind, bench->values->connections.value);
    }
    if (report->retried > 0) {
        (void)printf(
            "%" PRIu64 " times a request was sent again, after a connection was lost\n",
            report->retried);
    }
    if (report->silent > 0) {
        (void)printf(
            "%" PRIu64 " times another address was asked, after one said nothing for %d s\n",
            report->silent, (int)(SILENCE_NS / NS_PER_S));
    }
    table_init(&table, columns, ARRAY_COUNT(columns));
    add_times(&table, "latency", &report->latency_ns);
    add_times(&table, "queued", &report->queue_ns);
    add_times(&table, "running", &report->run_ns);
    add_times(&table, "on its way", &report->other_ns);
    add_times(&table, "network, HTTP", &report->network_ns);
    if (report->refused > 0) {
        add_times(&table, "refusals", &report->refused_ns);
    }
    table_print(&table, stdout);
    table_deinit(&table);
}

static json_t *times_json(const struct histogram *times)
{
    return json_pack(
        "{s:f, s:f, s:f, s:f, s:f, s:f}", "mean", histogram_mean(times) / 1e6, "p50",
        (double)histogram_quantile(times, 0.5) / 1e6, "p95",
        (double)histogram_quantile(times, 0.95) / 1e6, "p99",
        (double)histogram_quantile(times, 0.99) / 1e6, "p999",
        (double)histogram_quantile(times, 0.999) / 1e6, "max", (double)histogram_max(times) / 1e6);
}

static void print_json(const struct bench *bench)
{
    const struct load_report *report = &bench->report;
    json_t *counts = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "due", (json_int_t)report->due,
        "silent", (json_int_t)report->silent, "good", (json_int_t)report->good, "refused",
        (json_int_t)report->refused, "late", (json_int_t)report->late, "failed",
        (json_int_t)report->failed, "broken", (json_int_t)report->broken, "open",
        (json_int_t)report->open, "behind", (json_int_t)report->behind, "retried",
        (json_int_t)report->retried);
    json_t *all = json_pack(
        "{s:s, s:f, s:o, s:f, s:f, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "workflow",
        bench->target.workflow, "seconds", (double)report->span_ns / 1e9, "requests", counts,
        "good_per_s", per_second(report, report->good), "goodput_per_s",
        per_second(report, report->in_slo), "in_slo", (json_int_t)report->in_slo, "latency_ms",
        times_json(&report->latency_ns), "queue_ms", times_json(&report->queue_ns), "run_ms",
        times_json(&report->run_ns), "other_ms", times_json(&report->other_ns), "network_ms",
        times_json(&report->network_ns), "refused_ms", times_json(&report->refused_ns));
    report_json_print(all, stdout);
}

/* The exit code: 0 only if something was answered well. */
static int report(const struct command *command, const struct bench *bench)
{
    if (bench->values->json) {
        print_json(bench);
    } else {
        print_report(bench);
    }
    const int exit_code = command_flush(command);
    return bench->report.good > 0 ? exit_code : COMMAND_FAILED;
}

static enum weft_status check_values(const struct values *values, struct weft_error *error)
{
    if (values->connections.value == 0 || values->connections.value > CONNECTIONS_MAX) {
        return error_set(
            error, WEFT_INVALID, "--connections takes a number from 1 to %d", CONNECTIONS_MAX);
    }
    if (values->seconds.value > SECONDS_MAX || values->warmup.value > SECONDS_MAX) {
        return error_set(
            error, WEFT_INVALID, "--seconds and --warmup take at most %d", SECONDS_MAX);
    }
    if (values->slo.value > (uint64_t)SECONDS_MAX * 1000) {
        return error_set(error, WEFT_INVALID, "--slo takes at most %d000", SECONDS_MAX);
    }
    return WEFT_OK;
}

static int run(const struct command *command, void *given, const struct operands *operands)
{
    struct values *values = given;
    struct weft_error error = {.status = WEFT_OK};
    if (check_values(values, &error) != WEFT_OK) {
        return command_fail(command, &error, COMMAND_WRONG);
    }
    struct bench *bench = memory_zeroed(1, sizeof(*bench)); /* Histograms are large. */
    bench->values = values;
    arena_init(&bench->arena);
    enum weft_status status = prepare(bench, operands, &error);
    if (status == WEFT_OK) {
        status = generate(bench, &error);
    }
    const int exit_code =
        status == WEFT_OK
            ? report(command, bench)
            : command_fail(
                  command, &error, status == WEFT_INVALID ? COMMAND_WRONG : COMMAND_FAILED);
    free(bench->body.bytes);
    catalogue_destroy(bench->catalogue);
    arena_deinit(&bench->arena);
    free(bench);
    return exit_code;
}

static const struct argument rows[] = {
    {"--rate", "RATE", "requests per second; default 100/s, or the rate of the trace",
     ARGUMENT_TEXT, offsetof(struct values, rate)},
    {"--arrivals", "KIND", "'poisson' or 'constant' gaps", ARGUMENT_TEXT,
     offsetof(struct values, arrivals)},
    {"--trace", "FILE", "arrival times from a CSV file, t_ms,workflow", ARGUMENT_TEXT,
     offsetof(struct values, trace)},
    {"--seconds", "N", "seconds of requests after the warm-up; default 10", ARGUMENT_COUNT,
     offsetof(struct values, seconds)},
    {"--warmup", "N", "seconds before counting starts; default 1", ARGUMENT_COUNT,
     offsetof(struct values, warmup)},
    {"--connections", "N", "largest number of connections; default 64", ARGUMENT_COUNT,
     offsetof(struct values, connections)},
    {"--slo", "MS", "count goodput against this latency", ARGUMENT_COUNT,
     offsetof(struct values, slo)},
    {"--deadline", "MS", "deadline sent with every request", ARGUMENT_COUNT,
     offsetof(struct values, deadline)},
    {"--seed", "N", "seed of the arrivals; default 1", ARGUMENT_COUNT,
     offsetof(struct values, seed)},
    {"--no-keys", NULL, "with several URLs: do not say which requests are sent again",
     ARGUMENT_FLAG, offsetof(struct values, no_keys)},
    {"--token-file", "FILE", "file with the bearer token", ARGUMENT_TEXT,
     offsetof(struct values, where.token_file)},
    {"--json", NULL, "print one JSON object", ARGUMENT_FLAG, offsetof(struct values, json)},
    {.name = NULL},
};

const struct command command_bench = {
    .name = "bench",
    .summary = "send requests to a server at a rate, and measure",
    .usage = "URL[,URL] WORKFLOW [NAME=VALUE | NAME=@FILE]... [options]",
    .description =
        "Requests are due at their times whether earlier ones are answered or not, and latency\n"
        "counts from then: a server that stalls cannot hide it. Inputs that are not given are\n"
        "zeros. The server's own figures split the latency: waiting while no task ran; running;\n"
        "transfers and decisions. The rest is sockets, HTTP and waiting for a connection.\n"
        "Several URLs are servers of one cluster: connections take them in turn, and a request\n"
        "whose connection is lost is sent to another, with the same key.\n"
        "Ctrl-C ends early and prints what was measured. Exit code 1 if nothing was answered.\n",
    .arguments =
        {.operand = "URL WORKFLOW", .operand_min = 2, .operand_max = UINT32_MAX, .rows = rows},
    .values_bytes = sizeof(struct values),
    .defaults =
        &(const struct values){
            .seconds = {.value = 10},
            .warmup = {.value = 1},
            .connections = {.value = 64},
            .seed = {.value = 1},
        },
    .run = run,
};
