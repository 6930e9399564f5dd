/* engine.c - the engine for GPUs: operations of the host. */
#include "cuda/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "cuda/arena.h"
#include "cuda/versions.h"

enum { ARENA_PART = 8, BUDGET_PART = 8, GRAPHS_PART = 64 };

#define ARENA_BYTES_MAX (UINT64_C(8) << 30)

_Static_assert(CUDA_SHARES_MAX + 2 <= CUDA_OWNERS_MAX, "each share owns memory, and the trial");

static struct engine_cuda *cuda_from(struct engine *engine)
{
    return (struct engine_cuda *)engine; /* base is the first member. */
}

void cuda_lock(struct engine_cuda *engine)
{
    (void)pthread_mutex_lock(engine->options.lock);
}

void cuda_unlock(struct engine_cuda *engine)
{
    (void)pthread_mutex_unlock(engine->options.lock);
}

void cuda_mind(struct engine_cuda *engine, enum weft_status status, const struct weft_error *error)
{
    if (status == WEFT_LOST) {
        engine->options.lost(engine->base.host.context, error->message);
        abort();
    }
}

void cuda_add_job(struct engine_cuda *engine, const struct cuda_job *job)
{
    struct cuda_job *copy = memory_zeroed(1, sizeof(*copy));
    struct cuda_job **link = &engine->jobs;
    copy->kind = job->kind;
    copy->group = job->group;
    copy->versions = job->versions;
    copy->is_revision = job->kind == JOB_REVISE;
    copy->worker = job->worker;
    copy->gpu = job->gpu;
    copy->socket = job->socket;
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = copy;
    (void)pthread_cond_broadcast(&engine->changed);
}

static void cuda_load(struct engine *base, uint32_t worker, uint32_t model)
{
    struct engine_cuda *engine = cuda_from(base);
    const uint32_t group = cuda_group_of(engine, worker, model);
    ASSERT(group < cuda_group_count(engine) && model < engine->options.artifacts->count);
    cuda_add_job(
        engine, &(struct cuda_job){
                    .kind = JOB_LOAD,
                    .group = group,
                    .versions = engine->options.artifacts->items[model].versions});
}

/* Whether a load of @group was in the list @job: it is passed over when its turn comes. */
static bool cancel_in(struct cuda_job *job, uint32_t group)
{
    for (; job != NULL; job = job->next) {
        if ((job->kind == JOB_LOAD || job->kind == JOB_TRY || job->kind == JOB_TRIED) &&
            !job->is_revision && job->group == group && !atomic_load(&job->is_cancelled)) {
            atomic_store(&job->is_cancelled, true);
            return true;
        }
    }
    return false;
}

static void cuda_cancel_load(struct engine *base, uint32_t worker, uint32_t model)
{
    struct engine_cuda *engine = cuda_from(base);
    const uint32_t group = cuda_group_of(engine, worker, model);
    if (cancel_in(engine->jobs, group) || cancel_in(engine->trials, group)) {
        return;
    }
    ASSERT(engine->job != NULL && engine->job->group == group && !engine->job->is_revision);
    ASSERT(engine->job->kind == JOB_LOAD || engine->job->kind == JOB_TRIED);
    atomic_store(&engine->job->is_cancelled, true);
}

static void cuda_unload(struct engine *base, uint32_t worker, uint32_t model)
{
    struct engine_cuda *engine = cuda_from(base);
    const uint32_t group = cuda_group_of(engine, worker, model);
    cuda_add_job(engine, &(struct cuda_job){.kind = JOB_UNLOAD, .group = group});
}

static void cuda_reshape(struct engine *base, uint32_t worker, uint32_t gpu)
{
    cuda_add_job(
        cuda_from(base), &(struct cuda_job){.kind = JOB_SHAPE, .worker = worker, .gpu = gpu});
}

static enum weft_status cuda_launch(struct engine *base, const struct engine_batch *given)
{
    struct engine_cuda *engine = cuda_from(base);
    struct cuda_batch **link = &engine->batches;
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = cuda_batch_create(engine, given);
    return WEFT_OK;
}

