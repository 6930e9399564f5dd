/*
 * device.c - what a worker does, by the profile: loads and inputs over one bus, batches
 * side by side as far as their shares allow. It keeps its own books of memory and shares
 * and stops at the first effect that would not fit a real device.
 */
#include "base/hash.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "model/items.h"
#include "model/sharing.h"
#include "model/slowing.h"
#include "profile/draw.h"
#include "profile/fresh.h"
#include "sim/editions.h"
#include "sim/inside.h"

static uint32_t node_of(const struct sim *sim, uint32_t worker)
{
    return sim->options.fleet->workers[worker].node;
}

/* The worker that keeps the books of the memory of @worker. */
static struct sim_worker *memory_of(struct sim *sim, uint32_t worker)
{
    return &sim->workers[fleet_first_sharer(sim->options.fleet, worker)];
}

static void occupy(struct sim *sim, uint32_t worker, uint64_t bytes)
{
    struct sim_worker *memory = memory_of(sim, worker);
    memory->memory_bytes += bytes;
    ASSERT(memory->memory_bytes <= sim->options.fleet->workers[worker].memory_bytes);
}

static void vacate(struct sim *sim, uint32_t worker, uint64_t bytes)
{
    struct sim_worker *memory = memory_of(sim, worker);
    ASSERT(memory->memory_bytes >= bytes);
    memory->memory_bytes -= bytes;
}

/* Whether another worker with the memory of @worker has @model: at all, or so that it could run. */
static bool is_shared(const struct sim *sim, uint32_t worker, uint32_t model, bool ready)
{
    const struct fleet *fleet = sim->options.fleet;
    bool is_found = false;
    for (uint32_t other = fleet_next_sharer(fleet, worker, WORKER_NONE); other != WORKER_NONE;
         other = fleet_next_sharer(fleet, worker, other)) {
        const struct sim_worker *device = &sim->workers[other];
        is_found = is_found || model_set_has(ready ? &device->ready : &device->held, model);
    }
    return is_found;
}

/* @model is to come to @worker. The first of those that share the memory takes the room for all. */
static void hold(struct sim *sim, uint32_t worker, uint32_t model)
{
    ASSERT(!model_set_has(&sim->workers[worker].held, model));
    model_set_add(&sim->workers[worker].held, model);
    if (!is_shared(sim, worker, model, /* ready */ false)) {
        occupy(sim, worker, sim->options.profile->models[model].resident_bytes);
    }
}

/* It is gone from there, or does not come. */
static void let_go(struct sim *sim, uint32_t worker, uint32_t model)
{
    ASSERT(model_set_has(&sim->workers[worker].held, model));
    model_set_remove(&sim->workers[worker].held, model);
    if (!is_shared(sim, worker, model, /* ready */ false)) {
        vacate(sim, worker, sim->options.profile->models[model].resident_bytes);
    }
}

static uint64_t payload_for(
    const struct sim *sim, enum timed_kind kind, uint32_t worker, uint32_t large)
{
    return payload_of(kind, sim->nodes[node_of(sim, worker)].incarnation, worker, large);
}

void device_init(struct sim *sim, uint32_t worker)
{
    sim->workers[worker].rng = rng_stream(sim->options.seed, RNG_SERVICE, worker);
    bus_init(sim, worker);
    runs_init(sim, worker);
}

/* How long @worker loads @model: as the profile says, or a draw about that. */
static int64_t load_ns(struct sim *sim, uint32_t worker, uint32_t model)
{
    const struct profile *profile = sim->options.profile;
    const struct fleet_worker *spec = &sim->options.fleet->workers[worker];
    const double *quantiles = profile->models[model].curves[spec->device].load_quantiles;
    const int64_t mean_ns = is_shared(sim, worker, model, /* ready */ true)
                                ? profile_follow_ns(profile, model, spec)
                                : profile_load_ns(profile, model, spec);
    if (quantiles[PROFILE_QUANTILES - 1] == 0) {
        return mean_ns;
    }
    const struct estimate estimate = {.run_ns = mean_ns, .quantiles = quantiles};
    return (int64_t)profile_draw_ns(&estimate, /* noise */ 0, &sim->workers[worker].rng);
}

