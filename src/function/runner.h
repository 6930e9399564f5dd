/*
 * runner.h - processes that run the functions of one shared object, one after another.
 *
 * They come from a fork server of their own (fork_server.h), and give up all that a function does
 * not need before they load it (sandbox.h).
 */
#ifndef FUNCTION_RUNNER_H
#define FUNCTION_RUNNER_H

#include "function/fork_server.h"
#include "function/wire.h"

struct function_runner {
    struct fork_child child;
    struct function_channel channel;
};

/*
 * Start the server of runners. They are held to @limits, with all of them filled in, which is
 * borrowed until the server is stopped.
 *
 * Errors: those of fork_server_start().
 */
enum weft_status function_runners_start(
    struct fork_server *server, const struct function_limits *limits, struct weft_error *error);

/*
 * Make a runner for the shared object @path.
 *
 * Errors: those of fork_server_fork().
 */
enum weft_status function_runner_start(
    struct fork_server *server, const char *path, struct function_runner *runner_out,
    struct weft_error *error);

/*
 * Find out whether function @name is in the shared object @path, which is loaded as runners load
 * it: in a process that does nothing else, and is held to @limits from now on.
 *
 * Errors: those of function_open().
 */
enum weft_status function_runner_look(
    const char *path, const char *name, const struct function_limits *limits,
    struct weft_error *error);

/* End @runner, and say how it ended; SIGKILL may be our own. */
void function_runner_end(
    struct fork_server *server, struct function_runner *runner, struct fork_ended *ended_out);

#endif /* FUNCTION_RUNNER_H */
