/*
 * service.h - a cluster in this process that serves until it is told to end.
 *
 * Makes the runtime, shows it, plays requests into it if there are arrivals, and ends it:
 * the first SIGINT or SIGTERM lets no more requests in and waits for those that are there, but not
 * for ever; the second stops at once. SIGHUP lets a server look at its files again; where the
 * screen is watched the terminal was closed, which ends the service like SIGTERM.
 */
#ifndef SERVICE_SERVICE_H
#define SERVICE_SERVICE_H

#include "base/units.h"
#include "document/scenario.h"
#include "runtime/player.h"
#include "service/late_report.h"
#include "service/listening.h"
#include "trace/summary.h"

struct clustered;

/* What else takes part. All may be NULL. */
struct service_parts {
    struct runtime_engine engine;
    void *context; /* Of all below, which are called on the one thread. */

    /* As in struct player_options. */
    struct handle (*make_inputs)(
        void *context, struct runtime *runtime, uint32_t workflow, uint32_t items,
        uint32_t *number_out);
    void (*on_answer)(
        void *context, const struct runtime *runtime, uint32_t workflow, uint32_t number,
        const struct runtime_answer *answer);

    /* A sample has been answered well, before any client is served. */
    void (*on_rehearsed)(
        void *context, const struct runtime *runtime, uint32_t workflow,
        const struct runtime_answer *answer);

    /* What clients are told of: see listening_open(). Borrowed. */
    const struct server_repository *repository;

    /* What clients load and unload, which all nodes of a cluster then do. NULL: nothing. */
    struct local_index *index;

    /* The runtime is there and will run: listen. Errors end the service; @error says why. */
    enum weft_status (*open)(void *context, struct runtime *runtime, struct weft_error *error);

    /* Look again at what is served. */
    void (*reload)(void *context);

    /* The fleet has changed: a machine is about to join that may have other devices. */
    void (*on_machine)(void *context);

    /* No more requests: what has arrived is answered, and the runtime then stops. */
    void (*drain)(void *context);

    /* The runtime has stopped and is about to be released. */
    void (*close)(void *context);
};

#define SERVICE_DRAIN_NS (30 * NS_PER_S)

struct service_options {
    const struct scenario *scenario; /* Borrowed, like all below. Its faults are left out. */
    const struct policy_set *policies;
    const struct service_parts *parts; /* NULL: emulated workers only. */
    const struct listen_where *listen; /* For clients. NULL: nowhere. */
    struct lobby *lobby;               /* Where clients wait by now. NULL: nowhere. */
    const char *title;                 /* Of the screen. */
    const char *hint;                  /* A command that sends a request, but for the address. */
    const char *program;               /* As it was called, for other commands. */
    const char *asking;                /* The rate of requests of our own. NULL: there are none. */
    struct clustered *cluster;         /* Of which this is one node. NULL: all nodes are here. */
    const char *trace;                 /* The file for records: served_trace.h. NULL: none. */
    bool why;                          /* Records also say what policies weighed. */
    struct log *log;                   /* NULL: nothing is logged. */
    int64_t drain_ns;                  /* How long the end may wait for answers. 0: the default. */
    uint64_t seed;
    uint64_t seconds;  /* How long requests come; 0: until it is told to end. */
    uint32_t jobs_max; /* Of each node at once; 0: no limit. */
    bool plays;        /* Requests come as the arrivals say; otherwise from outside alone. */
    bool silent;       /* Nothing is shown on the way. */
    bool plain;        /* A line per second, also on a terminal. */
};

/* Requests for workflows that have an SLO. */
struct slo_counts {
    uint64_t asked;
    uint64_t admitted; /* Of these. */
    uint64_t met;      /* Of these: answered well and in time. */
};

struct service_result {
    struct report report;
    struct slo_counts slo;
    struct late_figures late[WORKFLOWS_MAX];
    uint64_t arrived;
    uint64_t answered;
    uint32_t abandoned; /* Requests that the end did not wait for. */
    bool is_lost;       /* It ended because the cluster took it for dead. */
    double wall_s;
};

/* Whether a shell takes @text as it is. */
bool service_is_plain(const char *text);

/*
 * Refuse what cannot be in time, unless @policies has an opinion of its own. A policy that refuses
 * nothing has none, unless it is named for the role.
 */
void service_admit(struct policy_set *policies);

/* Refuse nothing that could be run, whatever @policies says. */
void service_admit_all(struct policy_set *policies);

/*
 * Serve until the end.
 *
 * Errors: those of runtime_create() and of the parts.
 */
enum weft_status service_run(
    const struct service_options *options, struct service_result *result_out,
    struct weft_error *error);

#endif /* SERVICE_SERVICE_H */
