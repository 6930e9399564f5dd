#include "node/placing.h"

#include "node/access.h"
#include "node/jobs.h"
#include "node/keys.h"
#include "node/members.h"
#include "node/outbox.h"
#include "node/routing.h"
#include "node/visits.h"
#include "policy/choose.h"

/* A message, with the placement, about task @task of @job, for @worker. */
static struct message job_message(
    const struct node *node, const struct job *job, enum message_kind kind, uint32_t task,
    uint32_t worker)
{
    return (struct message){
        .kind = kind,
        .job = job->id,
        .workflow = job->workflow,
        .task = task,
        .worker = worker,
        .attempt = job->attempt,
        .work =
            {
                .priority = job->priority,
                .firm = job->firm,
                .age_ns = now_ns(node) - job->arrived_ns,
                .left_ns = left_ns(node, job->deadline_ns),
                .placement_count = (uint16_t)workflow_at(node, job->workflow)->task_count,
                .placement = job->placement,
            },
    };
}

/* What of the inputs of @job goes to source @task. */
static uint64_t source_bytes(const struct node *node, const struct job *job, uint32_t task)
{
    return workflow_part_bytes(
        workflow_at(node, job->workflow), task, tensor_at(node, job->inputs)->bytes);
}

/* The input of source @task of @job, for @worker. */
static struct message source_message(
    const struct node *node, const struct job *job, uint32_t task, uint32_t worker)
{
    struct message input = job_message(node, job, MESSAGE_INPUT, task, worker);
    input.work.items = job->items;
    input.work.bytes = source_bytes(node, job, task);
    return input;
}

static void trace_placed(
    struct node *node, const struct job *job, uint32_t task, enum reason reason)
{
    trace_weighed(node, job->id, job->workflow, task);
    struct record *record = trace(node, RECORD_PLACED, reason);
    record->job = job->id;
    record->workflow = (uint16_t)job->workflow;
    record->task = task;
    record->worker = placement_worker(job->placement[task]);
}

/* Promise @run_ns to @worker, for one task or, with TASK_NONE, for all planned there. */
static void reserve(
    struct node *node, const struct job *job, uint32_t task, uint32_t worker, int64_t run_ns)
{
    struct message message = job_message(node, job, MESSAGE_RESERVE, task, worker);
    message.sequence = routing_note(node, worker, run_ns);
    outbox_send(node, node_of_worker(node, worker), &message);
}

/* Whether a task before @task, of those that are reserved, has the same worker. */
static bool is_repeated(const struct workflow *workflow, const struct job *job, uint32_t task)
{
    for (uint32_t i = 0; i < task; i++) {
        if (job->placement[i] == job->placement[task] && workflow->tasks[i].in_count > 0) {
            return true;
        }
    }
    return false;
}

/* One message to each planned worker. Sources need none: their input follows at once. */
static void reserve_all(struct node *node, const struct job *job)
{
    const struct workflow *workflow = workflow_at(node, job->workflow);
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        const uint32_t worker = placement_worker(job->placement[i]);
        if (worker == WORKER_NONE || workflow->tasks[i].in_count == 0 ||
            is_repeated(workflow, job, i)) {
            continue;
        }
        int64_t run_ns = 0;
        for (uint32_t k = i; k < workflow->task_count; k++) {
            if (job->placement[k] == job->placement[i] && workflow->tasks[k].in_count > 0) {
                run_ns += task_run_ns(node, job->workflow, k, worker, 1);
            }
        }
        reserve(node, job, TASK_NONE, worker, run_ns);
    }
}

/* REASON_NONE, or why no worker can be found for source @task. */
static enum reason place_source(
    struct node *node, struct job *job, const struct job_facts *facts, uint32_t task)
{
    if (routing_waits(
            node, job->workflow, task)) { /* It is claimed later, if there is any worker. */
        const bool any = node->draining || choose_first_usable(&node->view) != WORKER_NONE;
        return any ? REASON_NONE : REASON_NO_WORKER;
    }
    const struct input_facts from = {
        .worker = facts->ingress,
        .bytes = source_bytes(node, job, task),
    };
    const struct task_facts question = {
        .job = facts,
        .placement = job->placement,
        .task = task,
        .items = job->items,
        .planned = placement_worker(job->placement[task]),
        .here = facts->ingress,
        .input_count = 1,
        .inputs = &from,
    };
    const uint32_t worker = routing_place(node, &question);
    if (worker == WORKER_NONE) {
        return why_none(node, need_at(node, job->workflow, task, job->items));
    }
    job->placement[task] = (uint16_t)worker;
    return REASON_NONE;
}

/* The input of a source that is to be claimed waits here. */
static void keep_source(struct node *node, struct job *job, uint32_t task)
{
    const struct message input = source_message(node, job, task, node->view.worker_first);
    tensor_hold(node, job->inputs);
    outbox_move(node, node->id, &input, job->inputs);
}

