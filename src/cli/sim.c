/* sim.c - `weft sim`: one simulation of a scenario, summed up. */
#include <string.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/report_json.h"
#include "cli/report_text.h"
#include "cli/sim_shrink.h"
#include "console/interrupt.h"
#include "console/whole_file.h"
#include "lab/run.h"
#include "trace/writer.h"

/* Events of a checked run, unless something else is said. A job takes some dozens. */
#define EVENTS_MAX_DEFAULT UINT64_C(5000000)

struct values {
    const char *policy;
    const char *rate;
    struct argument_count seed;
    const char *jobs;
    const char *warmup;
    struct argument_list sets;
    const char *trace;
    bool why;
    bool check;
    bool brief;
    bool json;
    const char *shrink;
    struct argument_count events_max;
    struct argument_count tries_max;
};

/* A trace that is being written. */
struct tracer {
    struct whole_file file;
    struct trace_writer *writer;
};

static void write_trace(void *context, const char *bytes, size_t count)
{
    whole_file_write(context, bytes, count);
}

static void on_record(void *context, const struct record *record)
{
    const struct tracer *tracer = context;
    trace_writer_add(tracer->writer, record);
}

/* Standard output has text, or lines of JSON beside a report in JSON. */
static enum trace_form form_of(const struct values *values)
{
    const bool is_lines = values->json && strcmp(values->trace, "-") == 0;
    return is_lines ? TRACE_LINES : trace_form_of(values->trace);
}

static enum weft_status open_trace(
    struct tracer *tracer, const struct scenario *scenario, const struct values *values,
    struct weft_error *error)
{
    const enum weft_status status = whole_file_open(&tracer->file, values->trace, error);
    if (status == WEFT_OK) {
        const struct trace_writer_options options = {
            .form = form_of(values),
            .fleet = scenario->fleet,
            .catalogue = scenario->catalogue,
            .write = write_trace,
            .context = &tracer->file,
        };
        tracer->writer = trace_writer_create(&options);
    }
    return status;
}

static enum weft_status load(
    const char *path, const struct values *values, struct policy_set *policies,
    struct scenario **scenario_out, struct weft_error *error)
{
    const struct run_settings settings = {
        .rate = values->rate,
        .jobs = values->jobs,
        .warmup = values->warmup,
        .sets = &values->sets,
    };
    const enum weft_status status = run_load(path, &settings, scenario_out, error);
    if (status != WEFT_OK) {
        return status;
    }
    return policy_set_parse(
        values->policy == NULL ? (*scenario_out)->policy : values->policy, policies, error);
}

/* What a run gave. */
struct finished {
    struct run_result result;
    struct details *details; /* NULL: none are wanted. */
};

/* 0: no limit. */
static uint64_t events_max(const struct values *values)
{
    if (values->events_max.given) {
        return values->events_max.value;
    }
    return values->check || values->shrink != NULL ? EVENTS_MAX_DEFAULT : 0;
}

/* Simulate, with a trace if one is wanted: of an interrupted run, of what had happened. */
static enum weft_status simulate(
    const struct scenario *scenario, const struct policy_set *policies, const struct values *values,
    struct finished *out, struct weft_error *error)
{
    struct tracer tracer = {.writer = NULL};
    struct progress progress;
    struct run_options options = {
        .policies = policies,
        .seed = values->seed.given ? values->seed.value : scenario->seeds[0],
        .check = values->check,
        .events_max = events_max(values),
        .warmup_auto = run_warmup_is_auto(values->warmup),
        .progress = &progress,
        .details_out = values->brief ? NULL : &out->details,
    };
    if (values->trace != NULL) {
        const enum weft_status status = open_trace(&tracer, scenario, values, error);
        if (status != WEFT_OK) {
            return status;
        }
        options.on_record = on_record;
        options.context = &tracer;
        options.weighs = values->why;
    }
    progress_start(&progress, scenario->name);
    (void)run_simulate(scenario, &options, &out->result); /* The result says if it was cut. */
    progress_clear(&progress);
    trace_writer_destroy(tracer.writer);
    return values->trace == NULL ? WEFT_OK : whole_file_commit(&tracer.file, error);
}

