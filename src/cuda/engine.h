/*
 * engine.h - the engine that runs compiled models on one NVIDIA GPU, which may be cut into
 * several workers.
 *
 * It lives in an engine process (process/child.h). One thread loads: weights are copied in pieces
 * beside what runs. One thread records graphs, for each package on each share that batches want or
 * use; a batch runs on another share until its own has one. One thread launches, and asks the
 * device what has ended for as long as anything runs: that takes a core, and saves a tenth of a
 * millisecond of every batch.
 *
 * A batch holds a share while it runs. Its rows are laid one after another into the
 * smallest package that has room for them; if none has, it takes several runs. What a package makes
 * of a row must not depend on the rows beside it.
 *
 * Memory: the weights are in blocks that a keeper owns (keeper.h), what runs need is in an
 * arena with a budget for each share (arena.h). A run that has no memory is an error of its
 * batch. A kernel that breaks the device ends the process.
 */
#ifndef CUDA_ENGINE_H
#define CUDA_ENGINE_H

#include <pthread.h>

#include "engine/artifact.h"
#include "engine/engine.h"

struct cuda_torch;
struct lender;

/* What came of waiting for a batch. SOON: one is expected. */
enum engine_fetched { FETCHED_BATCH, FETCHED_NOTHING, FETCHED_SOON, FETCHED_END };

/* How a batch is fetched. */
enum engine_fetch {
    FETCH_NOW,  /* If one is there: something runs. */
    FETCH_SOON, /* Nothing runs, but one is expected: wait only if asking would hold it up. */
    FETCH_WAIT, /* Nothing runs: wait for one. */
};

struct engine_cuda_options {
    const struct catalogue *catalogue; /* Borrowed, like the next. */
    const struct artifacts *artifacts;
    const char *driver; /* Its path; NULL: the system's. Copied, like the next. */
    const char *torch;  /* The folder of libtorch; NULL: where the loader finds it. */
    uint32_t gpu;       /* Of this machine. The process sees no other from then on. */
    uint32_t worker;    /* The first that it serves, and how many: each has an equal part of the */
    uint32_t worker_count; /* units, and its own copy of the weights. 0: one. */
    uint64_t memory_bytes; /* For weights, on all of them. 0: none is taken ahead. */
    uint64_t arena_bytes;  /* For what runs need. 0: an eighth of the device, at most 8 GiB. */
    uint64_t budget_bytes; /* Of that, for each share. 0: an eighth. */
    int64_t keep_after_ns; /* The keeper gets weights so long after their load. 0: 10 ms. */
    uint32_t graphs_max;   /* So many at most. 0: CUDA_GRAPHS_MAX, which none can exceed. */
    bool are_streams;      /* As in struct cuda_shares. */
    bool have_priorities;  /* And the shorter a run, the sooner it gets processors. */
    enum weft_status (*compare)(
        const char *folder, struct weft_error *error); /* Files of a model
      with their sums, if they have changed since. NULL: then it is not run. */
    int keeper;            /* The socket of the keeper; -1: there is none. */
    struct lender *lender; /* Whose memory inputs lie in. NULL: in that of this process. */

    /* A recursive lock, held by callers of operations, and while the host is called. */
    pthread_mutex_t *lock;

    /* Called without the lock by the thread that launches: launch a batch. */
    enum engine_fetched (*fetch)(void *context, enum engine_fetch how);

    /* Called with the lock: a load is about to end, and a batch may come then. May be NULL. */
    void (*soon)(void *context);

    /* The device is lost, for the reason @message: nothing here will work again. Must not return.
     */
    void (*lost)(void *context, const char *message);

    /* The same, since the run of batch @number there does not end. */
    void (*hung)(void *context, uint64_t number);
    struct engine_host host; /* Its context is that of all of these. */
};

/*
 * Open the GPU. On success the caller owns *engine_out.
 *
 * Errors: those of cuda_driver_open(), cuda_torch_open() and cuda_device_open(); WEFT_NO_MEMORY if
 * the device has no room for the arena; WEFT_IO if the system gives no threads.
 */
enum weft_status engine_cuda_create(
    const struct engine_cuda_options *options, struct engine **engine_out,
    struct weft_error *error);

/* What an engine takes of a device of @memory_bytes for runs, if nothing else is said. */
uint64_t engine_cuda_arena_bytes(uint64_t memory_bytes);

/* There is another keeper, at @socket, which becomes the engine's. */
void engine_cuda_set_keeper(struct engine *engine, int socket);

/* An earlier process has run the packages of @model: they are not tried when it is loaded. */
void engine_cuda_set_tried(struct engine *engine, uint32_t worker, uint32_t model);

/* Open libtorch ahead, in a process that others are forked from. */
void engine_cuda_warm(const char *torch);

#endif /* CUDA_ENGINE_H */
