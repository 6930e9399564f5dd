/*
 * device.c - what a worker does, by the profile: loads over one bus, batches side by
 * side as far as their shares allow. It keeps its own books of memory and shares and
 * stops at the first effect that would not fit a real device.
 */
#include "base/exact.h"
#include "base/memory.h"
#include "model/items.h"
#include "sim/inside.h"

#include <stdlib.h>
#include <string.h>

static uint32_t node_of(const struct sim *sim, uint32_t worker)
{
    return sim->options.fleet->workers[worker].node;
}

static void occupy(struct sim *sim, uint32_t worker, uint64_t bytes)
{
    sim->workers[worker].memory_bytes += bytes;
    ASSERT(sim->workers[worker].memory_bytes <= sim->options.fleet->workers[worker].memory_bytes);
}

static void vacate(struct sim *sim, uint32_t worker, uint64_t bytes)
{
    ASSERT(sim->workers[worker].memory_bytes >= bytes);
    sim->workers[worker].memory_bytes -= bytes;
}

static uint64_t payload_for(
    const struct sim *sim, enum happening kind, uint32_t worker, uint32_t large)
{
    return payload_of(kind, sim->nodes[node_of(sim, worker)].incarnation, worker, large);
}

void device_load(struct sim *sim, uint32_t worker, uint32_t model)
{
    struct sim_worker *device = &sim->workers[worker];
    const int64_t load_ns =
        profile_load_ns(sim->options.profile, model, &sim->options.fleet->workers[worker]);
    const int64_t start_ns = device->bus_free_ns > sim->now_ns ? device->bus_free_ns : sim->now_ns;
    device->bus_free_ns = start_ns + load_ns;
    device->loads = (device->loads + 1) & 0xffffff;
    occupy(sim, worker, sim->options.profile->models[model].resident_bytes);
    happen(
        sim, device->bus_free_ns,
        payload_for(sim, HAPPENS_LOADED, worker, device->loads << 8 | model));
}

void device_cancel_load(struct sim *sim, uint32_t worker, uint32_t model)
{
    struct sim_worker *device = &sim->workers[worker];
    device->loads = (device->loads + 1) & 0xffffff; /* The one on its way is not this one. */
    device->bus_free_ns = sim->now_ns;
    vacate(sim, worker, sim->options.profile->models[model].resident_bytes);
}

void device_loaded(struct sim *sim, uint32_t worker, uint32_t model, uint32_t load)
{
    if (load != sim->workers[worker].loads) {
        return; /* Cancelled. */
    }
    struct event event = {.kind = EVENT_LOAD_DONE};
    event.load.worker = worker;
    event.load.model = model;
    event.load.status = WEFT_OK;
    event.load.bytes = 0;
    sim_step(sim, node_of(sim, worker), &event);
}

void device_unload(struct sim *sim, uint32_t worker, uint32_t model)
{
    happen(sim, sim->now_ns, payload_for(sim, HAPPENS_UNLOADED, worker, model));
}

void device_unloaded(struct sim *sim, uint32_t worker, uint32_t model)
{
    vacate(sim, worker, sim->options.profile->models[model].resident_bytes);
    struct event event = {.kind = EVENT_UNLOAD_DONE};
    event.load.worker = worker;
    event.load.model = model;
    event.load.status = WEFT_OK;
    sim_step(sim, node_of(sim, worker), &event);
}

void device_reshape(struct sim *sim, uint32_t worker, uint32_t gpu)
{
    const int64_t at_ns = sim->now_ns + sim->options.fleet->workers[worker].reshape_ns;
    happen(sim, at_ns, payload_for(sim, HAPPENS_SHAPED, worker, gpu));
}

/* The run time of this batch: the profile's, with its spread and the scenario's noise. */
static int64_t draw_run_ns(struct sim *sim, uint32_t worker, const struct estimate *estimate)
{
    double run_ns = (double)estimate->run_ns;
    if (estimate->sd_ns > 0) {
        const double normal = exact_normal(&sim->workers[worker].rng);
        const double spread = run_ns + normal * (double)estimate->sd_ns;
        run_ns = spread > run_ns / 10 ? spread : run_ns / 10; /* Nothing runs in no time. */
    }
    if (sim->options.noise > 0) {
        const double unit = rng_unit(&sim->workers[worker].rng);
        run_ns *= 1 + (2 * unit - 1) * sim->options.noise;
    }
    return (int64_t)run_ns;
}

