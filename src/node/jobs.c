#include "node/jobs.h"

#include "base/numbers.h"
#include "node/access.h"
#include "node/audit.h"
#include "node/early.h"
#include "node/home.h"
#include "node/keys.h"
#include "node/members.h"
#include "node/outbox.h"
#include "node/placing.h"
#include "node/visits.h"

static void link_job(struct node *node, uint32_t slot)
{
    slot_list_insert(&node->job_list, job_links(node), node->job_list.last, slot);
    node->job_count++;
}

static void unlink_job(struct node *node, uint32_t slot)
{
    if (node->repair_job == slot) {
        node->repair_job = job_at(node, slot)->link.next;
    }
    slot_list_remove(&node->job_list, job_links(node), slot);
    node->job_count--;
}

void jobs_refuse(
    struct node *node, const struct event_request *request, enum reason reason,
    int64_t retry_after_ns)
{
    struct record *record = trace(node, RECORD_REFUSED, reason);
    record->workflow = (uint16_t)request->workflow;
    record->value = retry_after_ns;
    struct effect *effect = effect_add(node, EFFECT_REFUSE);
    effect->answer = (struct effect_answer){
        .client = request->client,
        .status = WEFT_REFUSED,
        .reason = reason,
        .retry_after_ns = retry_after_ns,
    };
    if (request->inputs.id != 0) {
        effect_add(node, EFFECT_RELEASE)->release = request->inputs;
    }
}

/* Why a request for @workflow cannot be taken whatever the policy says. */
static enum reason obstacle(const struct node *node, const struct workflow *workflow)
{
    if (node->draining) {
        return REASON_DRAIN;
    }
    if (node->pools->jobs.used == node->pools->jobs.capacity) {
        return REASON_FULL;
    }
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        const struct workflow_task *task = &workflow->tasks[i];
        for (uint32_t m = 0; m < task->model_count; m++) {
            if (node->workers[0].models[task->models[m]].withdrawn) {
                return REASON_UNAVAILABLE;
            }
        }
    }
    return REASON_NONE;
}

static void accept(struct node *node, const struct job *job)
{
    struct effect *effect = effect_add(node, EFFECT_ACCEPT);
    effect->accept.client = job->client;
    effect->accept.job = job->id;
    effect->accept.deputy = NODE_NONE;
}

static uint32_t open_job(
    struct node *node, const struct event_request *request, const struct job_facts *facts)
{
    const struct workflow *workflow = facts->graph;
    const uint32_t slot = pool_take(&node->pools->jobs);
    struct job *job = job_at(node, slot);
    job->id = facts->id;
    job->client = request->client;
    job->workflow = (uint8_t)request->workflow;
    job->items = facts->items;
    job->priority = priority_bounded(facts->priority);
    job->firm = facts->firm;
    job->inputs = tensor_take(node, request->inputs, facts->items, request->bytes);
    job->outputs = POOL_NONE;
    job->failed = JOB_FAILED_NONE;
    job->epoch = node->view.members->epoch;
    job->touched_ns = now_ns(node);
    audit_start(node);
    job->arrived_ns = facts->arrived_ns;
    job->deadline_ns = facts->deadline_ns;
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        job->placement[i] = PLACEMENT_UNBOUND;
    }
    link_job(node, slot);
    map_put(&node->jobs, job_key(job->id), slot);
    if (job->firm) {
        deadlines_add(node, slot);
    }
    node->job_number++;
    struct record *record = trace(node, RECORD_ARRIVED, REASON_NONE);
    record->job = facts->id;
    record->workflow = (uint16_t)request->workflow;
    record->value = facts->items;
    policy_arrived(&node->seat, facts);
    return slot;
}

void jobs_place(struct node *node, uint32_t slot)
{
    const struct job_facts facts = job_facts(node, job_at(node, slot));
    const enum reason reason = placing_first(node, slot, &facts);
    if (reason != REASON_NONE) { /* What never fits, or was accepted once, is not refused. */
        const bool is_final = reason == REASON_TOO_LARGE || job_at(node, slot)->losses > 0;
        jobs_end(node, slot, is_final ? WEFT_FAILED : WEFT_REFUSED, reason);
    }
}

/* What the next job is called. */
static struct job_id next_id(const struct node *node, uint32_t edition)
{
    const uint64_t number = job_number(edition, node->job_number + 1);
    return (struct job_id){node->id, node->incarnation, number};
}