/* Cut @scenario down, with what the command line says in place of its own. */
static int cut_down(
    const struct command *command, struct scenario *scenario, const struct policy_set *policies,
    const struct values *values)
{
    const uint64_t tries =
        values->tries_max.given ? values->tries_max.value : SIM_TRIES_MAX_DEFAULT;
    const struct sim_shrink_options options = {
        .out = values->shrink,
        .events_max = events_max(values),
        .events_given = values->events_max.given,
        .tries_max = tries > UINT32_MAX ? UINT32_MAX : (uint32_t)tries,
    };
    struct weft_error error = {0};
    bool has_failed = false;
    scenario->seed_count = 1;
    if (values->seed.given) {
        scenario->seeds[0] = values->seed.value;
    }
    (void)snprintf(scenario->policy, sizeof(scenario->policy), "%s", policies->text);
    const enum weft_status status = sim_shrink(scenario, &options, &has_failed, &error);
    scenario_destroy(scenario);
    if (status == WEFT_CANCELLED) {
        interrupt_obey();
    }
    if (status != WEFT_OK) {
        return command_fail(command, &error, COMMAND_FAILED);
    }
    const int flushed = command_flush(command);
    return has_failed ? COMMAND_FAILED : flushed;
}

/* A run whose end is wrong has failed, like one that an ASSERT stops. */
static int fail_broken(const struct command *command, const struct run_result *result)
{
    struct weft_error error = {0};
    (void)error_set(&error, WEFT_INVALID, "%s: %s", result->scenario, result->broken);
    return command_fail(command, &error, COMMAND_FAILED);
}

/* What is asked for goes together. */
static enum weft_status check_values(const struct values *values, struct weft_error *error)
{
    if (values->shrink != NULL && (values->trace != NULL || values->json)) {
        return error_set(
            error, WEFT_INVALID, "'--shrink' goes neither with '--trace' nor '--json'");
    }
    if (values->why && values->trace == NULL) {
        return error_set(error, WEFT_INVALID, "'--why' goes with '--trace'");
    }
    if (values->tries_max.given && values->shrink == NULL) {
        return error_set(error, WEFT_INVALID, "'--tries-max' goes with '--shrink'");
    }
    return WEFT_OK;
}

static void print(
    const struct finished *finished, const struct scenario *scenario, const struct values *values)
{
    const struct run_result *result = &finished->result;
    FILE *file = values->trace != NULL && strcmp(values->trace, "-") == 0 ? stderr : stdout;
    if (values->json) {
        json_t *object = report_json(result);
        report_json_add_fairness(object, &result->report, scenario);
        if (finished->details != NULL) {
            report_json_add_rows(object, finished->details, scenario);
        }
        report_json_print(object, file);
        return;
    }
    report_text_print(result, finished->details, file);
    if (finished->details != NULL) {
        report_rows_print(finished->details, scenario, result->report.stable, file);
    }
}

static int run(const struct command *command, void *given, const struct operands *files)
{
    struct values *values = given;
    struct weft_error error = {0};
    struct scenario *scenario = NULL;
    struct policy_set policies;
    struct finished finished = {.details = NULL};
    enum weft_status status = check_values(values, &error);
    if (status == WEFT_OK) {
        status = load(files->items[0], values, &policies, &scenario, &error);
    }
    if (status != WEFT_OK) {
        scenario_destroy(scenario);
        return command_fail(command, &error, COMMAND_WRONG);
    }
    interrupt_catch();
    if (values->shrink != NULL) {
        return cut_down(command, scenario, &policies, values);
    }
    status = simulate(scenario, &policies, values, &finished, &error);
    if (status == WEFT_OK && finished.result.broken[0] == '\0') {
        print(&finished, scenario, values);
    }
    details_destroy(finished.details);
    scenario_destroy(scenario);
    if (status != WEFT_OK) {
        return command_fail(command, &error, COMMAND_FAILED);
    }
    if (finished.result.broken[0] != '\0') {
        return fail_broken(command, &finished.result);
    }
    const int flushed = command_flush(command);
    if (finished.result.interrupted) {
        interrupt_obey();
    }
    return flushed;
}

