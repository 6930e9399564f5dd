/*
 * infless.c - standing instances with the most throughput for what they take and leave.
 *
 * Rule: every function has its part of the SLO. Instances are added while the rate of a
 * function exceeds what its instances can run: the largest batch first, and of its options the
 * one with the most throughput for the units it takes, on the worker with the least left. An
 * option runs in half of the SLO, the other half being for the batch
 * to fill, at the rate there is; single items may take all of it. Instances share the rate
 * between the least they need and the most they can; if it is too little for all, some get
 * nothing, and those idle for some rounds go.
 * Source: INFless (ASPLOS 2022), its published code: options, scale-up, dispatch, scaler. The
 * round is one second rather than ten, an instance whose worker is full moves, and rates and
 * run times are planned with a margin. `original=1` divides throughput by what is left over
 * alone, as the code does: it takes whole devices while there are empty ones.
 * Ignores: prices, what comes before and after a function, where inputs are.
 * Not for: rates that change faster than its rounds.
 */
#include "base/assert.h"
#include "base/numbers.h"
#include "policy/baselines/pods.h"
#include "policy/registry.h"

__extension__ typedef __int128 infless_product;

enum { OPTION_INACTIVE = PODS_OPTIONS, OPTION_OVERFLOW, OPTION_ORIGINAL };

/* Weights of what is left over: of a unit of CPU, and of a per cent of a device. */
enum { WEIGHT_CPU = 64, WEIGHT_GPU = 142 };

/* An option for one batch size on one worker, and how good it is. */
struct candidate {
    struct pod pod;
    int64_t price; /* Of its throughput. */
    bool found;
};

/* Whether a choice of @known is an option at @rate; fills in its rates. */
static bool is_option(const struct pods_queue *known, int64_t rate, struct pod *pod)
{
    const struct configs_choice *choice = &known->configs.choices[pod->choice];
    const uint32_t batch = choice->config.batch;
    const int64_t planned_ns = known->configs.weights[pod->choice].time_ns;
    const int64_t limit_ns = batch == 1 ? known->slo_ns : known->slo_ns / 2;
    if (planned_ns > limit_ns) {
        return false;
    }
    pod->rate_max = pods_rate(batch, choice->run_ns);
    pod->rate_min = batch == 1 ? 1000 : pods_rate(batch, known->slo_ns - planned_ns);
    pod->timeout_ns = batch == 1 ? 0 : known->slo_ns - planned_ns;
    return rate >= pod->rate_min;
}

static int64_t weigh(const struct fleet *fleet, uint32_t worker, struct config units)
{
    const int64_t gpu_units = fleet->workers[worker].gpu_units;
    return WEIGHT_CPU * (int64_t)units.cpu + (int64_t)WEIGHT_GPU * 100 * units.gpu / gpu_units;
}

/*
 * What the throughput of @config is divided by on a worker with @room. Published: the share
 * that would be left over. Better, as that takes whole devices wherever one is empty: what it
 * uses, times the share that is there to be used.
 */
static int64_t price_of(
    const struct policy_input *input, uint32_t worker, struct config room,
    const struct config *config)
{
    const struct fleet *fleet = input->view->fleet;
    if (input->options[OPTION_ORIGINAL] == 0) {
        return (1 + weigh(fleet, worker, *config)) * (1 + weigh(fleet, worker, room));
    }
    const struct config left = {.cpu = room.cpu - config->cpu, .gpu = room.gpu - config->gpu};
    return 1 + weigh(fleet, worker, left);
}

/* The most throughput for its price; the first worker, then the fastest, in a tie. */
static void consider(struct candidate *best, const struct pod *pod, int64_t price)
{
    const infless_product ours = (infless_product)pod->rate_max * best->price;
    const infless_product theirs = (infless_product)best->pod.rate_max * price;
    if (!best->found || ours > theirs) {
        *best = (struct candidate){.pod = *pod, .price = price, .found = true};
    }
}

/* The best instance with batches of @batch that fits anywhere. */
static struct candidate best_of_batch(
    const struct policy_input *input, const struct pods *pods, uint32_t number, uint32_t batch,
    int64_t rate)
{
    const struct pods_plan *plan = input->plan;
    const struct pods_queue *known = &plan->queues[number];
    const struct fleet *fleet = input->view->fleet;
    struct candidate best = {.found = false};
    for (uint32_t worker = 0; worker < fleet->worker_count; worker++) {
        const struct config room = pods_room(input, pods, worker);
        if (!view_is_usable(input->view, worker)) {
            continue;
        }
        for (uint32_t i = 0; i < known->configs.count; i++) {
            const struct configs_choice *choice = &known->configs.choices[i];
            const struct config *config = &choice->config;
            struct pod pod = {.queue = number, .worker = worker, .choice = i};
            if (config->batch == batch && choice->device == fleet->workers[worker].device &&
                config->cpu <= room.cpu && config->gpu <= room.gpu &&
                is_option(known, rate, &pod)) {
                consider(&best, &pod, price_of(input, worker, room, config));
            }
        }
    }
    return best;
}

