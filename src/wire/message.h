/*
 * message.h - what nodes say to each other about jobs.
 *
 * A message starts with what it is about, which many kinds have in common; the rest is a
 * union by kind. The wire form of a kind holds only the fields that it names. Times are
 * durations. Placements and causes are borrowed: they live as long as the step, or the buffer,
 * that the message came from.
 */
#ifndef WIRE_MESSAGE_H
#define WIRE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/status.h>

#include "model/ids.h"
#include "model/learnt.h"

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
    MESSAGE_NOTHING,     /* The answer to it when there is nothing to give. */
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
    MESSAGE_DEPUTE,      /* From the owner of a request with a key: know of it. Tensor beside it. */
    MESSAGE_DEPUTED,     /* The answer to it, and to TRIED: so many attempts are known of. */
    MESSAGE_TAKEN,       /* No: the request has an owner already. Wait for its answer. */
    MESSAGE_TRIED,       /* From the owner: another attempt has failed. */
    MESSAGE_SETTLED,     /* The request ended without outputs, or with too many to send. */
    MESSAGE_FORWARD,     /* A client asks again: send the answer, or see to it. Tensor beside it. */
    MESSAGE_RESULT,      /* One output of the answer. Tensor beside it. */
    MESSAGE_LEARNT,      /* Between hosts: how long a model takes on a kind of device. */
    MESSAGE_RECALL,      /* A client asks again, and the first in rank asks all: who knows of it? */
    MESSAGE_UNKNOWN,     /* The answer to it if the receiver does not; else as to DEPUTE. */
    MESSAGE_KEEP,        /* Keep this answer, too: how it ended. Its outputs follow, as RESULT. */
    MESSAGE_KINDS
};

/* What a queue must know of a task; of INPUT and RESERVE, also where its job runs. */
struct message_work {
    uint32_t items;
    uint32_t priority;
    int64_t age_ns;  /* Since the job arrived. */
    int64_t left_ns; /* Until its deadline; INT64_MAX if it has none. */
    uint64_t bytes;  /* INPUT: of the tensor beside it. */
    uint32_t input;  /* INPUT: which one; of the answer: which sink. */
    bool settled;    /* INPUT: the task has been placed for the last time. */
    bool firm;       /* Past its deadline the job's answer is not wanted. */
    uint16_t placement_count;
    const uint16_t *placement;
};

/* What is free of a worker, in messages to a home. */
struct message_units {
    uint64_t row_sequence; /* The first row that shows it. */
    uint32_t layout;       /* How units are divided, as in a row. */
    uint32_t cpu;          /* Units of the machine that no batch holds. */
    uint32_t gpu;          /* Units of the device that no batch holds. */
};

/* A ticket, and what is free where its task waits. */
struct message_offer {
    struct message_work work;
    struct message_units free;
};

/* One task of a batch that a home claims. */
struct message_claim {
    uint64_t number; /* Per home. */
    uint32_t index;  /* Of this task in the batch. */
    uint32_t count;  /* Of the batch's tasks. */
    uint32_t items;  /* Of all of them. */
    uint32_t batch;  /* Config: items at most. */
    uint32_t cpu;    /* Config: units of the machine. */
    uint32_t gpu;    /* Config: units of the device. */
    uint32_t holder; /* The worker with the inputs. */
};

/* What became of a claim. */
struct message_outcome {
    uint64_t number; /* Of the claim. */
    uint32_t reason; /* enum reason of the node. */
    int64_t run_ns;  /* ENDED: how long the batch ran. */
    struct message_units free;
};

/* What an engine said, in its own words: plain UTF-8, without a zero. Hosts write and read it. */
struct message_cause {
    uint16_t bytes; /* 0: none said anything. */
    const char *text;
};

/* A request with a key, or its end. Items and bytes are where message_work has them. */
struct message_deputy {
    uint32_t items;
    uint32_t priority;
    uint64_t inputs_hash;
    int64_t left_ns;
    uint64_t bytes;
    struct request_key key;
    uint32_t losses; /* Attempts that have failed, under this owner and those before it. */
    uint32_t sink;   /* RESULT: which output. */
    uint32_t status; /* SETTLED, KEEP: enum weft_status, without its sign. */
    uint32_t reason; /* SETTLED, KEEP: enum reason of the node. */
    bool firm;
    struct message_cause cause; /* SETTLED, KEEP. */
};

/* Why a task cannot be run. */
struct message_failure {
    uint32_t reason; /* enum reason of the node. */
    struct message_cause cause;
};

