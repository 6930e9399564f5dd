/*
 * loop.h - waiting: for a time, a signal, a finished search, or another thread.
 *
 * libuv with alarms to the nanosecond: its own timers count milliseconds, so alarms are
 * a timerfd that it polls. Everything but loop_interrupt() belongs to one thread, on
 * which all callbacks come, from inside loop_wait().
 */
#ifndef RUNTIME_LOOP_H
#define RUNTIME_LOOP_H

#include <stdint.h>

#include <weft/status.h>

#include "runtime/clock.h"

struct loop;
struct uv_loop_s;

/*
 * From now on the process ignores SIGPIPE: a peer that hangs up is an error of a write.
 *
 * Errors: WEFT_IO if the system gives no descriptors; @error says which.
 */
enum weft_status loop_create(struct loop **loop_out, struct weft_error *error);

/* NULL is allowed. Waits for searches that still run. */
void loop_destroy(struct loop *loop);

/*
 * Wait until something has happened, or @until_ns of @clock, which is real, has come;
 * INT64_MAX to wait for a happening alone. With a time in the past, look and return.
 */
void loop_wait(struct loop *loop, const struct clock *clock, int64_t until_ns);

/* Make loop_wait() return. From any thread. */
void loop_interrupt(struct loop *loop);

/*
 * Call @signalled with the number of every SIGINT, SIGTERM and SIGHUP, instead of dying of it. They
 * are ignored once the loop is destroyed, until another handler is set.
 */
void loop_on_signal(struct loop *loop, void (*signalled)(void *context, int number), void *context);

/* Run @work(argument) on another thread, then @done(argument) on this one. */
void loop_work(
    struct loop *loop, void (*work)(void *argument), void (*done)(void *argument), void *argument);

/* How many of those have not been done. */
uint32_t loop_work_count(const struct loop *loop);

/* Wait until there are fewer of them. There must be one. */
void loop_wait_work(struct loop *loop);

/* For those who add descriptors of their own. Borrowed. */
struct uv_loop_s *loop_uv(struct loop *loop);

#endif /* RUNTIME_LOOP_H */
