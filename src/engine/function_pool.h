/*
 * function_pool.h - running functions in processes of their own: the same calls, more apart.
 *
 * What a function does there with its memory, its process or its time hits no one else: a
 * crash, an exit or a call that takes too long ends its process and fails its task. Inputs
 * and outputs are copied through a socket. It is no sandbox: the process has the rights of
 * its user. Safe from any thread.
 */
#ifndef ENGINE_FUNCTION_POOL_H
#define ENGINE_FUNCTION_POOL_H

#include <pthread.h>

#include "engine/function.h"

struct function_pool;

/* What one thread has running there, so that another can end it. */
struct function_slot {
    pthread_mutex_t lock;
    int socket; /* -1: nothing. */
    bool is_cancelled;
};

void function_slot_init(struct function_slot *slot);
void function_slot_deinit(struct function_slot *slot);

/* End what runs in @slot, from any thread; what is to run there fails at once. */
void function_slot_cancel(struct function_slot *slot);

/* Let @slot be used again. */
void function_slot_reset(struct function_slot *slot);

/*
 * Processes are forked from one that is made now: early is better, while this one is small
 * and has few threads. A call may take @run_ns_max, models included; 0: as long as it likes.
 *
 * Errors: those of function_server_start().
 */
enum weft_status function_pool_create(
    int64_t run_ns_max, struct function_pool **pool_out, struct weft_error *error);

/* End all processes. NULL is allowed. */
void function_pool_destroy(struct function_pool *pool);

/* Processes started so far, and those that ended, or were ended, during a call. */
void function_pool_count(
    const struct function_pool *pool, uint64_t *starts_out, uint64_t *crashes_out);

/* Like function_run(), of function @name in the shared object @path. */
void function_pool_run(
    struct function_pool *pool, const char *path, const char *name,
    const struct function_host *host, struct function_slot *slot, struct function_task *task);

#endif /* ENGINE_FUNCTION_POOL_H */
