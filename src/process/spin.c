/* spin.c - while a GPU is busy, its reports are asked for instead of waited for. */
#include "base/assert.h"
#include "base/memory.h"
#include "model/fleet.h"
#include "process/inside.h"

static bool is_on_gpu(const struct process_worker *worker)
{
    return worker->engine->fleet->workers[worker->number].sharing == SHARES_SM;
}

/* As long as this is started, the loop does not sleep. */
static void on_idle(uv_idle_t *idle)
{
    const struct engine_process *engine = idle->data;
    bool is_busy = false;
    for (uint32_t i = engine->hosted.first; i < engine->hosted.end && !is_busy; i++) {
        is_busy = is_on_gpu(&engine->workers[i]) && engine->workers[i].batches != NULL;
    }
    if (!is_busy || process_now_ns(engine) > engine->spin_until_ns) {
        (void)uv_idle_stop(idle);
    }
}

void process_spin_init(struct engine_process *engine)
{
    engine->spin = memory_zeroed(1, sizeof(*engine->spin));
    const int code = uv_idle_init(engine->loop, engine->spin);
    ASSERT(code == 0); /* It cannot fail. */
    engine->spin->data = engine;
    uv_unref((uv_handle_t *)engine->spin);
}

void process_spin(struct process_worker *worker)
{
    struct engine_process *engine = worker->engine;
    if (engine->spin_ns > 0 && is_on_gpu(worker)) {
        engine->spin_until_ns = process_now_ns(engine) + engine->spin_ns;
        (void)uv_idle_start(engine->spin, on_idle);
    }
}
