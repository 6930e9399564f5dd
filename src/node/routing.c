#include "node/routing.h"

#include "base/units.h"
#include "node/access.h"
#include "node/dispatch.h"
#include "node/grants.h"
#include "node/members.h"
#include "node/model_cache.h"
#include "node/offers.h"
#include "node/outbox.h"
#include "node/visits.h"
#include "policy/choose.h"

/* An input of task @task of @visit, with @items, for a worker that is still to be named. */
static struct message input_message(
    const struct node *node, const struct visit *visit, uint32_t task, uint32_t items)
{
    struct message input = visit_message(visit, MESSAGE_INPUT, task, WORKER_NONE);
    input.work = visit_work(node, visit, items);
    input.work.placement_count = (uint16_t)workflow_at(node, visit->workflow)->task_count;
    input.work.placement = visit->placement;
    return input;
}

uint64_t routing_note(struct node *node, uint32_t worker, int64_t run_ns)
{
    if (view_is_own(&node->view, worker)) {
        return 0; /* Own rows are fresh. */
    }
    return reservations_add(&node->view.reservations, worker, run_ns);
}

void routing_tell(struct node *node, struct message *input)
{
    if (!node->seat.announces || view_is_own(&node->view, input->worker) ||
        input->work.bytes < TOLD_BYTES_MIN) {
        return;
    }
    struct message told = *input;
    told.kind = MESSAGE_RESERVE;
    outbox_send(node, node_of_worker(node, input->worker), &told);
    input->sequence = 0; /* One promise, in the message that is there first. */
}

uint32_t routing_place(struct node *node, const struct task_facts *facts)
{
    const struct need need = need_at(node, facts->job->workflow, facts->task, facts->items);
    const bool keeps = facts->planned != WORKER_NONE &&
                       view_is_usable(&node->view, facts->planned) &&
                       can_run(node, need, facts->planned);
    if (keeps && !node->seat.places_tasks) {
        return facts->planned;
    }
    uint32_t worker = policy_place_task(&node->seat, facts);
    if (worker == WORKER_NONE && node->draining && can_run(node, need, facts->here)) {
        worker = facts->here; /* No other worker is left to finish it. */
    }
    if (worker == WORKER_NONE || worker == facts->planned) {
        return worker;
    }
    enum reason reason = REASON_BOUND;
    if (facts->planned != WORKER_NONE) {
        reason = keeps ? REASON_ADJUSTED : REASON_REPLACED;
    }
    if (facts->gathered && worker != facts->here) {
        reason = REASON_FORWARDED;
    }
    trace_weighed(node, facts->job->id, facts->job->workflow, facts->task);
    struct record *record = trace(node, RECORD_PLACED, reason);
    record->job = facts->job->id;
    record->workflow = (uint16_t)facts->job->workflow;
    record->task = facts->task;
    record->worker = worker;
    return worker;
}

/* Tell the owner that task @number of @visit goes to @worker, and to which life of its node. */
static void tell_owner(
    struct node *node, const struct visit *visit, uint32_t number, uint32_t worker)
{
    const uint32_t peer = node_of_worker(node, worker);
    struct message moved = visit_message(visit, MESSAGE_MOVED, number, worker);
    moved.life =
        peer == node->id ? node->incarnation : members_incarnation(node->view.members, peer);
    outbox_send(node, visit->job.node, &moved);
}

/* Task @number of @visit goes to @worker: the owner, and what waits for it, must know. */
static void announce(struct node *node, struct visit *visit, uint32_t number, uint32_t worker)
{
    const uint32_t planned = placement_worker(visit->placement[number]);
    if (planned == worker) {
        return;
    }
    visit->placement[number] = (uint16_t)worker;
    tell_owner(node, visit, number, worker);
    /* Within one node the task itself brings the news. */
    if (planned != WORKER_NONE && node_of_worker(node, planned) != node_of_worker(node, worker) &&
        members_is_up(node->view.members, node_of_worker(node, planned))) {
        const struct message unreserve = visit_message(visit, MESSAGE_UNRESERVE, number, worker);
        outbox_send(node, node_of_worker(node, planned), &unreserve);
    }
}

void routing_bind(struct node *node, uint32_t slot)
{
    const struct task *task = task_at(node, slot);
    announce(node, visit_at(node, task->visit), task->number, task->worker);
}

static void send_input(struct node *node, const struct message *input, uint32_t tensor)
{
    struct record *record = trace(node, RECORD_SENT, REASON_NONE);
    record->job = input->job;
    record->workflow = (uint16_t)input->workflow;
    record->task = input->task;
    record->worker = input->worker;
    record->value = (int64_t)input->work.bytes;
    tensor_hold(node, tensor);
    outbox_move(node, node_of_worker(node, input->worker), input, tensor);
}

