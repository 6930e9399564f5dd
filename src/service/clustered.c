#include "service/clustered.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "console/interrupt.h"
#include "document/repository.h"
#include "fabric/greeting.h"
#include "model/agreement.h"
#include "model/resources.h"
#include "server/lobby.h"
#include "service/offered_files.h"

#define LISTEN_DEFAULT   "127.0.0.1:0" /* No other machine reaches it. */
#define TENSOR_BYTES_MAX (UINT64_C(4) << 30)

enum { RETRY_SECONDS = 1 };

enum weft_status clustered_settle(struct settings *settings, struct weft_error *error)
{
    const bool has_both = settings->workers > 0 && settings->memory_bytes > 0;
    if (settings->member_count == 0 || (!has_both && settings->slots == 0)) {
        return error_set(
            error, WEFT_INVALID,
            "'--cluster' needs 'members', 'workers' and 'memory' in weft.yaml: all nodes must know "
            "them, unless there are 'slots'");
    }
    if (settings->slots > 0 && settings->workers > settings->slots) {
        return error_set(
            error, WEFT_INVALID, "a node of the cluster has %u slots, and not %u workers",
            settings->slots, settings->workers);
    }
    if ((uint64_t)settings->slots * settings->member_count > WORKERS_MAX) {
        return error_set(
            error, WEFT_INVALID, "%u members with %u slots are more than %d workers",
            settings->member_count, settings->slots, WORKERS_MAX);
    }
    if (settings->gpus.count == SETTINGS_GPUS_MAX && settings->slots == 0) {
        settings->gpus.count = 0; /* Nothing was said: what other machines have is not known. */
    }
    if (settings->gpus.count > 0 && settings->gpus.memory_bytes == 0 && settings->slots == 0) {
        return error_set(
            error, WEFT_INVALID,
            "'gpus' of a cluster need 'memory' in weft.yaml: all nodes must know it");
    }
    settings->nodes = settings->member_count;
    settings->is_member = true;
    return WEFT_OK;
}

void clustered_name(const struct cluster_where *where, char out[static NAME_BYTES_MAX])
{
    out[0] = '\0';
    if (where->node != NULL) {
        (void)snprintf(out, NAME_BYTES_MAX, "%s", where->node);
    } else if (gethostname(out, NAME_BYTES_MAX) != 0) {
        out[0] = '\0';
    }
    out[NAME_BYTES_MAX - 1] = '\0';
}

static enum weft_status find_node(
    struct clustered *cluster, const struct cluster_where *where, struct weft_error *error)
{
    const struct settings *settings = cluster->settings;
    if (settings->has_open_members) { /* Which node it is turns out when it joins. */
        clustered_name(where, cluster->self.title);
        return cluster->self.title[0] != '\0'
                   ? WEFT_OK
                   : error_set(
                         error, WEFT_INVALID, "'--node' must say what this process is called");
    }
    clustered_name(where, cluster->self.name);
    for (uint32_t i = 0; i < settings->member_count; i++) {
        if (strcmp(settings->members[i], cluster->self.name) == 0) {
            cluster->remote.node = i;
            return WEFT_OK;
        }
    }
    return error_set(
        error, WEFT_INVALID,
        "no member in weft.yaml is called '%s'; '--node' says which this process is",
        cluster->self.name);
}

/* Others must be able to connect to what is said here. */
static enum weft_status check_listen(
    struct clustered *cluster, const char *given, struct weft_error *error)
{
    const char *listen = given == NULL ? LISTEN_DEFAULT : given;
    const char *colon = strrchr(listen, ':');
    if (colon == NULL || strlen(listen) >= sizeof(cluster->listen)) {
        return error_set(
            error, WEFT_INVALID, "'--listen-cluster' is '%.100s'; it must be HOST:PORT", listen);
    }
    const size_t length = (size_t)(colon - listen);
    if (length == 0 || (length == 7 && strncmp(listen, "0.0.0.0", 7) == 0) ||
        (length == 4 && strncmp(listen, "[::]", 4) == 0)) {
        return error_set(
            error, WEFT_INVALID,
            "'--listen-cluster' is '%.100s'; name the address by which other nodes reach this "
            "machine",
            listen);
    }
    (void)snprintf(cluster->listen, sizeof(cluster->listen), "%s", listen);
    return WEFT_OK;
}

