/*
 * inside.h - what a node is made of. For the files of this layer alone.
 * A job is at its owner, a visit of it where its tasks are. Nothing points across a step.
 */
#ifndef NODE_INSIDE_H
#define NODE_INSIDE_H

#include "model/sharing.h"
#include "node/bounds.h"
#include "node/deadlines.h"
#include "node/inside_home.h"
#include "node/inside_keys.h"
#include "node/inside_mail.h"
#include "node/inside_models.h"
#include "node/inside_tensor.h"
#include "node/node.h"
#include "node/states.h"

struct task {
    uint32_t visit;
    uint32_t next_of_visit;
    union {
        uint32_t next_in_queue; /* Of a QUEUED task. */
        uint32_t batch;         /* Of a CLAIMED or RUNNING task. */
        uint32_t home;          /* Of an OFFERED task: the node that has its ticket. */
    };
    uint32_t inputs; /* List of struct input. */
    uint32_t worker;
    uint32_t items;
    uint16_t input_count;
    uint16_t number;    /* In its workflow. */
    uint8_t state;      /* enum task_state */
    bool settled : 1;   /* Has been placed for the last time. */
    bool continues : 1; /* Its producer ran on the same worker just now. */
    bool cancelled : 1; /* Runs, but its result is not wanted. */
    bool is_early : 1;  /* It came, and was not reserved before: that may still come. */
    uint8_t hope;       /* enum hope: unless it is good, it has given way to others. */
    union {
        int64_t key;    /* In its queue. */
        uint64_t epoch; /* Of an OFFERED task: of the member list that named its home. */
    };
    uint64_t arrival; /* Tie-breaker, per node. */
    int64_t ready_ns;
    int64_t run_ns; /* What its worker's row counts for it. */
};
_Static_assert(sizeof(struct task) == 64, "many wait: a cache line each");
_Static_assert(WORKFLOW_TASKS_MAX <= UINT16_MAX, "a task has fewer inputs, a job fewer sinks");

/* A job at a node that works for it. */
struct visit {
    struct job_id job;
    uint32_t attempt;
    uint32_t tasks; /* List. */
    struct slot_link link;
    int64_t arrived_ns;
    int64_t deadline_ns;
    int64_t touched_ns; /* Last message, for the audit. */
    uint8_t workflow;
    uint8_t priority;
    uint8_t held;     /* Its slot is in use further up the call stack. */
    bool dropped : 1; /* Nothing of it is wanted any more. */
    bool firm : 1;    /* Nor is an answer past its deadline. */
    uint16_t placement[];
};

#define JOB_FAILED_NONE UINT16_MAX

/* A job at its owner. */
struct job {
    struct job_id id;
    uint64_t client; /* The host's name for it. */
    uint32_t items;
    uint32_t attempt;
    uint32_t inputs;    /* Tensor. */
    uint32_t outputs;   /* List of struct input, by sink. */
    int64_t touched_ns; /* Last sign of life, for the audit. */
    int64_t tried_ns;   /* When its last attempt began. */
    int64_t again_ns;   /* Not before then may what was lost run again. */
    uint64_t epoch;     /* Of the member list against which it was last checked. */
    int64_t arrived_ns;
    int64_t deadline_ns;
    struct slot_link link;
    struct forecast forecast;         /* What was expected of it when it was admitted. */
    struct deadline_link by_deadline; /* If it is firm. */
    uint16_t output_count;
    uint8_t workflow;
    uint8_t priority;
    uint8_t audits;       /* How often it was run again because no node knew of it: its patience. */
    uint8_t losses;       /* Failures and losses so far: at JOB_ATTEMPTS_MAX it fails. */
    bool probed : 1;      /* Asked after, and not answered yet. */
    bool firm : 1;        /* Past its deadline the answer is not wanted. */
    uint8_t hold : 2;     /* enum job_hold */
    bool stalled : 1;     /* It waits, or has waited, for nothing but its deputy. */
    uint16_t failed;      /* A task that did since the last attempt began, or JOB_FAILED_NONE. */
    uint16_t placement[]; /* By task; then as many movers: see job_movers(). */
};

_Static_assert(WORKFLOWS_MAX <= UINT8_MAX + 1 && PRIORITY_MAX <= UINT8_MAX, "a byte each");

struct batch {
    uint32_t worker;
    uint32_t workflow;
    uint32_t task;
    uint32_t items;
    uint32_t next; /* Of the same worker. */
    uint8_t state; /* enum batch_state */
    struct config config;
    struct share share;
    uint32_t grant; /* The claim that it is for; POOL_NONE: of the worker's own queues. */
    uint64_t workspace_bytes;
    int64_t first_run_ns; /* What it takes longer because its models are fresh. */
    int64_t ends_at_ns;   /* As estimated. */
    uint32_t task_count;
    uint32_t tasks[BATCH_TASKS_MAX];
};

struct queue {
    int64_t key;      /* Of the head, if there is one: no task is needed to find the first queue. */
    uint64_t arrival; /* Likewise. */
    uint32_t head;
    uint32_t tail;
    uint32_t count;
    uint32_t items;
};

