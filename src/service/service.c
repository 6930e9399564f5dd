#include "service/service.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/units.h"
#include "console/interrupt.h"
#include "console/progress.h"
#include "engine/engine.h"
#include "policy/registry.h"
#include "server/server.h"
#include "service/clustered.h"
#include "service/journal.h"
#include "service/local_index.h"
#include "service/offered_files.h"
#include "service/rollout.h"
#include "service/screen.h"
#include "service/served_trace.h"

#define DRAIN_LOOK_NS (10 * NS_PER_MS)
#define TICK_NS       NS_PER_S
#define LAST_WORDS_NS NS_PER_S /* For the last answers to reach their clients. */

enum {
    HINT_BYTES = 512,
    STOP_SECONDS = 10, /* For what still runs to stop, once no client waits for it. */
};

struct service {
    const struct service_options *options;
    struct service_parts parts;
    struct server *server; /* NULL without HTTP. */
    struct runtime *runtime;
    struct player *player; /* NULL if nothing is played. */
    struct summary *summary;
    struct watch *watch;
    struct screen screen;
    struct journal journal;
    struct served_trace trace;
    int64_t last_words_ns; /* Until when answers are waited for, after the drain was cut. 0: not. */
    uint32_t abandoned;
    bool has_played;             /* The player has ended. */
    bool is_lost;                /* Nothing may be answered any more. */
    double rates[WORKFLOWS_MAX]; /* What the arrivals amount to. */
    char url[LISTENING_URL_BYTES];
    char at[LISTENING_URL_BYTES + 8]; /* What commands need to reach it. */
    char hint[HINT_BYTES];
};

static void on_record(void *context, const struct record *record)
{
    struct service *service = context;
    summary_add(service->summary, record);
    watch_add(service->watch, record);
    server_record(service->server, record);
    journal_add(&service->journal, record);
    served_trace_add(&service->trace, record);
}

static void say(const struct service *service, enum log_level level, const char *event)
{
    log_say(service->journal.log, level, event, 0, NULL);
}

/* Whether no client waits, nor another node for what this one does for it. */
static bool is_done(const struct service *service)
{
    const struct runtime_counts counts = runtime_counts(service->runtime);
    return counts.answered == counts.requested && server_is_drained(service->server) &&
           (service->options->cluster == NULL || runtime_is_free(service->runtime));
}

static bool is_at_end(const struct service *service)
{
    if (is_done(service)) {
        return true;
    }
    return service->last_words_ns > 0 &&
           (server_is_alone(service->server) ||
            runtime_now_ns(service->runtime) > service->last_words_ns);
}

/* Stop as soon as every client has been answered, or no answer is waited for any more. */
static void look_for_end(void *context)
{
    struct service *service = context;
    if (is_at_end(service)) {
        runtime_stop(service->runtime);
        return;
    }
    runtime_call_at(
        service->runtime, runtime_now_ns(service->runtime) + DRAIN_LOOK_NS, /* background */ false,
        look_for_end, service);
}

/* The end has waited long enough. */
static void on_drain_limit(void *context)
{
    struct service *service = context;
    const struct runtime_counts counts = runtime_counts(service->runtime);
    const uint32_t open = (uint32_t)(counts.requested - counts.answered);
    const uint32_t told = server_abandon(service->server);
    service->abandoned = told > open ? told : open;
    const struct log_field fields[] = {log_number("abandoned", service->abandoned)};
    if (service->abandoned > 0) {
        log_say(service->journal.log, LOG_ERROR, "drain took too long", 1, fields);
    } else { /* It runs again elsewhere. */
        say(service, LOG_WARN, "left work for others");
    }
    service->last_words_ns = runtime_now_ns(service->runtime) + LAST_WORDS_NS;
    look_for_end(service);
}

