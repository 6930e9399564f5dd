/* local_run.c - a thread that runs batches: inputs by their ports, then a model or function. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/memory.h"
#include "engine/local_inside.h"

/* What the run of a batch is made with. */
struct stage {
    struct engine_local *engine;
    struct local_runner *runner;
    struct operation *operation;
    const struct workflow *workflow;
    const struct workflow_task *kind;
    struct onnx_task models[BATCH_TASKS_MAX];
    struct weft_tensor inputs[BATCH_TASKS_MAX][BUNDLE_TENSORS_MAX];
};

static int64_t monotonic_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* It is always there. */
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static const char *producer_name(const struct stage *stage, uint32_t from)
{
    return from == TASK_NONE ? "the request" : stage->workflow->tasks[from].name;
}

/* The bundle that @port takes its tensor from; NULL if there is none. */
static const struct bundle *source_of(
    const struct stage *stage, const struct local_task *task, const struct workflow_port *port)
{
    uint32_t index = 0;
    if (port->from != TASK_NONE) {
        index = UINT32_MAX;
        for (uint32_t i = 0; i < stage->kind->in_count; i++) {
            const struct workflow_edge *edge = workflow_in(stage->workflow, port->task, i);
            index = edge->from == port->from ? edge->in_index : index;
        }
    }
    return index < task->given->input_count ? task->given->inputs[index].contents : NULL;
}

static enum weft_status take_ports(
    const struct stage *stage, struct local_task *task, struct weft_tensor *inputs,
    uint32_t *count_out)
{
    const struct workflow *workflow = stage->workflow;
    uint32_t count = 0;
    for (uint32_t i = 0; i < workflow->port_count; i++) {
        const struct workflow_port *port = &workflow->ports[i];
        if (port->task != stage->operation->batch.task) {
            continue;
        }
        if (count == BUNDLE_TENSORS_MAX) {
            return error_set(&task->error, WEFT_LIMIT, "more than %d inputs", BUNDLE_TENSORS_MAX);
        }
        const struct bundle *source = source_of(stage, task, port);
        const struct weft_tensor *found = source == NULL ? NULL : bundle_find(source, port->output);
        if (found == NULL) {
            return error_set(
                &task->error, WEFT_NOT_FOUND, "input '%s': %s has no '%s'", port->name,
                producer_name(stage, port->from), port->output);
        }
        inputs[count] = *found;
        memcpy(inputs[count].name, port->name, sizeof(port->name));
        count++;
    }
    *count_out = count;
    return WEFT_OK;
}

/* Without ports, tensors go by the names that they have. */
static void take_all(const struct local_task *task, struct weft_tensor *inputs, uint32_t *count_out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < task->given->input_count; i++) {
        const struct bundle *source = task->given->inputs[i].contents;
        const uint32_t offered = source == NULL ? 0 : source->count;
        for (uint32_t k = 0; k < offered && count < BUNDLE_TENSORS_MAX; k++) {
            inputs[count++] = source->tensors[k];
        }
    }
    *count_out = count;
}

static enum weft_status take_inputs(
    const struct stage *stage, struct local_task *task, struct weft_tensor *inputs,
    uint32_t *count_out)
{
    bool has_ports = false;
    for (uint32_t i = 0; i < stage->workflow->port_count; i++) {
        has_ports = has_ports || stage->workflow->ports[i].task == stage->operation->batch.task;
    }
    if (has_ports) {
        return take_ports(stage, task, inputs, count_out);
    }
    take_all(task, inputs, count_out);
    return WEFT_OK;
}

static void fail_task(struct local_task *task, const struct weft_error *error)
{
    bundle_destroy(task->output);
    task->output = NULL;
    task->error = *error;
}

/* Whether @output has what the answer takes of it, as the document declares it. */
static void check_result(
    const struct workflow_result *result, const struct bundle *output, struct weft_error *error)
{
    const struct weft_tensor *made = bundle_find(output, result->output);
    char wanted[ONNX_SHAPE_BYTES];
    char got[ONNX_SHAPE_BYTES];
    if (made == NULL) {
        (void)error_set(
            error, WEFT_FAILED, "output '%s', which the answer has as '%s', was not made",
            result->output, result->name);
        return;
    }
    bool fits =
        !result->is_declared || (made->dtype == result->dtype && made->rank == result->rank);
    for (uint32_t i = 0; result->is_declared && i < result->rank && fits; i++) {
        fits = result->shape[i] < 0 || result->shape[i] == made->shape[i];
    }
    if (!fits) {
        (void)error_set(
            error, WEFT_FAILED, "output '%s' is declared as %s, and was made as %s", result->name,
            onnx_shape_text(wanted, result->dtype, result->rank, result->shape),
            onnx_shape_text(got, made->dtype, made->rank, made->shape));
    }
}

