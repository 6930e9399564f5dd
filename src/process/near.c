/*
 * near.c - the loop and an engine process on one processor, while there is little to do.
 *
 * A batch that runs for less time than a sleeping processor takes to wake up, and beside which
 * nothing else is under way, is soonest back if its launch and its report wake none: the loop and
 * the thread that runs it have nothing to do at the same time anyway. As soon as there is more to
 * do, or it takes longer, both go where the system wants them. So they do when the way there and
 * back takes long all the same: something else wants that processor, too.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "engine/near.h"
#include "engine/tray.h"
#include "engine/waker.h"
#include "model/catalogue.h"
#include "model/fleet.h"
#include "process/ahead.h"
#include "process/inside.h"

enum {
    ALONE_MAX = 1024, /* Launches alone before both stay, where that has never held for long. */
    SLOW_FACTOR = 2,  /* A way there and back that wakes two processors is shorter than that. */
    SLOW_ONE = 8,     /* One of them counts as much as so many that are not slow, */
    SLOW_MAX = 32,    /* and here both go apart. */
};

void process_near_init(struct engine_process *engine)
{
    struct process_near *near = &engine->near;
    near->alone_min = PROCESS_SIGNS_MIN;
    near->run_ns = memory_zeroed(engine->artifacts->count + 1, sizeof(*near->run_ns));
}

/* Both go where the system wants them; the process is told with its next batch. */
static void part(struct process_near *near)
{
    if (near->processor != 0) {
        near->processor = 0;
        (void)near_stay(0); /* Cannot fail. */
        near->alone_min = process_signs_needed(near->alone_min, near->alone, ALONE_MAX);
    }
    near->alone = 0;
    near->slow = 0;
}

static uint32_t model_of(const struct engine_process *engine, const struct engine_batch *batch)
{
    return engine->catalogue->workflows[batch->workflow]->tasks[batch->task].run;
}

uint32_t process_near_launch(struct engine_process *engine, const struct engine_batch *batch)
{
    struct process_near *near = &engine->near;
    if (engine->pending > 1 ||
        !process_is_short(near->run_ns[model_of(engine, batch)], near->short_ns) ||
        engine->fleet->workers[batch->worker].sharing == SHARES_SM) {
        part(near);
        return 0;
    }
    near->alone += near->alone < UINT32_MAX ? 1 : 0;
    near->is_used = true;
    if (near->processor == 0 && near->alone >= near->alone_min) {
        const uint32_t here = near_here();
        if (near->waker == NULL) {
            near->waker = waker_create(); /* Before: it is not to stay here. */
        }
        if (near_stay(here)) {
            near->processor = here;
        } else {
            part(near);
        }
    }
    return near->processor;
}

void process_near_expect(struct process_worker *worker)
{
    struct process_near *near = &worker->engine->near;
    if (near->sent != NULL && near->sent != worker) {
        return; /* That one is to be looked at first: its batch was cancelled. */
    }
    near->sent = worker;
    if (worker->tray != NULL && worker->lender != NULL) {
        tray_open(worker->tray);
    }
}

bool process_near_look(struct engine_process *engine)
{
    struct process_worker *worker = engine->near.sent;
    const uint32_t pending = engine->pending;
    engine->near.sent = NULL;
    if (worker == NULL || !worker->is_up ||
        (worker->tray != NULL && tray_close(worker->tray) == TRAY_OPEN)) {
        return false; /* If it is still to come, it comes over the socket. */
    }
    if (!process_read(worker)) {
        process_worker_ended(worker, /* killed_because */ NULL);
    }
    return engine->pending != pending;
}

void process_near_wait(struct engine_process *engine)
{
    struct process_worker *worker = engine->near.sent;
    if (worker != NULL && worker->tray != NULL && tray_close(worker->tray) == TRAY_FULL) {
        (void)uv_async_send(engine->keep); /* There it is looked at. */
    }
}

void process_near_ran(
    struct engine_process *engine, const struct process_batch *batch, int64_t run_ns)
{
    struct process_near *near = &engine->near;
    const uint32_t model = model_of(engine, &batch->batch);
    process_learn_run(&near->run_ns[model], run_ns, near->short_ns);
    if (near->processor == 0) {
        return;
    }
    process_ready_ran(&engine->ready, batch->batch.task_count);
    if (near->waker != NULL && (engine->ready.way & READY_CLIENT) != 0 && waker_is_expected()) {
        waker_wake(near->waker); /* Who asked is answered soon, or the next task is launched. */
    }
    if (process_now_ns(engine) - batch->since_ns - run_ns > SLOW_FACTOR * near->short_ns) {
        near->slow += SLOW_ONE;
    } else {
        near->slow -= near->slow > 0 ? 1 : 0;
    }
    if (near->slow > SLOW_MAX) {
        part(near);
    }
}

void process_near_watch(struct engine_process *engine)
{
    struct process_near *near = &engine->near;
    if (near->processor != 0 && !near->is_used) {
        near->processor = 0; /* Until the next launch: what is idle holds no processor. */
        (void)near_stay(0);  /* Cannot fail. */
    }
    near->is_used = false;
}

void process_near_close(struct engine_process *engine)
{
    part(&engine->near);
    waker_destroy(engine->near.waker);
    free(engine->near.run_ns);
}