/* The cluster goes on without this node: its clients have to ask another. */
static void on_lost(void *context)
{
    struct service *service = context;
    service->is_lost = true;
    if (service->server != NULL) {
        server_drain(service->server);
        (void)server_abandon(service->server);
    }
    service->last_words_ns = runtime_now_ns(service->runtime) + LAST_WORDS_NS;
    look_for_end(service);
}

static bool is_listening(const struct service_options *options)
{
    return options->listen != NULL && options->listen->http != NULL;
}

/* All that was made up is answered. Clients may still come, until the time is over. */
static void on_ended(void *context)
{
    struct service *service = context;
    service->has_played = true;
    if (service->screen.is_draining || service->options->seconds == 0 ||
        !is_listening(service->options)) {
        look_for_end(service);
    }
}

static void drain(struct service *service)
{
    if (service->screen.is_draining) {
        return;
    }
    const bool had_played = service->has_played;
    service->screen.is_draining = true;
    say(service, LOG_INFO, "draining");
    const int64_t drain_ns =
        service->options->drain_ns == 0 ? SERVICE_DRAIN_NS : service->options->drain_ns;
    runtime_call_at(
        service->runtime, runtime_now_ns(service->runtime) + drain_ns, /* background */ true,
        on_drain_limit, service);
    if (service->server != NULL) {
        server_drain(service->server);
    }
    if (service->player != NULL) {
        player_stop(service->player);
    }
    if (service->parts.drain != NULL) {
        service->parts.drain(service->parts.context);
    }
    if (!service->options->plays) {
        runtime_drain(service->runtime);
    }
    if (!service->options->plays || had_played) { /* Otherwise the player says when it has ended. */
        look_for_end(service);
    }
}

/* A server whose operator has changed its files; or a terminal that is gone. */
static void on_hang_up(struct service *service)
{
    if (service->server == NULL || service->screen.is_drawn) {
        drain(service);
    } else if (service->parts.reload != NULL && !service->screen.is_draining) {
        service->parts.reload(service->parts.context);
    } else {
        say(service, LOG_INFO, "nothing to reload");
    }
}

static void on_signal(void *context, int number)
{
    struct service *service = context;
    if (number == SIGHUP) {
        on_hang_up(service);
    } else if (service->screen.is_draining) {
        say(service, LOG_WARN, "stopped at once");
        runtime_stop(service->runtime);
    } else {
        drain(service);
    }
}

static void on_tick(void *context)
{
    struct service *service = context;
    journal_tick(&service->journal, runtime_now_ns(service->runtime), /* is_end */ false);
    runtime_call_at(
        service->runtime, runtime_now_ns(service->runtime) + TICK_NS, /* background */ true,
        on_tick, service);
}

static void on_time(void *context)
{
    drain(context);
}

static void on_show(void *context)
{
    struct service *service = context;
    screen_show(&service->screen);
    runtime_call_at(
        service->runtime, runtime_now_ns(service->runtime) + screen_interval_ns(&service->screen),
        /* background */ true, on_show, service);
}

static bool has_deputies(const struct service_options *options)
{
    return options->cluster != NULL && options->cluster->has_deputies;
}

static enum weft_status start_runtime(struct service *service, struct weft_error *error)
{
    const struct service_options *options = service->options;
    const struct scenario *scenario = options->scenario;
    const bool has_rates =
        options->plays && arrivals_rates(&scenario->arrivals, scenario->catalogue, service->rates);
    const struct runtime_options runtime = {
        .fleet = scenario->fleet,
        .catalogue = scenario->catalogue,
        .profile = scenario->profile,
        .policies = options->policies,
        .mixture = scenario->mixture,
        .rates = has_rates ? service->rates : NULL,
        .clock = CLOCK_KIND_REAL,
        .seed = options->seed,
        .row_load_ns = scenario->rows.load_ns,
        .row_cache_ns = scenario->rows.cache_ns,
        .jobs_max = options->jobs_max,
        .stays = !options->plays || is_listening(options),
        .noise = scenario->noise,
        .pretend_network = true,
        .weighs = options->why,
        .on_record = on_record,
        .context = service,
        .engine = service->parts.engine,
        .remote = options->cluster == NULL ? NULL : &options->cluster->remote,
        .has_deputies = has_deputies(options),
    };
    const enum weft_status status = served_trace_open(
        &service->trace, options->trace, scenario->fleet, scenario->catalogue, error);
    return status == WEFT_OK ? runtime_create(&runtime, &service->runtime, error) : status;
}

