/* keys_peers.c - what nodes say to each other about requests with keys. */
#include <string.h>

#include "node/jobs.h"
#include "node/keys.h"
#include "node/keys_table.h"
#include "node/outbox.h"
#include "node/placing.h"
#include "node/visits.h"

void keys_reply(
    struct node *node, const struct message *message, enum message_kind kind,
    enum weft_status status, enum reason reason)
{
    const uint32_t slot = keys_find(node, message->deputy.key);
    const struct message said = {
        .kind = kind,
        .to_incarnation = message->from_incarnation,
        .job = message->job,
        .workflow = message->workflow,
        .deputy =
            {
                .key = message->deputy.key,
                .losses = slot == POOL_NONE ? 0 : keyed_at(node, slot)->losses,
                .status = status_code(status),
                .reason = reason,
            },
        .is_quiet =
            kind == MESSAGE_DEPUTED, /* The job runs meanwhile; if not, its owner attends. */
    };
    outbox_send(node, message->from, &said);
}

/* A request as @message, of its owner or of a node that asks for it, describes it. */
static struct keyed described(
    const struct node *node, const struct message *message, uint32_t tensor)
{
    const struct message_deputy *said = &message->deputy;
    return (struct keyed){
        .key = said->key,
        .inputs_hash = said->inputs_hash,
        .job = message->job,
        .client = CLIENT_NONE,
        .deputy = message->from,
        .deputy_incarnation = message->from_incarnation,
        .losses = min_u32(said->losses, JOB_ATTEMPTS_MAX),
        .items = said->items,
        .inputs = tensor,
        .deadline_ns =
            said->left_ns == INT64_MAX ? INT64_MAX : now_ns(node) + duration_bounded(said->left_ns),
        .touched_ns = now_ns(node),
        .outputs = POOL_NONE,
        .workflow = (uint8_t)message->workflow,
        .priority = priority_bounded(said->priority),
        .state = KEYED_DEPUTED,
        .firm = said->firm,
    };
}

/*
 * Request @slot, a job of this node, is another's from now on: who waits for it waits for @peer.
 * The job ends without an answer.
 */
static void give_up(struct node *node, uint32_t slot, uint32_t peer)
{
    struct keyed *entry = keyed_at(node, slot);
    const uint32_t job_slot = jobs_find(node, entry->job);
    struct job *job = job_at(node, job_slot);
    keys_release_deputies(node, slot, peer);
    entry->client = job->client;
    entry->losses = job->losses;
    entry->inputs = job->inputs;
    entry->receipt = keys_receipt(node, job_edition(entry->job));
    entry->state = KEYED_WAITING;
    entry->deputy = peer;
    entry->deputy_incarnation = members_incarnation(node->view.members, peer);
    entry->touched_ns = now_ns(node);
    keyed_unfollow(entry, peer); /* It has asked for what is its own now. */
    job->client = CLIENT_NONE;
    tensor_hold(node, job->inputs);
    keyed_rename(node, slot, entry->receipt);
    keyed_weigh(node, slot);
    if (entry->client != CLIENT_NONE) {
        struct effect *effect = effect_add(node, EFFECT_ACCEPT);
        effect->accept.client = entry->client;
        effect->accept.job = entry->receipt;
        effect->accept.deputy = NODE_NONE;
    }
    struct record *record = trace(node, RECORD_AWAITED, REASON_DUPLICATE);
    record->job = entry->receipt;
    record->workflow = entry->workflow;
    record->value = peer;
    jobs_end(node, job_slot, WEFT_CANCELLED, REASON_DUPLICATE);
}

/* The owner that sent @message has request @slot, which is not answered here: be its deputy. */
static void become_deputy(
    struct node *node, uint32_t slot, const struct message *message, uint32_t tensor)
{
    struct keyed *entry = keyed_at(node, slot);
    if (entry->state == KEYED_OWNED) {
        give_up(node, slot, message->from);
    }
    keyed_drop_inputs(node, slot);
    keyed_drop_outputs(node, slot);
    const struct keyed before = *entry;
    struct keyed now = described(node, message, tensor);
    now.job = before.job;
    now.receipt = before.receipt;
    now.client = before.client;
    now.bytes = before.bytes;
    now.link = before.link;
    memcpy(now.followers, before.followers, sizeof(now.followers));
    now.follower_count = before.follower_count;
    keyed_unfollow(&now, message->from);
    now.losses = max_u32(now.losses, before.losses);
    *entry = now;
    keyed_rename(node, slot, message->job);
    keyed_weigh(node, slot);
    keys_reply(node, message, MESSAGE_DEPUTED, WEFT_OK, REASON_NONE);
}