void jobs_request(struct node *node, const struct event_request *request)
{
    ASSERT(request->workflow < node->catalogue->workflow_count);
    const struct workflow *workflow = workflow_at(node, request->workflow);
    const bool is_keyed = node->keys.is_on && request_key_is_set(request->key);
    if (is_keyed && keys_request(node, request)) {
        return;
    }
    const enum reason reason = obstacle(node, workflow);
    if (reason != REASON_NONE) {
        jobs_refuse(node, request, reason, /* retry_after_ns */ 0);
        return;
    }
    const int64_t slo_ns = request->slo_ns != 0 ? request->slo_ns : workflow->slo_ns;
    const struct job_facts facts = {
        .id = next_id(node, request->edition),
        .workflow = request->workflow,
        .graph = workflow,
        .arrived_ns = now_ns(node),
        .deadline_ns = slo_ns == 0 ? INT64_MAX : now_ns(node) + duration_bounded(slo_ns),
        .firm = request->slo_ns != 0,
        .items = items_bounded(request->items),
        .priority = request->priority != 0 ? request->priority : workflow->priority,
        .ingress = node->view.worker_first,
    };
    const struct admission admission = policy_admit(&node->seat, &facts);
    if (!admission.admitted) {
        jobs_refuse(node, request, REASON_ADMISSION, admission.retry_after_ns);
        return;
    }
    if (is_keyed && keys_recall(node, request)) {
        return;
    }
    const uint32_t slot = open_job(node, request, &facts);
    job_at(node, slot)->forecast = admission.forecast;
    accept(node, job_at(node, slot));
    if (is_keyed) {
        keys_opened(node, slot, request);
    }
    jobs_place(node, slot);
}

uint32_t jobs_adopt(struct node *node, const struct event_request *request, int64_t deadline_ns)
{
    if (node->pools->jobs.used == node->pools->jobs.capacity) {
        return POOL_NONE;
    }
    const struct job_facts facts = {
        .id = next_id(node, request->edition),
        .workflow = request->workflow,
        .graph = workflow_at(node, request->workflow),
        .arrived_ns = now_ns(node),
        .deadline_ns = deadline_ns,
        .firm = request->slo_ns != 0,
        .items = items_bounded(request->items),
        .priority = request->priority,
        .ingress = node->view.worker_first,
    };
    return open_job(node, request, &facts);
}

uint32_t jobs_find(const struct node *node, struct job_id id)
{
    const bool is_own = id.node == node->id && id.incarnation == node->incarnation;
    return is_own ? map_get(&node->jobs, job_key(id)) : MAP_NONE;
}

void jobs_tell(struct node *node, const struct job *job, const struct message *message)
{
    const uint32_t task_count = workflow_at(node, job->workflow)->task_count;
    for (uint32_t i = 0; i < task_count; i++) {
        const uint32_t worker = placement_worker(job->placement[i]);
        bool told = worker == WORKER_NONE;
        for (uint32_t k = 0; k < i && !told; k++) {
            const uint32_t other = placement_worker(job->placement[k]);
            told =
                other != WORKER_NONE && node_of_worker(node, other) == node_of_worker(node, worker);
        }
        if (!told && members_is_up(node->view.members, node_of_worker(node, worker))) {
            outbox_send(node, node_of_worker(node, worker), message);
        }
    }
}

/* Tell every node that may have something of @job to drop it. */
static void recall(struct node *node, const struct job *job)
{
    const struct message cancel = {
        .kind = MESSAGE_CANCEL,
        .job = job->id,
        .workflow = job->workflow,
    };
    jobs_tell(node, job, &cancel);
    visits_cancel(node, job->id, REASON_CANCEL); /* Joins may meet at the owner unplanned. */
}

/* The client of @job, if it still waits, gets its outputs, by sink, in @outputs. */
static uint32_t pass_outputs(
    struct node *node, struct job *job, bool wanted, struct handle *outputs)
{
    uint32_t count = 0;
    uint32_t slot = job->outputs;
    while (slot != POOL_NONE) {
        const struct input output = *input_at(node, slot);
        if (wanted) {
            outputs[output.number] = tensor_pass(node, output.tensor);
            count++;
        } else {
            tensor_release(node, output.tensor);
        }
        pool_give(&node->pools->inputs, slot);
        slot = output.next;
    }
    return count;
}

/* Tell the policy that admitted @job how it went. */
static void report_end(
    struct node *node, const struct job *job, enum weft_status status, enum reason reason)
{
    const struct job_facts facts = job_facts(node, job);
    const struct answered_facts answered = {
        .job = &facts,
        .forecast = job->forecast,
        .latency_ns = now_ns(node) - job->arrived_ns,
        .completed = status == WEFT_OK,
        .cut = reason == REASON_CANCEL,
        .late = reason == REASON_LATE,
    };
    policy_answered(&node->seat, &answered);
}