static void start_player(struct service *service)
{
    const struct service_options *options = service->options;
    const struct player_options player = {
        .runtime = service->runtime,
        .fleet = options->scenario->fleet,
        .catalogue = options->scenario->catalogue,
        .arrivals = &options->scenario->arrivals,
        .seed = options->seed,
        .until_ns = (int64_t)options->seconds * NS_PER_S,
        .ended = on_ended,
        .context = service,
        .make_inputs = service->parts.make_inputs,
        .on_answer = service->parts.on_answer,
        .inputs_context = service->parts.context,
    };
    service->player = player_create(&player);
}

static const char *value_of(const char *variable)
{
    const char *value = getenv(variable);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Whether standard output is a terminal that can be drawn on. */
static bool can_draw(void)
{
    const char *terminal = getenv("TERM");
    return isatty(STDOUT_FILENO) == 1 && terminal != NULL && terminal[0] != '\0' &&
           strcmp(terminal, "dumb") != 0;
}

/* Whether the terminal shows more than ASCII, as far as its settings say. */
static bool is_utf8(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < ARRAY_COUNT(variables); i++) {
        const char *value = value_of(variables[i]);
        if (value != NULL) {
            return strstr(value, "UTF-8") != NULL || strstr(value, "utf8") != NULL;
        }
    }
    return false;
}

static void start_screen(struct service *service)
{
    const struct service_options *options = service->options;
    service->screen = (struct screen){
        .file = stdout,
        .runtime = service->runtime,
        .fleet = options->scenario->fleet,
        .catalogue = options->scenario->catalogue,
        .watch = service->watch,
        .title = options->title,
        .asking = options->asking,
        .is_drawn = !options->plain && can_draw(),
        .is_coloured = value_of("NO_COLOR") == NULL,
        .is_ascii = !is_utf8(),
    };
    /* On the same terminal, lines would spoil the picture, which shows what they say. */
    const bool is_hidden = service->screen.is_drawn && isatty(STDERR_FILENO) == 1;
    service->journal = (struct journal){
        .log = is_hidden ? NULL : options->log,
        .catalogue = options->scenario->catalogue,
        .runtime = service->runtime,
    };
    if (!options->silent) {
        runtime_call_at(
            service->runtime, screen_interval_ns(&service->screen), /* background */ true, on_show,
            service);
    }
}

