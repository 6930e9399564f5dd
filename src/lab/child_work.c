#include "lab/child_work.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "console/interrupt.h"

enum { DEATH_BYTES_MAX = 80 };

/* A child at work; in the order of their start, without gaps. */
struct child {
    pid_t pid;
    int pipe;
    uint32_t index;
    size_t read_bytes;
    char *result;
};

struct children {
    const struct child_work *work;
    uint32_t started;
    uint32_t count;
    struct child items[CHILD_WORK_PARALLEL_MAX];
};

static uint32_t parallel_of(const struct child_work *work)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t parallel = work->parallel == 0 ? (uint32_t)(cores < 1 ? 1 : cores) : work->parallel;
    return parallel > CHILD_WORK_PARALLEL_MAX ? CHILD_WORK_PARALLEL_MAX : parallel;
}

static bool write_all(int descriptor, const char *bytes, size_t count)
{
    while (count > 0) {
        const ssize_t written = write(descriptor, bytes, count);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        if (written > 0) {
            bytes += written;
            count -= (size_t)written;
        }
    }
    return true;
}

/* The life of a child. It leaves without flushing what the parent has buffered. */
_Noreturn static void run_child(const struct child_work *work, uint32_t index, int descriptor)
{
    interrupt_release();
    if (interrupt_came()) { /* Between the fork and here, or just before. */
        interrupt_obey();
    }
    char *result = memory_zeroed(work->result_bytes, 1);
    work->run(work->context, index, result);
    const bool sent = write_all(descriptor, result, work->result_bytes);
    free(result);
    _exit(sent ? 0 : 1);
}

static enum weft_status start_child(struct children *children, struct weft_error *error)
{
    int ends[2];
    if (pipe(ends) != 0) {
        return error_set(error, WEFT_IO, "pipe: %s", strerror(errno));
    }
    (void)fflush(NULL); /* What is buffered now would be written twice. */
    const pid_t pid = fork();
    if (pid < 0) {
        const int cause = errno;
        (void)close(ends[0]);
        (void)close(ends[1]);
        return error_set(error, WEFT_IO, "fork: %s", strerror(cause));
    }
    if (pid == 0) {
        (void)close(ends[0]);
        run_child(children->work, children->started, ends[1]);
    }
    (void)close(ends[1]);
    children->items[children->count] = (struct child){
        .pid = pid,
        .pipe = ends[0],
        .index = children->started,
        .result = memory_zeroed(children->work->result_bytes, 1),
    };
    children->count++;
    children->started++;
    return WEFT_OK;
}

static void describe_death(int status, char death[static DEATH_BYTES_MAX])
{
    if (WIFSIGNALED(status)) {
        const int signal_number = WTERMSIG(status);
        (void)snprintf(
            death, DEATH_BYTES_MAX, "signal %d (%s)", signal_number, strsignal(signal_number));
    } else {
        (void)snprintf(death, DEATH_BYTES_MAX, "exit code %d", WEXITSTATUS(status));
    }
}

/* Close the account of a child whose pipe has ended. Returns how it ended. */
static int leave(struct children *children, uint32_t place)
{
    struct child *child = &children->items[place];
    int status = 0;
    (void)close(child->pipe);
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR) {
    }
    free(child->result);
    children->count--;
    memmove(child, child + 1, (children->count - place) * sizeof(*child));
    return status;
}

static void finish_child(struct children *children, uint32_t place)
{
    const struct child_work *work = children->work;
    const uint32_t index = children->items[place].index;
    const bool is_whole = children->items[place].read_bytes == work->result_bytes;
    char *result = children->items[place].result;
    children->items[place].result = NULL;
    const int status = leave(children, place);
    if (is_whole && status == 0) {
        work->done(work->context, index, result, /* death */ NULL);
    } else if (!interrupt_came()) { /* A terminal interrupts children too: no fault of theirs. */
        char death[DEATH_BYTES_MAX];
        describe_death(status, death);
        work->done(work->context, index, /* result */ NULL, death);
    }
    free(result);
}

/* Read what has come from a child. True when nothing more will. */
static bool read_some(struct child *child, size_t result_bytes)
{
    char spare = 0; /* After the last byte, the end of the pipe is still to be read. */
    const size_t room = result_bytes - child->read_bytes;
    char *target = room == 0 ? &spare : child->result + child->read_bytes;
    const ssize_t count = read(child->pipe, target, room == 0 ? 1 : room);
    if (count > 0 && room > 0) {
        child->read_bytes += (size_t)count;
    }
    return count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN);
}

/* Wait for at least one child to say something, or an interrupt. */
static void attend(struct children *children)
{
    struct pollfd polls[CHILD_WORK_PARALLEL_MAX];
    for (uint32_t i = 0; i < children->count; i++) {
        polls[i] = (struct pollfd){.fd = children->items[i].pipe, .events = POLLIN};
    }
    const uint32_t count = children->count;
    if (poll(polls, count, /* timeout_ms */ 500) <= 0) {
        return; /* Nothing yet, or a signal: the caller looks. */
    }
    for (uint32_t i = count; i-- > 0;) { /* From the end: who leaves moves those behind. */
        if (polls[i].revents != 0 && read_some(&children->items[i], children->work->result_bytes)) {
            finish_child(children, i);
        }
    }
}

static void dismiss(struct children *children)
{
    for (uint32_t i = 0; i < children->count; i++) {
        (void)kill(children->items[i].pid, SIGKILL); /* Our own child, not yet waited for. */
    }
    while (children->count > 0) {
        (void)leave(children, children->count - 1);
    }
}

enum weft_status child_work_run(const struct child_work *work, struct weft_error *error)
{
    ASSERT(work->run != NULL && work->done != NULL);
    ASSERT(work->result_bytes > 0);
    struct children *children = memory_zeroed(1, sizeof(*children));
    children->work = work;
    const uint32_t parallel = parallel_of(work);
    enum weft_status status = WEFT_OK;
    while (status == WEFT_OK && (children->started < work->count || children->count > 0)) {
        while (status == WEFT_OK && children->started < work->count && children->count < parallel) {
            status = start_child(children, error);
        }
        if (status == WEFT_OK) {
            attend(children);
        }
        if (interrupt_came()) {
            status = error_set(error, WEFT_CANCELLED, "interrupted");
        }
    }
    dismiss(children);
    free(children);
    return status;
}
