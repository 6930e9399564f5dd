#include "service/local_index.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "engine/bundle.h"
#include "model/builtin.h"
#include "runtime/runtime.h"
#include "service/gpu_watch.h"

enum { REASON_BYTES = sizeof(((struct server_entry *)NULL)->reason) };

/* Why @model of a workflow cannot be used: false if it can. */
static bool model_fault(
    const struct local_index *index, uint32_t model, bool is_alone, char out[static REASON_BYTES])
{
    const struct measured *measured = index->measured;
    const char *fault = measured->looks[model].fault;
    if (fault[0] != '\0') {
        (void)snprintf(out, REASON_BYTES, "%s", fault);
        return true;
    }
    if (model_set_has(&index->unloaded, model)) {
        (void)snprintf(
            out, REASON_BYTES, is_alone ? "unloaded" : "'%s' is unloaded",
            measured->repository->catalogue->models[model]);
        return true;
    }
    return false;
}

/* Why workflow @number cannot be used, as the first of its models says: false if it can. */
static bool find_fault(
    const struct local_index *index, uint32_t number, char out[static REASON_BYTES])
{
    const struct repository *repository = index->measured->repository;
    const struct workflow *workflow = repository->catalogue->workflows[number];
    const bool is_alone = repository_is_alone(repository, number);
    if (index->closed[number]) {
        (void)snprintf(out, REASON_BYTES, "unloaded");
        return true;
    }
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        for (uint32_t k = 0; k < workflow->tasks[i].model_count; k++) {
            if (model_fault(index, workflow->tasks[i].models[k], is_alone, out)) {
                return true;
            }
        }
    }
    return false;
}

static bool is_looking(const struct local_index *index, const struct workflow *workflow)
{
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        for (uint32_t k = 0; k < workflow->tasks[i].model_count; k++) {
            if (model_set_has(&index->looking, workflow->tasks[i].models[k])) {
                return true;
            }
        }
    }
    return false;
}

/* Whether the first extent of all @ports is open. */
static bool are_rows(const struct workflow_input *ports, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (ports[i].rank == 0 || ports[i].shape[0] != -1 || ports[i].is_any_rank) {
            return false;
        }
    }
    return count > 0;
}

/* The rows that a request for @model alone may have; 0: its first extents count none. */
static uint32_t batch_max_of(const struct local_index *index, uint32_t model)
{
    const struct measure_signature *signature = &index->measured->looks[model].signature;
    const uint32_t most = index->measured->repository->files[model].batch_max;
    if (most == 1 || index->measured->looks[model].alone[0] != '\0' ||
        !are_rows(signature->inputs, signature->input_count) ||
        !are_rows(signature->outputs, signature->output_count)) {
        return 0;
    }
    return most == 0 ? ITEMS_MAX : most;
}

/* Whether @port is given a part of the request. */
static bool takes_request(
    const struct repository *repository, const struct workflow *workflow,
    const struct workflow_port *port)
{
    return port->from == TASK_NONE ||
           (builtin_is_reserved(repository->catalogue->models[workflow->tasks[port->from].run]) &&
            workflow->tasks[port->from].in_count == 0);
}

/* The rows of a request are its items if all that takes a part of it is models with rows. */
static uint32_t rows_max(void *context, uint32_t number)
{
    const struct local_index *index = context;
    const struct repository *repository = index->measured->repository;
    const struct workflow *workflow = repository->catalogue->workflows[number];
    uint32_t most = ITEMS_MAX;
    if (repository_is_alone(repository, number)) {
        return batch_max_of(index, workflow->tasks[0].run);
    }
    for (uint32_t i = 0; i < workflow->port_count && most > 0; i++) {
        const struct workflow_port *port = &workflow->ports[i];
        if (takes_request(repository, workflow, port)) {
            most = min_u32(most, batch_max_of(index, workflow->tasks[port->task].run));
        }
    }
    return workflow->port_count == 0 ? 0 : most;
}

static const char *platform_of(const struct repository *repository, uint32_t number)
{
    const struct workflow *workflow = repository->catalogue->workflows[number];
    if (!repository_is_alone(repository, number)) {
        return "weft_workflow";
    }
    return repository->files[workflow->tasks[0].run].path == NULL ? "torch_aoti"
                                                                  : "onnxruntime_onnx";
}

static bool entry(void *context, uint32_t number, struct server_entry *entry_out)
{
    const struct local_index *index = context;
    const struct repository *repository = index->measured->repository;
    if (number >= repository->catalogue->workflow_count) {
        return false;
    }
    const struct workflow *workflow = repository->catalogue->workflows[number];
    const bool is_alone = repository_is_alone(repository, number);
    const uint32_t run = workflow->tasks[0].run;
    const uint32_t version = !is_alone                  ? 1
                             : index->versions[run] > 0 ? index->versions[run]
                                                        : repository->files[run].version;
    *entry_out = (struct server_entry){.platform = platform_of(repository, number)};
    if (is_alone) {
        const char *cause = index->measured->looks[workflow->tasks[0].run].alone;
        entry_out->batch_max = batch_max_of(index, workflow->tasks[0].run);
        entry_out->alone = cause[0] == '\0' ? NULL : cause;
    }
    const bool is_faulty = find_fault(index, number, entry_out->reason);
    const char *state = !is_faulty                    ? "READY"
                        : is_looking(index, workflow) ? "LOADING"
                                                      : "UNAVAILABLE";
    (void)snprintf(entry_out->name, sizeof(entry_out->name), "%s", workflow->name);
    (void)snprintf(entry_out->version, sizeof(entry_out->version), "%" PRIu32, version);
    (void)snprintf(entry_out->state, sizeof(entry_out->state), "%s", state);
    return true;
}

