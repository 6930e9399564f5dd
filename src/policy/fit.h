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

/* Where a batch with @config, of a device of kind @device, would start soonest. */
struct fit_choice fit_find(const struct fit_ask *ask, const struct config *config, uint32_t device);

/* The same, without @other: where to try next if that one turns out to be full. */
struct fit_choice fit_find_but(
    const struct fit_ask *ask, const struct config *config, uint32_t device, uint32_t other);

/* Whether @config could start on @worker now. */
bool fit_has_room(const struct fit_ask *ask, uint32_t worker, const struct config *config);

/* What is free of @worker and its machine, as a config's cpu and gpu. */
struct config fit_room(const struct view *view, uint32_t worker);

/* @config for the own queue of @worker, where it may have more units than there are. */
struct config fit_own(const struct view *view, uint32_t worker, struct config config);

/* What the inputs of one item of @task are, in bytes. */
uint64_t fit_bytes_per_item(const struct workflow *workflow, uint32_t task);

/* The models of @task that @worker neither holds nor loads: how long they take to load. */
int64_t fit_load_ns(
    const struct policy_input *input, const struct workflow_task *task, uint32_t worker);

#endif /* POLICY_FIT_H */
