/*
 * runtime.h - the host with a real clock: nodes, a net and an engine in one process.
 *
 * It feeds nodes with events and carries out what they say; it decides nothing. It belongs to one
 * thread, on which callbacks come, but for runtime_stop(). Tensors are bundles, or pretended: NULL.
 *
 *     runtime_create(&options, &runtime, &error);
 *     runtime_request(runtime, node, &request);
 *     runtime_run(runtime);                       calls request.answered on the way
 *     runtime_destroy(runtime);
 */
#ifndef RUNTIME_RUNTIME_H
#define RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/status.h>

#include "node/node.h"
#include "runtime/clock.h"
#include "runtime/ran.h"

struct engine;
struct engine_counts;
struct engine_host;
struct engine_usage;
struct runtime;
struct runtime_remote;
struct uv_loop_s;

/* How a request ended. */
struct runtime_answer {
    uint64_t client;
    struct job_id job; /* Number 0 if it was refused. */
    enum weft_status status;
    enum reason reason;
    const char *message; /* If it failed: what an engine said about it, "" or NULL if nothing. */
    int64_t latency_ns;
    int64_t retry_after_ns; /* If it was refused. */
    uint32_t deputy;        /* The node that would have taken over; NODE_NONE: none. */
    uint32_t output_count;  /* One per sink, if the status is WEFT_OK. */
    const struct handle *outputs;
};

/*
 * Called once for every request. The receiver owns the references to the outputs and
 * gives them back with runtime_release(). It may make and cancel requests.
 */
typedef void (*runtime_answered)(void *context, const struct runtime_answer *answer);

struct runtime_request {
    uint32_t workflow;
    uint32_t items; /* 0: one. */
    uint32_t priority;
    int64_t slo_ns;            /* It is answered by then. 0: the workflow's own, as a target. */
    struct handle inputs;      /* Of runtime_tensor(); the runtime owns this reference. 0: none. */
    struct request_key key;    /* All zero: none. Otherwise as in struct event_request. */
    uint64_t inputs_hash;      /* Likewise. */
    bool is_retry;             /* Likewise. */
    runtime_answered answered; /* NULL: outputs are released. */
    void *context;
};

/* What runs models, and is told what that took. */
struct runtime_engine {
    void *context; /* Of all three. */

    /*
     * Make the engine, on @host and with handles in @loop; the runtime owns it, and destroys it
     * while the loop can still close its handles. NULL if that fails, with the cause in @error.
     */
    struct engine *(*make)(
        void *context, const struct engine_host *host, struct uv_loop_s *loop,
        struct weft_error *error);

    /*
     * Called after a batch ran or a model was loaded, between two steps of nodes: the profile
     * may be changed then, but keeps its models. Either may be NULL.
     */
    void (*on_ran)(void *context, const struct runtime_ran *ran);
    void (*on_loaded)(void *context, const struct runtime_loaded *loaded);
};

struct runtime_options {
    const struct fleet *fleet; /* Borrowed, like all below: one node per machine. */
    const struct catalogue *catalogue;
    const struct profile *profile;
    const struct policy_set *policies;
    const struct mixture *mixture; /* As the scenario names it; NULL: it names none. */
    const double *rates;           /* Expected jobs per second of each workflow; NULL: unknown. */
    enum clock_kind clock;
    uint64_t seed;
    int64_t row_load_ns; /* As in struct node_options. */
    int64_t row_cache_ns;
    uint32_t jobs_max;    /* Of each node at once; 0: no limit. */
    bool stays;           /* Run until stopped, even if nothing is left to do: a server. */
    double noise;         /* Of emulated run times. */
    bool pretend_network; /* Let the fleet's network take its time. */
    int64_t hint_ns;      /* From a loss until peers notice. */
    int64_t verdict_ns;   /* From a loss until the directory says so. */
    bool has_deputies;    /* Requests with keys survive their owners: node/keys.h. */
    bool weighs;          /* Records also tell what policies weighed. */

    /* Called with every record, in order, before what it records is carried out. NULL: no. */
    void (*on_record)(void *context, const struct record *record);
    void *context; /* Of on_record. */

    struct runtime_engine engine;        /* All zero: workers are emulated. */
    const struct runtime_remote *remote; /* NULL: all nodes of the fleet are here. Borrowed. */
};

/*
 * Make a cluster of workers and start its nodes. On success the caller owns *runtime_out.
 *
 * Errors: those of loop_create(), and of net_stream_create() where the others are remote; whatever
 * kept the engine from being made.
 */
enum weft_status runtime_create(
    const struct runtime_options *options, struct runtime **runtime_out, struct weft_error *error);