void jobs_end(struct node *node, uint32_t slot, enum weft_status status, enum reason reason)
{
    struct job *job = job_at(node, slot);
    const bool good = status == WEFT_OK;
    struct record *record = trace(node, RECORD_ANSWERED, reason);
    record->job = job->id;
    record->workflow = (uint16_t)job->workflow;
    record->value = now_ns(node) - job->arrived_ns;
    struct handle *outputs = node->outputs + node->output_count; /* A batch may end many. */
    uint32_t output_count = 0;
    const bool is_kept =
        node->keys.is_on && keys_ended(node, job, status, reason, outputs, &output_count);
    if (!is_kept) {
        output_count = pass_outputs(node, job, good, outputs);
    }
    node->output_count += output_count;
    ASSERT(node->output_count <= node->outputs_max);
    if (job->client != CLIENT_NONE) {
        effect_add(node, EFFECT_ANSWER)->answer = (struct effect_answer){
            .client = job->client,
            .job = job->id,
            .status = status,
            .reason = reason,
            .output_count = output_count,
            .outputs = outputs,
            .is_kept = is_kept,
        };
    }
    report_end(node, job, status, reason);
    (void)map_remove(&node->jobs, job_key(job->id));
    unlink_job(node, slot);
    if (job->firm) {
        deadlines_remove(node, slot);
    }
    tensor_release(node, job->inputs);
    if (!good || job->attempt > 0) { /* Otherwise everything has run, and nothing is left. */
        recall(node, job);
    }
    node->keys.stalled -= job->stalled ? 1 : 0;
    pool_give(&node->pools->jobs, slot);
}

void jobs_cancel(struct node *node, struct job_id id)
{
    const uint32_t slot = jobs_find(node, id);
    if ((node->keys.is_on && keys_cancelled(node, id)) || slot == MAP_NONE) {
        return; /* Without a job, it crossed the answer. */
    }
    const struct job *job = job_at(node, slot);
    struct record *record = trace(node, RECORD_CANCELLED, REASON_NONE);
    record->job = id;
    record->workflow = (uint16_t)job->workflow;
    record->value = now_ns(node) - job->arrived_ns;
    jobs_end(node, slot, WEFT_CANCELLED, REASON_CANCEL);
}

void jobs_output(struct node *node, const struct message *message, uint32_t tensor)
{
    const uint32_t slot = jobs_find(node, message->job);
    if (slot == MAP_NONE) {
        tensor_release(node, tensor); /* Answered already. */
        return;
    }
    struct job *job = job_at(node, slot);
    const struct workflow *workflow = workflow_at(node, job->workflow);
    bool useful = message->work.input < workflow->sink_count;
    for (uint32_t i = job->outputs; i != POOL_NONE; i = input_at(node, i)->next) {
        useful = useful && input_at(node, i)->number != message->work.input;
    }
    if (!useful) {
        tensor_release(node, tensor);
        return;
    }
    const uint32_t output_slot = pool_take_raw(&node->pools->inputs);
    ASSERT(output_slot != POOL_NONE);
    *input_at(node, output_slot) = (struct input){
        .next = job->outputs,
        .number = message->work.input,
        .tensor = tensor,
        .items = message->work.items,
        .bytes = message->work.bytes,
    };
    job->outputs = output_slot;
    job->output_count++;
    jobs_finish(node, slot);
}

bool jobs_is_complete(const struct node *node, const struct job *job)
{
    return job->output_count == workflow_at(node, job->workflow)->sink_count;
}

void jobs_finish(struct node *node, uint32_t slot)
{
    struct job *job = job_at(node, slot);
    if (!jobs_is_complete(node, job)) {
        return;
    }
    if (node->keys.is_on && keys_must_wait(node, job)) {
        keys_stall(node, job);
        return;
    }
    if (job->firm && now_ns(node) > job->deadline_ns) { /* Before its timer was heard of. */
        jobs_end(node, slot, WEFT_CANCELLED, REASON_LATE);
    } else {
        jobs_end(node, slot, WEFT_OK, REASON_NONE);
    }
}

/* No client waits any more for the job of @message: @to shall drop it. */
static void send_cancel(struct node *node, const struct message *message, uint32_t to)
{
    const struct message cancel = {
        .kind = MESSAGE_CANCEL,
        .to_incarnation = to == message->from ? message->from_incarnation : 0,
        .job = message->job,
    };
    if (members_is_up(node->view.members, to)) {
        outbox_send(node, to, &cancel);
    }
}

