/*
 * devices.c - between effects and the engine: what is under way, and what came of it.
 *
 * A task of weft.pass reaches no engine that runs anything: its output is its input, under
 * another handle. An engine that pretends is asked all the same, as in the simulator.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "engine/bundle.h"
#include "model/builtin.h"
#include "model/catalogue.h"
#include "runtime/inside.h"
#include "runtime/remote.h"

enum { RUNNING_FIRST = 64 };

void runtime_devices_init(struct runtime *runtime)
{
    const struct runtime_options *options = &runtime->options;
    const size_t loads = (size_t)options->fleet->worker_count * options->catalogue->model_count;
    pool_init(&runtime->running, sizeof(struct running), RUNNING_FIRST, UINT32_MAX - 1);
    map_init(&runtime->running_by_key, RUNNING_FIRST);
    runtime->load_starts = memory_zeroed(loads + 1, sizeof(*runtime->load_starts));
    runtime->busy = memory_zeroed(options->fleet->node_count, sizeof(*runtime->busy));
    for (uint32_t i = 0; i < options->fleet->node_count; i++) {
        busy_init(&runtime->busy[i], options->fleet, i);
    }
    runtime->fresh = memory_zeroed(options->fleet->worker_count, sizeof(*runtime->fresh));
    runtime->pass = options->engine.make == NULL
                        ? MODEL_NONE
                        : catalogue_find_model(options->catalogue, BUILTIN_PASS);
}

void runtime_devices_deinit(struct runtime *runtime)
{
    pool_deinit(&runtime->running);
    map_deinit(&runtime->running_by_key);
    free(runtime->load_starts);
    free(runtime->busy);
    free(runtime->fresh);
    free(runtime->inputs);
}

static int64_t *load_start(struct runtime *runtime, uint32_t worker, uint32_t model)
{
    return &runtime->load_starts[(size_t)worker * runtime->options.catalogue->model_count + model];
}

void runtime_load(struct runtime *runtime, uint32_t worker, uint32_t model)
{
    runtime->engine_open++;
    *load_start(runtime, worker, model) = runtime->clock.now_ns;
    engine_load(runtime->engine, worker, model);
}

void runtime_cancel_load(struct runtime *runtime, uint32_t worker, uint32_t model)
{
    ASSERT(runtime->engine_open > 0);
    runtime->engine_open--;
    engine_cancel_load(runtime->engine, worker, model);
}

void runtime_unload(struct runtime *runtime, uint32_t worker, uint32_t model)
{
    runtime->engine_open++;
    engine_unload(runtime->engine, worker, model);
}

void runtime_reshape(struct runtime *runtime, uint32_t worker, uint32_t gpu)
{
    runtime->engine_open++;
    engine_reshape(runtime->engine, worker, gpu);
}

/* Where @running counts, unless it runs on no processor. */
static struct busy *busy_of(struct runtime *runtime, const struct running *running)
{
    const struct fleet_worker *worker = &runtime->options.fleet->workers[running->worker];
    return worker->splits ? &runtime->busy[worker->node] : NULL;
}

static uint32_t threads_of(const struct running *running)
{
    return max_u32(running->config.parts, 1);
}

/* Models of @running have run from now on: note which had not since they were loaded. */
static void take_fresh(struct runtime *runtime, uint32_t worker, struct running *running)
{
    const struct workflow *workflow = runtime->options.catalogue->workflows[running->workflow];
    const struct workflow_task *kind = &workflow->tasks[running->task];
    for (uint32_t i = 0; i < kind->model_count; i++) {
        if (model_set_has(&runtime->fresh[worker], kind->models[i])) {
            model_set_remove(&runtime->fresh[worker], kind->models[i]);
            running->fresh = kind->models[i];
            running->fresh_count++;
        }
    }
}

/* Note that batch @key runs. */
static struct running *note_launch(
    struct runtime *runtime, uint64_t key, const struct effect_launch *launch)
{
    (void)pool_reserve(&runtime->running, 1);
    (void)map_reserve(&runtime->running_by_key, 1);
    const uint32_t slot = pool_take(&runtime->running);
    ASSERT(slot != POOL_NONE);
    struct running *running = pool_at(&runtime->running, slot);
    *running = (struct running){
        .worker = launch->worker,
        .workflow = launch->workflow,
        .task = launch->task,
        .items = launch->items,
        .task_count = launch->task_count,
        .config = launch->config,
        .launched_ns = runtime->clock.now_ns,
    };
    struct busy *busy = busy_of(runtime, running);
    if (busy != NULL) {
        running->met = busy_begin(busy, running->launched_ns, threads_of(running));
    }
    take_fresh(runtime, launch->worker, running);
    map_put(&runtime->running_by_key, key, slot);
    return running;
}

