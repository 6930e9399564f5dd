/*
 * message.h - what nodes say to each other about jobs.
 *
 * One struct for all kinds keeps the node's handlers short; the wire form of a kind
 * holds only the fields that it names. Times are durations. The placement is
 * borrowed: it lives as long as the step, or the buffer, that the message came from.
 */
#ifndef WIRE_MESSAGE_H
#define WIRE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/status.h>

#include "model/ids.h"

/* The "task" that a sink's output goes to: the owner's answer. */
#define TASK_ANSWER (UINT32_MAX - 1)

enum message_kind {
    MESSAGE_INPUT,       /* An input of a task, or of the answer. Tensor beside it. */
    MESSAGE_RESERVE,     /* A task, or with TASK_NONE all that are planned for the receiver. */
    MESSAGE_UNRESERVE,   /* One task is no longer planned for the receiver. */
    MESSAGE_ACKNOWLEDGE, /* Reservations up to sequence are in row row_sequence. */
    MESSAGE_MOVED,       /* To the owner: a task went to a worker it was not planned for. */
    MESSAGE_FAILED,      /* To the owner: a task could not be run, and why. */
    MESSAGE_CANCEL,      /* Drop everything of this job. */
    MESSAGE_STEAL,       /* An idle worker asks for a task. */
    MESSAGE_NOTHING,     /* The answer to it when there is none to give. */
    MESSAGE_QUERY,       /* To the owner: is this job still wanted? */
    MESSAGE_PROBE,       /* From the owner: is this job being worked on? */
    MESSAGE_ALIVE,       /* The answer to it, and to SEEK, if so. */
    MESSAGE_OFFER,       /* A ticket, to the home of its queue: a task waits at a worker. */
    MESSAGE_GONE,        /* It does not wait there any more, to the home or to who pulls it. */
    MESSAGE_CLAIM,       /* From the home: run this task, one of a batch, with this config. */
    MESSAGE_DECLINE,     /* The answer to it when the batch cannot be had. */
    MESSAGE_PULL,        /* Send a task that waits at the receiver to this worker. */
    MESSAGE_UNFIT,       /* No: it cannot run at all, and why. */
    MESSAGE_ENDED,       /* To the home: a batch that it claimed has ended. */
    MESSAGE_ASK,         /* From the home: is this claim being worked on? */
    MESSAGE_WARM,        /* Load a model ahead of need, if there is room. */
    MESSAGE_SEEK,        /* What was pulled has not come: send it, or say that it is under way. */
    MESSAGE_KINDS
};

struct message {
    enum message_kind kind;
    uint32_t from; /* Sending node. */
    struct job_id job;
    uint32_t workflow;
    uint32_t task;
    uint32_t worker; /* For which worker; of MOVED, FAILED, STEAL, OFFER, GONE: about which. */
    uint32_t input;  /* INPUT: which one; of the answer: which sink. STEAL: who is asked. */
    uint32_t items;
    uint32_t attempt;  /* Version of the placement; grows when the owner re-places. */
    uint32_t sequence; /* Reservation, per sender. 0: none. */
    uint32_t reason;   /* FAILED, DECLINE, UNFIT, ENDED: enum reason of the node. */
    uint32_t priority;
    bool firm;             /* Past its deadline nobody wants the job's answer. */
    bool settled;          /* INPUT: the task has been placed for the last time. */
    uint64_t row_sequence; /* ACKNOWLEDGE; of DECLINE and ENDED: the first row that shows it. */
    uint64_t bytes;        /* INPUT: of the tensor beside it. */
    int64_t age_ns;        /* Since the job arrived. */
    int64_t left_ns;       /* Until its deadline; INT64_MAX if it has none. */
    uint32_t claim;        /* Number of a claim, per home, */
    uint32_t index;        /* which of its tasks this is, */
    uint32_t count;        /* of how many, */
    uint32_t batch;        /* and its config: items at most, */
    uint32_t cpu;          /* units of the machine, */
    uint32_t gpu;          /* and of the device. */
    uint32_t holder;       /* CLAIM: the worker with the inputs. */
    uint32_t model;        /* WARM. */
    int64_t run_ns;        /* ENDED: how long it ran. */
    uint32_t placement_count;
    const uint16_t *placement;
};

enum { MESSAGE_BYTES_MAX = 128 + 2 * 1024 };

/*
 * Write @message to @bytes. Returns how many were written: 0 if @bytes_max, which is
 * enough if it is MESSAGE_BYTES_MAX, is not. Ids must be below their limits, or NONE.
 */
size_t message_encode(const struct message *message, uint8_t *bytes, size_t bytes_max);

/*
 * Read a message. Its placement is written to @placement, which has room for
 * WORKFLOW_TASKS_MAX entries. Fields that the kind does not name are 0. Ids are below
 * their limits; whether they exist in this cluster is for the receiver to check.
 *
 * Errors: WEFT_INVALID for anything that message_encode() cannot have written.
 */
enum weft_status message_decode(
    const uint8_t *bytes, size_t bytes_count, uint16_t *placement, struct message *message_out);

#endif /* WIRE_MESSAGE_H */
