/*
 * engine_host.h - a host for engines under test: a queue, a clock that jumps, a list.
 *
 * One machine with two devices of 1000 bytes and four units; three models of 300 bytes
 * that load in 30 ns + 5 ns and run 100, 200 and 300 ns an item; one workflow in which
 * task 0 (model 0, gives 2 to 5 items) feeds tasks 1 and 2.
 *
 * Engines that do more than pretend are given a loop, files for the models, and one input a
 * task: x, FP32 [1,4].
 */
#ifndef CONFORMANCE_ENGINE_HOST_H
#define CONFORMANCE_ENGINE_HOST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <uv.h>

#include <cmocka.h>

#include "base/event_queue.h"
#include "engine/artifact.h"
#include "engine/bundle.h"
#include "engine/engine.h"
#include "function/fork_server.h"
#include "model/catalogue.h"

enum { HOST_MODELS = 3, HOST_DONE_MAX = 256, HOST_WORKERS = 2 };

struct host_done {
    int64_t at_ns;
    struct engine_done done;
    char message[240];
    struct engine_output outputs[BATCH_TASKS_MAX];
};

struct host {
    struct fleet *fleet;
    struct catalogue *catalogue;
    struct profile *profile;
    struct engine *engine;
    struct artifacts artifacts;
    struct artifact files[HOST_MODELS]; /* The engine's maker fills them in. */
    struct bundle *input;               /* Of every task. NULL: engines pretend. */
    uv_loop_t loop;
    struct event_queue queue;
    int64_t now_ns;
    bool in_operation;
    uint32_t gpu; /* Units of the next batches; all four at first. */
    uint32_t done_count;
    struct host_done done[HOST_DONE_MAX];
    struct fork_server *stop; /* To be stopped in the end. NULL: the engine needs none. */
};

static inline void host_on_done(void *context, const struct engine_done *done)
{
    struct host *host = context;
    assert_false(host->in_operation); /* Never from inside an operation. */
    assert_true(host->done_count < HOST_DONE_MAX);
    struct host_done *kept = &host->done[host->done_count++];
    kept->at_ns = host->now_ns;
    kept->done = *done;
    (void)snprintf(
        kept->message, sizeof(kept->message), "%s", done->message == NULL ? "" : done->message);
    for (uint32_t i = 0; i < done->output_count; i++) {
        kept->outputs[i] = done->outputs[i];
    }
}

static inline int64_t host_now_ns(void *context)
{
    return ((struct host *)context)->now_ns;
}

static inline void host_wake_at(void *context, int64_t at_ns, uint64_t token)
{
    struct host *host = context;
    assert_true(at_ns >= host->now_ns);
    event_queue_push(&host->queue, at_ns, token);
}

static inline void host_workflow(struct host *host)
{
    struct workflow *workflow = workflow_create("fork");
    for (uint32_t i = 0; i < HOST_MODELS; i++) {
        struct workflow_task task = {.run = i, .models = {i}, .model_count = 1};
        uint32_t index;
        (void)snprintf(task.name, sizeof(task.name), "t%u", i);
        task.gives = i == 0 ? (struct items_rule){2, 5} : (struct items_rule){0, 0};
        assert_int_equal(workflow_add_task(workflow, &task, &index), WEFT_OK);
    }
    const struct workflow_edge each = {.from = 0, .to = 1, .bytes = 10, .per_item = true};
    const struct workflow_edge whole = {.from = 0, .to = 2, .bytes = 7};
    assert_int_equal(workflow_add_edge(workflow, &each), WEFT_OK);
    assert_int_equal(workflow_add_edge(workflow, &whole), WEFT_OK);
    assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);
    assert_int_equal(catalogue_add_workflow(host->catalogue, workflow), WEFT_OK);
}

static inline void host_profile(struct host *host)
{
    host->profile = profile_create(HOST_MODELS);
    for (uint32_t i = 0; i < HOST_MODELS; i++) {
        struct profile_model *model = &host->profile->models[i];
        model->load_bytes = 30;
        model->load_fixed_ns = 5;
        model->resident_bytes = 300;
        model->workspace_bytes = 10;
        model->workspace_bytes_per_item = 1;
        for (uint32_t items = 1; items <= 64; items *= 64) {
            const struct profile_point point = {
                .items = items, .run_ns = (int64_t)(100 * (i + 1) * items)};
            assert_int_equal(profile_add_point(host->profile, i, 0, &point), WEFT_OK);
        }
    }
}

