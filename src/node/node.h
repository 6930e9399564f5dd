/*
 * node.h - the scheduler itself, without clock, network or devices.
 *
 * node_step() takes one event and says what must be done about it. Its caller is
 * the host: the runtime carries effects out with sockets and engines, the simulator
 * with a queue and a virtual clock. Given the same events a node gives the same
 * effects, byte for byte. One thread at a time.
 *
 *     node_prepare(node);                  grows pools if it must; the only place
 *     node_step(node, &event, &effects);   allocates nothing
 *     ... note effects.records, show effects.rows, carry out effects.items, in order ...
 */
#ifndef NODE_NODE_H
#define NODE_NODE_H

#include "base/arena.h"
#include "base/map.h"
#include "base/pool.h"
#include "node/effect.h"
#include "node/event.h"
#include "policy/compose.h"

struct node; /* Its inside is node/inside.h, for the files of this layer alone. */

/*
 * The memory that jobs and tasks live in. A runtime makes one for each node, with a
 * maximum; nodes of a simulator share one, which keeps 10,000 of them small.
 */
struct node_pools {
    struct pool jobs;
    struct pool visits;
    struct pool tasks;
    struct pool inputs;
    struct pool tensors;
    struct pool batches;
    struct pool tickets;
    struct pool claims;
    struct pool grants;
    struct pool reservations;
    struct pool notices;
    struct pool parked;
    struct pool keyed;
    uint32_t step_tasks_max; /* How many tasks one step may create. */
    uint32_t units_max;      /* The most units that a node has: so many batches may start in one. */
    uint32_t steps_ready;    /* Steps for which there is room. */
};

struct node_options {
    uint32_t node;
    uint32_t incarnation;
    const struct fleet *fleet; /* Borrowed, like all below. */
    const struct catalogue *catalogue;
    const struct profile *profile;
    const struct policy_set *policies;
    const struct members *members;
    struct board *board; /* Own rows are written there, all are read there. */
    struct node_pools *pools;
    struct policy_meter *meter;
    uint64_t seed;
    int64_t row_load_ns; /* At least so long between two publications of a part. */
    int64_t row_cache_ns;
    uint32_t cell_nodes; /* Members of a cell, at least: view/cells.h. 0: CELL_NODES. */
    bool has_deputies;   /* Requests with keys survive their owners: node/keys.h. */
};

/* Pools for jobs of @catalogue; at most @jobs_max jobs at once, 0 for no such limit. */
void node_pools_init(
    struct node_pools *pools, const struct catalogue *catalogue, uint32_t jobs_max);
void node_pools_deinit(struct node_pools *pools);

/* Room, in @arena, for whatever one step of a node of @catalogue can have to say. */
void node_effects_init(
    struct effects *effects, struct arena *arena, const struct catalogue *catalogue);

/* Make a node in @arena, which outlives it. */
struct node *node_create(struct arena *arena, const struct node_options *options);

/* Give back what is not in the arena, and every slot the node holds in its pools. */
void node_destroy(struct node *node);

/* The first effects of a node: timers it needs. */
void node_start(struct node *node, int64_t now_ns, struct effects *effects);

/* Make sure that the next step finds room. */
void node_prepare(struct node *node);

/* Apply @event. @effects is cleared first; the clock never goes backwards. */
ATTR_HOT void node_step(struct node *node, const struct event *event, struct effects *effects);

/* One task of a batch that runs, for hosts that need its inputs. */
struct batch_task {
    struct job_id job;
    uint32_t task;
    uint32_t items;
    uint32_t input_count;
};

struct batch_task node_batch_task(const struct node *node, uint32_t batch, uint32_t index);

/* Of all inputs of that task together. */
uint64_t node_batch_input_bytes(const struct node *node, uint32_t batch, uint32_t index);

/* The tensor of input number @input of that task. Borrowed until the batch is done. */
struct handle node_batch_input(
    const struct node *node, uint32_t batch, uint32_t index, uint32_t input);

/* What a host may want to know: for screens, drains and checkers. */
struct node_counts {
    uint32_t jobs;         /* Owned and not answered. */
    uint32_t visits;       /* Jobs with something here. */
    uint32_t queued;       /* Tasks that wait for a worker of this node. */
    uint32_t running;      /* Tasks in batches. */
    uint32_t tickets;      /* Of home queues that this node keeps, waiting or claimed. */
    uint32_t grants;       /* Batches that gather or run here for a home. */
    uint32_t reservations; /* Of this node, that no row of their worker counts. */
    uint32_t cpu_used;     /* Processors that batches hold. */
    bool draining;
    bool resting; /* Its policy waits for no tick. */
};

struct node_counts node_counts(const struct node *node);

/*
 * Whether @node has nothing of any job, its own or another's. It may still keep queues for others,
 * which find another home when it leaves.
 */
bool node_is_free(const struct node *node);

/*
 * The oldest edition that is named at @node: by a job of its own, by one that has tasks there, by a
 * request that it waits for or is the deputy of. UINT32_MAX: there is none.
 */
uint32_t node_oldest_edition(const struct node *node);

/* Whether rows of @node are for @peer, another node: view/cells.h. */
bool node_shows(const struct node *node, uint32_t peer);

/* How many nodes that is. */
uint32_t node_shown_count(const struct node *node);

/* Whether @node has heard of the request with @key. */
bool node_knows(const struct node *node, struct request_key key);

/* Whether the request with @key is this node's, or one that it is the deputy for. */
bool node_answers_for(const struct node *node, struct request_key key);

/* Whether a list has named life @incarnation of @peer to @node, or a later one. */
bool node_has_heard_of(const struct node *node, uint32_t peer, uint32_t incarnation);

/* Whether the answer of the request with @key is kept here. */
bool node_keeps(const struct node *node, struct request_key key);

/* The answer of a request, as a node keeps it. */
struct kept_answer {
    int64_t since_ns; /* Less than 0: it keeps none. */
    enum weft_status status;
    enum reason reason;
    struct handle output; /* Of the first sink; 0: there is none. */
};

struct kept_answer node_kept(const struct node *node, struct request_key key);

/* Whether a job of this node waits for nothing but what its deputy says: see message.is_quiet. */
bool node_attends(const struct node *node);

/* Whether @job was answered while its deputy had not said that it knows of its request. */
bool node_answered_early(const struct node *node, struct job_id job);

/* Whether @job, of this node, is of the request with @key. */
bool node_owns(const struct node *node, struct job_id job, struct request_key key);

struct worker_counts {
    uint32_t queued;
    uint32_t running;
    uint64_t memory_used_bytes; /* Models and workspaces, of all that share its memory. */
    uint32_t gpu_used;
    int64_t promised_ns; /* What its row counts for tasks that are planned or queued. */
    struct model_set resident;
    struct model_set loading;
};

struct worker_counts node_worker_counts(const struct node *node, uint32_t worker);

/* What @node knows of any worker by its row; of its own, as it is. */
struct row node_row(const struct node *node, uint32_t worker);

#endif /* NODE_NODE_H */