void device_load(struct sim *sim, uint32_t worker, uint32_t model)
{
    const struct crossing crossing = {
        .worker = worker,
        .model = model,
        .run = POOL_NONE,
        .bus_ns = load_ns(sim, worker, model),
    };
    hold(sim, worker, model);
    bus_push(sim, &crossing);
}

void device_cancel_load(struct sim *sim, uint32_t worker, uint32_t model)
{
    bus_drop(sim, worker, model, /* run */ POOL_NONE);
    let_go(sim, worker, model);
}

static void loaded(struct sim *sim, uint32_t worker, uint32_t model)
{
    struct event event = {.kind = EVENT_LOAD_DONE};
    event.load.worker = worker;
    event.load.model = model;
    event.load.status = faults_load_status(sim, worker);
    event.load.bytes = 0;
    if (event.load.status != WEFT_OK) {
        let_go(sim, worker, model);
    } else {
        model_set_add(&sim->workers[worker].fresh, model);
        model_set_add(&sim->workers[worker].ready, model);
    }
    sim_step(sim, node_of(sim, worker), &event);
}

void device_crossed(struct sim *sim, uint32_t worker, uint32_t stamp)
{
    const int64_t until_ns = sim->workers[worker].bus.until_ns;
    struct crossing crossing;
    if (!bus_pop(sim, worker, stamp, &crossing)) {
        return; /* Not wanted any more. */
    }
    ASSERT(sim->now_ns >= until_ns); /* It had all the time that it takes. */
    if (crossing.model == MODEL_NONE) {
        runs_begin(sim, crossing.run);
    } else {
        loaded(sim, crossing.worker, crossing.model);
    }
}

void device_unload(struct sim *sim, uint32_t worker, uint32_t model)
{
    ASSERT(model_set_has(&sim->workers[worker].ready, model));
    model_set_remove(&sim->workers[worker].ready, model);
    schedule(sim, sim->now_ns, payload_for(sim, TIMED_UNLOADED, worker, model));
}

void device_unloaded(struct sim *sim, uint32_t worker, uint32_t model)
{
    let_go(sim, worker, model);
    struct event event = {.kind = EVENT_UNLOAD_DONE};
    event.load.worker = worker;
    event.load.model = model;
    event.load.status = WEFT_OK;
    sim_step(sim, node_of(sim, worker), &event);
}

void device_reshape(struct sim *sim, uint32_t worker, uint32_t gpu)
{
    const int64_t at_ns = sim->now_ns + sim->options.fleet->workers[worker].reshape_ns;
    schedule(sim, at_ns, payload_for(sim, TIMED_SHAPED, worker, gpu));
}

/*
 * How far the profile is from the truth for one config: a factor that is the same in the
 * whole run, uniform about 1. Policies go by the profile.
 */
static double error_factor(const struct sim *sim, uint32_t model, struct config config)
{
    if (sim->options.profile_error == 0) {
        return 1;
    }
    uint64_t hash = hash_mix(sim->options.seed, model);
    hash = hash_mix(hash, config.batch);
    hash = hash_mix(hash, (uint64_t)config.cpu << 32 | config.gpu);
    struct rng rng = rng_stream(hash, RNG_SERVICE, 0);
    return 1 + sim->options.profile_error * (2 * rng_unit(&rng) - 1);
}

