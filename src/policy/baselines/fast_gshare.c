/*
 * fast_gshare.c - pods with the most requests for each unit of a device.
 *
 * Rule: every function has its part of the SLO. Once per second, what its pods can run is
 * compared with its rate. If that is too little, pods with the most requests per unit are added, as
 * many as the difference has room for, and one for the rest: the one whose throughput exceeds the
 * rest by least. If it is too much by some share, pods with the fewest requests per unit go, while
 * what stays is enough. A pod goes to the device that is left with least: the rectangles of the
 * published placement with a time quota of one, where only their widths count. Source: FaST-GShare
 * (ICPP 2023), its slides and published autoscaler, whose residual step is completed here. Batches
 * are those of the profile that fill in time at the rate there is. Ignores: prices, what comes
 * before and after a function, where inputs are. Not for: rates that change faster than its rounds.
 */
#include "policy/baselines/pods.h"
#include "policy/registry.h"

__extension__ typedef __int128 fast_product;

enum { OPTION_SLACK = PODS_OPTIONS };

/*
 * Whether a choice of @known meets the SLO of its function at @rate; fills in its rates. While
 * a batch runs the next one fills, so both have to be over within the SLO.
 */
static bool is_profile(const struct pods_queue *known, int64_t rate, struct pod *pod)
{
    const struct configs_choice *choice = &known->configs.choices[pod->choice];
    const uint32_t batch = choice->config.batch;
    const int64_t planned_ns = known->configs.weights[pod->choice].time_ns;
    const int64_t left_ns = known->slo_ns - planned_ns;
    if (left_ns < 0 || (batch > 1 && left_ns < planned_ns)) {
        return false;
    }
    pod->rate_max = pods_rate(batch, choice->run_ns);
    pod->rate_min = batch == 1 ? 0 : pods_rate(batch, left_ns);
    pod->timeout_ns = batch == 1 ? 0 : left_ns;
    pod->rate = pod->rate_max;
    return rate >= pod->rate_min;
}

/* Whether pod @a runs more for each unit than @b. */
static bool is_denser(const struct pods_queue *known, const struct pod *a, const struct pod *b)
{
    const uint32_t units_a = known->configs.choices[a->choice].config.gpu;
    const uint32_t units_b = known->configs.choices[b->choice].config.gpu;
    return (fast_product)a->rate_max * units_b > (fast_product)b->rate_max * units_a;
}

/* The device that @config leaves with least; WORKER_NONE if it fits nowhere. */
static uint32_t pack(
    const struct policy_input *input, const struct pods *pods, const struct configs_choice *choice)
{
    const struct fleet *fleet = input->view->fleet;
    uint32_t best = WORKER_NONE;
    uint32_t best_left = UINT32_MAX;
    for (uint32_t worker = 0; worker < fleet->worker_count; worker++) {
        if (fleet->workers[worker].device != choice->device ||
            !view_is_usable(input->view, worker)) {
            continue;
        }
        const struct config room = pods_room(input, pods, worker);
        if (choice->config.gpu <= room.gpu && choice->config.cpu <= room.cpu &&
            room.gpu - choice->config.gpu < best_left) {
            best = worker;
            best_left = room.gpu - choice->config.gpu;
        }
    }
    return best;
}

/* What is wanted of the next pod. */
struct wish {
    int64_t rate;  /* Of the function: batches must fill. */
    int64_t above; /* It must run more than this. */
    bool closest;  /* As little more as possible; otherwise the most per unit. */
};

