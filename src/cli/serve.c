/* serve.c - `weft serve`: a cluster that runs, and how well that had been predicted. */
#include "cli/serve.h"

#include <errno.h>
#include <inttypes.h>

#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/serve_report.h"
#include "console/interrupt.h"
#include "document/repository.h"
#include "service/listen_limits.h"
#include "service/serve_log.h"
#include "service/service.h"

enum { TITLE_BYTES = 512, DRAIN_SECONDS_MAX = 86400 };

static bool file_is_there(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 || errno != ENOENT;
}

static enum weft_status load(
    const char *path, const struct serve_values *values, struct policy_set *policies,
    struct scenario **scenario_out, struct weft_error *error)
{
    const struct run_settings settings = {.rate = values->rate, .sets = &values->sets};
    if (!file_is_there(path)) {
        return error_set(
            error, WEFT_NOT_FOUND, "%s: no such %s", path, values->emulated ? "file" : "folder");
    }
    if (!values->emulated) {
        return error_set(
            error, WEFT_INVALID,
            "'%s' is a file; a scenario is served with --emulated, a repository is a folder", path);
    }
    const enum weft_status status = run_load(path, &settings, scenario_out, error);
    if (status != WEFT_OK) {
        return status;
    }
    (*scenario_out)->fault_count = 0; /* Nothing breaks on purpose here. */
    return policy_set_parse(
        values->policy == NULL ? (*scenario_out)->policy : values->policy, policies, error);
}

static int say_abandoned(const struct command *command, const struct service_result *result)
{
    if (result->abandoned > 0) {
        (void)fprintf(
            stderr, "weft %s: ended without waiting for %" PRIu32 " requests\n", command->name,
            result->abandoned);
    } else if (result->answered < result->arrived) {
        (void)fprintf(
            stderr, "weft %s: stopped with %" PRIu64 " of %" PRIu64 " requests unanswered\n",
            command->name, result->arrived - result->answered, result->arrived);
    } else {
        return COMMAND_OK;
    }
    return COMMAND_FAILED;
}

int serve_played(
    const struct command *command, const struct service_options *options, struct scenario *scenario,
    bool json)
{
    const struct run_options run = {.policies = options->policies, .seed = options->seed};
    struct service_result served;
    struct run_result predicted;
    struct weft_error error = {0};
    if (service_run(options, &served, &error) != WEFT_OK) {
        return command_fail(command, &error, COMMAND_FAILED);
    }
    /* What the same jobs would have met in the simulator. */
    scenario->jobs = served.arrived;
    scenario->warmup = 0;
    interrupt_catch();
    if (scenario->jobs > 0 && !run_simulate(scenario, &run, &predicted)) {
        interrupt_obey();
    }
    if (scenario->jobs > 0) {
        struct run_result both = predicted; /* The same scenario, policy and seed. */
        both.report = served.report;
        both.wall_s = served.wall_s;
        both.counters =
            (struct sim_counters){.arrived = served.arrived, .answered = served.answered};
        if (json) {
            serve_report_json(&both, &predicted);
        } else {
            serve_report_print(&both, &predicted);
        }
    }
    const int ended = say_abandoned(command, &served);
    const int flushed = command_flush(command);
    return ended == COMMAND_OK ? flushed : ended;
}

static double percent(uint64_t part, uint64_t all)
{
    return 100 * (double)part / (double)all;
}

static void print_slo(const struct slo_counts *slo)
{
    (void)printf("SLO met: ");
    if (slo->admitted > 0) {
        (void)printf(
            "%.1f %% of what was admitted (%" PRIu64 " of %" PRIu64 "), ",
            percent(slo->met, slo->admitted), slo->met, slo->admitted);
    }
    (void)printf(
        "%.1f %% of all (%" PRIu64 " of %" PRIu64 ")\n", percent(slo->met, slo->asked), slo->met,
        slo->asked);
}

static void print_summary(const struct service_result *result)
{
    const struct report *report = &result->report;
    if (result->arrived == 0) {
        (void)printf("served no requests in %.1f s\n", result->wall_s);
        return;
    }
    (void)printf(
        "served %" PRIu64 " requests in %.1f s: %" PRIu64 " completed, %" PRIu64
        " refused, %" PRIu64 " failed",
        result->arrived, result->wall_s, report->completed, report->refused, report->failed);
    if (report->cancelled > 0) {
        (void)printf(", %" PRIu64 " cancelled", report->cancelled);
    }
    if (report->counted > 0) {
        (void)printf(
            "\nlatency p50 %.0f ms, p95 %.0f ms\n", report->latency_ms.p50, report->latency_ms.p95);
    } else {
        (void)printf("\nlatency -\n");
    }
    if (result->slo.asked > 0) {
        print_slo(&result->slo);
    }
}

