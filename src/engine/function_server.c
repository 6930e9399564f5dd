#include "engine/function_server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "engine/fork_server.h"
#include "engine/function_forker.h"

enum { ANSWER_S_MAX = 30 }; /* A forker that is stopped is as good as gone. */

/* What came with an answer. */
struct passed {
    int files[FORKER_DESCRIPTORS_MAX];
    uint32_t count;
};

static void release(struct function_forker *forker)
{
    if (forker->control >= 0) {
        (void)close(forker->control); /* It ends of that, after its runners. */
    }
    *forker = (struct function_forker){.control = -1, .process = -1};
}

/* Take out the descriptors; should there be more than fit, the kernel has closed them. */
static void take_passed(struct msghdr *message, struct passed *passed_out)
{
    const struct cmsghdr *head = CMSG_FIRSTHDR(message);
    passed_out->count = 0;
    if (head != NULL && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
        passed_out->count = (uint32_t)((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(passed_out->files, CMSG_DATA(head), passed_out->count * sizeof(int));
    }
}

static void drop_passed(const struct passed *passed)
{
    for (uint32_t i = 0; i < passed->count; i++) {
        (void)close(passed->files[i]); /* Of no use without the others. */
    }
}

/* Ask, and wait for the answer. Under the lock. False if the forker is gone. */
static bool ask(
    const struct function_forker *forker, const struct forker_request *request,
    struct forker_reply *reply_out, struct passed *passed_out)
{
    struct iovec part = {.iov_base = reply_out, .iov_len = sizeof(*reply_out)};
    union {
        char bytes[CMSG_LEN(FORKER_DESCRIPTORS_MAX * sizeof(int))];
        struct cmsghdr align;
    } room;
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = room.bytes,
        .msg_controllen = CMSG_LEN(FORKER_DESCRIPTORS_MAX * sizeof(int))};
    passed_out->count = 0;
    memset(&room, 0, sizeof(room));
    if (forker->control < 0) {
        return false;
    }
    ssize_t bytes = send(forker->control, request, sizeof(*request), MSG_NOSIGNAL);
    if (bytes == (ssize_t)sizeof(*request)) {
        do {
            bytes = recvmsg(forker->control, &message, MSG_CMSG_CLOEXEC);
        } while (bytes < 0 && errno == EINTR);
    }
    if (bytes != (ssize_t)sizeof(*reply_out)) {
        return false;
    }
    take_passed(&message, passed_out);
    return true;
}

/* It is asked from here on: an answer is waited for only so long. */
static void adopt(struct function_forker *forker, int control, pid_t process)
{
    const struct timeval most = {.tv_sec = ANSWER_S_MAX};
    (void)setsockopt(control, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
    *forker = (struct function_forker){.control = control, .process = process};
}

/* Have a second forker, if the first can fork one. Under the lock. */
static void make_second(struct function_server *server)
{
    const struct forker_request request = {.question = FORKER_TWIN};
    struct forker_reply reply = {.process = -1};
    struct passed passed;
    if (!ask(&server->first, &request, &reply, &passed)) {
        return;
    }
    if (reply.process > 0 && passed.count == 1) {
        adopt(&server->second, passed.files[0], reply.process);
        return;
    }
    drop_passed(&passed);
}

/* Wait for the forker that is a child of this process, which is ending or gone. */
static void reap(struct function_server *server)
{
    while (server->child > 0 && waitpid(server->child, NULL, 0) < 0 && errno == EINTR) {
    }
    server->child = -1;
}

/* The first is gone, and its runners with it: the second takes over. Under the lock. */
static void take_over(struct function_server *server)
{
    if (server->first.process == server->child && server->child > 0) {
        (void)kill(server->child, SIGKILL); /* It may only be stopped. */
        reap(server);
    }
    release(&server->first);
    server->first = server->second;
    server->second = (struct function_forker){.control = -1, .process = -1};
    make_second(server);
}

enum weft_status function_server_start(
    struct function_server *server, const struct function_limits *limits, struct weft_error *error)
{
    int ends[2];
    server->first = (struct function_forker){.control = -1, .process = -1};
    server->second = server->first;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return error_set(error, WEFT_IO, "no sockets for functions: %s", strerror(errno));
    }
    server->child = fork_server_fork_self();
    if (server->child == 0) {
        function_forker_main(ends[1], limits);
    }
    (void)close(ends[1]);
    if (server->child < 0) {
        (void)close(ends[0]);
        return error_set(error, WEFT_IO, "no process for functions: %s", strerror(errno));
    }
    (void)pthread_mutex_init(&server->lock, NULL);
    adopt(&server->first, ends[0], server->child);
    make_second(server);
    return WEFT_OK;
}

void function_server_stop(struct function_server *server)
{
    release(&server->first);
    release(&server->second);
    reap(server);
    (void)pthread_mutex_destroy(&server->lock);
}

enum weft_status function_server_fork(
    struct function_server *server, const char *path, struct function_runner *runner_out,
    struct weft_error *error)
{
    struct forker_request request = {.question = FORKER_FORK};
    struct forker_reply reply = {.process = -1};
    struct passed passed = {.count = 0};
    (void)snprintf(request.path, sizeof(request.path), "%s", path);
    (void)pthread_mutex_lock(&server->lock);
    bool is_answered = ask(&server->first, &request, &reply, &passed);
    if (!is_answered) { /* Somebody has killed it. */
        take_over(server);
        is_answered = ask(&server->first, &request, &reply, &passed);
    }
    if (is_answered && server->second.control < 0) {
        make_second(server);
    }
    (void)pthread_mutex_unlock(&server->lock);
    if (!is_answered) {
        return error_set(
            error, WEFT_IO, "all processes that start functions were killed: start it again");
    }
    if (reply.process <= 0 || passed.count != FORKER_DESCRIPTORS_MAX) {
        drop_passed(&passed);
        return error_set(error, WEFT_IO, "no process for the functions of %s", path);
    }
    *runner_out = (struct function_runner){
        .process = reply.process,
        .channel = {
            .socket = passed.files[0],
            .to_there = passed.files[1],
            .from_there = passed.files[2],
        }};
    return WEFT_OK;
}

static void describe(int wait_status, struct function_ended *ended)
{
    if (!WIFSIGNALED(wait_status)) {
        ended->how = FUNCTION_END_EXIT;
        ended->number = WEXITSTATUS(wait_status);
        (void)snprintf(
            ended->text, sizeof(ended->text), "ended the process (exit %d)", ended->number);
        return;
    }
    ended->how = FUNCTION_END_SIGNAL;
    ended->number = WTERMSIG(wait_status);
    const char *name = sigabbrev_np(ended->number);
    const char *what = ended->number == SIGXCPU   ? "used too much processor time"
                       : ended->number == SIGKILL ? "was killed"
                                                  : "crashed";
    (void)snprintf(ended->text, sizeof(ended->text), "%s (SIG%s)", what, name == NULL ? "?" : name);
}

void function_server_end(
    struct function_server *server, struct function_runner *runner,
    struct function_ended *ended_out)
{
    const struct forker_request request = {.question = FORKER_END, .process = runner->process};
    struct forker_reply reply = {.process = -1};
    struct passed passed;
    (void)pthread_mutex_lock(&server->lock);
    const bool is_known =
        ask(&server->first, &request, &reply, &passed) && reply.process == runner->process;
    (void)pthread_mutex_unlock(&server->lock);
    drop_passed(&passed);
    *ended_out = (struct function_ended){.how = FUNCTION_END_UNKNOWN};
    if (is_known) {
        describe(reply.wait_status, ended_out);
    } else {
        (void)snprintf(ended_out->text, sizeof(ended_out->text), "is gone");
    }
    function_channel_close(&runner->channel);
}
