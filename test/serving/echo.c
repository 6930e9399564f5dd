#include "serving/echo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"
#include "engine/bundle.h"
#include "engine/engine.h"
#include "model/catalogue.h"

enum { RUNS_MAX = 4096, HOPS = 8 };

enum { MODEL_ECHO, MODEL_SLOW, MODEL_FAIL, MODELS };

#define SLOW_NS INT64_C(300000000)
#define LOOK_NS INT64_C(10000000) /* Between two looks for a file. */

/* Something that ends later. */
struct run {
    bool used;
    const char *until; /* It goes on until this file is there. NULL: for its time. */
    struct engine_done done;
    uint32_t task_count;
    const struct bundle *inputs[BATCH_TASKS_MAX];
};

struct echo {
    struct engine base;
    const struct catalogue *catalogue;
    const char *slow_until;
    struct run runs[RUNS_MAX];
};

/* NULL if there is no memory. */
static struct bundle *copy_bundle(const struct bundle *from)
{
    struct bundle *to = bundle_create();
    for (uint32_t i = 0; to != NULL && from != NULL && i < from->count; i++) {
        void *room = bundle_add(to, &from->tensors[i]);
        if (room == NULL) {
            bundle_destroy(to);
            return NULL;
        }
        memcpy(room, from->tensors[i].data, from->tensors[i].bytes);
    }
    return to;
}

static void begin(struct engine *base, const struct run *run, int64_t ns)
{
    struct echo *echo = (struct echo *)base;
    uint32_t slot = 0;
    while (echo->runs[slot].used) {
        slot++;
        ASSERT(slot < RUNS_MAX);
    }
    echo->runs[slot] = *run;
    echo->runs[slot].used = true;
    base->host.wake_at(base->host.context, base->host.now_ns(base->host.context) + ns, slot);
}

static void echo_load(struct engine *base, uint32_t worker, uint32_t model)
{
    const struct run run = {
        .done = {.kind = ENGINE_LOADED, .worker = worker, .model = model, .bytes = 1}};
    begin(base, &run, 0);
}

static void echo_cancel_load(struct engine *base, uint32_t worker, uint32_t model)
{
    struct echo *echo = (struct echo *)base;
    for (uint32_t i = 0; i < RUNS_MAX; i++) {
        struct run *run = &echo->runs[i];
        if (run->used && run->done.kind == ENGINE_LOADED && run->done.worker == worker &&
            run->done.model == model) {
            run->done.kind = ENGINE_RAN; /* A run that no host waits for. */
            run->done.batch = UINT64_MAX;
        }
    }
}

static void echo_unload(struct engine *base, uint32_t worker, uint32_t model)
{
    const struct run run = {.done = {.kind = ENGINE_UNLOADED, .worker = worker, .model = model}};
    begin(base, &run, 0);
}

static void echo_reshape(struct engine *base, uint32_t worker, uint32_t gpu)
{
    const struct run run = {.done = {.kind = ENGINE_SHAPED, .worker = worker, .gpu = gpu}};
    begin(base, &run, 0);
}

static enum weft_status echo_launch(struct engine *base, const struct engine_batch *batch)
{
    const struct echo *echo = (struct echo *)base;
    const uint32_t model = echo->catalogue->workflows[batch->workflow]->tasks[batch->task].run;
    struct run run = {
        .done = {.kind = ENGINE_RAN, .worker = batch->worker, .batch = batch->batch},
        .task_count = batch->task_count,
    };
    if (model == MODEL_FAIL) {
        run.done.status = WEFT_FAILED;
        run.done.message = "there is \"no face\" in it";
    }
    for (uint32_t i = 0; i < batch->task_count; i++) {
        run.inputs[i] =
            batch->tasks[i].input_count == 0 ? NULL : batch->tasks[i].inputs[0].contents;
    }
    if (model == MODEL_SLOW) {
        run.until = echo->slow_until;
        begin(base, &run, run.until == NULL ? SLOW_NS : 0);
    } else {
        begin(base, &run, 0);
    }
    return WEFT_OK;
}

