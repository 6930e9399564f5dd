/* serve_repository.c - `weft serve REPOSITORY`: a folder of models, functions and workflows. */
#include <inttypes.h>

#include "base/error.h"
#include "cli/samples_report.h"
#include "cli/serve.h"
#include "document/reader.h"
#include "service/fetch.h"
#include "service/served_repository.h"

enum { TITLE_BYTES = 512, RATE_BYTES = 128, HINT_BYTES = 400 };

static void on_problem(void *context, const char *message)
{
    (void)context;
    (void)fprintf(stderr, "%s\n", message);
}

/* Serve what is open, to its end, and print how its samples did. The exit code. */
static int serve(
    const struct command *command, struct served_repository *served,
    struct service_options *options, const struct serve_values *values)
{
    char rate[RATE_BYTES];
    char hint[HINT_BYTES];
    struct weft_error error = {0};
    if (served_repository_rehearse(served, options, &error) != WEFT_OK) {
        return command_fail(command, &error, COMMAND_FAILED);
    }
    served_repository_say_rate(served, rate, sizeof(rate));
    if (served_repository_say_hint(served, command_program(), hint, sizeof(hint))) {
        options->hint = hint;
    }
    options->asking = rate[0] == '\0' ? NULL : rate;
    const int exit_code = options->plays && values->listen.http == NULL
                              ? serve_played(command, options, served->scenario, values->json)
                              : serve_clients(command, options, values->json);
    if (served->local.samples != NULL && options->plays && !values->json) {
        samples_print(served->local.samples, served->scenario->catalogue, stdout);
    }
    const bool is_right = samples_are_right(served->local.samples);
    return exit_code == COMMAND_OK && !is_right ? COMMAND_FAILED : exit_code;
}

static int serve_open(
    const struct command *command, struct served_repository *served, struct clustered *cluster,
    const struct serve_values *values)
{
    char title[TITLE_BYTES];
    const struct settings *settings = &served->repository->settings;
    struct listen_where listen = values->listen;
    listen.ignores_priority = settings->ignores_priority;
    struct service_options options = {
        .scenario = served->scenario,
        .policies = &served->policies,
        .parts = served->is_local ? &served->parts : NULL,
        .title = title,
        .program = command_program(),
        .trace = values->trace,
        .why = values->why,
        .log = served->options.log,
        .lobby = served->lobby,
        .cluster = cluster,
        .drain_ns = serve_drain_ns(values),
        .seed = values->seed.given ? values->seed.value : 1,
        .seconds = values->seconds.value,
        .jobs_max = settings->jobs_max,
        .plays = values->rate != NULL,
        .listen = &listen,
        .silent = values->json,
        .plain = values->plain,
    };
    (void)snprintf(
        title, sizeof(title), "%s: %s on %" PRIu32 " workers%s", served->scenario->name,
        served->policies.text, served->scenario->fleet->worker_count,
        values->emulated ? ", emulated" : "");
    return serve(command, served, &options, values);
}

/* How other nodes of the cluster give what the repository at @folder lacks. */
static struct fetch_options fetch_of(
    const char *folder, const struct serve_values *values, struct log *log)
{
    return (struct fetch_options){
        .folder = folder,
        .where = &values->cluster,
        .token_file = values->listen.token_file,
        .log = log,
    };
}

/* The same as a node of a cluster. */
static int serve_member(
    const struct command *command, struct served_repository *served,
    const struct serve_values *values, struct log *log)
{
    struct clustered cluster;
    struct weft_error error = {0};
    struct fetch_options options = fetch_of(served->repository->folder, values, log);
    enum weft_status status = clustered_open(
        &cluster, &values->cluster, served->repository, served->scenario, log, &error);
    if (status == WEFT_OK) {
        status = fetch_parse(values->fetch, &options.kinds, &error);
        cluster.fetch = &options;
    }
    const int exit_code = status == WEFT_OK ? serve_open(command, served, &cluster, values)
                                            : command_fail(command, &error, COMMAND_WRONG);
    clustered_close(&cluster);
    return exit_code;
}

static enum weft_status fetch(
    const char *folder, const struct serve_values *values, struct log *log,
    struct weft_error *error)
{
    struct fetch_options options = fetch_of(folder, values, log);
    const enum weft_status status = fetch_parse(values->fetch, &options.kinds, error);
    return status == WEFT_OK ? fetch_missing(&options, error) : status;
}

/* What this machine has, as the command line says. */
static enum weft_status change_settings(
    struct settings *settings, const struct serve_values *values, struct weft_error *error)
{
    double bytes = (double)settings->memory_bytes;
    if (values->workers.given && (values->workers.value == 0 || values->workers.value > 64)) {
        return error_set(error, WEFT_INVALID, "'--workers' must be between 1 and 64");
    }
    if (values->memory != NULL && (!quantity_parse(QUANTITY_BYTES, values->memory, &bytes) ||
                                   bytes < reader_memory.min || bytes > reader_memory.max)) {
        return error_set(
            error, WEFT_INVALID, "'--memory' is '%s'; it must be %s", values->memory,
            reader_memory.text);
    }
    settings->memory_bytes = (uint64_t)bytes;
    if (values->workers.given) {
        settings->workers = (uint32_t)values->workers.value;
    }
    if (values->gpus.given) {
        settings->gpus.count = (uint32_t)values->gpus.value;
    }
    return WEFT_OK;
}

int serve_repository(
    const struct command *command, const char *folder, const struct serve_values *values,
    struct log *log)
{
    const struct repository_listener listener = {.on_problem = on_problem};
    const struct served_options options = {
        .emulated = values->emulated,
        .admits_all = values->admits_all,
        .silent = values->json,
        .policy = values->policy,
        .rate = values->rate,
        .listen = &values->listen,
        .log = log,
    };
    const bool is_member = values->cluster.directory.where != NULL;
    struct weft_error error = {0};
    struct repository *repository = NULL;
    struct served_repository served;
    if (values->sets.count > 0) {
        (void)error_set(
            &error, WEFT_INVALID, "'--set' changes a scenario; a repository has its weft.yaml");
        return command_fail(command, &error, COMMAND_WRONG);
    }
    if (is_member && fetch(folder, values, log, &error) != WEFT_OK) {
        return command_fail(command, &error, COMMAND_WRONG);
    }
    if (repository_load(folder, &listener, &repository, &error) != WEFT_OK) {
        return COMMAND_WRONG; /* Each problem has been said. */
    }
    if (change_settings(&repository->settings, values, &error) != WEFT_OK ||
        (is_member && clustered_settle(&repository->settings, &error) != WEFT_OK)) {
        repository_destroy(repository);
        return command_fail(command, &error, COMMAND_WRONG);
    }
    int exit_code = COMMAND_OK;
    if (served_repository_start(&served, repository, &options, &error) != WEFT_OK) {
        exit_code = command_fail(command, &error, COMMAND_FAILED);
    } else if (served_repository_open(&served, &error) != WEFT_OK) {
        exit_code = command_fail(command, &error, COMMAND_WRONG);
    } else {
        exit_code = is_member ? serve_member(command, &served, values, log)
                              : serve_open(command, &served, /* cluster */ NULL, values);
    }
    served_repository_close(&served);
    return exit_code;
}
