#include "node/dispatch.h"

#include <string.h>

#include "base/numbers.h"
#include "node/access.h"
#include "node/batches.h"
#include "node/drain.h"
#include "node/fail_waiting.h"
#include "node/give_up.h"
#include "node/grants.h"
#include "node/model_cache.h"
#include "node/outbox.h"
#include "node/room.h"
#include "node/routing.h"
#include "node/rows.h"
#include "node/visits.h"

/* The order of a worker's tasks. No branches: they cannot be predicted. */
static bool is_before(int64_t key_a, uint64_t arrival_a, int64_t key_b, uint64_t arrival_b)
{
    return (key_a < key_b) | ((key_a == key_b) & (arrival_a < arrival_b));
}

bool dispatch_is_before(const struct task *a, const struct task *b)
{
    return is_before(a->key, a->arrival, b->key, b->arrival);
}

static uint32_t queue_number(const struct node *node, const struct task *task)
{
    const struct visit *visit = visit_at(node, task->visit);
    return workflow_at(node, visit->workflow)->queue_first + task->number;
}

const struct workflow_task *dispatch_queue_task(
    const struct node *node, uint32_t queue, uint32_t *workflow_out, uint32_t *task_out)
{
    const uint32_t workflow = node->catalogue->queue_workflows[queue];
    *workflow_out = workflow;
    *task_out = queue - workflow_at(node, workflow)->queue_first;
    return &workflow_at(node, workflow)->tasks[*task_out];
}

static void set_head(const struct node *node, struct queue *queue, uint32_t slot)
{
    const struct task *task = task_at(node, slot);
    queue->head = slot;
    queue->key = task->key;
    queue->arrival = task->arrival;
}

/* Sorted by key and arrival; new tasks mostly belong at the end. */
static void insert(struct node *node, struct queue *queue, uint32_t slot)
{
    struct task *task = task_at(node, slot);
    if (queue->count == 0) {
        set_head(node, queue, slot);
        queue->tail = slot;
        return;
    }
    if (!dispatch_is_before(task, task_at(node, queue->tail))) {
        task_at(node, queue->tail)->next_in_queue = slot;
        queue->tail = slot;
        return;
    }
    if (dispatch_is_before(task, task_at(node, queue->head))) {
        task->next_in_queue = queue->head;
        set_head(node, queue, slot);
        return;
    }
    uint32_t *link = &task_at(node, queue->head)->next_in_queue;
    while (!dispatch_is_before(task, task_at(node, *link))) {
        link = &task_at(node, *link)->next_in_queue;
    }
    task->next_in_queue = *link;
    *link = slot;
}

/* Where @task stands in its queue. */
static int64_t order_key(struct node *node, const struct visit *visit, const struct task *task)
{
    if (!node->seat.orders) {
        return policy_order_by_time(&node->seat, visit->priority);
    }
    const struct job_facts job = visit_facts(node, visit);
    const struct ready_facts facts = visit_ready(task, &job);
    policy_queued(&node->seat, &facts);
    return policy_order(&node->seat, &facts);
}

/* Task @slot waits at its worker from now on. */
static void join_queue(struct node *node, uint32_t slot)
{
    struct task *task = task_at(node, slot);
    const struct visit *visit = visit_at(node, task->visit);
    struct worker *worker = own_worker(node, task->worker);
    const uint32_t number = queue_number(node, task);
    task->run_ns = task_run_ns(node, visit->workflow, task->number, task->worker, task->items);
    struct queue *queue = &worker->queues[number];
    insert(node, queue, slot);
    if (queue->count == 0) {
        worker->active[worker->active_count] = number;
        worker->active_count++;
    }
    queue->count++;
    queue->items += task->items;
    worker->queued++;
    worker->queued_items += task->items;
    worker->queue_ns += task->run_ns;
    cache_want(worker, &workflow_at(node, visit->workflow)->tasks[task->number], +1);
    rows_load_changed(node, worker);
}

