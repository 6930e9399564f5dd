/*
 * spin.c - what is expected at once is asked for instead of waited for: a report of a GPU that is
 * busy, or about to end a load, or the batch after a short one or after one on a GPU.
 */
#include "base/assert.h"
#include "base/memory.h"
#include "model/fleet.h"
#include "process/inside.h"

static bool is_on_gpu(const struct process_worker *worker)
{
    return worker->engine->fleet->workers[worker->number].sharing == SHARES_SM;
}

static bool is_gpu_busy(const struct engine_process *engine)
{
    bool is_busy = false;
    for (uint32_t i = engine->hosted.first; i < engine->hosted.end && !is_busy; i++) {
        const struct process_worker *worker = &engine->workers[i];
        is_busy = is_on_gpu(worker) && (worker->batches != NULL || worker->is_soon);
    }
    return is_busy;
}

/* As long as this is started, the loop does not sleep. */
static void on_idle(uv_idle_t *idle)
{
    const struct engine_process *engine = idle->data;
    const int64_t now_ns = process_now_ns(engine);
    if (!process_linger_lasts(&engine->linger, now_ns) &&
        !process_linger_lasts(&engine->gpu_linger, now_ns) &&
        (now_ns > engine->spin_until_ns || !is_gpu_busy(engine))) {
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
    engine->was_on_gpu = engine->spin_ns > 0 && is_on_gpu(worker);
    if (engine->was_on_gpu) {
        engine->spin_until_ns = process_now_ns(engine) + engine->spin_ns;
        (void)uv_idle_start(engine->spin, on_idle);
    }
}

void process_spin_idle(struct engine_process *engine)
{
    const struct process_near *near = &engine->near;
    const bool is_near = near->processor != 0 && near->waker != NULL;
    struct process_linger *linger = engine->was_on_gpu ? &engine->gpu_linger : &engine->linger;
    if (engine->pending > 0 || (!engine->was_on_gpu && !is_near)) {
        return; /* The client that asks next needs a processor, too. */
    }
    const int64_t now_ns = process_now_ns(engine);
    if (!engine->was_on_gpu) {
        process_ready_idle(&engine->ready, now_ns, process_linger_is_steady(linger));
        linger->sleeps = (engine->ready.way & READY_LOOP) == 0;
    }
    process_linger_idle(linger, now_ns);
    if (process_linger_lasts(linger, now_ns)) {
        (void)uv_idle_start(engine->spin, on_idle);
    }
}
