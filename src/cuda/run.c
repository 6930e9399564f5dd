/* run.c - the thread that launches batches, and asks the device what has ended. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "base/units.h"
#include "cuda/versions.h"
#include "engine/monotonic.h"
#include "engine/task_inputs.h"

enum {
    PAUSE_NS = 20000,  /* While batches wait, but none runs. */
    SPIN_NS = 1000000, /* A batch that comes so soon after another is not waited for asleep, */
    SOON_NS = 1000000, /* nor one that is expected. */
    FIRST_NS = 250000, /* Runs up to this have the highest priority. */
    HUNG_FACTOR = 20,  /* A run that takes so many times as long as the longest hangs, */
};

#define HUNG_NS                                                                                    \
    INT64_C(250000000)           /* but not before this: the device may have to wait for others. */
#define STILL_NS (5 * NS_PER_MS) /* More between two questions is time without a processor. */

/* ── A batch comes ──────────────────────────────────────────────────────────────────────── */

/* Whether @tensor has rows as @port says. */
static bool fits(const struct cuda_port *port, const struct weft_tensor *tensor)
{
    if (tensor->dtype != port->dtype || tensor->rank != port->rank + 1 || tensor->shape[0] < 0 ||
        tensor->shape[0] > ITEMS_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < port->rank; i++) {
        if (tensor->shape[i + 1] != port->shape[i]) {
            return false;
        }
    }
    return tensor->bytes == (uint64_t)tensor->shape[0] * port->row_bytes;
}

/* Find the inputs of the model among @count @tensors. */
static enum weft_status bind_inputs(
    struct engine_cuda *engine, const struct cuda_manifest *manifest, struct cuda_task *task,
    const struct weft_tensor *tensors, uint32_t count)
{
    for (uint32_t i = 0; i < manifest->input_count; i++) {
        const struct cuda_port *port = &manifest->inputs[i];
        const struct weft_tensor *found = NULL;
        for (uint32_t k = 0; k < count && found == NULL; k++) {
            found = strcmp(tensors[k].name, port->name) == 0 ? &tensors[k] : NULL;
        }
        if (found == NULL) {
            return error_set(
                &task->error, WEFT_NOT_FOUND, "the model takes '%s', which is missing", port->name);
        }
        if (!fits(port, found)) {
            return error_set(
                &task->error, WEFT_INVALID, "input '%s' has another type or shape than the model's",
                port->name);
        }
        if (i > 0 && (uint32_t)found->shape[0] != task->rows) {
            return error_set(
                &task->error, WEFT_INVALID, "input '%s' has %lld rows, another has %u", port->name,
                (long long)found->shape[0], task->rows);
        }
        task->rows = (uint32_t)found->shape[0];
        task->inputs[i] = found->data;
        task->is_pinned[i] = cuda_pins_have(&engine->pins, found->data, found->bytes);
    }
    return WEFT_OK;
}

/* Room for what @task will make. */
static enum weft_status make_output(const struct cuda_manifest *manifest, struct cuda_task *task)
{
    task->output = bundle_create();
    for (uint32_t i = 0; i < manifest->output_count && task->output != NULL; i++) {
        const struct cuda_port *port = &manifest->outputs[i];
        struct weft_tensor tensor = {.dtype = port->dtype, .rank = port->rank + 1};
        memcpy(tensor.name, port->name, sizeof(tensor.name));
        tensor.shape[0] = task->rows;
        memcpy(tensor.shape + 1, port->shape, port->rank * sizeof(*port->shape));
        tensor.bytes = task->rows * port->row_bytes;
        if (bundle_add(task->output, &tensor) == NULL) {
            bundle_destroy(task->output);
            task->output = NULL;
        }
    }
    if (task->output == NULL) {
        return error_set(&task->error, WEFT_NO_MEMORY, "no memory for outputs");
    }
    task->output->items = task->rows;
    return WEFT_OK;
}

/* What kernels read must stay, even if the batch is cancelled while they do. */
static void hold_inputs(struct cuda_task *task, const struct engine_task *from)
{
    task->bundles = memory_zeroed(from->input_count + 1, sizeof(struct bundle *));
    for (uint32_t i = 0; i < from->input_count; i++) {
        if (from->inputs[i].contents != NULL) {
            task->bundles[task->bundle_count++] = bundle_share(from->inputs[i].contents);
        }
    }
}

