#include "node/visits.h"

#include <string.h>

#include "base/numbers.h"
#include "node/access.h"
#include "node/audit.h"
#include "node/dispatch.h"
#include "node/grants.h"
#include "node/jobs.h"
#include "node/offers.h"
#include "node/outbox.h"
#include "node/routing.h"
#include "node/rows.h"
#include "node/withdrawn.h"

/* Whether no client waits for @job any more, as far as this node can know. */
static bool is_over(const struct node *node, struct job_id job)
{
    if (job.node == node->id) {
        return jobs_find(node, job) == MAP_NONE;
    }
    if (members_incarnation(node->view.members, job.node) > job.incarnation) {
        return true; /* Its owner is gone. */
    }
    const uint32_t count = min_u32(node->cancelled_count, CANCELLED_MAX);
    for (uint32_t i = 0; i < count; i++) {
        if (job_equal(node->cancelled[i], job)) {
            return true;
        }
    }
    return false;
}

static void link_visit(struct node *node, uint32_t slot)
{
    slot_list_insert(&node->visit_list, visit_links(node), /* before */ POOL_NONE, slot);
    node->visit_count++;
}

static void unlink_visit(struct node *node, uint32_t slot)
{
    if (node->repair_visit == slot) {
        node->repair_visit = visit_at(node, slot)->link.next;
    }
    slot_list_remove(&node->visit_list, visit_links(node), slot);
    node->visit_count--;
}

/*
 * Take what @message knows better: a newer placement; workers for tasks that are unbound
 * here; and where the ancestors of its task really ran, which this node may know only
 * from an older plan. All who send to one join then agree on where it meets.
 */
static void merge_placement(
    const struct workflow *workflow, struct visit *visit, const struct message *message)
{
    if (message->attempt < visit->attempt) {
        return;
    }
    if (message->attempt > visit->attempt) {
        visit->attempt = message->attempt;
        memcpy(
            visit->placement, message->work.placement,
            message->work.placement_count * sizeof(visit->placement[0]));
        return;
    }
    for (uint32_t i = 0; i < message->work.placement_count; i++) {
        const bool knows = message->kind == MESSAGE_INPUT &&
                           message->work.placement[i] != PLACEMENT_UNBOUND &&
                           workflow_is_ancestor(workflow, i, message->task);
        if (knows || visit->placement[i] == PLACEMENT_UNBOUND) {
            visit->placement[i] = message->work.placement[i];
        }
    }
}

int64_t duration_bounded(int64_t ns)
{
    if (ns > DURATION_NS_MAX) {
        return DURATION_NS_MAX;
    }
    return max_i64(ns, -DURATION_NS_MAX);
}

uint32_t visits_of(const struct node *node, struct job_id job)
{
    const uint32_t slot = map_get(&node->visits, job_key(job));
    return slot != MAP_NONE && job_equal(visit_at(node, slot)->job, job) ? slot : MAP_NONE;
}

/*
 * Whether the key of @job can be had. A job of an earlier life of its owner makes way. Any other
 * is so far apart that the message is as good as lost: the owner asks, and sends it again.
 */
static bool make_way(struct node *node, struct job_id job)
{
    const uint32_t slot = map_get(&node->visits, job_key(job));
    if (slot == MAP_NONE) {
        return true;
    }
    const struct job_id known = visit_at(node, slot)->job;
    if (known.node == job.node && known.incarnation < job.incarnation) {
        visits_cancel(node, known, REASON_OWNER_LOST);
        return true;
    }
    return false;
}

