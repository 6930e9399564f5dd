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
 *   admit       at the owner, when a request arrives; answered, when its job has ended
 *   place_job   at the owner, for all tasks at once; may leave tasks unbound. arrived, once
 *               for each job, before it
 *   place_task  when an output is about to leave for a task with one input, at the
 *               node that made it; for a join, at its rendezvous, once all inputs are
 *               there. Binds an unbound task, or moves a planned one
 *   order       when a task joins a queue, after queued; hope, when it has waited and
 *               would start
 *   dispatch    when a worker could start something; of a home queue, whenever a task
 *               joins it or something that ran has ended
 *   victim, prefetch   when a worker's memory is to change
 *
 * steal and tick come on their own: when a worker has nothing to do, and every
 * tick_ns. plan and solve are not decisions: what takes long is computed ahead of them or
 * beside them. Every operation is optional; its default stands beside it.
 *
 * Home queues. A policy with binds set chooses the configuration first and the worker last.
 * Tasks that are not placed then stay where their inputs are, and only a ticket goes to
 * the home of their (workflow, task), a node that each computes for itself. There one queue of the
 * whole cluster's waiting tasks is dispatched. A policy that places tasks as well says with
 * waits() which of them wait.
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include <stddef.h>

#include "policy/facts.h"

enum { POLICY_OPTIONS_MAX = 32 };

struct arena;
struct weft_error;

struct policy_option {
    const char *name;
    double value;   /* The default. */
    double minimum; /* What may be asked for: policy_set_parse() takes nothing else. */
    double maximum;
    bool is_whole;
    const char *help;
};

struct policy {
    const char *name;    /* As written in documents and on the command line. */
    const char *summary; /* One line for `weft policies`. */
    const char *source;
    const char *ignores; /* What it does not look at, hence when not to use it. */
    size_t state_bytes;
    bool admits_all;                     /* admit refuses nothing: it only sees late jobs end. */
    bool by_deadline;                    /* order goes by deadlines: for those who admit. */
    bool announces;                      /* Workers are told of tasks ahead of their inputs. */
    bool binds;                          /* dispatch chooses workers too: see home queues above. */
    bool yields;                         /* Homes give way to what is more urgent elsewhere. */
    const struct policy_option *options; /* Ends with a NULL name. NULL: none. */

    /*
     * Whether options go together that are each in range; @given has a bit for each that was
     * written. Says in @error why not. Default: they do.
     */
    enum weft_status (*check)(const double *options, uint32_t given, struct weft_error *error);

    /*
     * Compute what all nodes of a host share, once, before the first of them starts. The
     * result lies in @arena and is only read from then on. Default: NULL.
     */
    const void *(*plan)(struct arena *arena, const struct plan_input *input);

    /*
     * Whether workers, placed on with @options, shall learn how much slower than expected they
     * are: their rows then show it, and what work really takes there. Default: they do not.
     */
    bool (*learns)(const double *options);

    /*
     * Whether an idle worker, placed on with @options, shall take tasks that wait at other workers
     * of its own node. Default: tasks stay where they were placed.
     */
    bool (*pools)(const double *options);

    /*
     * What it costs others that such a worker has no room for the models of @task and loads them
     * all the same, which takes @absent_ns. Default: as much again, for what leaves.
     */
    int64_t (*eviction_ns)(
        const struct policy_input *input, const struct workflow_task *task, uint32_t worker,
        int64_t absent_ns);

    /* Prepare the state, which is zeroed. Default: leave it so. */
    void (*init)(const struct policy_input *input);

    /* Take the job or refuse it at once. Default: take it. */
    struct admission (*admit)(const struct policy_input *input, const struct job_facts *job);

    /* A job that was admitted has ended. Not a decision: to learn from. Default: ignored. */
    void (*answered)(const struct policy_input *input, const struct answered_facts *job);

    /*
     * Whether the job of @task, which would start now, can still be in time: if not, it ends, or
     * gives way to others. Belongs to admit. Default: it can.
     */
    enum hope (*hope)(const struct policy_input *input, const struct ready_facts *task);

