#include "function/fork_server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "function/fork_serving.h"

enum { ANSWER_S_MAX = 30 }; /* A server that is stopped is as good as gone. */

static const struct fork_way no_way = {.control = -1, .process = -1};

/* Send @request with @count files. */
static bool send_request(
    int control, const struct fork_request *request, const int *files, uint32_t count)
{
    struct iovec part = {.iov_base = (void *)(uintptr_t)request, .iov_len = sizeof(*request)};
    union {
        char bytes[CMSG_SPACE(FORK_FILES_MAX * sizeof(int))];
        struct cmsghdr align;
    } room;
    memset(&room, 0, sizeof(room));
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        message.msg_control = room.bytes;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(head), files, count * sizeof(int));
    }
    return sendmsg(control, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(*request);
}

/* Ask the server at @way, and wait for its answer. False if it is gone. Under the lock. */
static bool ask(
    const struct fork_way *way, const struct fork_request *request, const int *files,
    uint32_t file_count, struct fork_reply *reply_out)
{
    if (way->control < 0 || !send_request(way->control, request, files, file_count)) {
        return false;
    }
    ssize_t bytes;
    do {
        bytes = recv(way->control, reply_out, sizeof(*reply_out), 0);
    } while (bytes < 0 && errno == EINTR);
    return bytes == (ssize_t)sizeof(*reply_out);
}

/* A pair of control sockets. An answer is waited for only so long. */
static bool open_control(int ends_out[2])
{
    const struct timeval most = {.tv_sec = ANSWER_S_MAX};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends_out) != 0) {
        return false;
    }
    (void)setsockopt(ends_out[0], SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
    return true;
}

static void release(struct fork_way *way)
{
    if (way->control >= 0) {
        (void)close(way->control); /* It ends of that, after its children. */
    }
    *way = no_way;
}

/* Have a second server, if the first can fork one. Under the lock. */
static void make_second(struct fork_server *server)
{
    const struct fork_request request = {.kind = FORK_REQUEST_TWIN};
    struct fork_reply reply = {.process = -1};
    int ends[2];
    if (!open_control(ends)) {
        return;
    }
    server->second.control = ends[0];
    if (ask(&server->first, &request, &ends[1], 1, &reply) && reply.process > 0) {
        server->second.process = reply.process;
    } else {
        release(&server->second);
    }
    (void)close(ends[1]);
}

/* Wait for the server that is a child of this process, which is ending or gone. */
static void reap(struct fork_server *server)
{
    while (server->child > 0 && waitpid(server->child, NULL, 0) < 0 && errno == EINTR) {
    }
    server->child = -1;
}

/* The first is gone, and its children with it: the second takes over. Under the lock. */
static void take_over(struct fork_server *server)
{
    if (server->first.process == server->child && server->child > 0) {
        (void)kill(server->child, SIGKILL); /* It may only be stopped. */
        reap(server);
    }
    release(&server->first);
    server->first = server->second;
    server->second = no_way;
}

/* Fork a first server, and let it fork a second. Under the lock, or before there is one. */
static bool start(struct fork_server *server)
{
    int ends[2];
    if (!open_control(ends)) {
        return false;
    }
    server->child = fork_serving_start(&server->options, ends[1]);
    if (server->child < 0) {
        (void)close(ends[0]);
        return false;
    }
    server->first = (struct fork_way){.control = ends[0], .process = server->child};
    make_second(server);
    return true;
}

/* Both are gone. Under the lock. */
static bool start_over(struct fork_server *server)
{
    if (fork_serving_is_child()) {
        _exit(EXIT_FAILURE); /* The server of this process makes another. */
    }
    release(&server->first);
    return start(server);
}

enum weft_status fork_server_start(
    struct fork_server *server, const struct fork_options *options, struct weft_error *error)
{
    *server =
        (struct fork_server){.options = *options, .first = no_way, .second = no_way, .child = -1};
    if (!start(server)) {
        return error_set(error, WEFT_IO, "no process to fork from: %s", strerror(errno));
    }
    (void)pthread_mutex_init(&server->lock, NULL);
    return WEFT_OK;
}

