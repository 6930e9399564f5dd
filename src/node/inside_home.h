/*
 * inside_home.h - what a node has of home queues. For the files of this layer alone.
 *
 * Three nodes know of a task that waits to be claimed: the holder has the task, the home a
 * ticket for it, and the node of the worker that it was claimed for a grant.
 */
#ifndef NODE_INSIDE_HOME_H
#define NODE_INSIDE_HOME_H

#include "base/list.h"
#include "node/node.h"

_Static_assert(NODES_MAX <= UINT16_MAX, "a grant names nodes in two bytes");

/* A task that waits elsewhere, or here, in the queue of its home. */
struct ticket {
    struct job_id job;
    uint32_t attempt;
    uint32_t items;
    uint32_t holder; /* The worker with its inputs. */
    uint16_t task;
    uint8_t workflow;
    uint8_t priority;
    uint64_t epoch;        /* Of the member list that named the holder. */
    struct slot_link link; /* In its queue; in its claim, only to the next. */
    int64_t key;
    uint64_t arrival;
    int64_t ready_ns;
    int64_t arrived_ns;
    int64_t deadline_ns;
    bool firm;             /* Past it the answer is not wanted. */
    uint8_t hope;          /* enum hope: unless it is good, it has given way to others. */
    uint8_t strange_count; /* Claims that were declined by nodes without its edition. */
};

/* A batch that a home has sent off and not seen the end of. */
struct claim {
    uint64_t number;
    uint64_t sequence; /* Of its reservation. */
    uint32_t worker;
    uint32_t workflow;
    uint32_t task;
    uint32_t task_count;
    uint32_t items;
    struct config config;
    uint32_t tickets; /* List: put back if nothing comes of it. */
    struct slot_link link;
    uint64_t epoch;
    int64_t touched_ns; /* When it was made or last asked after, for the audit. */
};

/* The same at the worker's node: what a batch that gathers waits for. */
enum entry_state { ENTRY_UNKNOWN, ENTRY_AWAITED, ENTRY_HERE, ENTRY_GONE };

struct grant {
    uint32_t next; /* Of the same worker, oldest first. */
    uint32_t worker;
    uint32_t home;
    uint32_t home_incarnation;
    uint64_t number; /* Of the home's claim. */
    uint32_t batch;
    uint32_t count;
    uint32_t open; /* Entries that are unknown or awaited. */
    bool short_of; /* Some were given up though their tasks may still wait. */
    bool sought;   /* Since it was last touched, those who have the rest were asked. */
    uint64_t epoch;
    struct config config;
    int64_t granted_ns;
    int64_t touched_ns;
    struct {
        struct job_id job;
        uint32_t task;   /* Slot, once it is here. */
        uint16_t holder; /* Node. */
        uint8_t state;   /* enum entry_state */
    } entries[BATCH_TASKS_MAX];
};

/* Tickets of one (workflow, task), at its home. */
struct home_queue {
    struct slot_list list;
    uint32_t count;
    uint32_t items;
    uint32_t late_count; /* Of them, those that were put off. */
    uint32_t late_items;
    uint32_t rechecks;
    bool waits;          /* Its head found no room. */
    uint32_t waits_for;  /* It waits for room of this worker; WORKER_NONE: of none. */
    bool due;            /* To be looked at before the step ends. */
    int64_t look_ns;     /* To be looked at then. */
    int64_t declined_ns; /* When the first of the last claims was declined. */
    uint32_t declines;   /* How many were since. */
};

struct home {
    struct home_queue *queues; /* NULL unless the policy binds. */
    uint32_t *active;          /* Queues that are not empty, in no order. */
    uint32_t active_count;
    uint32_t *homes;       /* By queue: the node that keeps it; NODE_NONE: not known yet. */
    uint64_t epoch;        /* Of the member list that homes follows. */
    struct map tickets;    /* Those that wait, by ticket_key(): see find_ticket(). */
    struct map claims;     /* By number. */
    uint32_t ticket_count; /* Waiting or claimed. */
    struct slot_list claim_list;
    uint64_t claim_number;
    int64_t wake_ns; /* Earliest timer that is set, or INT64_MAX. */
    int64_t any_key; /* The smallest of what waits for room elsewhere, as rows said at any_at_ns. */
    int64_t any_wanting_key; /* Likewise, of what waits for a certain worker. */
    int64_t any_at_ns;
    bool presses;     /* Rows say that something waits for room here. */
    uint16_t wanted;  /* For which worker. */
    uint32_t put_off; /* Of tasks after the first ones, the share that was put off, in 2^24ths. */
};

#endif /* NODE_INSIDE_HOME_H */
