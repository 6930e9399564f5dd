#include "engine/fork_server.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "engine/bundle.h"

enum { CONTROL = 3 };

enum request_kind { REQUEST_FORK, REQUEST_END, REQUEST_TWIN };

struct request {
    enum request_kind kind;
    pid_t process;
    uint8_t argument[FORK_ARGUMENT_BYTES];
};

struct reply {
    pid_t process; /* -1 if there is none. */
    int wait_status;
};

/* What the server process knows. */
struct serving {
    fork_main run;
    const void *context;
    char name[16];
    pid_t children[FORK_CHILDREN_MAX]; /* 0: free. */
};

static bool is_child; /* Of a server, or a server. */

pid_t fork_server_fork_self(void)
{
    return is_child ? _Fork() : fork();
}

/* What the parent arranged for its signals and files does not hold here. */
static void forget_parent(int keep)
{
    is_child = true;
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t none;
    for (int number = 1; number < NSIG; number++) {
        (void)sigaction(number, &usual, NULL); /* Some cannot be changed. */
    }
    usual.sa_handler = SIG_IGN;
    (void)sigaction(SIGINT, &usual, NULL); /* Of the terminal: the parent decides what it means. */
    (void)sigaction(SIGHUP, &usual, NULL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (keep != CONTROL) {
        (void)dup2(keep, CONTROL);
    }
    (void)close_range(CONTROL + 1, ~0U, 0);
    bundle_forked();
}

/* Send @reply, and with it the descriptor @passed unless that is -1. */
static bool send_reply(const struct reply *reply, int passed)
{
    struct iovec part = {.iov_base = (void *)(uintptr_t)reply, .iov_len = sizeof(*reply)};
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } room;
    memset(&room, 0, sizeof(room));
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (passed >= 0) {
        message.msg_control = room.bytes;
        message.msg_controllen = sizeof(room.bytes);
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(head), &passed, sizeof(passed));
    }
    return sendmsg(CONTROL, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(*reply);
}

static pid_t *find_child(struct serving *serving, pid_t process)
{
    for (uint32_t i = 0; i < FORK_CHILDREN_MAX; i++) {
        if (serving->children[i] == process) {
            return &serving->children[i];
        }
    }
    return NULL;
}

_Noreturn static void be_child(
    const struct serving *serving, pid_t server, int socket, const struct request *request)
{
    /* If the server dies, so does this; it may be dead already. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != server) {
        _exit(EXIT_FAILURE);
    }
    forget_parent(socket);
    (void)prctl(PR_SET_NAME, serving->name);
    serving->run(serving->context, CONTROL, request->argument);
    _exit(EXIT_SUCCESS);
}

static bool serve_fork(struct serving *serving, const struct request *request)
{
    struct reply reply = {.process = -1};
    int ends[2] = {-1, -1};
    pid_t *slot = find_child(serving, 0);
    if (slot != NULL && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0) {
        const pid_t server = getpid();
        reply.process = fork_server_fork_self();
        if (reply.process == 0) {
            be_child(serving, server, ends[1], request);
        }
        if (reply.process > 0) {
            *slot = reply.process;
        }
    }
    const bool is_sent = send_reply(&reply, reply.process > 0 ? ends[0] : -1);
    if (ends[0] >= 0) {
        (void)close(ends[0]);
        (void)close(ends[1]);
    }
    return is_sent;
}

static bool serve_end(struct serving *serving, pid_t process)
{
    struct reply reply = {.process = -1};
    pid_t *slot = find_child(serving, process);
    if (process > 0 && slot != NULL) {
        (void)kill(process, SIGKILL); /* It may be over already: then that is how it ended. */
        if (waitpid(process, &reply.wait_status, 0) == process) {
            reply.process = process;
        }
        *slot = 0;
    }
    return send_reply(&reply, -1);
}

_Noreturn static void serve(struct serving *serving);

/* One more server like this one. It outlives this one, and ends with its control. */
static bool serve_twin(struct serving *serving)
{
    struct reply reply = {.process = -1};
    int ends[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0) {
        reply.process = fork_server_fork_self();
        if (reply.process == 0) {
            forget_parent(ends[1]);
            memset(serving->children, 0, sizeof(serving->children));
            serve(serving);
        }
    }
    const bool is_sent = send_reply(&reply, reply.process > 0 ? ends[0] : -1);
    if (ends[0] >= 0) {
        (void)close(ends[0]);
        (void)close(ends[1]);
    }
    return is_sent;
}

static bool serve_one(struct serving *serving, const struct request *request)
{
    switch (request->kind) {
    case REQUEST_FORK:
        return serve_fork(serving, request);
    case REQUEST_END:
        return serve_end(serving, request->process);
    case REQUEST_TWIN:
        return serve_twin(serving);
    }
    return false;
}

static void serve(struct serving *serving)
{
    struct request request;
    const struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none); /* A crash is expected here, and said in words. */
    (void)prctl(PR_SET_NAME, "weft-fork");
    for (;;) {
        const ssize_t bytes = recv(CONTROL, &request, sizeof(request), 0);
        if (bytes < 0 && errno == EINTR) {
            continue;
        }
        if (bytes != (ssize_t)sizeof(request) || !serve_one(serving, &request)) {
            break; /* The parent has closed its end, or is gone. */
        }
    }
    for (uint32_t i = 0; i < FORK_CHILDREN_MAX; i++) {
        if (serving->children[i] > 0) {
            (void)kill(serving->children[i], SIGKILL);
        }
    }
    _exit(EXIT_SUCCESS);
}

