/*
 * function_server.h - processes in which functions run, so that a crash is theirs alone.
 *
 * A forker is a process forked early, while its parent is small and has one thread; on request
 * it forks one more for a shared object, and it is who learns how that ends. A second forker,
 * forked by the first, takes its place if it is killed, and forks the next second.
 *
 *     this process ── control ──► forker ── fork ──► runner of a shared object
 *           └────────────── messages of function_wire.h ──────────────┘
 *
 * Runners end when this process ends, whatever they are doing. Safe from any thread.
 */
#ifndef ENGINE_FUNCTION_SERVER_H
#define ENGINE_FUNCTION_SERVER_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#include <weft/status.h>

#include "engine/function_wire.h"

/* The way to a forker. */
struct function_forker {
    int control; /* -1: there is none. */
    pid_t process;
};

struct function_server {
    pthread_mutex_t lock; /* One request at a time. */
    struct function_forker first;
    struct function_forker second;
    pid_t child; /* The forker that this process has forked itself, and waits for at the end. */
};

/* A process that runs functions of one shared object, one after another. */
struct function_runner {
    pid_t process;
    struct function_channel channel;
};

/* How a runner ended. */
enum function_end {
    FUNCTION_END_UNKNOWN, /* Its forker is gone, and it with it. */
    FUNCTION_END_EXIT,
    FUNCTION_END_SIGNAL,
};

struct function_ended {
    enum function_end how;
    int number;    /* The exit status, or the signal. */
    char text[64]; /* "crashed (SIGSEGV)" */
};

/*
 * Fork the first two forkers. What they fork is held to @limits, with all of them filled in.
 *
 * Errors: WEFT_IO if the system gives no process.
 */
enum weft_status function_server_start(
    struct function_server *server, const struct function_limits *limits, struct weft_error *error);

/* End the forkers and all runners. */
void function_server_stop(struct function_server *server);

/*
 * Make a runner for the shared object @path.
 *
 * Errors: WEFT_IO if the system gives no process, or all forkers were killed at once.
 */
enum weft_status function_server_fork(
    struct function_server *server, const char *path, struct function_runner *runner_out,
    struct weft_error *error);

/* End @runner, and say how it ended; SIGKILL may be our own. */
void function_server_end(
    struct function_server *server, struct function_runner *runner,
    struct function_ended *ended_out);

#endif /* ENGINE_FUNCTION_SERVER_H */