void dispatch_queue(struct node *node, uint32_t slot)
{
    struct task *task = task_at(node, slot);
    const struct visit *visit = visit_at(node, task->visit);
    task_state_move(&task->state, TASK_QUEUED);
    task->ready_ns = now_ns(node);
    task->hope = HOPE_GOOD;
    task->key = order_key(node, visit, task);
    task->arrival = ++node->arrival;
    join_queue(node, slot);
    trace_task(node, RECORD_QUEUED, visit, task)->value = task->items;
}

/* Task @slot, wherever it stands in its queue, leaves it. */
static void take_out(struct node *node, struct worker *worker, uint32_t number, uint32_t slot)
{
    struct queue *queue = &worker->queues[number];
    struct task *task = task_at(node, slot);
    const uint32_t next = task->next_in_queue;
    uint32_t before = POOL_NONE;
    if (queue->head != slot) {
        before = queue->head;
        while (task_at(node, before)->next_in_queue != slot) {
            before = task_at(node, before)->next_in_queue;
        }
        task_at(node, before)->next_in_queue = next;
    } else if (next != POOL_NONE) {
        set_head(node, queue, next);
    } else {
        queue->head = POOL_NONE;
    }
    if (queue->tail == slot) {
        queue->tail = before;
    }
    task->next_in_queue = POOL_NONE;
    queue->count--;
    queue->items -= task->items;
    worker->queued--;
    worker->queued_items -= task->items;
    worker->queue_ns -= task->run_ns;
    if (queue->count > 0) {
        return;
    }
    uint32_t i = 0;
    while (worker->active[i] != number) {
        i++;
    }
    worker->active_count--;
    worker->active[i] = worker->active[worker->active_count];
}

void dispatch_unqueue(struct node *node, uint32_t slot)
{
    const struct task *task = task_at(node, slot);
    struct worker *worker = own_worker(node, task->worker);
    const struct visit *visit = visit_at(node, task->visit);
    ASSERT(task->state == TASK_QUEUED);
    take_out(node, worker, queue_number(node, task), slot);
    cache_want(worker, &workflow_at(node, visit->workflow)->tasks[task->number], -1);
    cache_drop_unwanted(node, worker);
    room_freed(node, worker); /* What it needed can leave for others. */
    rows_load_changed(node, worker);
}

void dispatch_put_off(struct node *node, uint32_t slot, enum hope hope)
{
    struct task *task = task_at(node, slot);
    dispatch_unqueue(node, slot);
    task->key = policy_put_off(task->key, hope);
    task->hope = (uint8_t)hope;
    join_queue(node, slot);
}

void dispatch_move(struct node *node, uint32_t slot, struct worker *worker)
{
    struct task *task = task_at(node, slot);
    ASSERT(task->worker != worker->id);
    dispatch_unqueue(node, slot);
    task->worker = worker->id;
    join_queue(node, slot);
    routing_bind(node, slot);
}

/* Whether the head of @a runs before that of @b. */
static bool queue_is_before(const struct queue *a, const struct queue *b)
{
    return is_before(a->key, a->arrival, b->key, b->arrival);
}

uint32_t dispatch_next_queue(const struct worker *worker, uint32_t after)
{
    const struct queue *queues = worker->queues;
    const struct queue none = {.key = INT64_MAX, .arrival = UINT64_MAX};
    const struct queue *best = &none;
    for (uint32_t i = 0; i < worker->active_count; i++) {
        const struct queue *queue = &queues[worker->active[i]];
        const bool follows = after == QUEUE_NONE || queue_is_before(&queues[after], queue);
        best = (queue_is_before(queue, best) & follows) != 0 ? queue : best;
    }
    return best == &none ? QUEUE_NONE : (uint32_t)(best - queues);
}

