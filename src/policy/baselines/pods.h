/*
 * pods.h - standing instances of a function, for policies that scale instead of choosing again.
 *
 * A pod has a config and a worker and runs one batch at a time; a batch waits until it is full
 * or its first item has waited for the pod's timeout. Pods lie in the state of a policy at the
 * home of their queue. Whether an answer was taken is learnt from the next question: it counts
 * rechecks if it was not. A pod whose worker is full moves to one that has room. Rates are
 * whole numbers of items in a thousand seconds.
 */
#ifndef POLICY_BASELINES_PODS_H
#define POLICY_BASELINES_PODS_H

#include "base/units.h"
#include "configs/configs.h"
#include "policy/fit.h"
#include "policy/policy.h"

enum { PODS_MAX = 256, PODS_QUEUES_MAX = 256 };

/* The first options of every policy with pods. */
enum pods_option { PODS_MARGIN, PODS_HEADROOM, PODS_OPTIONS };

/* Their rows of the policy's options. */
#define PODS_OPTION_ROWS                                                                           \
    [PODS_MARGIN] = {"margin", 0.1,   0,                                                           \
                     10,       false, "margin on measured run times, as a share of them"},         \
    [PODS_HEADROOM] = {"headroom", 1, 0, 100, false, "capacity beyond the rate, as a share of it"}

#define PODS_ROUND_NS NS_PER_S /* Pods are added and removed this often. */

struct pod {
    uint32_t queue; /* Number of its queue. */
    uint32_t worker;
    uint32_t choice; /* Into the configs of its queue. */
    uint32_t idle_rounds;
    bool used;        /* Whether this entry is a pod at all. */
    bool busy;        /* A batch of it runs. */
    bool asked;       /* It was the last answer for its queue. */
    bool drained;     /* It gets no new batches. */
    int64_t rate_max; /* What it can run. */
    int64_t rate_min; /* What it needs so that batches fill in time. */
    int64_t rate;     /* What is meant for it. */
    int64_t served;   /* Items, since the last round. */
    int64_t timeout_ns;
};

struct pods_pace {
    int64_t count; /* Items since the last round. */
    int64_t rate;  /* Smoothed. */
    bool seen;
};

struct pods {
    struct pod pods[PODS_MAX];
    struct pods_pace paces[PODS_QUEUES_MAX];
};

/* What is known of a queue before the first job. */
struct pods_queue {
    struct configs configs;
    int64_t slo_ns; /* Of this function: its part of the workflow's. */
    uint64_t bytes_per_item;
    int64_t rate; /* Expected of it; 0: unknown. */
};

struct pods_plan {
    uint32_t queue_count;
    struct pods_queue *queues;
};

/* What is to be provided for @rate: some more, as items do not come evenly. */
static inline int64_t pods_wanted(const struct policy_input *input, int64_t rate)
{
    return rate + (int64_t)((double)rate * input->options[PODS_HEADROOM]);
}

/* How fast batches of @items that take @run_ns follow one another. */
static inline int64_t pods_rate(uint32_t items, int64_t run_ns)
{
    return (int64_t)items * INT64_C(1000000000000) / (run_ns > 0 ? run_ns : 1);
}

const void *pods_plan(struct arena *arena, const struct plan_input *input);

/* End a round of @round_ns: rates of all queues are brought up to date. */
void pods_count_round(struct pods *pods, int64_t round_ns);

/* Add a pod; false if there is no room for one. */
bool pods_add(struct pods *pods, const struct pod *pod);

/* What all pods of queue @number that are not drained can run. */
int64_t pods_capacity(const struct pods *pods, uint32_t number);

/* The units of @worker that are free and not stood on, in config's cpu and gpu. */
struct config pods_room(const struct policy_input *input, const struct pods *pods, uint32_t worker);

/* Add pods to queue @number for @rate more. */
typedef void (*pods_scale_up)(
    const struct policy_input *input, struct pods *pods, uint32_t number, int64_t rate);

/*
 * Answer for a home queue from its pods. A queue without any gets some first; if there is no
 * room for one, the fastest config runs anywhere.
 */
void pods_dispatch(
    const struct policy_input *input, const struct queue_facts *queue, pods_scale_up scale_up,
    struct dispatch_answer *answer_out);

/* The policy's own answers: what has ended, and first come, first served. */
void pods_ended(const struct policy_input *input, const struct ended_facts *batch);
int64_t pods_order(const struct policy_input *input, const struct ready_facts *task);

#endif /* POLICY_BASELINES_PODS_H */
