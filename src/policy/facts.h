/*
 * facts.h - what policies are told, and the forms of their answers.
 */
#ifndef POLICY_FACTS_H
#define POLICY_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/rng.h"
#include "base/units.h"
#include "model/catalogue.h"
#include "profile/profile.h"
#include "view/view.h"

struct mixture;
struct weighed;

enum {
    TICK_WARMS_MAX = 64,  /* As many workers can be given a model at once. */
    QUEUE_LOOKS_MAX = 16, /* Tasks at the head of a home queue that are looked at one by one. */
};

/*
 * What a level of priority is worth: a task comes before those of the next lower level whose key
 * is up to this much smaller. So priorities are strict among tasks that came, or are due, within
 * half a minute, and no task waits for ever.
 */
#define PRIORITY_LEVEL_NS (30 * NS_PER_S)

/*
 * What was put off comes after all that is due within so long; and after that, first again. What is
 * only doubtful waits for less, before jobs that a policy lets wait because they have no deadline.
 */
#define PUT_OFF_NS     (3600 * NS_PER_S)
#define DOUBTFUL_NS    (300 * NS_PER_S)
#define NO_DEADLINE_NS (600 * NS_PER_S)

/* What is known before the first job: for plan and solve. */
struct plan_input {
    const struct fleet *fleet;
    const struct catalogue *catalogue;
    const struct profile *profile;
    const double *options;         /* A value for each row of the policy's options. */
    const struct mixture *mixture; /* As the scenario names it; NULL if it names none. */
    const double *rates;           /* Jobs per second expected of each workflow; NULL: unknown. */
    uint64_t seed;
};

/* What every decision may read. */
struct policy_input {
    const struct view *view;
    const struct profile *profile;
    const struct catalogue *catalogue;
    const double *options;   /* A value for each row of the policy's options. */
    const void *plan;        /* What the policy's own plan() returned. */
    void *state;             /* state_bytes of it, kept by the node; only this policy writes it. */
    struct rng *rng;         /* The node's stream for this policy. */
    bool by_deadline;        /* Queues of the composition are in the order of deadlines. */
    bool binds;              /* Tasks wait in home queues, which no row shows. */
    bool orders;             /* Keys in queues are those of the policy that is asked. */
    bool plans;              /* Jobs are placed when they come: rows show all of their work. */
    struct weighed *weighed; /* For weigh(), of weighed.h. NULL: the host has not asked. */
};

struct job_facts {
    struct job_id id;
    uint32_t workflow;
    const struct workflow *graph;
    int64_t arrived_ns;
    int64_t deadline_ns; /* INT64_MAX if it has none. */
    bool firm;           /* Past it the answer is worthless; otherwise it is a target. */
    uint32_t items;      /* Of the request. */
    uint32_t priority;   /* 0 to PRIORITY_MAX: larger is more urgent. */
    uint32_t ingress;    /* A worker of the owner's node: where the inputs are. */
};

struct input_facts {
    uint32_t worker; /* Where it is. */
    uint64_t bytes;
};

struct task_facts {
    const struct job_facts *job;
    const uint16_t *placement; /* As far as this node knows it. */
    uint32_t task;
    uint32_t items;
    uint32_t planned; /* Its worker so far; WORKER_NONE while unbound. */
    uint32_t here;    /* The worker whose node asks: it has the inputs. */
    bool gathered;    /* A join at its rendezvous: moving it forwards every input. */
    uint32_t input_count;
    const struct input_facts *inputs;
};

/* What order sees of a task that joins a queue. */
struct ready_facts {
    const struct job_facts *job;
    uint32_t task;
    uint32_t items;
    uint32_t worker;
    int64_t ready_ns; /* Since when it waits. */
    bool continues;   /* Its producer has just run on this worker. */
};

struct queue_facts {
    uint32_t workflow;
    uint32_t task;
    uint32_t worker;  /* WORKER_NONE: a home queue, of the whole cluster. */
    uint32_t waiting; /* Tasks. */
    uint32_t items;   /* Items of all waiting tasks. */
    uint32_t head_items;
    int64_t head_ready_ns;
    int64_t head_deadline_ns; /* Of the oldest job: INT64_MAX if it has none. */
    int64_t head_arrived_ns;  /* When that job reached its owner. */
    uint32_t gpu_free;        /* Units of the worker; of a home queue, 0: see the view. */
    uint32_t cpu_free;