/* Whether tasks @a and @b may run together: jobs of two editions name two versions of a model. */
static bool is_alike(const struct node *node, uint32_t a, uint32_t b)
{
    return node->edition_count < 2 || job_edition(visit_at(node, task_at(node, a)->visit)->job) ==
                                          job_edition(visit_at(node, task_at(node, b)->visit)->job);
}

/* Move tasks from the head of a queue into @batch, as many as its config takes. */
static void fill_batch(
    struct node *node, struct worker *worker, uint32_t number, uint32_t batch_slot)
{
    struct batch *batch = batch_at(node, batch_slot);
    struct queue *queue = &worker->queues[number];
    const struct workflow_task *kind = &workflow_at(node, batch->workflow)->tasks[batch->task];
    while (queue->count > 0 && batch->task_count < BATCH_TASKS_MAX) {
        const uint32_t slot = queue->head;
        struct task *task = task_at(node, slot);
        if (batch->task_count > 0 && (batch->items + task->items > batch->config.batch ||
                                      !is_alike(node, batch->tasks[0], slot))) {
            break;
        }
        take_out(node, worker, number, slot);
        cache_want(worker, kind, -1);
        task_state_move(&task->state, TASK_RUNNING);
        task->batch = batch_slot;
        batch->tasks[batch->task_count] = slot;
        batch->task_count++;
        batch->items += task->items;
    }
}

/* How many items a batch of at most @batch items from this queue would have. */
static uint32_t batch_items(const struct node *node, const struct queue *queue, uint32_t batch)
{
    uint32_t items = 0;
    uint32_t tasks = 0;
    for (uint32_t slot = queue->head; slot != POOL_NONE && tasks < BATCH_TASKS_MAX; tasks++) {
        const struct task *task = task_at(node, slot);
        if (tasks > 0 && (items + task->items > batch || !is_alike(node, queue->head, slot))) {
            break;
        }
        items += task->items;
        slot = task->next_in_queue;
    }
    return items;
}

static void launch(struct node *node, struct worker *worker, uint32_t number, struct config config)
{
    uint32_t workflow;
    uint32_t task;
    (void)dispatch_queue_task(node, number, &workflow, &task);
    const uint32_t slot = batches_open(node, worker, workflow, task, config);
    fill_batch(node, worker, number, slot);
    batches_start(node, worker, slot);
}

void dispatch_wake(struct node *node, struct worker *worker, int64_t at_ns)
{
    if (at_ns < worker->wake_ns) {
        worker->wake_ns = at_ns;
        wake_at(node, at_ns, TIMER_DISPATCH, worker->id);
    }
}

/* The same for a time that a policy or a pause gives: one that is over wakes nothing. */
static void set_wake_later(struct node *node, struct worker *worker, int64_t at_ns)
{
    if (at_ns > now_ns(node)) {
        dispatch_wake(node, worker, at_ns);
    }
}

void dispatch_timer(struct node *node, struct worker *worker)
{
    if (now_ns(node) < worker->wake_ns) {
        return; /* It was set before an earlier one, and would be set again for ever. */
    }
    worker->wake_ns = INT64_MAX;
    worker->touched = true;
}

static void ask(
    struct node *node, const struct worker *worker, uint32_t number,
    struct dispatch_answer *answer_out)
{
    const struct queue *queue = &worker->queues[number];
    const struct task *head = task_at(node, queue->head);
    if (!node->seat.dispatches) {
        policy_dispatch_head(head->items, answer_out);
        return;
    }
    struct queue_facts facts = {
        .worker = worker->id,
        .waiting = queue->count,
        .items = queue->items,
        .head_items = head->items,
        .head_ready_ns = head->ready_ns,
        .head_deadline_ns = visit_at(node, head->visit)->deadline_ns,
        .head_arrived_ns = visit_at(node, head->visit)->arrived_ns,
        .holder = worker->id,
        .gpu_free = worker->shares.free,
        .cpu_free = node->cpu_free,
    };
    (void)dispatch_queue_task(node, number, &facts.workflow, &facts.task);
    policy_dispatch(&node->seat, &facts, answer_out);
}

