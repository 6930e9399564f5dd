/*
 * workflow.h - a graph of tasks: built, sealed, and from then on only read.
 *
 * workflow_seal() checks the whole graph once and derives what every later layer
 * relies on: a topological order, edges by producer and by consumer, sources and
 * sinks, immediate dominators. Not thread-safe while being built; safe to share
 * once sealed.
 */
#ifndef MODEL_WORKFLOW_H
#define MODEL_WORKFLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/tensor.h>

#include "base/bitset.h"
#include "base/limits.h"
#include "model/ids.h"

/* How many items a task's output has. Both zero: as many as its input. */
struct items_rule {
    uint32_t low;
    uint32_t high;
};

struct workflow_task {
    char name[NAME_BYTES_MAX];
    uint32_t run;                     /* The model or function whose profile gives the time. */
    uint32_t models[TASK_MODELS_MAX]; /* What must be resident while it runs. */
    uint32_t model_count;             /* 0 for a plain function. */
    struct items_rule gives;
    double work;     /* Simulated runs take so many times as long as profiled. To add, 0: as 1. */
    bool takes_part; /* Without producers: only `part_bytes` of the request. */
    uint64_t part_bytes; /* Of the request, if it takes a part. */

    /* Derived by workflow_seal(). */
    uint32_t in_first; /* Into edges_in. */
    uint32_t in_count;
    uint32_t out_first; /* Into edges_out. */
    uint32_t out_count;
    uint32_t dominator; /* Immediate dominator; TASK_NONE if only the owner precedes it. */
    uint32_t sink;      /* Number among the sinks; TASK_NONE if it has successors. */
};

struct workflow_edge {
    uint32_t from;
    uint32_t to;
    uint64_t bytes;    /* What crosses the edge. */
    bool per_item;     /* bytes is for each item of the producer's output, not for all of it. */
    uint32_t in_index; /* Derived: which of the consumer's inputs this is. */
};

/*
 * Names, for engines and servers; scheduling does not read them. An output of a task, like
 * a request, is a bundle of named tensors, of which a port takes one.
 */
struct workflow_port {
    uint32_t task;
    uint32_t from;               /* Its producer; TASK_NONE: the request. */
    char name[NAME_BYTES_MAX];   /* As the task's model or function calls it. */
    char output[NAME_BYTES_MAX]; /* As the producer, or the client, calls it. */
};

/* A part of the request, as the document declares it. */
struct workflow_input {
    char name[NAME_BYTES_MAX];
    enum weft_dtype dtype;
    uint32_t rank;
    int64_t shape[WEFT_RANK_MAX]; /* -1: any extent. */
    bool is_any_rank;             /* Of any shape; the one above is [-1]. */
};

/* A part of the answer: output @output of @task, which the client sees as @name. */
struct workflow_result {
    uint32_t task;
    char name[NAME_BYTES_MAX];
    char output[NAME_BYTES_MAX];
    bool is_declared; /* Whether the document says its type and shape. */
    enum weft_dtype dtype;
    uint32_t rank;
    int64_t shape[WEFT_RANK_MAX]; /* -1: any extent. */
};

struct workflow {
    char name[NAME_BYTES_MAX];
    int64_t slo_ns;       /* From arrival to the last result. 0: best effort. */
    uint32_t priority;    /* Of jobs that say none: larger is more urgent. */
    uint64_t input_bytes; /* What a request brings. */
    bool sealed;
    uint32_t task_count;
    uint32_t edge_count;
    struct workflow_task *tasks;
    struct workflow_edge *edges;
    uint32_t port_count; /* All three may be 0: a workflow for simulation needs no names. */
    uint32_t input_count;
    uint32_t result_count;
    struct workflow_port *ports; /* In the order in which they were added. */
    struct workflow_input *inputs;
    struct workflow_result *results;

    /* Derived by workflow_seal(). */
    uint32_t *order;     /* Task indices, every producer before its consumers. */
    uint32_t *edges_in;  /* Edge indices grouped by consumer. */
    uint32_t *edges_out; /* Edge indices grouped by producer. */
    uint64_t *ancestors; /* A bit set a task: all it needs, directly or not. */
    uint32_t source_count;
    uint32_t *sources; /* Tasks without predecessors, ascending. */
    uint32_t sink_count;
    uint32_t queue_first; /* Set by the catalogue: number of its first queue. */
};

/* Make an empty workflow; the caller owns it. The name is copied and must fit. */
struct workflow *workflow_create(const char *name);

/* Release @workflow. NULL is allowed. */
void workflow_destroy(struct workflow *workflow);

/*
 * Add a task and give its index through @task_out. @task is copied; what is derived is not read.
 *
 * Errors: WEFT_LIMIT past WORKFLOW_TASKS_MAX; WEFT_EXISTS for a name used before.
 */
