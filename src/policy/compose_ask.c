/*
 * compose_ask.c - the questions to a composition: each to its policy, or the default.
 *
 * What a policy of ours answers is checked by ASSERT: nonsense here is an error of the program,
 * not of its user.
 */
#include "policy/compose_ask.h"

#include "base/assert.h"
#include "policy/choose.h"
#include "policy/compose.h"

#define NOT_TIMED UINT64_MAX

/* Count a decision and, for one in 16, read the stopwatch. */
static inline uint64_t meter_begin(struct policy_meter *meter)
{
    const uint64_t number = meter->decisions++;
    if (meter->stopwatch_ns == NULL) {
        return NOT_TIMED;
    }
    /*
     * Multiples of the golden ratio spread evenly, and in gaps that fit no cycle: every
     * sixteenth one would time the same question of each job in a workflow of 16.
     */
    if (number * UINT64_C(0x9e3779b97f4a7c15) >> 60 != 0) {
        return NOT_TIMED;
    }
    return meter->stopwatch_ns();
}

/* What the next decision weighs is noted from here on. */
static inline void forget_weighed(const struct policy_meter *meter)
{
    if (meter->weighed != NULL) {
        meter->weighed->count = 0;
        meter->weighed->first = 0;
    }
}

static inline void meter_end(struct policy_meter *meter, uint64_t began_ns)
{
    if (began_ns != NOT_TIMED) {
        histogram_add(meter->times, (int64_t)(meter->stopwatch_ns() - began_ns));
    }
}

static inline const struct policy *policy_at(const struct policy_seat *seat, enum policy_role role)
{
    return seat->set->roles[role].policy;
}

static inline bool can_use(const struct view *view, uint32_t worker, struct need need)
{
    return worker < view->fleet->worker_count && choose_can_use(view, worker, need);
}

struct admission policy_admit(struct policy_seat *seat, const struct job_facts *job)
{
    const struct policy *policy = policy_at(seat, ROLE_ADMIT);
    if (policy == NULL) {
        return (struct admission){.admitted = true};
    }
    const uint64_t began_ns = meter_begin(seat->meter);
    const struct admission answer = policy->admit(&seat->inputs[ROLE_ADMIT], job);
    meter_end(seat->meter, began_ns);
    ASSERT(answer.admitted || answer.retry_after_ns >= 0);
    return answer;
}

void policy_arrived(struct policy_seat *seat, const struct job_facts *job)
{
    const struct policy *policy = policy_at(seat, ROLE_PLACE);
    if (policy != NULL && policy->arrived != NULL) {
        policy->arrived(&seat->inputs[ROLE_PLACE], job);
    }
}

void policy_answered(struct policy_seat *seat, const struct answered_facts *job)
{
    const struct policy *policy = policy_at(seat, ROLE_ADMIT);
    if (policy != NULL && policy->answered != NULL) {
        policy->answered(&seat->inputs[ROLE_ADMIT], job);
    }
}

enum hope policy_hope(struct policy_seat *seat, const struct ready_facts *task)
{
    ASSERT(seat->gives_up);
    return policy_at(seat, ROLE_ADMIT)->hope(&seat->inputs[ROLE_ADMIT], task);
}

/* How old was the row of the worker that was chosen? Own ones, and none at all, have no age. */
static void meter_row(struct policy_meter *meter, const struct view *view, uint32_t worker)
{
    if (!view_is_own(view, worker) && view_load(view, worker)->sequence > 0) {
        meter->rows++;
        meter->row_age_ns += view_age_ns(view, worker);
    }
}

void policy_place_job(
    struct policy_seat *seat, const struct job_facts *job, uint16_t *placement_out)
{
    const uint32_t task_count = job->graph->task_count;
    for (uint32_t task = 0; task < task_count; task++) {
        placement_out[task] = PLACEMENT_UNBOUND;
    }
    const struct policy *policy = policy_at(seat, ROLE_PLACE);
    forget_weighed(seat->meter);
    if (policy == NULL || policy->place_job == NULL) {
        return;
    }
    const struct policy_input *input = &seat->inputs[ROLE_PLACE];
    const uint64_t began_ns = meter_begin(seat->meter);
    policy->place_job(input, job, placement_out);
    meter_end(seat->meter, began_ns);
    for (uint32_t task = 0; task < task_count; task++) {
        if (placement_out[task] != PLACEMENT_UNBOUND) {
            ASSERT(can_use(input->view, placement_out[task], choose_plan_need(input, job, task)));
            meter_row(seat->meter, input->view, placement_out[task]);
        }
    }
}

