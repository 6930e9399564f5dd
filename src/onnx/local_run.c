/* local_run.c - a thread that runs batches: inputs by their ports, then a model or function. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "engine/monotonic.h"
#include "engine/task_inputs.h"
#include "onnx/local_inside.h"

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

static enum weft_status take_inputs(
    const struct stage *stage, struct local_task *task, struct weft_tensor *inputs,
    uint32_t *count_out)
{
    const struct task_inputs from = {
        .workflow = stage->workflow,
        .task = stage->operation->batch.task,
        .given = task->given,
    };
    return task_inputs_take(&from, inputs, count_out, &task->error);
}

static void fail_task(struct local_task *task, const struct weft_error *error)
{
    bundle_destroy(task->output);
    task->output = NULL;
    task->error = *error;
}

static void check_outputs(const struct stage *stage, struct local_task *task)
{
    struct weft_error error;
    if (task_output_check(stage->workflow, stage->operation->batch.task, task->output, &error) !=
        WEFT_OK) {
        fail_task(task, &error);
    }
}

static void add_usage(struct onnx_usage *sum, const struct onnx_usage *usage)
{
    sum->run_count += usage->run_count;
    sum->left_bytes += usage->left_bytes;
    sum->is_odd = sum->is_odd || usage->is_odd;
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

/* The version of number @index of the task's models that the jobs of the batch name; or NULL. */
static struct onnx_model *version_of(const struct operation *operation, uint32_t index)
{
    const struct local_model *model = operation->models[index];
    const uint32_t edition = job_edition(operation->batch.tasks[0].job);
    const uint32_t at = artifact_version_at(&model->versions, edition);
    return at < ARTIFACT_VERSIONS_MAX ? model->onnx[at] : NULL;
}

static void run_models(struct stage *stage, uint32_t index, struct onnx_model *model)
{
    struct operation *operation = stage->operation;
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
    onnx_run_split(
        model, stage->runner->options, stage->models, count, operation->batch.config.parts,
        &operation->usages[index]);
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
    if (index == stage->kind->model_count || operation->models[index]->onnx[0] == NULL) {
        return error_set(
            error, WEFT_NOT_FOUND, "task '%s' does not list model '%s'", stage->kind->name, name);
    }
    struct onnx_model *model = version_of(operation, index);
    if (model == NULL) {
        return error_set(error, WEFT_FAILED, "the version of '%s' is not here", name);
    }
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

static void run_functions(struct stage *stage, const struct artifact *artifact, const char *path)
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
    if (operation->is_renewed && engine->pool != NULL) {
        function_pool_renew(engine->pool, path);
    }
    for (uint32_t i = 0; i < operation->batch.task_count; i++) {
        struct local_task *task = &operation->tasks[i];
        struct function_task call = {.inputs = stage->inputs[0], .items = task->given->items};
        struct function function;
        if (take_inputs(stage, task, stage->inputs[0], &call.input_count) != WEFT_OK) {
            continue;
        }
        if (engine->pool != NULL) {
            function_pool_run(
                engine->pool, path, artifact->function, &host, &stage->runner->slot, &call);
        } else if (function_open(path, artifact->function, &function, &call.error) == WEFT_OK) {
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
    const bool is_function = artifact->kind == ARTIFACT_FUNCTION;
    char path[PATH_MAX];
    struct weft_error error = {.status = WEFT_OK};
    if (is_function && operation->file.is_missing == 0 &&
        artifact_function_path(artifact->path, operation->file.version, path, sizeof(path))) {
        run_functions(stage, artifact, path);
    } else if (
        artifact->kind == ARTIFACT_ONNX && index < stage->kind->model_count &&
        version_of(operation, index) != NULL) {
        run_models(stage, index, version_of(operation, index));
    } else if (
        is_function || (artifact->kind == ARTIFACT_ONNX && index < stage->kind->model_count)) {
        (void)error_set(
            &error, WEFT_FAILED, "the version of '%s' is not here",
            stage->engine->catalogue->models[stage->kind->run]);
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
