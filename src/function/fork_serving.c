#include "function/fork_serving.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/bundle.h"
#include "engine/near.h"
#include "function/fork_output.h"

enum { CONTROL = FORK_FILE_FIRST, KEPT_MAX = FORK_FILES_MAX + 1 };

struct forked {
    pid_t process; /* 0: free. */
    struct fork_output output;
};

/* What came with a request. */
struct passed {
    int files[FORK_FILES_MAX];
    uint32_t count;
};

/* Of this process, which has one thread. */
static struct serving {
    struct fork_options options;
    pid_t twin; /* The last one. */
    struct forked children[FORK_CHILDREN_MAX];
} serving;

static bool is_child; /* Of a server, or a server. */

bool fork_serving_is_child(void)
{
    return is_child;
}

/*
 * Fork this process. Inside of a child it leaves out what libraries do at a fork: they would close
 * descriptors that were theirs in the first process and are used for something else by now.
 */
static pid_t fork_self(void)
{
    return is_child ? _Fork() : fork();
}

/* What the parent arranged for its signals does not hold here. */
static void forget_signals(void)
{
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
}

/* Keep @count of the descriptors @from, as CONTROL and those after it; and the way to the log,
 * behind them, if @has_log. Close all others. */
static void keep_descriptors(const int *from, uint32_t count, bool has_log)
{
    int high[KEPT_MAX];
    const uint32_t end = count + (has_log ? 1 : 0);
    for (uint32_t i = 0; i < end; i++) { /* Out of the way of one another. */
        high[i] = fcntl(i < count ? from[i] : fork_output_log(), F_DUPFD, CONTROL + KEPT_MAX);
    }
    for (uint32_t i = 0; i < end; i++) {
        (void)dup2(high[i], CONTROL + (int)i);
    }
    (void)close_range(CONTROL + end, ~0U, 0);
    if (has_log) {
        fork_output_set_log(CONTROL + (int)count);
    }
}

/* Children read nothing, and what they print is not output of the first process. */
static void replace_standard(int output)
{
    const int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0) {
        (void)dup2(nothing, STDIN_FILENO);
    }
    (void)dup2(output, STDOUT_FILENO);
    (void)dup2(output, STDERR_FILENO);
}

static struct forked *find_child(pid_t process)
{
    for (uint32_t i = 0; i < FORK_CHILDREN_MAX; i++) {
        if (serving.children[i].process == process) {
            return &serving.children[i];
        }
    }
    return NULL;
}

_Noreturn static void be_child(
    pid_t server, const struct fork_request *request, const struct passed *passed, int output)
{
    /* If the server dies, so does this; it may be dead already. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != server) {
        _exit(EXIT_FAILURE);
    }
    forget_signals();
    fork_output_set_log(fcntl(fork_output_log(), F_DUPFD, CONTROL)); /* It may be the next. */
    replace_standard(output);
    keep_descriptors(passed->files, passed->count, !serving.options.is_leaf);
    (void)prctl(PR_SET_NAME, serving.options.name);
    serving.options.run(serving.options.context, request->argument);
    _exit(EXIT_SUCCESS);
}

static pid_t fork_child(
    struct forked *child, const struct fork_request *request, const struct passed *passed)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    const pid_t server = getpid();
    const pid_t process = fork_self();
    if (process == 0) {
        be_child(server, request, passed, ends[1]);
    }
    (void)close(ends[1]);
    if (process < 0) {
        (void)close(ends[0]);
        return -1;
    }
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    child->process = process;
    fork_output_open(
        &child->output, ends[0], serving.options.printed, serving.options.key, request->label);
    return process;
}

static struct fork_reply serve_fork(const struct fork_request *request, const struct passed *passed)
{
    struct forked *child = find_child(0);
    return (struct fork_reply){.process = child == NULL ? -1 : fork_child(child, request, passed)};
}

/* A child that ended by itself, and not well, is news. */
static void report(struct forked *child, int wait_status)
{
    char text[32];
    const int number = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
    const char *name = number == 0 ? NULL : sigabbrev_np(number);
    if (serving.options.ended != NULL && number != 0 && number != SIGKILL) {
        (void)snprintf(text, sizeof(text), "SIG%s", name == NULL ? "?" : name);
        fork_output_say(&child->output, LOG_WARN, serving.options.ended, text);
    }
}

static struct fork_reply serve_end(pid_t process)
{
    struct forked *child = process > 0 ? find_child(process) : NULL;
    int wait_status = 0;
    if (child == NULL) {
        return (struct fork_reply){.process = -1};
    }
    (void)kill(process, SIGKILL); /* It may be over already: then that is how it ended. */
    const bool is_known = waitpid(process, &wait_status, 0) == process;
    fork_output_close(&child->output);
    if (is_known) {
        report(child, wait_status);
    }
    child->process = 0;
    return (struct fork_reply){.process = is_known ? process : -1, .wait_status = wait_status};
}