static bool is_ready(void *context, uint32_t workflow)
{
    char reason[REASON_BYTES];
    return !find_fault(context, workflow, reason);
}

/* The task that makes @result: behind what only hands it on. */
static const struct workflow_task *maker_of(
    const struct repository *repository, const struct workflow *workflow,
    const struct workflow_result *result)
{
    const struct workflow_task *task = &workflow->tasks[result->task];
    if (builtin_is_reserved(repository->catalogue->models[task->run])) {
        task = &workflow->tasks[workflow_in(workflow, result->task, 0)->from];
    }
    return task;
}

static bool describe(void *context, uint32_t number, uint32_t index, struct weft_tensor *tensor_out)
{
    const struct local_index *local = context;
    const struct measured *measured = local->measured;
    const struct repository *repository = measured->repository;
    const struct workflow *workflow = repository->catalogue->workflows[number];
    const struct workflow_result *result = &workflow->results[index];
    const struct measure_signature *signature =
        &measured->looks[maker_of(repository, workflow, result)->run].signature;
    for (uint32_t i = 0; i < signature->output_count; i++) {
        const struct workflow_input *output = &signature->outputs[i];
        if (strcmp(output->name, result->output) == 0) {
            tensor_out->dtype = output->dtype;
            tensor_out->rank = output->rank;
            memcpy(tensor_out->shape, output->shape, sizeof(tensor_out->shape));
            return true;
        }
    }
    if (local->seen[number][index].rank > WEFT_RANK_MAX) {
        return false;
    }
    *tensor_out = local->seen[number][index];
    return true;
}

void local_index_learn(
    struct local_index *index, const struct runtime *runtime, uint32_t number,
    const struct runtime_answer *answer)
{
    ASSERT(number < index->measured->repository->catalogue->workflow_count);
    const struct workflow *workflow = index->measured->repository->catalogue->workflows[number];
    for (uint32_t i = 0; i < workflow->result_count; i++) {
        const uint32_t sink = workflow->tasks[workflow->results[i].task].sink;
        uint64_t bytes = 0;
        const struct bundle *bundle = sink < answer->output_count
                                          ? runtime_contents(runtime, answer->outputs[sink], &bytes)
                                          : NULL;
        const struct weft_tensor *tensor =
            bundle == NULL ? NULL : bundle_find(bundle, workflow->results[i].output);
        if (tensor == NULL) {
            continue;
        }
        struct weft_tensor *seen = &index->seen[number][i];
        const bool varies = seen->rank <= WEFT_RANK_MAX && seen->rank != tensor->rank;
        *seen = (struct weft_tensor){.dtype = tensor->dtype, .rank = varies ? 1 : tensor->rank};
        for (uint32_t k = 0; k < WEFT_RANK_MAX; k++) {
            seen->shape[k] = -1; /* The next answer may be longer. */
        }
    }
}

bool local_index_is_unknown(const struct local_index *index, uint32_t number)
{
    ASSERT(number < index->measured->repository->catalogue->workflow_count);
    const struct workflow *workflow = index->measured->repository->catalogue->workflows[number];
    for (uint32_t i = 0; i < workflow->result_count; i++) {
        struct weft_tensor tensor;
        if (!workflow->results[i].is_declared &&
            !describe((void *)(uintptr_t)index, number, i, &tensor)) {
            return true;
        }
    }
    return false;
}

void local_index_init(struct local_index *index, struct measured *measured)
{
    const struct repository *repository = measured->repository;
    const struct catalogue *catalogue = repository->catalogue;
    *index = (struct local_index){.measured = measured};
    index->closed = memory_zeroed(catalogue->workflow_count + 1, sizeof(*index->closed));
    index->seen = memory_zeroed(catalogue->workflow_count + 1, sizeof(struct weft_tensor *));
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        index->seen[i] = memory_zeroed(WORKFLOW_PORTS_MAX, sizeof(**index->seen));
        for (uint32_t k = 0; k < WORKFLOW_PORTS_MAX; k++) {
            index->seen[i][k].rank = WEFT_RANK_MAX + 1; /* Not yet. */
        }
    }
    index->versions = memory_zeroed(catalogue->model_count + 1, sizeof(*index->versions));
    index->marks = memory_zeroed(catalogue->model_count + 1, sizeof(*index->marks));
    for (uint32_t i = 0; i < catalogue->model_count; i++) {
        index->marks[i] = local_change_mark(repository, i, repository->files[i].version);
    }
}

void local_index_deinit(struct local_index *index)
{
    for (uint32_t i = 0;
         index->seen != NULL && i < index->measured->repository->catalogue->workflow_count; i++) {
        free(index->seen[i]);
    }
    free(index->seen);
    free(index->closed);
    free(index->marks);
    free(index->versions);
    *index = (struct local_index){.measured = NULL};
}

void local_index_join(struct local_index *index, struct runtime *runtime)
{
    ASSERT(index->runtime == NULL);
    const struct measured *measured = index->measured;
    index->runtime = runtime;
    for (uint32_t i = 0; i < measured->repository->catalogue->model_count; i++) {
        if (measured->looks[i].fault[0] != '\0') {
            runtime_set_available(runtime, i, /* is_available */ false);
        }
    }
}

void local_index_leave(struct local_index *index)
{
    index->runtime = NULL;
}

static uint32_t gpus(void *context, struct server_gpu *out)
{
    const struct local_index *index = context;
    return gpu_watch_read(index->gpus, out);
}

struct server_repository local_index_parts(struct local_index *index)
{
    return (struct server_repository){
        .context = index,
        .entry = entry,
        .load = local_change_load,
        .unload = local_change_unload,
        .is_ready = is_ready,
        .rows_max = rows_max,
        .describe = describe,
        .gpus = gpus,
    };
}