static enum weft_status make_trust(
    struct clustered *cluster, const struct cluster_where *where, struct weft_error *error)
{
    const struct trust_files *files = &where->trust;
    char name[NAME_BYTES_MAX];
    const bool has_tls =
        files->certificate != NULL && files->key != NULL && files->authority != NULL;
    const bool has_part =
        files->certificate != NULL || files->key != NULL || files->authority != NULL;
    if (has_tls == (files->secret != NULL) || has_part != has_tls) {
        return error_set(
            error, WEFT_INVALID,
            "'--cluster' needs '--cluster-secret-file', or '--cluster-cert', '--cluster-key' and "
            "'--cluster-ca'");
    }
    clustered_name(where, name);
    const enum weft_status status = trust_create(files, &cluster->trust, error);
    if (status == WEFT_OK && !trust_is_for(cluster->trust, name)) {
        const struct log_field node = log_text("node", name);
        log_say(cluster->log, LOG_WARN, "certificate of another node", 1, &node);
    }
    return status;
}

/* Numbers of nodes mean the same to all only if their names have the same order. */
static uint64_t agreement(const struct settings *settings, const struct scenario *scenario)
{
    uint64_t names = 0;
    for (uint32_t i = 0; i < settings->member_count; i++) {
        names = hash_mix(names, hash_text(settings->members[i]));
    }
    return agreement_of(scenario->fleet, scenario->catalogue, names, GREETING_VERSION);
}

/* Whether weft.yaml allows a node that is called @name. */
static bool is_member(void *context, const char *name)
{
    const struct clustered *cluster = context;
    bool is_named = cluster->settings->has_open_members;
    for (uint32_t i = 0; i < cluster->settings->member_count; i++) {
        is_named = is_named || strcmp(cluster->settings->members[i], name) == 0;
    }
    return is_named;
}

static bool is_there(void *context, const char *name)
{
    const struct clustered *cluster = context;
    return cluster->membership != NULL && membership_knows(cluster->membership, name);
}

enum weft_status clustered_open(
    struct clustered *cluster, const struct cluster_where *where,
    const struct repository *repository, const struct scenario *scenario, struct log *log,
    struct weft_error *error)
{
    const struct settings *settings = &repository->settings;
    *cluster =
        (struct clustered){.settings = settings, .log = log, .has_deputies = !where->no_deputies};
    enum weft_status status = find_node(cluster, where, error);
    if (status == WEFT_OK) {
        status = check_listen(cluster, where->listen, error);
    }
    if (status == WEFT_OK && where->net != NULL) {
        status = net_carrier_parse(where->net, &cluster->remote.carrier, error);
    }
    if (status == WEFT_OK) {
        status = make_trust(cluster, where, error);
    }
    if (status == WEFT_OK) {
        const struct offered_guard guard = {
            .context = cluster, .is_member = is_member, .is_there = is_there};
        cluster->files = offered_files_create(repository->folder, cluster->trust, &guard);
    }
    if (status == WEFT_OK) {
        status = directory_open(&where->directory, &cluster->directory, error);
    }
    cluster->fleet = scenario->fleet;
    if (cluster->fleet->has_slots && !resources_write(
                                         cluster->fleet, /* node */ 0, cluster->self.resources,
                                         sizeof(cluster->self.resources))) {
        status = error_set(error, WEFT_LIMIT, "this machine has too many kinds of devices");
    }
    (void)snprintf(
        cluster->self.version, sizeof(cluster->self.version), "%s/%d.%d", WEFT_VERSION,
        FRAME_VERSION, WIRE_VERSION);
    cluster->self.agreement = agreement(settings, scenario);
    cluster->remote.agreement = cluster->self.agreement;
    cluster->remote.incarnation = 1; /* Until it is a member. */
    cluster->remote.listen = LISTEN_DEFAULT;
    cluster->remote.trust = cluster->trust;
    cluster->remote.log = log;
    cluster->remote.tensor_bytes_max = TENSOR_BYTES_MAX;
    return status;
}

