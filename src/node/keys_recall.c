/*
 * keys_recall.c - what was answered is not run again: see keys.h.
 *
 * A client asks again for what the first in rank has not heard of: who had it may have left, or
 * have restarted, and its other keeper is any node. So all members are asked before it runs.
 * And a node that keeps an answer which the other has lost hands it to the next in rank.
 */
#include "node/audit.h"
#include "node/jobs.h"
#include "node/keys.h"
#include "node/keys_table.h"
#include "node/members.h"
#include "node/outbox.h"

static bool can_ask(const struct node *node, uint32_t peer)
{
    return peer != node->id && members_is_in_reach(node, peer);
}

/* Of a peer in the list of those that have not answered: it cannot be asked yet. */
enum { RECALL_LATER = 0x8000, RECALL_PEER = RECALL_LATER - 1 };

_Static_assert((int)NODES_MAX <= RECALL_LATER, "a peer and a mark fit one number");

/* Whether this node has just met others, or is about to meet @peer, which can be asked then. */
static bool can_ask_later(const struct node *node, uint32_t peer)
{
    return peer != node->id && members_is_up(node->view.members, peer) &&
           suspects_has(&node->unmet, peer) && !members_is_silent(node, peer);
}

static void ask(struct node *node, const struct keyed *entry, uint32_t peer)
{
    const struct message recall = {
        .kind = MESSAGE_RECALL,
        .job = entry->job,
        .workflow = entry->workflow,
        .deputy = {.key = entry->key, .inputs_hash = entry->inputs_hash},
    };
    outbox_send(node, peer, &recall);
}

/* Ask more members, up to as many as may be asked at a time. */
static void ask_more(struct node *node, uint32_t slot)
{
    struct keyed *entry = keyed_at(node, slot);
    while (entry->recall_next < node->fleet->node_count &&
           entry->recall_count < KEYED_RECALLS_MAX && audit_has_room(node, /* messages */ 1)) {
        const uint32_t peer = entry->recall_next++;
        if (can_ask(node, peer)) {
            entry->recalls[entry->recall_count++] = (uint16_t)peer;
            ask(node, entry, peer);
        } else if (can_ask_later(node, peer)) {
            entry->recalls[entry->recall_count++] = (uint16_t)(peer | RECALL_LATER);
        }
    }
}

/* Whether @peer was asked whether it knows of @entry, and has not said. It need not any more. */
static bool strike_off(struct keyed *entry, uint32_t peer)
{
    for (uint32_t i = 0; i < entry->recall_count; i++) {
        if (entry->recalls[i] == peer) {
            entry->recalls[i] = entry->recalls[--entry->recall_count];
            return true;
        }
    }
    return false;
}

/* Ask on, or if no member knows of request @slot, run it here. Without room the audit goes on. */
static void go_on(struct node *node, uint32_t slot)
{
    struct keyed *entry = keyed_at(node, slot);
    ask_more(node, slot);
    if (entry->recall_count == 0 && entry->recall_next == node->fleet->node_count) {
        entry->is_recalled = false;
        keys_adopt(node, slot, /* is_loss */ false);
    }
}

void keys_recall_all(struct node *node, uint32_t slot)
{
    struct keyed *entry = keyed_at(node, slot);
    entry->deputy = NODE_NONE;
    entry->touched_ns = now_ns(node);
    entry->is_recalled = true;
    entry->recall_next = 0;
    entry->recall_count = 0;
    entry->recall_epoch = node->view.members->epoch;
    go_on(node, slot);
}

bool keys_recall(struct node *node, const struct event_request *request)
{
    bool is_alone = true;
    for (uint32_t peer = 0; peer < node->fleet->node_count && is_alone; peer++) {
        is_alone = !can_ask(node, peer) && !can_ask_later(node, peer);
    }
    if (!request->is_retry || is_alone || request->bytes > DEPUTY_BYTES_MAX) {
        return false;
    }
    const uint32_t slot = keys_await(node, request);
    if (slot != POOL_NONE) {
        keys_recall_all(node, slot);
    }
    return true;
}

/* Of two nodes that ask each other, the first in rank goes on. */
static bool is_ahead(const struct node *node, const struct keyed *entry, uint32_t peer)
{
    return entry->is_recalled && keyed_outranks(entry->key, node->id, peer);
}