static void remember_run(struct sim *sim, uint32_t batch, uint32_t run)
{
    if (batch >= sim->run_of_batch_count) {
        const uint32_t count = 2 * (batch + 1);
        uint32_t *larger = memory_zeroed(count, sizeof(*larger));
        if (sim->run_of_batch != NULL) {
            memcpy(larger, sim->run_of_batch, sim->run_of_batch_count * sizeof(*larger));
            free(sim->run_of_batch);
        }
        sim->run_of_batch = larger;
        sim->run_of_batch_count = count;
    }
    sim->run_of_batch[batch] = run;
}

void device_launch(struct sim *sim, uint32_t node, const struct effect_launch *launch)
{
    const struct workflow *workflow = sim->options.catalogue->workflows[launch->workflow];
    const uint32_t model = workflow->tasks[launch->task].run;
    const struct fleet_worker *spec = &sim->options.fleet->workers[launch->worker];
    struct sim_worker *device = &sim->workers[launch->worker];
    struct config shares = launch->config;
    shares.batch = launch->items;
    shares.gpu = shares.gpu == spec->gpu_units ? 0 : shares.gpu;
    const struct estimate estimate =
        profile_run(sim->options.profile, model, spec->device, launch->items, shares);

    (void)pool_reserve(&sim->runs, 1);
    const uint32_t slot = pool_take(&sim->runs);
    struct run *run = pool_at(&sim->runs, slot);
    *run = (struct run){
        .node = node,
        .batch = launch->batch,
        .worker = launch->worker,
        .incarnation = sim->nodes[node].incarnation,
        .workflow = launch->workflow,
        .task = launch->task,
        .task_count = launch->task_count,
        .gpu = launch->config.gpu,
        .run_ns = draw_run_ns(sim, launch->worker, &estimate),
        .workspace_bytes = profile_workspace_bytes(sim->options.profile, model, launch->items),
    };
    device->gpu_used += launch->config.gpu;
    ASSERT(device->gpu_used <= spec->gpu_units);
    occupy(sim, launch->worker, run->workspace_bytes);
    remember_run(sim, launch->batch, slot);
    happen(sim, sim->now_ns + run->run_ns, payload_of(HAPPENS_BATCH_DONE, 0, 0, slot));
}

static void end_run(struct sim *sim, const struct run *run)
{
    sim->workers[run->worker].gpu_used -= run->gpu;
    vacate(sim, run->worker, run->workspace_bytes);
}

void device_cancel(struct sim *sim, uint32_t batch)
{
    struct run *run = pool_at(&sim->runs, sim->run_of_batch[batch]);
    ASSERT(run->batch == batch);
    run->cancelled = true; /* Its happening finds nobody interested. */
    end_run(sim, run);
}

/* The outputs of the batch that has just ended, by each task's rule for items. */
static void make_outputs(struct sim *sim, const struct run *run, struct output *outputs)
{
    const struct workflow *workflow = sim->options.catalogue->workflows[run->workflow];
    const struct workflow_task *kind = &workflow->tasks[run->task];
    const struct node *node = sim->nodes[run->node].node;
    for (uint32_t i = 0; i < run->task_count; i++) {
        const struct batch_task task = node_batch_task(node, run->batch, i);
        const uint32_t items = items_given(kind, task.job, run->task, task.items);
        uint64_t bytes = 0;
        for (uint32_t e = 0; e < kind->out_count; e++) {
            bytes += workflow_edge_bytes(workflow_out(workflow, run->task, e), items);
        }
        sim->handle++;
        outputs[i] = (struct output){
            .tensor = {.id = sim->handle},
            .items = items,
            .bytes = bytes,
        };
    }
    sim->nodes[run->node].handles += run->task_count;
}

void device_done(struct sim *sim, uint32_t slot)
{
    const struct run run = *(struct run *)pool_at(&sim->runs, slot);
    pool_give(&sim->runs, slot);
    if (run.cancelled || sim->nodes[run.node].node == NULL ||
        sim->nodes[run.node].incarnation != run.incarnation) {
        return;
    }
    struct output outputs[BATCH_TASKS_MAX];
    end_run(sim, &run);
    make_outputs(sim, &run, outputs);
    struct event event = {.kind = EVENT_BATCH_DONE};
    event.batch = (struct event_batch_done){
        .batch = run.batch,
        .status = WEFT_OK,
        .run_ns = run.run_ns,
        .output_count = run.task_count,
        .outputs = outputs,
    };
    sim_step(sim, run.node, &event);
}

void device_lost(struct sim *sim, uint32_t node)
{
    const struct fleet_node *spec = &sim->options.fleet->nodes[node];
    for (uint32_t i = 0; i < spec->worker_count; i++) {
        struct sim_worker *device = &sim->workers[spec->worker_first + i];
        device->memory_bytes = 0;
        device->gpu_used = 0;
        device->bus_free_ns = 0;
        device->loads = (device->loads + 1) & 0xffffff;
    }
}
