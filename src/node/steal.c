#include "node/steal.h"

#include "node/access.h"
#include "node/bank.h"
#include "node/dispatch.h"
#include "node/gather.h"
#include "node/model_cache.h"
#include "node/outbox.h"
#include "node/rows.h"
#include "node/visits.h"
#include "profile/fresh.h"

/* What it costs that @worker, to run @kind, loads models, for which others may have to leave. */
static int64_t missing_ns(
    const struct node *node, const struct worker *worker, const struct workflow_task *kind)
{
    int64_t sum_ns = 0;
    uint64_t bytes = worker->bank->used_bytes;
    for (uint32_t i = 0; i < kind->model_count; i++) {
        const uint32_t model = kind->models[i];
        if (worker->models[model].state == MODEL_RESIDENT) {
            continue;
        }
        sum_ns +=
            profile_first_run_ns(node->profile, model, worker->spec->device) +
            (bank_has(node, worker, model) ? profile_follow_ns(node->profile, model, worker->spec)
                                           : profile_load_ns(node->profile, model, worker->spec));
        bytes += bank_more_bytes(node, worker, model);
    }
    return bytes > worker->spec->memory_bytes
               ? sum_ns + policy_eviction_ns(&node->seat, kind, worker->id, sum_ns)
               : sum_ns;
}

/*
 * Whether @worker will have a model of @kind soon without loading it for a task: it is just coming
 * into the memory that they share, or has come, and @worker follows.
 */
static bool is_coming(
    const struct node *node, const struct worker *worker, const struct workflow_task *kind)
{
    bool comes = false;
    for (uint32_t i = 0; worker->bank->worker_count > 1 && i < kind->model_count; i++) {
        const uint32_t model = kind->models[i];
        const uint8_t held = worker->models[model].state;
        const bool follows = worker->lags && bank_has(node, worker, model);
        comes = comes || held == MODEL_LOADING ||
                (held == MODEL_ABSENT && (follows || bank_moves(node, worker, model)));
    }
    return comes;
}

/*
 * The first task that waits at @busy and would start sooner at @free; POOL_NONE: none. A worker
 * that has tasks of its own loads nothing for it.
 */
static uint32_t find_near(
    const struct node *node, const struct worker *busy, const struct worker *free)
{
    uint32_t number = dispatch_next_queue(busy, QUEUE_NONE);
    for (; number != QUEUE_NONE; number = dispatch_next_queue(busy, number)) {
        uint32_t workflow;
        uint32_t task;
        const struct workflow_task *kind = dispatch_queue_task(node, number, &workflow, &task);
        const uint32_t slot = busy->queues[number].head;
        const struct need need = need_at(node, workflow, task, task_at(node, slot)->items);
        const int64_t load_ns = missing_ns(node, free, kind);
        if (can_run(node, need, free->id) &&
            cache_obstacle(node, free, kind, task_at(node, slot)->items) == REASON_NONE &&
            !gather_pays(node, busy, number, /* items */ 0) && !is_coming(node, free, kind) &&
            (load_ns == 0 || (free->queued == 0 && load_ns < rows_running_ns(node, busy)))) {
            return slot;
        }
    }
    return POOL_NONE;
}

/* The task that @worker would run next of its own; POOL_NONE: it has none. */
static uint32_t own_next(const struct worker *worker)
{
    const uint32_t number = dispatch_next_queue(worker, QUEUE_NONE);
    return number == QUEUE_NONE ? POOL_NONE : worker->queues[number].head;
}

bool steal_near(struct node *node, struct worker *worker)
{
    if (!node->seat.pools || node->draining || worker->lost || worker->running > 0) {
        return false;
    }
    const uint32_t own = own_next(worker);
    uint32_t best = own;
    for (uint32_t i = 0; i < node->worker_count; i++) {
        const struct worker *busy = &node->workers[i];
        const uint32_t slot = busy->running > 0 ? find_near(node, busy, worker) : POOL_NONE;
        if (slot != POOL_NONE &&
            (best == POOL_NONE || dispatch_is_before(task_at(node, slot), task_at(node, best)))) {
            best = slot;
        }
    }
    if (best == own) {
        return false;
    }
    const struct task *task = task_at(node, best);
    trace_task(node, RECORD_STOLEN, visit_at(node, task->visit), task)->worker = worker->id;
    dispatch_move(node, best, worker);
    return true;
}

bool steal_is_due(const struct node *node, const struct worker *worker)
{
    return node->seat.steals && !worker->asked && !node->draining && worker->queued == 0 &&
           worker->running == 0 && worker->ask_at_ns <= now_ns(node);
}

