/*
 * clustered.h - a service as one node of a cluster of several processes.
 *
 *     clustered_open()      files and names are looked at
 *     clustered_run()       join, serve, leave; again as a new incarnation if the name is lost
 *     clustered_close()
 */
#ifndef SERVICE_CLUSTERED_H
#define SERVICE_CLUSTERED_H

#include "directory/membership.h"
#include "fabric/trust.h"
#include "runtime/remote.h"
#include "service/service.h"

struct fetch_options;
struct fleet;
struct offered_files;
struct repository;
struct settings;

/* Which cluster, as a command line says. All are borrowed. */
struct cluster_where {
    struct directory_options directory; /* Without a place: there is no cluster. */
    const char *node;                   /* NULL: called as this machine is. */
    const char *listen;                 /* HOST:PORT, for other nodes. NULL: this machine alone. */
    const char *net;                    /* Of net_carrier_parse(). NULL: auto. */
    struct trust_files trust;
    bool no_deputies; /* A request is lost with the node that it came to. */
};

struct clustered {
    const struct settings *settings;
    struct fleet *fleet; /* Of the scenario. What other machines have is put into it. */
    struct trust *trust;
    struct directory *directory;
    struct member self;
    char listen[MEMBER_ADDRESS_BYTES];
    struct runtime_remote remote;
    struct membership *membership;     /* NULL: it is no member now. */
    bool has_deputies;                 /* Requests with keys survive the node that they came to. */
    struct offered_files *files;       /* What other nodes may fetch. */
    const struct fetch_options *fetch; /* How to fetch from them. Borrowed. NULL: not at all. */
    struct log *log;
};

/* What a process of @where is called; "" if even its machine has no name. */
void clustered_name(const struct cluster_where *where, char out[static NAME_BYTES_MAX]);

/*
 * Let @settings describe all nodes of a cluster, for machine_fleet().
 *
 * Errors: WEFT_INVALID if they do not name them, or what each has.
 */
enum weft_status clustered_settle(struct settings *settings, struct weft_error *error);

/*
 * Look at everything that is needed to be a node of @where, with the workers and workflows of
 * @scenario; all are borrowed. Whatever this returns, clustered_close() releases it.
 *
 * Errors: WEFT_INVALID; those of trust_create() and directory_open().
 */
enum weft_status clustered_open(
    struct clustered *cluster, const struct cluster_where *where,
    const struct repository *repository, const struct scenario *scenario, struct log *log,
    struct weft_error *error);

/*
 * service_run() as a member of the cluster, which @options name. A process that has lost its name
 * answers no client, and begins again as another incarnation.
 *
 * Errors: also those of membership_open().
 */
enum weft_status clustered_run(
    const struct service_options *options, struct service_result *result_out,
    struct weft_error *error);

/*
 * Put what @member has into the fleet as @node, which the runtime does not know as a member yet.
 * Nothing, if nodes have no slots.
 *
 * Errors: those of resources_read().
 */
enum weft_status clustered_take(
    struct clustered *cluster, uint32_t node, const struct member *member,
    struct weft_error *error);

/* @runtime is there, and clients reach it at @http. For services. */
void clustered_attach(
    struct clustered *cluster, struct runtime *runtime, const char *http,
    const struct membership_host *host);

void clustered_close(struct clustered *cluster);

#endif /* SERVICE_CLUSTERED_H */
