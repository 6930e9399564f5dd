/* keys_audit.c - requests with keys that nothing was heard of for long, and old answers. */
#include "node/audit.h"
#include "node/keys.h"
#include "node/keys_table.h"
#include "node/members.h"
#include "node/outbox.h"

/* Ask after request @slot of another node, which has been silent for long. */
static void ask_after(struct node *node, uint32_t slot)
{
    struct keyed *entry = keyed_at(node, slot);
    const struct message query = {
        .kind = MESSAGE_QUERY, .job = entry->job, .workflow = entry->workflow};
    keyed_lose_patience(entry);
    if (entry->state == KEYED_DEPUTED && keyed_is_orphan(node, entry)) {
        members_look_again(node); /* Of a life that has ended before it was heard of. */
    } else if (entry->state == KEYED_DEPUTED) {
        entry->touched_ns = now_ns(node);
        outbox_send(node, entry->job.node, &query);
    } else if (entry->state == KEYED_WAITING && entry->is_recalled) {
        entry->recall_next = node->fleet->node_count; /* Long enough: keys_repair() runs it. */
        entry->recall_count = 0;
    } else if (entry->state == KEYED_WAITING && !keyed_has_lost_deputy(node, entry)) {
        keys_ask(node, slot, entry->deputy);
    }
}

void keys_audit(struct node *node)
{
    uint32_t next = node->keys.list.first;
    while (next != POOL_NONE && audit_has_room(node, /* messages */ 4)) {
        const uint32_t slot = next;
        const struct keyed *entry = keyed_at(node, slot);
        next = entry->link.next;
        const int64_t silent_ns = now_ns(node) - entry->touched_ns;
        if ((entry->state == KEYED_ANSWERED && silent_ns >= ANSWER_KEPT_NS) ||
            (entry->state == KEYED_COPIED && silent_ns >= AUDIT_NS)) {
            keyed_forget(node, slot);
        } else if (
            (entry->state == KEYED_DEPUTED || entry->state == KEYED_WAITING) &&
            keyed_is_overdue(node, entry)) {
            ask_after(node, slot);
        }
    }
    const uint32_t messages = REPAIRS_PER_STEP * 4 * node->catalogue->task_count_max;
    node->keys.repair = node->keys.list.first;
    if (!audit_has_room(node, messages) || keys_repair(node)) {
        members_look_again(node); /* The rest in steps of its own. */
    }
}
