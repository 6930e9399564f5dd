/* infer_work.c - long JSON on another thread, so that the loop goes on. */
#include "base/assert.h"
#include "server/infer.h"

static void on_run(uv_work_t *work)
{
    struct infer *infer = work->data;
    infer->work_run(infer);
}

static void on_done(uv_work_t *work, int status)
{
    struct infer *infer = work->data;
    struct server *server = infer->server;
    ASSERT(status == 0); /* Nothing is ever cancelled. */
    infer->is_working = false;
    infer->work_done(infer); /* May release it. */
    server->works--;
    if (server->is_stopped) {
        server_release(server);
    }
}

void infer_work(
    struct infer *infer, void (*run)(struct infer *infer), void (*done)(struct infer *infer))
{
    infer->is_working = true;
    infer->server->works++;
    infer->work_run = run;
    infer->work_done = done;
    infer->work.data = infer;
    const int failed = uv_queue_work(runtime_loop(infer->runtime), &infer->work, on_run, on_done);
    ASSERT(failed == 0);
}
