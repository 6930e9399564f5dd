/* infer_work.c - long JSON on another thread, so that the loop goes on. */
#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "server/infer.h"

static void on_run(uv_work_t *work)
{
    struct infer *infer = work->data;
    infer->work_run(infer);
}

static void end_work(struct server *server)
{
    ASSERT(server->works > 0);
    server->works--;
    if (server->is_stopped) {
        server_release(server);
    }
}

static void on_done(uv_work_t *work, int status)
{
    struct infer *infer = work->data;
    struct server *server = infer->server;
    ASSERT(status == 0); /* Nothing is ever cancelled. */
    ASSERT(infer->state == INFER_READING || infer->state == INFER_WRITING);
    infer->work_done(infer); /* May release it. */
    end_work(server);
}

static void run_nothing(uv_work_t *work)
{
    (void)work; /* The thread is there: that is all. */
}

static void on_nothing_done(uv_work_t *work, int status)
{
    struct server *server = work->data;
    (void)status;
    free(work);
    end_work(server);
}

void infer_work_start(struct server *server)
{
    uv_work_t *work = memory_zeroed(1, sizeof(*work));
    work->data = server;
    server->works++;
    const int failed =
        uv_queue_work(runtime_loop(server->runtime), work, run_nothing, on_nothing_done);
    ASSERT(failed == 0);
}

void infer_work(
    struct infer *infer, void (*run)(struct infer *infer), void (*done)(struct infer *infer))
{
    infer->server->works++;
    infer->work_run = run;
    infer->work_done = done;
    infer->work.data = infer;
    const int failed = uv_queue_work(runtime_loop(infer->runtime), &infer->work, on_run, on_done);
    ASSERT(failed == 0);
}
