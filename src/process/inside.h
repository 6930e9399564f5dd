/*
 * inside.h - what the engine of processes is made of. For its files alone.
 *
 *     process.c          operations of the host, reports of the processes
 *     worker.c   a process comes, ends and is replaced
 *     keeper.c   what keeps the weights of a GPU comes and is replaced
 *     batch.c    a batch is sent whole or, under suspicion, task by task, after others
 *     short.h    what makes the way there and back short
 */
#ifndef PROCESS_INSIDE_H
#define PROCESS_INSIDE_H

#include <uv.h>

#include "engine/channel.h"
#include "engine/lender.h"
#include "process/process.h"
#include "process/short.h"
#include "process/still.h"
#include "process/wire.h"

enum { PROCESS_RESTORES_MAX = 2 }; /* Processes that may end over the same model. */

/*
 * Something the host is to be told outside of its own operations. It is part of what it is about,
 * so that telling needs no memory.
 */
struct process_told {
    struct process_told *next;
    struct engine_done done;
    struct process_batch *batch; /* RAN. */
    char message[240];
};

enum model_state {
    MODEL_ABSENT,
    MODEL_LOADING,   /* The host waits for it. */
    MODEL_RESIDENT,  /* As the host knows it. */
    MODEL_RESTORING, /* The same, but a new process is still loading it. */
    MODEL_BROKEN,    /* The same, but a new process could not load it. */
    MODEL_UNLOADING, /* The host waits for it: on a GPU. */
};

struct process_model {
    enum model_state state;
    uint64_t load;    /* Number of the load under way. */
    int64_t since_ns; /* When that was asked for. */
    uint32_t tries;   /* Processes that ended while they loaded it, one after another. */
    bool is_unwanted; /* RESTORING: unload it as soon as it is there. */
    char cause[240];  /* BROKEN: why. */
    struct process_told told;
};

enum batch_state {
    BATCH_WAITING,   /* Not sent. */
    BATCH_SENT,      /* Whole, or under suspicion task `at` of it. */
    BATCH_CANCELLED, /* Sent, and no longer wanted. */
};

/* A batch under way. */
struct process_batch {
    struct process_batch *next;
    struct engine_batch batch; /* With copies of tasks and inputs behind it. */
    uint64_t number;           /* Of the sending: another one each time. */
    enum batch_state state;
    bool is_suspect;  /* A process ended while it ran. */
    bool is_late;     /* It took too long: that is why its process was ended. */
    bool goes_ahead;  /* Its process may run what comes next as well. */
    uint32_t at;      /* Suspects: tasks before this one have ended. */
    int64_t since_ns; /* When it was sent or cancelled. */
    int64_t run_ns;   /* So far. */
    bool is_disturbed;
    uint32_t usage_count;
    struct engine_usage usages[ENGINE_USAGES_MAX];
    struct process_told told;
    struct process_made made[]; /* One a task. */
};

/* The process that keeps the weights of a worker on a GPU: cuda/keeper.h. */
struct process_keeper {
    struct fork_child child;
    struct channel channel;
    uv_poll_t *poll; /* On the heap: it outlives the engine. NULL while there is none. */
    int64_t started_ns;
};

/* A worker with its process. Workers on one GPU have one process, that of the first of them: it has
 * everything here, and the others have nothing. */
struct process_worker {
    struct engine_process *engine;
    uint32_t number;
    uint32_t worker_count; /* That its process serves, from `number` on. 0: it has none. */
    bool is_up;
    struct fork_child child;
    struct fork_child dying; /* The one before it, while it may not have ended. 0: there is none. */
    int64_t dying_ns;        /* Since when. */
    struct channel channel;  /* Orders and reports. */
    struct tray *tray;       /* For a report that is about to be looked for. NULL: there is none. */
    struct channel launches; /* Batches. */
    struct lender *lender;   /* The process; NULL until its ledger has come. */
    uv_poll_t *poll_launches; /* Like the next, for the other channel. */
    int watched;              /* What the next one waits for. */
    uv_poll_t *poll;   /* On the heap: it outlives the engine. NULL while the process is down. */
    uv_timer_t *retry; /* The same; runs while another process is to be made later. */
    bool is_retrying;
    int64_t started_ns;
    struct process_use use;   /* Of a process on a GPU, while it has batches. */
    uint32_t failures;        /* Processes that ended soon after they began, in a row. */
    uint32_t restoring;       /* Models that are. */
    int64_t loaded_ns;        /* When a load last ended: the next one began. */
    bool is_soon;             /* One is about to end. */
    int64_t suspects_ns;      /* Since when suspects wait for others. 0: they do not. */
    uint64_t function_starts; /* As its process last said. */
    uint64_t function_crashes;
    struct process_keeper keeper;
    struct process_model *models;  /* Of the first worker, of the second ... */
    struct process_batch *batches; /* In the order they were launched. */
    struct process_tail tail;
};