static void take_task(
    struct engine_cuda *engine, const struct engine_batch *given, uint32_t index,
    struct cuda_batch *batch)
{
    const struct workflow *workflow = engine->options.catalogue->workflows[given->workflow];
    const struct cuda_manifest *manifest = &engine->models[batch->place].manifest;
    const struct engine_task *from = &given->tasks[index];
    struct cuda_task *task = &batch->tasks[index];
    uint32_t count = 0;
    const struct task_inputs inputs = {
        .workflow = workflow,
        .task = given->task,
        .given = from,
    };
    enum weft_status status = task_inputs_take(&inputs, engine->taken, &count, &task->error);
    if (status == WEFT_OK) {
        hold_inputs(task, from);
        status = bind_inputs(engine, manifest, task, engine->taken, count);
    }
    if (status == WEFT_OK) {
        status = make_output(manifest, task);
    }
    if (status != WEFT_OK) {
        task->rows = 0;
    }
}

struct cuda_batch *cuda_batch_create(struct engine_cuda *engine, const struct engine_batch *given)
{
    const struct catalogue *catalogue = engine->options.catalogue;
    const struct workflow_task *kind = &catalogue->workflows[given->workflow]->tasks[given->task];
    ASSERT(given->task_count <= BATCH_TASKS_MAX);
    struct cuda_batch *batch =
        memory_zeroed(1, sizeof(*batch) + given->task_count * sizeof(batch->tasks[0]));
    batch->number = given->batch;
    batch->workflow = given->workflow;
    batch->task = given->task;
    batch->units = given->config.gpu == 0 ? UINT32_MAX : given->config.gpu;
    batch->worker = given->worker;
    batch->task_count = given->task_count;
    batch->place = cuda_version_meant(
        engine, cuda_group_of(engine, given->worker, kind->run), job_edition(given->tasks[0].job));
    if (batch->place == UINT32_MAX || !engine->models[batch->place].is_tried) {
        (void)error_set(
            &batch->error, WEFT_INVALID, "'%s', or the version that is meant, is not on this GPU",
            catalogue->models[kind->run]);
        batch->place = UINT32_MAX;
        return batch;
    }
    engine->models[batch->place].users++;
    for (uint32_t i = 0; i < given->task_count; i++) {
        take_task(engine, given, i, batch);
        batch->rows += batch->tasks[i].rows;
    }
    return batch;
}

void cuda_batch_destroy(struct engine_cuda *engine, struct cuda_batch *batch)
{
    for (uint32_t i = 0; i < batch->task_count; i++) {
        bundle_destroy(batch->tasks[i].output);
        for (uint32_t k = 0; k < batch->tasks[i].bundle_count; k++) {
            bundle_destroy(batch->tasks[i].bundles[k]);
        }
        free(batch->tasks[i].bundles);
    }
    if (batch->share != NULL) {
        cuda_shares_give(&engine->shares, batch->share);
    }
    if (batch->place != UINT32_MAX) {
        struct cuda_model *model = &engine->models[batch->place];
        model->users--;
        if (model->users == 0 && atomic_load(&model->is_leaving)) {
            (void)pthread_cond_broadcast(&engine->changed);
        }
    }
    if (cuda_graphs_are_due(engine) || engine->trials != NULL) {
        (void)pthread_cond_signal(&engine->records);
    }
    free(batch);
}

/* ── It runs ────────────────────────────────────────────────────────────────────────────── */

static uint32_t package_rows(const struct engine_cuda *engine, const struct cuda_batch *batch)
{
    return engine->models[batch->place].manifest.packages[batch->package].rows;
}

/* The smallest package that has room for what is left; the largest if none has. */
static void choose_package(const struct engine_cuda *engine, struct cuda_batch *batch)
{
    const struct cuda_manifest *manifest = &engine->models[batch->place].manifest;
    batch->package = 0;
    while (batch->package + 1 < manifest->package_count &&
           manifest->packages[batch->package].rows < batch->rows - batch->at) {
        batch->package++;
    }
}

