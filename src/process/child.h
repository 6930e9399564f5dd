/*
 * child.h - an engine in a process of its own: that process's side.
 *
 * It waits for orders and gives them to an engine; the engine's threads send its reports. It
 * serves one worker, or all that a GPU is cut into, and ends when the other side of its socket
 * does.
 */
#ifndef PROCESS_CHILD_H
#define PROCESS_CHILD_H

#include "cuda/engine.h"
#include "function/fork_server.h"
#include "onnx/local.h"

/* What an engine process is told before it is forked. */
struct process_child_options {
    const struct fleet *fleet; /* As they are when the fork server is started. */
    const struct catalogue *catalogue;
    struct artifacts *artifacts;
    struct engine_local_options local; /* Limits and the like; what is above is filled in. */
    bool bounds_memory;                /* Runs may take what the worker has, and no more. */
    int64_t short_ns;                  /* As in engine_process_options. */

    /* For workers with SHARES_SM, which are GPUs of this machine: paths and limits. NULL: there
     * are none. */
    const struct engine_cuda_options *cuda;
    uint32_t gpu_count; /* Of this machine. 0: of all workers of the fleet. */
};

struct process_argument;

/* Be what @argument says: an engine or a keeper, with FORK_FILE_FIRST. */
void process_child_be(
    const struct process_child_options *options, const struct process_argument *argument);

/* Of a fork server whose children are engines; @options is borrowed while it lives. */
struct fork_options process_fork_options(const struct process_child_options *options);

#endif /* PROCESS_CHILD_H */