/* The same for programs, even without any request. */
static void print_json(const struct service_options *options, const struct service_result *served)
{
    const struct scenario *scenario = options->scenario;
    struct run_result result = {
        .seed = options->seed,
        .worker_count = scenario->fleet->worker_count,
        .has_slo = run_has_slo(scenario),
        .report = served->report,
        .wall_s = served->wall_s,
        .rate_per_s = options->plays ? scenario->arrivals.rate_per_s : 0,
    };
    (void)snprintf(result.scenario, sizeof(result.scenario), "%s", scenario->name);
    (void)snprintf(result.policy, sizeof(result.policy), "%s", options->policies->text);
    serve_report_json(&result, /* predicted */ NULL);
}

int serve_clients(const struct command *command, const struct service_options *options, bool json)
{
    struct service_result result;
    struct weft_error error = {0};
    const enum weft_status status = options->cluster == NULL
                                        ? service_run(options, &result, &error)
                                        : clustered_run(options, &result, &error);
    if (status != WEFT_OK) {
        return command_fail(command, &error, COMMAND_FAILED);
    }
    if (json) {
        print_json(options, &result);
    } else if (!options->silent) {
        print_summary(&result);
        late_report_print(options->scenario->catalogue, result.late, stdout);
    }
    const int ended = say_abandoned(command, &result);
    const int flushed = command_flush(command);
    return ended == COMMAND_OK ? flushed : ended;
}

int64_t serve_drain_ns(const struct serve_values *values)
{
    const uint64_t seconds =
        values->drain.value < DRAIN_SECONDS_MAX ? values->drain.value : DRAIN_SECONDS_MAX;
    if (!values->drain.given) {
        return 0;
    }
    return seconds == 0 ? 1 : (int64_t)seconds * NS_PER_S;
}

static int serve_scenario(
    const struct command *command, const char *path, const struct serve_values *values,
    struct log *log)
{
    char title[TITLE_BYTES];
    struct weft_error error = {0};
    struct scenario *scenario = NULL;
    struct policy_set policies;
    if (load(path, values, &policies, &scenario, &error) != WEFT_OK || scenario == NULL) {
        scenario_destroy(scenario);
        return command_fail(command, &error, COMMAND_WRONG);
    }
    if (values->admits_all) {
        service_admit_all(&policies);
    } else if (values->listen.http != NULL) {
        service_admit(&policies); /* Without clients it is an experiment, as it is written. */
    }
    const struct service_options options = {
        .scenario = scenario,
        .policies = &policies,
        .title = title,
        .program = command_program(),
        .trace = values->trace,
        .why = values->why,
        .log = log,
        .drain_ns = serve_drain_ns(values),
        .seed = values->seed.given ? values->seed.value : scenario->seeds[0],
        .seconds = values->seconds.value,
        .plays = values->listen.http == NULL || values->rate != NULL,
        .listen = &values->listen,
        .silent = values->json,
        .plain = values->plain,
    };
    (void)snprintf(
        title, sizeof(title), "%s: %s at %g/s, seed %" PRIu64, scenario->name, policies.text,
        scenario->arrivals.rate_per_s, options.seed);
    const int exit_code = values->listen.http == NULL
                              ? serve_played(command, &options, scenario, values->json)
                              : serve_clients(command, &options, values->json);
    scenario_destroy(scenario);
    return exit_code;
}

/* What cannot be asked of a cluster, or without one. */
static enum weft_status check_cluster(
    const struct serve_values *values, const char *path, struct weft_error *error)
{
    const struct cluster_where *cluster = &values->cluster;
    if (cluster->directory.where == NULL) {
        return cluster->node == NULL && cluster->listen == NULL && cluster->net == NULL &&
                       !cluster->no_deputies && cluster->trust.secret == NULL &&
                       cluster->trust.certificate == NULL
                   ? WEFT_OK
                   : error_set(error, WEFT_INVALID, "options of a cluster need '--cluster'");
    }
    if (values->rate != NULL) {
        return error_set(
            error, WEFT_INVALID, "'--rate' and '--cluster' do not go together; see 'weft bench'");
    }
    if (values->listen.http == NULL || !repository_is_folder(path)) {
        return error_set(error, WEFT_INVALID, "'--cluster' needs a repository and '--http'");
    }
    return WEFT_OK;
}

