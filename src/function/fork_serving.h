/*
 * fork_serving.h - the inside of fork_server.h: the server's process, and what it is asked.
 *
 * It has one thread and little memory, and stays so: whatever its parent becomes, what it forks
 * has no lock that another thread held. It answers one request after another over its control
 * socket; in between it passes on what children print.
 */
#ifndef FUNCTION_FORK_SERVING_H
#define FUNCTION_FORK_SERVING_H

#include "function/fork_server.h"

enum fork_request_kind { FORK_REQUEST_FORK, FORK_REQUEST_END, FORK_REQUEST_TWIN };

/* With FORK come the files of the child, with TWIN its control socket. */
struct fork_request {
    enum fork_request_kind kind;
    pid_t process; /* END: which. */
    char label[32];
    uint8_t argument[FORK_ARGUMENT_BYTES];
};

struct fork_reply {
    pid_t process; /* -1 if there is none. */
    int wait_status;
};

/* Fork this process into a server behind @control; closes that here. -1 if there is no process. */
pid_t fork_serving_start(const struct fork_options *options, int control);

/* Whether this process was forked by a server. */
bool fork_serving_is_child(void);

#endif /* FUNCTION_FORK_SERVING_H */