/* What most steps look at comes first here, too. */
struct worker {
    uint32_t id;
    bool touched; /* In this step: look at it before the step ends. */
    bool lost;    /* The device is gone; the node is not. */
    bool asked;   /* A peer for work; no answer yet. */
    bool load_changed;
    bool cache_changed;
    bool publish_timer;
    bool idle_timer;         /* Set: some model may have to leave then. */
    bool lags;               /* Its bank may have a model that is not loaded here. */
    bool is_owed;            /* It waits for room. */
    uint32_t failing_models; /* Models whose waiting tasks still have to be failed. */
    uint32_t missing;        /* Models that queued tasks need and that are not resident. */
    const struct fleet_worker *spec;
    struct queue *queues;
    uint32_t *active; /* Queues that are not empty, in no order. */
    uint32_t active_count;
    uint32_t queued;
    uint32_t queued_items;
    struct shares shares; /* Of the device: what is free. */
    int64_t queue_ns;     /* Estimated run time of queued tasks. */
    int64_t reserved_ns;  /* Estimated run time of tasks that are planned and not here yet. */
    uint32_t slowness;    /* What runs take here, in SLOWNESS_ONE parts of what was expected. */
    int64_t missing_ns;   /* Estimated time of loads that queued tasks will need. */
    int64_t first_run_ns; /* What runs take longer after those loads. */
    uint32_t running;     /* Tasks. */
    uint32_t batches;     /* List. */
    uint32_t notices;     /* List: nodes that wait for the next row. */
    uint64_t noticed;     /* A bit for each node of notices; nodes 64 apart share one. */
    uint32_t grants;      /* List: of those that gather, and of those that run for a home. */
    uint64_t offered;     /* A bit for each task offered from here at offered_ns, modulo 64. */
    int64_t offered_ns;
    uint32_t loading; /* The model on the bus, or MODEL_NONE. */
    uint32_t warm;    /* What the policy wants loaded ahead, or MODEL_NONE. */
    int64_t load_published_ns;
    int64_t cache_published_ns;
    uint64_t row_sequence;
    struct model_slot *models;
    struct model_set fresh; /* Models that were loaded, and have not run yet. */
    struct bank *bank;
    struct turn owed;        /* Of the first tasks that wait for room now. */
    struct turn owed_before; /* Of those that waited when it was looked at last. */
    uint32_t passes;         /* How often others of the bank took room since then: see room.h. */
    uint64_t shares_ready[GPU_UNITS_MAX / 64]; /* By units: a share of that size was made. */
    int64_t loading_until_ns;
    int64_t ask_at_ns; /* Not before this: a peer had nothing, or was given something. */
    int64_t wake_ns;   /* Earliest dispatch timer that is set, or INT64_MAX. */
};

/* What every step looks at comes first, in as few cache lines as it can. */
struct node {
    struct node_pools *pools;
    struct effects *effects; /* Of the step under way. */
    struct worker *workers;
    const struct catalogue *catalogue;
    const struct profile *profile;
    const struct fleet *fleet;
    struct board *board;
    uint32_t worker_count;
    uint32_t id;
    struct map jobs;   /* By job_key(). */
    struct map visits; /* Likewise: see visits_of(). */
    uint32_t job_count;
    uint32_t visit_count;
    uint32_t cpu_free;
    uint32_t incarnation;
    bool draining;
    bool drained;
    bool repair_timer;
    bool audit_timer;
    bool silence_timer;
    bool return_timer;
    bool stale_timer;
    bool is_resting; /* Its policy's ticks have stopped: see policy_seat.rests. */
    uint32_t output_count;
    struct slot_list job_list; /* The oldest first. */
    struct slot_list visit_list;
    uint32_t running;
    uint64_t job_number; /* Of the last job, without its edition. */
    uint32_t given_up;   /* Jobs, in this step: see GIVE_UP_PER_STEP. */
    uint32_t handed_on;  /* Tasks, in this step: see HANDED_ON_PER_STEP. */
    uint32_t unit_count; /* Of all its devices: so many batches at most. */
    uint64_t arrival;
    uint32_t repair_job;   /* Next to look at after a loss, or POOL_NONE. */
    uint32_t repairs_left; /* Jobs that may still be placed in a step of repairs or audits. */
    uint32_t repair_visit;
    struct policy_seat seat; /* Its first words belong to this line. */
    struct view view;        /* Its first words; the rest is for decisions. */
    struct handle *outputs;  /* Of the jobs that have been answered in this step. */
    uint32_t outputs_max;
    int64_t row_cache_ns; /* As in the options; row_load_ns is in the view. */
    int64_t ticked_ns;    /* When the last tick came. */
    struct home home;
    struct deadlines deadlines;
    uint32_t grant_count;
    uint32_t parked_first;
    uint32_t parked_last;
    uint32_t parked_count;
    uint32_t cancelled_count;
    struct job_id cancelled[CANCELLED_MAX];
    struct withdrawn withdrawn;
    struct suspects blocked; /* Peers that take no messages now. */
    struct suspects unmet;   /* Suspected ones that have never been reached. */
    int64_t *broken_ns;      /* By node: of those that are suspected, since when. */
    struct keys keys;
    struct early early;
    void *question;                  /* Of the search that was asked for in this step. */
    uint32_t edition_count;          /* As in EVENT_EDITIONS. */
    uint32_t editions[EDITIONS_MAX]; /* Likewise. */
};

#endif /* NODE_INSIDE_H */
