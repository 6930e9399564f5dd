/*
 * short.h - what the engine of processes does so that the way to its processes is short.
 * For its files alone.
 *
 *     spin.c     reports of a busy GPU are asked for
 *     near.c     short batches run on the processor of the loop
 *     ahead.c    what was run before it was asked for: ahead.h
 */
#ifndef PROCESS_SHORT_H
#define PROCESS_SHORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"

struct bundle;
struct engine_batch;
struct engine_process;
struct process_ahead;
struct process_batch;
struct process_ran;
struct process_worker;
struct waker;

/* Whether the loop and an engine process share a processor: near.c. */
struct process_near {
    int64_t short_ns;    /* Runs up to here are short. */
    bool is_used;        /* Since they were looked after last. */
    uint32_t processor;  /* That they share, counted from 1. 0: they do not. */
    uint32_t alone;      /* Launches in a row that had nothing beside them. */
    uint32_t alone_min;  /* So many must be before they share one. */
    int64_t *run_ns;     /* By model, on average: ahead.h. */
    uint32_t slow;       /* Grows with each way there and back that was slow. */
    struct waker *waker; /* From when they first share one; NULL: it is not needed. */
};

/* What the process of a worker has run ahead, and the outputs that its next report is about. */
struct process_tail {
    struct process_ahead *kept; /* The oldest first. */
    uint64_t number;            /* Of the batch that was launched. */
    uint32_t workflow;
    uint32_t task;
    uint32_t count;
    struct bundle *outputs[BATCH_TASKS_MAX]; /* Shared. */
};

/* spin.c */

void process_spin_init(struct engine_process *engine);

/* @worker was sent a batch. */
void process_spin(struct process_worker *worker);

/* near.c */

void process_near_init(struct engine_process *engine);

/* @batch is sent now. The processor on which its thread is to stay, counted from 1; 0: it may go
 * anywhere. */
uint32_t process_near_launch(struct engine_process *engine, const struct engine_batch *batch);

/* @batch, or a task of it, ran for @run_ns. */
void process_near_ran(
    struct engine_process *engine, const struct process_batch *batch, int64_t run_ns);

/* From time to time. */
void process_near_watch(struct engine_process *engine);

void process_near_close(struct engine_process *engine);

/* ahead.c */

void process_ahead_init(struct engine_process *engine);

/* Whether the process that gets @batch may go on with what comes next. */
bool process_ahead_may(struct engine_process *engine, const struct process_batch *batch);

/* @batch has ended, as @ran says: what was run ahead, if anything, is reported next. */
void process_ahead_ran(
    struct process_worker *worker, const struct process_batch *batch,
    const struct process_ran *ran);

/* Keep what was run ahead, or drop it. */
void process_ahead_add(struct process_worker *worker, struct process_ran *ran);

/* Fill @batch, which is launched now, with what was run ahead. False: it is still to be run. */
bool process_ahead_take(struct engine_process *engine, struct process_batch *batch);

/* Drop what is not asked for. */
void process_ahead_watch(struct process_worker *worker, int64_t now_ns);
void process_ahead_close(struct process_worker *worker);

#endif /* PROCESS_SHORT_H */