bool jobs_is_placed_on(const struct node *node, const struct job *job, uint32_t peer)
{
    const uint32_t task_count = workflow_at(node, job->workflow)->task_count;
    for (uint32_t i = 0; i < task_count; i++) {
        const uint32_t worker = placement_worker(job->placement[i]);
        if (worker != WORKER_NONE && node_of_worker(node, worker) == peer) {
            return true;
        }
    }
    return false;
}

bool jobs_is_known_to(const struct node *node, struct job *job, uint32_t peer)
{
    const uint32_t task_count = workflow_at(node, job->workflow)->task_count;
    const uint16_t *movers = job_movers(node, job);
    bool is_known = peer == node->id || jobs_is_placed_on(node, job, peer);
    for (uint32_t i = 0; i < task_count && !is_known; i++) {
        is_known = movers[i] == peer + 1;
    }
    return is_known;
}

/* Whether the sender of @message may say what became of a task of @job; perhaps only later. */
static bool may_say(struct node *node, struct job *job, const struct message *message)
{
    const bool may = jobs_is_known_to(node, job, message->from);
    if (!may) {
        early_keep(node, message);
    }
    return may;
}

/*
 * A task of @job went to a life of @peer that is over, though its next one was there when @job was
 * last checked: who sent it has not heard of that yet. Until it has, it would do so again.
 */
static void outlive(struct node *node, struct job *job, uint32_t peer)
{
    job->epoch = node->view.members->since[peer] - 1;
    job->again_ns = now_ns(node) + (OUTLIVED_NS << min_u32(job->losses, OUTLIVED_SHIFT_MAX));
    members_look_later(node, job->again_ns);
}

void jobs_moved(struct node *node, const struct message *message)
{
    const uint32_t to = node_of_worker(node, message->worker);
    const uint32_t slot = jobs_find(node, message->job);
    if (slot == MAP_NONE) {
        if (message->job.node == node->id) {
            send_cancel(node, message, to);
        }
        return;
    }
    struct job *job = job_at(node, slot);
    if (message->attempt < job->attempt ||
        message->task >= workflow_at(node, job->workflow)->task_count) {
        return; /* News of a placement that has been replaced. */
    }
    const bool is_claim = home_is_kept(node) && to == message->from; /* Any node may be granted. */
    if (!is_claim && !may_say(node, job, message)) {
        return;
    }
    job->placement[message->task] = (uint16_t)message->worker;
    job_movers(node, job)[message->task] = (uint16_t)(message->from + 1);
    job->touched_ns = now_ns(node);
    job->probed = false;
    if (!members_is_same(node->view.members, to, job->epoch)) {
        /*
         * It went to a node whose loss was dealt with before this news came. Not now: the
         * news may come from this node, which is busy with the very task.
         */
        members_look_again(node);
    } else if (message->life < members_incarnation(node->view.members, to)) {
        outlive(node, job, to);
    }
}

void jobs_failed(struct node *node, const struct message *message)
{
    const uint32_t slot = jobs_find(node, message->job);
    if (slot == MAP_NONE) {
        return;
    }
    struct job *job = job_at(node, slot);
    if (message->attempt < job->attempt || jobs_is_complete(node, job) ||
        message->task >= workflow_at(node, job->workflow)->task_count ||
        message->reason >= REASON_COUNT) {
        return;
    }
    if (!may_say(node, job, message)) {
        return;
    }
    if (message->reason == REASON_INVALID) {
        jobs_end(node, slot, WEFT_INVALID, REASON_INVALID);
        return;
    }
    if (message->reason == REASON_LATE) {
        jobs_end(node, slot, WEFT_CANCELLED, REASON_LATE);
        return;
    }
    if (message->reason == REASON_UNAVAILABLE || message->reason == REASON_CRASHED ||
        job->losses + 1 >= JOB_ATTEMPTS_MAX) {
        jobs_end(node, slot, WEFT_FAILED, (enum reason)message->reason);
        return;
    }
    (void)placing_again(node, slot, message->task);
}

void jobs_query(struct node *node, const struct message *message)
{
    if (message->job.node == node->id && jobs_find(node, message->job) == MAP_NONE &&
        !(node->keys.is_on && keys_queried(node, message))) {
        send_cancel(node, message, message->from);
    }
}

bool jobs_repair(struct node *node)
{
    for (uint32_t looks = 0; looks < REPAIR_LOOKS_PER_STEP; looks++) {
        const uint32_t slot = node->repair_job;
        if (slot == POOL_NONE || node->repairs_left == 0) {
            break;
        }
        node->repair_job = job_at(node, slot)->link.next;
        if (!jobs_is_complete(node, job_at(node, slot)) && placing_again(node, slot, TASK_NONE)) {
            node->repairs_left--;
        }
    }
    return node->repair_job != POOL_NONE;
}