    /* Of a home queue. */
    uint32_t holder; /* The worker with the inputs of most tasks at its head. */
    uint32_t look_count;
    uint32_t holders[QUEUE_LOOKS_MAX]; /* Of each of these tasks. */
    uint32_t rechecks;                 /* How often in a row its candidates fitted nowhere. */
    bool put_off;                      /* All its tasks were put off: see enum hope. */
    uint32_t head_priority;
};

/* What may become of a job, one of whose tasks would start now. */
enum hope {
    HOPE_GOOD,     /* Or unknown. */
    HOPE_DOUBTFUL, /* It may be late: the task is put off, behind those that will not be, */
    HOPE_LATE,     /* or, as it will be late, behind those without a deadline as well. */
    HOPE_NONE,     /* Its answer would be of no use: it ends. */
};

/* Up to DISPATCH_CANDIDATES_MAX configs, best first; or none and a time to ask again. */
struct dispatch_answer {
    uint32_t count;
    struct config configs[DISPATCH_CANDIDATES_MAX];
    uint32_t workers[DISPATCH_CANDIDATES_MAX]; /* Of a home queue: where each would run. */
    int64_t wake_at_ns;
    uint32_t waits_for; /* Of a home queue, without a candidate: whose room it waits for, if any. */
    bool unplanned;  /* The policy had planned it otherwise: for reports. Only of a home queue. */
    bool near_first; /* Of a home queue: behind its head, tasks with inputs at the worker first. */
};

/* A batch of a home queue that has ended, at the home that sent it off. */
struct ended_facts {
    uint32_t workflow;
    uint32_t task;
    uint32_t worker;
    uint32_t items;
    struct config config;
    int64_t run_ns;
    bool completed; /* Otherwise it failed, or was refused before it ran. */
};

/* What was expected of a job when it was admitted. The node keeps it as long as the job. */
struct forecast {
    int64_t wait_ns; /* By rows and jobs admitted earlier, before anything learnt. */
    int64_t run_ns;  /* Likewise: the longest way through its tasks. */
    int64_t work_ns; /* Likewise: all of its tasks together. */
};

struct admission {
    bool admitted;
    int64_t retry_after_ns;   /* For the client, if refused. */
    struct forecast forecast; /* If admitted. */
};

/* How a job that was admitted has ended, at its owner. */
struct answered_facts {
    const struct job_facts *job;
    struct forecast forecast;
    int64_t latency_ns;
    bool completed;
    bool cut;  /* Its client left: it would have taken longer. */
    bool late; /* It was given up: it would have ended past its deadline. */
};

/* A model in a worker's memory that nothing needs at this moment. */
struct cache_entry {
    uint32_t model;
    uint32_t next_use; /* How many queued tasks come before the first that wants it. */
    uint64_t bytes;
    int64_t used_ns; /* When it was last used, or loaded. */
    int64_t idle;    /* Since then, by the uses of all models beside it, in any unit. */
    int64_t gap;     /* So far apart are its uses, on average of late; 0 before the second. */
    int64_t load_ns; /* What loading it again would take, with its first run. */
};

#define NEXT_USE_NEVER UINT32_MAX

struct cache_facts {
    uint32_t worker;
    uint64_t free_bytes;
    uint64_t wanted_bytes; /* victim: how much room is missing. */
    uint32_t count;
    const struct cache_entry *entries; /* victim: may leave. prefetch: wanted, not here. */
};

/* A model to load ahead of need, or to drop. */
struct warm {
    uint32_t worker; /* Any of the cluster. */
    uint32_t model;
};

struct tick_answer {
    bool rests; /* Nothing will be due before dispatch is asked again: no ticks until then. */
    bool solve; /* Ask for a longer search, off the loop: its result comes to solved(). */
    uint64_t problem;
    uint32_t warm_count; /* Loaded if there is room without evicting anything wanted. */
    struct warm warms[TICK_WARMS_MAX];
    uint32_t cool_count; /* Own workers only: unloaded if nothing needs it. */
    struct warm cools[TICK_WARMS_MAX];
};

#endif /* POLICY_FACTS_H */
