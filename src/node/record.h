/*
 * record.h - one thing a node did, and why.
 *
 * Records are the only instrumentation of the core: text, JSON, metrics, screens and
 * golden tests all read them. Fields that a kind does not name are zero or NONE.
 */
#ifndef NODE_RECORD_H
#define NODE_RECORD_H

#include <stdint.h>

#include "model/ids.h"

/* X(kind, name): what happened. */
#define RECORD_KINDS(X)                                                                            \
    X(RECORD_ARRIVED, "arrived")           /* value: items */                                      \
    X(RECORD_REFUSED, "refused")           /* value: ns after which to try again */                \
    X(RECORD_PLACED, "placed")             /* task, worker, reason */                              \
    X(RECORD_RESERVED, "reserved")         /* task, worker; value: ns */                           \
    X(RECORD_UNRESERVED, "unreserved")     /* task, worker */                                      \
    X(RECORD_ACKNOWLEDGED, "acknowledged") /* worker; value: sequence */                           \
    X(RECORD_SENT, "sent")                 /* task, worker; value: bytes */                        \
    X(RECORD_OFFERED, "offered")           /* task, worker: holds the inputs; value: the home */   \
    X(RECORD_CLAIMED, "claimed")           /* task, worker, batch, gpu, cpu; value: items */       \
    X(RECORD_DECLINED, "declined")         /* worker, reason; value: tasks of the claim */         \
    X(RECORD_QUEUED, "queued")             /* task, worker; value: items */                        \
    X(RECORD_LOADING, "loading")           /* worker, model, reason; value: bytes */               \
    X(RECORD_LOADED, "loaded")             /* worker, model */                                     \
    X(RECORD_LOAD_FAILED, "load failed")   /* worker, model; value: ns until the next try */       \
    X(RECORD_LOAD_DROPPED, "load dropped") /* worker, model */                                     \
    X(RECORD_EVICTED, "evicted")           /* worker, model, reason */                             \
    X(RECORD_SHAPED, "shaped")             /* worker; value: units */                              \
    X(RECORD_STARTED, "started")           /* task, worker, batch, gpu, cpu; value: items */       \
    X(RECORD_ENDED, "ended")               /* task, worker, batch, gpu, cpu; value: ns it ran */   \
    X(RECORD_RELEASED, "released")         /* worker, batch, gpu, cpu; value: ns held idle */      \
    X(RECORD_STOPPED, "stopped")           /* task, worker: its batch was cancelled */             \
    X(RECORD_FAILED, "failed")             /* task, worker, reason */                              \
    X(RECORD_STOLEN, "stolen")             /* task, worker: the thief */                           \
    X(RECORD_DROPPED, "dropped")           /* task, worker, reason */                              \
    X(RECORD_ANSWERED, "answered")         /* reason; value: ns since arrival */                   \
    X(RECORD_CANCELLED, "cancelled")       /* value: ns since arrival */                           \
    X(RECORD_NODE_LOST, "node lost")       /* value: the node */                                   \
    X(RECORD_NODE_BACK, "node back")       /* value: the node */                                   \
    X(RECORD_SUSPECTED, "suspected")       /* value: the node */                                   \
    X(RECORD_DRAINING, "draining")                                                                 \
    X(RECORD_DRAINED, "drained")                                                                   \
    X(RECORD_SOLVED, "solved")         /* value: the problem */                                    \
    X(RECORD_REPEATED, "repeated")     /* reason; value: the attempt, counted from 0 */            \
    X(RECORD_IGNORED, "ignored")       /* what the sender had no right to say; value: that node */ \
    X(RECORD_DEPUTED, "deputed")       /* value: the deputy that knows of the job now */           \
    X(RECORD_TAKEN_OVER, "taken over") /* value: the owner that was lost */                        \
    X(RECORD_AWAITED, "awaited")       /* reason; value: the node that has the request */          \
    X(RECORD_WEIGHED, "weighed")       /* task, worker, model it lacks, batch, gpu, cpu; */        \
                                       /* value: ns until it would end. Only for hosts that ask */

enum record_kind {
#define X(kind, name) kind,
    RECORD_KINDS(X)
#undef X
        RECORD_KIND_COUNT
};