/* Start a batch of queue @number if it can run now. */
static bool start_queue(struct node *node, struct worker *worker, uint32_t number)
{
    uint32_t workflow;
    uint32_t task;
    const struct workflow_task *kind = dispatch_queue_task(node, number, &workflow, &task);
    if (!cache_is_ready(worker, kind)) {
        return false;
    }
    struct dispatch_answer answer;
    ask(node, worker, number, &answer);
    if (answer.count == 0) {
        set_wake_later(node, worker, answer.wake_at_ns);
        return false;
    }
    for (uint32_t i = 0; i < answer.count; i++) {
        struct config config = answer.configs[i];
        config.gpu = sharing_round(worker->spec, config.gpu);
        if (!sharing_fits(worker->spec, &worker->shares, config.gpu) ||
            config.cpu > node->cpu_free) {
            continue;
        }
        const uint32_t items_max = cache_items_max(node, worker, kind);
        config.batch = min_u32(config.batch, items_max);
        const uint32_t items = batch_items(node, &worker->queues[number], config.batch);
        if (room_make(
                node, worker, profile_workspace_bytes(node->profile, kind->run, items), kind)) {
            launch(node, worker, number, config);
            return true;
        }
    }
    return false;
}

/* Start the first batch, in the order of queues, that can run now. */
static bool start_one(struct node *node, struct worker *worker)
{
    uint32_t number = dispatch_next_queue(worker, QUEUE_NONE);
    while (number != QUEUE_NONE) {
        const enum prospect prospect =
            node->seat.gives_up ? give_up_head(node, worker, number) : PROSPECT_GOOD;
        if (prospect == PROSPECT_LATER) {
            dispatch_wake(node, worker, now_ns(node));
            return false;
        }
        if (prospect == PROSPECT_GONE) { /* Others may have gone with it: from the beginning. */
            number = dispatch_next_queue(worker, QUEUE_NONE);
            continue;
        }
        if (start_queue(node, worker, number)) {
            return true;
        }
        number = dispatch_next_queue(worker, number);
    }
    return false;
}

void dispatch_worker(struct node *node, struct worker *worker)
{
    bool started = true;
    if ((worker->failing_models > 0 || worker->lost) && fail_waiting_some(node, worker)) {
        dispatch_wake(node, worker, now_ns(node));
        return; /* The rest fails in steps of its own. */
    }
    if (node->draining && drain_hand_on(node, worker)) {
        dispatch_wake(node, worker, now_ns(node));
        return; /* So do those that go elsewhere. */
    }
    room_look(worker);
    if (worker->grants != POOL_NONE) {
        grants_start(node, worker);
    }
    while (started && worker->queued > 0 && worker->shares.free > 0) {
        started = start_one(node, worker);
    }
    if (worker->warm != MODEL_NONE) {
        cache_warm_up(node, worker);
    }
    if (worker->missing > 0) {
        const int64_t retry_at_ns = cache_advance(node, worker);
        set_wake_later(node, worker, retry_at_ns);
    }
    if (worker->lags) {
        cache_follow(node, worker);
    }
    room_settle(node, worker);
}

static enum reason reason_of(enum weft_status failure)
{
    switch ((int)failure) {
    case WEFT_LOST:
        return REASON_DEVICE_LOST;
    case WEFT_INVALID:
        return REASON_INVALID;
    case WEFT_CRASHED:
        return REASON_CRASHED;
    default:
        return REASON_BATCH_FAILED;
    }
}

/* Task @slot has run as part of @batch, and made @output. */
static void complete(
    struct node *node, const struct batch *batch, uint32_t slot, const struct output *output,
    int64_t run_ns)
{
    const struct task *task = task_at(node, slot);
    struct record *record = trace_task(node, RECORD_ENDED, visit_at(node, task->visit), task);
    record->value = run_ns;
    record->batch = (uint16_t)batch->task_count;
    record->gpu = (uint16_t)batch->config.gpu;
    record->cpu = (uint16_t)batch->config.cpu;
    const uint32_t tensor = tensor_take(node, output->tensor, output->items, output->bytes);
    visits_complete(node, slot, tensor);
}