static void send_source(struct node *node, struct job *job, uint32_t task)
{
    const uint32_t worker = placement_worker(job->placement[task]);
    if (worker == WORKER_NONE) {
        keep_source(node, job, task);
        return;
    }
    struct message input = source_message(node, job, task, worker);
    input.work.settled = true;
    input.sequence =
        routing_note(node, worker, task_run_ns(node, job->workflow, task, worker, job->items));
    routing_tell(node, &input);
    struct record *record = trace(node, RECORD_SENT, REASON_NONE);
    record->job = job->id;
    record->workflow = (uint16_t)job->workflow;
    record->task = task;
    record->worker = worker;
    record->value = (int64_t)input.work.bytes;
    tensor_hold(node, job->inputs);
    outbox_move(node, node_of_worker(node, worker), &input, job->inputs);
}

/* All inputs of job @slot, unless one that stays here ends it or places it again. */
static void send_sources(struct node *node, uint32_t slot)
{
    struct job *job = job_at(node, slot);
    const struct workflow *workflow = workflow_at(node, job->workflow);
    const uint32_t generation = pool_generation(&node->pools->jobs, slot);
    const uint32_t attempt = job->attempt;
    for (uint32_t i = 0; i < workflow->source_count; i++) {
        if (!pool_is_live(&node->pools->jobs, slot, generation) || job->attempt != attempt) {
            return;
        }
        send_source(node, job, workflow->sources[i]);
    }
}

enum reason placing_first(struct node *node, uint32_t slot, const struct job_facts *facts)
{
    struct job *job = job_at(node, slot);
    const struct workflow *workflow = facts->graph;
    job->tried_ns = now_ns(node);
    policy_place_job(&node->seat, facts, job->placement);
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        if (job->placement[i] != PLACEMENT_UNBOUND) {
            trace_placed(node, job, i, REASON_PLANNED);
        }
    }
    for (uint32_t i = 0; i < workflow->source_count; i++) {
        const enum reason reason = place_source(node, job, facts, workflow->sources[i]);
        if (reason != REASON_NONE) {
            return reason;
        }
    }
    reserve_all(node, job);
    send_sources(node, slot);
    return REASON_NONE;
}

struct job_facts job_facts(const struct node *node, const struct job *job)
{
    return (struct job_facts){
        .id = job->id,
        .workflow = job->workflow,
        .graph = workflow_at(node, job->workflow),
        .arrived_ns = job->arrived_ns,
        .deadline_ns = job->deadline_ns,
        .items = job->items,
        .priority = job->priority,
        .firm = job->firm,
        .ingress = node->view.worker_first,
    };
}

/* Whether @worker, of @job, is of a peer that was there when the job was tried last, and is silent.
 */
static bool has_fallen_silent(const struct node *node, const struct job *job, uint32_t worker)
{
    const uint32_t peer = worker == WORKER_NONE ? node->id : node_of_worker(node, worker);
    return members_is_silent(node, peer) && job->tried_ns <= node->broken_ns[peer];
}

/* Mark the tasks that are on silent peers, unless one of them cannot run anywhere else. Returns
 * whether there is any. */
static bool mark_silent(const struct node *node, const struct job *job, uint64_t *lost)
{
    const struct workflow *workflow = workflow_at(node, job->workflow);
    uint64_t silent[WORKFLOW_TASKS_MAX / 64] = {0};
    bool any = false;
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        if (has_fallen_silent(node, job, placement_worker(job->placement[i]))) {
            const struct need need = need_at(node, job->workflow, i, job->items);
            if (choose_first(&node->view, need) == WORKER_NONE) {
                return false;
            }
            bitset_add(silent, i);
            any = true;
        }
    }
    for (uint32_t i = 0; any && i < WORKFLOW_TASKS_MAX / 64; i++) {
        lost[i] |= silent[i];
    }
    return any;
}

/* Whether task @task of @job was on its way to, or at, a node that is gone. */
static bool is_gone(const struct node *node, struct job *job, uint32_t task)
{
    const struct members *members = node->view.members;
    const uint32_t worker = placement_worker(job->placement[task]);
    const uint32_t mover = job_movers(node, job)[task]; /* Plus one: what it sent left with it. */
    return (worker != WORKER_NONE &&
            !members_is_same(members, node_of_worker(node, worker), job->epoch)) ||
           (mover != 0 && !members_is_same(members, mover - 1, job->epoch));
}

/* Mark the tasks whose worker is gone. Returns whether there is any. */
static bool mark_lost(const struct node *node, struct job *job, uint32_t failed, uint64_t *lost)
{
    const struct workflow *workflow = workflow_at(node, job->workflow);
    bool any = false;
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        if (is_gone(node, job, i) || i == failed) {
            bitset_add(lost, i);
            any = true;
        }
    }
    return (node->view.suspects.count > 0 && mark_silent(node, job, lost)) || any;
}