/* Another node has counted @losses of request @slot: they count here, and for its deputy, too. */
static void count_losses(struct node *node, uint32_t slot, uint32_t losses)
{
    struct keyed *entry = keyed_at(node, slot);
    const uint32_t bounded = min_u32(losses, JOB_ATTEMPTS_MAX);
    entry->losses = max_u32(entry->losses, bounded);
    const uint32_t job_slot = jobs_find(node, entry->job);
    struct job *job = entry->state == KEYED_OWNED ? job_at(node, job_slot) : NULL;
    if (job == NULL || bounded <= job->losses) {
        return;
    }
    job->losses = (uint8_t)bounded;
    if (bounded == JOB_ATTEMPTS_MAX && job->hold != HOLD_NONE) {
        jobs_end(node, job_slot, WEFT_FAILED, REASON_ATTEMPTS);
    } else {
        (void)keys_lost(node, job); /* What runs, runs; its answer waits. */
    }
}

/* An owner tells of request @slot, which is known here. */
static void depute_known(
    struct node *node, uint32_t slot, const struct message *message, uint32_t tensor)
{
    struct keyed *entry = keyed_at(node, slot);
    const uint32_t from = message->from;
    if (keyed_differs(entry, message)) {
        keys_reply(node, message, MESSAGE_SETTLED, WEFT_REFUSED, REASON_KEY_REUSED);
        tensor_release(node, tensor);
        return;
    }
    if (entry->state == KEYED_DEPUTED && entry->job.node != from && keyed_is_orphan(node, entry)) {
        tensor_release(node, tensor);
        keys_reply(node, message, MESSAGE_TAKEN, WEFT_OK, REASON_NONE);
        keyed_follow(node, slot, from);
        count_losses(node, slot, message->deputy.losses);
        keys_adopt(node, slot, /* is_loss */ true);
        return;
    }
    const bool is_owner = entry->state == KEYED_DEPUTED && entry->job.node == from;
    const bool is_outranked =
        entry->state == KEYED_OWNED && keyed_outranks(entry->key, from, node->id);
    if (entry->state == KEYED_WAITING || is_owner || is_outranked) {
        become_deputy(node, slot, message, tensor);
        return;
    }
    tensor_release(node, tensor);
    if (entry->state != KEYED_ANSWERED) {
        keys_reply(node, message, MESSAGE_TAKEN, WEFT_OK, REASON_NONE);
        keyed_follow(node, slot, from);
        count_losses(node, slot, message->deputy.losses);
    } else if (!job_equal(entry->job, message->job)) { /* Or it was only late. */
        keys_reply(node, message, MESSAGE_TAKEN, WEFT_OK, REASON_NONE);
        keys_give(node, slot, from);
    }
}

static void depute(struct node *node, const struct message *message, uint32_t tensor)
{
    const uint32_t known = keyed_find_whole(node, message->deputy.key);
    if (known != POOL_NONE) {
        depute_known(node, known, message, tensor);
        return;
    }
    const struct keyed given = described(node, message, tensor);
    if (keyed_add(node, &given) == POOL_NONE) {
        tensor_release(node, tensor);
        keys_reply(node, message, MESSAGE_SETTLED, WEFT_REFUSED, REASON_FULL);
        return;
    }
    keys_reply(node, message, MESSAGE_DEPUTED, WEFT_OK, REASON_NONE);
}

/* A node asks for the answer of a request that is not known here: it is a job of this node. */
static void forward_new(struct node *node, const struct message *message, uint32_t tensor)
{
    struct keyed given = described(node, message, tensor);
    given.state = KEYED_WAITING;
    given.receipt = keys_receipt(node, job_edition(message->job));
    given.job = given.receipt;
    given.followers[given.follower_count++] = message->from;
    const uint32_t slot = node->draining ? POOL_NONE : keyed_add(node, &given);
    if (slot == POOL_NONE) {
        const enum reason reason = node->draining ? REASON_DRAIN : REASON_FULL;
        keys_reply(node, message, MESSAGE_SETTLED, WEFT_REFUSED, reason);
        tensor_release(node, tensor);
        return;
    }
    keys_recall_all(node, slot);
}