static void echo_cancel(struct engine *base, uint64_t batch)
{
    struct echo *echo = (struct echo *)base;
    for (uint32_t i = 0; i < RUNS_MAX; i++) {
        if (echo->runs[i].used && echo->runs[i].done.kind == ENGINE_RAN &&
            echo->runs[i].done.batch == batch) {
            echo->runs[i].done.batch = UINT64_MAX;
        }
    }
}

static void echo_wake(struct engine *base, uint64_t token)
{
    struct run *run = &((struct echo *)base)->runs[token];
    struct engine_output outputs[BATCH_TASKS_MAX];
    struct engine_done done = run->done;
    const bool is_cancelled = done.kind == ENGINE_RAN && done.batch == UINT64_MAX;
    if (!is_cancelled && run->until != NULL && access(run->until, F_OK) != 0) {
        const int64_t now_ns = base->host.now_ns(base->host.context);
        base->host.wake_at(base->host.context, now_ns + LOOK_NS, token);
        return;
    }
    run->used = false;
    if (is_cancelled) {
        return;
    }
    const uint32_t count = done.kind == ENGINE_RAN && done.status == WEFT_OK ? run->task_count : 0;
    while (done.output_count < count) {
        struct bundle *bundle = copy_bundle(run->inputs[done.output_count]);
        if (bundle == NULL) {
            while (done.output_count > 0) {
                bundle_destroy(outputs[--done.output_count].contents);
            }
            done.status = WEFT_NO_MEMORY;
            done.message = "no memory for outputs";
            break;
        }
        outputs[done.output_count++] =
            (struct engine_output){.contents = bundle, .items = 1, .bytes = bundle->bytes};
    }
    done.outputs = outputs;
    base->host.done(base->host.context, &done);
}

static void echo_destroy(struct engine *base)
{
    free(base);
}

static const struct engine_ops ops = {
    .name = "echo",
    .load = echo_load,
    .cancel_load = echo_cancel_load,
    .unload = echo_unload,
    .reshape = echo_reshape,
    .launch = echo_launch,
    .cancel = echo_cancel,
    .wake = echo_wake,
    .destroy = echo_destroy,
};

static struct engine *make_engine(
    void *context, const struct engine_host *host, struct uv_loop_s *loop, struct weft_error *error)
{
    const struct echo_cluster *cluster = context;
    struct echo *echo = memory_zeroed(1, sizeof(*echo));
    (void)loop;
    (void)error;
    echo->base = (struct engine){.ops = &ops, .host = *host};
    echo->catalogue = cluster->catalogue;
    echo->slow_until = cluster->slow_until;
    return &echo->base;
}

static void forward_record(void *context, const struct record *record)
{
    const struct echo_cluster *cluster = context;
    if (cluster->on_record != NULL) {
        cluster->on_record(cluster->context, record);
    }
}

static void add_name(
    struct workflow *workflow, const char *name, enum weft_dtype dtype, uint32_t rank,
    uint32_t sink)
{
    struct workflow_input input = {.dtype = dtype, .rank = rank, .shape = {-1, -1, 3}};
    struct workflow_result result = {.task = sink};
    (void)snprintf(input.name, sizeof(input.name), "%s", name);
    (void)snprintf(result.name, sizeof(result.name), "%s", name);
    (void)snprintf(result.output, sizeof(result.output), "%s", name);
    ASSERT(workflow_add_input(workflow, &input) == WEFT_OK);
    ASSERT(workflow_add_result(workflow, &result) == WEFT_OK);
}

static struct workflow *chain(const char *name, uint32_t model, uint32_t tasks)
{
    struct workflow *workflow = workflow_create(name);
    for (uint32_t i = 0; i < tasks; i++) {
        struct workflow_task task = {.run = model, .models = {model}, .model_count = 1};
        uint32_t index;
        (void)snprintf(task.name, sizeof(task.name), "t%u", i);
        ASSERT(workflow_add_task(workflow, &task, &index) == WEFT_OK);
        if (i > 0) {
            const struct workflow_edge edge = {.from = i - 1, .to = i, .bytes = 16};
            ASSERT(workflow_add_edge(workflow, &edge) == WEFT_OK);
        }
    }
    return workflow;
}

