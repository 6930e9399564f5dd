/*
 * inside.h - what the engine for GPUs is made of. For its files alone.
 *
 *     engine.c   operations of the host
 *     load.c     the thread that loads weights
 *     keep.c     when they become the keeper's
 *     ahead.c    memory for them that is taken before
 *     versions.c the versions of a model that are here, with a place for each
 *     record.c   the thread that runs packages first, and records graphs
 *     held.c     the graphs that there are
 *     choose.c   the share that a batch runs on
 *     run.c      the thread that launches and asks what has ended
 *
 * Everything is under the host's lock, but for what a job does in between: a model is the loading
 * thread's while a job is at it, and then the recording thread's while it is tried. A share and its
 * graphs belong to the batch or the recording that holds it.
 */
#ifndef CUDA_INSIDE_H
#define CUDA_INSIDE_H

#include <stdatomic.h>

#include "base/limits.h"
#include "cuda/ahead.h"
#include "cuda/engine.h"
#include "cuda/graph.h"
#include "cuda/keeper.h"
#include "cuda/pins.h"
#include "cuda/weights.h"
#include "model/catalogue.h"

/* The number of the share for first runs, behind those of all others. */
enum { CUDA_TRIAL = CUDA_SHARES_MAX, CUDA_GRAPHS_MAX = 1024, CUDA_WANTS_MAX = 256 };

/* One version of a model on one worker. */
struct cuda_model {
    bool is_open;           /* Manifest and address. */
    uint32_t version;       /* Which one, while it is open. */
    bool is_tried;          /* Its packages have run, here or in an earlier process. */
    bool is_asked;          /* The keeper, for what an earlier process has left. */
    bool is_there;          /* Weights, and the host knows: graphs may be recorded. */
    atomic_bool is_leaving; /* A recording under way should be given up. */
    struct cuda_manifest manifest;
    struct cuda_weights weights;
    uint32_t users; /* Batches, cancelled ones included, and a recording. */
    struct cuda_package *packages[CUDA_PACKAGES_MAX]; /* Of the recording thread. */
    bool is_warm[CUDA_PACKAGES_MAX];                  /* That thread has recorded it. */
    struct cuda_graph *graphs[CUDA_PACKAGES_MAX][CUDA_SHARES_MAX + 1];
    uint64_t recorded[CUDA_PACKAGES_MAX]; /* Shares with a graph, as bits; not the trial's. */
    uint64_t failed[CUDA_PACKAGES_MAX];   /* Shares on which it could not be recorded; */
    bool has_failed[CUDA_PACKAGES_MAX];   /* or the trial's. */
};

/* A graph by its place: cuda_model.graphs of a model. */
struct cuda_spot {
    uint32_t place, package, share;
};

/* A graph that batches would have run, had it been there. */
struct cuda_want {
    struct cuda_spot spot;
    uint32_t batches;
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
    BATCH_RECORDS, /* For the recording thread: there is no graph that could run it. */
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
    bool is_disturbed;        /* Its run does not take as long as it would alone on its share. */
    uint32_t place;           /* Of its model. */
    struct cuda_share *share; /* While it has one. */
    bool has_wanted;          /* For the next run, share number `wanted`. */
    uint32_t wanted;
    uint32_t package; /* Of the run in flight, or of the next. */
    uint32_t at;      /* The first row of that run. */
    uint32_t rows;    /* Of the batch. */
    int64_t start_ns;
    int64_t launched_ns; /* The run in flight. */
    int64_t asked_ns;    /* When it was last asked whether that has ended. */
    int64_t waited_ns;   /* How long it was waited for so far. */
    int64_t run_ns;
    struct weft_error error; /* Of all tasks. */
    uint32_t task_count;
    struct cuda_task tasks[]; /* No more than there are: to clear them takes time. */
};

enum cuda_job_kind { JOB_LOAD, JOB_REVISE, JOB_TRY, JOB_TRIED, JOB_UNLOAD, JOB_SHAPE, JOB_KEEPER };

/*
 * Something for the loading thread. If packages of a load, or of a revision, have never run, it
 * becomes a TRY, of the recording thread, and comes back as TRIED.
 */
struct cuda_job {
    struct cuda_job *next;
    enum cuda_job_kind kind;
    uint32_t group;                    /* LOAD, REVISE, TRY, TRIED, UNLOAD: of the model. */
    bool is_revision;                  /* It came as REVISE. */
    bool is_temporary;                 /* What it brings does not stay. */
    struct artifact_versions versions; /* LOAD, REVISE: those that are to be here. */
    uint32_t at;                       /* The one of them that is being brought. */
    uint32_t place;                    /* Where it is brought to. */
    uint32_t worker;                   /* SHAPE. */
    uint32_t gpu;                      /* SHAPE: units. */
    int socket;                        /* KEEPER. */
    uint32_t package;                  /* TRY: the next. */
    struct weft_error error;           /* What came of it, so far. */
    atomic_bool is_cancelled;          /* Of a load. */
};

