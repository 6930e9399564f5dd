#include "engine/function_forker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/function_output.h"
#include "engine/function_runner.h"
#include "engine/function_sandbox.h"

/* Where descriptors are put, after the three standard ones. */
enum { CONTROL = 3, FILE_TO_THERE = 4, FILE_FROM_THERE = 5, KEPT = 6, RUNNERS_MAX = 1024 };

struct forked {
    pid_t process; /* 0: free. */
    struct function_output output;
};

/* Of this process, which has one thread. */
static struct forker {
    struct function_limits limits;
    bool has_forked; /* What the kernel lacks has been said. */
    pid_t twin;      /* The last one. */
    struct forked runners[RUNNERS_MAX];
} forker;

/* What the parent arranged for its signals is not ours. */
static void forget_signals(void)
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
}

/* Keep @count of the descriptors @from, as CONTROL and those after it, and close all others. */
static void keep_descriptors(const int *from, int count)
{
    int high[KEPT];
    for (int i = 0; i < count; i++) { /* Out of the way of one another. */
        high[i] = fcntl(from[i], F_DUPFD, CONTROL + KEPT);
    }
    for (int i = 0; i < count; i++) {
        (void)dup2(high[i], CONTROL + i);
    }
    (void)close_range((unsigned)(CONTROL + count), ~0U, 0);
}

/* Functions read nothing, and what they print is no output of the server. */
static void replace_standard(int output)
{
    const int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0) {
        (void)dup2(nothing, STDIN_FILENO);
    }
    (void)dup2(output, STDOUT_FILENO);
    (void)dup2(output, STDERR_FILENO);
}

