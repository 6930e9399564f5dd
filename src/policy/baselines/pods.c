/*
 * pods.c - standing instances: rates, and which of them takes the next batch.
 */
#include "policy/baselines/pods.h"

#include "base/arena.h"
#include "base/numbers.h"
#include "base/units.h"
#include "configs/budget.h"

/* A new rate counts one part in this many. */
enum { RATE_WEIGHT = 2, RATE_LEAST = 1000 /* An item per second. */ };

/* Without an SLO, a function may take this long. */
#define SLO_DEFAULT_NS (10 * NS_PER_S)

static void plan_workflow(
    struct arena *arena, const struct plan_input *input, uint32_t number, struct pods_queue *queues)
{
    const struct configs_rules rules = {.margin = input->options[PODS_MARGIN]};
    const struct workflow *workflow = input->catalogue->workflows[number];
    const uint32_t count = workflow->task_count;
    struct configs *tables = arena_alloc(arena, count * sizeof(*tables));
    struct budget_task *budgets = arena_alloc(arena, count * sizeof(*budgets));
    int64_t *lengths = arena_alloc(arena, count * sizeof(*lengths));
    for (uint32_t task = 0; task < count; task++) {
        configs_collect(
            arena, input->fleet, input->profile, &workflow->tasks[task], &rules, &tables[task]);
    }
    configs_lengths(tables, count, lengths);
    const int64_t slo_ns = workflow->slo_ns == 0 ? SLO_DEFAULT_NS : workflow->slo_ns;
    budget_split(workflow, lengths, slo_ns, /* group_max */ 1, budgets);
    for (uint32_t task = 0; task < count; task++) {
        queues[task] = (struct pods_queue){
            .configs = tables[task],
            .slo_ns = budgets[task].end_ns - budgets[task].start_ns,
            .bytes_per_item = fit_bytes_per_item(workflow, task),
            .rate = input->rates == NULL ? 0 : (int64_t)(input->rates[number] * 1000),
        };
    }
}

const void *pods_plan(struct arena *arena, const struct plan_input *input)
{
    const struct catalogue *catalogue = input->catalogue;
    struct pods_plan *plan = arena_alloc(arena, sizeof(*plan));
    plan->queue_count = catalogue->queue_count;
    plan->queues = arena_alloc(arena, catalogue->queue_count * sizeof(*plan->queues));
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        plan_workflow(arena, input, i, plan->queues + catalogue->workflows[i]->queue_first);
    }
    return plan;
}

/* A task joined queue @number. */
static void note(struct pods *pods, uint32_t number, uint32_t items)
{
    if (number < PODS_QUEUES_MAX) {
        pods->paces[number].count += items;
    }
}

void pods_count_round(struct pods *pods, int64_t round_ns)
{
    for (uint32_t i = 0; i < PODS_QUEUES_MAX; i++) {
        struct pods_pace *pace = &pods->paces[i];
        const int64_t now = pace->count * INT64_C(1000000000000) / round_ns;
        pace->rate += (now - pace->rate) / (pace->seen ? RATE_WEIGHT : 1);
        pace->seen |= pace->count > 0;
        pace->count = 0;
    }
    for (uint32_t i = 0; i < PODS_MAX; i++) {
        struct pod *pod = &pods->pods[i];
        pod->idle_rounds = pod->busy || pod->served > 0 ? 0 : pod->idle_rounds + 1;
        pod->served = 0;
    }
}

bool pods_add(struct pods *pods, const struct pod *pod)
{
    for (uint32_t i = 0; i < PODS_MAX; i++) {
        if (!pods->pods[i].used) {
            pods->pods[i] = *pod;
            pods->pods[i].used = true;
            return true;
        }
    }
    return false;
}

