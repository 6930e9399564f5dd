#include "engine/engine.h"

#include <stddef.h>

#include "base/assert.h"

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

void engine_launch(struct engine *engine, const struct engine_batch *batch)
{
    ASSERT(batch->task_count > 0 && batch->task_count <= BATCH_TASKS_MAX);
    engine->ops->launch(engine, batch);
}

void engine_cancel(struct engine *engine, uint64_t batch)
{
    engine->ops->cancel(engine, batch);
}

void engine_wake(struct engine *engine, uint64_t token)
{
    ASSERT(engine->ops->wake != NULL);
    engine->ops->wake(engine, token);
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
