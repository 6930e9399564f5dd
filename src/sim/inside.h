/*
 * inside.h - what a simulation is made of. For the files of this layer alone.
 */
#ifndef SIM_INSIDE_H
#define SIM_INSIDE_H

#include "base/arena.h"
#include "base/event_queue.h"
#include "base/histogram.h"
#include "base/units.h"
#include "model/arrivals.h"
#include "node/ingress.h"
#include "sim/device_bus.h"
#include "sim/device_runs.h"
#include "sim/network.h"
#include "sim/sim.h"
#include "sim/timed.h"

#define FAULT_HINT_NS    NS_PER_MS /* Until peers notice that a connection was reset. */
#define FAULT_VERDICT_NS NS_PER_S  /* Until the directory changes the member list. */

/* A message on its way, with or without a tensor. The placement follows. */
struct parcel {
    uint32_t from;
    uint32_t to;
    bool has_tensor;
    bool is_lost;    /* Its connection broke: it takes its time, but is not delivered. */
    bool is_carried; /* A node has asked, and it was counted: see network_carried.h. */
    uint8_t hop;     /* Links of its route that it has been given. */
    uint32_t made;   /* Its tensor: editions_made(). */
    int64_t last_ns; /* When its last byte will have left those links. */
    int64_t sent_ns;
    struct message message;
    uint16_t placement[];
};

/* A client that waits. */
struct client {
    struct job_id job; /* Its node is where the client went; its number is 0 until accepted. */
    int64_t arrived_ns;
    int64_t hangs_up_ns; /* 0: never. */
    uint32_t workflow;
    uint32_t number; /* For scripts: which request it is. */
};

struct scripted {
    uint32_t node;
    struct arrival arrival;
    struct event event;
};

/* What is wrong with a worker. All zero: nothing. */
struct worker_faults {
    double slowness; /* 0: none. */
    double failing_loads;
    double failing_batches;
    bool lost;
};

struct sim_worker {
    struct worker_faults faults;
    struct bus bus;         /* Of its device, if it is the first worker on it. */
    struct running running; /* Likewise. */
    uint64_t memory_bytes; /* In use, by this host's own count; of the first of those that share. */
    struct model_set held; /* Models that take room there: loading, resident or leaving. */
    struct model_set ready; /* Of these: resident. */
    uint32_t gpu_used;
    uint32_t slices_used;   /* Of MIG devices, as bits. */
    struct model_set fresh; /* Models that were loaded, and have not run yet. */
    struct rng rng;
};

struct search;

struct sim_node {
    struct node *node; /* NULL while it is down. */
    uint32_t incarnation;
    bool fresh;               /* Restarted, or back, since the last member list. */
    uint32_t cuts;            /* Partitions on whose far side it is; equal: they can talk. */
    int64_t stopped_at_ns;    /* It does nothing from this time on. */
    int64_t stopped_until_ns; /* It does something again from this time on. */
    double loss;              /* Probability that a message from or to it is lost. */
    uint64_t handles;         /* Live tensors. */
    uint32_t timers;          /* Set in this life, and not come yet. */
    uint32_t idle_timers;     /* Of these: of models and deadlines. */
};

_Static_assert(sizeof(struct sim_node) == CACHE_LINE_BYTES, "every event looks at one");

/* A request that crashes the nodes that run it. */
struct poison {
    const struct fault *fault; /* NULL: there is none. */
    bool has_come;             /* The request has come. */
    uint32_t number;           /* Of the request. */
    uint32_t crashes;
    uint32_t forgotten; /* How often it crashed all that had counted them. */
};

struct sim_editions;

struct sim {
    struct sim_options options; /* Its policies are the next: a copy, with their plans. */
    struct policy_set policies;
    struct plan_input known; /* What is known before the first job, for searches as well. */
    struct search *searches; /* List: every one that was made. */
    struct arena arena;
    struct event_queue queue;
    int64_t now_ns;
    struct node_pools pools;
    struct board board;
    struct effects effects;
    struct summary *summary;
    struct policy_meter meter;
    struct histogram decision_times;
    struct members *members;
    struct network network;
    struct sim_node *nodes;
    struct sim_worker *workers;
    struct pool runs;
    struct pool crossings;
    struct pool parcels;
    struct pool clients;
    struct pool scripted;
    uint32_t *run_of_batch;
    uint32_t run_of_batch_count;
    uint32_t run_stamp; /* The last one given. */
    struct arrival_stream arrivals;
    struct arrival next_arrival;
    bool has_next_arrival;
    struct ingress ingress;
    struct rng patience;
    struct rng retries; /* Where clients with keys ask again. */
    struct pool open_jobs;
    struct map open_slots; /* Of them, by job_key(). */
    struct rng faults;
    struct rng news;          /* When nodes hear of members. */
    struct fault *fault_list; /* Those of the options, and those that were drawn. */
    uint32_t fault_count;
    int64_t directory_away_until_ns;
    struct poison poison;
    struct sim_editions *editions; /* NULL: there is but one edition. */
    bool has_stops;                /* Some node may stand still. */
    bool has_cuts;                 /* Messages between nodes that live may be lost. */
    uint64_t handle;
    struct map tensors; /* Live ones, by handle, and where they are; only if checked. */
    uint64_t requests;
    uint64_t streamed;      /* Of the arrival stream. */
    uint32_t ticks;         /* Timers in the queue that nothing waits for. */
    bool has_stopped_ticks; /* No client waits any more. */
    uint64_t events;        /* Taken from the queue. */
    uint64_t steps;         /* Of nodes. */
    uint64_t row_messages;
    uint64_t cache_messages;
    uint64_t arrived;
    uint64_t answered;
};