static void forward(struct node *node, const struct message *message, uint32_t tensor)
{
    const uint32_t slot = keyed_find_whole(node, message->deputy.key);
    if (slot == POOL_NONE) {
        forward_new(node, message, tensor);
        return;
    }
    struct keyed *entry = keyed_at(node, slot);
    tensor_release(node, tensor);
    if (keyed_differs(entry, message)) {
        keys_reply(node, message, MESSAGE_SETTLED, WEFT_REFUSED, REASON_KEY_REUSED);
        return;
    }
    if (entry->state == KEYED_ANSWERED) {
        keys_give(node, slot, message->from);
        return;
    }
    keyed_follow(node, slot, message->from);
    count_losses(node, slot, message->deputy.losses);
    const bool waits_for_it =
        entry->deputy == message->from && keyed_outranks(entry->key, node->id, message->from);
    const bool is_first = keyed_first_but(node, entry->key, NODE_NONE) == node->id;
    if (entry->state == KEYED_DEPUTED && keyed_is_orphan(node, entry)) {
        keys_adopt(node, slot, /* is_loss */ true);
    } else if (entry->state == KEYED_WAITING && !entry->is_recalled && (waits_for_it || is_first)) {
        keys_recall_all(node, slot); /* Nodes must not wait for each other. */
    }
}

/* Whether the sender of @message may say how request @slot ends. */
static bool may_settle(struct node *node, uint32_t slot, const struct message *message)
{
    const struct keyed *entry = keyed_at(node, slot);
    switch ((enum keyed_state)entry->state) {
    case KEYED_WAITING:
        return entry->deputy == message->from || keys_is_found(node, slot, message->from);
    case KEYED_OWNED:
    case KEYED_COPIED:
        return entry->deputy == message->from;
    case KEYED_DEPUTED:
        return entry->job.node == message->from && job_equal(entry->job, message->job);
    case KEYED_ANSWERED:
        return false;
    }
    return false;
}

static void result(struct node *node, const struct message *message, uint32_t tensor)
{
    const uint32_t slot = keys_find(node, message->deputy.key);
    const uint32_t sink_count = workflow_at(node, message->workflow)->sink_count;
    if (slot == POOL_NONE || !may_settle(node, slot, message) ||
        keyed_at(node, slot)->workflow != message->workflow || message->deputy.sink >= sink_count) {
        tensor_release(node, tensor);
        return;
    }
    struct keyed *entry = keyed_at(node, slot);
    if (entry->state == KEYED_OWNED) { /* It came before the news that the request is taken. */
        give_up(node, slot, message->from);
    }
    if (!job_equal(entry->source, message->job)) { /* Of one run, never of two. */
        keyed_drop_outputs(node, slot);
        entry->source = message->job;
    }
    keyed_put_output(node, slot, message->deputy.sink, tensor);
    entry->touched_ns = now_ns(node);
    if (entry->output_count == sink_count) {
        keys_answered(node, slot, WEFT_OK, REASON_NONE);
    }
}

void keys_tensor(struct node *node, const struct message *message, uint32_t tensor)
{
    if (!node->keys.is_on || !request_key_is_set(message->deputy.key)) {
        tensor_release(node, tensor);
    } else if (message->kind == MESSAGE_DEPUTE) {
        depute(node, message, tensor);
    } else if (message->kind == MESSAGE_FORWARD) {
        forward(node, message, tensor);
    } else {
        result(node, message, tensor);
    }
}

/* The request that @message of its deputy is about. POOL_NONE: it is not such a message. */
static uint32_t find_of_deputy(const struct node *node, const struct message *message)
{
    const uint32_t slot = keyed_find_job(node, message->job);
    return slot != POOL_NONE && keyed_at(node, slot)->state == KEYED_OWNED &&
                   keyed_at(node, slot)->deputy == message->from
               ? slot
               : POOL_NONE;
}