/* The planned worker, else the one that asks, else the first: whichever can be used. */
static uint32_t place_task_by_default(
    const struct view *view, const struct task_facts *task, struct need need)
{
    if (can_use(view, task->planned, need)) {
        return task->planned;
    }
    if (can_use(view, task->here, need)) {
        return task->here;
    }
    return choose_first(view, need);
}

uint32_t policy_place_task(struct policy_seat *seat, const struct task_facts *task)
{
    const struct policy *policy = policy_at(seat, ROLE_PLACE);
    const struct policy_input *input = &seat->inputs[ROLE_PLACE];
    const struct need need = choose_need(input, task);
    forget_weighed(seat->meter);
    if (policy == NULL || policy->place_task == NULL) {
        return place_task_by_default(input->view, task, need);
    }
    const uint64_t began_ns = meter_begin(seat->meter);
    const uint32_t worker = policy->place_task(input, task);
    meter_end(seat->meter, began_ns);
    if (worker == WORKER_NONE) {
        ASSERT(choose_first(input->view, need) == WORKER_NONE);
        return WORKER_NONE;
    }
    ASSERT(worker < input->view->fleet->worker_count);
    ASSERT(choose_can_run(input->view, worker, need));
    ASSERT(worker == task->planned || view_is_usable(input->view, worker));
    meter_row(seat->meter, input->view, worker);
    return worker;
}

void policy_queued(struct policy_seat *seat, const struct ready_facts *task)
{
    const struct policy *policy = policy_at(seat, ROLE_ORDER);
    if (policy != NULL && policy->queued != NULL) {
        policy->queued(&seat->inputs[ROLE_ORDER], task);
    }
}

int64_t policy_order(struct policy_seat *seat, const struct ready_facts *task)
{
    const struct policy *policy = policy_at(seat, ROLE_ORDER);
    const uint32_t priority = task->job->priority;
    return policy == NULL
               ? policy_order_by_time(seat, priority)
               : policy_advance(policy->order(&seat->inputs[ROLE_ORDER], task), priority);
}

static bool config_is_sound(const struct fleet *fleet, uint32_t worker, const struct config *config)
{
    if (worker >= fleet->worker_count) {
        return false;
    }
    const struct fleet_worker *device = &fleet->workers[worker];
    return config->batch > 0 && config->gpu <= device->gpu_units &&
           config->cpu <= fleet->nodes[device->node].cpu_units;
}

void policy_dispatch(
    struct policy_seat *seat, const struct queue_facts *queue, struct dispatch_answer *answer_out)
{
    const struct policy *policy = policy_at(seat, ROLE_DISPATCH);
    const bool is_home = queue->worker == WORKER_NONE;
    ASSERT(!is_home || (policy != NULL && policy->binds));
    if (policy == NULL) {
        policy_dispatch_head(queue->head_items, answer_out);
        return;
    }
    answer_out->count = 0;
    answer_out->wake_at_ns = 0;
    answer_out->unplanned = false;
    answer_out->near_first = false;
    answer_out->waits_for = WORKER_NONE;
    seat->rests = false;
    forget_weighed(seat->meter);
    const struct policy_input *input = &seat->inputs[ROLE_DISPATCH];
    const uint64_t began_ns = meter_begin(seat->meter);
    policy->dispatch(input, queue, answer_out);
    meter_end(seat->meter, began_ns);
    ASSERT(answer_out->count <= DISPATCH_CANDIDATES_MAX);
    ASSERT(is_home || answer_out->count > 0 || answer_out->wake_at_ns > input->view->now_ns);
    for (uint32_t i = 0; i < answer_out->count; i++) {
        const uint32_t worker = is_home ? answer_out->workers[i] : queue->worker;
        ASSERT(config_is_sound(input->view->fleet, worker, &answer_out->configs[i]));
    }
}

int64_t policy_eviction_ns(
    const struct policy_seat *seat, const struct workflow_task *task, uint32_t worker,
    int64_t absent_ns)
{
    const struct policy *policy = seat->set->roles[ROLE_PLACE].policy;
    return policy == NULL || policy->eviction_ns == NULL
               ? absent_ns
               : policy->eviction_ns(&seat->inputs[ROLE_PLACE], task, worker, absent_ns);
}