/* Which rows of task @index, whose first is row @start of the batch, are in the run under way. */
struct part {
    uint32_t first; /* Of the task. */
    uint32_t at;    /* In the run. */
    uint32_t count;
};

static struct part part_of(
    const struct engine_cuda *engine, const struct cuda_batch *batch, uint32_t start, uint32_t rows)
{
    const uint32_t run_end = batch->at + package_rows(engine, batch);
    const uint32_t low = max_u32(start, batch->at);
    const uint32_t high = min_u32(start + rows, run_end);
    return low >= high ? (struct part){.count = 0}
                       : (struct part){low - start, low - batch->at, high - low};
}

/* Rows of @task are read where they lie, or copied into the memory of @graph. */
static void give_rows(
    const struct cuda_manifest *manifest, const struct cuda_task *task, struct part part,
    struct cuda_graph *graph)
{
    for (uint32_t i = 0; i < manifest->input_count; i++) {
        const uint64_t bytes = manifest->inputs[i].row_bytes;
        for (uint32_t k = 0; k < part.count; k++) {
            const uint8_t *row = task->inputs[i] + (part.first + k) * bytes;
            if (!task->is_pinned[i] || !cuda_graph_set_row(graph, i, part.at + k, row)) {
                cuda_graph_own_row(graph, i, part.at + k);
                memcpy(graph->host + graph->input_at[i] + (part.at + k) * bytes, row, bytes);
            }
        }
    }
}

static void take_rows(
    const struct cuda_manifest *manifest, const struct cuda_task *task, struct part part,
    const struct cuda_graph *graph)
{
    for (uint32_t i = 0; i < manifest->output_count; i++) {
        const uint64_t bytes = manifest->outputs[i].row_bytes;
        memcpy(
            (uint8_t *)task->output->tensors[i].data + part.first * bytes,
            graph->host + graph->output_at[i] + part.at * bytes, part.count * bytes);
    }
}

/* What nothing is given for is read as well: where an earlier batch lay there may be nothing. */
static void own_rest(
    const struct cuda_manifest *manifest, const struct cuda_batch *batch, struct cuda_graph *graph)
{
    for (uint32_t i = 0; i < manifest->input_count; i++) {
        for (uint32_t k = batch->rows - batch->at; k < graph->rows; k++) {
            cuda_graph_own_row(graph, i, k);
        }
    }
}

/* Rows between the inputs or outputs of all tasks and the host memory of @graph. */
static void move_rows(
    const struct engine_cuda *engine, const struct cuda_batch *batch, struct cuda_graph *graph,
    bool is_input)
{
    const struct cuda_manifest *manifest = &engine->models[batch->place].manifest;
    uint32_t start = 0;
    if (is_input) {
        own_rest(manifest, batch, graph);
    }
    for (uint32_t i = 0; i < batch->task_count; i++) {
        const struct cuda_task *task = &batch->tasks[i];
        const struct part part = part_of(engine, batch, start, task->rows);
        start += task->rows;
        if (part.count > 0 && is_input) {
            give_rows(manifest, task, part, graph);
        } else if (part.count > 0) {
            take_rows(manifest, task, part, graph);
        }
    }
}

static struct cuda_graph *graph_of(struct engine_cuda *engine, const struct cuda_batch *batch)
{
    return engine->models[batch->place].graphs[batch->package][batch->share->number];
}

/* The shorter the run of @graph, the sooner: half as long is one level more. */
static uint32_t level_of(const struct engine_cuda *engine, const struct cuda_graph *graph)
{
    uint32_t level = (uint32_t)engine->shares.priorities;
    for (int64_t ns = FIRST_NS; level > 0 && ns < graph->run_ns; ns *= 2) {
        level--;
    }
    return level;
}

