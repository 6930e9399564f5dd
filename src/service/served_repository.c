#include "service/served_repository.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "document/reader.h"
#include "document/repository_profile.h"
#include "server/lobby.h"
#include "service/rehearsal.h"

static const struct reader_range rate_range = {1e-3, 1e6, "between 0.001/s and 1000000/s"};

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
static void make_scenario(
    struct served_repository *served, struct fleet *fleet, struct profile *profile)
{
    const struct settings *settings = &served->repository->settings;
    struct scenario *scenario = memory_zeroed(1, sizeof(*scenario));
    (void)snprintf(
        scenario->name, sizeof(scenario->name), "%s",
        settings->name[0] == '\0' ? "repository" : settings->name);
    scenario->fleet = fleet;
    scenario->catalogue = served->repository->catalogue;
    scenario->profile = profile;
    scenario->rows.load_ns = settings->rows.load_ns;
    scenario->rows.cache_ns = settings->rows.cache_ns;
    served->scenario = scenario;
}

static enum weft_status open_emulated(struct served_repository *served, struct weft_error *error)
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

void served_find_gpus(
    const struct repository *repository, struct machine *machine,
    void (*on_note)(void *context, const char *note, bool is_used), void *context)
{
    bool is_needed = false;
    for (uint32_t i = 0; i < repository->catalogue->model_count; i++) {
        is_needed = is_needed || repository->files[i].cuda != NULL;
    }
    if (is_needed) {
        machine_find_gpus(machine, repository->settings.gpus.count, on_note, context);
    }
}

static void on_note(void *context, const char *note, bool is_used)
{
    const struct log_field field = log_text("cause", note);
    log_say(context, LOG_WARN, is_used ? "GPU is limited" : "GPU not used", 1, &field);
}

/* Before there are threads: what is forked has one. */
static enum weft_status start_nursery(struct served_repository *served, struct weft_error *error)
{
    struct machine machine;
    if (served->options.emulated || served->repository->settings.isolate != ISOLATE_ALL) {
        return WEFT_OK;
    }
    machine_read(&machine);
    served_find_gpus(served->repository, &machine, on_note, served->options.log);
    const enum weft_status status =
        nursery_start(&served->nursery, served->repository, &machine, error);
    served->has_nursery = status == WEFT_OK;
    return status;
}

static enum weft_status open_local(struct served_repository *served, struct weft_error *error)
{
    struct nursery *nursery = served->has_nursery ? &served->nursery : NULL;
    const enum weft_status status = local_repository_open(
        &served->local, served->repository, nursery, served->options.silent, served->options.log,
        error);
    if (status == WEFT_OK) {
        served->is_local = true;
        served->parts = local_repository_parts(&served->local);
        make_scenario(
            served, served->local.measured.fleet, served->local.measured.document.profile);
    }
    return status;
}

void served_repository_close(struct served_repository *served)
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

enum weft_status served_repository_open(struct served_repository *served, struct weft_error *error)
{
    ASSERT(served->repository != NULL && served->scenario == NULL);
    const struct served_options *options = &served->options;
    const struct settings *settings = &served->repository->settings;
    const char *policy = options->policy == NULL ? settings->policy : options->policy;
    enum weft_status status = policy_set_parse(policy, &served->policies, error);
    if (status == WEFT_OK && !options->admits_all && !settings->admits_all) {
        service_admit(&served->policies);
    }
    if (status == WEFT_OK) {
        status = options->emulated ? open_emulated(served, error) : open_local(served, error);
    }
    if (status == WEFT_OK && options->rate != NULL) {
        status = read_rate(options->rate, &served->scenario->arrivals, error);
    }
    if (status == WEFT_OK && options->rate != NULL) {
        samples_mix(served->local.samples, &served->scenario->arrivals);
    }
    return status;
}

/* Whether only a sample can say what some workflow gives. */
static bool has_unknown(const struct served_repository *served)
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

enum weft_status served_repository_rehearse(
    const struct served_repository *served, const struct service_options *options,
    struct weft_error *error)
{
    ASSERT(served->scenario != NULL);
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
static enum weft_status take_ports(struct served_repository *served, struct weft_error *error)
{
    const enum weft_status status = listening_begin(served->options.listen, &served->lobby, error);
    if (status == WEFT_OK && served->lobby != NULL) {
        const struct log_field addresses[] = {
            log_text("http", lobby_http_address(served->lobby)),
            log_text("metrics", lobby_metrics_address(served->lobby)),
        };
        const uint32_t count = addresses[1].text[0] == '\0' ? 1 : 2;
        log_say(served->options.log, LOG_INFO, "starting", count, addresses);
    }
    return status;
}

enum weft_status served_repository_start(
    struct served_repository *served, struct repository *repository,
    const struct served_options *options, struct weft_error *error)
{
    ASSERT(repository != NULL);
    *served = (struct served_repository){.options = *options, .repository = repository};
    /* The nursery first: it is forked from one thread, and without the sockets of clients. */
    const enum weft_status status = start_nursery(served, error);
    return status == WEFT_OK ? take_ports(served, error) : status;
}