_Noreturn static void serve_all(int control);

/* One more server like this one. It outlives this one, and ends with its own control. */
static struct fork_reply serve_twin(const struct passed *passed)
{
    if (passed->count != 1) {
        return (struct fork_reply){.process = -1};
    }
    if (serving.twin > 0) {
        (void)waitpid(serving.twin, NULL, WNOHANG); /* If it is gone, that is why we are asked. */
    }
    const pid_t process = fork_self();
    if (process == 0) {
        serve_all(passed->files[0]);
    }
    serving.twin = process;
    return (struct fork_reply){.process = process};
}

static struct fork_reply serve_request(
    const struct fork_request *request, const struct passed *passed)
{
    switch (request->kind) {
    case FORK_REQUEST_FORK:
        return serve_fork(request, passed);
    case FORK_REQUEST_END:
        return serve_end(request->process);
    case FORK_REQUEST_TWIN:
        return serve_twin(passed);
    }
    return (struct fork_reply){.process = -1};
}

/* Answer one request; false if there are no more. */
static bool serve_one(void)
{
    struct fork_request request;
    struct passed passed = {.count = 0};
    struct iovec part = {.iov_base = &request, .iov_len = sizeof(request)};
    union {
        char bytes[CMSG_SPACE(sizeof(passed.files))];
        struct cmsghdr align;
    } room;
    memset(&room, 0, sizeof(room));
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = room.bytes,
        .msg_controllen = CMSG_LEN(sizeof(passed.files))};
    const ssize_t bytes = recvmsg(CONTROL, &message, MSG_CMSG_CLOEXEC);
    if (bytes < 0 && errno == EINTR) {
        return true;
    }
    const struct cmsghdr *head = bytes <= 0 ? NULL : CMSG_FIRSTHDR(&message);
    if (head != NULL && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
        passed.count = (uint32_t)((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(passed.files, CMSG_DATA(head), passed.count * sizeof(int));
    }
    /* Without a whole request the parent has closed its end, or is gone. */
    const bool is_whole = bytes == (ssize_t)sizeof(request);
    struct fork_reply reply = {.process = -1};
    if (is_whole) {
        request.label[sizeof(request.label) - 1] = '\0';
        reply = serve_request(&request, &passed);
    }
    /* Before the reply: once the child is known, its end of a socket is open nowhere else, and
     * the process that holds the other end sees it die. */
    for (uint32_t i = 0; i < passed.count; i++) {
        (void)close(passed.files[i]);
    }
    return is_whole && send(CONTROL, &reply, sizeof(reply), MSG_NOSIGNAL) == (ssize_t)sizeof(reply);
}

/* Wait for a request, or for something that a child prints, which is passed on. */
static bool has_request(void)
{
    static struct pollfd ready[1 + FORK_CHILDREN_MAX];
    static struct forked *who[1 + FORK_CHILDREN_MAX];
    nfds_t count = 1;
    ready[0] = (struct pollfd){.fd = CONTROL, .events = POLLIN};
    for (uint32_t i = 0; i < FORK_CHILDREN_MAX; i++) {
        struct forked *child = &serving.children[i];
        if (child->process > 0 && child->output.pipe >= 0) {
            who[count] = child;
            ready[count++] = (struct pollfd){.fd = child->output.pipe, .events = POLLIN};
        }
    }
    if (poll(ready, count, -1) < 0) {
        return false;
    }
    for (nfds_t i = 1; i < count; i++) {
        if (ready[i].revents != 0) {
            fork_output_read(&who[i]->output);
        }
    }
    return ready[0].revents != 0;
}

/* Be a server behind @control, without children, until its other end is closed. */
_Noreturn static void serve_all(int control)
{
    const struct rlimit none = {0, 0};
    bool is_open = true;
    is_child = true;
    near_forked();
    forget_signals();
    keep_descriptors(&control, 1, /* has_log */ true);
    bundle_forked();  /* What children make is sent, not lent. */
    __fpurge(stdout); /* What the parent had not written yet is written by the parent. */
    (void)setrlimit(RLIMIT_CORE, &none); /* A crash is expected here, and said in words. */
    (void)prctl(PR_SET_NAME, "weft-fork");
    memset(serving.children, 0, sizeof(serving.children));
    serving.twin = 0;
    while (is_open) {
        if (has_request()) {
            is_open = serve_one();
        }
    }
    for (uint32_t i = 0; i < FORK_CHILDREN_MAX; i++) {
        if (serving.children[i].process > 0) {
            (void)kill(serving.children[i].process, SIGKILL);
            fork_output_close(&serving.children[i].output);
        }
    }
    _exit(EXIT_SUCCESS);
}

pid_t fork_serving_start(const struct fork_options *options, int control)
{
    const pid_t process = fork_self();
    if (process == 0) {
        serving.options = *options;
        if (options->prepare != NULL) {
            options->prepare(options->context);
        }
        serve_all(control);
    }
    (void)close(control);
    return process;
}
