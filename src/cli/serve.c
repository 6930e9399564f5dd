/* serve.c - `weft serve`: a cluster that runs, and how well that had been predicted. */
#include <inttypes.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/report_json.h"
#include "cli/run.h"
#include "cli/screen.h"
#include "cli/table.h"
#include "runtime/player.h"

struct values {
    bool emulated;
    const char *policy;
    const char *rate;
    struct argument_count seed;
    struct argument_count seconds;
    struct argument_list sets;
    bool plain;
    bool json;
};

/* One served run. */
struct service {
    const struct scenario *scenario;
    const struct policy_set *policies;
    uint64_t seed;
    uint64_t seconds; /* 0: until somebody ends it. */
    bool silent;      /* Nothing is shown on the way. */
    struct runtime *runtime;
    struct player *player;
    struct summary *summary;
    struct watch *watch;
    struct screen screen;
    struct player_counts counts;
};

static void on_record(void *context, const struct record *record)
{
    struct service *service = context;
    summary_add(service->summary, record);
    watch_add(service->watch, record);
}

static void on_ended(void *context)
{
    struct service *service = context;
    runtime_stop(service->runtime);
}

/* The first one drains: what has arrived is answered. The second stops at once. */
static void on_signal(void *context, int number)
{
    struct service *service = context;
    (void)number;
    if (service->screen.is_draining) {
        runtime_stop(service->runtime);
        return;
    }
    service->screen.is_draining = true;
    player_stop(service->player);
}

static void on_show(void *context)
{
    struct service *service = context;
    screen_show(&service->screen);
    runtime_call_at(
        service->runtime, runtime_now_ns(service->runtime) + screen_interval_ns(&service->screen),
        /* background */ true, on_show, service);
}

static enum weft_status start_runtime(struct service *service, struct weft_error *error)
{
    const struct scenario *scenario = service->scenario;
    const struct runtime_options options = {
        .fleet = scenario->fleet,
        .catalogue = scenario->catalogue,
        .profile = scenario->profile,
        .policies = service->policies,
        .clock = CLOCK_KIND_REAL,
        .seed = service->seed,
        .row_load_ns = scenario->row_load_ns,
        .row_cache_ns = scenario->row_cache_ns,
        .noise = scenario->noise,
        .pretend_network = true,
        .on_record = on_record,
        .context = service,
    };
    return runtime_create(&options, &service->runtime, error);
}

static void start_player(struct service *service)
{
    const struct player_options options = {
        .runtime = service->runtime,
        .fleet = service->scenario->fleet,
        .catalogue = service->scenario->catalogue,
        .arrivals = &service->scenario->arrivals,
        .seed = service->seed,
        .until_ns = (int64_t)service->seconds * 1000000000,
        .ended = on_ended,
        .context = service,
    };
    service->player = player_create(&options);
}

/* Serve until the end, whoever brings it about. */
static enum weft_status serve(
    struct service *service, struct report *report_out, struct weft_error *error)
{
    const struct scenario *scenario = service->scenario;
    const struct summary_options summary = {
        .fleet = scenario->fleet,
        .catalogue = scenario->catalogue,
        .profile = scenario->profile,
    };
    service->summary = summary_create(&summary);
    service->watch = watch_create(scenario->fleet, scenario->catalogue);
    const enum weft_status status = start_runtime(service, error);
    if (status == WEFT_OK) {
        start_player(service);
        service->screen.runtime = service->runtime;
        service->screen.watch = service->watch;
        runtime_on_signal(service->runtime, on_signal, service);
        if (!service->silent) {
            runtime_call_at(
                service->runtime, screen_interval_ns(&service->screen), /* background */ true,
                on_show, service);
        }
        runtime_run(service->runtime);
        if (!service->silent) {
            screen_end(&service->screen);
        }
        service->counts = player_counts(service->player);
        summary_report(service->summary, report_out);
    }
    runtime_destroy(service->runtime);
    player_destroy(service->player);
    watch_destroy(service->watch);
    summary_destroy(service->summary);
    return status;
}