enum weft_status workflow_add_task(
    struct workflow *workflow, const struct workflow_task *task, uint32_t *task_out);

/*
 * Declare that the output of @edge->from is an input of @edge->to.
 *
 * Errors: WEFT_LIMIT past WORKFLOW_EDGES_MAX; WEFT_NOT_FOUND for an unknown task;
 * WEFT_EXISTS if the two are connected already; WEFT_INVALID for an edge to itself.
 */
enum weft_status workflow_add_edge(struct workflow *workflow, const struct workflow_edge *edge);

/*
 * Give names to what crosses edges, to parts of the request and of the answer. Copied.
 *
 * Errors: WEFT_LIMIT past WORKFLOW_PORTS_MAX; WEFT_NOT_FOUND for an unknown task;
 * WEFT_EXISTS if the task, the request or the answer has this name already.
 */
enum weft_status workflow_add_port(struct workflow *workflow, const struct workflow_port *port);
enum weft_status workflow_add_input(struct workflow *workflow, const struct workflow_input *input);
enum weft_status workflow_add_result(
    struct workflow *workflow, const struct workflow_result *result);

/*
 * Say what @workflow, of a single task without ports, takes and gives, as its model calls
 * it; in place of what was said before. Names only: also once it is sealed.
 */
void workflow_describe(
    struct workflow *workflow, const struct workflow_input *inputs, uint32_t input_count,
    const struct workflow_input *outputs, uint32_t output_count);

/*
 * Check the graph and freeze it.
 *
 * Errors: WEFT_INVALID for an empty graph or a cycle, named in @error; the workflow
 * stays open.
 */
enum weft_status workflow_seal(struct workflow *workflow, struct weft_error *error);

/* TASK_NONE if no task has this name. */
uint32_t workflow_find_task(const struct workflow *workflow, const char *name);

static inline const struct workflow_edge *workflow_in(
    const struct workflow *workflow, uint32_t task, uint32_t index)
{
    return &workflow->edges[workflow->edges_in[workflow->tasks[task].in_first + index]];
}

static inline const struct workflow_edge *workflow_out(
    const struct workflow *workflow, uint32_t task, uint32_t index)
{
    return &workflow->edges[workflow->edges_out[workflow->tasks[task].out_first + index]];
}

/* Whether @task needs what @other makes, directly or not. */
static inline bool workflow_is_ancestor(
    const struct workflow *workflow, uint32_t other, uint32_t task)
{
    const size_t words = bitset_words(workflow->task_count);
    return bitset_has(workflow->ancestors + task * words, other);
}

static inline uint64_t workflow_edge_bytes(const struct workflow_edge *edge, uint32_t items)
{
    return edge->per_item ? edge->bytes * items : edge->bytes;
}

/* What of a request of @bytes crosses to @task, which has no producers. */
static inline uint64_t workflow_part_bytes(
    const struct workflow *workflow, uint32_t task, uint64_t bytes)
{
    const struct workflow_task *source = &workflow->tasks[task];
    return source->takes_part && source->part_bytes < bytes ? source->part_bytes : bytes;
}

/* Whether a task of @kind needs @model in memory. */
static inline bool workflow_task_needs(const struct workflow_task *kind, uint32_t model)
{
    bool is_found = false;
    for (uint32_t i = 0; i < kind->model_count; i++) {
        is_found = is_found || kind->models[i] == model;
    }
    return is_found;
}

/* Add the models that a task of @kind needs in memory to @models. */
static inline void workflow_task_add_models(
    const struct workflow_task *kind, struct model_set *models)
{
    for (uint32_t i = 0; i < kind->model_count; i++) {
        model_set_add(models, kind->models[i]);
    }
}

/* Whether @task gathers more than one input. */
static inline bool workflow_is_join(const struct workflow *workflow, uint32_t task)
{
    return workflow->tasks[task].in_count > 1;
}

/*
 * Where the inputs of join @task meet, given the workers of all tasks as far as they are known: its
 * own worker, or that of its dominator, which every path to it has passed; else @owner, a worker
 * of the job's owner.
 */
static inline uint32_t workflow_rendezvous(
    const struct workflow *workflow, const uint16_t *placement, uint32_t task, uint32_t owner)
{
    if (placement[task] != PLACEMENT_UNBOUND) {
        return placement[task];
    }
    const uint32_t dominator = workflow->tasks[task].dominator;
    if (dominator != TASK_NONE && placement[dominator] != PLACEMENT_UNBOUND) {
        return placement[dominator];
    }
    return owner;
}

#endif /* MODEL_WORKFLOW_H */