/* Ask the server at @control, and wait for its answer. @passed_out: the descriptor that came with
 * it, or -1. False if the server is gone. */
static bool ask_at(
    int control, const struct request *request, struct reply *reply_out, int *passed_out)
{
    struct iovec part = {.iov_base = reply_out, .iov_len = sizeof(*reply_out)};
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } room;
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = room.bytes,
        .msg_controllen = sizeof(room.bytes)};
    *passed_out = -1;
    memset(&room, 0, sizeof(room));
    ssize_t bytes = send(control, request, sizeof(*request), MSG_NOSIGNAL);
    if (bytes == (ssize_t)sizeof(*request)) {
        do {
            bytes = recvmsg(control, &message, MSG_CMSG_CLOEXEC);
        } while (bytes < 0 && errno == EINTR);
    }
    if (bytes != (ssize_t)sizeof(*reply_out)) {
        return false;
    }
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head != NULL && head->cmsg_type == SCM_RIGHTS) {
        memcpy(passed_out, CMSG_DATA(head), sizeof(*passed_out));
    }
    return true;
}

/* Let the server have a twin. Without one it still serves. */
static void make_twin(struct fork_server *server)
{
    const struct request request = {.kind = REQUEST_TWIN};
    struct reply reply;
    if (!ask_at(server->control, &request, &reply, &server->twin)) {
        server->twin = -1;
    }
}

/* Close our end of the server, which ends of that, after its children. */
static void leave(struct fork_server *server)
{
    (void)close(server->control);
    while (server->process > 0 && waitpid(server->process, NULL, 0) < 0 && errno == EINTR) {
    }
    server->control = -1;
    server->process = 0;
}

/* Ask the server or, if it is gone, its twin from now on. False if that is gone, too. */
static bool ask(
    struct fork_server *server, const struct request *request, struct reply *reply_out,
    int *passed_out)
{
    (void)pthread_mutex_lock(&server->lock);
    bool is_answered = ask_at(server->control, request, reply_out, passed_out);
    if (!is_answered && server->twin >= 0) { /* Its children went with it. */
        leave(server);
        server->control = server->twin;
        make_twin(server);
        is_answered = ask_at(server->control, request, reply_out, passed_out);
    }
    (void)pthread_mutex_unlock(&server->lock);
    return is_answered;
}

enum weft_status fork_server_start(
    struct fork_server *server, fork_main run, const void *context, const char *name,
    struct weft_error *error)
{
    static struct serving serving; /* Only the forked process uses it. */
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return error_set(error, WEFT_IO, "no sockets for processes: %s", strerror(errno));
    }
    const pid_t process = fork_server_fork_self();
    if (process == 0) {
        forget_parent(ends[1]);
        serving = (struct serving){.run = run, .context = context};
        (void)snprintf(serving.name, sizeof(serving.name), "%s", name);
        serve(&serving);
    }
    (void)close(ends[1]);
    if (process < 0) {
        (void)close(ends[0]);
        return error_set(error, WEFT_IO, "no process: %s", strerror(errno));
    }
    *server = (struct fork_server){.control = ends[0], .process = process};
    (void)pthread_mutex_init(&server->lock, NULL);
    make_twin(server);
    return WEFT_OK;
}

void fork_server_stop(struct fork_server *server)
{
    leave(server);
    if (server->twin >= 0) {
        (void)close(server->twin);
    }
    (void)pthread_mutex_destroy(&server->lock);
}

enum weft_status fork_server_fork(
    struct fork_server *server, const void *argument, size_t bytes, struct fork_child *child_out,
    struct weft_error *error)
{
    struct request request = {.kind = REQUEST_FORK};
    struct reply reply = {.process = -1};
    int passed;
    ASSERT(bytes <= sizeof(request.argument));
    memcpy(request.argument, argument, bytes);
    if (!ask(server, &request, &reply, &passed)) {
        return error_set(error, WEFT_IO, "the process that makes processes is gone");
    }
    if (reply.process <= 0 || passed < 0) {
        return error_set(error, WEFT_IO, "the system gives no process");
    }
    *child_out = (struct fork_child){.process = reply.process, .socket = passed};
    return WEFT_OK;
}

void fork_server_end(
    struct fork_server *server, struct fork_child *child, char *how, size_t how_bytes)
{
    const struct request request = {.kind = REQUEST_END, .process = child->process};
    struct reply reply = {.process = -1};
    int passed;
    const bool is_known = ask(server, &request, &reply, &passed) && reply.process > 0;
    if (!is_known) {
        (void)snprintf(how, how_bytes, "is gone");
    } else if (WIFSIGNALED(reply.wait_status)) {
        const char *name = sigabbrev_np(WTERMSIG(reply.wait_status));
        (void)snprintf(how, how_bytes, "crashed (SIG%s)", name == NULL ? "?" : name);
    } else {
        (void)snprintf(
            how, how_bytes, "ended the process (exit %d)", WEXITSTATUS(reply.wait_status));
    }
    (void)close(child->socket);
    child->socket = -1;
}
