/*
 * nursery.h - where the processes of a repository come from: engines, and those that measure.
 *
 * It is started before anything else, when this process has read its documents and has one thread.
 * What it makes knows the repository as it was then. Models are never loaded in this process.
 */
#ifndef SERVICE_NURSERY_H
#define SERVICE_NURSERY_H

#include "document/repository.h"
#include "function/fork_server.h"
#include "process/child.h"
#include "service/machine.h"
#include "service/measure.h"

struct nursery {
    struct fork_server server;
    struct machine machine;
    struct fleet *fleet;
    struct artifacts artifacts;
    const struct repository *repository;
    struct process_child_options engines;
    struct engine_cuda_options cuda; /* Of engines on GPUs. */
};

/*
 * Start it for @repository, which is borrowed, on @machine, which is copied. On success
 * nursery_stop() releases it.
 *
 * Errors: those of fork_server_start().
 */
enum weft_status nursery_start(
    struct nursery *nursery, const struct repository *repository, const struct machine *machine,
    struct weft_error *error);

/* End it and all its processes. */
void nursery_stop(struct nursery *nursery);

/* measure_model() in a process of its own. From any thread. */
enum weft_status nursery_measure(
    const struct measure_options *options, struct measure_figures *figures_out,
    struct weft_error *error);

/* What engines are told of the files of @repository: artifacts_free() releases it. */
struct artifacts artifacts_of(const struct repository *repository);
void artifacts_free(struct artifacts *artifacts);

/* What engines are told of the limits of functions. */
struct function_limits function_limits_of(const struct settings *settings);

#endif /* SERVICE_NURSERY_H */