/* Whoever comes next, or the client, must find what it takes. */
static void check_outputs(const struct stage *stage, struct local_task *task)
{
    const struct workflow *workflow = stage->workflow;
    const uint32_t self = stage->operation->batch.task;
    struct weft_error error = {.status = WEFT_OK};
    for (uint32_t i = 0; i < workflow->port_count && error.status == WEFT_OK; i++) {
        const struct workflow_port *port = &workflow->ports[i];
        if (port->from == self && bundle_find(task->output, port->output) == NULL) {
            (void)error_set(
                &error, WEFT_FAILED, "output '%s', which task '%s' takes, was not made",
                port->output, workflow->tasks[port->task].name);
        }
    }
    for (uint32_t i = 0; i < workflow->result_count && error.status == WEFT_OK; i++) {
        if (workflow->results[i].task == self) {
            check_result(&workflow->results[i], task->output, &error);
        }
    }
    if (error.status != WEFT_OK) {
        fail_task(task, &error);
    }
}

static void add_usage(struct onnx_usage *sum, const struct onnx_usage *usage)
{
    sum->run_count += usage->run_count;
    sum->left_bytes += usage->left_bytes;
    if (usage->workspace_bytes > sum->workspace_bytes) {
        sum->workspace_bytes = usage->workspace_bytes;
        sum->rows_most = usage->rows_most;
    }
}

/* Make the thread able to be told to stop. */
static void prepare(struct local_runner *runner, const struct ort *ort)
{
    if (runner->ort == NULL) {
        struct OrtRunOptions *options = NULL;
        const enum weft_status status =
            ort_check(ort, ort->api.CreateRunOptions(&options), "run", NULL);
        (void)pthread_mutex_lock(&runner->lock);
        if (status == WEFT_OK) {
            runner->options = options;
            runner->ort = ort;
            /* It may have been told before it could be. */
            if (runner->current != NULL && atomic_load(&runner->current->is_cancelled)) {
                (void)ort_check(ort, ort->api.RunOptionsSetTerminate(options), "stop", NULL);
            }
        }
        (void)pthread_mutex_unlock(&runner->lock);
    }
}

static void run_models(struct stage *stage, uint32_t index)
{
    struct operation *operation = stage->operation;
    struct onnx_model *model = operation->models[index]->onnx;
    uint32_t order[BATCH_TASKS_MAX];
    uint32_t count = 0;
    prepare(stage->runner, model->ort);
    for (uint32_t i = 0; i < operation->batch.task_count; i++) {
        struct local_task *task = &operation->tasks[i];
        struct onnx_task *run = &stage->models[count];
        if (take_inputs(stage, task, stage->inputs[count], &run->input_count) == WEFT_OK) {
            run->inputs = stage->inputs[count];
            order[count++] = i;
        }
    }
    onnx_run(model, stage->runner->options, stage->models, count, &operation->usages[index]);
    for (uint32_t i = 0; i < count; i++) {
        struct local_task *task = &operation->tasks[order[i]];
        task->output = stage->models[i].output;
        task->error = stage->models[i].error;
        if (task->output != NULL && !atomic_load(&model->has_rows)) {
            task->output->items = task->given->items; /* Nothing in the tensors tells how many. */
        }
    }
}

/* A function wants one of the models that its task lists. */
static enum weft_status run_for_function(
    void *context, const char *name, const struct weft_tensor *inputs, uint32_t input_count,
    struct bundle **output_out, struct weft_error *error)
{
    struct stage *stage = context;
    struct operation *operation = stage->operation;
    uint32_t index = 0;
    while (index < stage->kind->model_count &&
           strcmp(stage->engine->catalogue->models[stage->kind->models[index]], name) != 0) {
        index++;
    }
    if (index == stage->kind->model_count || operation->models[index]->onnx == NULL) {
        return error_set(
            error, WEFT_NOT_FOUND, "task '%s' does not list model '%s'", stage->kind->name, name);
    }
    struct onnx_model *model = operation->models[index]->onnx;
    struct onnx_task task = {.inputs = inputs, .input_count = input_count};
    struct onnx_usage usage;
    prepare(stage->runner, model->ort);
    onnx_run(model, stage->runner->options, &task, 1, &usage);
    add_usage(&operation->usages[index], &usage);
    *output_out = task.output;
    if (task.output == NULL) {
        *error = task.error;
    }
    return task.output == NULL ? task.error.status : WEFT_OK;
}

static bool is_cancelled(void *context)
{
    const struct stage *stage = context;
    return atomic_load(&stage->operation->is_cancelled);
}

