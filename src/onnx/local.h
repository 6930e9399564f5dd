/*
 * local.h - the engine that runs models and functions on the processors of this machine.
 *
 * Each worker has a thread that loads and unloads, and threads that run batches: as many as
 * may run at once. Results come from inside the host's loop or, where the host has a lock instead
 * of a loop, straight from those threads. A batch that is given up goes on until it notices, on
 * its own references to its inputs: cancelling waits for nothing. What a load occupies and what a
 * run needs are measured.
 */
#ifndef ONNX_LOCAL_H
#define ONNX_LOCAL_H

#include <pthread.h>
#include <stdbool.h>

#include "engine/artifact.h"
#include "engine/engine.h"
#include "function/limits.h"

struct uv_loop_s;

struct engine_local_options {
    const struct fleet *fleet; /* Borrowed, like the next two. */
    const struct catalogue *catalogue;
    const struct artifacts *artifacts;
    struct uv_loop_s *loop; /* The host's. The engine is destroyed before it. NULL: see lock. */

    /*
     * Without a loop: a recursive lock, held by the caller of an operation, and by the engine's
     * threads while they call the host. Then there is no thread between a run and its report.
     */
    pthread_mutex_t *lock;
    uint32_t worker; /* Without a loop: the one that is served here. */

    /*
     * Without a loop: where batches come from. Called, without the lock, on a thread that has
     * nothing to run; waits, and launches one. False if no more will come. NULL: they are
     * launched by themselves.
     */
    bool (*fetch)(void *context);
    const char *cache; /* Folder for mapped models. Copied. NULL: the user's; "": none. */
    uint32_t threads;  /* That run batches, of each worker. 0: as many as it has units. */
    bool isolate;      /* Run functions in processes of their own: function/pool.h. */
    struct function_limits function_limits; /* Isolated ones are held to these. */
    struct engine_host host;
};

enum { ENGINE_LOCAL_THREADS_MAX = 64 };

/*
 * Start the threads of every worker of the fleet. On success the caller owns *engine_out.
 * ONNX Runtime is looked for when the first model is loaded.
 *
 * Errors: WEFT_IO if the system gives no threads, processes or descriptors.
 */
enum weft_status engine_local_create(
    const struct engine_local_options *options, struct engine **engine_out,
    struct weft_error *error);

#endif /* ONNX_LOCAL_H */
