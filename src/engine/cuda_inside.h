/*
 * cuda_inside.h - what the engine for GPUs is made of. For its files alone.
 *
 *     cuda_engine.c   operations of the host
 *     cuda_load.c     the thread that loads and records
 *     cuda_run.c      the thread that launches and asks what has ended
 *
 * Everything is under the host's lock, but for what a job does in between: a model is the loading
 * thread's while a job is at it, and a share and its graphs are the batch's that holds it.
 */
#ifndef ENGINE_CUDA_INSIDE_H
#define ENGINE_CUDA_INSIDE_H

#include <stdatomic.h>

#include "base/limits.h"
#include "engine/cuda_engine.h"
#include "engine/cuda_graph.h"
#include "engine/cuda_keeper.h"
#include "engine/cuda_pins.h"
#include "engine/cuda_weights.h"
#include "model/catalogue.h"

struct cuda_model {
    bool is_open;  /* Manifest and address. */
    bool is_tried; /* Its packages have run, here or in an earlier process. */
    bool is_asked; /* The keeper, for what an earlier process has left. */
    struct cuda_manifest manifest;
    struct cuda_weights weights;
    uint32_t users; /* Batches, cancelled ones included. */
    struct cuda_package *packages[CUDA_PACKAGES_MAX];
    struct cuda_graph *graphs[CUDA_PACKAGES_MAX][CUDA_SHARES_MAX];
};

struct cuda_task {
    uint32_t rows;
    const uint8_t *inputs[CUDA_PORTS_MAX]; /* As the manifest lists them. */
    bool is_pinned[CUDA_PORTS_MAX];        /* The GPU can read it there. */
    uint32_t bundle_count;
    struct bundle **bundles; /* What they lie in, until the run is over. */
    struct bundle *output;
    struct weft_error error;
};

enum cuda_batch_state {
    BATCH_WAITS,   /* For a share. */
    BATCH_RECORDS, /* The loading thread makes its graph. */
    BATCH_READY,   /* It has; or could not: error says so. */
    BATCH_RUNS,
};

struct cuda_batch {
    struct cuda_batch *next;
    uint64_t number;
    uint32_t workflow;
    uint32_t task;
    uint32_t worker;
    uint32_t units;
    enum cuda_batch_state state;
    bool is_cancelled;
    uint32_t place;           /* Of its model. */
    struct cuda_share *share; /* While it has one. */
    uint32_t package;         /* Of the run in flight, or of the next. */
    uint32_t at;              /* The first row of that run. */
    uint32_t rows;            /* Of the batch. */
    int64_t start_ns;
    int64_t launched_ns; /* The run in flight. */
    int64_t run_ns;
    struct weft_error error; /* Of all tasks. */
    uint32_t task_count;
    struct cuda_task tasks[BATCH_TASKS_MAX];
};

enum cuda_job_kind { JOB_LOAD, JOB_UNLOAD, JOB_SHAPE, JOB_RECORD, JOB_KEEPER };

/* Something for the loading thread. */
struct cuda_job {
    struct cuda_job *next;
    enum cuda_job_kind kind;
    uint32_t place;           /* LOAD, UNLOAD: of the model. */
    uint32_t worker;          /* SHAPE. */
    uint32_t gpu;             /* SHAPE: units. */
    int socket;               /* KEEPER. */
    struct cuda_batch *batch; /* RECORD. */
    atomic_bool is_cancelled; /* LOAD. */
};

struct engine_cuda {
    struct engine base;
    struct engine_cuda_options options;
    struct cuda_driver driver;
    struct cuda_torch torch;
    struct cuda_device device;
    struct cuda_pins pins;
    struct cuda_shares shares;
    struct cuda_share trial; /* For first runs: no batch has it. */
    uint64_t arena;
    struct CUstream_st *copies;
    struct cuda_blocks blocks; /* Of the loading thread, like the next. */
    struct cuda_keeper keeper;
    struct cuda_model *models;  /* Of the first worker, of the second ... each its own. */
    struct cuda_batch *batches; /* In the order they were launched. */
    struct cuda_job *jobs;
    struct cuda_job *job;   /* The one under way. */
    pthread_cond_t changed; /* Jobs have come, or batches have gone, or it ends. */
    bool ends;
    pthread_t loader;
    pthread_t launcher;
};

/* The place among all models of @model of @worker, and what is at a place. */
static inline uint32_t cuda_place(const struct engine_cuda *engine, uint32_t worker, uint32_t model)
{
    return (worker - engine->options.worker) * engine->options.artifacts->count + model;
}

static inline uint32_t cuda_model_at(const struct engine_cuda *engine, uint32_t place)
{
    return place % engine->options.artifacts->count;
}

static inline uint32_t cuda_worker_at(const struct engine_cuda *engine, uint32_t place)
{
    return engine->options.worker + place / engine->options.artifacts->count;
}

static inline uint32_t cuda_place_count(const struct engine_cuda *engine)
{
    return engine->options.worker_count * engine->options.artifacts->count;
}

/* cuda_engine.c */

void cuda_lock(struct engine_cuda *engine);
void cuda_unlock(struct engine_cuda *engine);

/* If @status is WEFT_LOST the engine ends here. */
void cuda_mind(struct engine_cuda *engine, enum weft_status status, const struct weft_error *error);

/* Hand a job, of which @job says everything, to the loading thread. Under the lock. */
void cuda_add_job(struct engine_cuda *engine, const struct cuda_job *job);

/* cuda_load.c: the thread that loads; @engine is a struct engine_cuda. */
void *cuda_loader_main(void *engine);

/* Close what is open of @model. */
void cuda_model_close(struct engine_cuda *engine, struct cuda_model *model);

/* cuda_run.c: the thread that launches; the same. */
void *cuda_launcher_main(void *engine);

/* A batch of @given: its tasks that do not fit the model have failed already. */
struct cuda_batch *cuda_batch_create(struct engine_cuda *engine, const struct engine_batch *given);
void cuda_batch_destroy(struct engine_cuda *engine, struct cuda_batch *batch);

#endif /* ENGINE_CUDA_INSIDE_H */
