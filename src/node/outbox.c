#include "node/outbox.h"

#include <string.h>

#include "base/numbers.h"
#include "node/access.h"
#include "node/audit.h"
#include "node/inbox.h"
#include "node/members.h"

uint32_t tensor_take(struct node *node, struct handle handle, uint32_t items, uint64_t bytes)
{
    const uint32_t slot = pool_take_raw(&node->pools->tensors);
    ASSERT(slot != POOL_NONE);
    *tensor_at(node, slot) = (struct tensor){
        .handle = handle,
        .references = 1,
        .items = items_bounded(items),
        .bytes = bytes,
    };
    return slot;
}

void tensor_hold(struct node *node, uint32_t tensor)
{
    ASSERT(tensor_at(node, tensor)->references > 0);
    tensor_at(node, tensor)->references++;
}

void tensor_release(struct node *node, uint32_t tensor)
{
    struct tensor *released = tensor_at(node, tensor);
    ASSERT(released->references > 0);
    released->references--;
    if (released->references > 0) {
        return;
    }
    if (released->handle.id != 0) {
        effect_add(node, EFFECT_RELEASE)->release = released->handle;
    }
    pool_give(&node->pools->tensors, tensor);
}

struct handle tensor_pass(struct node *node, uint32_t tensor)
{
    const struct handle handle = tensor_at(node, tensor)->handle;
    tensor_at(node, tensor)->handle.id = 0;
    tensor_release(node, tensor);
    return handle;
}

/* Keep a copy of the placement for the host: the job may be gone before it looks. */
static void copy_placement(struct effects *effects, struct message *message)
{
    const uint32_t count = message_placement_count(message);
    if (count == 0) {
        return;
    }
    ASSERT(effects->placement_count + count <= effects->placement_capacity);
    uint16_t *copy = effects->placements + effects->placement_count;
    memcpy(copy, message->work.placement, count * sizeof(*copy));
    effects->placement_count += count;
    message->work.placement = copy;
}

/* The life of @to that @message is for: an asker's, or an owner's, may be newer than the list. */
static uint32_t incarnation_of(const struct node *node, uint32_t to, const struct message *message)
{
    const uint32_t listed = members_incarnation(node->view.members, to);
    const uint32_t owner = message->job.node == to ? message->job.incarnation : 0;
    return max_u32(max_u32(listed, owner), message->to_incarnation);
}

static struct effect *emit(
    struct node *node, enum effect_kind kind, uint32_t to, const struct message *message)
{
    struct effect *effect = effect_add(node, kind);
    effect->send.node = to;
    effect->send.tensor.id = 0;
    effect->send.message = *message;
    effect->send.message.from = node->id;
    effect->send.message.from_incarnation = node->incarnation;
    effect->send.message.to_incarnation = incarnation_of(node, to, message);
    copy_placement(node->effects, &effect->send.message);
    return effect;
}

static void emit_move(
    struct node *node, uint32_t to, const struct message *message, uint32_t tensor)
{
    struct effect *effect = emit(node, EFFECT_MOVE, to, message);
    effect->send.tensor = tensor_at(node, tensor)->handle;
    tensor_release(node, tensor); /* The host holds the contents until they have left. */
}

/*
 * Whether @message for @to has to wait: for a peer that is blocked, or for a life that no list has
 * named yet, which nets cannot reach. Past the limit the host's buffers take the rest.
 */
static bool must_park(const struct node *node, uint32_t to, const struct message *message)
{
    const bool is_unheard =
        members_is_unheard(node->view.members, to, incarnation_of(node, to, message));
    return node->parked_count < PARKED_MAX && (is_unheard || suspects_has(&node->blocked, to));
}

static void park_last(struct node *node, uint32_t slot)
{
    if (node->parked_last == POOL_NONE) {
        node->parked_first = slot;
    } else {
        struct parked *last = pool_at(&node->pools->parked, node->parked_last);
        last->next = slot;
    }
    ((struct parked *)pool_at(&node->pools->parked, slot))->next = POOL_NONE;
    node->parked_last = slot;
}

