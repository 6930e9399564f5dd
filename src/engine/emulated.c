/*
 * emulated.c - the profile's time on the host's clock: no device, no thread, no tensor.
 *
 * What is under way is an operation in a pool; its slot is the token that the host hands
 * back when its time has come. A cancelled operation stays until then, and ends silently.
 * Run times are drawn as in the simulator, in the same order from the same streams.
 */
#include <stdlib.h>

#include "base/assert.h"
#include "base/bitset.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/rng.h"
#include "engine/engine.h"
#include "model/catalogue.h"
#include "model/items.h"
#include "profile/draw.h"
#include "profile/fresh.h"

enum { OPERATIONS_FIRST = 64 };

struct operation {
    enum engine_done_kind kind;
    uint32_t worker;
    uint32_t subject; /* A model or units, by kind. */
    uint32_t next;    /* LOADED: of the same worker. */
    bool cancelled;
    int64_t ends_at_ns;
    int64_t run_ns;
    uint64_t batch; /* RAN, like all below. */
    uint32_t gpu;
    uint64_t workspace_bytes;
    uint32_t output_count;
    struct engine_output outputs[BATCH_TASKS_MAX];
};

struct device {
    uint32_t loads; /* List of those on the bus or waiting for it. */
    uint64_t memory_used_bytes;
    uint32_t gpu_used;
    struct model_set held; /* Models that take room: loading, resident or leaving. */
    struct model_set resident;
    struct model_set fresh; /* Of these: have not run yet. */
    struct rng rng;
};

struct engine_emulated {
    struct engine base;
    const struct fleet *fleet;
    const struct catalogue *catalogue;
    const struct profile *profile;
    double noise;
    struct device *devices;
    struct pool operations;
    struct map runs; /* By number of the batch. */
};

static struct engine_emulated *emulated_from(struct engine *engine)
{
    return (struct engine_emulated *)engine; /* base is the first member. */
}

static struct operation *operation_at(const struct engine_emulated *engine, uint32_t slot)
{
    return pool_at(&engine->operations, slot);
}

static int64_t now_ns(const struct engine_emulated *engine)
{
    return engine->base.host.now_ns(engine->base.host.context);
}

/* What is used of the memory of @worker, which others may share. */
static uint64_t *used_bytes(struct engine_emulated *engine, uint32_t worker)
{
    return &engine->devices[fleet_first_sharer(engine->fleet, worker)].memory_used_bytes;
}

static void occupy(struct engine_emulated *engine, uint32_t worker, uint64_t bytes)
{
    uint64_t *used = used_bytes(engine, worker);
    *used += bytes;
    ASSERT(*used <= engine->fleet->workers[worker].memory_bytes);
}

static void vacate(struct engine_emulated *engine, uint32_t worker, uint64_t bytes)
{
    uint64_t *used = used_bytes(engine, worker);
    ASSERT(*used >= bytes);
    *used -= bytes;
}

/* How many others with the memory of @worker hold @model, or @resident: can run it. */
static uint32_t count_others(
    const struct engine_emulated *engine, uint32_t worker, uint32_t model, bool resident)
{
    uint32_t count = 0;
    for (uint32_t i = fleet_next_sharer(engine->fleet, worker, WORKER_NONE); i != WORKER_NONE;
         i = fleet_next_sharer(engine->fleet, worker, i)) {
        const struct device *device = &engine->devices[i];
        count += model_set_has(resident ? &device->resident : &device->held, model) ? 1 : 0;
    }
    return count;
}

/* @model is gone from @worker: its room is free unless others hold it there. */
static void let_go(struct engine_emulated *engine, uint32_t worker, uint32_t model)
{
    model_set_remove(&engine->devices[worker].held, model);
    if (count_others(engine, worker, model, /* resident */ false) == 0) {
        vacate(engine, worker, engine->profile->models[model].resident_bytes);
    }
}

/* A new operation of @worker that ends at @ends_at_ns; the caller fills in the rest at once. */
static uint32_t begin(
    struct engine_emulated *engine, enum engine_done_kind kind, uint32_t worker, uint32_t subject,
    int64_t ends_at_ns)
{
    ASSERT(worker < engine->fleet->worker_count);
    (void)pool_reserve(&engine->operations, 1);
    const uint32_t slot = pool_take(&engine->operations);
    ASSERT(slot != POOL_NONE);
    struct operation *operation = operation_at(engine, slot);
    operation->kind = kind;
    operation->worker = worker;
    operation->subject = subject;
    operation->ends_at_ns = ends_at_ns;
    engine->base.host.wake_at(engine->base.host.context, ends_at_ns, slot);
    return slot;
}