struct engine_cuda {
    struct engine base;
    struct engine_cuda_options options;
    struct cuda_driver driver;
    struct cuda_torch torch;
    struct cuda_device device;
    struct cuda_pins pins;
    struct cuda_shares shares;
    struct cuda_share trial; /* For first runs, and for batches whose share has no graph yet. */
    bool is_trial_wanted;    /* For the next first run: batches leave it alone. */
    uint64_t arena;
    struct CUstream_st *copies;
    struct cuda_blocks blocks; /* Of the loading thread, like the next two. */
    struct cuda_ahead ahead;
    struct cuda_keeper keeper;
    struct cuda_group *groups;  /* Of the first worker, of the second ... each its own. */
    struct cuda_model *models;  /* Of the first group, of the second ... */
    uint32_t revisions;         /* Groups that are still to be revised. */
    struct weft_error revision; /* What came of those before. */
    struct cuda_batch *batches; /* In the order they were launched. */
    atomic_bool is_busy;        /* The launching thread has seen some, and not that they ended. */
    struct cuda_job *jobs;
    struct cuda_job *job;      /* The one under way. */
    struct cuda_job *trials;   /* TRY, for the recording thread; the first is under way. */
    pthread_cond_t changed;    /* Jobs came, a model that leaves is unused, or it ends. */
    pthread_cond_t records;    /* There may be something to record, or it ends. */
    struct weft_tensor *taken; /* Room for the inputs of a task while they are bound. */
    bool is_recording;
    const struct cuda_share *recording; /* Where a graph is made that no batch waits for. */
    uint32_t want_count;
    struct cuda_want wants[CUDA_WANTS_MAX];
    uint32_t graph_count;
    uint64_t graph_bytes;
    uint64_t graph_bytes_max;
    struct cuda_spot graphs[CUDA_GRAPHS_MAX];
    uint32_t ahead_at;   /* The place to look at next for graphs to make ahead. */
    uint32_t ahead_left; /* How many are left to look at. */
    bool ends;
    pthread_t loader;
    pthread_t recorder;
    pthread_t launcher;
};

/* engine.c */

void cuda_lock(struct engine_cuda *engine);
void cuda_unlock(struct engine_cuda *engine);

/* If @status is WEFT_LOST the engine ends here. */
void cuda_mind(struct engine_cuda *engine, enum weft_status status, const struct weft_error *error);

/* Hand a job, of which @job says everything, to the loading thread. Under the lock. */
void cuda_add_job(struct engine_cuda *engine, const struct cuda_job *job);

/* load.c: the thread that loads; @engine is a struct engine_cuda. */
void *cuda_loader_main(void *engine);

/* record.c: the thread that records; the same. */
void *cuda_recorder_main(void *engine);

/* held.c; all under the lock. */

static inline struct cuda_graph **cuda_graph_at(
    struct engine_cuda *engine, const struct cuda_spot *spot)
{
    return &engine->models[spot->place].graphs[spot->package][spot->share];
}

/* @graph is from now on the one at @spot. There is room for it. */
void cuda_graphs_add(
    struct engine_cuda *engine, const struct cuda_spot *spot, struct cuda_graph *graph);

/* Whether one more can be made ahead: half of the room is for those that batches wait for. */
bool cuda_graphs_have_room(const struct engine_cuda *engine);

/*
 * Make room for one more: what is returned is no longer at its spot, and is to be closed and freed.
 * NULL if there is room, or if all are in use.
 */
struct cuda_graph *cuda_graphs_remove_oldest(struct engine_cuda *engine);

/* Those at @place, which is closed, are no longer held, nor wanted. They are the caller's. */
void cuda_graphs_forget(struct engine_cuda *engine, uint32_t place);

/* Note that batches want the graph at @spot; and look for graphs to make ahead from now on. */
void cuda_graphs_want(struct engine_cuda *engine, const struct cuda_spot *spot);
void cuda_graphs_look_ahead(struct engine_cuda *engine);

/* What runs now may take longer than it would alone. */
void cuda_batches_disturb(struct engine_cuda *engine);

/* Whether there is something to record: wanted; or ahead, which is for when nothing runs. */
static inline bool cuda_graphs_are_due(const struct engine_cuda *engine)
{
    return engine->want_count > 0 || (engine->ahead_left > 0 && engine->batches == NULL);
}

/* The units, as bits, of the worker of @place. */
uint32_t cuda_units_of(const struct engine_cuda *engine, uint32_t place);

/*
 * choose.c: give @batch a share for its next run, if one can be had now, with the graph of its
 * package; or without, if there is none and none is being made.
 */
void cuda_batch_take_share(struct engine_cuda *engine, struct cuda_batch *batch);

/* run.c: the thread that launches; the same. */
void *cuda_launcher_main(void *engine);

/* A batch of @given: its tasks that do not fit the model have failed already. */
struct cuda_batch *cuda_batch_create(struct engine_cuda *engine, const struct engine_batch *given);
void cuda_batch_destroy(struct engine_cuda *engine, struct cuda_batch *batch);

#endif /* CUDA_INSIDE_H */
