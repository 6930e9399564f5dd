/*
 * wire.h - what a process says to its engine processes, and what they answer.
 *
 * One protocol for every engine, on processors or on GPUs: the orders are the operations of
 * engine.h, the reports are what engine_host is told. Everything under way has a number of its
 * own, so that what crosses a cancellation on the way is not mistaken for something newer.
 *
 *     to there:     HELLO, LOAD and REVISE with the versions that they bring, CANCEL_LOAD, UNLOAD,
 *                   RESHAPE, CANCEL, KEEPER; SOON; LAUNCH with inputs
 *     from there:   HELLO, SOON, LOADED, UNLOADED, REVISED, SHAPED, RAN and AHEAD with outputs,
 *                   STOPPED, LOST
 *
 * Launches have a socket to themselves, from which the threads that run batches read: no other
 * thread stands between an order to run and the run.
 *
 * Small tensors are copied into the packet. Large ones lie in segments, whose files are passed with
 * it: nothing is copied. An engine process lends its segments, and the first packet that it sends
 * brings the ledger in which they are given back.
 */
#ifndef PROCESS_WIRE_H
#define PROCESS_WIRE_H

#include "base/limits.h"
#include "engine/artifact.h"
#include "engine/bundle.h"
#include "engine/engine.h"
#include "engine/packet.h"
#include "model/fleet.h"

/* Tensors from here on lie in segments: below, the copy is cheaper than the mapping. */
enum { PROCESS_SEGMENT_BYTES_MIN = 65536 };

/* How an engine process ends that has lost its GPU; what it printed last says why. */
enum { PROCESS_EXIT_LOST = 70 };

enum process_order_kind {
    ORDER_LOAD,
    ORDER_CANCEL_LOAD,
    ORDER_UNLOAD,
    ORDER_RESHAPE,
    ORDER_LAUNCH,
    ORDER_CANCEL,
    ORDER_HELLO,  /* The first of all; brings the socket that launches come over. If there is one,
                     also that of the keeper (cuda/keeper.h), or on processors a tray. */
    ORDER_KEEPER, /* Brings the socket of another keeper. */
    ORDER_REVISE, /* On a GPU: struct engine_ops. */
    ORDER_SOON,   /* The same: a batch is expected. Comes with launches. */
};

/* Every packet to an engine process begins with it. */
struct process_order {
    uint64_t number; /* Of a load, a revision or a batch. */
    uint64_t bytes;  /* LOAD: what the model is known to occupy. 0: unknown. */
    uint32_t worker;
    uint32_t model;        /* LOAD, CANCEL_LOAD, UNLOAD, REVISE. */
    uint32_t gpu;          /* RESHAPE. */
    uint32_t was_resident; /* LOAD: in the process before. */
    uint32_t near;         /* LAUNCH: the processor, counted from 1, on which the thread is to wait
                              for the next one. 0: anywhere. */
    uint32_t ahead;        /* LAUNCH: so many tasks that come next may follow it. */
    uint32_t from;         /* LAUNCH: the processor of the sender, as near. 0: not known. */
    struct artifact_file file; /* LAUNCH: what it runs, if that is a function. */
};

/*
 * Whether the host waits until a model has left the memory of @worker. On a GPU that memory is all
 * there is. On processors it is enough that an unload is done before what is ordered after it.
 */
static inline bool process_reports_unloads(const struct fleet_worker *worker)
{
    return worker->sharing == SHARES_SM;
}

enum process_report_kind {
    REPORT_LOADED,
    REPORT_UNLOADED,
    REPORT_SHAPED,
    REPORT_RAN,
    REPORT_STOPPED, /* A batch that was cancelled is really over. */
    REPORT_HELLO,   /* The first of all; brings the ledger. */
    REPORT_AHEAD,   /* After RAN or another one: what the next task made of those outputs. */
    REPORT_REVISED,
    REPORT_LOST, /* Its GPU: the process ends, which takes a while, and can do nothing more. */
    REPORT_HUNG, /* The same, because of that batch: its run does not end. */
    REPORT_SOON, /* A load on a GPU ends in less than a millisecond. */
};

/* Every packet from an engine process begins with it. */
struct process_report {
    uint64_t number;
    uint64_t bytes;     /* LOADED. */
    uint64_t own_bytes; /* LOADED. */
    int64_t run_ns;     /* RAN, AHEAD. */
    int32_t status;
    uint32_t worker;
    uint32_t model;
    uint32_t gpu;
    uint32_t usage_count;     /* RAN, AHEAD. */
    uint32_t output_count;    /* RAN, AHEAD. */
    uint64_t is_disturbed;    /* RAN: as in struct engine_done. */
    uint64_t function_starts; /* Of processes for functions, since this one began. */
    uint64_t function_crashes;
    char message[240];
};

/* An order to launch tasks @first to @end of @batch. */
void process_put_batch(
    struct packet *packet, const struct process_order *order, const struct engine_batch *batch,
    uint32_t first, uint32_t end);

/* A batch that came, with all that it points to. */
struct process_batch_in {
    struct engine_batch batch;
    uint32_t near; /* As in the order, like the next three. */
    uint32_t ahead;
    uint32_t from;
    struct artifact_file file;
    uint32_t bundle_count;
    struct bundle **bundles; /* Its inputs; owned, like what follows. */
    struct engine_task *tasks;
    struct engine_input *inputs;
};

/*
 * Read a launch of the process that is @lender; false if it makes no sense. On success
 * process_batch_free() releases it.
 */
bool process_take_batch(
    struct received *received, struct lender *lender, struct process_batch_in *batch_out);
void process_batch_free(struct process_batch_in *batch);

/*
 * A batch of @task, which takes what those of @before have made, as @done says: it shares their
 * outputs. All else is as before. process_batch_free() releases it.
 */
void process_batch_after(
    const struct process_batch_in *before, uint32_t task, const struct engine_done *done,
    struct process_batch_in *batch_out);

/* A report of @done, whose outputs are given away with it. */
void process_put_done(
    struct packet *packet, const struct process_report *report, const struct engine_done *done);

/* Copy @message, or its first @bytes; NULL and, most often, none are quick. */
void process_copy_message(char *to, size_t bytes, const char *message);

/* What a task has made, and why if it has failed. */
struct process_made {
    struct engine_output output;
    char message[240];
};

/* What the process that ran a batch says of it. */
struct process_ran {
    struct process_report report;
    struct engine_usage usages[ENGINE_USAGES_MAX];
    struct engine_output outputs[BATCH_TASKS_MAX]; /* Contents are the receiver's. */
    char messages[BATCH_TASKS_MAX][240];
};

/*
 * Read the report of @received, of the process that is @lender, which is NULL until its ledger
 * came. False if it makes no sense: the process is to be replaced then. Nothing in it is trusted.
 * If there is no memory for what it brings, it says WEFT_NO_MEMORY and brings nothing.
 * Texts, whose lengths are part of the data, are copied before they are checked.
 */
bool process_take_report(
    struct received *received, struct lender *lender, struct process_ran *ran_out);

/* Release the outputs that it still has. */
void process_ran_clear(struct process_ran *ran);

#endif /* PROCESS_WIRE_H */