void keys_proceed(struct node *node, uint32_t slot)
{
    const struct job *job = job_at(node, slot);
    if (jobs_is_complete(node, job)) {
        jobs_finish(node, slot);
    } else if (!keys_must_wait(node, job)) {
        placing_go_on(node, slot);
    }
}

/*
 * A node that is not the deputy of its request says that it knows of it: it was told, and then
 * another one was, since it was slow to say so. It need not any more when that one knows; until
 * then it is better than none.
 */
static void deputed_late(struct node *node, const struct message *message)
{
    const uint32_t slot = keyed_find_job(node, message->job);
    struct keyed *entry = slot == POOL_NONE ? NULL : keyed_at(node, slot);
    if (entry != NULL && entry->state == KEYED_OWNED && !entry->is_known &&
        (entry->former_deputy == NODE_NONE || entry->former_deputy == message->from)) {
        entry->former_deputy = message->from;
    } else if (entry == NULL || entry->deputy != message->from) {
        keys_reply(node, message, MESSAGE_TAKEN, WEFT_OK, REASON_NONE);
    }
}

static void deputed(struct node *node, const struct message *message)
{
    const uint32_t slot = find_of_deputy(node, message);
    if (slot == POOL_NONE) {
        deputed_late(node, message);
        return;
    }
    const uint32_t job_slot = jobs_find(node, message->job);
    struct job *job = job_at(node, job_slot);
    if (message->deputy.losses < job->losses) { /* What was said of more came before the request. */
        (void)keys_lost(node, job);
        return;
    }
    struct record *record = trace(node, RECORD_DEPUTED, REASON_NONE);
    record->job = message->job;
    record->value = message->from;
    keyed_at(node, slot)->is_known = true;
    keys_release_deputies(node, slot, message->from);
    if (job->client != CLIENT_NONE) {
        struct effect *effect = effect_add(node, EFFECT_ACCEPT);
        effect->accept.client = job->client;
        effect->accept.job = job->id;
        effect->accept.deputy = message->from;
    }
    keys_proceed(node, job_slot);
}

/*
 * A node that was asked for a request has it; or its owner has another deputy than this node. If it
 * has asked for the request itself, it needs no answer from here: two nodes that wait for each
 * other alone would ask each other for ever.
 */
static void taken_elsewhere(struct node *node, const struct message *message)
{
    const uint32_t slot = keyed_find_job(node, message->job);
    const bool is_found = slot != POOL_NONE && keys_is_found(node, slot, message->from);
    if (slot == POOL_NONE || (!is_found && (keyed_at(node, slot)->state != KEYED_DEPUTED ||
                                            message->job.node != message->from))) {
        return;
    }
    keyed_unfollow(keyed_at(node, slot), message->from);
    if (!keyed_is_wanted(keyed_at(node, slot))) {
        keyed_forget(node, slot);
    } else if (!is_found) {
        keyed_wait(node, slot);
        keys_ask(node, slot, message->from);
    }
}

static void taken(struct node *node, const struct message *message)
{
    const uint32_t slot = find_of_deputy(node, message);
    if (slot == POOL_NONE) {
        taken_elsewhere(node, message);
        return;
    }
    give_up(node, slot, message->from);
    if (!keyed_is_wanted(keyed_at(node, slot))) {
        keyed_forget(node, slot);
    }
}

/* The owner of request @slot, whose deputy this is, has dropped it. */
static void drop(struct node *node, uint32_t slot)
{
    if (keyed_is_wanted(keyed_at(node, slot))) {
        keyed_wait(node, slot);
        keys_recall_all(node, slot);
    } else {
        keyed_forget(node, slot);
    }
}

void keys_dropped(struct node *node, struct job_id job)
{
    const uint32_t slot = keyed_find_job(node, job);
    if (slot != POOL_NONE && keyed_at(node, slot)->state == KEYED_DEPUTED) {
        drop(node, slot);
    }
}

/* Who waits for request @slot hears that there is no answer, for now or for this client. */
static void refuse(struct node *node, uint32_t slot, enum weft_status status, enum reason reason)
{
    struct keyed *entry = keyed_at(node, slot);
    keys_turn_away(node, slot, status, reason);
    entry->status = status;
    entry->reason = reason;
    keys_pass_on(node, slot);
    keyed_forget(node, slot);
}

