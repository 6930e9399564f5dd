/*
 * process.h - the engine whose workers are processes: what a model does there harms nothing else.
 *
 * Each worker has an engine process (child.h), forked from a small one. What ends that
 * process, a crash, a signal, a run without end, costs the task that did it: the process is
 * replaced, its models are loaded again, and everything else that ran there is run again. The
 * host hears of nothing but that task.
 *
 * After a crash it is not known which of the tasks in flight was to blame. So those run again one
 * by one, each alone, before anything else; a task that ends the process alone fails with
 * WEFT_CRASHED, and is not tried once more.
 */
#ifndef PROCESS_PROCESS_H
#define PROCESS_PROCESS_H

#include "engine/artifact.h"
#include "engine/engine.h"
#include "function/fork_server.h"

struct uv_loop_s;

/* What the fork server passes to an engine process: which one it is to be. */
struct process_argument {
    uint32_t kind; /* From PROCESS_KINDS on it is not the engine's concern. */
    uint32_t worker;
};

enum { PROCESS_ENGINE, PROCESS_KEEPER, PROCESS_KINDS };

#define PROCESS_RUN_NS_MAX  INT64_C(60000000000) /* Unless told otherwise. */
#define PROCESS_STOP_NS_MAX INT64_C(5000000000)

/*
 * Runs up to here count as short. To wake a processor for a launch, and another one for the report,
 * takes 70 to 80 microseconds on the virtual machines that were measured.
 */
#define PROCESS_SHORT_NS INT64_C(100000)

#define PROCESS_LOAD_FACTOR 10 /* A load may take so many times as long as a batch. */

struct engine_process_options {
    const struct fleet *fleet; /* Borrowed, like the next three. */
    const struct catalogue *catalogue;
    const struct artifacts *artifacts;
    struct fork_server *server; /* Its children run process_child_main(). */
    struct uv_loop_s *loop;     /* The host's. The engine is destroyed before it. */
    int64_t run_ns_max;         /* A batch may take so long. 0: PROCESS_RUN_NS_MAX. */
    int64_t stop_ns_max;        /* And so long to stop, once cancelled. 0: PROCESS_STOP_NS_MAX. */
    int64_t load_ns_max;        /* A load may take so long. 0: PROCESS_LOAD_FACTOR batches. */
    bool keeps_weights;         /* Workers with SHARES_SM are on GPUs: each has a keeper. */
    int64_t spin_ns;            /* The loop polls so long for the end of a batch there, and half as
                                   long for the next one. 0: not. */
    int64_t short_ns;           /* Runs up to here are short. 0: PROCESS_SHORT_NS. */
    struct engine_host host;

    /* Called for each process that ended unasked, with one line that says so. May be NULL. */
    void (*on_ended)(void *context, uint32_t worker, const char *message);
    void *context;
};

/*
 * Start a process for every worker of the fleet. On success the caller owns *engine_out.
 *
 * Errors: WEFT_IO if the system gives no processes.
 */
enum weft_status engine_process_create(
    const struct engine_process_options *options, struct engine **engine_out,
    struct weft_error *error);

/* What became of the processes so far. */
struct engine_process_counts {
    uint64_t crashes;  /* Ended by themselves. */
    uint64_t kills;    /* Ended from here: something took too long, or they sent nonsense. */
    uint64_t restarts; /* Made in place of another. */
    uint64_t ahead;    /* Batches that had been run when they were launched: ahead.h. */
    uint64_t missed;   /* Batches that were run, and not launched. */
};

struct engine_process_counts engine_process_counts(const struct engine *engine);

#endif /* PROCESS_PROCESS_H */