/* Take the load of @model, which there must be, off the list of @worker. */
static struct operation *unlink_load(
    struct engine_emulated *engine, uint32_t worker, uint32_t model)
{
    uint32_t *link = &engine->devices[worker].loads;
    while (operation_at(engine, *link)->subject != model) {
        link = &operation_at(engine, *link)->next;
    }
    struct operation *load = operation_at(engine, *link);
    *link = load->next;
    return load;
}

/* When the bus of @worker has carried all that was asked of it. */
static int64_t bus_free_ns(const struct engine_emulated *engine, uint32_t worker)
{
    int64_t free_ns = now_ns(engine);
    uint32_t slot = engine->devices[worker].loads;
    while (slot != POOL_NONE) {
        const struct operation *load = operation_at(engine, slot);
        free_ns = load->ends_at_ns > free_ns ? load->ends_at_ns : free_ns;
        slot = load->next;
    }
    return free_ns;
}

static void emulated_load(struct engine *base, uint32_t worker, uint32_t model)
{
    struct engine_emulated *engine = emulated_from(base);
    const struct fleet_worker *spec = &engine->fleet->workers[worker];
    const int64_t load_ns = count_others(engine, worker, model, /* resident */ true) > 0
                                ? profile_follow_ns(engine->profile, model, spec)
                                : profile_load_ns(engine->profile, model, spec);
    ASSERT(!model_set_has(&engine->devices[worker].held, model));
    model_set_add(&engine->devices[worker].held, model);
    if (count_others(engine, worker, model, /* resident */ false) == 0) {
        occupy(engine, worker, engine->profile->models[model].resident_bytes);
    }
    const int64_t ends_at_ns = bus_free_ns(engine, worker) + load_ns;
    const uint32_t slot = begin(engine, ENGINE_LOADED, worker, model, ends_at_ns);
    operation_at(engine, slot)->next = engine->devices[worker].loads;
    engine->devices[worker].loads = slot;
}

static void emulated_cancel_load(struct engine *base, uint32_t worker, uint32_t model)
{
    struct engine_emulated *engine = emulated_from(base);
    unlink_load(engine, worker, model)->cancelled = true;
    let_go(engine, worker, model);
}

static void emulated_unload(struct engine *base, uint32_t worker, uint32_t model)
{
    struct engine_emulated *engine = emulated_from(base);
    ASSERT(model_set_has(&engine->devices[worker].resident, model));
    model_set_remove(&engine->devices[worker].resident, model);
    (void)begin(engine, ENGINE_UNLOADED, worker, model, now_ns(engine));
}

static void emulated_reshape(struct engine *base, uint32_t worker, uint32_t gpu)
{
    struct engine_emulated *engine = emulated_from(base);
    const int64_t reshape_ns = engine->fleet->workers[worker].reshape_ns;
    (void)begin(engine, ENGINE_SHAPED, worker, gpu, now_ns(engine) + reshape_ns);
}

/* The run time of this batch: drawn from the profile, with the noise asked for. */
static int64_t draw_run_ns(
    const struct engine_emulated *engine, uint32_t worker, const struct estimate *estimate)
{
    return (int64_t)profile_draw_ns(estimate, engine->noise, &engine->devices[worker].rng);
}

static void make_outputs(
    const struct engine_emulated *engine, const struct engine_batch *batch,
    struct operation *operation)
{
    const struct workflow *workflow = engine->catalogue->workflows[batch->workflow];
    operation->output_count = batch->task_count;
    for (uint32_t i = 0; i < batch->task_count; i++) {
        const struct engine_task *task = &batch->tasks[i];
        const uint32_t items =
            items_given(&workflow->tasks[batch->task], task->job, batch->task, task->items);
        operation->outputs[i] = (struct engine_output){
            .items = items,
            .bytes = items_output_bytes(workflow, batch->task, items),
        };
    }
}

static enum weft_status emulated_launch(struct engine *base, const struct engine_batch *batch)
{
    struct engine_emulated *engine = emulated_from(base);
    struct device *device = &engine->devices[batch->worker];
    const struct fleet_worker *spec = &engine->fleet->workers[batch->worker];
    const struct workflow_task *kind =
        &engine->catalogue->workflows[batch->workflow]->tasks[batch->task];
    for (uint32_t i = 0; i < kind->model_count; i++) {
        ASSERT(model_set_has(&device->resident, kind->models[i]));
    }
    struct config shares = batch->config;
    shares.batch = batch->items;
    shares.gpu = shares.gpu == spec->gpu_units ? 0 : shares.gpu;
    const struct estimate estimate =
        profile_run(engine->profile, kind->run, spec->device, batch->items, shares);
    const int64_t run_ns = draw_run_ns(engine, batch->worker, &estimate) +
                           fresh_take_ns(&device->fresh, engine->profile, kind, spec->device);

