#include "engine/engine.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "engine/bundle.h"
#include "model/fleet.h"

void engine_load(struct engine *engine, uint32_t worker, uint32_t model)
{
    engine->ops->load(engine, worker, model);
}

void engine_cancel_load(struct engine *engine, uint32_t worker, uint32_t model)
{
    engine->ops->cancel_load(engine, worker, model);
}

void engine_unload(struct engine *engine, uint32_t worker, uint32_t model)
{
    engine->ops->unload(engine, worker, model);
}

void engine_reshape(struct engine *engine, uint32_t worker, uint32_t gpu)
{
    ASSERT(gpu > 0);
    engine->ops->reshape(engine, worker, gpu);
}

enum weft_status engine_launch(struct engine *engine, const struct engine_batch *batch)
{
    ASSERT(batch->task_count > 0 && batch->task_count <= BATCH_TASKS_MAX);
    return engine->ops->launch(engine, batch);
}

void engine_cancel(struct engine *engine, uint64_t batch)
{
    engine->ops->cancel(engine, batch);
}

bool engine_revise(struct engine *engine, uint32_t model, const struct artifact_versions *versions)
{
    return engine->ops->revise != NULL && engine->ops->revise(engine, model, versions);
}

bool engine_look(struct engine *engine)
{
    return engine->ops->look != NULL && engine->ops->look(engine);
}

void engine_wake(struct engine *engine, uint64_t token)
{
    ASSERT(engine->ops->wake != NULL);
    engine->ops->wake(engine, token);
}

struct engine_workers engine_workers_of(const struct engine_host *host, const struct fleet *fleet)
{
    if (host->workers.end == 0) {
        return (struct engine_workers){.end = fleet->worker_count};
    }
    return host->workers;
}

void engine_get_counts(const struct engine *engine, struct engine_counts *counts_out)
{
    *counts_out = (struct engine_counts){.function_starts = 0};
    if (engine->ops->count != NULL) {
        engine->ops->count(engine, counts_out);
    }
}

void engine_destroy(struct engine *engine)
{
    if (engine != NULL) {
        engine->ops->destroy(engine);
    }
}

bool engine_batch_copy(const struct engine_batch *batch, struct engine_batch *copy_out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < batch->task_count; i++) {
        count += batch->tasks[i].input_count;
    }
    struct engine_task *tasks = memory_reserved_zeroed(batch->task_count, sizeof(*tasks));
    struct engine_input *inputs = memory_reserved_zeroed((size_t)count + 1, sizeof(*inputs));
    if (tasks == NULL || inputs == NULL) {
        free(tasks);
        free(inputs);
        return false;
    }
    *copy_out = *batch;
    copy_out->tasks = tasks;
    for (uint32_t i = 0; i < batch->task_count; i++) {
        tasks[i] = batch->tasks[i];
        tasks[i].inputs = inputs;
        for (uint32_t k = 0; k < tasks[i].input_count; k++) {
            *inputs = batch->tasks[i].inputs[k];
            if (inputs->contents != NULL) {
                inputs->contents = bundle_share(inputs->contents);
            }
            inputs++;
        }
    }
    return true;
}

void engine_batch_release(struct engine_batch *copy)
{
    for (uint32_t i = 0; i < copy->task_count; i++) {
        for (uint32_t k = 0; k < copy->tasks[i].input_count; k++) {
            const void *contents = copy->tasks[i].inputs[k].contents;
            bundle_destroy((void *)(uintptr_t)contents);
        }
    }
    if (copy->task_count > 0) {
        /* The inputs of all are one piece, which begins with the first's. */
        free((void *)(uintptr_t)copy->tasks[0].inputs);
        free((void *)(uintptr_t)copy->tasks);
    }
    *copy = (struct engine_batch){.task_count = 0};
}