/* Start the next run of @batch, or let its graph be made first. */
static void start_run(struct engine_cuda *engine, struct cuda_batch *batch)
{
    struct cuda_graph *graph = graph_of(engine, batch);
    if (graph == NULL) {
        batch->state = BATCH_RECORDS;
        batch->is_disturbed = true;
        (void)pthread_cond_signal(&engine->records);
        return;
    }
    if (engine->options.have_priorities) {
        graph->stream = cuda_shares_stream(&engine->shares, batch->share, level_of(engine, graph));
    }
    move_rows(engine, batch, graph, /* is_input */ true);
    batch->launched_ns = monotonic_ns();
    batch->asked_ns = batch->launched_ns;
    batch->waited_ns = 0;
    graph->used_ns = batch->launched_ns;
    const enum weft_status status = cuda_graph_launch(graph, &batch->error);
    cuda_mind(engine, status, &batch->error);
    batch->state = status == WEFT_OK ? BATCH_RUNS : BATCH_READY;
}

static void tell(struct engine_cuda *engine, struct cuda_batch *batch)
{
    struct engine_output outputs[BATCH_TASKS_MAX];
    struct engine_done done = {
        .kind = ENGINE_RAN,
        .status = batch->error.status,
        .message = batch->error.status == WEFT_OK ? NULL : batch->error.message,
        .worker = batch->worker,
        .batch = batch->number,
        .run_ns = batch->run_ns,
        .is_disturbed = batch->is_disturbed,
    };
    for (uint32_t i = 0; i < batch->task_count && done.status == WEFT_OK; i++) {
        struct cuda_task *task = &batch->tasks[i];
        const struct workflow *workflow = engine->options.catalogue->workflows[batch->workflow];
        if (task->output != NULL &&
            task_output_check(workflow, batch->task, task->output, &task->error) != WEFT_OK) {
            bundle_destroy(task->output);
            task->output = NULL;
        }
        outputs[i] = (struct engine_output){
            .contents = task->output,
            .bytes = task->output == NULL ? 0 : task->output->bytes,
            .items = task->output == NULL ? 0 : task->output->items,
            .status = task->error.status,
            .message = task->error.status == WEFT_OK ? NULL : task->error.message,
        };
        task->output = NULL; /* The host's. */
        done.outputs = outputs;
        done.output_count = i + 1;
    }
    engine->base.host.done(engine->base.host.context, &done);
}

/* @batch, which has left the list, is over. */
static void finish(struct engine_cuda *engine, struct cuda_batch *batch)
{
    if (!batch->is_cancelled) {
        if (batch->share != NULL) {
            cuda_shares_give(&engine->shares, batch->share);
            batch->share = NULL;
        }
        tell(engine, batch);
    } else if (engine->base.host.stopped != NULL) {
        engine->base.host.stopped(engine->base.host.context, batch->number);
    }
    cuda_batch_destroy(engine, batch);
}

/*
 * The run of @batch, of @graph, has not ended. Graphs take as long as they did before, more or
 * less; one that takes many times as long never ends, and nor do those behind it. What is not
 * counted is time in which this thread had no processor, and in which others were recorded: loading
 * code makes the whole device wait.
 */
static void mind_hang(
    struct engine_cuda *engine, struct cuda_batch *batch, const struct cuda_graph *graph)
{
    const int64_t now_ns = monotonic_ns();
    const int64_t since_ns = now_ns - batch->asked_ns;
    batch->asked_ns = now_ns;
    if (!engine->is_recording) {
        batch->waited_ns += min_i64(since_ns, STILL_NS);
    }
    if (batch->waited_ns > max_i64(HUNG_FACTOR * graph->most_ns, HUNG_NS)) {
        engine->options.hung(engine->base.host.context, batch->number);
        abort();
    }
}