/* The deputy of request @slot, a job of this node, does not want to be: there is none for now. */
static void decline(struct node *node, uint32_t slot, enum reason reason)
{
    struct keyed *entry = keyed_at(node, slot);
    const uint32_t job = jobs_find(node, entry->job);
    entry->deputy = NODE_NONE;
    if (reason == REASON_KEY_REUSED) {
        jobs_end(node, job, WEFT_REFUSED, reason);
    } else {
        keys_proceed(node, job);
    }
}

/*
 * Whether the node that was asked for request @entry does not know of it, and takes no more: it is
 * the first in rank for as long as it drains, and who asks again would be refused everywhere.
 */
static bool leaves(
    const struct node *node, const struct keyed *entry, enum weft_status status, enum reason reason)
{
    return status == WEFT_REFUSED && reason == REASON_DRAIN && entry->state == KEYED_WAITING &&
           !node->draining;
}

static void settled(struct node *node, const struct message *message)
{
    const uint32_t slot = keys_find(node, message->deputy.key);
    const enum weft_status status = (enum weft_status)(-(int)message->deputy.status);
    const enum reason reason = (enum reason)message->deputy.reason;
    if (slot == POOL_NONE || !may_settle(node, slot, message) || reason >= REASON_COUNT) {
        return;
    }
    struct keyed *entry = keyed_at(node, slot);
    if (entry->state == KEYED_COPIED) {
        keyed_forget(node, slot);
    } else if (entry->state == KEYED_OWNED) {
        if (status == WEFT_REFUSED) {
            decline(node, slot, reason);
        }
    } else if (status == WEFT_OK) { /* Too much for a deputy to keep. */
        if (keyed_is_wanted(entry)) {
            keyed_wait(node, slot);
            keys_ask(node, slot, message->from);
        } else {
            keyed_forget(node, slot);
        }
    } else if (status == WEFT_CANCELLED && reason == REASON_DUPLICATE) {
        if (entry->state == KEYED_WAITING) { /* A deputy stays one, and is given the answer. */
            refuse(node, slot, status, reason);
        }
    } else if (status == WEFT_CANCELLED && reason != REASON_LATE) {
        drop(node, slot);
    } else if (leaves(node, entry, status, reason)) {
        keys_recall_all(node, slot);
    } else if (status == WEFT_REFUSED) {
        refuse(node, slot, status, reason);
    } else {
        keys_answered(node, slot, status, reason);
    }
}

static void tried(struct node *node, const struct message *message)
{
    const uint32_t slot = keyed_find_job(node, message->job);
    if (slot != POOL_NONE && keyed_at(node, slot)->state == KEYED_DEPUTED) {
        count_losses(node, slot, message->deputy.losses);
        keyed_at(node, slot)->touched_ns = now_ns(node);
        keys_reply(node, message, MESSAGE_DEPUTED, WEFT_OK, REASON_NONE);
    }
}

void keys_message(struct node *node, const struct message *message)
{
    if (!node->keys.is_on || !request_key_is_set(message->deputy.key)) {
        return;
    }
    if (message->kind == MESSAGE_DEPUTED) {
        deputed(node, message);
    } else if (message->kind == MESSAGE_TAKEN) {
        taken(node, message);
    } else if (message->kind == MESSAGE_TRIED) {
        tried(node, message);
    } else if (message->kind == MESSAGE_RECALL) {
        keys_recalled(node, message);
    } else if (message->kind == MESSAGE_UNKNOWN) {
        keys_unknown(node, message);
    } else if (message->kind == MESSAGE_KEEP) {
        keys_keep(node, message);
    } else {
        settled(node, message);
    }
}

bool keys_queried(struct node *node, const struct message *message)
{
    const uint32_t slot = keyed_find_job(node, message->job);
    if (slot == POOL_NONE || keyed_at(node, slot)->state != KEYED_ANSWERED ||
        keyed_at(node, slot)->deputy != message->from ||
        keyed_at(node, slot)->bytes > DEPUTY_BYTES_MAX) {
        return false;
    }
    keys_give(node, slot, message->from);
    return true;
}
