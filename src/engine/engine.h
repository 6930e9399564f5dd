/*
 * engine.h - running models on the workers of one process: the port to the devices.
 *
 * An engine is one of several back ends behind a table. Every operation is called on the
 * thread of its host, returns at once, and ends in one call of engine_host.done on that
 * same thread, never from inside another operation than look(); what is cancelled ends in
 * none. An engine with threads of its own hands their results over through the host's loop.
 *
 *     engine_load(engine, worker, model);       done: ENGINE_LOADED
 *     engine_launch(engine, &batch);            done: ENGINE_RAN, with the outputs
 *     engine_unload(engine, worker, model);     done: ENGINE_UNLOADED
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/status.h>

#include "model/ids.h"
#include "profile/profile.h"

struct artifact_versions;
struct catalogue;
struct engine;

enum engine_done_kind { ENGINE_LOADED, ENGINE_UNLOADED, ENGINE_SHAPED, ENGINE_RAN, ENGINE_REVISED };

/* What one task of a batch made. */
struct engine_output {
    void *contents; /* A bundle, passed to the host; NULL if the engine only pretends. */
    uint64_t bytes;
    uint32_t items;
    enum weft_status status; /* Of this task alone; unless it is WEFT_OK nothing was made. */
    const char *message;     /* If it failed: why, for a person. NULL: nothing to add. */
};

enum { ENGINE_USAGES_MAX = 8 };

/* What a batch was measured to need of a model: the most that one run took beside the model. */
struct engine_usage {
    uint32_t model;
    uint32_t items; /* Of that run. */
    uint64_t bytes;
};

/* Something that was asked for has ended. */
struct engine_done {
    enum engine_done_kind kind;
    enum weft_status status;
    const char *message; /* If it failed: why, for a person. NULL: nothing to add. */
    uint32_t worker;
    uint32_t model;     /* LOADED, UNLOADED, REVISED. */
    uint64_t bytes;     /* LOADED: what it occupies now; 0: as the profile says. */
    uint64_t own_bytes; /* LOADED: of these, what another worker on the same memory has again. */
    uint32_t gpu;       /* SHAPED: units. */
    uint64_t batch;     /* RAN: as in the launch. */
    int64_t run_ns;
    bool is_disturbed;                   /* RAN: something else may have made it slower. */
    uint32_t output_count;               /* RAN: one per task, in the order of the launch. */
    const struct engine_output *outputs; /* Valid during the call. */
    uint32_t usage_count;                /* RAN: of the models that the engine can measure. */
    const struct engine_usage *usages;   /* The same. */
};

/* An input of a task. */
struct engine_input {
    const void *contents; /* A bundle; NULL if it was never made, only pretended. */
    uint64_t bytes;
};

struct engine_task {
    struct job_id job;
    uint32_t items;
    uint32_t input_count;
    const struct engine_input *inputs;
};

/* A batch: tasks of one kind that run together. */
struct engine_batch {
    uint64_t batch; /* The host's number, unique while the batch runs. */
    uint32_t worker;
    uint32_t workflow;
    uint32_t task;
    struct config config; /* Shares in units: a whole device is all of its units. */
    uint32_t items;       /* Of all tasks. */
    uint32_t task_count;
    const struct engine_task *tasks;
};

/* Workers from @first to before @end. */
struct engine_workers {
    uint32_t first;
    uint32_t end;
};

/* What an engine asks of its host. All are called on the host's thread, with @context. */
struct engine_host {
    void *context;

    /* Required. */
    void (*done)(void *context, const struct engine_done *done);

    /*
     * Batch number @batch, which was cancelled, is really over: nothing of it runs any more.
     * Optional: for hosts that replace an engine which does not stop.
     */
    void (*stopped)(void *context, uint64_t batch);

    /* The host's clock. Required by engines that take their time from it. */
    int64_t (*now_ns)(void *context);

    /*
     * Call engine_wake(engine, token) once, at @at_ns, after whatever was asked for earlier
     * and is due at the same time. The same.
     */
    void (*wake_at)(void *context, int64_t at_ns, uint64_t token);

    /* The workers that are in this process. All zero: every worker of the fleet. */
    struct engine_workers workers;
};

/* Processes that an engine has started for its work, ever, and those that ended before it was done.
 */
struct engine_counts {
    uint64_t function_starts;
    uint64_t function_crashes; /* Those that were too slow, or made no sense, included. */
    uint64_t engine_starts;    /* Processes that run models. */
    uint64_t engine_crashes;
};

struct engine_ops {
    const char *name;