/* The visit of the job of @message. POOL_NONE if that is known, with another workflow. */
static uint32_t open_visit(struct node *node, const struct message *message)
{
    uint32_t slot = visits_of(node, message->job);
    if (slot != MAP_NONE) {
        struct visit *known = visit_at(node, slot);
        if (known->workflow != message->workflow) {
            return POOL_NONE;
        }
        known->touched_ns = now_ns(node);
        merge_placement(workflow_at(node, known->workflow), known, message);
        return slot;
    }
    if (!make_way(node, message->job)) {
        return POOL_NONE;
    }
    const struct message_work *work = &message->work;
    slot = pool_take(&node->pools->visits);
    ASSERT(slot != POOL_NONE);
    struct visit *visit = visit_at(node, slot);
    visit->job = message->job;
    visit->workflow = (uint8_t)message->workflow;
    visit->attempt = message->attempt;
    visit->priority = priority_bounded(work->priority);
    visit->firm = work->firm;
    visit->tasks = POOL_NONE;
    visit->arrived_ns = now_ns(node) - duration_bounded(work->age_ns);
    visit->deadline_ns =
        work->left_ns == INT64_MAX ? INT64_MAX : now_ns(node) + duration_bounded(work->left_ns);
    visit->touched_ns = now_ns(node);
    memcpy(visit->placement, work->placement, work->placement_count * sizeof(visit->placement[0]));
    link_visit(node, slot);
    map_put(&node->visits, job_key(message->job), slot);
    audit_start(node);
    return slot;
}

/* Close the visit if nothing of it is left. */
static void close_visit(struct node *node, uint32_t slot)
{
    const struct visit *visit = visit_at(node, slot);
    if (visit->tasks != POOL_NONE || visit->held > 0) {
        return;
    }
    if (!visit->dropped) {
        (void)map_remove(&node->visits, job_key(visit->job));
        unlink_visit(node, slot);
    }
    pool_give(&node->pools->visits, slot);
}

static uint32_t find_task(const struct node *node, const struct visit *visit, uint32_t number)
{
    uint32_t slot = visit->tasks;
    while (slot != POOL_NONE && task_at(node, slot)->number != number) {
        slot = task_at(node, slot)->next_of_visit;
    }
    return slot;
}

uint32_t visits_find(const struct node *node, uint32_t visit, uint32_t number)
{
    return find_task(node, visit_at(node, visit), number);
}

static uint32_t add_task(struct node *node, uint32_t visit_slot, uint32_t number, uint32_t worker)
{
    const uint32_t slot = pool_take(&node->pools->tasks);
    ASSERT(slot != POOL_NONE);
    struct visit *visit = visit_at(node, visit_slot);
    struct task *task = task_at(node, slot);
    task->visit = visit_slot;
    task->next_of_visit = visit->tasks;
    task->next_in_queue = POOL_NONE;
    task->inputs = POOL_NONE;
    task->number = (uint16_t)number;
    task->worker = worker;
    visit->tasks = slot;
    return slot;
}

static void release_inputs(struct node *node, struct task *task)
{
    uint32_t slot = task->inputs;
    while (slot != POOL_NONE) {
        const struct input input = *input_at(node, slot);
        tensor_release(node, input.tensor);
        pool_give(&node->pools->inputs, slot);
        slot = input.next;
    }
    task->inputs = POOL_NONE;
}

/* Take task @slot out of its visit and forget it. Its queue or batch must not know it. */
static void remove_task(struct node *node, uint32_t slot)
{
    struct task *task = task_at(node, slot);
    struct visit *visit = visit_at(node, task->visit);
    uint32_t *link = &visit->tasks;
    while (*link != slot) {
        link = &task_at(node, *link)->next_of_visit;
    }
    *link = task->next_of_visit;
    release_inputs(node, task);
    task_state_move(&task->state, TASK_GONE);
    pool_give(&node->pools->tasks, slot);
}

/* Task @slot waits no more, in its worker's queue, in its home's or in a batch. */
static void stop_waiting(struct node *node, uint32_t slot)
{
    const enum task_state state = (enum task_state)task_at(node, slot)->state;
    if (state == TASK_QUEUED) {
        dispatch_unqueue(node, slot);
    } else if (state == TASK_OFFERED) {
        offers_withdraw(node, slot);
    } else if (state == TASK_CLAIMED) {
        grants_leave(node, slot);
    }
}

/* Whatever task @slot is doing, it stops doing it. */
static void drop_task(struct node *node, uint32_t slot, enum reason reason)
{
    struct task *task = task_at(node, slot);
    struct worker *worker = own_worker(node, task->worker);
    if (task->state == TASK_RUNNING) {
        dispatch_abandon(node, slot);
        return; /* The batch gives it back when it ends. */
    }
    trace_task(node, RECORD_DROPPED, visit_at(node, task->visit), task)->reason = (uint8_t)reason;
    if (task->state == TASK_PLANNED) {
        worker->reserved_ns -= task->run_ns;
        rows_load_changed(node, worker);
    } else {
        stop_waiting(node, slot);
    }
    remove_task(node, slot);
}