/* One output edge of @task: decide where its consumer runs, and send. */
static void route_edge(
    struct node *node, struct visit *visit, const struct task *task, uint32_t tensor, uint32_t edge)
{
    const struct workflow *workflow = workflow_at(node, visit->workflow);
    const struct workflow_edge *crossed = &workflow->edges[edge];
    const uint32_t to = crossed->to;
    const uint32_t items = tensor_at(node, tensor)->items;
    struct message input = input_message(node, visit, to, items);
    input.work.input = crossed->in_index;
    input.work.bytes = workflow_edge_bytes(crossed, items);
    if (workflow_is_join(workflow, to)) {
        const uint32_t owner = node->fleet->nodes[visit->job.node].worker_first;
        input.worker = workflow_rendezvous(workflow, visit->placement, to, owner);
        const uint32_t peer = node_of_worker(node, input.worker);
        if (!members_is_in_reach(node, peer)) { /* The owner may know a later life of it. */
            tell_owner(node, visit, to, input.worker);
        }
        if (members_is_up(node->view.members, peer)) {
            send_input(node, &input, tensor);
        } /* Or else the owner re-places what was lost, and this output with it. */
        return;
    }
    if (routing_waits(node, visit->workflow, to)) { /* It stays until its consumer is claimed. */
        input.worker = task->worker;
        tensor_hold(node, tensor);
        outbox_move(node, node->id, &input, tensor);
        return;
    }
    const struct job_facts job = visit_facts(node, visit);
    const struct input_facts from = {.worker = task->worker, .bytes = input.work.bytes};
    const struct task_facts facts = {
        .job = &job,
        .placement = visit->placement,
        .task = to,
        .items = items,
        .planned = placement_worker(visit->placement[to]),
        .here = task->worker,
        .input_count = 1,
        .inputs = &from,
    };
    const uint32_t worker = routing_place(node, &facts);
    if (worker == WORKER_NONE) {
        struct message failed = visit_message(visit, MESSAGE_FAILED, to, task->worker);
        failed.reason = why_none(node, need_at(node, visit->workflow, to, items));
        outbox_send(node, visit->job.node, &failed);
        return;
    }
    input.worker = worker;
    input.work.settled = true;
    if (worker != facts.planned) {
        announce(node, visit, to, worker);
        input.sequence =
            routing_note(node, worker, task_run_ns(node, visit->workflow, to, worker, items));
        routing_tell(node, &input);
    }
    send_input(node, &input, tensor);
}

void routing_output(
    struct node *node, struct visit *visit, const struct task *task, uint32_t tensor)
{
    const struct workflow *workflow = workflow_at(node, visit->workflow);
    const struct workflow_task *made = &workflow->tasks[task->number];
    if (made->sink != TASK_NONE) {
        struct message answer = visit_message(visit, MESSAGE_INPUT, TASK_ANSWER, /* worker */ 0);
        answer.work = visit_work(node, visit, tensor_at(node, tensor)->items);
        answer.work.input = made->sink;
        answer.work.bytes = tensor_at(node, tensor)->bytes;
        tensor_hold(node, tensor);
        outbox_move(node, visit->job.node, &answer, tensor);
        return;
    }
    for (uint32_t i = 0; i < made->out_count && !visit->dropped; i++) {
        route_edge(node, visit, task, tensor, workflow->edges_out[made->out_first + i]);
    }
}

void routing_forward(
    struct node *node, struct visit *visit, const struct task *task, uint32_t worker)
{
    const int64_t run_ns = task_run_ns(node, visit->workflow, task->number, worker, task->items);
    /* The task leaves this worker by itself: no node has to be told to unreserve it. */
    visit->placement[task->number] = PLACEMENT_UNBOUND;
    announce(node, visit, task->number, worker);
    /* Who has claimed it has told its worker. */
    const bool claimed = routing_waits(node, visit->workflow, task->number);
    uint64_t sequence = claimed ? 0 : routing_note(node, worker, run_ns);
    for (uint32_t slot = task->inputs; slot != POOL_NONE; slot = input_at(node, slot)->next) {
        const struct input *held = input_at(node, slot);
        struct message input = input_message(node, visit, task->number, held->items);
        input.worker = worker;
        input.work.settled = true;
        input.work.input = held->number;
        input.work.bytes = held->bytes;
        input.sequence = sequence;
        sequence = 0; /* One promise, however many inputs. */
        send_input(node, &input, held->tensor);
    }
}

