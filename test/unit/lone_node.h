/*
 * lone_node.h - one node of a cluster of three, driven event by event.
 *
 * The fixture is the smallest host there is: it steps the node, remembers what the node
 * asked for and has not been given yet, and counts the tensors that the node holds. The
 * other two nodes exist only as messages that a test writes. Checks are ASSERTs, so that
 * unit tests and the fuzz target use the same fixture. Numbers are round: buses carry
 * 1 MB a millisecond, devices have 200 MB.
 */
#ifndef UNIT_LONE_NODE_H
#define UNIT_LONE_NODE_H

#include <stdint.h>

#include "base/arena.h"
#include "node/node.h"

#define MS(n) ((int64_t)(n)*1000000)
#define MB(n) ((uint64_t)(n)*1000000)

enum {
    LONE_NODES = 3,
    LONE_ASKED_MAX = 1024,
    LONE_HANDLES_MAX = 1 << 18,
};

/* What the catalogue knows. A model's number is that of its name in this order. */
enum lone_model {
    MODEL_F,    /* A function of 2 ms, nothing to load. */
    MODEL_A,    /* 50 MB, 10 ms. */
    MODEL_B,    /* 30 MB, 20 ms. */
    MODEL_C,    /* 160 MB, 10 ms: leaves no room for A. */
    MODEL_HUGE, /* 500 MB: fits no device. */
    MODEL_WORK, /* 60 MB, 10 ms, and 40 MB of workspace an item. */
    LONE_MODELS
};

enum lone_workflow {
    FLOW_F,        /* f */
    FLOW_A,        /* a */
    FLOW_B,        /* b */
    FLOW_C,        /* c */
    FLOW_CHAIN,    /* a, b */
    FLOW_DIAMOND,  /* f, then a and b, then f */
    FLOW_HUGE,     /* huge */
    FLOW_WORK,     /* work */
    FLOW_PAIR,     /* a and f, each a source, then f */
    FLOW_BAD_PAIR, /* huge and f, each a source, then f: no worker can run it */
    FLOW_SPLIT,    /* f, then f and f, each a sink */
    LONE_WORKFLOWS
};

/* All zero means the defaults. */
struct lone_options {
    uint32_t node;
    uint32_t incarnation;
    bool has_deputies;
    uint32_t worker_count;       /* Of each node. 0: one. */
    bool shares_memory;          /* They have the memory of one together. */
    uint32_t gpu_units;          /* Of each device. 0: one. */
    int64_t reshape_ns;          /* To make a share ready. */
    uint32_t jobs_max;           /* 0: no limit. */
    uint64_t seed;               /* Of the policy. */
    const struct policy *policy; /* NULL: only the plan. */
};

struct lone {
    struct arena arena;
    struct fleet *fleet;
    struct catalogue *catalogue;
    struct profile *profile;
    struct policy_set policies;
    struct policy_meter meter;
    struct board board;
    struct node_pools pools;
    struct members members[2];
    uint32_t members_known; /* Which of the two the node has taken. */
    uint64_t up[2];
    uint64_t since[2][LONE_NODES];
    uint32_t lives[2][LONE_NODES];
    uint32_t incarnations[LONE_NODES]; /* Of the next list. */
    uint32_t incarnation;              /* Its own. */
    struct effects effects;            /* Of the last step. */
    struct node *node;
    uint32_t id;
    uint32_t worker; /* Its first. */
    int64_t now_ns;
    int64_t slo_ns;                        /* That the next requests ask for. */
    struct request_key key;                /* That they have. */
    uint64_t inputs_hash;                  /* Likewise. */
    bool is_retry;                         /* Their clients have asked before. */
    uint32_t edition;                      /* Under which they are accepted. */
    uint64_t input_bytes;                  /* Of their inputs. 0: MB(1). */
    uint64_t clients;                      /* That have asked so far. */
    uint32_t answers;                      /* Refusals too, of all steps. */
    uint32_t asked_count;                  /* LOAD, UNLOAD, RESHAPE, LAUNCH and WAKE_AT */
    struct effect asked[LONE_ASKED_MAX];   /* that have not been fulfilled yet, oldest first. */
    uint64_t handles;                      /* Tensors made so far, */
    uint32_t held;                         /* and how many of them the node holds: */
    uint8_t is_held[LONE_HANDLES_MAX / 8]; /* these. */
    uint16_t placement[8];                 /* Of messages: as last planned. */
    uint64_t own_bytes;                    /* Of models that are loaded; 0: as the profile says. */
    bool gives_none;                       /* Outputs of batches have no items. */
    uint32_t bad_task; /* Of the next batch that goes well, this one fails: counted from 1. */
};

