/*
 * function_server.h - processes in which functions run, so that a crash is theirs alone.
 *
 * A server is a process forked early, while its parent is small; on request it forks one
 * more for a shared object, and it is who learns how that ends. Between the two ends:
 *
 *     this process ── control ──► server ── fork ──► runner of a shared object
 *           └────────────── messages of function_wire.h ──────────────┘
 *
 * Runners end when this process ends, whatever they are doing. Safe from any thread.
 */
#ifndef ENGINE_FUNCTION_SERVER_H
#define ENGINE_FUNCTION_SERVER_H

#include <pthread.h>
#include <sys/types.h>

#include <weft/status.h>

struct function_server {
    pthread_mutex_t lock; /* One request at a time. */
    int control;
    pid_t process;
};

/* A process that runs functions of one shared object, one after another. */
struct function_runner {
    pid_t process;
    int socket;
};

/* Fork the server. Errors: WEFT_IO if the system gives no process. */
enum weft_status function_server_start(struct function_server *server, struct weft_error *error);

/* End the server and all runners. */
void function_server_stop(struct function_server *server);

/*
 * Make a runner for the shared object @path. A server that was killed is started anew.
 *
 * Errors: WEFT_IO if the system gives no process.
 */
enum weft_status function_server_fork(
    struct function_server *server, const char *path, struct function_runner *runner_out,
    struct weft_error *error);

/* End @runner, and say in @how, of @how_bytes, how it ended: "crashed (SIGSEGV)". */
void function_server_end(
    struct function_server *server, struct function_runner *runner, char *how, size_t how_bytes);

#endif /* ENGINE_FUNCTION_SERVER_H */