uint32_t policy_steal(struct policy_seat *seat, uint32_t worker)
{
    const struct policy *policy = policy_at(seat, ROLE_STEAL);
    if (policy == NULL) {
        return WORKER_NONE;
    }
    const struct policy_input *input = &seat->inputs[ROLE_STEAL];
    const uint64_t began_ns = meter_begin(seat->meter);
    const uint32_t peer = policy->steal(input, worker);
    meter_end(seat->meter, began_ns);
    ASSERT(peer == WORKER_NONE || (peer < input->view->fleet->worker_count && peer != worker));
    return peer;
}

uint32_t policy_victim(struct policy_seat *seat, const struct cache_facts *cache)
{
    ASSERT(cache->count > 0);
    const struct policy *policy = policy_at(seat, ROLE_CACHE);
    if (policy == NULL || policy->victim == NULL) {
        return choose_least_recent(cache);
    }
    const uint64_t began_ns = meter_begin(seat->meter);
    const uint32_t index = policy->victim(&seat->inputs[ROLE_CACHE], cache);
    meter_end(seat->meter, began_ns);
    ASSERT(index < cache->count);
    return index;
}

/* The first wanted entry that fits: entries come in the order of their first use. */
static uint32_t prefetch_by_default(const struct cache_facts *cache)
{
    for (uint32_t i = 0; i < cache->count; i++) {
        if (cache->entries[i].bytes <= cache->free_bytes) {
            return i;
        }
    }
    return UINT32_MAX;
}

uint32_t policy_prefetch(struct policy_seat *seat, const struct cache_facts *cache)
{
    const struct policy *policy = policy_at(seat, ROLE_CACHE);
    if (policy == NULL || policy->prefetch == NULL) {
        return prefetch_by_default(cache);
    }
    const uint64_t began_ns = meter_begin(seat->meter);
    const uint32_t index = policy->prefetch(&seat->inputs[ROLE_CACHE], cache);
    meter_end(seat->meter, began_ns);
    ASSERT(
        index == UINT32_MAX ||
        (index < cache->count && cache->entries[index].bytes <= cache->free_bytes));
    return index;
}

void policy_ended(struct policy_seat *seat, const struct ended_facts *batch)
{
    const struct policy *policy = policy_at(seat, ROLE_DISPATCH);
    if (policy != NULL && policy->ended != NULL) {
        policy->ended(&seat->inputs[ROLE_DISPATCH], batch);
    }
}

void policy_ran(struct policy_seat *seat, const struct ended_facts *batch)
{
    const struct policy *policy = policy_at(seat, ROLE_DISPATCH);
    if (policy != NULL && policy->ran != NULL) {
        policy->ran(&seat->inputs[ROLE_DISPATCH], batch);
    }
}

int64_t policy_tick_ns(const struct policy_seat *seat)
{
    const struct policy *policy = policy_at(seat, ROLE_TICK);
    if (policy == NULL) {
        return 0;
    }
    const void *plan = seat->inputs[ROLE_TICK].plan;
    const bool is_idle =
        policy->waits != NULL && !seat->binds && (policy->ticks == NULL || !policy->ticks(plan));
    return is_idle ? 0 : policy->tick_ns;
}

struct tick_answer policy_tick(struct policy_seat *seat)
{
    struct tick_answer answer = {.solve = false};
    const struct policy *policy = policy_at(seat, ROLE_TICK);
    if (policy == NULL) {
        return answer;
    }
    const uint64_t began_ns = meter_begin(seat->meter);
    policy->tick(&seat->inputs[ROLE_TICK], &answer);
    meter_end(seat->meter, began_ns);
    seat->rests = answer.rests;
    return answer;
}

void policy_solved(struct policy_seat *seat, uint64_t problem, const void *result)
{
    const struct policy *policy = policy_at(seat, ROLE_TICK);
    if (policy != NULL && policy->solved != NULL) {
        policy->solved(&seat->inputs[ROLE_TICK], problem, result);
    }
}

void policy_question(struct policy_seat *seat, uint64_t problem, void *question_out)
{
    const struct policy *policy = policy_at(seat, ROLE_TICK);
    ASSERT(policy != NULL);
    if (policy->question != NULL) {
        policy->question(&seat->inputs[ROLE_TICK], problem, question_out);
    }
}