/* Send @reply, and with it @count descriptors. */
static bool send_reply(const struct forker_reply *reply, const int *passed, size_t count)
{
    struct iovec part = {.iov_base = (void *)(uintptr_t)reply, .iov_len = sizeof(*reply)};
    union {
        char bytes[CMSG_SPACE(FORKER_DESCRIPTORS_MAX * sizeof(int))];
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
        memcpy(CMSG_DATA(head), passed, count * sizeof(int));
    }
    return sendmsg(CONTROL, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(*reply);
}

static struct forked *find_runner(pid_t process)
{
    for (uint32_t i = 0; i < RUNNERS_MAX; i++) {
        if (forker.runners[i].process == process) {
            return &forker.runners[i];
        }
    }
    return NULL;
}

/* The life of a runner. Everything of the forker has been copied: give it up first. */
_Noreturn static void run(
    const struct function_channel *channel, int output, const char *path, pid_t parent)
{
    const struct function_limits limits = forker.limits;
    const int kept[] = {channel->socket, channel->to_there, channel->from_there};
    const struct function_channel mine = {
        .socket = CONTROL, .to_there = FILE_TO_THERE, .from_there = FILE_FROM_THERE};
    char folder[FUNCTION_PATH_BYTES];
    const bool says = !forker.has_forked;
    forget_signals();
    replace_standard(output);
    keep_descriptors(kept, sizeof(kept) / sizeof(kept[0]));
    bundle_forked(); /* What is made here is sent, not lent. */
    (void)prctl(PR_SET_NAME, "weft-function");
    (void)snprintf(folder, sizeof(folder), "%s", path);
    char *slash = strrchr(folder, '/');
    (void)snprintf(slash == NULL ? folder : slash, 3, slash == NULL ? "." : "/.");
    function_sandbox_enter(folder, &limits, says);
    /* If the forker dies, so does this; it may be dead already. */
    if (getppid() != parent) {
        _exit(EXIT_FAILURE);
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* A crash loses at most a line. */
    function_load(path);
    function_sandbox_close(folder, &limits, says);
    function_runner_main(&mine, path);
    _exit(EXIT_SUCCESS);
}

static pid_t fork_runner(
    struct forked *runner, const struct function_channels *channels, const char *path)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    const pid_t parent = getpid();
    /* Without what libraries of the parent do at a fork: they would close descriptors that
     * are no longer theirs. This process has one thread, so nothing needs to be unlocked. */
    const pid_t process = _Fork();
    if (process == 0) {
        run(&channels->there, ends[1], path, parent);
    }
    (void)close(ends[1]);
    if (process < 0) {
        (void)close(ends[0]);
        return -1;
    }
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    runner->process = process;
    function_output_open(&runner->output, ends[0], path);
    forker.has_forked = true;
    return process;
}

static bool serve_fork(const char *path)
{
    struct forker_reply reply = {.process = -1};
    struct function_channels channels;
    struct forked *runner = find_runner(0);
    if (runner == NULL || !function_channels_open(&channels, forker.limits.output_bytes_max)) {
        return send_reply(&reply, NULL, 0);
    }
    reply.process = fork_runner(runner, &channels, path);
    const int passed[] = {channels.here.socket, channels.here.to_there, channels.here.from_there};
    const bool is_sent = send_reply(&reply, passed, reply.process > 0 ? 3 : 0);
    function_channel_close(&channels.here);
    function_channel_close(&channels.there);
    return is_sent;
}

/* A process that ended by itself, and not well, is news. */
static void report(struct forked *runner, int wait_status)
{
    char text[96];
    const int number = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
    const char *name = number == 0 ? NULL : sigabbrev_np(number);
    if (number != 0 && number != SIGKILL) {
        (void)snprintf(text, sizeof(text), "SIG%s", name == NULL ? "?" : name);
        function_output_say(&runner->output, LOG_WARN, "function process ended", text);
    }
}

static bool serve_end(pid_t process)
{
    struct forker_reply reply = {.process = -1};
    struct forked *runner = process > 0 ? find_runner(process) : NULL;
    if (runner != NULL) {
        (void)kill(process, SIGKILL); /* It may be over already: then that is how it ended. */
        if (waitpid(process, &reply.wait_status, 0) == process) {
            reply.process = process;
        }
        function_output_close(&runner->output);
        report(runner, reply.wait_status);
        runner->process = 0;
    }
    return send_reply(&reply, NULL, 0);
}

/* Fork one more of this: it has no runners, and ends when its own control socket is closed. */
static bool serve_twin(void)
{
    struct forker_reply reply = {.process = -1};
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return send_reply(&reply, NULL, 0);
    }
    if (forker.twin > 0) {
        (void)waitpid(forker.twin, NULL, WNOHANG); /* If it is gone, that is why we are asked. */
    }
    reply.process = _Fork();
    if (reply.process == 0) {
        const struct function_limits limits = forker.limits;
        memset(&forker, 0, sizeof(forker));
        function_forker_main(ends[1], &limits);
    }
    forker.twin = reply.process;
    const bool is_sent = send_reply(&reply, ends, reply.process > 0 ? 1 : 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return is_sent;
}

/* Answer one question; false if there are no more. */
static bool serve(void)
{
    struct forker_request request;
    const ssize_t bytes = recv(CONTROL, &request, sizeof(request), 0);
    if (bytes < 0 && errno == EINTR) {
        return true;
    }
    if (bytes != (ssize_t)sizeof(request)) {
        return false; /* The parent has closed its end, or is gone. */
    }
    request.path[sizeof(request.path) - 1] = '\0';
    switch (request.question) {
    case FORKER_FORK:
        return serve_fork(request.path);
    case FORKER_END:
        return serve_end(request.process);
    case FORKER_TWIN:
        return serve_twin();
    }
    return false;
}

/* Wait for a question, or for something that a function prints, which is passed on. */
static bool has_question(void)
{
    static struct pollfd ready[1 + RUNNERS_MAX];
    static struct forked *who[1 + RUNNERS_MAX];
    nfds_t count = 1;
    ready[0] = (struct pollfd){.fd = CONTROL, .events = POLLIN};
    for (uint32_t i = 0; i < RUNNERS_MAX; i++) {
        struct forked *runner = &forker.runners[i];
        if (runner->process > 0 && runner->output.pipe >= 0) {
            who[count] = runner;
            ready[count++] = (struct pollfd){.fd = runner->output.pipe, .events = POLLIN};
        }
    }
    if (poll(ready, count, -1) < 0) {
        return false;
    }
    for (nfds_t i = 1; i < count; i++) {
        if (ready[i].revents != 0) {
            function_output_read(&who[i]->output);
        }
    }
    return ready[0].revents != 0;
}

_Noreturn void function_forker_main(int control, const struct function_limits *limits)
{
    forget_signals();
    keep_descriptors(&control, 1);
    function_sandbox_environment();
    __fpurge(stdout); /* What the parent had not written yet is written by the parent. */
    (void)prctl(PR_SET_NAME, "weft-functions");
    forker.limits = *limits;
    for (uint32_t i = 0; i < RUNNERS_MAX; i++) {
        forker.runners[i].output.pipe = -1;
    }
    bool is_open = true;
    while (is_open) {
        if (has_question()) {
            is_open = serve();
        }
    }
    for (uint32_t i = 0; i < RUNNERS_MAX; i++) {
        if (forker.runners[i].process > 0) {
            (void)kill(forker.runners[i].process, SIGKILL);
            function_output_close(&forker.runners[i].output);
        }
    }
    _exit(EXIT_SUCCESS);
}