void steal_try(struct node *node, struct worker *worker)
{
    if (!steal_is_due(node, worker)) {
        return;
    }
    const uint32_t peer = policy_steal(&node->seat, worker->id);
    if (peer == WORKER_NONE || view_is_own(&node->view, peer)) {
        worker->ask_at_ns = now_ns(node) + STEAL_PAUSE_NS; /* Rows do not change that fast. */
        return;
    }
    worker->asked = true;
    const struct message message = {
        .kind = MESSAGE_STEAL,
        .job = {.node = node->id},
        .worker = worker->id,
        .victim = peer,
    };
    outbox_send(node, node_of_worker(node, peer), &message);
}

/* How often the way of inputs counts. */
enum { STEAL_TRANSFERS = 2 };

/* What @task gives to a join, which was placed where its branches were thought to run. */
static uint64_t returned_bytes(const struct workflow *workflow, const struct task *task)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < workflow->tasks[task->number].out_count; i++) {
        const struct workflow_edge *edge = workflow_out(workflow, task->number, i);
        if (workflow_is_join(workflow, edge->to)) {
            bytes += workflow_edge_bytes(edge, task->items);
        }
    }
    return bytes;
}

/*
 * How long @asker, which is idle, would need for @task, which it can run: for its inputs, the run
 * and the way of its output to a join. INT64_MAX if the task has to stay.
 */
static int64_t end_there_ns(const struct node *node, const struct task *task, uint32_t asker)
{
    const struct visit *visit = visit_at(node, task->visit);
    const struct workflow_task *kind = &workflow_at(node, visit->workflow)->tasks[task->number];
    const int64_t run_ns = task_run_ns(node, visit->workflow, task->number, asker, task->items);
    uint64_t bytes = 0;
    if (kind->out_count > 1) {
        return INT64_MAX;
    }
    for (uint32_t i = 0; i < kind->model_count; i++) {
        if (!view_holds_model(&node->view, asker, kind->models[i])) {
            return INT64_MAX;
        }
    }
    for (uint32_t slot = task->inputs; slot != POOL_NONE; slot = input_at(node, slot)->next) {
        bytes += input_at(node, slot)->bytes;
    }
    bytes += returned_bytes(workflow_at(node, visit->workflow), task);
    const uint32_t to = node_of_worker(node, asker);
    return STEAL_TRANSFERS * fleet_transfer_ns(node->fleet, node->id, to, bytes) +
           view_slowed_ns(&node->view, asker, run_ns);
}

/*
 * Whether @task waits although nothing keeps @worker from it, as for more tasks to run with it: it
 * would wait elsewhere as well, from the beginning, and be taken from there in turn.
 */
static bool waits_by_choice(
    const struct node *node, const struct worker *worker, const struct task *task)
{
    const struct visit *visit = visit_at(node, task->visit);
    return worker->running == 0 &&
           cache_is_ready(worker, &workflow_at(node, visit->workflow)->tasks[task->number]);
}

/*
 * Of the last tasks in the queues of @worker, the one that would end first at @asker, if that is
 * before all work here is done; POOL_NONE: none. Of equal ones, the last one here.
 */
static uint32_t find_task(const struct node *node, const struct worker *worker, uint32_t asker)
{
    uint32_t best = POOL_NONE;
    int64_t best_ns = node->board->entries[worker->id].live.load.run_ns;
    for (uint32_t i = 0; i < worker->active_count; i++) {
        const uint32_t slot = worker->queues[worker->active[i]].tail;
        const struct task *task = task_at(node, slot);
        const struct need need =
            need_at(node, visit_at(node, task->visit)->workflow, task->number, task->items);
        if (!can_run(node, need, asker) || waits_by_choice(node, worker, task)) {
            continue;
        }
        const int64_t there_ns = end_there_ns(node, task, asker);
        if (there_ns < best_ns ||
            (there_ns == best_ns && best != POOL_NONE && task_at(node, best)->key < task->key)) {
            best = slot;
            best_ns = there_ns;
        }
    }
    return best;
}

void steal_asked(struct node *node, const struct message *message)
{
    struct worker *worker = own_worker(node, message->victim);
    const uint32_t slot = find_task(node, worker, message->worker);
    if (slot == POOL_NONE || !members_is_up(node->view.members, message->from)) {
        const struct message nothing = {
            .kind = MESSAGE_NOTHING,
            .to_incarnation = message->from_incarnation,
            .job = {.node = node->id},
            .worker = message->worker,
        };
        outbox_send(node, message->from, &nothing);
        return;
    }
    struct task *task = task_at(node, slot);
    trace_task(node, RECORD_STOLEN, visit_at(node, task->visit), task)->worker = message->worker;
    visits_forward(node, slot, message->worker);
    if (worker->running == 0) { /* Or it would ask for the same task at once, and so on. */
        worker->ask_at_ns = now_ns(node) + STEAL_PAUSE_NS;
    }
}

void steal_refused(struct node *node, uint32_t worker_id)
{
    struct worker *worker = own_worker(node, worker_id);
    if (worker != NULL) {
        worker->asked = false;
        worker->ask_at_ns = now_ns(node) + STEAL_PAUSE_NS; /* Or two idle nodes talk for ever. */
    }
}
