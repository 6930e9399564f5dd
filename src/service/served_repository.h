/*
 * served_repository.h - a repository on its way to being served: its processes, ports, workers and
 * samples, in the order in which they must come.
 *
 *     served_repository_start()        before there are threads; clients may connect, and wait
 *     served_repository_open()         models are looked at, or measured
 *     served_repository_rehearse()     samples show what only they can
 *     service_run()
 *     served_repository_close()
 */
#ifndef SERVICE_SERVED_REPOSITORY_H
#define SERVICE_SERVED_REPOSITORY_H

#include "base/log.h"
#include "service/capacity.h"
#include "service/local_repository.h"

struct lobby;

/* What is asked of it beside its own settings. All pointers are borrowed. */
struct served_options {
    bool emulated;      /* Nothing runs: workers take the time that the profile says. */
    bool admits_all;    /* Even what cannot be in time. */
    bool silent;        /* Nothing is shown on the way. */
    const char *policy; /* Instead of the configured one. NULL: that. */
    const char *rate;   /* Of requests of our own, as "3/s" or "60%". NULL: there are none. */
    const struct listen_where *listen;
    struct log *log;
};

struct served_repository {
    struct served_options options;
    struct repository *repository;
    bool is_local; /* Models really run. */
    struct local_repository local;
    struct service_parts parts; /* Of local. */
    struct profile *profile;    /* Of one that is emulated. */
    struct fleet *fleet;        /* The same. */
    struct nursery nursery;
    bool has_nursery;
    struct scenario *scenario; /* What a service is given; made of the above. */
    struct policy_set policies;
    double share;             /* Of its capacity, if the rate is such a share; 0: it is not. */
    struct capacity capacity; /* If so: as measured. */
    struct lobby *lobby;      /* Where clients wait until it is served. NULL: nowhere. */
};

/* Look for GPUs, if a model of @repository has a form for them: machine_find_gpus(). */
void served_find_gpus(
    const struct repository *repository, struct machine *machine,
    void (*on_note)(void *context, const char *note, bool is_used), void *context);

/*
 * Start processes and take ports for @repository, which is the served repository's from now on.
 * Whatever this returns, served_repository_close() releases everything.
 *
 * Errors: those of nursery_start() and listening_begin().
 */
enum weft_status served_repository_start(
    struct served_repository *served, struct repository *repository,
    const struct served_options *options, struct weft_error *error);

/* Errors: those of policy_set_parse(), local_repository_open() and of profiles; WEFT_INVALID. */
enum weft_status served_repository_open(struct served_repository *served, struct weft_error *error);

/*
 * Run what only samples can tell of models and workflows, on the cluster of @options; and measure
 * what that can carry, if the rate depends on it.
 *
 * Errors: those of rehearsal_run() and capacity_measure().
 */
enum weft_status served_repository_rehearse(
    struct served_repository *served, const struct service_options *options,
    struct weft_error *error);

/* The rate of requests of our own, and where it comes from. Empty if there are none. */
void served_repository_say_rate(const struct served_repository *served, char *out, size_t room);

/*
 * A command line of @program that sends the first sample, but for the address of the server.
 * False if there is no sample, or it would need quotes.
 */
bool served_repository_say_hint(
    const struct served_repository *served, const char *program, char *out, size_t room);

void served_repository_close(struct served_repository *served);

#endif /* SERVICE_SERVED_REPOSITORY_H */