/* The run time of this batch alone: drawn from the profile, with the scenario's noise. */
static int64_t draw_run_ns(
    struct sim *sim, uint32_t worker, const struct estimate *estimate, double factor)
{
    struct rng *rng = &sim->workers[worker].rng;
    const double run_ns = profile_draw_ns(estimate, sim->options.noise, rng) * factor;
    const double pace =
        pace_at(&sim->options.pace, sim->options.seed, node_of(sim, worker), sim->now_ns);
    const double slow_ns = run_ns * pace * faults_slowness(sim, worker);
    return slow_ns < (double)DURATION_NS_MAX ? (int64_t)slow_ns : DURATION_NS_MAX;
}

static void remember_run(struct sim *sim, uint32_t batch, uint32_t run)
{
    if (batch >= sim->run_of_batch_count) {
        const uint32_t count = 2 * (batch + 1);
        sim->run_of_batch = memory_zeroed_more(
            sim->run_of_batch, sim->run_of_batch_count, count, sizeof(*sim->run_of_batch));
        sim->run_of_batch_count = count;
    }
    sim->run_of_batch[batch] = run;
}

/* How long the inputs of a batch occupy the bus; 0 where they are not modelled. */
static int64_t inputs_ns(const struct sim *sim, const struct run *run)
{
    const struct fleet_worker *spec = &sim->options.fleet->workers[run->worker];
    uint64_t bytes = 0;
    if (!spec->bus_inputs) {
        return 0;
    }
    for (uint32_t i = 0; i < run->task_count; i++) {
        bytes += node_batch_input_bytes(sim->nodes[run->node].node, run->batch, i);
    }
    return fleet_bytes_ns(bytes, spec->bus_bytes_per_s);
}

void device_launch(struct sim *sim, uint32_t node, const struct effect_launch *launch)
{
    const struct workflow *workflow = sim->options.catalogue->workflows[launch->workflow];
    const uint32_t model = workflow->tasks[launch->task].run;
    if (sim->options.check) {
        checkers_launch(sim, node, launch);
        editions_check_launch(sim, node, launch);
    }
    const struct fleet_worker *spec = &sim->options.fleet->workers[launch->worker];
    struct sim_worker *device = &sim->workers[launch->worker];
    struct config shares = launch->config;
    shares.batch = launch->items;
    shares.gpu = shares.gpu == spec->gpu_units ? 0 : shares.gpu;
    const struct profile *truth =
        sim->options.truth != NULL ? sim->options.truth : sim->options.profile;
    const struct estimate estimate = profile_run(truth, model, spec->device, launch->items, shares);

    const struct profile_curve *curve = &sim->options.profile->models[model].curves[spec->device];
    const double interference = spec->splits ? curve->interference : estimate.interference;
    /* What was learnt beside others is taken as it would be alone: others slow it down again. */
    const double alone = spec->splits ? 1 / slowing_factor(&estimate.slowing, interference) : 1;
    const double factor =
        error_factor(sim, model, shares) * alone * workflow->tasks[launch->task].work;

    (void)pool_reserve(&sim->runs, 1);
    const uint32_t slot = pool_take_raw(&sim->runs);
    struct run *run = pool_at(&sim->runs, slot);
    *run = (struct run){
        .node = node,
        .batch = launch->batch,
        .worker = launch->worker,
        .workflow = launch->workflow,
        .task = launch->task,
        .task_count = launch->task_count,
        .gpu = launch->config.gpu,
        .slice = launch->slice,
        .run_ns =
            draw_run_ns(sim, launch->worker, &estimate, factor) +
            fresh_take_ns(
                &device->fresh, sim->options.profile, &workflow->tasks[launch->task], spec->device),
        .threads = max_u32(launch->config.parts, 1),
        .interference = interference,
        .workspace_bytes = profile_workspace_bytes(sim->options.profile, model, launch->items),
    };
    device->gpu_used += launch->config.gpu;
    ASSERT(device->gpu_used <= spec->gpu_units);
    if (spec->sharing == SHARES_MIG) { /* Where instances may be, and each for itself. */
        const uint32_t slices = sharing_slices(launch->config.gpu, launch->slice);
        ASSERT(slices != 0);
        ASSERT((device->slices_used & slices) == 0);
        device->slices_used |= slices;
    }
    occupy(sim, launch->worker, run->workspace_bytes);
    remember_run(sim, launch->batch, slot);
    const int64_t bus_ns = inputs_ns(sim, run);
    if (bus_ns == 0) {
        runs_begin(sim, slot);
        return;
    }
    const struct crossing inputs = {
        .worker = launch->worker,
        .model = MODEL_NONE,
        .run = slot,
        .bus_ns = bus_ns,
    };
    bus_push(sim, &inputs);
}