void keys_recalled(struct node *node, const struct message *message)
{
    const uint32_t slot = keys_find(node, message->deputy.key);
    struct keyed *entry = slot == POOL_NONE ? NULL : keyed_at(node, slot);
    if (entry == NULL || entry->state == KEYED_COPIED ||
        (entry->state == KEYED_WAITING && !is_ahead(node, entry, message->from))) {
        keys_reply(node, message, MESSAGE_UNKNOWN, WEFT_OK, REASON_NONE);
        return;
    }
    if (keyed_differs(entry, message)) {
        keys_reply(node, message, MESSAGE_SETTLED, WEFT_REFUSED, REASON_KEY_REUSED);
        return;
    }
    keys_reply(node, message, MESSAGE_TAKEN, WEFT_OK, REASON_NONE);
    if (entry->state == KEYED_ANSWERED) {
        keys_give(node, slot, message->from);
        return;
    }
    keyed_follow(node, slot, message->from);
    if (entry->state == KEYED_DEPUTED && keyed_is_orphan(node, entry)) {
        keys_adopt(node, slot, /* is_loss */ true);
    }
}

bool keys_is_found(struct node *node, uint32_t slot, uint32_t peer)
{
    struct keyed *entry = keyed_at(node, slot);
    if (entry->state != KEYED_WAITING || !entry->is_recalled || !strike_off(entry, peer)) {
        return false;
    }
    entry->is_recalled = false;
    entry->recall_count = 0;
    entry->deputy = peer;
    entry->deputy_incarnation = members_incarnation(node->view.members, peer);
    entry->touched_ns = now_ns(node);
    struct record *record = trace(node, RECORD_AWAITED, REASON_NONE);
    record->job = entry->receipt;
    record->workflow = entry->workflow;
    record->value = peer;
    return true;
}

void keys_unknown(struct node *node, const struct message *message)
{
    const uint32_t slot = keys_find(node, message->deputy.key);
    if (slot != POOL_NONE && keyed_at(node, slot)->is_recalled &&
        job_equal(keyed_at(node, slot)->job, message->job) &&
        strike_off(keyed_at(node, slot), message->from)) {
        go_on(node, slot);
    }
}

bool keys_recall_repair(struct node *node, uint32_t slot)
{
    struct keyed *entry = keyed_at(node, slot);
    const uint32_t count = entry->recall_count;
    bool has_asked = false;
    for (uint32_t i = count; i-- > 0;) {
        const uint32_t given = entry->recalls[i];
        const uint32_t peer = given & RECALL_PEER;
        const bool is_later = given != peer;
        const bool is_same = members_is_same(node->view.members, peer, entry->recall_epoch);
        if (is_later && can_ask(node, peer)) {
            entry->recalls[i] = (uint16_t)peer;
            ask(node, entry, peer);
            has_asked = true;
        } else if (is_later ? !can_ask_later(node, peer) : !is_same || !can_ask(node, peer)) {
            (void)strike_off(entry, given);
        }
    }
    if (entry->recall_count == count && count > 0) {
        return has_asked;
    }
    go_on(node, slot);
    return true;
}

bool keys_hand_over(struct node *node, uint32_t slot)
{
    struct keyed *entry = keyed_at(node, slot);
    const uint32_t to = keyed_first_but(node, entry->key, node->id);
    if (to == NODE_NONE || entry->bytes > DEPUTY_BYTES_MAX || suspects_has(&node->blocked, to) ||
        !keyed_has_lost_deputy(node, entry) || !audit_has_room(node, entry->output_count + 1)) {
        return false;
    }
    struct message keep = keyed_settled(entry, entry->status, entry->reason);
    keep.kind = MESSAGE_KEEP;
    keep.deputy.inputs_hash = entry->inputs_hash;
    entry->deputy = to;
    entry->deputy_incarnation = members_incarnation(node->view.members, to);
    outbox_send(node, to, &keep);
    if (entry->status == WEFT_OK) {
        keys_give(node, slot, to);
    }
    return true;
}

void keys_keep(struct node *node, const struct message *message)
{
    const enum weft_status status = (enum weft_status)(-(int)message->deputy.status);
    const enum reason reason = (enum reason)message->deputy.reason;
    const struct keyed given = {
        .key = message->deputy.key,
        .inputs_hash = message->deputy.inputs_hash,
        .job = message->job,
        .source = message->job,
        .client = CLIENT_NONE,
        .deputy = message->from,
        .deputy_incarnation = message->from_incarnation,
        .inputs = POOL_NONE,
        .outputs = POOL_NONE,
        .touched_ns = now_ns(node),
        .workflow = (uint8_t)message->workflow,
        .state = KEYED_COPIED,
    };
    if (reason >= REASON_COUNT || keys_find(node, given.key) != POOL_NONE) {
        return; /* It has that, or is about to. */
    }
    const uint32_t slot = keyed_add(node, &given);
    if (slot != POOL_NONE && status != WEFT_OK) {
        keys_answered(node, slot, status, reason);
    }
}