/* New workers for the @lost tasks; the others stay where they are. */
static void replace_lost(
    struct node *node, struct job *job, const struct job_facts *facts, const uint64_t *lost)
{
    const struct workflow *workflow = facts->graph;
    uint16_t fresh[WORKFLOW_TASKS_MAX];
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        fresh[i] = PLACEMENT_UNBOUND;
    }
    policy_place_job(&node->seat, facts, fresh);
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        if (!bitset_has(lost, i)) {
            continue;
        }
        job->placement[i] = fresh[i];
        job_movers(node, job)[i] = 0;
        if (fresh[i] != PLACEMENT_UNBOUND) {
            trace_placed(node, job, i, REASON_REPLACED);
        }
    }
}

/* Only when all are placed: the first message of an attempt must know all of it. */
static void reserve_lost(struct node *node, const struct job *job, const uint64_t *lost)
{
    const struct workflow *workflow = workflow_at(node, job->workflow);
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        const uint32_t worker = placement_worker(job->placement[i]);
        if (bitset_has(lost, i) && worker != WORKER_NONE && workflow->tasks[i].in_count > 0) {
            reserve(node, job, i, worker, task_run_ns(node, job->workflow, i, worker, 1));
        }
    }
}

static void trace_repeated(struct node *node, const struct job *job, enum reason reason)
{
    struct record *record = trace(node, RECORD_REPEATED, reason);
    record->job = job->id;
    record->workflow = (uint16_t)job->workflow;
    record->value = job->attempt;
}

/* Send the inputs off again, under a new attempt, with new workers for the @lost tasks. */
static void run_again(struct node *node, uint32_t slot, const uint64_t *lost, enum reason reason)
{
    struct job *job = job_at(node, slot);
    const struct job_facts facts = job_facts(node, job);
    const struct workflow *workflow = facts.graph;
    job->attempt++;
    job->tried_ns = now_ns(node);
    job->probed = false;
    job->failed = JOB_FAILED_NONE;
    trace_repeated(node, job, reason);
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        if (routing_waits(node, job->workflow, i)) { /* What was claimed was claimed for once. */
            job->placement[i] = PLACEMENT_UNBOUND;
        }
    }
    replace_lost(node, job, &facts, lost);
    for (uint32_t i = 0; i < workflow->source_count; i++) {
        const enum reason obstacle = place_source(node, job, &facts, workflow->sources[i]);
        if (obstacle != REASON_NONE) {
            jobs_end(node, slot, WEFT_FAILED, obstacle);
            return;
        }
    }
    reserve_lost(node, job, lost);
    send_sources(node, slot);
}

bool placing_again(struct node *node, uint32_t slot, uint32_t failed)
{
    struct job *job = job_at(node, slot);
    uint64_t lost[WORKFLOW_TASKS_MAX / 64] = {0};
    if (job->hold != HOLD_NONE) {
        return false; /* When it goes on, it is for all that was lost until then. */
    }
    if (failed != TASK_NONE) { /* Also if it has to wait: no node says it again. */
        job->failed = (uint16_t)failed;
    }
    if (now_ns(node) < job->again_ns) {
        members_look_later(node, job->again_ns);
        return false;
    }
    if (!mark_lost(node, job, job->failed, lost)) {
        job->epoch = node->view.members->epoch;
        return false;
    }
    job->losses++;
    if (job->losses >= JOB_ATTEMPTS_MAX) {
        jobs_end(node, slot, WEFT_FAILED, REASON_ATTEMPTS);
        return true;
    }
    if (node->keys.is_on && keys_lost(node, job)) {
        job->hold = HOLD_AGAIN;
        return true;
    }
    job->epoch = node->view.members->epoch;
    run_again(node, slot, lost, REASON_REPLACED);
    return true;
}

void placing_go_on(struct node *node, uint32_t slot)
{
    struct job *job = job_at(node, slot);
    const enum job_hold hold = (enum job_hold)job->hold;
    uint64_t lost[WORKFLOW_TASKS_MAX / 64] = {0};
    job->hold = HOLD_NONE;
    if (hold == HOLD_FIRST) {
        job->epoch = node->view.members->epoch;
        jobs_place(node, slot);
    } else if (hold == HOLD_AGAIN) {
        (void)mark_lost(node, job, job->failed, lost);
        job->epoch = node->view.members->epoch;
        run_again(node, slot, lost, REASON_REPLACED);
    }
}

void placing_silent(struct node *node, uint32_t slot)
{
    const uint64_t lost[WORKFLOW_TASKS_MAX / 64] = {0};
    job_at(node, slot)->hold = HOLD_NONE;
    run_again(node, slot, lost, REASON_SILENCE);
}
