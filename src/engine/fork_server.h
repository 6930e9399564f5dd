/*
 * fork_server.h - processes that are forked from a small one, so that a crash is theirs alone.
 *
 * A server is a process forked early, while its parent is small and has one thread; on request
 * it forks a child, and it is the one that learns how that child ends. What the children do was
 * decided when the server was started; an argument tells them apart.
 *
 *     this process ── control ──► server ── fork ──► child: run(context, socket, argument)
 *           └──────────────────── socket ──────────────┘
 *
 * Children end when this process ends, whatever they are doing. The server keeps a twin of itself,
 * forked while it was small, which takes over if somebody kills it: by then this process has
 * threads, and is no longer one to fork from. Safe from any thread.
 */
#ifndef ENGINE_FORK_SERVER_H
#define ENGINE_FORK_SERVER_H

#include <pthread.h>
#include <stddef.h>
#include <sys/types.h>

#include <weft/status.h>

enum { FORK_ARGUMENT_BYTES = 512, FORK_CHILDREN_MAX = 1024 };

/* What a child does; it ends when this returns. */
typedef void (*fork_main)(const void *context, int socket, const void *argument);

struct fork_server {
    pthread_mutex_t lock; /* One request at a time. */
    int control;
    pid_t process; /* 0: it was forked from another server, and is not waited for. */
    int twin;      /* The control of the one that takes over; -1: there is none. */
};

struct fork_child {
    pid_t process;
    int socket; /* A stream; this process's end. */
};

/*
 * Fork the server. @context is copied with everything else: children see it as it is now.
 * @name is what lists of processes show for children, of at most 15 bytes.
 *
 * Errors: WEFT_IO if the system gives no process.
 */
enum weft_status fork_server_start(
    struct fork_server *server, fork_main run, const void *context, const char *name,
    struct weft_error *error);

/*
 * Fork this process. Inside of a child it leaves out what libraries do at a fork: they would close
 * descriptors that were theirs in the first process and are somebody else's by now.
 */
pid_t fork_server_fork_self(void);

/* End the server and all children. */
void fork_server_stop(struct fork_server *server);

/*
 * Make a child and pass it @argument, of @bytes.
 *
 * Errors: WEFT_IO if the server and its twin are gone, or the system gives no process.
 */
enum weft_status fork_server_fork(
    struct fork_server *server, const void *argument, size_t bytes, struct fork_child *child_out,
    struct weft_error *error);

/*
 * End @child, and say in @how, of @how_bytes, how it ended: "crashed (SIGSEGV)". Waits until it
 * is gone, which is milliseconds unless the system is in trouble.
 */
void fork_server_end(
    struct fork_server *server, struct fork_child *child, char *how, size_t how_bytes);

#endif /* ENGINE_FORK_SERVER_H */
