/*
 * local_inside.h - what the local engine is made of. For its files alone.
 *
 *     host's thread           threads of a worker              host's thread
 *     local.c ── queue ─────► local_load.c, local_run.c ─────► local.c
 *               (local_queue.h)                 (list, and a signal to the loop)
 */
#ifndef ONNX_LOCAL_INSIDE_H
#define ONNX_LOCAL_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>

#include <uv.h>

#include "function/pool.h"
#include "model/catalogue.h"
#include "onnx/local.h"
#include "onnx/local_queue.h"
#include "onnx/run.h"

/* A model in the memory of a worker. Shared by the worker and the batches that use it. */
struct local_model {
    atomic_uint references;
    struct artifact_versions versions;
    struct onnx_model *onnx[ARTIFACT_VERSIONS_MAX]; /* By version; one that comes again is the same.
                                                       NULL: a function, which occupies nothing. */
    struct operation *unload;                       /* To be told when it is gone. NULL: none. */
};

/* A task of a batch. */
struct local_task {
    const struct engine_task *given;
    struct bundle *output;
    struct weft_error error;
};

/* Something under way. Owned by the queue, thread or list it is in. */
struct operation {
    struct queued queued; /* First. */
    enum engine_done_kind kind;
    uint32_t worker;
    uint32_t model;                    /* LOADED, UNLOADED. */
    uint32_t gpu;                      /* SHAPED. */
    bool is_silent;                    /* UNLOADED: no order waits for it. */
    atomic_bool is_cancelled;          /* Ends in no done. */
    struct weft_error error;           /* LOADED: why it could not be. */
    struct local_model *loaded;        /* LOADED: the outcome. UNLOADED: what is to go. */
    struct artifact_versions versions; /* LOADED: what is to come. */

    struct operation *next_open; /* Of loads or runs not yet told of; on the host's thread. */

    /* RAN */
    struct engine_batch batch; /* A copy. */
    struct artifact_file file; /* What it runs, if that is a function. */
    bool is_renewed;           /* Others have run another file of it. */
    int64_t run_ns;
    struct local_model *models[TASK_MODELS_MAX]; /* As the task lists them. */
    struct onnx_usage usages[TASK_MODELS_MAX];
    struct local_task *tasks;
};

/* A thread that runs batches. */
struct local_runner {
    struct engine_local *engine;
    struct queue *queue;
    pthread_t thread;
    struct OrtRunOptions *options; /* Its own; NULL until it first runs a model. */
    const struct ort *ort;
    struct function_slot slot;
    pthread_mutex_t lock; /* Of what follows: who cancels comes from another thread. */
    struct operation *current;
};

struct local_worker {
    struct queue loads;
    struct queue runs;
    pthread_t loader;
    struct local_runner *runners;
    uint32_t runner_count;
    bool has_loader;
    struct engine_local *engine;
    struct local_model **resident; /* By model; on the host's thread. */
    struct onnx_model **asleep;    /* By local_place(): see local_sleep.c. */
    uint64_t sleeps;               /* How many ever. */
};

struct engine_local {
    struct engine base;
    const struct fleet *fleet;
    const struct catalogue *catalogue;
    const struct artifacts *artifacts;
    char cache[ONNX_CACHE_PATH_BYTES]; /* "": none. */
    uint64_t output_bytes_max;
    struct function_pool *pool; /* NULL: functions run here. */
    uint32_t *renewals;         /* Of functions, by model; as last seen. On the host's thread. */
    struct local_worker *workers;

    pthread_mutex_t digest_lock;
    struct onnx_digest *digests; /* By local_place(). */
    struct onnx_shown *rows;     /* The same. */
    pthread_mutex_t sleep_lock;  /* Of what sleeps on all workers. */

    struct queue done;     /* What threads have ended. */
    uv_async_t *signal;    /* That they have. On the heap: it outlives the engine. NULL: lock. */
    pthread_mutex_t *lock; /* The host's; see engine_local_options, as for the next. */
    bool (*fetch)(void *context);
    uint32_t pending;        /* Operations under way; on the host's thread, like the rest. */
    struct operation *runs;  /* Batches not yet told of. */
    struct operation *loads; /* The same. */
};

/* Where what is known of @version of model @number is kept; those far apart share a place. */
static inline uint32_t local_place(uint32_t number, uint32_t version)
{
    return number * ARTIFACT_VERSIONS_MAX + version % ARTIFACT_VERSIONS_MAX;
}

/* Of all models. */
static inline uint32_t local_place_count(const struct engine_local *engine)
{
    return engine->artifacts->count * ARTIFACT_VERSIONS_MAX;
}

/* Whether @model has number @index of its versions already before that. */
static inline bool local_is_again(const struct local_model *model, uint32_t index)
{
    bool is_again = false;
    for (uint32_t i = 0; i < index; i++) {
        is_again = is_again || model->onnx[i] == model->onnx[index];
    }
    return is_again;
}

/* local.c */

extern const struct engine_ops local_ops;

/* The threads have something for the host. */
void local_on_signal(uv_async_t *signal);

/* @operation is over, and told of. On the host's thread, like the next. */
void local_end(struct engine_local *engine, struct operation *operation);

/* No more is to come of @operation, a batch that runs or waits to. */
void local_give_up(struct engine_local *engine, struct operation *operation);

/* Hand @operation, which has ended, to the host. From any thread. */
void local_finish(struct engine_local *engine, struct operation *operation);

/* One reference less to @model; NULL is allowed. The last one takes its time. */
void local_release(struct engine_local *engine, struct local_model *model);

/* local_life.c */
void local_destroy(struct engine *engine);

/* local_load.c: the thread of @worker, a struct local_worker, that loads. */
void *local_loader_main(void *worker);

/* local_sleep.c: keep @model, at @place of @worker, which has left memory, for its next load. */
void local_sleep(struct local_worker *worker, uint32_t place, struct onnx_model *model);

/*
 * The model at @place of @worker, brought back into memory; NULL if it does not sleep there, or is
 * not what @digest says its file is now.
 */
struct onnx_model *local_wake(
    struct local_worker *worker, uint32_t place, const struct onnx_digest *digest);

/* End all that sleep on @worker. */
void local_end_sleepers(struct local_worker *worker);

/* local_run.c: a thread of @runner, a struct local_runner, that runs batches. */
void *local_runner_main(void *runner);

/* Tell the thread that is at @operation, if any, to give it up. */
void local_runner_cancel(struct local_runner *runner, const struct operation *operation);

#endif /* ONNX_LOCAL_INSIDE_H */
