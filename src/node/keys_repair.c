/* keys_repair.c - requests with keys when a node is lost, silent, or back. */
#include "node/audit.h"
#include "node/jobs.h"
#include "node/keys.h"
#include "node/keys_table.h"
#include "node/members.h"
#include "node/outbox.h"
#include "node/placing.h"

/* Whether request @slot, a job of this node, has no deputy, or not the one it should have. */
static bool lacks_deputy(const struct node *node, const struct keyed *entry)
{
    const struct job *job = job_at(node, jobs_find(node, entry->job));
    const bool is_small = tensor_at(node, job->inputs)->bytes <= DEPUTY_BYTES_MAX;
    const uint32_t first = keyed_first_but(node, entry->key, node->id);
    if (entry->is_known && !keyed_has_lost_deputy(node, entry) &&
        suspects_has(&node->view.suspects, entry->deputy)) {
        return false; /* It knows, and may be back in a moment. */
    }
    return is_small &&
           (entry->deputy != first || (first != NODE_NONE && keyed_has_lost_deputy(node, entry)));
}

/*
 * Whether request @slot, a job of this node that lacks a deputy, has to wait before another is
 * told. The first time, that is at once. But where all links come and go, each of them would be
 * filled with the inputs of all requests whenever another breaks, and nothing would arrive.
 */
static bool must_wait_to_tell(const struct node *node, const struct keyed *entry)
{
    const bool is_any = keyed_first_but(node, entry->key, node->id) != NODE_NONE;
    return is_any && entry->tells > 1 &&
           now_ns(node) - entry->touched_ns < RETURN_NS << (entry->tells - 2);
}

/*
 * Do what the loss of a node, or the silence of a deputy, means for request @slot. Whether there
 * was something to do.
 */
static bool repair(struct node *node, uint32_t slot)
{
    const struct keyed *entry = keyed_at(node, slot);
    const bool is_full = node->pools->jobs.used == node->pools->jobs.capacity;
    if (entry->state == KEYED_DEPUTED && keyed_is_orphan(node, entry) && !is_full) {
        keys_adopt(node, slot, /* is_loss */ true);
        return true;
    }
    const bool lacks = entry->state == KEYED_OWNED && lacks_deputy(node, entry);
    if (lacks && !must_wait_to_tell(node, entry)) {
        keys_tell_deputy(node, slot);
        keys_proceed(node, jobs_find(node, entry->job)); /* If there is none to tell. */
        return true;
    }
    if (entry->state == KEYED_OWNED && !entry->is_known && keyed_is_overdue(node, entry)) {
        keyed_lose_patience(keyed_at(node, slot));
        keys_tell_deputy(node, slot); /* What was said, or the answer to it, is lost. */
        placing_go_on(node, jobs_find(node, entry->job)); /* It has waited long enough. */
        return true;
    }
    if (lacks) {
        members_return_later(node);
        return false;
    }
    if (entry->state == KEYED_ANSWERED) {
        return keys_hand_over(node, slot);
    }
    if (entry->state == KEYED_WAITING && entry->is_recalled) {
        return !is_full && keys_recall_repair(node, slot);
    }
    if (entry->state == KEYED_WAITING && keyed_has_lost_deputy(node, entry) && !is_full) {
        const uint32_t first = keyed_first_but(node, entry->key, NODE_NONE);
        if (first == node->id || first == NODE_NONE) {
            keys_recall_all(node, slot);
        } else {
            keys_ask(node, slot, first);
        }
        return true;
    }
    return false;
}

bool keys_repair(struct node *node)
{
    uint32_t looked = 0;
    while (node->keys.repair != POOL_NONE && node->repairs_left > 0 &&
           looked < REPAIR_LOOKS_PER_STEP) {
        const uint32_t slot = node->keys.repair;
        node->keys.repair = keyed_at(node, slot)->link.next;
        node->repairs_left -= repair(node, slot) ? 1 : 0;
        looked++;
    }
    return node->keys.repair != POOL_NONE;
}

void keys_returned(struct node *node, uint32_t peer)
{
    const uint32_t incarnation = members_incarnation(node->view.members, peer);
    uint32_t slot = node->keys.list.first;
    for (; slot != POOL_NONE; slot = keyed_at(node, slot)->link.next) {
        struct keyed *entry = keyed_at(node, slot);
        if (entry->former.number != 0 && entry->former.node == peer &&
            entry->former.incarnation == incarnation && audit_has_room(node, /* messages */ 1)) {
            const struct message said = keyed_taken(entry, entry->former);
            outbox_send(node, peer, &said);
            entry->former = (struct job_id){0}; /* Once: a link may come and go many times. */
            if (entry->state == KEYED_OWNED) {
                keyed_follow(node, slot, peer);
            }
        }
    }
}
