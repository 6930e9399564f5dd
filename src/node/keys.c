#include "node/keys.h"

#include "base/units.h"
#include "node/audit.h"
#include "node/jobs.h"
#include "node/keys_table.h"
#include "node/members.h"
#include "node/outbox.h"
#include "node/visits.h"

struct job_id keys_receipt(struct node *node, uint32_t edition)
{
    node->job_number++;
    const uint64_t number = job_number(edition, node->job_number);
    return (struct job_id){node->id, node->incarnation, number};
}

static void accept(struct node *node, uint64_t client, struct job_id job, uint32_t deputy)
{
    if (client != CLIENT_NONE) {
        struct effect *effect = effect_add(node, EFFECT_ACCEPT);
        effect->accept.client = client;
        effect->accept.job = job;
        effect->accept.deputy = deputy;
    }
}

/* Tell @to of request @slot, with its inputs. */
static void send_request(
    struct node *node, uint32_t slot, enum message_kind kind, uint32_t to, uint32_t inputs)
{
    struct keyed *entry = keyed_at(node, slot);
    const struct message message = {
        .kind = kind,
        .job = entry->job,
        .workflow = entry->workflow,
        .deputy =
            {
                .items = entry->items,
                .priority = entry->priority,
                .firm = entry->firm,
                .left_ns = left_ns(node, entry->deadline_ns),
                .bytes = tensor_at(node, inputs)->bytes,
                .key = entry->key,
                .inputs_hash = entry->inputs_hash,
                .losses = entry->losses,
            },
    };
    entry->deputy_incarnation = members_incarnation(node->view.members, to);
    tensor_hold(node, inputs);
    outbox_move(node, to, &message, inputs);
}

void keys_release_deputies(struct node *node, uint32_t slot, uint32_t other)
{
    struct keyed *entry = keyed_at(node, slot);
    const uint32_t told[] = {entry->deputy, entry->former_deputy};
    const struct message taken = keyed_taken(entry, entry->job);
    entry->former_deputy = NODE_NONE;
    for (uint32_t i = 0; i < ARRAY_COUNT(told); i++) {
        if (told[i] != NODE_NONE && told[i] != other && members_is_in_reach(node, told[i])) {
            outbox_send(node, told[i], &taken);
        }
    }
}

void keys_tell_deputy(struct node *node, uint32_t slot)
{
    struct keyed *entry = keyed_at(node, slot);
    entry->former_deputy = entry->is_known ? entry->deputy : entry->former_deputy;
    const struct job *job = job_at(node, jobs_find(node, entry->job));
    const bool is_small = tensor_at(node, job->inputs)->bytes <= DEPUTY_BYTES_MAX;
    entry->deputy = is_small ? keyed_first_but(node, entry->key, node->id) : NODE_NONE;
    entry->touched_ns = now_ns(node);
    entry->is_known = false;
    entry->losses = job->losses;
    if (entry->deputy != NODE_NONE) {
        entry->tells = (uint8_t)min_u32(entry->tells + 1u, KEYED_TELLS_MAX);
        send_request(node, slot, MESSAGE_DEPUTE, entry->deputy, job->inputs);
    }
}

void keys_ask(struct node *node, uint32_t slot, uint32_t peer)
{
    struct keyed *entry = keyed_at(node, slot);
    entry->deputy = peer;
    entry->touched_ns = now_ns(node);
    struct record *record = trace(node, RECORD_AWAITED, REASON_NONE);
    record->job = entry->receipt;
    record->workflow = entry->workflow;
    record->value = peer;
    send_request(node, slot, MESSAGE_FORWARD, peer, entry->inputs);
}

bool keys_must_wait(const struct node *node, const struct job *job)
{
    const uint32_t slot = keyed_find_job(node, job->id);
    return slot != POOL_NONE && keyed_at(node, slot)->deputy != NODE_NONE &&
           !keyed_at(node, slot)->is_known;
}

void keys_stall(struct node *node, struct job *job)
{
    node->keys.stalled += job->stalled ? 0 : 1;
    job->stalled = true;
}

void keys_opened(struct node *node, uint32_t job_slot, const struct event_request *request)
{
    const struct job *job = job_at(node, job_slot);
    const struct keyed given = {
        .key = request->key,
        .inputs_hash = request->inputs_hash,
        .job = job->id,
        .client = CLIENT_NONE,
        .items = job->items,
        .deputy = NODE_NONE,
        .former_deputy = NODE_NONE,
        .inputs = POOL_NONE,
        .deadline_ns = job->deadline_ns,
        .outputs = POOL_NONE,
        .workflow = job->workflow,
        .priority = job->priority,
        .state = KEYED_OWNED,
        .firm = job->firm,
    };
    const uint32_t slot = keyed_add(node, &given);
    if (slot != POOL_NONE) {
        keys_tell_deputy(node, slot);
    }
}