    /*
     * Bring @model into the memory of @worker. The host has made sure of the room. Required.
     * Errors, in done: whatever kept the model from being loaded; it occupies nothing then.
     */
    void (*load)(struct engine *engine, uint32_t worker, uint32_t model);

    /* Stop loading @model, and give the memory back. No done follows. Required. */
    void (*cancel_load)(struct engine *engine, uint32_t worker, uint32_t model);

    /* Give back the memory of @model, which no batch uses. Cannot fail. Required. */
    void (*unload)(struct engine *engine, uint32_t worker, uint32_t model);

    /* Make a share of @gpu units ready. Cannot fail. Required. */
    void (*reshape)(struct engine *engine, uint32_t worker, uint32_t gpu);

    /*
     * Run @batch, whose models are resident. Inputs are borrowed until done, or until
     * cancel() returns; the rest of @batch only for the call. Required. Errors, in done:
     * whatever stopped the batch, or all of its tasks; there are no outputs then. What
     * stopped some of its tasks is in their outputs. Errors, at once: WEFT_NO_MEMORY; the batch
     * was not taken then, and no done follows.
     */
    enum weft_status (*launch)(struct engine *engine, const struct engine_batch *batch);

    /* Give up batch number @batch. No done follows. Required. */
    void (*cancel)(struct engine *engine, uint64_t batch);

    /*
     * @versions are those of @model that loads will bring from now on: bring in what is new, where
     * the model is, beside what runs, and try it; let go of what is in it no longer, which no job
     * names. One done follows, of all workers; one at a time. False, and none follows, if loads do
     * all of this; optional: engines of which that is so have none. Errors, in done: what keeps a
     * version from being run; the others go on.
     */
    bool (*revise)(struct engine *engine, uint32_t model, const struct artifact_versions *versions);

    /*
     * The host is about to wait in its loop. What is known to have ended already is told now, as
     * it would be from there. False if nothing is. Optional: engines that only learn of it in the
     * loop have none.
     */
    bool (*look)(struct engine *engine);

    /* A time asked for with wake_at() has come. Optional: engines that never ask have none. */
    void (*wake)(struct engine *engine, uint64_t token);

    /* Fill in what it has counted. Optional: engines without processes have none. */
    void (*count)(const struct engine *engine, struct engine_counts *counts_out);

    /*
     * Stop the devices and release the engine. No done follows. Handles in the host's loop
     * are closed here; the loop runs once more for what that calls. Required.
     */
    void (*destroy)(struct engine *engine);
};

/* Embedded first in every implementation. */
struct engine {
    const struct engine_ops *ops;
    struct engine_host host;
};

void engine_load(struct engine *engine, uint32_t worker, uint32_t model);
void engine_cancel_load(struct engine *engine, uint32_t worker, uint32_t model);
void engine_unload(struct engine *engine, uint32_t worker, uint32_t model);
void engine_reshape(struct engine *engine, uint32_t worker, uint32_t gpu);
enum weft_status engine_launch(struct engine *engine, const struct engine_batch *batch);
void engine_cancel(struct engine *engine, uint64_t batch);
bool engine_look(struct engine *engine);
void engine_wake(struct engine *engine, uint64_t token);
bool engine_revise(struct engine *engine, uint32_t model, const struct artifact_versions *versions);

/* All zero if it counts nothing. */
void engine_get_counts(const struct engine *engine, struct engine_counts *counts_out);

/* NULL is allowed. */
void engine_destroy(struct engine *engine);

/* The workers of @fleet that an engine on @host has to do with. */
struct engine_workers engine_workers_of(const struct engine_host *host, const struct fleet *fleet);

/*
 * Copy @batch with its tasks and inputs, whose contents are shared: for engines that keep it until
 * it has run. False, and nothing is copied, if there is no memory for it.
 */
bool engine_batch_copy(const struct engine_batch *batch, struct engine_batch *copy_out);

/* Release what engine_batch_copy() made. All zero is allowed. */
void engine_batch_release(struct engine_batch *copy);

struct engine_emulated_options {
    const struct fleet *fleet; /* Borrowed, like the next two. */
    const struct catalogue *catalogue;
    const struct profile *profile;
    uint64_t seed;
    double noise; /* Run times vary uniformly by this fraction up and down. */
    struct engine_host host;
};

/*
 * Pretends to run models on the workers of its host, in the profile's time on the
 * host's clock. Loads share one bus a device, one after another; memory is counted, and
 * what does not fit stops the program: the host is wrong then. The caller owns it.
 */
struct engine *engine_emulated_create(const struct engine_emulated_options *options);

#endif /* ENGINE_ENGINE_H */
