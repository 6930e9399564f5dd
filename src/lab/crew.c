#include "lab/crew.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "console/interrupt.h"

enum { DEATH_BYTES_MAX = 80 };

/* A child at work; in the order of their start, without gaps. */
struct member {
    pid_t pid;
    int pipe;
    uint32_t index;
    size_t read_bytes;
    char *result;
};

struct shift {
    const struct crew *crew;
    uint32_t started;
    uint32_t member_count;
    struct member members[CREW_PARALLEL_MAX];
};

static uint32_t parallel_of(const struct crew *crew)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t parallel = crew->parallel == 0 ? (uint32_t)(cores < 1 ? 1 : cores) : crew->parallel;
    return parallel > CREW_PARALLEL_MAX ? CREW_PARALLEL_MAX : parallel;
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
_Noreturn static void be_member(const struct crew *crew, uint32_t index, int descriptor)
{
    interrupt_release();
    char *result = memory_zeroed(crew->result_bytes, 1);
    crew->work(crew->context, index, result);
    const bool sent = write_all(descriptor, result, crew->result_bytes);
    free(result);
    _exit(sent ? 0 : 1);
}

static enum weft_status start_member(struct shift *shift, struct weft_error *error)
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
        be_member(shift->crew, shift->started, ends[1]);
    }
    (void)close(ends[1]);
    shift->members[shift->member_count] = (struct member){
        .pid = pid,
        .pipe = ends[0],
        .index = shift->started,
        .result = memory_zeroed(shift->crew->result_bytes, 1),
    };
    shift->member_count++;
    shift->started++;
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

/* Close the account of a member whose pipe has ended. Returns how it ended. */
static int leave(struct shift *shift, uint32_t place)
{
    struct member *member = &shift->members[place];
    int status = 0;
    (void)close(member->pipe);
    while (waitpid(member->pid, &status, 0) < 0 && errno == EINTR) {
    }
    free(member->result);
    shift->member_count--;
    memmove(member, member + 1, (shift->member_count - place) * sizeof(*member));
    return status;
}

static void finish_member(struct shift *shift, uint32_t place)
{
    const struct crew *crew = shift->crew;
    const uint32_t index = shift->members[place].index;
    const bool is_whole = shift->members[place].read_bytes == crew->result_bytes;
    char *result = shift->members[place].result;
    shift->members[place].result = NULL;
    const int status = leave(shift, place);
    if (is_whole && status == 0) {
        crew->done(crew->context, index, result, /* death */ NULL);
    } else {
        char death[DEATH_BYTES_MAX];
        describe_death(status, death);
        crew->done(crew->context, index, /* result */ NULL, death);
    }
    free(result);
}

/* Read what has come from a member. True when nothing more will. */
static bool read_some(struct member *member, size_t result_bytes)
{
    char spare = 0; /* After the last byte, the end of the pipe is still to be read. */
    const size_t room = result_bytes - member->read_bytes;
    char *target = room == 0 ? &spare : member->result + member->read_bytes;
    const ssize_t count = read(member->pipe, target, room == 0 ? 1 : room);
    if (count > 0 && room > 0) {
        member->read_bytes += (size_t)count;
    }
    return count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN);
}

/* Wait for at least one member to say something, or an interrupt. */
static void attend(struct shift *shift)
{
    struct pollfd polls[CREW_PARALLEL_MAX];
    for (uint32_t i = 0; i < shift->member_count; i++) {
        polls[i] = (struct pollfd){.fd = shift->members[i].pipe, .events = POLLIN};
    }
    const uint32_t count = shift->member_count;
    if (poll(polls, count, /* timeout_ms */ 500) <= 0) {
        return; /* Nothing yet, or a signal: the caller looks. */
    }
    for (uint32_t i = count; i-- > 0;) { /* From the end: who leaves moves those behind. */
        if (polls[i].revents != 0 && read_some(&shift->members[i], shift->crew->result_bytes)) {
            finish_member(shift, i);
        }
    }
}

static void dismiss(struct shift *shift)
{
    for (uint32_t i = 0; i < shift->member_count; i++) {
        (void)kill(shift->members[i].pid, SIGKILL); /* Our own child, not yet waited for. */
    }
    while (shift->member_count > 0) {
        (void)leave(shift, shift->member_count - 1);
    }
}

enum weft_status crew_run(const struct crew *crew, struct weft_error *error)
{
    struct shift *shift = memory_zeroed(1, sizeof(*shift));
    shift->crew = crew;
    const uint32_t parallel = parallel_of(crew);
    enum weft_status status = WEFT_OK;
    while (status == WEFT_OK && (shift->started < crew->count || shift->member_count > 0)) {
        while (status == WEFT_OK && shift->started < crew->count &&
               shift->member_count < parallel) {
            status = start_member(shift, error);
        }
        if (status == WEFT_OK) {
            attend(shift);
        }
        if (interrupt_came()) {
            status = error_set(error, WEFT_CANCELLED, "interrupted");
        }
    }
    dismiss(shift);
    free(shift);
    return status;
}