int64_t task_run_ns(
    const struct node *node, uint32_t workflow, uint32_t task, uint32_t worker, uint32_t items)
{
    const uint32_t run = workflow_at(node, workflow)->tasks[task].run;
    const uint32_t device = node->fleet->workers[worker].device;
    return profile_run_alone_ns(node->profile, run, device, items);
}

struct job_facts visit_facts(const struct node *node, const struct visit *visit)
{
    return (struct job_facts){
        .id = visit->job,
        .workflow = visit->workflow,
        .graph = workflow_at(node, visit->workflow),
        .arrived_ns = visit->arrived_ns,
        .deadline_ns = visit->deadline_ns,
        .firm = visit->firm,
        .items = 1,
        .priority = visit->priority,
        .ingress = node->fleet->nodes[visit->job.node].worker_first,
    };
}

struct ready_facts visit_ready(const struct task *task, const struct job_facts *job)
{
    return (struct ready_facts){
        .job = job,
        .task = task->number,
        .items = task->items,
        .worker = task->worker,
        .ready_ns = task->ready_ns,
        .continues = task->continues,
    };
}

struct message visit_message(
    const struct visit *visit, enum message_kind kind, uint32_t task, uint32_t worker)
{
    return (struct message){
        .kind = kind,
        .job = visit->job,
        .workflow = visit->workflow,
        .task = task,
        .worker = worker,
        .attempt = visit->attempt,
    };
}

struct message_work visit_work(const struct node *node, const struct visit *visit, uint32_t items)
{
    return (struct message_work){
        .items = items,
        .priority = visit->priority,
        .firm = visit->firm,
        .age_ns = now_ns(node) - visit->arrived_ns,
        .left_ns = left_ns(node, visit->deadline_ns),
    };
}

static void reserve_task(
    struct node *node, uint32_t visit_slot, uint32_t number, uint32_t worker_id)
{
    struct visit *visit = visit_at(node, visit_slot);
    const uint32_t known = find_task(node, visit, number);
    if (known != POOL_NONE) {
        task_at(node, known)->is_early = false;
        return; /* Its input was faster than the news of it. */
    }
    struct worker *worker = own_worker(node, worker_id);
    const uint32_t slot = add_task(node, visit_slot, number, worker_id);
    struct task *task = task_at(node, slot);
    task_state_move(&task->state, TASK_PLANNED);
    task->run_ns = task_run_ns(node, visit->workflow, number, worker_id, 1);
    worker->reserved_ns += task->run_ns;
    rows_load_changed(node, worker);
    trace_task(node, RECORD_RESERVED, visit, task)->value = task->run_ns;
}

void visits_reserve(struct node *node, const struct message *message)
{
    rows_notice(node, message);
    if (message->work.placement_count == 0 || is_over(node, message->job)) {
        return;
    }
    const struct workflow *workflow = workflow_at(node, message->workflow);
    const uint32_t visit = open_visit(node, message);
    if (visit == POOL_NONE) {
        return;
    }
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        const bool meant =
            message->task == TASK_NONE
                ? message->work.placement[i] == message->worker && workflow->tasks[i].in_count > 0
                : message->task == i;
        if (meant && !withdrawn_take(node, message, i)) {
            reserve_task(node, visit, i, message->worker);
        }
    }
    close_visit(node, visit);
}

void visits_unreserve(struct node *node, const struct message *message)
{
    const uint32_t visit_slot = visits_of(node, message->job);
    const uint32_t slot = visit_slot == MAP_NONE
                              ? POOL_NONE
                              : find_task(node, visit_at(node, visit_slot), message->task);
    if (slot == POOL_NONE) {
        withdrawn_keep(node, message);
        return;
    }
    if (task_at(node, slot)->state > TASK_GATHERING) {
        return; /* It runs already: the news is too late. */
    }
    struct task *task = task_at(node, slot);
    trace_task(node, RECORD_UNRESERVED, visit_at(node, visit_slot), task);
    if (task->state == TASK_PLANNED) {
        struct worker *worker = own_worker(node, task->worker);
        worker->reserved_ns -= task->run_ns;
        rows_load_changed(node, worker);
    }
    remove_task(node, slot);
    close_visit(node, visit_slot);
}

