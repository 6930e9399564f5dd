/*
 * weft_learn.h - how batches turned out, beside what was planned.
 *
 * A home hears when each of its batches has ended. From that it learns how many times longer than
 * measured all of them take, a queue takes on a kind of device, whatever the config, how many times
 * longer still one of its configs takes, and how many times longer everything takes on a worker,
 * which it forgets after a while. A config that has not run yet takes what its queue takes, as a
 * profile that is wrong is mostly wrong about the model, and a queue that has not run what all
 * take.
 *
 * What comes after a task has another home, which does not tell what it learns. So a node also
 * learns of each model, from its own queues and from what runs on its workers for others. What is
 * learnt lies in tables by hash: two that meet there share it.
 */
#ifndef POLICY_WEFT_LEARN_H
#define POLICY_WEFT_LEARN_H

#include "policy/policy.h"

enum {
    WEFT_LEARN_QUEUES = 256,
    WEFT_LEARN_CONFIGS = 1024,
    WEFT_LEARN_WORKERS = 256,
    WEFT_LEARN_ONE = 256, /* A ratio of 1. */
};

/* Worker ratios are forgotten after so long, or a worker that was slow would never be tried. */
#define WEFT_LEARN_SPAN_NS INT64_C(30000000000)

struct weft_learnt_worker {
    int64_t at_ns;
    int32_t ratio; /* Less WEFT_LEARN_ONE. */
};

/* Of all configs of a queue on a kind of device; of a model; or of all queues. */
struct weft_learnt_queue {
    int32_t ratio;  /* Less WEFT_LEARN_ONE. */
    uint32_t count; /* Batches that it was learnt from. */
};

/* All zero: nothing was learnt. */
struct weft_learn {
    struct weft_learnt_queue queues[WEFT_LEARN_QUEUES];
    struct weft_learnt_queue models[WEFT_LEARN_QUEUES];
    uint32_t models_off; /* Those that are known to take something else than was measured. */
    struct weft_learnt_queue all;
    int32_t configs[WEFT_LEARN_CONFIGS]; /* Likewise. */
    struct weft_learnt_worker workers[WEFT_LEARN_WORKERS];
    uint32_t workers_faster; /* Those that were known to be, before that fades. */
};

/* Of what something is learnt. */
struct weft_batch {
    uint32_t queue; /* As in the catalogue. */
    uint32_t model; /* That it runs. */
    uint32_t worker;
    uint32_t device;
    struct config config;
};

/* @batch took @run_ns; @planned_ns were measured, with what others on its device do to it. */
void weft_learn_note(
    struct weft_learn *learn, const struct weft_batch *batch, int64_t planned_ns, int64_t run_ns,
    int64_t now_ns);

/* A batch of @model did so on a worker of this node. */
void weft_learn_ran(struct weft_learn *learn, uint32_t model, int64_t planned_ns, int64_t run_ns);

/* By which ratio everything takes longer on @worker: WEFT_LEARN_ONE unless there is no doubt. */
int64_t weft_learnt_worker(const struct weft_learn *learn, uint32_t worker, int64_t now_ns);

/* Whether weft_learnt_worker() may be less than WEFT_LEARN_ONE for any worker. */
bool weft_learnt_is_any_faster(const struct weft_learn *learn);

/* By which ratio a config takes longer than measured, likewise. */
int64_t weft_learnt_config(
    const struct weft_learn *learn, uint32_t queue, uint32_t device, struct config config);

/* By which ratio all takes longer than measured, likewise: what is known of what never ran here. */
int64_t weft_learnt_all(const struct weft_learn *learn);

/*
 * By which ratio @model takes longer, likewise, whatever the device; if too few batches of it are
 * known, what all takes, but no less than was measured: time that is not there is not used.
 */
int64_t weft_learnt_model(const struct weft_learn *learn, uint32_t model);

/* Whether weft_learnt_model() is WEFT_LEARN_ONE for all models. */
bool weft_learnt_models_are_right(const struct weft_learn *learn);

/* How much longer than @planned_ns a run takes by these two ratios. */
int64_t weft_learnt_more_ns(int64_t planned_ns, int64_t of_config, int64_t of_worker);

#endif /* POLICY_WEFT_LEARN_H */