static const struct argument rows[] = {
    {"--policy", "POLICY", "policy, instead of the scenario's; see 'weft policies'", ARGUMENT_TEXT,
     offsetof(struct values, policy)},
    {"--rate", "RATE", "jobs per second, instead of the scenario's", ARGUMENT_TEXT,
     offsetof(struct values, rate)},
    {"--seed", "N", "seed, instead of the scenario's first", ARGUMENT_COUNT,
     offsetof(struct values, seed)},
    {"--jobs", "N", "number of jobs, instead of the scenario's", ARGUMENT_TEXT,
     offsetof(struct values, jobs)},
    {"--warmup", "FRACTION",
     "fraction of jobs that are not counted, instead of the scenario's;\n"
     "'auto': the transient that is found in the run",
     ARGUMENT_TEXT, offsetof(struct values, warmup)},
    {"--set", "KEY=VALUE", "change a setting of the scenario; may be repeated", ARGUMENT_LIST,
     offsetof(struct values, sets)},
    {"--trace", "FILE",
     "write what happened: lines of JSON if FILE ends in .jsonl,\n"
     "events for trace viewers such as Perfetto if it ends in\n"
     ".json, otherwise lines of text. With '-', the trace goes to\n"
     "standard output and the summary to standard error",
     ARGUMENT_TEXT, offsetof(struct values, trace)},
    {"--why", NULL, "in the trace, what each choice of a worker was weighed against", ARGUMENT_FLAG,
     offsetof(struct values, why)},
    {"--check", NULL, "check the invariants after every event (slow)", ARGUMENT_FLAG,
     offsetof(struct values, check)},
    {"--events-max", "N",
     "fail a run with more events than this, as the report counts\n"
     "them; default 5000000 with --check, otherwise no limit",
     ARGUMENT_COUNT, offsetof(struct values, events_max)},
    {"--shrink", "FILE",
     "check and, if that fails, write the smallest scenario that\n"
     "fails in the same way to FILE",
     ARGUMENT_TEXT, offsetof(struct values, shrink)},
    {"--tries-max", "N", "runs that --shrink may take; default 3000", ARGUMENT_COUNT,
     offsetof(struct values, tries_max)},
    {"--brief", NULL, "no rows by workflow, task, model and worker", ARGUMENT_FLAG,
     offsetof(struct values, brief)},
    {"--json", NULL, "print one JSON object", ARGUMENT_FLAG, offsetof(struct values, json)},
    {.name = NULL},
};

const struct command command_sim = {
    .name = "sim",
    .summary = "simulate a scenario and print a summary",
    .usage = "SCENARIO [options]",
    .description =
        "The same scenario, policy and seed give the same trace, whose hash is printed.\n"
        "Keys of --set: rate, deadline, patience, jobs, noise, profile_error, warmup, workers,\n"
        "link, latency, rows.load, rows.cache, memory, policy, seeds.\n"
        "\n"
        "An interrupt ends the run and prints what had happened by then.\n"
        "\n"
        "--shrink exits with 1 if the scenario fails. If it does not fail, --shrink writes\n"
        "nothing and exits with 0. See docs/TESTING.md.\n",
    .arguments = {.operand = "SCENARIO", .operand_min = 1, .operand_max = 1, .rows = rows},
    .values_bytes = sizeof(struct values),
    .run = run,
};