/* An engine over the world of @host, ready but for what host_run() does. */
typedef struct engine *(*host_engine)(struct host *host, const struct engine_host *port);

/* What tasks of engines that do not pretend are given. */
static inline struct bundle *host_input(void)
{
    static const float values[4] = {-1, 2, -3, 4};
    struct bundle *bundle = bundle_create();
    const struct weft_tensor x = {
        .name = "x", .dtype = WEFT_FP32, .rank = 2, .shape = {1, 4}, .bytes = sizeof(values)};
    memcpy(bundle_add(bundle, &x), values, sizeof(values));
    return bundle;
}

/* An engine that @create makes, for the workers @hosted; all zero: both. */
static inline void host_init_part(
    struct host *host, host_engine create, struct engine_workers hosted)
{
    memset(host, 0, sizeof(*host));
    event_queue_init(&host->queue);
    host->gpu = 4;
    host->fleet = fleet_create();
    struct fleet_worker device = {
        .memory_bytes = 1000, .bus_bytes_per_s = 1000000000, .gpu_units = 4, .reshape_ns = 40};
    device.device = fleet_device(host->fleet, "device");
    assert_true(fleet_add_machine(host->fleet, &device, HOST_WORKERS, /* cpu_units */ 4));
    host->catalogue = catalogue_create();
    for (uint32_t i = 0; i < HOST_MODELS; i++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "m%u", i);
        assert_int_equal(catalogue_model(host->catalogue, name), i);
    }
    host_workflow(host);
    host_profile(host);
    host->artifacts = (struct artifacts){.count = HOST_MODELS, .items = host->files};
    assert_int_equal(uv_loop_init(&host->loop), 0);
    const struct engine_host port = {
        .context = host,
        .done = host_on_done,
        .now_ns = host_now_ns,
        .wake_at = host_wake_at,
        .workers = hosted,
    };
    host->engine = create(host, &port);
}

static inline void host_init(struct host *host, host_engine create)
{
    host_init_part(host, create, (struct engine_workers){0});
}

static inline void host_deinit(struct host *host)
{
    engine_destroy(host->engine);
    if (host->stop != NULL) {
        fork_server_stop(host->stop);
    }
    assert_int_equal(uv_run(&host->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&host->loop), 0);
    for (uint32_t i = 0; i < host->done_count; i++) {
        for (uint32_t k = 0; k < host->done[i].done.output_count; k++) {
            bundle_destroy(host->done[i].outputs[k].contents);
        }
    }
    bundle_destroy(host->input);
    event_queue_deinit(&host->queue);
    profile_destroy(host->profile);
    catalogue_destroy(host->catalogue);
    fleet_destroy(host->fleet);
}

/* Let everything end that was asked for. */
static inline void host_run(struct host *host)
{
    struct timed_item item;
    while (event_queue_pop(&host->queue, &item)) {
        host->now_ns = item.at_ns;
        engine_wake(host->engine, item.payload);
    }
    (void)uv_run(&host->loop, UV_RUN_DEFAULT); /* Until the engine waits for nothing. */
}

static inline void host_load(struct host *host, uint32_t worker, uint32_t model)
{
    host->in_operation = true;
    engine_load(host->engine, worker, model);
    host->in_operation = false;
}

/* Run @task_count tasks number @task, of one item each. */
static inline void host_launch(
    struct host *host, uint32_t worker, uint64_t batch, uint32_t task, uint32_t task_count)
{
    struct engine_task tasks[BATCH_TASKS_MAX];
    const struct engine_input input = {.contents = host->input};
    for (uint32_t i = 0; i < task_count; i++) {
        tasks[i] = (struct engine_task){.job = {.node = 0, .number = i + 1}, .items = 1};
        tasks[i].input_count = host->input != NULL ? 1 : 0;
        tasks[i].inputs = &input;
    }
    const struct engine_batch launch = {
        .batch = batch,
        .worker = worker,
        .task = task,
        .config = {.batch = task_count, .gpu = host->gpu},
        .items = task_count,
        .task_count = task_count,
        .tasks = tasks,
    };
    host->in_operation = true;
    assert_int_equal(engine_launch(host->engine, &launch), WEFT_OK);
    host->in_operation = false;
}

#endif /* CONFORMANCE_ENGINE_HOST_H */