static void cuda_cancel(struct engine *base, uint64_t number)
{
    struct engine_cuda *engine = cuda_from(base);
    for (struct cuda_batch *batch = engine->batches; batch != NULL; batch = batch->next) {
        if (batch->number == number && !batch->is_cancelled) {
            batch->is_cancelled = true; /* The launching thread sees it. */
            return;
        }
    }
    ASSERT(false);
}

/* Let all threads end. */
static void stop(struct engine_cuda *engine)
{
    cuda_lock(engine);
    engine->ends = true;
    (void)pthread_cond_broadcast(&engine->changed);
    (void)pthread_cond_broadcast(&engine->records);
    cuda_unlock(engine);
}

static void free_jobs(struct cuda_job *job)
{
    while (job != NULL) {
        struct cuda_job *next = job->next;
        free(job);
        job = next;
    }
}

static void cuda_destroy(struct engine *base)
{
    struct engine_cuda *engine = cuda_from(base);
    stop(engine);
    (void)pthread_join(engine->launcher, NULL);
    (void)pthread_join(engine->loader, NULL);
    (void)pthread_join(engine->recorder, NULL);
    while (engine->batches != NULL) {
        struct cuda_batch *batch = engine->batches;
        engine->batches = batch->next;
        if (batch->state == BATCH_RUNS) {
            const struct cuda_model *model = &engine->models[batch->place];
            (void)engine->driver.stream_wait(
                model->graphs[batch->package][batch->share->number]->stream);
        }
        cuda_batch_destroy(engine, batch);
    }
    free_jobs(engine->jobs);
    free_jobs(engine->trials);
    cuda_versions_close_all(engine);
    free(engine->taken);
    cuda_blocks_close(&engine->blocks);
    free(engine->ahead.sizes);
    cuda_keeper_close(&engine->keeper);
    cuda_pins_close(&engine->pins);
    cuda_shares_close(&engine->shares);
    cuda_arena_stop();
    (void)engine->driver.memory_give(engine->arena);
    (void)engine->driver.stream_destroy(engine->copies);
    (void)engine->driver.stream_destroy(engine->trial.stream);
    cuda_device_close(&engine->device);
    (void)pthread_cond_destroy(&engine->changed);
    (void)pthread_cond_destroy(&engine->records);
    free(engine);
}

static const struct engine_ops cuda_ops = {
    .name = "cuda",
    .load = cuda_load,
    .cancel_load = cuda_cancel_load,
    .unload = cuda_unload,
    .reshape = cuda_reshape,
    .launch = cuda_launch,
    .cancel = cuda_cancel,
    .revise = cuda_revise,
    .destroy = cuda_destroy,
};

void engine_cuda_set_keeper(struct engine *base, int socket)
{
    cuda_add_job(cuda_from(base), &(struct cuda_job){.kind = JOB_KEEPER, .socket = socket});
}

void engine_cuda_set_tried(struct engine *base, uint32_t worker, uint32_t model)
{
    struct engine_cuda *engine = cuda_from(base);
    engine->groups[cuda_group_of(engine, worker, model)].was_tried = true;
}

void engine_cuda_warm(const char *torch)
{
    struct cuda_torch opened;
    struct weft_error error;
    (void)cuda_torch_open(torch, &opened, &error); /* Each process does so again, and may say. */
}

uint64_t engine_cuda_arena_bytes(uint64_t memory_bytes)
{
    const uint64_t part = memory_bytes / ARENA_PART;
    return part < ARENA_BYTES_MAX ? part : ARENA_BYTES_MAX;
}