bool service_is_plain(const char *text)
{
    return text[strspn(
               text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-")] == '\0';
}

/* Where clients are served, and commands that would be answered there. */
static void show_address(struct service *service)
{
    const struct service_options *options = service->options;
    const struct listen_where *listen = options->listen;
    service->screen.url = service->url;
    listening_url(service->server, listen, service->url);
    if (listen->tls_certificate != NULL || listen->token_file != NULL) {
        return;
    }
    const bool is_default = strcmp(service->url, LISTENING_URL_DEFAULT) == 0;
    (void)snprintf(
        service->at, sizeof(service->at), "%s%s", is_default ? "" : " --url ",
        is_default ? "" : service->url);
    if (options->hint != NULL) {
        service->screen.hint = service->hint;
        (void)snprintf(service->hint, sizeof(service->hint), "%s%s", options->hint, service->at);
    }
    const bool is_managed = listen->admin_token_file == NULL &&
                            (listen->management == NULL || strcmp(listen->management, "off") != 0);
    if (is_managed && options->program != NULL && service_is_plain(options->program)) {
        service->screen.program = options->program;
        service->screen.at = service->at;
    }
}

/* `weft drain` asked it to, through the directory. */
static void on_drain(void *context)
{
    drain(context);
}

static void on_members(void *context, const struct member_list *list)
{
    const struct service *service = context;
    if (service->parts.index != NULL) {
        rollout_members(service->parts.index->rollout, list);
    }
}

static bool on_machine(
    void *context, uint32_t node, const struct member *member, struct weft_error *error)
{
    const struct service *service = context;
    const enum weft_status status = clustered_take(service->options->cluster, node, member, error);
    if (status == WEFT_OK && service->parts.on_machine != NULL) {
        service->parts.on_machine(service->parts.context);
    }
    return status == WEFT_OK;
}

/* Have what the cluster serves, and let other nodes know where this one is. */
static enum weft_status attach(struct service *service, struct weft_error *error)
{
    struct clustered *cluster = service->options->cluster;
    const struct membership_host host = {
        .context = service,
        .on_lost = on_lost,
        .on_drain = on_drain,
        .on_members = on_members,
        .on_machine = cluster->fleet->has_slots ? on_machine : NULL,
    };
    char url[LISTENING_URL_BYTES] = "";
    if (service->parts.index != NULL) {
        const enum weft_status status = rollout_join(
            service->parts.index->rollout, cluster->membership, cluster->remote.node,
            cluster->settings->members[cluster->remote.node], cluster->fetch, error);
        if (status != WEFT_OK) {
            return status;
        }
    }
    if (service->server != NULL) {
        listening_url(service->server, service->options->listen, url);
    }
    clustered_attach(cluster, service->runtime, url, &host);
    return WEFT_OK;
}

static void run(struct service *service)
{
    const struct service_options *options = service->options;
    if (options->plays) {
        start_player(service);
    }
    if (options->seconds > 0) {
        runtime_call_at(
            service->runtime, (int64_t)options->seconds * NS_PER_S, /* background */ true, on_time,
            service);
    }
    runtime_call_at(
        service->runtime, runtime_now_ns(service->runtime) + TICK_NS, /* background */ true,
        on_tick, service);
    say(service, LOG_INFO, "ready");
    if (interrupt_hang_up_came()) {
        on_hang_up(service); /* While it started. */
    }
    runtime_run(service->runtime);
    interrupt_limit(STOP_SECONDS); /* Until the runtime is destroyed, which waits for its engine. */
    journal_tick(&service->journal, runtime_now_ns(service->runtime), /* is_end */ true);
    if (!options->silent) {
        screen_end(&service->screen);
    }
}

void service_admit(struct policy_set *policies)
{
    struct policy_set alone;
    const struct policy *admits = policies->roles[ROLE_ADMIT].policy;
    const bool is_named = (policies->named & UINT32_C(1) << ROLE_ADMIT) != 0;
    if (admits == NULL || (admits->admits_all && !is_named)) {
        policy_set_single(&policy_deadline, &alone);
        policies->roles[ROLE_ADMIT] = alone.roles[ROLE_ADMIT];
    }
}

void service_admit_all(struct policy_set *policies)
{
    policies->roles[ROLE_ADMIT] = (struct policy_choice){.policy = NULL};
}

static void note_slo(
    const struct watch *watch, const struct catalogue *catalogue, struct slo_counts *slo_out)
{
    *slo_out = (struct slo_counts){.asked = 0};
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        const struct watch_workflow *counts = watch_workflow(watch, i);
        if (catalogue->workflows[i]->slo_ns > 0) {
            slo_out->asked += counts->arrived;
            slo_out->admitted += counts->arrived - counts->refused;
            slo_out->met += counts->done - counts->late;
        }
    }
}

static void note_late(
    const struct watch *watch, const struct catalogue *catalogue, struct late_figures *late_out)
{
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        const struct watch_workflow *counts = watch_workflow(watch, i);
        late_out[i].done = counts->done;
        late_out[i].late = counts->late;
        memcpy(late_out[i].ns, counts->late_ns, sizeof(late_out[i].ns));
    }
}