enum weft_status clustered_take(
    struct clustered *cluster, uint32_t node, const struct member *member, struct weft_error *error)
{
    return cluster->fleet->has_slots
               ? resources_read(member->resources, cluster->fleet, node, error)
               : WEFT_OK;
}

/* Hold the name. */
static enum weft_status join(struct clustered *cluster, struct weft_error *error)
{
    const struct membership_options options = {
        .directory = cluster->directory,
        .self = cluster->self,
        .node_count = cluster->settings->member_count,
        .names = cluster->settings->members,
        .log = cluster->log,
    };
    const enum weft_status status = membership_open(&options, &cluster->membership, error);
    if (status != WEFT_OK) {
        return status;
    }
    cluster->self.incarnation = membership_incarnation(cluster->membership);
    cluster->remote.node = membership_node(cluster->membership);
    (void)clustered_take(cluster, cluster->remote.node, &cluster->self, /* error */ NULL);
    cluster->remote.incarnation = (uint32_t)cluster->self.incarnation;
    cluster->remote.listen = cluster->listen;
    const struct log_field fields[] = {
        log_text("node", member_title(&cluster->self)),
        log_number("incarnation", (int64_t)cluster->self.incarnation),
    };
    log_say(cluster->log, LOG_INFO, "joined", 2, fields);
    return WEFT_OK;
}

/* The same once more: the directory may be away just now. */
static enum weft_status join_again(struct clustered *cluster, struct weft_error *error)
{
    enum weft_status status = join(cluster, error);
    interrupt_catch();
    while (status == WEFT_IO && !interrupt_came()) {
        const struct log_field cause = log_text("cause", error->message);
        log_say(cluster->log, LOG_WARN, "cannot join", 1, &cause);
        (void)sleep(RETRY_SECONDS);
        status = join(cluster, error);
    }
    interrupt_release();
    return status;
}

static void leave(struct clustered *cluster)
{
    membership_close(cluster->membership);
    cluster->membership = NULL;
}

enum weft_status clustered_run(
    const struct service_options *given, struct service_result *result_out,
    struct weft_error *error)
{
    struct clustered *cluster = given->cluster;
    struct service_options options = *given;
    struct lobby *lobby = NULL; /* Of all lives but the first. */
    enum weft_status status = join(cluster, error);
    bool is_over = status != WEFT_OK;
    while (!is_over) {
        status = service_run(&options, result_out, error);
        leave(cluster);
        is_over = status != WEFT_OK || !result_out->is_lost;
        if (!is_over) {
            lobby_destroy(lobby);
            lobby = NULL;
            status = listening_begin(options.listen, &lobby, error);
            options.lobby = lobby;
            if (status == WEFT_OK) {
                status = join_again(cluster, error);
            }
            is_over = status != WEFT_OK;
        }
    }
    lobby_destroy(lobby);
    return status;
}

void clustered_attach(
    struct clustered *cluster, struct runtime *runtime, const char *http,
    const struct membership_host *host)
{
    char address[MEMBER_ADDRESS_BYTES + 8];
    const int length = (int)(strrchr(cluster->listen, ':') - cluster->listen);
    (void)snprintf(
        address, sizeof(address), "%.*s:%u", length, cluster->listen, runtime_port(runtime));
    membership_attach(cluster->membership, runtime, address, http, host);
}

void clustered_close(struct clustered *cluster)
{
    leave(cluster);
    offered_files_destroy(cluster->files);
    directory_destroy(cluster->directory);
    trust_destroy(cluster->trust);
}