struct engine_process {
    struct engine base;
    const struct fleet *fleet;
    struct engine_workers hosted; /* Of these there are processes, and of no other. */
    const struct catalogue *catalogue;
    const struct artifacts *artifacts;
    struct fork_server *server;
    uv_loop_t *loop;
    int64_t run_ns_max;
    int64_t stop_ns_max;
    int64_t load_ns_max;
    bool keeps_weights;
    int64_t spin_ns;
    int64_t spin_until_ns;
    uv_idle_t *spin; /* On the heap: it outlives the engine. Runs while the loop may not sleep. */
    uv_prepare_t *wait; /* The same; runs before the loop waits. */
    struct process_near near;
    struct process_linger linger;      /* After a batch that was near, */
    struct process_linger gpu_linger;  /* and after one on a GPU. */
    struct process_ready ready;        /* Whether the former pays. */
    bool was_on_gpu;                   /* As the last one was. */
    struct process_revision *revision; /* revise.h */
    int32_t *ahead_credits;            /* By workflow: while there is some, tasks are run ahead. */
    void (*on_ended)(void *context, uint32_t worker, const char *message);
    void *context;
    struct process_worker *workers;
    struct process_ran *ran; /* Scratch: too large for a stack. */
    struct packet packet;    /* The same. */
    uint64_t last_number;
    uint32_t pending;  /* What the host waits for. */
    uv_async_t *keep;  /* Keeps the loop alive for that, and tells what is to be told. */
    uv_timer_t *watch; /* Looks for batches that take too long. */
    struct process_told *told;
    struct process_told **told_end;
    bool is_telling; /* What is to be told is told right after, without the loop. */
    struct engine_process_counts counts;
    uint64_t function_starts; /* Of all its processes, ever. */
    uint64_t function_crashes;
};

/* The place among the models of the process @worker of @model of worker @number. */
static inline uint32_t process_place(
    const struct process_worker *worker, uint32_t number, uint32_t model)
{
    return (number - worker->number) * worker->engine->artifacts->count + model;
}

static inline uint32_t process_place_count(const struct process_worker *worker)
{
    return worker->worker_count * worker->engine->artifacts->count;
}

/* What is at @place: a model, and whose. */
static inline uint32_t process_model_at(const struct process_worker *worker, uint32_t place)
{
    return place % worker->engine->artifacts->count;
}

static inline uint32_t process_worker_at(const struct process_worker *worker, uint32_t place)
{
    return worker->number + place / worker->engine->artifacts->count;
}

/* process.c */

int64_t process_now_ns(const struct engine_process *engine);

/* Read what the process of @worker reports, and act on it. False if it is gone or mad. */
bool process_read(struct process_worker *worker);

/* worker.c */

/* The process that serves worker @number. */
struct process_worker *process_of(struct engine_process *engine, uint32_t number);

/* Worker @number, whose process is not up yet. */
void process_worker_init(struct engine_process *engine, uint32_t number);

/* Make a process for @worker. Errors: those of fork_server_fork(). */
enum weft_status process_worker_start(struct process_worker *worker, struct weft_error *error);

/* The process of @worker has ended, or is to: find out how, and make another. */
void process_worker_ended(struct process_worker *worker, const char *killed_because);

/* The process of @worker, which @what says of, is ending by itself: make another at once. */
void process_worker_lost(struct process_worker *worker, const char *what);

/* Let the process of @worker, which is up, load what belongs at @place. */
void process_worker_load(struct process_worker *worker, uint32_t place);

/* Send what engine->packet holds to @worker; if it is gone that is noticed later. */
void process_worker_send(struct process_worker *worker);
void process_worker_send_launch(struct process_worker *worker);

/* End the process of @worker if something that it does takes too long. */
void process_worker_watch(struct process_worker *worker, int64_t now_ns);

/* Close its handles and end its process. */
void process_worker_close(struct process_worker *worker);

/* keeper.c */

/* A socket, the caller's, to the keeper of @worker, which is made if need be. -1: there is none. */
int process_keeper_attach(struct process_worker *worker);

/* End it. */
void process_keeper_close(struct process_worker *worker);

/* batch.c */

/* A copy of @batch. NULL if there is no memory for it. */
struct process_batch *process_batch_create(const struct engine_batch *batch);
void process_batch_destroy(struct process_batch *batch);

/* Take @batch off the list of @worker, in which it is. */
void process_batch_unlink(struct process_worker *worker, const struct process_batch *batch);

/* Launch @batch, which is the last of @worker; or send what can be sent to @worker now. */
void process_batch_launch(struct process_worker *worker, struct process_batch *batch);
void process_batches_pump(struct process_worker *worker);

/* The process reports of @batch: take it over, and tell the host if that was all. */
void process_batch_report(
    struct process_worker *worker, struct process_batch *batch, struct process_ran *ran);

/* The process of @worker has ended, @how: what ran there runs again alone, or has failed. */
void process_batches_orphaned(struct process_worker *worker, const char *how);

#endif /* PROCESS_INSIDE_H */