int64_t pods_capacity(const struct pods *pods, uint32_t number)
{
    int64_t rate = 0;
    for (uint32_t i = 0; i < PODS_MAX; i++) {
        const struct pod *pod = &pods->pods[i];
        rate += pod->used && !pod->drained && pod->queue == number ? pod->rate_max : 0;
    }
    return rate;
}

/* Units of @worker that pods of this state stand on. */
static struct config held_on(const struct pods *pods, const struct pods_plan *plan, uint32_t worker)
{
    struct config held = {0};
    for (uint32_t i = 0; i < PODS_MAX; i++) {
        const struct pod *pod = &pods->pods[i];
        if (pod->used && pod->worker == worker) {
            const struct configs *configs = &plan->queues[pod->queue].configs;
            held.cpu += configs->choices[pod->choice].config.cpu;
            held.gpu += configs->choices[pod->choice].config.gpu;
        }
    }
    return held;
}

/* What is left of @all, of which @held is taken and @free said to be free. */
static uint32_t left_of(uint32_t all, uint32_t held, uint32_t free)
{
    const uint32_t left = held < all ? all - held : 0;
    return min_u32(left, free);
}

struct config pods_room(const struct policy_input *input, const struct pods *pods, uint32_t worker)
{
    const struct view *view = input->view;
    const struct fleet_worker *device = &view->fleet->workers[worker];
    const struct config held = held_on(pods, input->plan, worker);
    const struct units free = view_free_units(view, worker);
    return (struct config){
        .cpu = left_of(view->fleet->nodes[device->node].cpu_units, held.cpu, free.cpu),
        .gpu = left_of(device->gpu_units, held.gpu, free.gpu),
    };
}

/* The answer before this question: was it taken? */
static void learn(struct pods *pods, uint32_t number, bool refused)
{
    for (uint32_t i = 0; i < PODS_MAX; i++) {
        struct pod *pod = &pods->pods[i];
        if (pod->used && pod->queue == number && pod->asked) {
            pod->asked = false;
            pod->busy = !refused;
        }
    }
}

/* Of the idle pods of a queue, the one that lags most behind its rate; the lowest index. */
static struct pod *next_pod(struct pods *pods, uint32_t number)
{
    struct pod *best = NULL;
    for (uint32_t i = 0; i < PODS_MAX; i++) {
        struct pod *pod = &pods->pods[i];
        if (!pod->used || pod->queue != number || pod->busy || pod->drained) {
            continue;
        }
        if (best == NULL || pod->served * best->rate < best->served * pod->rate) {
            best = pod;
        }
    }
    return best;
}

/* Whether queue @number has any pod. */
static bool has_pod(const struct pods *pods, uint32_t number)
{
    for (uint32_t i = 0; i < PODS_MAX; i++) {
        if (pods->pods[i].used && pods->pods[i].queue == number) {
            return true;
        }
    }
    return false;
}

static bool has_room(const struct fit_ask *ask, uint32_t worker, const struct config *config)
{
    const struct fit_place place = fit_look(ask->input->view, worker);
    return fit_has_room(ask, &place, config, fit_bytes(ask, config));
}

/* On the pod's worker if there is room, or else where there is: the pod moves. */
static bool put(
    const struct fit_ask *ask, const struct configs_choice *choice, struct pod *pod,
    struct dispatch_answer *answer_out)
{
    const struct view *view = ask->input->view;
    struct config config = choice->config;
    config.batch = min_u32(config.batch, ask->queue->items);
    if (pod == NULL || ask->queue->rechecks > 0 || !view_is_usable(view, pod->worker) ||
        !has_room(ask, pod->worker, &config)) {
        const struct fit_choice found = fit_find_one(ask, &config, choice->device);
        if (found.worker == WORKER_NONE) {
            return false;
        }
        answer_out->workers[0] = found.worker;
    } else {
        answer_out->workers[0] = pod->worker;
    }
    answer_out->configs[0] = config;
    answer_out->count = 1;
    return true;
}