static void run_functions(struct stage *stage, const struct artifact *artifact)
{
    struct engine_local *engine = stage->engine;
    struct operation *operation = stage->operation;
    const struct function_host host = {
        .context = stage,
        .run = run_for_function,
        .is_cancelled = is_cancelled,
        .output_bytes_max = engine->output_bytes_max,
        .run_ns_max = artifact->run_ns_max,
    };
    for (uint32_t i = 0; i < operation->batch.task_count; i++) {
        struct local_task *task = &operation->tasks[i];
        struct function_task call = {.inputs = stage->inputs[0], .items = task->given->items};
        struct function function;
        if (take_inputs(stage, task, stage->inputs[0], &call.input_count) != WEFT_OK) {
            continue;
        }
        if (engine->pool != NULL) {
            function_pool_run(
                engine->pool, artifact->path, artifact->function, &host, &stage->runner->slot,
                &call);
        } else if (
            function_open(artifact->path, artifact->function, &function, &call.error) == WEFT_OK) {
            function_run(&function, &host, &call);
        }
        task->output = call.output;
        task->error = call.error;
    }
}

/* Which of the task's models is the one that it runs. */
static uint32_t index_of_run(const struct workflow_task *kind)
{
    uint32_t index = 0;
    while (index < kind->model_count && kind->models[index] != kind->run) {
        index++;
    }
    return index;
}

static void run_batch(struct stage *stage)
{
    struct operation *operation = stage->operation;
    const struct artifact *artifact = &stage->engine->artifacts->items[stage->kind->run];
    const uint32_t index = index_of_run(stage->kind);
    struct weft_error error = {.status = WEFT_OK};
    if (artifact->kind == ARTIFACT_FUNCTION) {
        run_functions(stage, artifact);
    } else if (artifact->kind == ARTIFACT_ONNX && index < stage->kind->model_count) {
        run_models(stage, index);
    } else {
        (void)error_set(
            &error, WEFT_INVALID, "no engine here can run '%s'",
            stage->engine->catalogue->models[stage->kind->run]);
    }
    for (uint32_t i = 0; i < operation->batch.task_count; i++) {
        struct local_task *task = &operation->tasks[i];
        if (error.status != WEFT_OK) {
            fail_task(task, &error);
        } else if (task->output != NULL) {
            check_outputs(stage, task);
        }
    }
}

/* From here on @operation can be cancelled by way of @runner; with NULL, no more. */
static void set_current(struct local_runner *runner, struct operation *operation)
{
    (void)pthread_mutex_lock(&runner->lock);
    runner->current = operation;
    if (operation != NULL) {
        function_slot_reset(&runner->slot);
        if (runner->options != NULL) {
            (void)ort_check(
                runner->ort, runner->ort->api.RunOptionsUnsetTerminate(runner->options), "start",
                NULL);
        }
    }
    (void)pthread_mutex_unlock(&runner->lock);
}

void local_runner_cancel(struct local_runner *runner, const struct operation *operation)
{
    (void)pthread_mutex_lock(&runner->lock);
    if (runner->current != NULL && runner->current == operation) {
        function_slot_cancel(&runner->slot);
        if (runner->options != NULL) {
            (void)ort_check(
                runner->ort, runner->ort->api.RunOptionsSetTerminate(runner->options), "stop",
                NULL);
        }
    }
    (void)pthread_mutex_unlock(&runner->lock);
}

/* The next batch for @runner; waits for one. NULL if there will be none. */
static struct operation *next_operation(struct local_runner *runner)
{
    const struct engine_local *engine = runner->engine;
    if (engine->fetch == NULL) {
        return (struct operation *)queue_pop(runner->queue); /* queued is the first member. */
    }
    struct queued *item;
    while ((item = queue_try(runner->queue)) == NULL) {
        if (!engine->fetch(engine->base.host.context)) {
            return NULL;
        }
    }
    return (struct operation *)item;
}

void *local_runner_main(void *argument)
{
    struct local_runner *runner = argument;
    struct engine_local *engine = runner->engine;
    struct stage *stage = memory_zeroed(1, sizeof(*stage)); /* Too large for a stack. */
    for (;;) {
        struct operation *operation = next_operation(runner);
        if (operation == NULL) {
            break;
        }
        stage->engine = engine;
        stage->runner = runner;
        stage->operation = operation;
        stage->workflow = engine->catalogue->workflows[operation->batch.workflow];
        stage->kind = &stage->workflow->tasks[operation->batch.task];
        set_current(runner, operation);
        const int64_t start_ns = monotonic_ns();
        if (!atomic_load(&operation->is_cancelled)) {
            run_batch(stage);
        }
        operation->run_ns = monotonic_ns() - start_ns;
        set_current(runner, NULL);
        for (uint32_t i = 0; i < stage->kind->model_count; i++) {
            local_release(engine, operation->models[i]);
            operation->models[i] = NULL;
        }
        local_finish(engine, operation);
    }
    free(stage);
    return NULL;
}