/* @batch took @run_ns on the own @worker. */
static void learn(
    struct node *node, struct worker *worker, const struct batch *batch, int64_t run_ns)
{
    const struct config config = {
        .batch = batch->config.batch, .cpu = batch->config.cpu, .gpu = batch->config.gpu};
    const struct ended_facts ran = {
        .workflow = batch->workflow,
        .task = batch->task,
        .worker = batch->worker,
        .items = batch->items,
        .config = config,
        .run_ns = run_ns,
        .completed = true,
    };
    if (node->seat.learns) {
        batches_learn(node, worker, batch, run_ns);
    }
    policy_ran(&node->seat, &ran);
}

void dispatch_done(struct node *node, const struct event_batch_done *done)
{
    struct batch *batch = batch_at(node, done->batch); /* No pool moves within a step. */
    struct worker *worker = own_worker(node, batch->worker);
    ASSERT(batch->state == BATCH_RUNNING);
    ASSERT(done->status != WEFT_OK || done->output_count == batch->task_count);
    if (done->status == WEFT_OK) {
        learn(node, worker, batch, done->run_ns);
    }
    batches_close(node, worker, done->batch);
    if (batch->grant != POOL_NONE) {
        grants_ended(node, batch->grant, done->run_ns, done->status == WEFT_OK);
    }
    if (done->status == WEFT_LOST) {
        cache_device_lost(node, worker);
    }
    for (uint32_t i = 0; i < batch->task_count; i++) {
        const enum weft_status status =
            done->status != WEFT_OK ? done->status : done->outputs[i].status;
        if (status == WEFT_OK) {
            complete(node, batch, batch->tasks[i], &done->outputs[i], done->run_ns);
        } else {
            visits_fail(node, batch->tasks[i], reason_of(status));
        }
    }
    pool_give(&node->pools->batches, done->batch);
}

/*
 * Batch @slot, which runs, is not wanted any more. One that this step has launched is taken back:
 * hosts look at what a launch names after the step, and would find nothing.
 */
static void call_off(struct node *node, uint32_t slot)
{
    struct effects *effects = node->effects;
    for (uint32_t i = effects->count; i-- > 0;) {
        const struct effect *effect = &effects->items[i];
        if (effect->kind == EFFECT_LAUNCH && effect->launch.batch == slot) {
            effects->count--;
            memmove(
                &effects->items[i], &effects->items[i + 1],
                (effects->count - i) * sizeof(effects->items[0]));
            return;
        }
    }
    effect_add(node, EFFECT_CANCEL_BATCH)->batch = slot;
}

void dispatch_abandon(struct node *node, uint32_t slot)
{
    struct task *task = task_at(node, slot);
    struct worker *worker = own_worker(node, task->worker);
    const uint32_t batch_slot = task->batch;
    struct batch *batch = batch_at(node, batch_slot);
    task->cancelled = true;
    trace_task(node, RECORD_STOPPED, visit_at(node, task->visit), task);
    for (uint32_t i = 0; i < batch->task_count; i++) {
        if (!task_at(node, batch->tasks[i])->cancelled) {
            return; /* A job still waits for this batch. */
        }
    }
    if (batch->state == BATCH_RUNNING) {
        call_off(node, batch_slot);
    }
    batches_close(node, worker, batch_slot);
    if (batch->grant != POOL_NONE) {
        grants_ended(node, batch->grant, /* run_ns */ 0, /* completed */ false);
    }
    for (uint32_t i = 0; i < batch->task_count; i++) {
        visits_discard(node, batch->tasks[i]);
    }
    pool_give(&node->pools->batches, batch_slot);
}