/* Everything on the device but models. */
static enum weft_status open_device(struct engine_cuda *engine, struct weft_error *error)
{
    const struct cuda_driver *driver = &engine->driver;
    const uint64_t bytes = engine->options.arena_bytes == 0
                               ? engine_cuda_arena_bytes(engine->device.memory_bytes)
                               : engine->options.arena_bytes;
    enum weft_status status = cuda_shares_open(&engine->device, &engine->shares, error);
    if (status != WEFT_OK) {
        return status;
    }
    engine->shares.are_streams = engine->options.are_streams;
    engine->blocks.device = &engine->device;
    engine->graph_bytes_max = engine->device.memory_bytes / GRAPHS_PART;
    const uint64_t budget =
        engine->options.budget_bytes == 0 ? bytes / BUDGET_PART : engine->options.budget_bytes;
    int result = driver->stream_create(&engine->copies, CUDA_STREAM_APART);
    if (result == CUDA_SUCCESS) {
        result = driver->stream_create(&engine->trial.stream, CUDA_STREAM_APART);
    }
    if (result == CUDA_SUCCESS) {
        result = driver->memory_take(&engine->arena, bytes);
    }
    if (result == CUDA_SUCCESS) {
        engine->trial.number = CUDA_TRIAL;
        cuda_arena_start(engine->arena, bytes, budget);
    }
    return cuda_check(driver, result, "memory for runs", error);
}

static enum weft_status start_threads(struct engine_cuda *engine, struct weft_error *error)
{
    if (pthread_create(&engine->loader, NULL, cuda_loader_main, engine) != 0) {
        return error_set(error, WEFT_IO, "no thread to load models");
    }
    if (pthread_create(&engine->recorder, NULL, cuda_recorder_main, engine) != 0) {
        stop(engine);
        (void)pthread_join(engine->loader, NULL);
        return error_set(error, WEFT_IO, "no thread to record graphs");
    }
    if (pthread_create(&engine->launcher, NULL, cuda_launcher_main, engine) != 0) {
        stop(engine);
        (void)pthread_join(engine->loader, NULL);
        (void)pthread_join(engine->recorder, NULL);
        return error_set(error, WEFT_IO, "no thread to launch batches");
    }
    return WEFT_OK;
}

static void init_conditions(struct engine_cuda *engine)
{
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&engine->changed, &monotonic);
    (void)pthread_cond_init(&engine->records, NULL);
    (void)pthread_condattr_destroy(&monotonic);
}

enum weft_status engine_cuda_create(
    const struct engine_cuda_options *options, struct engine **engine_out, struct weft_error *error)
{
    struct engine_cuda *engine = memory_zeroed(1, sizeof(*engine));
    engine->base = (struct engine){.ops = &cuda_ops, .host = options->host};
    engine->options = *options;
    engine->options.worker_count = options->worker_count == 0 ? 1 : options->worker_count;
    engine->models = memory_zeroed(cuda_place_count(engine) + 1, sizeof(*engine->models));
    engine->groups = memory_zeroed(cuda_group_count(engine) + 1, sizeof(*engine->groups));
    engine->taken = memory_zeroed(BUNDLE_TENSORS_MAX, sizeof(*engine->taken));
    engine->options.graphs_max = options->graphs_max == 0 || options->graphs_max > CUDA_GRAPHS_MAX
                                     ? CUDA_GRAPHS_MAX
                                     : options->graphs_max;
    init_conditions(engine);
    cuda_keeper_open(&engine->keeper, options->keeper);
    enum weft_status status = cuda_torch_open(options->torch, &engine->torch, error);
    if (status == WEFT_OK) {
        status = cuda_driver_open(options->driver, &engine->driver, error);
    }
    if (status == WEFT_OK) {
        status = cuda_choose(options->gpu, options->are_streams ? 0 : CUDA_UNITS_MAX, error);
    }
    if (status == WEFT_OK) {
        status = cuda_device_open(&engine->driver, &engine->device, error);
    }
    if (status == WEFT_OK) {
        status = open_device(engine, error);
    }
    if (status == WEFT_OK) {
        cuda_pins_open(&engine->pins, &engine->driver, options->lender);
        status = start_threads(engine, error);
    }
    if (status != WEFT_OK) { /* The process that wanted it ends, and the device is free then. */
        cuda_keeper_close(&engine->keeper);
        free(engine->models);
        free(engine->groups);
        free(engine->taken);
        free(engine);
        return status;
    }
    *engine_out = &engine->base;
    return WEFT_OK;
}
