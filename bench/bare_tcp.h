/* bare_tcp.h - two processes and a TCP connection that waits with poll(): what nets are beside. */
#ifndef BARE_TCP_H
#define BARE_TCP_H

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "bench.h"

/* Fork a process that ends with this one. 0 in that process. */
static inline pid_t bare_fork(void)
{
    const pid_t parent = getpid();
    const pid_t process = fork();
    check(process >= 0, "no process");
    if (process == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            _exit(EXIT_FAILURE); /* It has ended before. */
        }
    }
    return process;
}

/* Read or write all of @count bytes; ends the process if the other side is done. */
static inline void bare_tcp_move(int socket, uint8_t *bytes, size_t count, bool is_write)
{
    for (size_t at = 0; at < count;) {
        struct pollfd waits = {.fd = socket, .events = is_write ? POLLOUT : POLLIN};
        (void)poll(&waits, 1, -1);
        const ssize_t moved = is_write ? send(socket, bytes + at, count - at, MSG_DONTWAIT)
                                       : recv(socket, bytes + at, count - at, MSG_DONTWAIT);
        if (moved == 0) {
            exit(EXIT_SUCCESS);
        }
        at += moved > 0 ? (size_t)moved : 0;
    }
}

/* Fork another process, with a connection to it. *@process_out is 0 in that one. */
static inline int bare_tcp_open(pid_t *process_out)
{
    const int yes = 1;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof(address);
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    check(
        listener >= 0 && bind(listener, (struct sockaddr *)&address, length) == 0 &&
            listen(listener, 1) == 0 &&
            getsockname(listener, (struct sockaddr *)&address, &length) == 0,
        "no listener");
    *process_out = bare_fork();
    int made = -1;
    if (*process_out == 0) {
        made = accept(listener, NULL, NULL);
    } else {
        made = socket(AF_INET, SOCK_STREAM, 0);
        check(connect(made, (struct sockaddr *)&address, length) == 0, "no connection");
    }
    (void)setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    (void)close(listener);
    return made;
}

#endif /* BARE_TCP_H */