/* Batch @key has ended. False if it did so before. */
static bool note_end(struct runtime *runtime, uint64_t key, struct running *running_out)
{
    const uint32_t slot = map_get(&runtime->running_by_key, key);
    if (slot == MAP_NONE) {
        return false;
    }
    *running_out = *(struct running *)pool_at(&runtime->running, slot);
    (void)map_remove(&runtime->running_by_key, key);
    pool_give(&runtime->running, slot);
    struct busy *busy = busy_of(runtime, running_out);
    if (busy != NULL) {
        const int64_t now_ns = runtime->clock.now_ns;
        running_out->met = busy_end(
            busy, now_ns, threads_of(running_out), running_out->met,
            now_ns - running_out->launched_ns);
    }
    return true;
}

static uint32_t model_of(const struct runtime *runtime, uint32_t workflow, uint32_t task)
{
    return runtime->options.catalogue->workflows[workflow]->tasks[task].run;
}

static struct engine_input *input_at(struct runtime *runtime, uint32_t index)
{
    if (index >= runtime->inputs_max) {
        const uint32_t count = 2 * (index + 1);
        struct engine_input *larger = memory_zeroed(count, sizeof(*larger));
        for (uint32_t i = 0; i < runtime->inputs_max; i++) {
            larger[i] = runtime->inputs[i];
        }
        free(runtime->inputs);
        runtime->inputs = larger;
        runtime->inputs_max = count;
    }
    return &runtime->inputs[index];
}

/* Fill @tasks with what @node says of its batch. */
static void gather(
    struct runtime *runtime, const struct node *node, const struct effect_launch *effect,
    struct engine_task *tasks)
{
    uint32_t first[BATCH_TASKS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < effect->task_count; i++) {
        const struct batch_task task = node_batch_task(node, effect->batch, i);
        tasks[i] = (struct engine_task){
            .job = task.job, .items = task.items, .input_count = task.input_count};
        first[i] = count;
        for (uint32_t k = 0; k < task.input_count; k++) {
            const struct handle handle = node_batch_input(node, effect->batch, i, k);
            struct engine_input *input = input_at(runtime, count);
            *input = (struct engine_input){.contents = NULL};
            if (handle.id != 0) {
                input->contents = tensors_contents(&runtime->tensors, handle, &input->bytes);
            }
            count++;
        }
    }
    for (uint32_t i = 0; i < effect->task_count; i++) {
        tasks[i].inputs = runtime->inputs + first[i]; /* It may have moved until now. */
    }
}

void runtime_launch(struct runtime *runtime, uint32_t number, const struct effect_launch *effect)
{
    const uint64_t key = batch_key(number, effect->batch);
    struct running *running = note_launch(runtime, key, effect);
    if (model_of(runtime, effect->workflow, effect->task) == runtime->pass) {
        const struct due due = {.kind = DUE_PASSED, .node = number, .token = key};
        runtime_add_due(runtime, runtime->clock.now_ns, &due);
        return;
    }
    struct engine_task tasks[BATCH_TASKS_MAX];
    gather(runtime, runtime->nodes[number].node, effect, tasks);
    const struct engine_batch batch = {
        .worker = effect->worker,
        .batch = key,
        .workflow = effect->workflow,
        .task = effect->task,
        .config = effect->config,
        .items = effect->items,
        .task_count = effect->task_count,
        .tasks = tasks,
    };
    if (engine_launch(runtime->engine, &batch) == WEFT_OK) {
        runtime->engine_open++;
        return;
    }
    const struct due due = {.kind = DUE_NOT_TAKEN, .node = number, .token = key};
    running->is_not_taken = true;
    runtime_add_due(runtime, runtime->clock.now_ns, &due);
}

