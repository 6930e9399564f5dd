#include "service/served_repository.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "document/reader.h"
#include "document/repository_profile.h"
#include "server/lobby.h"
#include "service/rehearsal.h"

static const struct reader_range rate_range = {1e-3, 1e6, "between 0.001/s and 1000000/s"};
static const struct reader_range share_range = {1, 10000, "between 1% and 10000%"};

/* A number, with its unit or in requests per second. */
static bool parse_rate(const char *text, double *rate_out)
{
    char *end = NULL;
    if (quantity_parse(QUANTITY_RATE, text, rate_out)) {
        return *rate_out >= rate_range.min && *rate_out <= rate_range.max;
    }
    *rate_out = strtod(text, &end);
    return end != text && *end == '\0' && *rate_out >= rate_range.min &&
           *rate_out <= rate_range.max;
}

/* "60%": a share of what will be measured. */
static bool parse_share(const char *text, double *share_out)
{
    char *end = NULL;
    const double percent = strtod(text, &end);
    if (end == text || strcmp(end, "%") != 0 || percent < share_range.min ||
        percent > share_range.max) {
        return false;
    }
    *share_out = percent / 100;
    return true;
}

/* Requests of our own: every workflow alike. */
static enum weft_status read_rate(struct served_repository *served, struct weft_error *error)
{
    const char *text = served->options.rate;
    double rate = 0;
    if (parse_share(text, &served->share)) {
        rate = 1; /* Until it is measured. */
    } else if (!parse_rate(text, &rate)) {
        return error_set(
            error, WEFT_INVALID,
            "'--rate' is '%s'; it must be %s, or %s of what this machine can carry", text,
            rate_range.text, share_range.text);
    }
    served->scenario->arrivals = (struct arrivals){.kind = ARRIVALS_POISSON, .rate_per_s = rate};
    samples_mix(served->local.samples, &served->scenario->arrivals);
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

/* Whether a model has a form for GPUs. */
static bool has_gpu_models(const struct repository *repository)
{
    bool is_found = false;
    for (uint32_t i = 0; i < repository->catalogue->model_count; i++) {
        is_found = is_found || repository->files[i].cuda != NULL;
    }
    return is_found;
}

void served_find_gpus(
    const struct repository *repository, struct machine *machine,
    void (*on_note)(void *context, const char *note, bool is_used), void *context)
{
    if (has_gpu_models(repository)) {
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
    const struct settings *settings = &served->repository->settings;
    if (served->options.emulated || settings->isolate != ISOLATE_ALL) {
        return WEFT_OK;
    }
    machine_read(&machine);
    served_find_gpus(served->repository, &machine, on_note, served->options.log);
    if (settings->is_member && settings->slots == 0 && has_gpu_models(served->repository) &&
        machine.gpu_count != settings->gpus.count) {
        return error_set(
            error, WEFT_INVALID,
            "every node of the cluster has %u GPUs, as weft.yaml says; of this machine %u can be "
            "used",
            settings->gpus.count, machine.gpu_count);
    }
    if (!machine_fits(&machine, settings)) {
        return error_set(
            error, WEFT_LIMIT,
            "a node of the cluster has %u slots, as weft.yaml says; this machine would have more "
            "workers",
            settings->slots);
    }
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

/*
 * What a policy plans for the fleet of the start does not follow when machines change. One that
 * says itself which tasks wait at homes has seen to it that none does.
 */
static enum weft_status check_policies(
    const struct policy_set *policies, const struct settings *settings, struct weft_error *error)
{
    const struct policy *dispatch = policies->roles[ROLE_DISPATCH].policy;
    bool is_fixed = dispatch != NULL && dispatch->plan != NULL && dispatch->waits == NULL;
    for (uint32_t role = 0; role < POLICY_ROLES; role++) {
        const struct policy *policy = policies->roles[role].policy;
        is_fixed = is_fixed || (policy != NULL && policy->solve != NULL);
    }
    return is_fixed && settings->is_member && settings->slots > 0
               ? error_set(
                     error, WEFT_INVALID,
                     "the policy '%s' plans for machines that stay as they are; a cluster with "
                     "'slots' needs another",
                     policies->text)
               : WEFT_OK;
}

enum weft_status served_repository_open(struct served_repository *served, struct weft_error *error)
{
    ASSERT(served->repository != NULL && served->scenario == NULL);
    const struct served_options *options = &served->options;
    const struct settings *settings = &served->repository->settings;
    const char *policy = options->policy == NULL ? settings->policy : options->policy;
    enum weft_status status = policy_set_parse(policy, &served->policies, error);
    if (status == WEFT_OK) {
        status = check_policies(&served->policies, settings, error);
    }
    if (status == WEFT_OK && options->admits_all) {
        service_admit_all(&served->policies);
    } else if (status == WEFT_OK && !settings->admits_all) {
        service_admit(&served->policies);
    }
    if (status == WEFT_OK) {
        status = options->emulated ? open_emulated(served, error) : open_local(served, error);
    }
    if (status == WEFT_OK && options->rate != NULL) {
        status = read_rate(served, error);
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

static enum weft_status rehearse_samples(
    const struct served_repository *served, const struct service_options *options,
    struct weft_error *error)
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

/* Ask for the share that was asked for, of what the cluster can carry now. */
static enum weft_status find_rate(
    struct served_repository *served, const struct service_options *options,
    struct weft_error *error)
{
    const enum weft_status status = capacity_measure(options, &served->capacity, error);
    if (status == WEFT_OK) {
        served->scenario->arrivals.rate_per_s = served->share * served->capacity.per_s;
    }
    return status;
}

enum weft_status served_repository_rehearse(
    struct served_repository *served, const struct service_options *options,
    struct weft_error *error)
{
    ASSERT(served->scenario != NULL);
    const enum weft_status status = rehearse_samples(served, options, error);
    return status == WEFT_OK && served->share > 0 ? find_rate(served, options, error) : status;
}

bool served_repository_say_hint(
    const struct served_repository *served, const char *program, char *out, size_t room)
{
    const struct catalogue *catalogue = served->scenario->catalogue;
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        const struct workflow *workflow = catalogue->workflows[i];
        const char *file = samples_first(served->local.samples, i);
        if (file != NULL) {
            const int length = snprintf(
                out, room, "%s infer %s %s=@%s/inputs/%s/%s", program, workflow->name,
                workflow->inputs[0].name, served->repository->folder, workflow->name, file);
            return length < (int)room && service_is_plain(program) && service_is_plain(file) &&
                   service_is_plain(served->repository->folder);
        }
    }
    return false;
}

/* Two digits of a rate, or more before the point. */
static int decimals_of(double per_s)
{
    return (per_s < 10 ? 1 : 0) + (per_s < 1 ? 1 : 0);
}

void served_repository_say_rate(const struct served_repository *served, char *out, size_t room)
{
    const double rate_per_s = served->scenario->arrivals.rate_per_s;
    const double most_per_s = served->capacity.per_s;
    if (served->options.rate == NULL) {
        out[0] = '\0';
    } else if (served->share > 0) {
        (void)snprintf(
            out, room, "asking %.*f/s: %.0f %% of the %.*f/s that it can carry",
            decimals_of(rate_per_s), rate_per_s, 100 * served->share, decimals_of(most_per_s),
            most_per_s);
    } else {
        (void)snprintf(out, room, "asking %g/s", rate_per_s);
    }
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