/* Run @slot leaves its device; what it held is free again. */
static struct run end_run(struct sim *sim, uint32_t slot)
{
    const struct run run = *(const struct run *)pool_at(&sim->runs, slot);
    if (run.begun) {
        runs_end(sim, slot);
    } else {
        bus_drop(sim, run.worker, MODEL_NONE, slot);
    }
    pool_give(&sim->runs, slot);
    sim->workers[run.worker].gpu_used -= run.gpu;
    sim->workers[run.worker].slices_used &= ~sharing_slices(run.gpu, run.slice);
    vacate(sim, run.worker, run.workspace_bytes);
    return run;
}

void device_cancel(struct sim *sim, uint32_t batch)
{
    const struct run run = end_run(sim, sim->run_of_batch[batch]);
    ASSERT(run.batch == batch);
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
        outputs[i] = (struct output){
            .tensor = sim_new_tensor(sim, run->node),
            .items = items,
            .bytes = items_output_bytes(workflow, run->task, items),
        };
        editions_note(sim, outputs[i].tensor, job_edition(task.job) + 1);
    }
}

void device_done(struct sim *sim, uint32_t slot, uint32_t stamp)
{
    if (!runs_is_over(sim, slot, stamp)) {
        return; /* Cancelled, lost, or it takes longer now. */
    }
    const struct run run = end_run(sim, slot);
    if (sim->poison.has_come && faults_poisons(sim, &run)) {
        return;
    }
    struct output outputs[BATCH_TASKS_MAX];
    struct event event = {.kind = EVENT_BATCH_DONE};
    event.batch = (struct event_batch_done){
        .batch = run.batch,
        .status = faults_batch_status(sim, run.worker),
        .run_ns = run.ends_at_ns - run.begun_ns,
    };
    if (event.batch.status == WEFT_OK) {
        make_outputs(sim, &run, outputs);
        event.batch.output_count = run.task_count;
        event.batch.outputs = outputs;
    }
    sim_step(sim, run.node, &event);
}

/* Empty the bus of @worker's device, and stop what runs there. */
static void stop_device(struct sim *sim, uint32_t worker)
{
    struct sim_worker *device = &sim->workers[worker];
    struct crossing crossing;
    while (bus_pop(sim, worker, device->bus.stamp, &crossing)) {
        if (crossing.run != POOL_NONE) {
            pool_give(&sim->runs, crossing.run);
        }
    }
    while (device->running.first != POOL_NONE) {
        const uint32_t slot = device->running.first;
        const struct run *run = pool_at(&sim->runs, slot);
        device->running.first = run->next;
        device->running.count--;
        device->running.units -= run->gpu;
        device->running.threads -= run->threads;
        pool_give(&sim->runs, slot);
    }
}

void device_lost(struct sim *sim, uint32_t node)
{
    const struct fleet_node *spec = &sim->options.fleet->nodes[node];
    for (uint32_t i = 0; i < spec->worker_count; i++) {
        const uint32_t worker = spec->worker_first + i;
        stop_device(sim, worker);
        sim->workers[worker].memory_bytes = 0;
        sim->workers[worker].held = (struct model_set){{0}};
        sim->workers[worker].ready = (struct model_set){{0}};
        sim->workers[worker].gpu_used = 0;
        sim->workers[worker].slices_used = 0;
        sim->workers[worker].fresh = (struct model_set){{0}};
    }
}
