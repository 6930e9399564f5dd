/*
 * short.h - what the engine of processes does so that the way to its processes is short.
 * For its files alone.
 *
 *     spin.c     reports of a busy GPU are asked for
 *     near.c     short batches run on the processor of the loop
 *     linger.c   after one of them, or one on a GPU, the loop stays awake for the next
 *     ready.c    whether that pays, and waking the processor of the client ahead
 *     ahead.c    what was run before it was asked for: ahead.h
 */
#ifndef PROCESS_SHORT_H
#define PROCESS_SHORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/numbers.h"

struct bundle;
struct engine_batch;
struct engine_process;
struct process_ahead;
struct process_batch;
struct process_ran;
struct process_worker;
struct waker;

/* How many good signs it takes until something is tried that may not last. */
enum { PROCESS_SIGNS_MIN = 16 };

/* The same, but @most, after it was given up with @signs, where @needed had been enough. */
static inline uint32_t process_signs_needed(uint32_t needed, uint32_t signs, uint32_t most)
{
    if (signs / 4 >= needed) { /* It has held. */
        return max_u32(needed / 2, PROCESS_SIGNS_MIN);
    }
    return needed >= most ? most : 2 * needed;
}

/* Whether the loop and an engine process share a processor: near.c. */
struct process_near {
    int64_t short_ns;            /* Runs up to here are short. */
    struct process_worker *sent; /* It has been sent a batch since it was looked at, and its tray
                                    is open until the loop waits. NULL: none. */
    bool is_used;                /* Since they were looked after last. */
    uint32_t processor;          /* That they share, counted from 1. 0: they do not. */
    uint32_t alone;              /* Launches in a row that had nothing beside them. */
    uint32_t alone_min;          /* So many must be before they share one. */
    int64_t *run_ns;             /* By model, on average: ahead.h. */
    uint32_t slow;               /* Grows with each way there and back that was slow. */
    struct waker *waker;         /* From when they first share one; NULL: it is not needed. */
};

/* Whether the loop stays awake after a batch: linger.c. */
struct process_linger {
    int64_t most_ns;   /* For so long. */
    bool sleeps;       /* It does not: that does not pay (ready.c). */
    int64_t idle_ns;   /* When the last batch ended; 0: another is under way. */
    uint32_t soon;     /* Grows with each batch that came within most_ns. */
    uint32_t soon_min; /* From here on the loop stays awake. */
    uint32_t late;     /* Grows with each that came later, although the loop was awake. */
};

/* What is done for the next request, beyond what has to be: bits. */
enum process_ready_way {
    READY_AS_IT_IS = 0,
    READY_LOOP = 1,   /* The loop stays awake. */
    READY_CLIENT = 2, /* The processor on which a client sleeps is woken before its answer. */
    READY_WAYS = 4,
};

enum { PROCESS_READY_TURNS = 5, PROCESS_READY_TRIALS = PROCESS_READY_TURNS * READY_WAYS };

/* Which of these ways costs least here: ready.c. */
struct process_ready {
    int64_t most_ns;         /* As of the loop that stays awake. */
    int64_t (*cpu_ns)(void); /* What this process has taken of processors. */
    uint32_t way;            /* Now. */
    uint32_t best;           /* While none is tried. */
    uint32_t wait;           /* Batches between two rounds of trials. */
    uint32_t waited;         /* Since the last one. */
    uint32_t strange;        /* Windows since then, in a row, that did not cost what is known. */
    int64_t known;           /* What a task costs in the best way, as of the last round. */
    uint32_t trial;          /* Of the round; PROCESS_READY_TRIALS: none is under way. */
    uint32_t batches;        /* Of this trial so far. */
    uint32_t tasks;          /* Theirs, and when they began to count: */
    int64_t since_ns;
    int64_t since_cpu_ns;
    int64_t last_ns; /* When the last batch ended. */
    uint32_t ended;  /* Tasks that have since. */
    int64_t costs[PROCESS_READY_TRIALS];
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

/* @worker was sent a batch, or will be soon. */
void process_spin(struct process_worker *worker);

/* The host has been told of all batches. */
void process_spin_idle(struct engine_process *engine);

/* near.c */

void process_near_init(struct engine_process *engine);

/* @batch is sent now. The processor on which its thread is to stay, counted from 1; 0: it may go
 * anywhere. */
uint32_t process_near_launch(struct engine_process *engine, const struct engine_batch *batch);

/* A batch that is near is sent to @worker next: its report is looked for before the loop waits. */
void process_near_expect(struct process_worker *worker);

/* The host is about to wait. A batch that is near was sent a moment ago, and mostly its process ran
 * it before this thread went on: its report is read, and the host told. False: there is none. */
bool process_near_look(struct engine_process *engine);

/* The loop waits now: reports come over sockets, or one has come already, and it does not wait. */
void process_near_wait(struct engine_process *engine);

/* @batch, or a task of it, ran for @run_ns. */
void process_near_ran(
    struct engine_process *engine, const struct process_batch *batch, int64_t run_ns);

/* From time to time. */
void process_near_watch(struct engine_process *engine);

void process_near_close(struct engine_process *engine);

/* linger.c */

void process_linger_init(struct process_linger *linger, int64_t most_ns);

/* Nothing is under way since @now_ns. */
void process_linger_idle(struct process_linger *linger, int64_t now_ns);

/* A batch is launched. */
void process_linger_launch(struct process_linger *linger, int64_t now_ns);

/* Whether enough have come soon, until now. */
bool process_linger_is_steady(const struct process_linger *linger);

/* Whether the next one is expected so soon that the loop is not to sleep. */
bool process_linger_lasts(const struct process_linger *linger, int64_t now_ns);

/* ready.c */

void process_ready_init(struct process_ready *ready, int64_t most_ns, int64_t (*cpu_ns)(void));

/* So many tasks ran, near the loop. */
void process_ready_ran(struct process_ready *ready, uint32_t task_count);

/* Nothing is under way since @now_ns. Requests come soon after each other if @is_steady. */
void process_ready_idle(struct process_ready *ready, int64_t now_ns, bool is_steady);

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