/*
 * On the queue of a worker where another policy has placed the tasks there are no pods: what waits
 * runs in the largest batch that was measured there and that it fills, the fastest of those.
 */
static void dispatch_own(
    const struct policy_input *input, const struct queue_facts *queue,
    const struct configs *configs, struct dispatch_answer *answer_out)
{
    const struct fleet_worker *worker = &input->view->fleet->workers[queue->worker];
    const uint32_t cpu_units = input->view->fleet->nodes[worker->node].cpu_units;
    struct config best = {.batch = queue->head_items};
    uint32_t most = 0;
    for (uint32_t i = 0; i < configs->count; i++) { /* The fastest first. */
        const struct config *config = &configs->choices[i].config;
        if (configs->choices[i].device == worker->device && config->gpu <= worker->gpu_units &&
            config->cpu <= cpu_units && config->batch <= queue->items && config->batch > most) {
            best = *config;
            most = config->batch;
        }
    }
    answer_out->configs[0] = best;
    answer_out->count = 1;
}

void pods_dispatch(
    const struct policy_input *input, const struct queue_facts *queue, pods_scale_up scale_up,
    struct dispatch_answer *answer_out)
{
    struct pods *pods = input->state;
    const struct workflow *workflow = input->catalogue->workflows[queue->workflow];
    const uint32_t number = workflow->queue_first + queue->task;
    const struct pods_plan *plan = input->plan;
    if (queue->worker != WORKER_NONE) {
        dispatch_own(input, queue, &plan->queues[number].configs, answer_out);
        return;
    }
    if (number < PODS_QUEUES_MAX && !has_pod(pods, number)) { /* Deployed with one, at least. */
        const int64_t rate = plan->queues[number].rate;
        scale_up(input, pods, number, max_i64(rate, RATE_LEAST));
    }
    const struct pods_queue *known = &plan->queues[number];
    const struct fit_ask ask = {
        .input = input,
        .queue = queue,
        .task = &workflow->tasks[queue->task],
        .bytes_per_item = known->bytes_per_item,
    };
    learn(pods, number, queue->rechecks > 0);
    if (number >= PODS_QUEUES_MAX || !has_pod(pods, number)) {
        (void)put(&ask, &known->configs.choices[0], NULL, answer_out);
        return;
    }
    struct pod *pod = next_pod(pods, number);
    if (pod == NULL) {
        return; /* All are busy: asked again when one has ended. */
    }
    const struct configs_choice *choice = &known->configs.choices[pod->choice];
    const int64_t full_ns = queue->head_ready_ns + pod->timeout_ns;
    if (queue->items < choice->config.batch && full_ns > input->view->now_ns) {
        answer_out->wake_at_ns = full_ns;
        return;
    }
    if (put(&ask, choice, pod, answer_out)) {
        pod->worker = answer_out->workers[0];
        pod->asked = true;
        pod->busy = true;
        pod->served += answer_out->configs[0].batch;
    }
}

void pods_ended(const struct policy_input *input, const struct ended_facts *batch)
{
    struct pods *pods = input->state;
    const struct workflow *workflow = input->catalogue->workflows[batch->workflow];
    const uint32_t number = workflow->queue_first + batch->task;
    const struct pods_plan *plan = input->plan;
    for (uint32_t i = 0; i < PODS_MAX; i++) {
        struct pod *pod = &pods->pods[i];
        if (!pod->used || pod->queue != number || !pod->busy || pod->worker != batch->worker) {
            continue;
        }
        const struct config *config = &plan->queues[number].configs.choices[pod->choice].config;
        if (config->gpu == batch->config.gpu && config->cpu == batch->config.cpu) {
            pod->busy = false;
            pod->asked = false;
            pod->used = !pod->drained;
            return;
        }
    }
}

int64_t pods_order(const struct policy_input *input, const struct ready_facts *task)
{
    note(input->state, task->job->graph->queue_first + task->task, task->items);
    return input->view->now_ns;
}