/* The largest batch of a queue's configs that is smaller than @batch; 0 if there is none. */
static uint32_t next_batch(const struct configs *configs, uint32_t batch)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < configs->count; i++) {
        const uint32_t own = configs->choices[i].config.batch;
        next = own < batch ? max_u32(own, next) : next;
    }
    return next;
}

/* Add instances until they can run @rate more. */
static void scale_up(
    const struct policy_input *input, struct pods *pods, uint32_t number, int64_t rate)
{
    const struct pods_plan *plan = input->plan;
    const struct configs *configs = &plan->queues[number].configs;
    while (rate > 0) {
        struct candidate best = {.found = false};
        uint32_t batch = next_batch(configs, UINT32_MAX);
        while (batch > 0 && !best.found) {
            best = best_of_batch(input, pods, number, batch, rate);
            batch = next_batch(configs, batch);
        }
        best.pod.rate = best.pod.rate_max;
        if (!best.found || !pods_add(pods, &best.pod)) {
            return;
        }
        rate -= best.pod.rate_max;
    }
}

/* Least and most of all instances of a queue that get work. */
struct range {
    int64_t least;
    int64_t most;
};

static struct range range_of(const struct pods *pods, uint32_t number)
{
    struct range range = {0};
    for (uint32_t i = 0; i < PODS_MAX; i++) {
        const struct pod *pod = &pods->pods[i];
        if (pod->used && !pod->drained && pod->queue == number) {
            range.least += pod->rate_min;
            range.most += pod->rate_max;
        }
    }
    return range;
}

/* Stop the least able instance, if the others can run @rate. False if none can go. */
static bool stop_one(struct pods *pods, uint32_t number, int64_t rate, struct range range)
{
    struct pod *least = NULL;
    for (uint32_t i = 0; i < PODS_MAX; i++) {
        struct pod *pod = &pods->pods[i];
        if (pod->used && !pod->drained && pod->queue == number &&
            (least == NULL || pod->rate_max < least->rate_max)) {
            least = pod;
        }
    }
    if (least == NULL || range.most - least->rate_max < rate) {
        return false;
    }
    least->drained = true;
    return true;
}

/* Divide @rate among the instances of a queue. */
static void share_rate(struct pods *pods, uint32_t number, int64_t rate)
{
    for (uint32_t i = 0; i < PODS_MAX; i++) { /* Those that were stopped may be wanted again. */
        pods->pods[i].drained &= pods->pods[i].queue != number;
    }
    struct range range = range_of(pods, number);
    while (rate < range.least + (range.most - range.least) * 8 / 10 &&
           stop_one(pods, number, rate, range)) {
        range = range_of(pods, number);
    }
    const int64_t spare = range.most > rate ? range.most - rate : 0;
    const int64_t width = range.most > range.least ? range.most - range.least : 1;
    for (uint32_t i = 0; i < PODS_MAX; i++) {
        struct pod *pod = &pods->pods[i];
        if (pod->used && pod->queue == number) {
            const int64_t own = pod->rate_max - pod->rate_min;
            pod->rate = pod->rate_max - (int64_t)((infless_product)own * spare / width);
            pod->rate = pod->rate > 0 ? pod->rate : 1;
        }
    }
}

static void retire(struct pods *pods, uint32_t number, double rounds)
{
    for (uint32_t i = 0; i < PODS_MAX; i++) {
        struct pod *pod = &pods->pods[i];
        if (pod->used && pod->queue == number && !pod->busy && pod->idle_rounds > rounds) {
            pod->used = false;
        }
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
        if (!pods->paces[i].seen) {
            continue;
        }
        const int64_t overflow = rate - range_of(pods, i).most;
        if ((double)overflow > (double)rate * input->options[OPTION_OVERFLOW]) {
            scale_up(input, pods, i, overflow);
        }
        share_rate(pods, i, rate);
        retire(pods, i, input->options[OPTION_INACTIVE]);
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
    [OPTION_INACTIVE] =
        {"inactive", 10, 0, 1000000, true,
         "rounds, one second each, after which an idle instance is removed"},
    [OPTION_OVERFLOW] =
        {"overflow", 0.03, 0, 1, false, "share of the rate that may exceed all instances"},
    [OPTION_ORIGINAL] =
        {"original", 0, 0, 1, true, "1: throughput over leftover units, as published"},
    {.name = NULL},
};

const struct policy policy_infless = {
    .name = "infless",
    .summary = "standing instances with the most throughput for what they waste",
    .source = "INFless (ASPLOS 2022), from its published code",
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