void keys_adopt(struct node *node, uint32_t slot, bool is_loss)
{
    struct keyed *entry = keyed_at(node, slot);
    const struct event_request request = {
        .client = entry->client,
        .workflow = entry->workflow,
        .items = entry->items,
        .priority = entry->priority,
        .slo_ns = entry->firm ? 1 : 0, /* It is firm; when, the entry says. */
        .bytes = tensor_at(node, entry->inputs)->bytes,
        .edition = job_edition(entry->job), /* As the node that accepted it has said. */
    };
    const uint32_t job_slot = jobs_adopt(node, &request, entry->deadline_ns);
    if (job_slot == POOL_NONE) {
        return; /* The audit tries again. */
    }
    struct job *job = job_at(node, job_slot);
    tensor_release(node, job->inputs); /* It has none so far. */
    job->inputs = entry->inputs;
    job->losses = (uint8_t)min_u32(entry->losses + (is_loss ? 1 : 0), JOB_ATTEMPTS_MAX);
    entry->inputs = POOL_NONE;
    entry->client = CLIENT_NONE;
    entry->former = is_loss ? entry->job : (struct job_id){0};
    entry->state = KEYED_OWNED;
    entry->former_deputy = NODE_NONE;
    entry->is_known = false;
    entry->tries = 0;
    keyed_drop_outputs(node, slot);
    keyed_weigh(node, slot);
    keyed_rename(node, slot, job->id);
    accept(node, job->client, job->id, NODE_NONE);
    if (is_loss) {
        struct record *record = trace(node, RECORD_TAKEN_OVER, REASON_OWNER_LOST);
        record->job = job->id;
        record->workflow = job->workflow;
        record->value = entry->former.node;
    }
    if (job->losses >= JOB_ATTEMPTS_MAX) {
        jobs_end(node, job_slot, WEFT_FAILED, REASON_ATTEMPTS);
        return;
    }
    keys_tell_deputy(node, slot);
    if (entry->deputy != NODE_NONE) {
        job->hold = HOLD_FIRST;
        keys_stall(node, job);
        return;
    }
    jobs_place(node, job_slot);
}

/* @client hears that another one has asked for the same, or that its request ends so. */
static void turn_away(
    struct node *node, uint64_t client, struct job_id job, enum weft_status status,
    enum reason reason)
{
    if (client != CLIENT_NONE) {
        effect_add(node, EFFECT_ANSWER)->answer = (struct effect_answer){
            .client = client,
            .job = job,
            .status = status,
            .reason = reason,
        };
    }
}

void keys_turn_away(struct node *node, uint32_t slot, enum weft_status status, enum reason reason)
{
    struct keyed *entry = keyed_at(node, slot);
    turn_away(node, entry->client, entry->receipt, status, reason);
    entry->client = CLIENT_NONE;
}

/* @client waits for request @slot, which is not answered, from now on. */
static void attach(struct node *node, uint32_t slot, uint64_t client)
{
    struct keyed *entry = keyed_at(node, slot);
    if (entry->state == KEYED_OWNED) {
        struct job *job = job_at(node, jobs_find(node, entry->job));
        turn_away(node, job->client, job->id, WEFT_CANCELLED, REASON_DUPLICATE);
        job->client = client;
        accept(node, client, job->id, entry->is_known ? entry->deputy : NODE_NONE);
    } else {
        keys_turn_away(node, slot, WEFT_CANCELLED, REASON_DUPLICATE);
        entry->client = client;
        entry->receipt = keys_receipt(node, job_edition(entry->job));
        accept(node, client, entry->receipt, NODE_NONE);
    }
}

/* Give the answer that is kept to @client, which knows its request as @job. */
static void answer(struct node *node, uint32_t slot, uint64_t client, struct job_id job)
{
    const struct keyed *entry = keyed_at(node, slot);
    struct handle *outputs = node->outputs + node->output_count;
    const uint32_t count = keyed_show_outputs(node, entry, outputs);
    node->output_count += count;
    ASSERT(node->output_count <= node->outputs_max);
    effect_add(node, EFFECT_ANSWER)->answer = (struct effect_answer){
        .client = client,
        .job = job,
        .status = entry->status,
        .reason = entry->reason,
        .output_count = count,
        .outputs = outputs,
        .is_kept = true,
    };
}