static int run(const struct command *command, void *given, const struct operands *files)
{
    struct serve_values *values = given;
    static struct log log;
    struct weft_error error = {0};
    if (serve_log_open(
            values->log_format, values->log_level, values->listen.http != NULL, &log, &error) !=
            WEFT_OK ||
        listen_limits_read(&values->listen.limits_given, &values->listen.limits, &error) !=
            WEFT_OK) {
        return command_fail(command, &error, COMMAND_WRONG);
    }
    if (check_cluster(values, files->items[0], &error) != WEFT_OK) {
        return command_fail(command, &error, COMMAND_WRONG);
    }
    if (values->why && values->trace == NULL && values->listen.http == NULL) {
        (void)error_set(&error, WEFT_INVALID, "'--why' goes with '--trace' or '--http'");
        return command_fail(command, &error, COMMAND_WRONG);
    }
    if (values->listen.http != NULL && isatty(STDERR_FILENO) != 1) {
        interrupt_catch_hang_up(); /* A reload that comes while models are measured. */
    }
    return repository_is_folder(files->items[0])
               ? serve_repository(command, files->items[0], values, &log)
               : serve_scenario(command, files->items[0], values, &log);
}

static const struct argument rows[] = {
    {"--emulated", NULL, "emulate workers, with the times of the profile", ARGUMENT_FLAG,
     offsetof(struct serve_values, emulated)},
    {"--policy", "POLICY", "policy, instead of the configured one; see 'weft policies'",
     ARGUMENT_TEXT, offsetof(struct serve_values, policy)},
    {"--no-admission", NULL, "accept every request, even if it would be late", ARGUMENT_FLAG,
     offsetof(struct serve_values, admits_all)},
    {"--rate", "RATE",
     "requests per second, instead of the scenario's; for a repository, samples from\n"
     "its folder 'inputs' or, if it has none, made-up requests; '60%' asks for that share\n"
     "of what this machine can carry, which is measured first",
     ARGUMENT_TEXT, offsetof(struct serve_values, rate)},
    {"--workers", "N", "workers of each node, instead of as weft.yaml says", ARGUMENT_COUNT,
     offsetof(struct serve_values, workers)},
    {"--memory", "BYTES", "memory of each worker for models, such as 500MB; the same",
     ARGUMENT_TEXT, offsetof(struct serve_values, memory)},
    {"--gpus", "N", "use N GPUs at most, instead of as weft.yaml says", ARGUMENT_COUNT,
     offsetof(struct serve_values, gpus)},
    {"--seed", "N", "seed, instead of the scenario's first", ARGUMENT_COUNT,
     offsetof(struct serve_values, seed)},
    {"--seconds", "N", "how long requests come; default until Ctrl-C", ARGUMENT_COUNT,
     offsetof(struct serve_values, seconds)},
    {"--set", "KEY=VALUE", "change a setting of the scenario; may be repeated", ARGUMENT_LIST,
     offsetof(struct serve_values, sets)},
    {"--drain", "SECONDS", "how long to wait for answers at the end; default 30", ARGUMENT_COUNT,
     offsetof(struct serve_values, drain)},
    {"--trace", "FILE",
     "write what happens, as it does: lines of JSON for 'weft explain' if FILE ends in\n"
     ".jsonl, events for trace viewers if it ends in .json, otherwise lines of text",
     ARGUMENT_TEXT, offsetof(struct serve_values, trace)},
    {"--why", NULL,
     "in the trace and for 'weft explain', what each choice of a worker was weighed against",
     ARGUMENT_FLAG, offsetof(struct serve_values, why)},
    {"--plain", NULL, "print a line per second while something happens, even on a terminal",
     ARGUMENT_FLAG, offsetof(struct serve_values, plain)},
    {"--json", NULL, "print nothing but one JSON object at the end", ARGUMENT_FLAG,
     offsetof(struct serve_values, json)},
    {"--log-format", "FORMAT", "format of the log on stderr: 'text', which is logfmt, or 'json'",
     ARGUMENT_TEXT, offsetof(struct serve_values, log_format)},
    {"--log-level", "LEVEL",
     "'error', 'warn' or 'info'; default 'info' with --http, 'warn' on a terminal", ARGUMENT_TEXT,
     offsetof(struct serve_values, log_level)},
    {"--http", "HOST:PORT", "serve clients there; a scenario's own arrivals then need --rate",
     ARGUMENT_TEXT, offsetof(struct serve_values, listen.http)},
    {"--metrics", "HOST:PORT", "address of /metrics, or 'none'; default port 8002 with --http",
     ARGUMENT_TEXT, offsetof(struct serve_values, listen.metrics)},
    {"--tls-cert", "FILE", "certificate in PEM, to serve clients with TLS", ARGUMENT_TEXT,
     offsetof(struct serve_values, listen.tls_certificate)},
    {"--tls-key", "FILE", "its key", ARGUMENT_TEXT, offsetof(struct serve_values, listen.tls_key)},
    {"--token-file", "FILE", "file with the token that clients must send", ARGUMENT_TEXT,
     offsetof(struct serve_values, listen.token_file)},
    {"--limit", "NAME=VALUE",
     "change a limit of the server, such as connections=100; may be repeated;\n"
     "docs/SERVING.md lists them",
     ARGUMENT_LIST, offsetof(struct serve_values, listen.limits_given)},
    {"--admin-token-file", "FILE",
     "file with the token for management, which is to load\n"
     "and unload models and to explain jobs",
     ARGUMENT_TEXT, offsetof(struct serve_values, listen.admin_token_file)},
    {"--management", "WHO",
     "who may do that without the token: 'local', clients on this\n"
     "machine, by default; 'off', no client, even with a token; 'on', all clients",
     ARGUMENT_TEXT, offsetof(struct serve_values, listen.management)},
    {"--cluster", "DIRECTORY",
     "join the cluster whose members are found there: file:FOLDER, etcd://HOST:PORT,...\n"
     "or etcds://HOST:PORT,...; docs/CLUSTER.md",
     ARGUMENT_TEXT, offsetof(struct serve_values, cluster.directory.where)},
    {"--node", "NAME",
     "which of the 'members' of weft.yaml this is, or what it is called if these have\n"
     "no names; default the host's name",
     ARGUMENT_TEXT, offsetof(struct serve_values, cluster.node)},
    {"--listen-cluster", "HOST:PORT",
     "where other nodes reach this one; default any port of 127.0.0.1, for this\n"
     "machine alone",
     ARGUMENT_TEXT, offsetof(struct serve_values, cluster.listen)},
    {"--cluster-net", "NET",
     "how nodes reach each other: 'tcp'; 'shm', shared memory; 'ucx'; 'auto', shared\n"
     "memory between processes of one machine and user, else TCP, by default",
     ARGUMENT_TEXT, offsetof(struct serve_values, cluster.net)},
    {"--cluster-secret-file", "FILE", "file with a secret that all nodes know", ARGUMENT_TEXT,
     offsetof(struct serve_values, cluster.trust.secret)},
    {"--fetch", "WHAT",
     "what other nodes may give if it is missing here: 'models', with workflows and\n"
     "settings, which is the default; 'all', with functions, which are code; or 'none'",
     ARGUMENT_TEXT, offsetof(struct serve_values, fetch)},
    {"--cluster-cert", "FILE", "instead: certificate of this node, in its name, in PEM",
     ARGUMENT_TEXT, offsetof(struct serve_values, cluster.trust.certificate)},
    {"--cluster-key", "FILE", "its key", ARGUMENT_TEXT,
     offsetof(struct serve_values, cluster.trust.key)},
    {"--cluster-ca", "FILE", "the authority that signs the certificates of nodes", ARGUMENT_TEXT,
     offsetof(struct serve_values, cluster.trust.authority)},
    {"--no-deputies", NULL, "requests are lost with the node that they came to", ARGUMENT_FLAG,
     offsetof(struct serve_values, cluster.no_deputies)},
    {"--etcd-ca", "FILE", "authority of etcds://; default the system's", ARGUMENT_TEXT,
     offsetof(struct serve_values, cluster.directory.ca_file)},
    {"--etcd-user-file", "FILE", "file with USER:PASSWORD for etcd", ARGUMENT_TEXT,
     offsetof(struct serve_values, cluster.directory.user_file)},
    {.name = NULL},
};