static void add_chain(
    struct echo_cluster *cluster, const char *name, uint32_t model, uint32_t tasks)
{
    struct workflow *workflow = chain(name, model, tasks);
    if (strcmp(name, "types") == 0) {
        for (enum weft_dtype dtype = WEFT_BOOL; dtype < WEFT_DTYPES; dtype++) {
            add_name(workflow, dtype_name(dtype), dtype, 1, 0);
        }
    } else if (strcmp(name, "image") == 0) {
        add_name(workflow, "pixels", WEFT_UINT8, 3, 0);
    } else if (strcmp(name, "text") == 0) {
        add_name(workflow, "text", WEFT_BYTES, 1, 0);
    } else {
        add_name(workflow, "x", WEFT_FP32, 1, tasks - 1);
    }
    workflow->slo_ns = strcmp(name, "slow") == 0 ? INT64_C(100000000) : 0;
    ASSERT(workflow_seal(workflow, NULL) == WEFT_OK);
    ASSERT(catalogue_add_workflow(cluster->catalogue, workflow) == WEFT_OK);
}

static void make_documents(struct echo_cluster *cluster)
{
    static const char *const models[MODELS] = {"m-echo", "m-slow", "m-fail"};
    struct fleet_worker device = {.memory_bytes = 1000, .bus_bytes_per_s = 1000000, .gpu_units = 1};
    cluster->fleet = fleet_create();
    device.device = fleet_device(cluster->fleet, "d");
    ASSERT(fleet_add_machine(cluster->fleet, &device, /* workers */ 1, /* cpu_units */ 8));
    cluster->catalogue = catalogue_create();
    cluster->profile = profile_create(MODELS);
    for (uint32_t i = 0; i < MODELS; i++) {
        const struct profile_point point = {.items = 1, .run_ns = 1000};
        ASSERT(catalogue_model(cluster->catalogue, models[i]) == i);
        cluster->profile->models[i].resident_bytes = 1;
        cluster->profile->models[i].load_bytes = 1;
        ASSERT(profile_add_point(cluster->profile, i, device.device, &point) == WEFT_OK);
    }
    add_chain(cluster, "echo", MODEL_ECHO, 1);
    add_chain(cluster, "types", MODEL_ECHO, 1);
    add_chain(cluster, "image", MODEL_ECHO, 1);
    add_chain(cluster, "text", MODEL_ECHO, 1);
    add_chain(cluster, "slow", MODEL_SLOW, 1);
    add_chain(cluster, "fail", MODEL_FAIL, 1);
    add_chain(cluster, "hops", MODEL_ECHO, HOPS);
}

void echo_start(struct echo_cluster *cluster)
{
    make_documents(cluster);
    ASSERT(policy_set_parse("jit", &cluster->policies, NULL) == WEFT_OK);
    const struct runtime_options options = {
        .fleet = cluster->fleet,
        .catalogue = cluster->catalogue,
        .profile = cluster->profile,
        .policies = &cluster->policies,
        .clock = CLOCK_KIND_REAL,
        .row_load_ns = INT64_C(10000000),
        .row_cache_ns = INT64_C(50000000),
        .jobs_max = cluster->jobs_max,
        .stays = true,
        .on_record = forward_record,
        .context = cluster,
        .engine = {.context = cluster, .make = make_engine},
    };
    ASSERT(runtime_create(&options, &cluster->runtime, NULL) == WEFT_OK);
}

void echo_stop(struct echo_cluster *cluster)
{
    runtime_destroy(cluster->runtime);
    fleet_destroy(cluster->fleet);
    catalogue_destroy(cluster->catalogue);
    profile_destroy(cluster->profile);
}