/* What place_job answers, by task: a worker, or PLACEMENT_UNBOUND. The next that can be used
 * if that one cannot. */
void lone_plan(uint16_t a, uint16_t b, uint16_t c, uint16_t d);

/* Make the node and take its first effects. The plan is reset to its own first worker. */
void lone_open(struct lone *lone, const struct lone_options *options);

/* Destroy the node, wherever it stands: it must give every slot of its pools back. */
void lone_close(struct lone *lone);

/* Step at lone->now_ns and keep the books. */
void lone_step(struct lone *lone, struct event *event);

/* A client's request, with a tensor. The job's number is 0 if it was refused. */
struct job_id lone_request(struct lone *lone, enum lone_workflow workflow);
void lone_cancel(struct lone *lone, struct job_id job);

/* Open a node with a request of @workflow, all tasks of which it has placed on @worker. */
struct job_id lone_open_placed(struct lone *lone, enum lone_workflow workflow, uint16_t worker);

/* A message about @task of @job as its owner would send it to the node's first worker. */
struct message lone_message(
    struct lone *lone, enum message_kind kind, struct job_id job, enum lone_workflow workflow,
    uint32_t task);

/* The news that node @from has sent @task of @job on to @worker. */
struct message lone_moved(
    struct lone *lone, struct job_id job, enum lone_workflow workflow, uint32_t task, uint32_t from,
    uint32_t worker);

/* Deliver @message, with a new tensor if its kind has one. */
void lone_deliver(struct lone *lone, const struct message *message);

/* The input of the first task of job @number of node 1, which that sends to run here. */
struct message lone_task(struct lone *lone, uint64_t number, enum lone_workflow workflow);

/* Deliver it; those of jobs 1 to @count. */
void lone_deliver_task(struct lone *lone, uint64_t number, enum lone_workflow workflow);
void lone_deliver_tasks(struct lone *lone, uint32_t count, enum lone_workflow workflow);

/* The output of sink @sink reaches the owner of @job from another node. */
void lone_answer(struct lone *lone, struct job_id job, uint32_t sink);

/* Member list @epoch: @up has a bit a node, @fresh a bit for those that came in it. */
void lone_members(struct lone *lone, uint64_t epoch, uint64_t up, uint64_t fresh);
void lone_hint(struct lone *lone, uint32_t node, enum peer_hint hint);
void lone_repository(struct lone *lone, enum lone_model model, bool available);

/* The node can run jobs of editions @a and @b. */
void lone_editions(struct lone *lone, uint32_t a, uint32_t b);

/* Whether something of @kind has been asked for and not been given. */
bool lone_is_asked(const struct lone *lone, enum effect_kind kind);

/* Fulfil number @index of what was asked, which is no timer. */
void lone_fulfil(struct lone *lone, uint32_t index, enum weft_status status);

/* Fulfil the oldest LOAD, UNLOAD, RESHAPE or LAUNCH, which must be there. */
void lone_load_done(struct lone *lone, enum weft_status status);
void lone_unload_done(struct lone *lone);
void lone_share_ready(struct lone *lone);
void lone_batch_done(struct lone *lone, enum weft_status status);

/* The earliest timer of @kind comes; its time becomes the present. False if none is set. */
bool lone_timer(struct lone *lone, enum timer_kind kind);

/* Fulfil all of the four above, well, until nothing is asked for. Timers are left alone. */
void lone_settle(struct lone *lone);

/* Effects of the last step. NULL if there is none; the last one if there are several. */
uint32_t lone_count(const struct lone *lone, enum effect_kind kind);
const struct effect *lone_find(const struct lone *lone, enum effect_kind kind);
uint32_t lone_records(const struct lone *lone, enum record_kind kind);
const struct record *lone_record(const struct lone *lone, enum record_kind kind);
uint32_t lone_sent_count(const struct lone *lone, uint32_t node, enum message_kind kind);
const struct message *lone_sent(const struct lone *lone, uint32_t node, enum message_kind kind);

/* A hash of every effect of the last step, by contents. */
uint64_t lone_hash(const struct lone *lone);

/* Slots in use: of everything that belongs to a job. */
uint32_t lone_used(const struct lone *lone);

/* Whether nothing of any job is left: no slot, no tensor, no memory but of resident models. */
bool lone_is_empty(const struct lone *lone);

#endif /* UNIT_LONE_NODE_H */