const struct command command_serve = {
    .name = "serve",
    .summary = "serve a repository or a scenario on this machine, and watch it",
    .usage = "REPOSITORY | --emulated SCENARIO [options]",
    .description =
        "A repository is a folder of models, functions and workflows. A cluster of workers in\n"
        "this process runs them; its weft.yaml says how many, and with how much memory. Models\n"
        "without a profile are measured first, by samples from the folder 'inputs' if it has\n"
        "any. Profiles are adjusted to what is observed.\n"
        "\n"
        "With --emulated, nodes, their messages and the clock are real, while devices and the\n"
        "network take the time that the profile says. Requests come as the scenario's arrivals\n"
        "say; its faults are left out. Where requests were made up, the end also shows the\n"
        "simulator's prediction for the same jobs.\n"
        "\n"
        "With --http, clients send requests by the Open Inference Protocol: docs/SERVING.md.\n"
        "Emulated workers make no tensors, so outputs are empty.\n"
        "\n"
        "On a terminal a live screen is drawn; with NO_COLOR set, without colours. It splits\n"
        "late jobs into the time that they were queued, loading their models, running and\n"
        "moving, along the tasks that their answers waited for.\n"
        "\n"
        "The first Ctrl-C or SIGTERM lets no more requests in and waits for the others, as long\n"
        "as --drain says; the second stops at once. SIGHUP reloads models whose files have\n"
        "changed.\n",
    .arguments =
        {.operand = "REPOSITORY or SCENARIO", .operand_min = 1, .operand_max = 1, .rows = rows},
    .values_bytes = sizeof(struct serve_values),
    .run = run,
};
