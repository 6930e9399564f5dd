/*
 * fit.h - which worker runs a config of a home queue: what policies that bind last share.
 *
 * Of the workers that could start the config now, the one with the least to wait for: the
 * models that are not there, and the inputs if they are elsewhere. Equal ones: the home's own,
 * then the one that is left with the fewest units of its device, then of CPU, then the lowest
 * index. So data that is already there counts first, then warm models, then packing.
 */
#ifndef POLICY_FIT_H
#define POLICY_FIT_H

#include "policy/policy.h"

struct fit_ask {
    const struct policy_input *input;
    const struct queue_facts *queue;
    const struct workflow_task *task;
    uint64_t bytes_per_item; /* Of its inputs. */
    bool locality;           /* Whether it counts where they are. */
};

struct fit_choice {
    uint32_t worker;  /* WORKER_NONE: no worker could start it now. */
    int64_t delay_ns; /* Until the batch can start there. */
};

/* A config to be placed on a device of kind @device; the rest is found out. */
struct fit_trial {
    struct config config;
    uint32_t device;
    struct fit_choice best; /* Where it would start soonest. */
};

/* Place @count trials, at most SEARCH_PATHS_MAX: each row is read once for all of them. */
void fit_find(const struct fit_ask *ask, struct fit_trial *trials, uint32_t count);

/* Where a batch with @config, of a device of kind @device, would start soonest. */
struct fit_choice fit_find_one(
    const struct fit_ask *ask, const struct config *config, uint32_t device);

/* A worker, and what is free of it and of its machine. */
struct fit_place {
    uint32_t worker;
    const struct fleet_worker *device;
    struct units room;
};

struct fit_place fit_look(const struct view *view, uint32_t worker);

/* The memory that a batch of the queue with @config needs. */
uint64_t fit_bytes(const struct fit_ask *ask, const struct config *config);

/* Whether @config, which needs @bytes, could start there now. */
bool fit_has_room(
    const struct fit_ask *ask, const struct fit_place *place, const struct config *config,
    uint64_t bytes);

/* @config for the own queue of @worker, where it may have more units than there are. */
struct config fit_own(const struct view *view, uint32_t worker, struct config config);

/* What the inputs of one item of @task are, in bytes. */
uint64_t fit_bytes_per_item(const struct workflow *workflow, uint32_t task);

/* The models of @task that @worker neither holds nor loads: how long they take to load. */
int64_t fit_load_ns(
    const struct policy_input *input, const struct workflow_task *task, uint32_t worker);

#endif /* POLICY_FIT_H */