static bool has_input(const struct node *node, const struct task *task, uint32_t number)
{
    for (uint32_t slot = task->inputs; slot != POOL_NONE; slot = input_at(node, slot)->next) {
        if (input_at(node, slot)->number == number) {
            return true;
        }
    }
    return false;
}

/* The task that @message brings an input for, made if need be. */
static uint32_t receive_task(struct node *node, uint32_t visit_slot, const struct message *message)
{
    struct visit *visit = visit_at(node, visit_slot);
    uint32_t slot = find_task(node, visit, message->task);
    if (slot == POOL_NONE) {
        slot = add_task(node, visit_slot, message->task, message->worker);
        task_state_move(&task_at(node, slot)->state, TASK_GATHERING);
        task_at(node, slot)->is_early = withdrawn_can_be(node, visit, message);
    }
    struct task *task = task_at(node, slot);
    if (task->state == TASK_PLANNED) {
        struct worker *worker = own_worker(node, task->worker);
        worker->reserved_ns -= task->run_ns;
        rows_load_changed(node, worker);
        task_state_move(&task->state, TASK_GATHERING);
        task->worker = message->worker;
    }
    return slot;
}

/* An input has come again: who waits for it need not, and a lost ticket is made again. */
static void drop_duplicate(struct node *node, uint32_t slot, const struct message *message)
{
    const enum task_state state = (enum task_state)task_at(node, slot)->state;
    if (state != TASK_GATHERING) {
        grants_miss(node, message);
    }
    if (state == TASK_OFFERED) {
        offers_again(node, slot);
    }
}

void visits_input(struct node *node, const struct message *message, uint32_t tensor)
{
    own_worker(node, message->worker)->asked = false; /* If it asked, this is the answer. */
    rows_notice(node, message);
    if (is_over(node, message->job)) {
        grants_miss(node, message);
        tensor_release(node, tensor);
        return;
    }
    const struct workflow *workflow = workflow_at(node, message->workflow);
    const struct message_work *work = &message->work;
    const uint32_t in_count = workflow->tasks[message->task].in_count;
    const uint32_t visit_slot = open_visit(node, message);
    if (visit_slot == POOL_NONE) {
        tensor_release(node, tensor);
        return;
    }
    const uint32_t slot = receive_task(node, visit_slot, message);
    struct task *task = task_at(node, slot);
    if (task->state != TASK_GATHERING || has_input(node, task, work->input)) {
        trace_task(node, RECORD_DROPPED, visit_at(node, visit_slot), task)->reason =
            REASON_DUPLICATE;
        drop_duplicate(node, slot, message);
        tensor_release(node, tensor);
        return;
    }
    const uint32_t input_slot = pool_take_raw(&node->pools->inputs);
    ASSERT(input_slot != POOL_NONE);
    *input_at(node, input_slot) = (struct input){
        .next = task->inputs,
        .number = work->input,
        .tensor = tensor,
        .items = work->items,
        .bytes = work->bytes,
    };
    task->inputs = input_slot;
    task->input_count++;
    task->settled = task->settled || work->settled;
    if (in_count > 0 && message->from == node->id) {
        const uint32_t producer = workflow_in(workflow, message->task, work->input)->from;
        task->continues = visit_at(node, visit_slot)->placement[producer] == task->worker;
    }
    task->items = max_u32(task->items, max_u32(work->items, 1));
    if (message->from != node->id) {
        audit_arrived(node, visit_at(node, visit_slot));
    }
    if (task->input_count >= in_count) {
        routing_gathered(node, slot);
    }
}