/* Timers that may still be set when a run has ended, beside ticks. */
static inline bool is_idle_timer(enum timer_kind kind)
{
    return kind == TIMER_IDLE || kind == TIMER_DEADLINE;
}

/* Put @payload into the queue. */
static inline void schedule(struct sim *sim, int64_t at_ns, uint64_t payload)
{
    event_queue_push(&sim->queue, at_ns, payload);
}

/* Whether a client waits for an answer, or will ask. */
static inline bool sim_is_awaited(const struct sim *sim)
{
    return sim->has_next_arrival || sim->scripted.used > 0 || sim->answered < sim->arrived;
}

/* The contents of a tensor at @node: made, and given up. */
struct handle sim_new_tensor(struct sim *sim, uint32_t node);
void sim_drop_tensor(struct sim *sim, uint32_t node, struct handle tensor);

/* Let node @node take @event now, and carry out what it says. */
void sim_step(struct sim *sim, uint32_t node, struct event *event);
/* The same in two: nothing of this host changes before the second. */
void sim_take_step(struct sim *sim, uint32_t node, struct event *event);
void sim_end_step(struct sim *sim, uint32_t node);

/* A record of a node, or of this host on behalf of one that is gone. */
void sim_record(struct sim *sim, const struct record *record);

/* perform.c */
void sim_perform(struct sim *sim, uint32_t node);

/* searches.c: what policies look for beside their decisions, in virtual time. */
void searches_start(struct sim *sim, uint32_t node, uint64_t problem, const void *question);
void searches_deinit(struct sim *sim);

/* Client @slot asks @node, where it has gone. */
void sim_ask(struct sim *sim, uint32_t slot, uint32_t node, const struct arrival *arrival);

/* device.c: loads, batches, shares. */
void device_init(struct sim *sim, uint32_t worker);
void device_load(struct sim *sim, uint32_t worker, uint32_t model);
void device_cancel_load(struct sim *sim, uint32_t worker, uint32_t model);
void device_unload(struct sim *sim, uint32_t worker, uint32_t model);
void device_reshape(struct sim *sim, uint32_t worker, uint32_t gpu);
void device_launch(struct sim *sim, uint32_t node, const struct effect_launch *launch);
ATTR_COLD void device_cancel(struct sim *sim, uint32_t batch);
void device_crossed(struct sim *sim, uint32_t worker, uint32_t stamp);
void device_unloaded(struct sim *sim, uint32_t worker, uint32_t model);
void device_done(struct sim *sim, uint32_t run, uint32_t stamp);
/* Forget what the devices of @node, which is gone, were doing. */
ATTR_COLD void device_lost(struct sim *sim, uint32_t node);

/* nodes.c: their life. */
struct members *nodes_members(struct sim *sim, const struct members *before);
ATTR_COLD void nodes_boot(struct sim *sim, uint32_t node);

/* faults.c: what breaks, and how the others come to know of it. */
void faults_start(struct sim *sim);
ATTR_COLD void faults_begin(struct sim *sim, uint32_t fault);
ATTR_COLD void faults_over(struct sim *sim, uint32_t fault);
ATTR_COLD void faults_hint(struct sim *sim, uint32_t at, uint32_t about, bool broken);
ATTR_COLD void faults_verdict(struct sim *sim);

/* A node that stands still hears of everything later, in the same order: whether one does. */
ATTR_COLD bool faults_defer(struct sim *sim, uint64_t payload);

/* Show the member list to @node, if it can see it now. */
ATTR_COLD void faults_tell(struct sim *sim, uint32_t node);
/* The record of a job that was lost with its owner. */
ATTR_COLD void faults_answer_lost(
    struct sim *sim, struct job_id job, uint32_t workflow, int64_t arrived_ns);
/* Whether a message from @from to life @life of @to is lost. */
ATTR_COLD bool faults_swallow(struct sim *sim, uint32_t from, uint32_t to, uint32_t life);
/* Whether run @run has crashed its node. */
bool faults_poisons(struct sim *sim, const struct run *run);
/* How much longer batches of @worker take. */
double faults_slowness(const struct sim *sim, uint32_t worker);
enum weft_status faults_load_status(struct sim *sim, uint32_t worker);
enum weft_status faults_batch_status(struct sim *sim, uint32_t worker);

/* checkers.c: stops the program at the first broken invariant. */
ATTR_COLD void checkers_step(const struct sim *sim, uint32_t node);
ATTR_COLD void checkers_end(const struct sim *sim);
ATTR_COLD void checkers_launch(
    const struct sim *sim, uint32_t node, const struct effect_launch *launch);
ATTR_COLD void checkers_links(const struct sim *sim);
ATTR_COLD void checkers_reach(struct sim *sim, uint32_t link, int64_t at_ns);
ATTR_COLD void checkers_deliver(const struct sim *sim, const struct parcel *parcel);

#endif /* SIM_INSIDE_H */