/* Until the end. */
static enum weft_status serve(struct service *service, struct weft_error *error)
{
    const struct service_options *options = service->options;
    if (service->server != NULL && !options->silent) {
        listening_print(service->server, options->listen);
        show_address(service);
    }
    if (options->asking != NULL && !options->silent && !service->screen.is_drawn) {
        (void)printf("%s\n", options->asking);
    }
    const enum weft_status status = options->cluster == NULL ? WEFT_OK : attach(service, error);
    if (status == WEFT_OK) {
        run(service);
    }
    return status;
}

static void note_result(
    const struct service *service, int64_t started_ns, struct service_result *result_out)
{
    const struct runtime_counts counts = runtime_counts(service->runtime);
    *result_out = (struct service_result){
        .arrived = counts.requested,
        .answered = counts.answered,
        .abandoned = service->abandoned,
        .is_lost = service->is_lost,
        .wall_s = (double)(progress_clock_ns() - started_ns) / 1e9,
    };
    summary_report(service->summary, &result_out->report);
    note_late(service->watch, service->options->scenario->catalogue, result_out->late);
    note_slo(service->watch, service->options->scenario->catalogue, &result_out->slo);
}

enum weft_status service_run(
    const struct service_options *options, struct service_result *result_out,
    struct weft_error *error)
{
    ASSERT(options->scenario != NULL && options->policies != NULL);
    ASSERT(options->drain_ns >= 0);
    static const struct service_parts none = {.context = NULL};
    const struct scenario *scenario = options->scenario;
    const int64_t started_ns = progress_clock_ns();
    struct service service = {
        .options = options, .parts = options->parts == NULL ? none : *options->parts};
    const struct summary_options summary = {
        .fleet = scenario->fleet,
        .catalogue = scenario->catalogue,
        .profile = scenario->profile,
        .bounded = !options->plays || options->seconds == 0, /* It may run for years. */
    };
    service.summary = summary_create(&summary);
    service.watch = watch_create(scenario->fleet, scenario->catalogue);
    enum weft_status status = start_runtime(&service, error);
    if (status == WEFT_OK) {
        start_screen(&service);
        runtime_on_signal(service.runtime, on_signal, &service);
        if (service.parts.open != NULL) {
            status = service.parts.open(service.parts.context, service.runtime, error);
        }
    }
    if (status == WEFT_OK) {
        struct server_files files = {.fetch = NULL};
        if (options->cluster != NULL) {
            files = offered_files_parts(options->cluster->files, service.runtime);
        }
        const struct listening_parts listening = {
            .runtime = service.runtime,
            .scenario = scenario,
            .repository = service.parts.repository,
            .files = &files,
            .lobby = options->lobby,
            .members =
                has_deputies(options) ? membership_titles(options->cluster->membership) : NULL,
        };
        status = listening_open(options->listen, &listening, &service.server, error);
    }
    if (status == WEFT_OK) {
        status = serve(&service, error);
    }
    if (status == WEFT_OK) {
        note_result(&service, started_ns, result_out);
    }
    server_stop(service.server);
    if (options->cluster != NULL) {
        membership_detach(options->cluster->membership);
    }
    if (service.runtime != NULL && service.parts.close != NULL) {
        service.parts.close(service.parts.context);
    }
    runtime_destroy(service.runtime);
    served_trace_close(&service.trace);
    interrupt_limit(0);
    if (status == WEFT_OK) {
        log_say(options->log, LOG_INFO, "ended", 0, NULL);
    }
    player_destroy(service.player);
    watch_destroy(service.watch);
    summary_destroy(service.summary);
    return status;
}