void runtime_cancel_batch(struct runtime *runtime, uint32_t node, uint32_t batch)
{
    struct running running;
    const uint64_t key = batch_key(node, batch);
    const bool was_running = note_end(runtime, key, &running);
    ASSERT(was_running);
    if (running.is_not_taken ||
        model_of(runtime, running.workflow, running.task) == runtime->pass) {
        return; /* What is due for it finds nothing. */
    }
    ASSERT(runtime->engine_open > 0);
    runtime->engine_open--;
    engine_cancel(runtime->engine, key);
}

void runtime_passed(struct runtime *runtime, uint32_t number, uint64_t key)
{
    const struct node *node = runtime->nodes[number].node;
    struct output outputs[BATCH_TASKS_MAX];
    struct event event = {.kind = EVENT_BATCH_DONE};
    struct running running;
    if (!note_end(runtime, key, &running) || node == NULL) {
        return;
    }
    event.batch = (struct event_batch_done){
        .batch = (uint32_t)key, .output_count = running.task_count, .outputs = outputs};
    for (uint32_t i = 0; i < running.task_count; i++) {
        const struct handle input = node_batch_input(node, event.batch.batch, i, /* input */ 0);
        outputs[i] = (struct output){.items = node_batch_task(node, event.batch.batch, i).items};
        if (input.id != 0) {
            (void)tensors_contents(&runtime->tensors, input, &outputs[i].bytes);
            outputs[i].tensor = tensors_share(&runtime->tensors, input, number);
        }
    }
    runtime_step(runtime, number, &event);
}

static void step_loaded(struct runtime *runtime, uint32_t node, const struct engine_done *done)
{
    struct event event = {
        .kind = done->kind == ENGINE_LOADED ? EVENT_LOAD_DONE : EVENT_UNLOAD_DONE};
    event.load.worker = done->worker;
    event.load.model = done->model;
    event.load.status = done->status;
    event.load.bytes = done->bytes;
    event.load.own_bytes = done->own_bytes;
    if (done->kind == ENGINE_LOADED) {
        const bool is_good = done->status == WEFT_OK;
        const char *message =
            done->message != NULL ? done->message : weft_status_text(done->status);
        causes_note_model(&runtime->causes, done->model, is_good ? NULL : message);
        if (is_good) {
            model_set_add(&runtime->fresh[done->worker], done->model);
        }
    }
    runtime_step(runtime, node, &event);
    if (done->kind == ENGINE_LOADED && done->status == WEFT_OK &&
        runtime->options.engine.on_loaded != NULL) {
        const struct runtime_loaded loaded = {
            .worker = done->worker,
            .model = done->model,
            .bytes = done->bytes,
            .load_ns = runtime->clock.now_ns - *load_start(runtime, done->worker, done->model),
        };
        runtime->options.engine.on_loaded(runtime->options.engine.context, &loaded);
    }
}

static void step_shaped(struct runtime *runtime, uint32_t node, const struct engine_done *done)
{
    struct event event = {.kind = EVENT_SHARE_READY};
    event.share.worker = done->worker;
    event.share.name = done->gpu;
    runtime_step(runtime, node, &event);
}

/* Keep what the engine says of @job, whose task failed for @status. */
static void note_failure(
    struct runtime *runtime, const struct running *running, struct job_id job,
    enum weft_status status, const char *message)
{
    causes_note_job(
        &runtime->causes, job, running->workflow, running->task,
        message != NULL ? message : weft_status_text(status));
}

/* What the tasks of a batch made, for the node; and why those failed that did. */
static void take_outputs(
    struct runtime *runtime, uint32_t node, const struct running *running,
    const struct engine_done *done, struct output *outputs)
{
    for (uint32_t i = 0; i < running->task_count; i++) {
        const struct node *stepped = runtime->nodes[node].node;
        const struct job_id job = node_batch_task(stepped, (uint32_t)done->batch, i).job;
        if (done->status != WEFT_OK) {
            note_failure(runtime, running, job, done->status, done->message);
            continue;
        }
        const struct engine_output *made = &done->outputs[i];
        outputs[i] =
            (struct output){.items = made->items, .bytes = made->bytes, .status = made->status};
        if (made->status == WEFT_OK) {
            outputs[i].tensor =
                tensors_add(&runtime->tensors, node, made->contents, made->bytes, bundle_destroy);
        } else {
            note_failure(runtime, running, job, made->status, made->message);
        }
    }
}

