/*
 * fork_server.h - processes that are forked from a small one, so that a crash is theirs alone.
 *
 * A server is a process forked early, while its parent is small and has one thread; on request
 * it forks a child, and it is the one that learns how that child ends. What the children do was
 * decided when the server was started; an argument tells them apart. What they print goes line by
 * line to the log (fork_output.h).
 *
 *     this process ── control ──► server ── fork ──► child: run(context, CONTROL.., argument)
 *           └──────────────────── files ───────────────┘
 *
 * Children end when this process ends, whatever they are doing. The server has a twin, forked while
 * it was small, which takes over if the server is killed, and forks the next twin. If both are
 * killed at once this process starts over: one that is itself a child ends, since its own server
 * can replace it; any other forks a server from what it has become. That server then keeps a copy
 * of all memory of this process, and libraries may hold locks in it, so it is the last resort.
 * Safe from any thread.
 */
#ifndef FUNCTION_FORK_SERVER_H
#define FUNCTION_FORK_SERVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <weft/status.h>

enum {
    FORK_ARGUMENT_BYTES = 528,
    FORK_CHILDREN_MAX = 1024,
    FORK_FILES_MAX = 4,
    FORK_FILE_FIRST = 3, /* Where a child finds the first file that it is passed. */
};

/* What a child does; it ends when this returns. Its files are FORK_FILE_FIRST and those after. */
typedef void (*fork_main)(const void *context, const void *argument);

struct fork_options {
    fork_main run;
    void (*prepare)(const void *context); /* What the server does before all else. May be NULL. */
    const void *context; /* Copied at the fork with all else; borrowed while the server lives. */
    const char *name;    /* Of children in lists of processes: at most 15 bytes. */
    const char *printed; /* The event of the log that a line which a child prints is. */
    const char *key;     /* What the label of a child is called there. */
    const char *ended;   /* The event that a child's crash is. NULL: not logged. */
    bool is_leaf;        /* Children start no servers; they have no way to the log but printing. */
};

/* The way to a server. */
struct fork_way {
    int control; /* -1: there is none. */
    pid_t process;
};

struct fork_server {
    struct fork_options options;
    pthread_mutex_t lock; /* One request at a time. */
    struct fork_way first;
    struct fork_way second;
    pid_t child; /* The server that this process has forked itself, and waits for at the end. */
};

/* What a child is made with. */
struct fork_order {
    const void *argument;
    size_t bytes;
    const char *label; /* In the log: which one it is. */
    int files[FORK_FILES_MAX];
    uint32_t file_count; /* 0: it is passed one end of a stream socket. */
};

struct fork_child {
    pid_t process;
    int socket; /* This process's end of that socket; -1 if the order had files. */
};

enum fork_end { FORK_END_UNKNOWN /* Its server is gone. */, FORK_END_EXIT, FORK_END_SIGNAL };

struct fork_ended {
    enum fork_end how;
    int number;    /* The exit status, or the signal. */
    char text[64]; /* "crashed (SIGSEGV)" */
};

/*
 * Fork the server and its twin.
 *
 * Errors: WEFT_IO if the system gives no process.
 */
enum weft_status fork_server_start(
    struct fork_server *server, const struct fork_options *options, struct weft_error *error);

/* End the server and all children. */
void fork_server_stop(struct fork_server *server);

/*
 * Make a child. Files of @order stay the caller's.
 *
 * Errors: WEFT_IO if the system gives no process.
 */
enum weft_status fork_server_fork(
    struct fork_server *server, const struct fork_order *order, struct fork_child *child_out,
    struct weft_error *error);

/*
 * End @child and close its socket. SIGKILL may be our own. Waits until it is gone, which is
 * milliseconds unless the system is in trouble.
 */
void fork_server_end(
    struct fork_server *server, struct fork_child *child, struct fork_ended *ended_out);

#endif /* FUNCTION_FORK_SERVER_H */