    /*
     * A job has been admitted at its owner: told once, however often its tasks are placed. Not a
     * decision: to keep count. Belongs to place_job. Default: ignored.
     */
    void (*arrived)(const struct policy_input *input, const struct job_facts *job);

    /*
     * Choose a worker for every task, or PLACEMENT_UNBOUND: @placement_out has one entry
     * a task, all unbound on entry. Only usable workers. Default: leave all unbound.
     */
    void (*place_job)(
        const struct policy_input *input, const struct job_facts *job, uint16_t *placement_out);

    /*
     * The worker on which @task is to run now. Must be usable, unless it is the planned
     * one. Default: the planned worker, else @task->here, else the first usable one.
     */
    uint32_t (*place_task)(const struct policy_input *input, const struct task_facts *task);

    /* A task joins a queue. Not a decision: to keep count. Belongs to order. Default: ignored. */
    void (*queued)(const struct policy_input *input, const struct ready_facts *task);

    /*
     * The key of a task in its queues: smallest first, ties by arrival. Priority is not its
     * business: it is taken off the key. Default: now.
     */
    int64_t (*order)(const struct policy_input *input, const struct ready_facts *task);

    /*
     * Whether tasks of queue @number, as in the catalogue, wait in its home queue rather than
     * being placed: of a policy that binds and places, by its own @plan. Default: none does.
     */
    bool (*waits)(const void *plan, uint32_t number);

    /*
     * How to run the head of one queue and, of a home queue, where: workers that can never
     * hold a config are left out by the policy, those that are full right now by the node,
     * which takes the first candidate that fits. None fits, or none is given without a time
     * to wake at: the queue is looked at again when something has ended, and after a while.
     * Default: the head task alone, on the whole device.
     */
    void (*dispatch)(
        const struct policy_input *input, const struct queue_facts *queue,
        struct dispatch_answer *answer_out);

    /* A batch of a home queue has ended. Not a decision: to keep count. Default: ignored. */
    void (*ended)(const struct policy_input *input, const struct ended_facts *batch);

    /* A batch has run on a worker of this node. Not a decision: to learn from. Default: ignored. */
    void (*ran)(const struct policy_input *input, const struct ended_facts *batch);

    /* Which worker an idle @worker should ask for work, or WORKER_NONE. Default: none. */
    uint32_t (*steal)(const struct policy_input *input, uint32_t worker);

    /* Which entry to evict next: an index below count. Default: least recently used. */
    uint32_t (*victim)(const struct policy_input *input, const struct cache_facts *cache);

    /*
     * Which entry to load ahead of need, or UINT32_MAX for none; called only while the
     * worker loads nothing. Never evicts. Default: the first wanted one that fits.
     */
    uint32_t (*prefetch)(const struct policy_input *input, const struct cache_facts *cache);

    /*
     * Called every tick_ns if that is not 0, unless it has said that it rests; of a policy that
     * says which tasks wait, only where some do, or where ticks says so. Default: nothing.
     */
    int64_t tick_ns;
    void (*tick)(const struct policy_input *input, struct tick_answer *answer_out);
    bool (*ticks)(const void *plan);

    /*
     * The search that tick asked for. The host calls it off the loop, on any thread, with
     * what was known before the first job and the bytes that question() wrote; it reads
     * nothing else. The result is one piece of memory from malloc(), which the host releases;
     * NULL: nothing found. Default: nothing found.
     */
    void *(*solve)(
        const struct plan_input *input, const void *plan, uint64_t problem, const void *question);

    /* Write what solve() needs to know of this node's state: question_bytes of it. */
    size_t question_bytes;
    void (*question)(const struct policy_input *input, uint64_t problem, void *question_out);

    /*
     * The result of a search that tick asked for; NULL: nothing found. It stays where it is
     * until this node gets the next one that was found. Default: ignored.
     */
    void (*solved)(const struct policy_input *input, uint64_t problem, const void *result);
};

/* NULL-terminated: the policies that `weft policies` lists. */
extern const struct policy *const policy_registry[];

/* NULL if there is no such policy. */
const struct policy *policy_find(const char *name);

#endif /* POLICY_POLICY_H */