/* The pod that is wanted, where it fits. False if none is, or none fits. */
static bool choose_pod(
    const struct policy_input *input, const struct pods *pods, uint32_t number,
    const struct wish *wish, struct pod *pod_out)
{
    const struct pods_plan *plan = input->plan;
    const struct pods_queue *known = &plan->queues[number];
    bool found = false;
    for (uint32_t i = 0; i < known->configs.count; i++) {
        struct pod pod = {.queue = number, .choice = i};
        const struct configs_choice *choice = &known->configs.choices[i];
        if (!is_profile(known, wish->rate, &pod) || pod.rate_max <= wish->above) {
            continue;
        }
        const bool better = !found || (wish->closest ? pod.rate_max < pod_out->rate_max
                                                     : is_denser(known, &pod, pod_out));
        pod.worker = better ? pack(input, pods, choice) : WORKER_NONE;
        if (pod.worker != WORKER_NONE) {
            *pod_out = pod;
            found = true;
        }
    }
    return found;
}

/* Pods for @missing: as many of the densest as it has room for, and one for the rest. */
static void scale_up(
    const struct policy_input *input, struct pods *pods, uint32_t number, int64_t missing)
{
    const int64_t rate = pods_capacity(pods, number) + missing;
    struct pod pod;
    const struct wish dense = {.rate = rate};
    while (missing > 0 && choose_pod(input, pods, number, &dense, &pod) &&
           pod.rate_max <= missing && pods_add(pods, &pod)) {
        missing -= pod.rate_max;
    }
    const struct wish rest = {.rate = rate, .above = missing, .closest = true};
    if (missing > 0 && choose_pod(input, pods, number, &rest, &pod)) {
        (void)pods_add(pods, &pod); /* Without room for another, the rest has to wait. */
    }
}

/* Remove pods, those that run least per unit first, while @rate can still be run. */
static void scale_down(
    const struct policy_input *input, struct pods *pods, uint32_t number, int64_t rate)
{
    const struct pods_plan *plan = input->plan;
    for (;;) {
        const int64_t capacity = pods_capacity(pods, number);
        struct pod *worst = NULL;
        for (uint32_t i = 0; i < PODS_MAX; i++) {
            struct pod *pod = &pods->pods[i];
            if (pod->used && !pod->drained && pod->queue == number &&
                capacity - pod->rate_max >= rate &&
                (worst == NULL || is_denser(&plan->queues[number], worst, pod))) {
                worst = pod;
            }
        }
        if (worst == NULL) {
            return;
        }
        worst->drained = worst->busy; /* It ends what it runs. */
        worst->used = worst->busy;
    }
}

static void tick(const struct policy_input *input, struct tick_answer *answer_out)
{
    (void)answer_out;
    struct pods *pods = input->state;
    const struct pods_plan *plan = input->plan;
    pods_count_round(pods, PODS_ROUND_NS);
    for (uint32_t i = 0; i < plan->queue_count && i < PODS_QUEUES_MAX; i++) {
        const int64_t rate = pods_wanted(input, pods->paces[i].rate);
        const int64_t capacity = pods_capacity(pods, i);
        const double slack = input->options[OPTION_SLACK] * (double)capacity;
        if (!pods->paces[i].seen) {
            continue;
        }
        if (rate > capacity) {
            scale_up(input, pods, i, rate - capacity);
        } else if ((double)(capacity - rate) > slack) {
            scale_down(input, pods, i, rate);
        }
    }
}

static void dispatch(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    pods_dispatch(input, queue, scale_up, answer_out);
}

static const struct policy_option options[] = {
    PODS_OPTION_ROWS,
    [OPTION_SLACK] =
        {"slack", 0.2, 0, 1, false, "share of capacity that may be unused before pods are removed"},
    {.name = NULL},
};

const struct policy policy_fast_gshare = {
    .name = "fast-gshare",
    .summary = "pods with the most requests per device unit, packed tightly",
    .source = "FaST-GShare (ICPP 2023), from its slides and published autoscaler",
    .ignores = "prices, the rest of the workflow, where inputs are",
    .state_bytes = sizeof(struct pods),
    .binds = true,
    .options = options,
    .plan = pods_plan,
    .order = pods_order,
    .dispatch = dispatch,
    .ended = pods_ended,
    .tick_ns = PODS_ROUND_NS,
    .tick = tick,
};