static void step_ran(struct runtime *runtime, uint32_t node, const struct engine_done *done)
{
    struct output outputs[BATCH_TASKS_MAX];
    struct running running;
    ASSERT(done->output_count <= BATCH_TASKS_MAX);
    const bool was_running = note_end(runtime, done->batch, &running);
    ASSERT(was_running);
    ASSERT(done->status != WEFT_OK || done->output_count == running.task_count);
    take_outputs(runtime, node, &running, done, outputs);
    const int64_t took_ns = runtime->clock.now_ns - running.launched_ns;
    struct event event = {.kind = EVENT_BATCH_DONE};
    event.batch = (struct event_batch_done){
        .batch = (uint32_t)done->batch,
        .status = done->status,
        .run_ns = max_i64(took_ns, done->run_ns), /* As profiles count: with the hand-off. */
        .output_count = done->output_count,
        .outputs = outputs,
    };
    runtime_step(runtime, node, &event);
    if (done->status == WEFT_OK && runtime->options.engine.on_ran != NULL) {
        const struct runtime_ran ran = {
            .worker = done->worker,
            .model = model_of(runtime, running.workflow, running.task),
            .items = running.items,
            .config = running.config,
            .fresh_count = running.fresh_count,
            .fresh = running.fresh,
            .run_ns = done->run_ns,
            .is_disturbed = done->is_disturbed,
            .took_ns = took_ns,
            .slowing = running.met,
            .usage_count = done->usage_count,
            .usages = done->usages,
        };
        runtime->options.engine.on_ran(runtime->options.engine.context, &ran);
    }
}

void runtime_not_taken(struct runtime *runtime, uint32_t number, uint64_t key)
{
    const uint32_t slot = map_get(&runtime->running_by_key, key);
    struct running running;
    const struct engine_done done = {
        .kind = ENGINE_RAN,
        .status = WEFT_NO_MEMORY,
        .message = "no memory for a batch",
        .batch = key,
    };
    if (slot == MAP_NONE) {
        return; /* It was cancelled. */
    }
    if (runtime->nodes[number].node == NULL) {
        (void)note_end(runtime, key, &running);
        return;
    }
    step_ran(runtime, number, &done);
}

static void drop(struct runtime *runtime, const struct engine_done *done)
{
    struct running running;
    for (uint32_t i = 0; i < done->output_count; i++) {
        bundle_destroy(done->outputs[i].contents);
    }
    if (done->kind == ENGINE_RAN) {
        (void)note_end(runtime, done->batch, &running);
    }
}

static void on_done(void *context, const struct engine_done *done)
{
    struct runtime *runtime = context;
    const uint32_t node = runtime->options.fleet->workers[done->worker].node;
    runtime_refresh(runtime);
    ASSERT(runtime->engine_open > 0);
    runtime->engine_open--;
    if (done->kind == ENGINE_REVISED) {
        runtime_tell_revised(runtime, done);
        return;
    }
    if (runtime->nodes[node].node == NULL) {
        drop(runtime, done);
        return;
    }
    switch (done->kind) {
    case ENGINE_LOADED:
    case ENGINE_UNLOADED:
        step_loaded(runtime, node, done);
        return;
    case ENGINE_SHAPED:
        step_shaped(runtime, node, done);
        return;
    case ENGINE_RAN:
        step_ran(runtime, node, done);
        return;
    case ENGINE_REVISED:
        break;
    }
    ASSERT(false);
}

static int64_t now_ns(void *context)
{
    return ((struct runtime *)context)->clock.now_ns;
}

static void wake_at(void *context, int64_t at_ns, uint64_t token)
{
    const struct due due = {.kind = DUE_ENGINE, .token = token};
    runtime_add_due(context, at_ns, &due);
}

struct engine_host runtime_engine_host(struct runtime *runtime)
{
    const struct runtime_remote *remote = runtime->options.remote;
    struct engine_host host = {
        .context = runtime,
        .done = on_done,
        .now_ns = now_ns,
        .wake_at = wake_at,
    };
    if (remote != NULL) {
        const struct fleet_node *node = &runtime->options.fleet->nodes[remote->node];
        host.workers.first = node->worker_first;
        host.workers.end = node->worker_first + node->worker_count;
    }
    return host;
}