void fork_server_stop(struct fork_server *server)
{
    release(&server->first);
    release(&server->second);
    reap(server);
    (void)pthread_mutex_destroy(&server->lock);
}

/* Ask for a child with the files of @order. -1 if there is none. */
static pid_t ask_for_child(
    struct fork_server *server, const struct fork_order *order, const int *files, uint32_t count)
{
    struct fork_request request = {.kind = FORK_REQUEST_FORK};
    struct fork_reply reply = {.process = -1};
    ASSERT(order->bytes <= sizeof(request.argument));
    memcpy(request.argument, order->argument, order->bytes);
    (void)snprintf(request.label, sizeof(request.label), "%s", order->label);
    (void)pthread_mutex_lock(&server->lock);
    bool is_answered = ask(&server->first, &request, files, count, &reply);
    if (!is_answered) { /* It was killed. */
        take_over(server);
        is_answered = ask(&server->first, &request, files, count, &reply);
    }
    if (!is_answered && start_over(server)) {
        is_answered = ask(&server->first, &request, files, count, &reply);
    }
    if (is_answered && server->second.control < 0) {
        make_second(server);
    }
    (void)pthread_mutex_unlock(&server->lock);
    return is_answered ? reply.process : -1;
}

enum weft_status fork_server_fork(
    struct fork_server *server, const struct fork_order *order, struct fork_child *child_out,
    struct weft_error *error)
{
    int ends[2] = {-1, -1};
    ASSERT(order->file_count <= FORK_FILES_MAX);
    if (order->file_count == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return error_set(error, WEFT_IO, "no sockets for a process: %s", strerror(errno));
    }
    const pid_t process = order->file_count == 0
                              ? ask_for_child(server, order, &ends[1], 1)
                              : ask_for_child(server, order, order->files, order->file_count);
    if (ends[1] >= 0) {
        (void)close(ends[1]);
    }
    if (process <= 0) {
        if (ends[0] >= 0) {
            (void)close(ends[0]);
        }
        return error_set(error, WEFT_IO, "cannot fork a process for %s", order->label);
    }
    *child_out = (struct fork_child){.process = process, .socket = ends[0]};
    return WEFT_OK;
}

static void describe(int wait_status, struct fork_ended *ended)
{
    if (!WIFSIGNALED(wait_status)) {
        ended->how = FORK_END_EXIT;
        ended->number = WEXITSTATUS(wait_status);
        (void)snprintf(
            ended->text, sizeof(ended->text), "ended the process (exit %d)", ended->number);
        return;
    }
    ended->how = FORK_END_SIGNAL;
    ended->number = WTERMSIG(wait_status);
    const char *name = sigabbrev_np(ended->number);
    const char *what = ended->number == SIGXCPU   ? "used too much processor time"
                       : ended->number == SIGKILL ? "was killed"
                                                  : "crashed";
    (void)snprintf(ended->text, sizeof(ended->text), "%s (SIG%s)", what, name == NULL ? "?" : name);
}

void fork_server_end(
    struct fork_server *server, struct fork_child *child, struct fork_ended *ended_out)
{
    const struct fork_request request = {.kind = FORK_REQUEST_END, .process = child->process};
    struct fork_reply reply = {.process = -1};
    (void)pthread_mutex_lock(&server->lock);
    const bool is_known =
        ask(&server->first, &request, NULL, 0, &reply) && reply.process == child->process;
    (void)pthread_mutex_unlock(&server->lock);
    *ended_out = (struct fork_ended){.how = FORK_END_UNKNOWN};
    if (is_known) {
        describe(reply.wait_status, ended_out);
    } else {
        (void)snprintf(ended_out->text, sizeof(ended_out->text), "is gone");
    }
    if (child->socket >= 0) {
        (void)close(child->socket);
        child->socket = -1;
    }
}