static void park(struct node *node, uint32_t to, const struct message *message, uint32_t tensor)
{
    const uint32_t slot = pool_take(&node->pools->parked);
    ASSERT(slot != POOL_NONE);
    struct parked *parked = pool_at(&node->pools->parked, slot);
    parked->node = to;
    parked->tensor = tensor;
    parked->since_ns = now_ns(node);
    parked->message = *message;
    parked->message.to_incarnation = incarnation_of(node, to, message);
    if (message_placement_count(message) > 0) {
        memcpy(
            parked->placement, message->work.placement,
            message->work.placement_count * sizeof(parked->placement[0]));
    }
    park_last(node, slot);
    node->parked_count++;
    audit_start(node);
}

void outbox_send(struct node *node, uint32_t to, const struct message *message)
{
    ASSERT(to < node->fleet->node_count);
    if (to == node->id) {
        struct message own = *message;
        own.from = node->id;
        own.from_incarnation = node->incarnation;
        inbox_own_message(node, &own);
        return;
    }
    if (must_park(node, to, message)) {
        park(node, to, message, POOL_NONE);
        return;
    }
    (void)emit(node, EFFECT_SEND, to, message);
}

void outbox_move(struct node *node, uint32_t to, const struct message *message, uint32_t tensor)
{
    ASSERT(message_has_tensor(message->kind));
    ASSERT(to < node->fleet->node_count);
    if (to == node->id) {
        struct message own = *message;
        own.from = node->id;
        own.from_incarnation = node->incarnation;
        inbox_own_input(node, &own, tensor);
        return;
    }
    if (must_park(node, to, message)) {
        park(node, to, message, tensor);
        return;
    }
    emit_move(node, to, message, tensor);
}

/* What becomes of messages that wait for a peer, by the life of it that they are for. */
struct fate {
    uint32_t drop_below; /* These lives are over. */
    uint32_t send_below; /* Of the others, these can be reached. */
};

/* Take what waits for @to, NODE_NONE for any, off the list, as far as @fate says so. */
static void unpark(struct node *node, uint32_t to, struct fate fate)
{
    uint32_t next = node->parked_first;
    node->parked_first = POOL_NONE;
    node->parked_last = POOL_NONE;
    while (next != POOL_NONE) {
        const uint32_t slot = next;
        struct parked *parked = pool_at(&node->pools->parked, slot);
        const uint32_t life = parked->message.to_incarnation;
        const bool is_meant = to == NODE_NONE || parked->node == to;
        const bool is_dropped = members_has_lost(node, parked->node, life, parked->since_ns) ||
                                (is_meant && life < fate.drop_below);
        next = parked->next;
        if (!is_dropped && !(is_meant && life < fate.send_below)) {
            park_last(node, slot); /* In its order. */
            continue;
        }
        if (message_has_placement(parked->message.kind)) {
            parked->message.work.placement = parked->placement;
        }
        message_add_age(&parked->message, now_ns(node) - parked->since_ns);
        if (!is_dropped && parked->tensor == POOL_NONE) {
            (void)emit(node, EFFECT_SEND, to, &parked->message);
        } else if (!is_dropped) {
            emit_move(node, to, &parked->message, parked->tensor);
        } else if (parked->tensor != POOL_NONE) {
            tensor_release(node, parked->tensor);
        }
        pool_give(&node->pools->parked, slot);
        node->parked_count--;
    }
}

void outbox_block(struct node *node, uint32_t to, bool blocked)
{
    if (blocked) {
        suspects_add(&node->blocked, to);
        return;
    }
    suspects_remove(&node->blocked, to);
    const uint32_t listed = members_incarnation(node->view.members, to);
    unpark(node, to, (struct fate){.send_below = listed + 1});
}

void outbox_heard(struct node *node, uint32_t to)
{
    const uint32_t listed = members_incarnation(node->view.members, to);
    unpark(node, to, (struct fate){.drop_below = listed, .send_below = listed + 1});
}

void outbox_audit(struct node *node)
{
    unpark(node, NODE_NONE, (struct fate){0});
}

bool outbox_has(const struct node *node, struct job_id job)
{
    uint32_t slot = node->parked_first;
    while (slot != POOL_NONE) {
        const struct parked *parked = pool_at(&node->pools->parked, slot);
        if (parked->tensor != POOL_NONE && job_equal(parked->message.job, job)) {
            return true;
        }
        slot = parked->next;
    }
    return false;
}

void outbox_forget(struct node *node, uint32_t to, uint32_t incarnation)
{
    suspects_remove(&node->blocked, to);
    unpark(node, to, (struct fate){.drop_below = incarnation + 1});
}
