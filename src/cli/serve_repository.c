/* serve_repository.c - `weft serve REPOSITORY`: from a folder to a cluster that serves it. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "cli/samples_report.h"
#include "cli/serve.h"
#include "document/reader.h"
#include "document/repository_profile.h"
#include "server/lobby.h"
#include "service/local_repository.h"
#include "service/machine.h"
#include "service/rehearsal.h"

enum { TITLE_BYTES = 512 };

static const struct reader_range rate_range = {1e-3, 1e6, "between 0.001/s and 1000000/s"};

/* Everything that lives as long as a repository is served. */
struct served {
    struct repository *repository;
    bool is_local;           /* Models really run. Otherwise: */
    struct profile *profile; /* what is pretended, */
    struct fleet *fleet;     /* and on what. */
    struct nursery nursery;
    bool has_nursery;
    struct local_repository local;
    struct service_parts parts; /* Of local. */
    struct scenario *scenario;  /* Its parts are those above. */
    struct policy_set policies;
    struct lobby *lobby; /* Where clients wait until it is served. NULL: nowhere. */
};

static void on_problem(void *context, const char *message)
{
    (void)context;
    (void)fprintf(stderr, "%s\n", message);
}

/* Requests of our own: every workflow alike. */
static enum weft_status read_rate(
    const char *text, struct arrivals *arrivals_out, struct weft_error *error)
{
    double rate = 0;
    if (!quantity_parse(QUANTITY_RATE, text, &rate) || rate < rate_range.min ||
        rate > rate_range.max) {
        return error_set(
            error, WEFT_INVALID, "'--rate' is '%s'; it must be %s", text, rate_range.text);
    }
    *arrivals_out = (struct arrivals){.kind = ARRIVALS_POISSON, .rate_per_s = rate};
    return WEFT_OK;
}

/* What hosts are given of a repository, in the form they have in common. */
static void make_scenario(struct served *served, struct fleet *fleet, struct profile *profile)
{
    const struct settings *settings = &served->repository->settings;
    struct scenario *scenario = memory_zeroed(1, sizeof(*scenario));
    (void)snprintf(
        scenario->name, sizeof(scenario->name), "%s",
        settings->name[0] == '\0' ? "repository" : settings->name);
    scenario->fleet = fleet;
    scenario->catalogue = served->repository->catalogue;
    scenario->profile = profile;
    scenario->row_load_ns = settings->row_load_ns;
    scenario->row_cache_ns = settings->row_cache_ns;
    served->scenario = scenario;
}

static enum weft_status open_emulated(struct served *served, struct weft_error *error)
{
    char device[NAME_BYTES_MAX];
    const char *path = NULL;
    struct machine machine;
    struct profile_document document;
    const struct settings *settings = &served->repository->settings;
    enum weft_status status =
        repository_profile_any(served->repository, settings->device, device, &path, error);
    if (status != WEFT_OK) {
        return status;
    }
    machine_read(&machine);
    served->fleet = machine_fleet(&machine, settings, device);
    status = repository_profile_read(served->repository, served->fleet, path, &document, error);
    if (status != WEFT_OK) {
        return status;
    }
    served->profile = document.profile;
    make_scenario(served, served->fleet, served->profile);
    return WEFT_OK;
}

/* Before there are threads: what is forked has one. */
static enum weft_status start_nursery(
    struct served *served, const struct serve_values *values, struct weft_error *error)
{
    struct machine machine;
    if (values->emulated || served->repository->settings.isolate != ISOLATE_ALL) {
        return WEFT_OK;
    }
    machine_read(&machine);
    const enum weft_status status =
        nursery_start(&served->nursery, served->repository, &machine, error);
    served->has_nursery = status == WEFT_OK;
    return status;
}

static enum weft_status open_local(
    struct served *served, bool is_silent, struct log *log, struct weft_error *error)
{
    struct nursery *nursery = served->has_nursery ? &served->nursery : NULL;
    const enum weft_status status =
        local_repository_open(&served->local, served->repository, nursery, is_silent, log, error);
    if (status == WEFT_OK) {
        served->is_local = true;
        served->parts = local_repository_parts(&served->local);
        make_scenario(
            served, served->local.measured.fleet, served->local.measured.document.profile);
    }
    return status;
}

static void close_served(struct served *served)
{
    lobby_destroy(served->lobby);
    free(served->scenario);
    if (served->is_local) {
        local_repository_close(&served->local);
    }
    if (served->has_nursery) {
        nursery_stop(&served->nursery);
    }
    profile_destroy(served->profile);
    fleet_destroy(served->fleet);
    repository_destroy(served->repository);
}

