/*
 * bounds.h - limits and patience of a node, with their reasons. For the files of this layer.
 */
#ifndef NODE_BOUNDS_H
#define NODE_BOUNDS_H

#include <stdint.h>

#include "base/units.h"

enum {
    JOB_ATTEMPTS_MAX = 5, /* Then a job fails rather than go round for ever. */
    REPAIRS_PER_STEP = 4, /* A step stays short even when a thousand jobs lost a worker. */
    REPAIR_LOOKS_PER_STEP = 256,
    VISITS_PER_STEP = REPAIRS_PER_STEP + 2, /* Of jobs, and of requests that are taken over. */
    PARKED_MAX = 1024,                      /* Messages that wait for peers. */
    /*
     * Cancelled jobs whose late messages are recognised. Each is a message under way when its job
     * was cancelled; one that falls out costs a run and a visit, until the next audit.
     */
    CANCELLED_MAX = 64,
    WITHDRAWN_MAX = 32,          /* Each is a reservation that is slower than its withdrawal. */
    EARLY_MAX = 32,              /* Each is a move whose news is slower than what came of it. */
    GPU_UNITS_MAX = 128,         /* A share size is a bit of two words: percents fit. */
    LOAD_RETRIES_SHIFT_MAX = 10, /* Back-off doubles up to 2^10 times the first pause. */
    HOME_TASKS_PER_STEP = 128,   /* Claimed or turned away in one step; the next goes on. */
    GIVE_UP_PER_STEP = 8,        /* Jobs that cannot be in time; the next step goes on. */
    HANDED_ON_PER_STEP = 16,     /* Tasks that wait at a node that leaves; the next goes on. */
    TOLD_BYTES_MIN = 65536,      /* Smaller inputs are as fast as the news of them. */
    DECLINES_IN_A_ROW = 32,      /* Of claims of one queue, before it pauses. */
    OFFERS_PER_REPAIR = 64, /* Made again in one step, after the loss of a home or a silence. */
    KEYED_MAX = 1 << 16,    /* Requests with keys, open or answered: a minute of 1000 per second. */
    KEYED_EVICTED_PER_STEP = 64,
    KEYED_PATIENCE_SHIFT_MAX = 10, /* What takes long on a slow link must not be sent for ever. */
    OUTLIVED_SHIFT_MAX = 3,
    KEYED_TELLS_MAX = 10, /* After each, the next deputy waits twice as long, up to 13 s. */
};

/* A worker as fast as expected, and one that is as slow as any is ever taken for. */
enum { SLOWNESS_ONE = 256, SLOWNESS_MAX = 16 * SLOWNESS_ONE - 1 };

#define DEPUTY_BYTES_MAX (UINT64_C(16) << 20)  /* Larger inputs and answers stay at the owner. */
#define KEYED_BYTES_MAX  (UINT64_C(256) << 20) /* Of inputs for deputies, and of kept answers. */
#define ANSWER_KEPT_NS   (60 * NS_PER_S)       /* A client asks again within seconds, or never. */

#define AUDIT_NS            (10 * NS_PER_S)   /* Silence after which a visit asks its owner. */
#define RETURN_NS           (50 * NS_PER_MS)  /* Before a peer that is back is told of requests. */
#define OUTLIVED_NS         (250 * NS_PER_MS) /* For a node to hear of a new life; doubles. */
#define SILENT_NS           (3 * NS_PER_S)    /* As a lease: then a verdict was due as well. */
#define STARVED_NS          (10 * NS_PER_S)   /* No policy may leave a task waiting for longer. */
#define PUT_OFF_STARVED_NS  (60 * NS_PER_S)   /* Nor one that is put off because it is late. */
#define STEAL_PAUSE_NS      NS_PER_MS         /* After a peer had nothing, or was given all. */
#define LOAD_RETRY_FIRST_NS (10 * NS_PER_MS)  /* After a load that failed; doubles. */
#define RECHECK_FIRST_NS    (2 * NS_PER_MS)   /* Before a queue that fits nowhere is asked again. */
#define RECHECK_LAST_NS     (50 * NS_PER_MS)  /* The pause before that doubles up to this. */

#endif /* NODE_BOUNDS_H */