static void add_row(
    struct table *table, const char *name, int decimals, double served, double predicted)
{
    table_add(table, "  %s", name);
    table_add(table, "%.*f", decimals, served);
    table_add(table, "%.*f", decimals, predicted);
    if (predicted > 0) {
        table_add(table, "%.3f", served / predicted);
    } else {
        table_add(table, "-");
    }
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

static void print_results(const struct run_result *served, const struct run_result *predicted)
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
    table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
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

static void print_json(const struct run_result *served, const struct run_result *predicted)
{
    const double mean_ms = predicted->report.latency_ms.mean;
    const double ratio = mean_ms > 0 ? served->report.latency_ms.mean / mean_ms : 0;
    json_t *both = json_pack(
        "{s:o, s:o, s:f}", "served", report_json(served), "predicted", report_json(predicted),
        "latency_ratio", ratio);
    report_json_print(both, stdout);
}

/* What the same jobs would have met in the simulator. False if an interrupt came first. */
static bool predict(
    struct scenario *scenario, const struct service *service, struct run_result *result_out)
{
    const struct run_options options = {.policies = service->policies, .seed = service->seed};
    scenario->jobs = service->counts.arrived;
    scenario->warmup = 0;
    interrupt_catch();
    return run_simulate(scenario, &options, result_out);
}

static enum weft_status load(
    const char *path, const struct values *values, struct policy_set *policies,
    struct scenario **scenario_out, struct weft_error *error)
{
    const struct run_settings settings = {.rate = values->rate, .sets = &values->sets};
    if (!values->emulated) {
        (void)error_set(error, WEFT_INVALID, "only emulated workers can be served; say --emulated");
        return WEFT_INVALID;
    }
    const enum weft_status status = run_load(path, &settings, scenario_out, error);
    if (status != WEFT_OK) {
        return status;
    }
    (*scenario_out)->fault_random_count = 0;
    (*scenario_out)->fault_count = 0; /* Nothing breaks on purpose here. */
    return policy_set_parse(
        values->policy == NULL ? (*scenario_out)->policy : values->policy, policies, error);
}

/* The exit code; 0 only if every request was answered. */
static int report(
    const struct command *command, const struct service *service, struct scenario *scenario,
    struct run_result *served, bool json)
{
    struct run_result predicted;
    if (!predict(scenario, service, &predicted)) {
        interrupt_obey();
    }
    const struct report counted = served->report;
    const double wall_s = served->wall_s;
    *served = predicted; /* The same scenario, policy and seed. */
    served->report = counted;
    served->wall_s = wall_s;
    served->counters = (struct sim_counters){
        .arrived = service->counts.arrived, .answered = service->counts.answered};
    if (json) {
        print_json(served, &predicted);
    } else {
        print_results(served, &predicted);
    }
    const uint64_t open = service->counts.arrived - service->counts.answered;
    if (open > 0) {
        (void)fprintf(
            stderr, "weft %s: stopped with %" PRIu64 " of %" PRIu64 " requests unanswered\n",
            command->name, open, service->counts.arrived);
        return COMMAND_FAILED;
    }
    return command_flush(command);
}

static int run(const struct command *command, char **argv)
{
    struct values values = {0};
    struct operands files = {0};
    int exit_code = COMMAND_OK;
    if (!command_parse(command, argv, &values, &files, &exit_code)) {
        return exit_code;
    }
    struct weft_error error = {0};
    struct scenario *scenario = NULL;
    struct policy_set policies;
    struct run_result served = {0};
    if (load(files.items[0], &values, &policies, &scenario, &error) != WEFT_OK) {
        scenario_destroy(scenario);
        return command_fail(command, &error, COMMAND_WRONG);
    }
    struct service service = {
        .scenario = scenario,
        .policies = &policies,
        .seed = values.seed.given ? values.seed.value : scenario->seeds[0],
        .seconds = values.seconds.value,
        .silent = values.json,
        .screen =
            {
                .file = stdout,
                .scenario = scenario,
                .policy = policies.text,
                .is_drawn = !values.plain && isatty(STDOUT_FILENO) == 1,
            },
    };
    service.screen.seed = service.seed;
    const int64_t started_ns = progress_clock_ns();
    if (serve(&service, &served.report, &error) == WEFT_OK) {
        served.wall_s = (double)(progress_clock_ns() - started_ns) / 1e9;
        exit_code = report(command, &service, scenario, &served, values.json);
    } else {
        exit_code = command_fail(command, &error, COMMAND_FAILED);
    }
    scenario_destroy(scenario);
    return exit_code;
}

static const struct argument rows[] = {
    {"--emulated", NULL, "workers that only pretend, in the profile's time", ARGUMENT_FLAG,
     offsetof(struct values, emulated)},
    {"--policy", "POLICY", "instead of the scenario's; 'weft policies' lists them", ARGUMENT_TEXT,
     offsetof(struct values, policy)},
    {"--rate", "RATE", "jobs per second, instead of the scenario's", ARGUMENT_TEXT,
     offsetof(struct values, rate)},
    {"--seed", "N", "instead of the scenario's first", ARGUMENT_COUNT,
     offsetof(struct values, seed)},
    {"--seconds", "N", "how long requests come; without it, until Ctrl-C", ARGUMENT_COUNT,
     offsetof(struct values, seconds)},
    {"--set", "KEY=VALUE", "change a setting of the scenario; may be repeated", ARGUMENT_LIST,
     offsetof(struct values, sets)},
    {"--plain", NULL, "a line a second, also on a terminal", ARGUMENT_FLAG,
     offsetof(struct values, plain)},
    {"--json", NULL, "show nothing on the way, and print one JSON object at the end", ARGUMENT_FLAG,
     offsetof(struct values, json)},
    {.name = NULL},
};

const struct command command_serve = {
    .name = "serve",
    .summary = "serve a scenario on this machine, and watch it",
    .usage = "--emulated SCENARIO [options]",
    .description =
        "Nodes, their messages and the clock are real; devices and the network take the\n"
        "time that the scenario says. Requests come as its arrivals say; its faults are left\n"
        "out. At the end the simulator's prediction for the same jobs stands beside what was\n"
        "measured. The first Ctrl-C lets no more requests in and waits for those that are\n"
        "there; the second stops at once.\n",
    .arguments = {.operand = "SCENARIO", .operand_min = 1, .operand_max = 1, .rows = rows},
    .run = run,
};