static enum weft_status open_served(
    struct served *served, const struct serve_values *values, struct log *log,
    struct weft_error *error)
{
    const char *policy =
        values->policy == NULL ? served->repository->settings.policy : values->policy;
    if (values->sets.count > 0) {
        return error_set(
            error, WEFT_INVALID, "'--set' changes a scenario; a repository has its weft.yaml");
    }
    enum weft_status status = policy_set_parse(policy, &served->policies, error);
    if (status == WEFT_OK && !values->admits_all && !served->repository->settings.admits_all) {
        serve_admit(&served->policies);
    }
    if (status == WEFT_OK) {
        status = values->emulated ? open_emulated(served, error)
                                  : open_local(served, values->json, log, error);
    }
    if (status == WEFT_OK && values->rate != NULL) {
        status = read_rate(values->rate, &served->scenario->arrivals, error);
    }
    if (status == WEFT_OK && values->rate != NULL) {
        samples_mix(served->local.samples, &served->scenario->arrivals);
    }
    return status;
}

/* Whether only a sample can say what some workflow gives. */
static bool has_unknown(const struct served *served)
{
    const struct catalogue *catalogue = served->scenario->catalogue;
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        if (samples_count(served->local.samples, i) > 0 &&
            local_index_is_unknown(&served->local.index, i)) {
            return true;
        }
    }
    return false;
}

/* What only samples can tell of models and workflows, before anybody is served. */
static enum weft_status rehearse(
    const struct served *served, const struct service_options *options, struct weft_error *error)
{
    const struct scenario *scenario = served->scenario;
    const struct samples *samples = served->local.samples;
    if (samples != NULL && rehearsal_is_needed(samples, scenario->catalogue, scenario->profile)) {
        return rehearsal_run(samples, options, REHEARSAL_SAMPLES_MAX, error);
    }
    return samples != NULL && has_unknown(served)
               ? rehearsal_run(samples, options, /* count_max */ 1, error)
               : WEFT_OK;
}

/* Take the ports, and let clients wait. */
static enum weft_status begin(
    struct served *served, const struct serve_values *values, struct log *log,
    struct weft_error *error)
{
    const enum weft_status status = listening_begin(&values->listen, &served->lobby, error);
    if (status == WEFT_OK && served->lobby != NULL) {
        const struct log_field addresses[] = {
            log_text("http", lobby_http_address(served->lobby)),
            log_text("metrics", lobby_metrics_address(served->lobby)),
        };
        log_say(log, LOG_INFO, "starting", addresses[1].text[0] == '\0' ? 1 : 2, addresses);
    }
    return status;
}

int serve_repository(
    const struct command *command, const char *folder, const struct serve_values *values,
    struct log *log)
{
    const struct repository_listener listener = {.on_problem = on_problem};
    char title[TITLE_BYTES];
    struct weft_error error = {0};
    struct served served = {.scenario = NULL};
    if (repository_load(folder, &listener, &served.repository, &error) != WEFT_OK) {
        return COMMAND_WRONG; /* Each problem has been said. */
    }
    /* The nursery first: it is forked from one thread, and without the sockets of clients. */
    if (start_nursery(&served, values, &error) != WEFT_OK ||
        begin(&served, values, log, &error) != WEFT_OK) {
        close_served(&served);
        return command_fail(command, &error, COMMAND_FAILED);
    }
    if (open_served(&served, values, log, &error) != WEFT_OK) {
        close_served(&served);
        return command_fail(command, &error, COMMAND_WRONG);
    }
    struct listen_where listen = values->listen;
    listen.ignores_priority = served.repository->settings.ignores_priority;
    const struct service_options options = {
        .scenario = served.scenario,
        .policies = &served.policies,
        .parts = served.is_local ? &served.parts : NULL,
        .title = title,
        .log = log,
        .lobby = served.lobby,
        .drain_ns = serve_drain_ns(values),
        .seed = values->seed.given ? values->seed.value : 1,
        .seconds = values->seconds.value,
        .jobs_max = served.repository->settings.jobs_max,
        .plays = values->rate != NULL,
        .listen = &listen,
        .silent = values->json,
        .plain = values->plain,
    };
    (void)snprintf(
        title, sizeof(title), "%s: %s on %" PRIu32 " workers%s", served.scenario->name,
        served.policies.text, served.scenario->fleet->worker_count,
        values->emulated ? ", emulated" : "");
    if (rehearse(&served, &options, &error) != WEFT_OK) {
        close_served(&served);
        return command_fail(command, &error, COMMAND_FAILED);
    }
    int exit_code = options.plays && values->listen.http == NULL
                        ? serve_played(command, &options, served.scenario, values->json)
                        : serve_clients(command, &options, values->json);
    if (served.local.samples != NULL && options.plays && !values->json) {
        samples_print(served.local.samples, served.scenario->catalogue, stdout);
    }
    if (exit_code == COMMAND_OK && !samples_are_right(served.local.samples)) {
        exit_code = COMMAND_FAILED;
    }
    close_served(&served);
    return exit_code;
}