void visits_cancel(struct node *node, struct job_id job, enum reason reason)
{
    if (reason != REASON_OWNER_LOST) { /* A partition may give the owner back, job and all. */
        node->cancelled[node->cancelled_count % CANCELLED_MAX] = job;
        node->cancelled_count++;
    }
    grants_forget(node, job);
    const uint32_t slot = visits_of(node, job);
    if (slot == MAP_NONE) {
        return;
    }
    struct visit *visit = visit_at(node, slot);
    visit->dropped = true;
    visit->held++;
    (void)map_remove(&node->visits, job_key(job));
    unlink_visit(node, slot);
    uint32_t next = visit->tasks;
    while (next != POOL_NONE) {
        const uint32_t task = next;
        next = task_at(node, task)->next_of_visit;
        drop_task(node, task, reason);
    }
    visit->held--;
    close_visit(node, slot);
}

/* @task is about to leave. If its input was faster than the news of it, that is not to be taken. */
static void outrun(struct node *node, const struct visit *visit, const struct task *task)
{
    if (task->is_early) {
        const struct message done =
            visit_message(visit, MESSAGE_UNRESERVE, task->number, task->worker);
        withdrawn_keep(node, &done);
    }
}

void visits_complete(struct node *node, uint32_t slot, uint32_t tensor)
{
    const struct task task = *task_at(node, slot);
    struct visit *visit = visit_at(node, task.visit);
    visit->held++; /* Routing may answer the job, which may drop this visit. */
    outrun(node, visit, &task);
    remove_task(node, slot);
    if (!task.cancelled) {
        routing_output(node, visit, &task, tensor);
    }
    tensor_release(node, tensor);
    visit->held--;
    close_visit(node, task.visit);
}

void visits_fail(struct node *node, uint32_t slot, enum reason reason)
{
    const struct task task = *task_at(node, slot);
    const struct visit *visit = visit_at(node, task.visit);
    struct record *record = trace_task(node, RECORD_FAILED, visit, &task);
    record->reason = (uint8_t)reason;
    struct message failed = visit_message(visit, MESSAGE_FAILED, task.number, task.worker);
    failed.reason = reason;
    stop_waiting(node, slot);
    remove_task(node, slot);
    close_visit(node, task.visit);
    if (!task.cancelled) {
        outbox_send(node, failed.job.node, &failed);
    }
}

void visits_discard(struct node *node, uint32_t slot)
{
    const uint32_t visit = task_at(node, slot)->visit;
    remove_task(node, slot);
    close_visit(node, visit);
}

void visits_forward(struct node *node, uint32_t slot, uint32_t worker)
{
    struct task *task = task_at(node, slot);
    const uint32_t visit_slot = task->visit;
    struct visit *visit = visit_at(node, visit_slot);
    visit->held++;
    if (task->state == TASK_QUEUED) {
        dispatch_unqueue(node, slot);
    }
    outrun(node, visit, task);
    routing_forward(node, visit, task, worker);
    remove_task(node, slot);
    visit->held--;
    close_visit(node, visit_slot);
}

uint32_t visits_offer_again(struct node *node, uint32_t visit, bool all)
{
    uint32_t count = 0;
    uint32_t slot = visit_at(node, visit)->tasks;
    for (; slot != POOL_NONE; slot = task_at(node, slot)->next_of_visit) {
        const struct task *task = task_at(node, slot);
        if (offers_is_lost(node, task) || (all && task->state == TASK_OFFERED)) {
            offers_again(node, slot);
            count++;
        }
    }
    return count;
}

bool visits_repair(struct node *node)
{
    uint32_t dropped = 0;
    uint32_t offered = 0;
    for (uint32_t looks = 0; looks < REPAIR_LOOKS_PER_STEP; looks++) {
        const uint32_t slot = node->repair_visit;
        if (slot == POOL_NONE || dropped == REPAIRS_PER_STEP || offered >= OFFERS_PER_REPAIR) {
            break;
        }
        const struct visit *visit = visit_at(node, slot);
        node->repair_visit = visit->link.next;
        const struct job_id job = visit->job;
        if (members_is_over(node->view.members, job.node, job.incarnation)) {
            dropped++;
            visits_cancel(node, job, REASON_OWNER_LOST);
        } else {
            offered += visits_offer_again(node, slot, /* all */ false);
        }
    }
    return node->repair_visit != POOL_NONE;
}