/* Whether the run of @batch has ended, and the batch with it. */
static bool poll_run(struct engine_cuda *engine, struct cuda_batch *batch)
{
    struct cuda_graph *graph = graph_of(engine, batch);
    const enum weft_status status = cuda_graph_poll(graph, &batch->error);
    if (status == WEFT_BUSY) {
        mind_hang(engine, batch, graph);
        return false;
    }
    cuda_mind(engine, status, &batch->error);
    if (status != WEFT_OK || batch->is_cancelled) {
        return true;
    }
    const int64_t run_ns = monotonic_ns() - batch->launched_ns;
    graph->run_ns = graph->run_ns == 0 || run_ns < graph->run_ns ? run_ns : graph->run_ns;
    graph->most_ns = max_i64(run_ns, graph->most_ns);
    move_rows(engine, batch, graph, /* is_input */ false);
    batch->at += package_rows(engine, batch);
    if (batch->at < batch->rows) {
        choose_package(engine, batch);
        batch->has_wanted = false;
        if (graph_of(engine, batch) != NULL) {
            start_run(engine, batch);
        } else { /* Another share may have it. */
            cuda_shares_give(&engine->shares, batch->share);
            batch->share = NULL;
            batch->state = BATCH_WAITS;
        }
        return batch->error.status != WEFT_OK;
    }
    batch->run_ns = monotonic_ns() - batch->start_ns;
    return true;
}

/* It has a share. */
static void start(struct engine_cuda *engine, struct cuda_batch *batch)
{
    batch->start_ns = batch->start_ns == 0 ? monotonic_ns() : batch->start_ns;
    if (batch->share->uses++ == 0) {
        cuda_graphs_look_ahead(engine);
    }
    for (const struct cuda_batch *other = engine->batches; other != NULL; other = other->next) {
        batch->is_disturbed = batch->is_disturbed || other->state == BATCH_RUNS;
    }
    batch->is_disturbed = batch->is_disturbed || engine->is_recording;
    cuda_batches_disturb(engine);
    start_run(engine, batch);
}

/* Let @batch go on. Whether it is over. */
static bool step(struct engine_cuda *engine, struct cuda_batch *batch)
{
    switch (batch->state) {
    case BATCH_WAITS:
        if (batch->is_cancelled || batch->error.status != WEFT_OK || batch->rows == 0) {
            return true;
        }
        choose_package(engine, batch);
        cuda_batch_take_share(engine, batch);
        if (batch->share != NULL) {
            start(engine, batch);
        }
        return batch->error.status != WEFT_OK;
    case BATCH_RECORDS:
        return false;
    case BATCH_READY:
        if (batch->is_cancelled || batch->error.status != WEFT_OK) {
            return true;
        }
        start_run(engine, batch);
        return batch->error.status != WEFT_OK;
    case BATCH_RUNS:
        return poll_run(engine, batch);
    }
    return true;
}

/* Let all batches go on. Whether any is running. */
static bool step_all(struct engine_cuda *engine)
{
    bool runs = false;
    struct cuda_batch **link = &engine->batches;
    while (*link != NULL) {
        struct cuda_batch *batch = *link;
        if (step(engine, batch)) {
            *link = batch->next;
            finish(engine, batch); /* The host may launch, at the end of the list, or cancel. */
        } else {
            runs = runs || batch->state == BATCH_RUNS;
            link = &batch->next;
        }
    }
    return runs;
}

void *cuda_launcher_main(void *argument)
{
    struct engine_cuda *engine = argument;
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    struct weft_error error;
    bool is_idle = true;
    int64_t awake_ns = 0; /* Until when it is not waited for asleep. */
    cuda_mind(engine, cuda_device_enter(&engine->device, &error), &error);
    for (;;) {
        const enum engine_fetch how = !is_idle                     ? FETCH_NOW
                                      : monotonic_ns() <= awake_ns ? FETCH_SOON
                                                                   : FETCH_WAIT;
        const enum engine_fetched fetched = engine->options.fetch(engine->base.host.context, how);
        if (fetched == FETCHED_END) {
            break;
        }
        awake_ns = fetched == FETCHED_SOON ? monotonic_ns() + SOON_NS : awake_ns;
        cuda_lock(engine);
        const bool was_idle = engine->batches == NULL;
        const bool runs = step_all(engine);
        is_idle = engine->batches == NULL;
        atomic_store_explicit(&engine->is_busy, !is_idle, memory_order_relaxed);
        awake_ns = was_idle ? awake_ns : max_i64(awake_ns, monotonic_ns() + SPIN_NS);
        const bool ends = engine->ends;
        cuda_unlock(engine);
        if (ends) {
            break;
        }
        if (!is_idle && !runs) {
            (void)nanosleep(&pause, NULL);
        }
    }
    return NULL;
}
