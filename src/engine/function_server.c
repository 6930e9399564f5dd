#include "engine/function_server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "engine/fork_server.h"
#include "engine/function_runner.h"

enum { CONTROL = 3, RUNNERS_MAX = 1024 };

/* To the server: fork for `path`, or end `process`. */
struct request {
    pid_t process; /* 0: fork. */
    char path[FUNCTION_PATH_BYTES];
};

struct reply {
    pid_t process; /* -1 if there is none. */
    int wait_status;
};

/* What the parent arranged for its signals and files is not ours. */
static void forget_parent(int keep)
{
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t none;
    for (int number = 1; number < NSIG; number++) {
        (void)sigaction(number, &usual, NULL); /* Some cannot be changed. */
    }
    usual.sa_handler = SIG_IGN;
    (void)sigaction(SIGINT, &usual, NULL); /* Of the terminal: the parent decides what it means. */
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (keep != CONTROL) {
        (void)dup2(keep, CONTROL);
    }
    (void)close_range(CONTROL + 1, ~0U, 0);
    function_wire_forked();
    bundle_forked();
}

/* Send @reply, and with it the descriptor @passed if it is none of -1. */
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

static pid_t runners[RUNNERS_MAX]; /* Of the server process; 0: free. */

static pid_t *find_runner(pid_t process)
{
    for (uint32_t i = 0; i < RUNNERS_MAX; i++) {
        if (runners[i] == process) {
            return &runners[i];
        }
    }
    return NULL;
}

static bool serve_fork(const char *path)
{
    struct reply reply = {.process = -1};
    int ends[2] = {-1, -1};
    pid_t *slot = find_runner(0);
    if (slot != NULL && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0) {
        const pid_t server = getpid();
        /* Without what libraries of the parent do at a fork: they would close descriptors that
         * are no longer theirs. This process has one thread, so nothing needs to be unlocked. */
        reply.process = _Fork();
        if (reply.process == 0) {
            /* If the server dies, so does this; it may be dead already. */
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != server) {
                _exit(EXIT_FAILURE);
            }
            forget_parent(ends[1]);
            (void)prctl(PR_SET_NAME, "weft-function");
            function_runner_main(CONTROL, path);
            _exit(EXIT_SUCCESS);
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

static bool serve_end(pid_t process)
{
    struct reply reply = {.process = -1};
    pid_t *slot = find_runner(process);
    if (process > 0 && slot != NULL) {
        (void)kill(process, SIGKILL); /* It may be over already: then that is how it ended. */
        if (waitpid(process, &reply.wait_status, 0) == process) {
            reply.process = process;
        }
        *slot = 0;
    }
    return send_reply(&reply, -1);
}

_Noreturn static void serve(void)
{
    struct request request;
    struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none); /* A crash is expected here, and said in words. */
    (void)prctl(PR_SET_NAME, "weft-functions");
    for (;;) {
        const ssize_t bytes = recv(CONTROL, &request, sizeof(request), 0);
        if (bytes < 0 && errno == EINTR) {
            continue;
        }
        if (bytes != (ssize_t)sizeof(request)) {
            break; /* The parent has closed its end, or is gone. */
        }
        request.path[sizeof(request.path) - 1] = '\0';
        if (!(request.process == 0 ? serve_fork(request.path) : serve_end(request.process))) {
            break;
        }
    }
    for (uint32_t i = 0; i < RUNNERS_MAX; i++) {
        if (runners[i] > 0) {
            (void)kill(runners[i], SIGKILL);
        }
    }
    _exit(EXIT_SUCCESS);
}

/* Fork the process of @server. */
static enum weft_status spawn(struct function_server *server, struct weft_error *error)
{
    int ends[2];
    server->control = -1;
    server->process = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return error_set(error, WEFT_IO, "no sockets for functions: %s", strerror(errno));
    }
    server->process = fork_server_fork_self();
    if (server->process == 0) {
        forget_parent(ends[1]);
        serve();
    }
    (void)close(ends[1]);
    if (server->process < 0) {
        (void)close(ends[0]);
        return error_set(error, WEFT_IO, "no process for functions: %s", strerror(errno));
    }
    server->control = ends[0];
    return WEFT_OK;
}

/* Close our end and wait until the process is gone: it ends of that, after its runners. */
static void reap(struct function_server *server)
{
    if (server->control >= 0) {
        (void)close(server->control);
    }
    while (server->process > 0 && waitpid(server->process, NULL, 0) < 0 && errno == EINTR) {
    }
}

enum weft_status function_server_start(struct function_server *server, struct weft_error *error)
{
    const enum weft_status status = spawn(server, error);
    if (status == WEFT_OK) {
        (void)pthread_mutex_init(&server->lock, NULL);
    }
    return status;
}

void function_server_stop(struct function_server *server)
{
    reap(server);
    (void)pthread_mutex_destroy(&server->lock);
}

/* Ask, and wait for the answer. @passed_out: the descriptor that came with it, or -1. Under the
 * lock. False if the server is gone. */
static bool ask(
    struct function_server *server, const struct request *request, struct reply *reply_out,
    int *passed_out)
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
    ssize_t bytes = send(server->control, request, sizeof(*request), MSG_NOSIGNAL);
    if (bytes == (ssize_t)sizeof(*request)) {
        do {
            bytes = recvmsg(server->control, &message, MSG_CMSG_CLOEXEC);
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

enum weft_status function_server_fork(
    struct function_server *server, const char *path, struct function_runner *runner_out,
    struct weft_error *error)
{
    struct request request = {.process = 0};
    struct reply reply = {.process = -1};
    int passed;
    (void)snprintf(request.path, sizeof(request.path), "%s", path);
    (void)pthread_mutex_lock(&server->lock);
    bool is_answered = ask(server, &request, &reply, &passed);
    if (!is_answered) { /* Somebody has killed it. Its runners went with it. */
        reap(server);
        is_answered = spawn(server, NULL) == WEFT_OK && ask(server, &request, &reply, &passed);
    }
    (void)pthread_mutex_unlock(&server->lock);
    if (!is_answered || reply.process <= 0 || passed < 0) {
        return error_set(error, WEFT_IO, "no process for the functions of %s", path);
    }
    *runner_out = (struct function_runner){.process = reply.process, .socket = passed};
    return WEFT_OK;
}

void function_server_end(
    struct function_server *server, struct function_runner *runner, char *how, size_t how_bytes)
{
    const struct request request = {.process = runner->process};
    struct reply reply = {.process = -1};
    int passed;
    (void)pthread_mutex_lock(&server->lock);
    const bool is_known = ask(server, &request, &reply, &passed) && reply.process > 0;
    (void)pthread_mutex_unlock(&server->lock);
    if (!is_known) {
        (void)snprintf(how, how_bytes, "is gone");
    } else if (WIFSIGNALED(reply.wait_status)) {
        const char *name = sigabbrev_np(WTERMSIG(reply.wait_status));
        (void)snprintf(how, how_bytes, "crashed (SIG%s)", name == NULL ? "?" : name);
    } else {
        (void)snprintf(
            how, how_bytes, "ended the process (exit %d)", WEXITSTATUS(reply.wait_status));
    }
    (void)close(runner->socket);
    runner->socket = -1;
}
