#include "cli/local_index.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/builtin.h"

/* What is wrong with the models of @workflow: the first that is; NULL if nothing. */
static const char *find_fault(const struct measured *measured, const struct workflow *workflow)
{
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        for (uint32_t k = 0; k < workflow->tasks[i].model_count; k++) {
            const char *fault = measured->looks[workflow->tasks[i].models[k]].fault;
            if (fault[0] != '\0') {
                return fault;
            }
        }
    }
    return NULL;
}

static bool entry(void *context, uint32_t index, struct server_entry *entry_out)
{
    const struct measured *measured = context;
    const struct repository *repository = measured->repository;
    if (index >= repository->catalogue->workflow_count) {
        return false;
    }
    const struct workflow *workflow = repository->catalogue->workflows[index];
    const uint32_t version = repository_is_alone(repository, index)
                                 ? repository->files[workflow->tasks[0].run].version
                                 : 1;
    const char *fault = find_fault(measured, workflow);
    *entry_out = (struct server_entry){.reason = ""};
    (void)snprintf(entry_out->name, sizeof(entry_out->name), "%s", workflow->name);
    (void)snprintf(entry_out->version, sizeof(entry_out->version), "%" PRIu32, version);
    (void)snprintf(
        entry_out->state, sizeof(entry_out->state), "%s", fault == NULL ? "READY" : "UNAVAILABLE");
    (void)snprintf(entry_out->reason, sizeof(entry_out->reason), "%s", fault == NULL ? "" : fault);
    return true;
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
    const struct measured *measured = context;
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
    return false;
}

struct server_repository local_index(struct measured *measured)
{
    return (struct server_repository){.context = measured, .entry = entry, .describe = describe};
}
