/*
 * process_child.h - an engine in a process of its own: that process's side.
 *
 * It waits for orders and gives them to an engine; the engine's threads send its reports. It
 * serves one worker, and ends when the other side of its socket does.
 */
#ifndef ENGINE_PROCESS_CHILD_H
#define ENGINE_PROCESS_CHILD_H

#include "engine/fork_server.h"
#include "engine/local.h"

/* What an engine process is told before it is forked. */
struct process_child_options {
    const struct fleet *fleet; /* As they are when the fork server is started. */
    const struct catalogue *catalogue;
    struct artifacts *artifacts;
    struct engine_local_options local; /* Limits and the like; what is above is filled in. */
    bool bounds_memory;                /* Runs may take what the worker has, and no more. */
};

/* Serve worker @worker over @socket until it is closed. */
void process_child_main(const struct process_child_options *options, int socket, uint32_t worker);

/* Of a fork server whose children are engines; @options is borrowed while it lives. */
struct fork_options process_fork_options(const struct process_child_options *options);

#endif /* ENGINE_PROCESS_CHILD_H */
