/*
 * pool.h - running functions in processes of their own: the same calls, more apart.
 *
 * What a function does there with its memory, its process or its time hits nothing else: a
 * crash, an exit or a call that takes too long ends its process and fails its task. Its process
 * is held to struct function_limits and shut in: sandbox.h. Inputs and outputs are
 * copied. Safe from any thread.
 */
#ifndef FUNCTION_POOL_H
#define FUNCTION_POOL_H

#include <pthread.h>

#include "function/function.h"

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
 * and has one thread. In @limits 0 means the default, and so does NULL.
 *
 * Errors: those of function_runners_start().
 */
enum weft_status function_pool_create(
    const struct function_limits *limits, struct function_pool **pool_out,
    struct weft_error *error);

/* End all processes. NULL is allowed. */
void function_pool_destroy(struct function_pool *pool);

/* Like function_run(), of function @name in the shared object @path. */
void function_pool_run(
    struct function_pool *pool, const char *path, const char *name,
    const struct function_host *host, struct function_slot *slot, struct function_task *task);

/*
 * Another file is behind functions from now on: the shared object @path, as it is now. Processes
 * that have loaded another version of it, or what was there before, are ended; those that are at a
 * call, after it.
 */
void function_pool_renew(struct function_pool *pool, const char *path);

/* What became of the processes so far. */
struct function_counts {
    uint64_t started;
    uint64_t crashed;  /* Ended of themselves while a call was under way, by signal or exit. */
    uint64_t late;     /* Ended because a call took longer than its limit. */
    uint64_t nonsense; /* Ended because of what they sent. */
    uint64_t
        replaced;  /* Ended for the memory or processor time they had used, or for their file. */
    uint64_t idle; /* Found dead before a call, which went to another. */
};

void function_pool_counts(struct function_pool *pool, struct function_counts *counts_out);

#endif /* FUNCTION_POOL_H */
