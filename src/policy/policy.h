/*
 * policy.h - the contract of a scheduling policy.
 *
 * A policy answers questions and changes nothing but its own state. It reads what a
 * node believes and returns a decision; the node checks the decision and applies it.
 * It has no clock, no memory and no output of its own, which is what lets runtime and
 * simulator host the very same code.
 *
 * In the life of a job the questions come in this order:
 *
 *   admit       at the owner, when a request arrives
 *   place_job   at the owner, for all tasks at once; may leave tasks unbound
 *   place_task  when an output is about to leave for a task with one input, at the
 *               node that made it; for a join, at its rendezvous, once all inputs are
 *               there. Binds an unbound task, or moves a planned one
 *   order       when a task joins a queue
 *   dispatch    when a worker could start something
 *   victim, prefetch   when a worker's memory is to change
 *
 * steal and tick come on their own: when a worker has nothing to do, and every
 * tick_ns. Every operation is optional; its default stands beside it.
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/rng.h"
#include "model/catalogue.h"
#include "profile/profile.h"
#include "view/view.h"

enum { POLICY_OPTIONS_MAX = 16 };

/* What every decision may read. */
struct policy_input {
    const struct view *view;
    const struct profile *profile;
    const struct catalogue *catalogue;
    const double *options; /* A value for each row of the policy's options. */
    void *state;           /* state_bytes of it, kept by the node; only this policy writes it. */
    struct rng *rng;       /* The node's stream for this policy. */
};

struct job_facts {
    struct job_id id;
    uint32_t workflow;
    const struct workflow *graph;
    int64_t arrived_ns;
    int64_t deadline_ns; /* INT64_MAX if it has none. */
    uint32_t items;      /* Of the request. */
    uint32_t priority;   /* Larger is more urgent. */
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
    bool continues; /* Its producer has just run on this worker. */
};

struct queue_facts {
    uint32_t workflow;
    uint32_t task;
    uint32_t worker;
    uint32_t waiting; /* Tasks, */
    uint32_t items;   /* and their items. */
    uint32_t head_items;
    int64_t head_ready_ns;
    int64_t head_deadline_ns; /* Of the oldest job: INT64_MAX if it has none. */
    uint32_t gpu_free;        /* Units of the worker. */
    uint32_t cpu_free;
};

/* Up to DISPATCH_CANDIDATES_MAX configs, best first; or none and a time to ask again. */
struct dispatch_answer {
    uint32_t count;
    struct config configs[DISPATCH_CANDIDATES_MAX];
    int64_t wake_at_ns;
};

struct admission {
    bool admitted;
    int64_t retry_after_ns; /* For the client, if refused. */
};

/* A model in a worker's memory that nothing needs at this moment. */
struct cache_entry {
    uint32_t model;
    uint32_t next_use; /* How many queued tasks come before the first that wants it. */
    uint64_t bytes;
    int64_t used_ns; /* When it was last used, or loaded. */
    int64_t load_ns; /* What loading it again would take. */
};

#define NEXT_USE_NEVER UINT32_MAX

struct cache_facts {
    uint32_t worker;
    uint64_t free_bytes;
    uint64_t wanted_bytes; /* victim: how much room is missing. */
    uint32_t count;
    const struct cache_entry *entries; /* victim: may leave. prefetch: wanted, not here. */
};

struct tick_answer {
    bool solve; /* Ask for a longer search, off the loop: its result comes to solved(). */
    uint64_t problem;
};

struct policy_option {
    const char *name;
    double value; /* The default. */
    const char *help;
};

struct policy {
    const char *name;    /* As written in documents and on the command line. */
    const char *summary; /* One line for `weft policies`. */
    const char *source;
    const char *ignores; /* What it does not look at, hence when not to use it. */
    size_t state_bytes;
    const struct policy_option *options; /* Ends with a NULL name. NULL: none. */

    /* Prepare the state, which is zeroed. Default: leave it so. */
    void (*init)(const struct policy_input *input);

    /* Take the job or refuse it at once. Default: take it. */
    struct admission (*admit)(const struct policy_input *input, const struct job_facts *job);

    /*
     * Choose a worker for every task, or PLACEMENT_UNBOUND: @placement_out has one entry
     * a task, all unbound on entry. Only usable workers. Default: leave all unbound.
     */
    void (*place_job)(
        const struct policy_input *input, const struct job_facts *job, uint16_t *placement_out);

    /*
     * The worker on which @task shall run now. Must be usable, unless it is the planned
     * one. Default: the planned worker, else @task->here, else the first usable one.
     */
    uint32_t (*place_task)(const struct policy_input *input, const struct task_facts *task);

    /* The key of a task in its queues: smallest first, ties by arrival. Default: now. */
    int64_t (*order)(const struct policy_input *input, const struct ready_facts *task);

    /* How to run the head of one queue. Default: the head task alone, on the whole device. */
    void (*dispatch)(
        const struct policy_input *input, const struct queue_facts *queue,
        struct dispatch_answer *answer_out);

    /* Whom an idle @worker should ask for work; WORKER_NONE for nobody. Default: nobody. */
    uint32_t (*steal)(const struct policy_input *input, uint32_t worker);

    /* Which entry to evict next: an index below count. Default: least recently used. */
    uint32_t (*victim)(const struct policy_input *input, const struct cache_facts *cache);

    /*
     * Which entry to load ahead of need, or UINT32_MAX for none; called only while the
     * worker loads nothing. Never evicts. Default: the first wanted one that fits.
     */
    uint32_t (*prefetch)(const struct policy_input *input, const struct cache_facts *cache);

    /* Called every tick_ns if that is not 0. Default: nothing. */
    int64_t tick_ns;
    void (*tick)(const struct policy_input *input, struct tick_answer *answer_out);

    /* The result of a search that tick asked for. Default: ignored. */
    void (*solved)(const struct policy_input *input, uint64_t problem, const void *result);
};

/* NULL-terminated: the policies that `weft policies` lists. */
extern const struct policy *const policy_registry[];

/* NULL if there is no such policy. */
const struct policy *policy_find(const char *name);

#endif /* POLICY_POLICY_H */