/* Give the answer of request @slot to @peer, now or when something else goes there. */
static void pass_on(struct node *node, uint32_t slot, uint32_t peer, bool can_wait)
{
    const struct keyed *entry = keyed_at(node, slot);
    struct message message = keyed_settled(entry, entry->status, entry->reason);
    message.can_wait = can_wait;
    if (peer == NODE_NONE || !members_is_up(node->view.members, peer) ||
        !audit_has_room(node, entry->output_count + 1)) {
        return; /* It asks again. */
    }
    if (entry->status != WEFT_OK) {
        outbox_send(node, peer, &message);
        return;
    }
    message.kind = MESSAGE_RESULT;
    for (uint32_t at = entry->outputs; at != POOL_NONE; at = input_at(node, at)->next) {
        const struct input *output = input_at(node, at);
        message.deputy.sink = output->number;
        message.deputy.items = tensor_at(node, output->tensor)->items;
        message.deputy.bytes = tensor_at(node, output->tensor)->bytes;
        tensor_hold(node, output->tensor);
        outbox_move(node, peer, &message, output->tensor);
    }
}

void keys_give(struct node *node, uint32_t slot, uint32_t peer)
{
    pass_on(node, slot, peer, /* can_wait */ false);
}

void keys_pass_on(struct node *node, uint32_t slot)
{
    struct keyed *entry = keyed_at(node, slot);
    for (uint32_t i = 0; i < entry->follower_count; i++) {
        keys_give(node, slot, entry->followers[i]);
    }
    entry->follower_count = 0;
}

void keys_answered(struct node *node, uint32_t slot, enum weft_status status, enum reason reason)
{
    struct keyed *entry = keyed_at(node, slot);
    entry->state = KEYED_ANSWERED;
    entry->status = status;
    entry->reason = reason;
    entry->touched_ns = now_ns(node);
    keyed_drop_inputs(node, slot);
    if (status != WEFT_OK) { /* A node that is gone may have given some of an earlier run. */
        keyed_drop_outputs(node, slot);
    }
    keyed_weigh(node, slot);
    if (entry->client != CLIENT_NONE) {
        answer(node, slot, entry->client, entry->receipt);
        entry->client = CLIENT_NONE;
    }
    keys_pass_on(node, slot);
}

/* A client asks for request @slot, which is known. */
static void ask_again(struct node *node, uint32_t slot, uint64_t client)
{
    const struct keyed *entry = keyed_at(node, slot);
    if (entry->state == KEYED_ANSWERED) {
        answer(node, slot, client, entry->job);
        return;
    }
    attach(node, slot, client);
    if (entry->state == KEYED_DEPUTED && keyed_is_orphan(node, entry)) {
        keys_adopt(node, slot, /* is_loss */ true);
    }
}

uint32_t keys_await(struct node *node, const struct event_request *request)
{
    const struct workflow *workflow = workflow_at(node, request->workflow);
    const int64_t slo_ns = request->slo_ns != 0 ? request->slo_ns : workflow->slo_ns;
    const uint32_t priority = request->priority != 0 ? request->priority : workflow->priority;
    const struct job_id receipt = keys_receipt(node, request->edition);
    const struct keyed given = {
        .key = request->key,
        .inputs_hash = request->inputs_hash,
        .job = receipt,
        .receipt = receipt,
        .client = request->client,
        .items = items_bounded(request->items),
        .inputs = tensor_take(node, request->inputs, request->items, request->bytes),
        .deadline_ns = slo_ns == 0 ? INT64_MAX : now_ns(node) + duration_bounded(slo_ns),
        .outputs = POOL_NONE,
        .workflow = (uint8_t)request->workflow,
        .priority = priority_bounded(priority),
        .state = KEYED_WAITING,
        .firm = request->slo_ns != 0,
    };
    const uint32_t slot = keyed_add(node, &given);
    if (slot == POOL_NONE) {
        struct event_request refused = *request;
        refused.inputs.id = 0;
        tensor_release(node, given.inputs);
        jobs_refuse(node, &refused, REASON_FULL, /* retry_after_ns */ 0);
        return POOL_NONE;
    }
    accept(node, request->client, receipt, NODE_NONE);
    return slot;
}

