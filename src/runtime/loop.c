#include "runtime/loop.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <uv.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/units.h"

struct loop {
    uv_loop_t uv;
    int alarm; /* A timerfd. */
    uv_poll_t alarm_poll;
    int64_t alarm_ns; /* Of CLOCK_MONOTONIC, as set; INT64_MAX if it is off. */
    uv_async_t interrupt;
    uv_async_t signal; /* Some have come; only if there is a handler for them. */
    void (*signalled)(void *context, int number);
    void *signal_context;
    uint32_t work_count;
};

/*
 * Signals belong to the process, and outlive the loop that is told of them: a process
 * that is ended twice must not die of the second signal while it releases everything.
 */
enum { SIGNALS = 3 };
static const int signal_numbers[SIGNALS] = {SIGINT, SIGTERM, SIGHUP};
static atomic_uint signals_come[SIGNALS];
static _Atomic(struct loop *) signals_to; /* NULL: no loop handles them. */
static atomic_uint signals_inside;        /* Handlers that may be looking at it. */

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
        loop->alarm_ns = INT64_MAX; /* It rings once, unless it has been set again meanwhile. */
    }
}

static void on_interrupt(uv_async_t *interrupt)
{
    (void)interrupt; /* loop_wait() returns, which is all. */
}

/* In a signal handler, on any thread. */
static void on_signal(int number)
{
    const int kept = errno;
    (void)atomic_fetch_add(&signals_inside, 1);
    struct loop *loop = atomic_load(&signals_to);
    if (loop != NULL) {
        for (uint32_t i = 0; i < SIGNALS; i++) {
            (void)atomic_fetch_add(&signals_come[i], number == signal_numbers[i] ? 1 : 0);
        }
        (void)uv_async_send(&loop->signal); /* Fails only for a handle that is closing. */
    }
    (void)atomic_fetch_sub(&signals_inside, 1);
    errno = kept;
}

static void on_signals(uv_async_t *handle)
{
    struct loop *loop = handle->data;
    for (uint32_t i = 0; i < SIGNALS; i++) {
        for (uint32_t left = atomic_exchange(&signals_come[i], 0); left > 0; left--) {
            loop->signalled(loop->signal_context, signal_numbers[i]);
        }
    }
}

/* Tell @loop of no more signals: from here on they mean nothing. */
static void leave_signals(struct loop *loop)
{
    if (loop->signalled == NULL) {
        return;
    }
    atomic_store(&signals_to, NULL);
    while (atomic_load(&signals_inside) > 0) {
        (void)sched_yield(); /* A handler on another thread is about to end. */
    }
}

static void start_handles(struct loop *loop)
{
    int failed = uv_poll_init(&loop->uv, &loop->alarm_poll, loop->alarm);
    ASSERT(failed == 0);
    loop->alarm_poll.data = loop;
    failed = uv_poll_start(&loop->alarm_poll, UV_READABLE, on_alarm);
    ASSERT(failed == 0);
}

/*
 * libuv writes to sockets without MSG_NOSIGNAL: a peer that hangs up while it is written to would
 * end the process. Writes fail with EPIPE instead. A handler that was set before stays.
 */
static void ignore_hangups(void)
{
    const struct sigaction ignored = {.sa_handler = SIG_IGN};
    struct sigaction before;
    if (sigaction(SIGPIPE, NULL, &before) == 0 && before.sa_handler == SIG_DFL) {
        (void)sigaction(SIGPIPE, &ignored, NULL); /* Cannot fail. */
    }
}

/* libuv's list of what it watches cannot do without: it would end the program without a word. */
static void *grow(void *memory, size_t bytes)
{
    void *more = memory_reserved_more(memory, bytes);
    if (more == NULL) {
        (void)fprintf(stderr, "out of memory: %zu bytes for the event loop\n", bytes);
        abort();
    }
    return more;
}

enum weft_status loop_create(struct loop **loop_out, struct weft_error *error)
{
    enum weft_status status = WEFT_IO;
    ignore_hangups();
    struct loop *loop = memory_zeroed(1, sizeof(*loop));
    int code = uv_replace_allocator(memory_reserved, grow, memory_reserved_zeroed, free);
    ASSERT(code == 0);
    code = uv_loop_init(&loop->uv);
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
    leave_signals(loop);
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
        when.it_value.tv_sec = (time_t)(at_ns / NS_PER_S);
        when.it_value.tv_nsec = (long)(at_ns % NS_PER_S);
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
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    ASSERT(loop->signalled == NULL);
    ASSERT(atomic_load(&signals_to) == NULL); /* One loop at a time. */
    loop->signalled = signalled;
    loop->signal_context = context;
    const int failed = uv_async_init(&loop->uv, &loop->signal, on_signals);
    ASSERT(failed == 0);
    loop->signal.data = loop;
    (void)sigemptyset(&action.sa_mask); /* Cannot fail, like the next. */
    for (uint32_t i = 0; i < SIGNALS; i++) {
        atomic_store(&signals_come[i], 0);
    }
    atomic_store(&signals_to, loop);
    for (uint32_t i = 0; i < SIGNALS; i++) {
        struct sigaction before;
        (void)sigaction(signal_numbers[i], &action, &before);
        if (signal_numbers[i] == SIGHUP && before.sa_handler == SIG_IGN) {
            (void)sigaction(SIGHUP, &before, NULL); /* nohup is there to outlive a terminal. */
        }
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