struct message {
    enum message_kind kind;
    uint32_t from; /* Sending node. */
    uint32_t from_incarnation;
    uint32_t to_incarnation; /* Of the receiver: another life of it is not meant. */
    bool can_wait; /* Until something else goes there, or for some 50 ms. Not sent itself. */
    bool is_quiet; /* The receiver attends if it needs it: net_attend(). Not sent itself. */

    /* What it is about. 0 where the kind does not say. */
    struct job_id job;
    uint64_t sequence; /* Reservation, per sender. 0: none. To a home: up to which all count. */
    uint32_t workflow;
    uint32_t task;
    uint32_t worker;  /* For which worker; of MOVED, FAILED, STEAL, OFFER, GONE: about which. */
    uint32_t attempt; /* Version of the placement; grows when the owner re-places. */

    union {
        struct message_work work;     /* INPUT, RESERVE, OFFER. */
        struct message_offer offer;   /* OFFER. */
        struct message_deputy deputy; /* DEPUTE to RESULT, RECALL to KEEP. */
        struct message_claim claim;
        struct message_outcome outcome; /* DECLINE, ENDED. */
        uint64_t asked;                 /* ASK: number of the claim. */
        uint32_t victim;                /* STEAL: the worker that is to give something. */
        uint32_t life;                  /* MOVED: the incarnation that the task was sent to. */
        uint32_t reason;                /* FAILED, UNFIT: the first of the next. */
        struct message_failure failure;
        struct learnt learnt;
        uint32_t model;        /* WARM. */
        uint64_t row_sequence; /* ACKNOWLEDGE. */
    };
};

/* Whether a tensor comes with messages of @kind; work.bytes are its bytes. */
static inline bool message_has_tensor(enum message_kind kind)
{
    return kind == MESSAGE_INPUT || kind == MESSAGE_DEPUTE || kind == MESSAGE_FORWARD ||
           kind == MESSAGE_RESULT;
}

/* Whether messages of @kind have a placement, which may be empty. */
static inline bool message_has_placement(enum message_kind kind)
{
    return kind == MESSAGE_INPUT || kind == MESSAGE_RESERVE;
}

/* How many entries the placement of @message has; 0 if its kind has none. */
static inline uint32_t message_placement_count(const struct message *message)
{
    return message_has_placement(message->kind) ? message->work.placement_count : 0;
}

/* Whether messages of @kind say how a request with a key has ended. */
static inline bool message_is_end(enum message_kind kind)
{
    return kind == MESSAGE_SETTLED || kind == MESSAGE_KEEP;
}

/* Whether messages of @kind have a cause, which may be empty. */
static inline bool message_has_cause(enum message_kind kind)
{
    return kind == MESSAGE_FAILED || kind == MESSAGE_UNFIT || message_is_end(kind);
}

/* The cause of @message. NULL if its kind has none. */
static inline const struct message_cause *message_cause(const struct message *message)
{
    if (!message_has_cause(message->kind)) {
        return NULL;
    }
    return message_is_end(message->kind) ? &message->deputy.cause : &message->failure.cause;
}

enum { MESSAGE_BYTES_MAX = 128 + 2 * 1024, MESSAGE_CAUSE_BYTES_MAX = 239 };

/* Let @message, whose kind has one, borrow @cause. */
void message_set_cause(struct message *message, const struct message_cause *cause);

/* How many bytes @message borrows. */
size_t message_borrowed_bytes(const struct message *message);

/* Copy what @message borrows to @room, which has so many bytes, and let it borrow them there. */
void message_keep(struct message *message, void *room);

/* @passed_ns more have passed for the job, or the request, that @message brings, if it does. */
void message_add_age(struct message *message, int64_t passed_ns);

/*
 * Write @message to @bytes. Returns how many were written: 0 if @bytes_max, which is
 * enough if it is MESSAGE_BYTES_MAX, is not. Ids must be below their limits, or NONE.
 */
size_t message_encode(const struct message *message, uint8_t *bytes, size_t bytes_max);

/*
 * Read a message. Its placement is written to @placement, which has room for
 * WORKFLOW_TASKS_MAX entries. Fields in front of the union that the
 * kind does not name are 0, as are those of a named member. Ids are below
 * their limits; whether they exist in this cluster is for the receiver to check.
 *
 * Errors: WEFT_INVALID for anything that message_encode() cannot have written.
 */
enum weft_status message_decode(
    const uint8_t *bytes, size_t bytes_count, uint16_t *placement, struct message *message_out);

#endif /* WIRE_MESSAGE_H */