/* The most inputs that a policy is told of: more are summed up in the last. */
enum { INPUTS_TOLD_MAX = 64 };

/* The inputs of @task, which are all here. Returns how many are in @inputs. */
static uint32_t gathered_inputs(
    const struct node *node, const struct task *task, struct input_facts inputs[INPUTS_TOLD_MAX])
{
    uint32_t count = 0;
    for (uint32_t slot = task->inputs; slot != POOL_NONE; slot = input_at(node, slot)->next) {
        if (count < INPUTS_TOLD_MAX) {
            inputs[count] = (struct input_facts){.worker = task->worker};
            count++;
        }
        inputs[count - 1].bytes += input_at(node, slot)->bytes;
    }
    return count;
}

/* What a policy is told of @task, whose inputs, of the @job of @visit, are all here. */
static struct task_facts gathered_facts(
    const struct visit *visit, const struct task *task, const struct job_facts *job)
{
    return (struct task_facts){
        .job = job,
        .placement = visit->placement,
        .task = task->number,
        .items = task->items,
        .here = task->worker,
        .gathered = true,
    };
}

/* Ask whether the join @task, gathered here, should run elsewhere. */
static uint32_t place_join(struct node *node, const struct visit *visit, const struct task *task)
{
    struct input_facts inputs[INPUTS_TOLD_MAX];
    ASSERT(workflow_is_join(workflow_at(node, visit->workflow), task->number));
    const struct job_facts job = visit_facts(node, visit);
    struct task_facts facts = gathered_facts(visit, task, &job);
    facts.planned = placement_worker(visit->placement[task->number]);
    facts.input_count = gathered_inputs(node, task, inputs);
    facts.inputs = inputs;
    return routing_place(node, &facts);
}

uint32_t routing_elsewhere(struct node *node, uint32_t slot)
{
    struct input_facts inputs[INPUTS_TOLD_MAX];
    const struct task *task = task_at(node, slot);
    const struct visit *visit = visit_at(node, task->visit);
    const struct need need = need_at(node, visit->workflow, task->number, task->items);
    if (choose_first(&node->view, need) == WORKER_NONE) {
        return WORKER_NONE;
    }
    const struct job_facts job = visit_facts(node, visit);
    struct task_facts facts = gathered_facts(visit, task, &job);
    facts.planned = WORKER_NONE;
    facts.input_count = gathered_inputs(node, task, inputs);
    facts.inputs = inputs;
    const uint32_t worker = policy_place_task(&node->seat, &facts);
    if (worker == WORKER_NONE || view_is_own(&node->view, worker)) {
        return WORKER_NONE;
    }
    trace_weighed(node, visit->job, visit->workflow, task->number);
    struct record *record = trace_task(node, RECORD_PLACED, visit, task);
    record->reason = REASON_FORWARDED;
    record->worker = worker;
    return worker;
}

void routing_gathered(struct node *node, uint32_t slot)
{
    struct task *task = task_at(node, slot);
    struct visit *visit = visit_at(node, task->visit);
    const struct workflow *workflow = workflow_at(node, visit->workflow);
    const struct need need = need_at(node, visit->workflow, task->number, task->items);
    const bool stays =
        visit->placement[task->number] != PLACEMENT_UNBOUND && can_run(node, need, task->worker);
    if (routing_waits(node, visit->workflow, task->number)) {
        if (!grants_take(node, slot)) {
            offers_make(node, slot);
        }
        return;
    }
    if (!task->settled && workflow_is_join(workflow, task->number) &&
        (!stays || node->seat.places_tasks)) {
        task->settled = true;
        const uint32_t worker = place_join(node, visit, task);
        if (worker != WORKER_NONE && !view_is_own(&node->view, worker)) {
            visits_forward(node, slot, worker);
            return;
        }
        if (worker != WORKER_NONE) {
            task->worker = worker;
            announce(node, visit, task->number, worker);
        }
    }
    enum reason obstacle = cache_obstacle(
        node, own_worker(node, task->worker), &workflow->tasks[task->number], task->items);
    if ((obstacle == REASON_NONE || obstacle == REASON_TOO_LARGE) &&
        !can_run(node, need, task->worker)) {
        obstacle = why_none(node, need); /* It was gathered here, and no worker was found. */
    }
    if (!can_run_edition(node, visit->job)) {
        obstacle = REASON_EDITION;
    }
    if (obstacle != REASON_NONE) {
        visits_fail(node, slot, obstacle);
        return;
    }
    dispatch_queue(node, slot);
}