bool keys_request(struct node *node, const struct event_request *request)
{
    const uint32_t slot = keyed_find_whole(node, request->key);
    if (slot == POOL_NONE) {
        const uint32_t first = keyed_first_but(node, request->key, NODE_NONE);
        if (!request->is_retry || first == node->id || first == NODE_NONE ||
            request->bytes > DEPUTY_BYTES_MAX) {
            return false; /* A new job, as far as is known. */
        }
        const uint32_t added = keys_await(node, request);
        if (added != POOL_NONE) {
            keys_ask(node, added, first);
        }
        return true;
    }
    if (keyed_at(node, slot)->inputs_hash != request->inputs_hash ||
        keyed_at(node, slot)->workflow != request->workflow) {
        jobs_refuse(node, request, REASON_KEY_REUSED, /* retry_after_ns */ 0);
        return true;
    }
    ask_again(node, slot, request->client);
    if (request->inputs.id != 0) {
        effect_add(node, EFFECT_RELEASE)->release = request->inputs;
    }
    return true;
}

/* Whether a client that asks again gets this end again: a refusal is only for now. */
static bool is_final(enum weft_status status, enum reason reason)
{
    return status != WEFT_REFUSED && (status != WEFT_CANCELLED || reason == REASON_LATE);
}

/* The deputy of request @slot, and a node that asked for it, hear of an end that is not kept. */
static void tell_end(struct node *node, uint32_t slot, enum weft_status status, enum reason reason)
{
    const struct keyed *entry = keyed_at(node, slot);
    const struct message settled = keyed_settled(entry, status, reason);
    if (entry->deputy != NODE_NONE && members_is_up(node->view.members, entry->deputy)) {
        outbox_send(node, entry->deputy, &settled);
    }
    for (uint32_t i = 0; i < entry->follower_count; i++) {
        const uint32_t peer = entry->followers[i];
        if (peer != entry->deputy && members_is_up(node->view.members, peer)) {
            outbox_send(node, peer, &settled);
        }
    }
}

bool keys_ended(
    struct node *node, struct job *job, enum weft_status status, enum reason reason,
    struct handle *outputs, uint32_t *count_out)
{
    const uint32_t slot = keyed_find_job(node, job->id);
    if (slot == POOL_NONE) {
        return false;
    }
    struct keyed *entry = keyed_at(node, slot);
    if (!is_final(status, reason)) {
        tell_end(node, slot, status, reason);
        keyed_forget(node, slot);
        return false;
    }
    if (status == WEFT_OK) {
        entry->outputs = job->outputs;
        entry->output_count = job->output_count;
        job->outputs = POOL_NONE;
    }
    const uint32_t deputy = entry->deputy;
    keyed_unfollow(entry, deputy);
    keys_answered(node, slot, status, reason);
    if (entry->bytes <= DEPUTY_BYTES_MAX) { /* Nothing waits there: a wake-up would be wasted. */
        pass_on(node, slot, deputy, /* can_wait */ !node->draining);
    } else {
        tell_end(node, slot, status, reason);
    }
    *count_out = keyed_show_outputs(node, entry, outputs);
    return status == WEFT_OK;
}

bool keys_cancelled(struct node *node, struct job_id job)
{
    uint32_t slot = keyed_find_job(node, job);
    if (slot != POOL_NONE && keyed_at(node, slot)->state == KEYED_OWNED) {
        struct job *owned = job_at(node, jobs_find(node, job));
        if (keyed_at(node, slot)->follower_count == 0) {
            return false;
        }
        turn_away(node, owned->client, job, WEFT_CANCELLED, REASON_CANCEL);
        owned->client = CLIENT_NONE;
        return true;
    }
    if (jobs_find(node, job) != MAP_NONE) {
        return false;
    }
    slot = node->keys.list.first;
    while (slot != POOL_NONE && (keyed_at(node, slot)->client == CLIENT_NONE ||
                                 !job_equal(keyed_at(node, slot)->receipt, job))) {
        slot = keyed_at(node, slot)->link.next;
    }
    if (slot == POOL_NONE) {
        return false;
    }
    keys_turn_away(node, slot, WEFT_CANCELLED, REASON_CANCEL);
    if (keyed_at(node, slot)->state == KEYED_WAITING && keyed_at(node, slot)->follower_count == 0) {
        keyed_forget(node, slot);
    }
    return true;
}

bool keys_lost(struct node *node, struct job *job)
{
    const uint32_t slot = keyed_find_job(node, job->id);
    if (slot == POOL_NONE) {
        return false;
    }
    struct keyed *entry = keyed_at(node, slot);
    keys_stall(node, job);
    if (keyed_has_lost_deputy(node, entry)) {
        keys_tell_deputy(node, slot);
        return entry->deputy != NODE_NONE;
    }
    const struct message tried = {
        .kind = MESSAGE_TRIED,
        .job = job->id,
        .workflow = job->workflow,
        .deputy = {.key = entry->key, .losses = job->losses},
    };
    entry->is_known = false;
    entry->touched_ns = now_ns(node);
    outbox_send(node, entry->deputy, &tried);
    return true;
}