/* X(reason, name): why. Also what a refused or failed job is told. */
#define REASONS(X)                                                                                 \
    X(REASON_NONE, "")                                                                             \
    X(REASON_PLANNED, "planned")         /* by place_job */                                        \
    X(REASON_BOUND, "bound")             /* by place_task: had no worker */                        \
    X(REASON_ADJUSTED, "adjusted")       /* by place_task: had another one */                      \
    X(REASON_FORWARDED, "forwarded")     /* a join, from its rendezvous */                         \
    X(REASON_REPLACED, "re-placed")      /* after a loss or a failure */                           \
    X(REASON_DEMAND, "demand")           /* the next task needs it */                              \
    X(REASON_PREFETCH, "prefetch")       /* a later task will */                                   \
    X(REASON_WARM, "warm")               /* the policy expects to need it */                       \
    X(REASON_SHARED, "shared")           /* a worker with the same memory has loaded it */         \
    X(REASON_COOL, "cool")               /* the policy does not expect to need it */               \
    X(REASON_ROOM, "room")               /* for another model, or a workspace */                   \
    X(REASON_WITHDRAWN, "withdrawn")     /* from the repository */                                 \
    X(REASON_ADMISSION, "admission")     /* the policy refused it */                               \
    X(REASON_FULL, "full")               /* a bounded pool is used up */                           \
    X(REASON_STARVED, "starved")         /* no policy gave it a place for long */                  \
    X(REASON_BUSY, "busy")               /* others hold the units of a claim */                    \
    X(REASON_DRAIN, "draining")          /* the node takes no more */                              \
    X(REASON_UNAVAILABLE, "unavailable") /* a model it needs is not there */                       \
    X(REASON_NO_WORKER, "no usable worker")                                                        \
    X(REASON_TOO_LARGE, "does not fit") /* a model larger than the device */                       \
    X(REASON_LOAD_FAILED, "load failed")                                                           \
    X(REASON_DEVICE_LOST, "device lost")                                                           \
    X(REASON_BATCH_FAILED, "batch failed")                                                         \
    X(REASON_INVALID, "invalid input") /* it would fail again */                                   \
    X(REASON_CANCEL, "cancelled")                                                                  \
    X(REASON_OWNER_LOST, "owner lost")                                                             \
    X(REASON_DUPLICATE, "duplicate")                                                               \
    X(REASON_STALE, "stale") /* of a job or placement that is gone */                              \
    X(REASON_ATTEMPTS, "too many attempts")                                                        \
    X(REASON_UNPLANNED, "unplanned") /* the policy had planned it otherwise */                     \
    X(REASON_IDLE, "idle")           /* nothing used it for as long as its device keeps models */  \
    X(REASON_CRASHED, "crashed")     /* it ended the process that ran it: it would again */        \
    X(REASON_SILENCE, "silence")     /* no node knows anything of it */                            \
    X(REASON_LATE, "deadline exceeded") /* or sure to be: it is not run any more */                \
    X(REASON_KEY_REUSED, "key reused")  /* for a request with other inputs */                      \
    X(REASON_EDITION, "other edition")  /* the node cannot run what the job names */

enum reason {
#define X(reason, name) reason,
    REASONS(X)
#undef X
        REASON_COUNT
};

#define RECORD_NONE ((uint16_t)UINT16_MAX) /* No workflow, or no model. */

struct record {
    int64_t at_ns;
    struct job_id job;
    int64_t value;
    uint32_t node;
    uint32_t task;
    uint32_t worker;
    uint16_t workflow;
    uint16_t model;
    uint16_t batch; /* STARTED, ENDED, CLAIMED: how many tasks run together. */
    uint16_t gpu;   /* Likewise: units of the device that they hold. */
    uint16_t cpu;   /* Likewise: units of the machine. */
    uint8_t kind;   /* enum record_kind */
    uint8_t reason; /* enum reason */
};

_Static_assert(RECORD_KIND_COUNT <= UINT8_MAX, "a kind is a byte");
_Static_assert(REASON_COUNT <= UINT8_MAX, "a reason is a byte");
_Static_assert(sizeof(struct record) == 56, "no padding: records are hashed as bytes");

#endif /* NODE_RECORD_H */
