#include "model/catalogue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "model/grow.h"

struct catalogue *catalogue_create(void)
{
    struct catalogue *catalogue = memory_zeroed(1, sizeof(*catalogue));
    catalogue->models = memory_zeroed(MODELS_MAX, sizeof(*catalogue->models));
    catalogue->workflows = memory_zeroed(WORKFLOWS_MAX, sizeof(struct workflow *));
    return catalogue;
}

void catalogue_destroy(struct catalogue *catalogue)
{
    if (catalogue == NULL) {
        return;
    }
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        workflow_destroy(catalogue->workflows[i]);
    }
    free(catalogue->queue_workflows);
    free(catalogue->workflows);
    free(catalogue->models);
    free(catalogue);
}

uint32_t catalogue_model(struct catalogue *catalogue, const char *name)
{
    ASSERT(strlen(name) < NAME_BYTES_MAX);

    const uint32_t known = catalogue_find_model(catalogue, name);
    if (known != MODEL_NONE || catalogue->model_count == MODELS_MAX) {
        return known;
    }
    (void)snprintf(catalogue->models[catalogue->model_count], NAME_BYTES_MAX, "%s", name);
    return catalogue->model_count++;
}

uint32_t catalogue_find_model(const struct catalogue *catalogue, const char *name)
{
    for (uint32_t i = 0; i < catalogue->model_count; i++) {
        if (strcmp(catalogue->models[i], name) == 0) {
            return i;
        }
    }
    return MODEL_NONE;
}

enum weft_status catalogue_add_workflow(struct catalogue *catalogue, struct workflow *workflow)
{
    ASSERT(workflow->sealed);

    if (catalogue_find_workflow(catalogue, workflow->name) != UINT32_MAX) {
        return WEFT_EXISTS;
    }
    if (catalogue->workflow_count == WORKFLOWS_MAX) {
        return WEFT_LIMIT;
    }
    workflow->queue_first = catalogue->queue_count;
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        catalogue->queue_workflows =
            grow(catalogue->queue_workflows, catalogue->queue_count, sizeof(uint32_t));
        catalogue->queue_workflows[catalogue->queue_count] = catalogue->workflow_count;
        catalogue->queue_count++;
    }
    if (catalogue->task_count_max < workflow->task_count) {
        catalogue->task_count_max = workflow->task_count;
    }
    catalogue->workflows[catalogue->workflow_count++] = workflow;
    return WEFT_OK;
}

uint32_t catalogue_find_workflow(const struct catalogue *catalogue, const char *name)
{
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        if (strcmp(catalogue->workflows[i]->name, name) == 0) {
            return i;
        }
    }
    return UINT32_MAX;
}
