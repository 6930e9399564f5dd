#include "runtime/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <uv.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"

struct loop {
    uv_loop_t uv;
    int alarm; /* A timerfd. */
    uv_poll_t alarm_poll;
    int64_t alarm_ns; /* Of CLOCK_MONOTONIC, as set; INT64_MAX if it is off. */
    uv_async_t interrupt;
    uv_signal_t signals[2];
    void (*signalled)(void *context, int number);
    void *signal_context;
    uint32_t work_count;
};

struct work {
    uv_work_t request;
    struct loop *loop;
    void (*work)(void *argument);
    void (*done)(void *argument);
    void *argument;
};

static void on_alarm(uv_poll_t *poll, int status, int events)
{
    struct loop *loop = poll->data;
    uint64_t count;
    (void)status;
    (void)events;
    if (read(loop->alarm, &count, sizeof(count)) == sizeof(count)) {
        loop->alarm_ns = INT64_MAX; /* It rings once. Otherwise it was set anew meanwhile. */
    }
}

static void on_interrupt(uv_async_t *interrupt)
{
    (void)interrupt; /* loop_wait() returns, which is all. */
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct loop *loop = handle->data;
    loop->signalled(loop->signal_context, number);
}

static void start_handles(struct loop *loop)
{
    int failed = uv_poll_init(&loop->uv, &loop->alarm_poll, loop->alarm);
    ASSERT(failed == 0);
    loop->alarm_poll.data = loop;
    failed = uv_poll_start(&loop->alarm_poll, UV_READABLE, on_alarm);
    ASSERT(failed == 0);
}

enum weft_status loop_create(struct loop **loop_out, struct weft_error *error)
{
    enum weft_status status = WEFT_IO;
    struct loop *loop = memory_zeroed(1, sizeof(*loop));
    int code = uv_loop_init(&loop->uv);
    if (code != 0) {
        (void)error_set(error, status, "cannot make an event loop: %s", uv_strerror(code));
        goto out_free;
    }
    loop->alarm = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (loop->alarm < 0) {
        (void)error_set(error, status, "cannot make a timer: %s", strerror(errno));
        goto out_close;
    }
    code = uv_async_init(&loop->uv, &loop->interrupt, on_interrupt);
    if (code != 0) {
        (void)error_set(error, status, "cannot make an event loop: %s", uv_strerror(code));
        goto out_alarm;
    }
    loop->alarm_ns = INT64_MAX;
    start_handles(loop);
    *loop_out = loop;
    return WEFT_OK;

out_alarm:
    (void)close(loop->alarm); /* Nothing was written to it. */
out_close:
    (void)uv_loop_close(&loop->uv); /* It has no handles. */
out_free:
    free(loop);
    return status;
}

static void close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

void loop_destroy(struct loop *loop)
{
    if (loop == NULL) {
        return;
    }
    uv_walk(&loop->uv, close_handle, NULL);
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT); /* Until all are closed and all work is done. */
    const int failed = uv_loop_close(&loop->uv);
    ASSERT(failed == 0);
    (void)close(loop->alarm); /* Nothing was written to it. */
    free(loop);
}

/* Let the alarm ring at @at_ns of CLOCK_MONOTONIC; INT64_MAX turns it off. */
static void set_alarm(struct loop *loop, int64_t at_ns)
{
    if (at_ns == loop->alarm_ns) {
        return;
    }
    struct itimerspec when = {.it_value = {0}};
    if (at_ns != INT64_MAX) {
        when.it_value.tv_sec = (time_t)(at_ns / 1000000000);
        when.it_value.tv_nsec = (long)(at_ns % 1000000000);
    }
    const int failed = timerfd_settime(loop->alarm, TFD_TIMER_ABSTIME, &when, NULL);
    ASSERT(failed == 0);
    loop->alarm_ns = at_ns;
}

void loop_wait(struct loop *loop, const struct clock *clock, int64_t until_ns)
{
    ASSERT(clock->kind == CLOCK_KIND_REAL);
    if (until_ns <= clock->now_ns) {
        (void)uv_run(&loop->uv, UV_RUN_NOWAIT);
        return;
    }
    set_alarm(loop, until_ns == INT64_MAX ? INT64_MAX : until_ns + clock->origin_ns);
    (void)uv_run(&loop->uv, UV_RUN_ONCE);
}

void loop_interrupt(struct loop *loop)
{
    (void)uv_async_send(&loop->interrupt); /* Fails only for a handle that is closing. */
}

void loop_on_signal(struct loop *loop, void (*signalled)(void *context, int number), void *context)
{
    static const int numbers[2] = {SIGINT, SIGTERM};
    ASSERT(loop->signalled == NULL);
    loop->signalled = signalled;
    loop->signal_context = context;
    for (uint32_t i = 0; i < 2; i++) {
        int failed = uv_signal_init(&loop->uv, &loop->signals[i]);
        ASSERT(failed == 0);
        loop->signals[i].data = loop;
        failed = uv_signal_start(&loop->signals[i], on_signal, numbers[i]);
        ASSERT(failed == 0);
    }
}

static void run_work(uv_work_t *request)
{
    const struct work *work = request->data;
    work->work(work->argument);
}

static void after_work(uv_work_t *request, int status)
{
    struct work *work = request->data;
    ASSERT(status == 0); /* Nothing is ever cancelled. */
    work->loop->work_count--;
    work->done(work->argument);
    free(work);
}

void loop_work(
    struct loop *loop, void (*work)(void *argument), void (*done)(void *argument), void *argument)
{
    struct work *queued = memory_zeroed(1, sizeof(*queued));
    queued->request.data = queued;
    queued->loop = loop;
    queued->work = work;
    queued->done = done;
    queued->argument = argument;
    loop->work_count++;
    const int failed = uv_queue_work(&loop->uv, &queued->request, run_work, after_work);
    ASSERT(failed == 0);
}

uint32_t loop_work_count(const struct loop *loop)
{
    return loop->work_count;
}

void loop_wait_work(struct loop *loop)
{
    const uint32_t before = loop->work_count;
    ASSERT(before > 0);
    while (loop->work_count >= before) {
        (void)uv_run(&loop->uv, UV_RUN_ONCE);
    }
}

struct uv_loop_s *loop_uv(struct loop *loop)
{
    return &loop->uv;
}