    const uint32_t slot =
        begin(engine, ENGINE_RAN, batch->worker, /* subject */ 0, now_ns(engine) + run_ns);
    (void)map_reserve(&engine->runs, 1);
    map_put(&engine->runs, batch->batch, slot);
    struct operation *operation = operation_at(engine, slot);
    operation->run_ns = run_ns;
    operation->batch = batch->batch;
    operation->gpu = batch->config.gpu;
    operation->workspace_bytes = profile_workspace_bytes(engine->profile, kind->run, batch->items);
    make_outputs(engine, batch, operation);
    occupy(engine, batch->worker, operation->workspace_bytes);
    device->gpu_used += batch->config.gpu;
    ASSERT(device->gpu_used <= spec->gpu_units);
    return WEFT_OK;
}

static void end_run(struct engine_emulated *engine, const struct operation *operation)
{
    const bool was_running = map_remove(&engine->runs, operation->batch);
    ASSERT(was_running);
    engine->devices[operation->worker].gpu_used -= operation->gpu;
    vacate(engine, operation->worker, operation->workspace_bytes);
}

static void emulated_cancel(struct engine *base, uint64_t batch)
{
    struct engine_emulated *engine = emulated_from(base);
    const uint32_t slot = map_get(&engine->runs, batch);
    ASSERT(slot != MAP_NONE);
    operation_at(engine, slot)->cancelled = true;
    end_run(engine, operation_at(engine, slot));
}

/* Keep the books of @operation, which has ended, and say so in @done. */
static void end_operation(
    struct engine_emulated *engine, const struct operation *operation, struct engine_done *done)
{
    struct device *device = &engine->devices[operation->worker];
    switch (operation->kind) {
    case ENGINE_LOADED:
        (void)unlink_load(engine, operation->worker, operation->subject);
        model_set_add(&device->resident, operation->subject);
        model_set_add(&device->fresh, operation->subject);
        done->model = operation->subject;
        return;
    case ENGINE_UNLOADED:
        let_go(engine, operation->worker, operation->subject);
        done->model = operation->subject;
        return;
    case ENGINE_SHAPED:
        done->gpu = operation->subject;
        return;
    case ENGINE_RAN:
        end_run(engine, operation);
        done->batch = operation->batch;
        done->run_ns = operation->run_ns;
        done->output_count = operation->output_count;
        done->outputs = operation->outputs;
        return;
    case ENGINE_REVISED:
        break;
    }
    ASSERT(false);
}

static void emulated_wake(struct engine *base, uint64_t token)
{
    struct engine_emulated *engine = emulated_from(base);
    const uint32_t slot = (uint32_t)token;
    /* A copy: the host may ask for more when it hears of it, which moves the pool. */
    const struct operation operation = *operation_at(engine, slot);
    struct engine_done done = {
        .kind = operation.kind,
        .status = WEFT_OK,
        .worker = operation.worker,
    };
    if (!operation.cancelled) {
        end_operation(engine, &operation, &done);
    }
    pool_give(&engine->operations, slot);
    if (!operation.cancelled) {
        base->host.done(base->host.context, &done);
    }
}

static void emulated_destroy(struct engine *base)
{
    struct engine_emulated *engine = emulated_from(base);
    pool_deinit(&engine->operations);
    map_deinit(&engine->runs);
    free(engine->devices);
    free(engine);
}

static const struct engine_ops emulated_ops = {
    .name = "emulated",
    .load = emulated_load,
    .cancel_load = emulated_cancel_load,
    .unload = emulated_unload,
    .reshape = emulated_reshape,
    .launch = emulated_launch,
    .cancel = emulated_cancel,
    .wake = emulated_wake,
    .destroy = emulated_destroy,
};

struct engine *engine_emulated_create(const struct engine_emulated_options *options)
{
    const struct fleet *fleet = options->fleet;
    ASSERT(options->host.done != NULL && options->host.now_ns != NULL);
    ASSERT(options->host.wake_at != NULL);
    ASSERT(options->noise >= 0 && options->noise <= 1);

    struct engine_emulated *engine = memory_zeroed(1, sizeof(*engine));
    engine->base.ops = &emulated_ops;
    engine->base.host = options->host;
    engine->fleet = fleet;
    engine->catalogue = options->catalogue;
    engine->profile = options->profile;
    engine->noise = options->noise;
    engine->devices = memory_zeroed(fleet->worker_count, sizeof(*engine->devices));
    pool_init(&engine->operations, sizeof(struct operation), OPERATIONS_FIRST, UINT32_MAX - 1);
    map_init(&engine->runs, OPERATIONS_FIRST);
    for (uint32_t worker = 0; worker < fleet->worker_count; worker++) {
        engine->devices[worker].loads = POOL_NONE;
        engine->devices[worker].rng = rng_stream(options->seed, RNG_SERVICE, worker);
    }
    return &engine->base;
}