/* Release everything; requests that wait are forgotten. NULL is allowed. */
void runtime_destroy(struct runtime *runtime);

/* Time since the start, as of this turn of the loop, or of what last happened in it. */
int64_t runtime_now_ns(const struct runtime *runtime);

/* What a calendar showed then, in ns since 1970. */
int64_t runtime_wall_ns(const struct runtime *runtime, int64_t at_ns);

/* The event loop, to which callers may add handles of their own. Borrowed. */
struct uv_loop_s *runtime_loop(struct runtime *runtime);

/*
 * Give a request to @node, or if that is lost to the next one that is not; NODE_NONE: to one that
 * is drawn as in the simulator, from the runtime's seed. The node sees it when
 * the runtime runs: it is never answered from inside this call. Returns the name of its client.
 */
uint64_t runtime_request(
    struct runtime *runtime, uint32_t node, const struct runtime_request *request);

/* @client, of runtime_request(), no longer waits: it is answered at once, if it is open. */
void runtime_cancel(struct runtime *runtime, uint64_t client);

/*
 * @model has come or has changed: it is loaded where there is room, and batches wait for it as
 * it is now. Or it has gone: jobs that need it are refused or fail, and it leaves memory with
 * the last batch that uses it.
 */
void runtime_set_available(struct runtime *runtime, uint32_t model, bool is_available);

/*
 * What an engine said about @job of @workflow, which failed for @reason: "" if none said anything.
 * Valid until the next failure; older jobs are forgotten.
 */
const char *runtime_cause(
    const struct runtime *runtime, struct job_id job, uint32_t workflow, enum reason reason);

/* Ask every node to finish what it has and to take no more. */
void runtime_drain(struct runtime *runtime);

/* Whether nodes here have nothing of any job, and all that they sent has arrived. */
bool runtime_is_free(struct runtime *runtime);

/*
 * Node @node stops for good, with everything on it. Its clients are told. For tests with
 * emulated workers: batches that run would lose their inputs.
 */
void runtime_lose_node(struct runtime *runtime, uint32_t node);

/*
 * Call @call at @at_ns, or now if that has passed. Background calls do not keep the
 * runtime from being idle.
 */
void runtime_call_at(
    struct runtime *runtime, int64_t at_ns, bool background, void (*call)(void *context),
    void *context);

/*
 * Run @work(argument) on another thread, then @done(argument) on this one: at the latest from
 * inside runtime_destroy().
 */
void runtime_work(
    struct runtime *runtime, void (*work)(void *argument), void (*done)(void *argument),
    void *argument);

/* Call @signalled for SIGINT, SIGTERM and SIGHUP. Once per runtime. */
void runtime_on_signal(
    struct runtime *runtime, void (*signalled)(void *context, int number), void *context);

/* Run until stopped or, unless it stays, idle: only what comes round for ever is left to do. */
void runtime_run(struct runtime *runtime);

/* The same with a manual clock, which jumps to whatever is due next. */
void runtime_run_manual(struct runtime *runtime);

/* Make runtime_run() return soon. From any thread. */
void runtime_stop(struct runtime *runtime);

/*
 * A tensor for a request. @contents may be NULL; they are given back with @give_back,
 * unless that is NULL, when they are no longer needed.
 */
struct handle runtime_tensor(
    struct runtime *runtime, void *contents, uint64_t bytes, void (*give_back)(void *contents));

/* NULL if the contents are only pretended. Borrowed until @handle is released. */
const void *runtime_contents(
    const struct runtime *runtime, struct handle handle, uint64_t *bytes_out);

void runtime_release(struct runtime *runtime, struct handle handle);

/* Whether @node is in this process, or was until it was lost. */
bool runtime_hosts(const struct runtime *runtime, uint32_t node);

/* Whether @worker is of such a node, and not a slot without a device. */
bool runtime_has_worker(const struct runtime *runtime, uint32_t worker);

/* For screens and checkers. NULL if the node is lost, or in another process. */
const struct node *runtime_node(const struct runtime *runtime, uint32_t node);

struct runtime_counts {
    uint64_t requested;
    uint64_t answered; /* In any way. */
    uint32_t tensors;  /* Live handles, those of clients included. */
    uint32_t members;  /* Nodes of the cluster, as far as known here. */
    uint64_t steps;
    uint64_t decisions;
    uint64_t sent_bytes; /* Of tensors, to other processes. */
};

struct runtime_counts runtime_counts(const struct runtime *runtime);

/* What its engine has counted. */
void runtime_engine_counts(const struct runtime *runtime, struct engine_counts *counts_out);

#endif /* RUNTIME_RUNTIME_H */
