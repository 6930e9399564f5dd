#include "node/keys_table.h"

#include "base/hash.h"
#include "node/audit.h"
#include "node/keys.h"
#include "node/members.h"
#include "node/outbox.h"

static struct slot_links keyed_links(const struct node *node)
{
    return (struct slot_links){&node->pools->keyed, offsetof(struct keyed, link)};
}

static uint64_t place_of(struct request_key key)
{
    return hash_mix(key.words[0], key.words[1]);
}

void keys_init(struct node *node, bool is_on)
{
    node->keys.is_on = is_on;
    slot_list_init(&node->keys.list);
    node->keys.repair = POOL_NONE;
    if (is_on) {
        map_init(&node->keys.by_key, 16);
        map_init(&node->keys.by_job, 16);
    }
}

uint32_t keys_find(const struct node *node, struct request_key key)
{
    const uint32_t slot = node->keys.is_on ? map_get(&node->keys.by_key, place_of(key)) : MAP_NONE;
    return slot != MAP_NONE && request_key_equal(keyed_at(node, slot)->key, key) ? slot : POOL_NONE;
}

uint32_t keyed_find_whole(struct node *node, struct request_key key)
{
    const uint32_t slot = keys_find(node, key);
    if (slot != POOL_NONE && keyed_at(node, slot)->state == KEYED_COPIED) {
        keyed_forget(node, slot);
        return POOL_NONE;
    }
    return slot;
}

uint32_t keyed_find_job(const struct node *node, struct job_id job)
{
    const uint32_t slot = node->keys.is_on ? map_get(&node->keys.by_job, job_key(job)) : MAP_NONE;
    return slot != MAP_NONE && job_equal(keyed_at(node, slot)->job, job) ? slot : POOL_NONE;
}

void keyed_weigh(struct node *node, uint32_t slot)
{
    struct keyed *entry = keyed_at(node, slot);
    uint64_t bytes = entry->inputs == POOL_NONE ? 0 : tensor_at(node, entry->inputs)->bytes;
    for (uint32_t at = entry->outputs; at != POOL_NONE; at = input_at(node, at)->next) {
        bytes += tensor_at(node, input_at(node, at)->tensor)->bytes;
    }
    node->keys.bytes += bytes - entry->bytes;
    entry->bytes = bytes;
}

void keyed_drop_inputs(struct node *node, uint32_t slot)
{
    struct keyed *entry = keyed_at(node, slot);
    if (entry->inputs != POOL_NONE) {
        tensor_release(node, entry->inputs);
        entry->inputs = POOL_NONE;
    }
}

void keyed_drop_outputs(struct node *node, uint32_t slot)
{
    struct keyed *entry = keyed_at(node, slot);
    for (uint32_t at = entry->outputs; at != POOL_NONE;) {
        const struct input output = *input_at(node, at);
        tensor_release(node, output.tensor);
        pool_give(&node->pools->inputs, at);
        at = output.next;
    }
    entry->outputs = POOL_NONE;
    entry->output_count = 0;
}

void keyed_forget(struct node *node, uint32_t slot)
{
    keyed_drop_inputs(node, slot);
    keyed_drop_outputs(node, slot);
    keyed_weigh(node, slot);
    const struct keyed entry = *keyed_at(node, slot);
    (void)map_remove(&node->keys.by_key, place_of(entry.key));
    (void)map_remove(&node->keys.by_job, job_key(entry.job));
    if (node->keys.repair == slot) {
        node->keys.repair = entry.link.next;
    }
    slot_list_remove(&node->keys.list, keyed_links(node), slot);
    pool_give(&node->pools->keyed, slot);
    node->keys.count--;
}

/* Forget the oldest answers until there is room for one more request. False: there is none. */
static bool make_room(struct node *node)
{
    const struct keys *keys = &node->keys;
    uint32_t slot = keys->list.last;
    for (uint32_t i = 0; i < KEYED_EVICTED_PER_STEP && slot != POOL_NONE; i++) {
        if (keys->count < KEYED_MAX && keys->bytes <= KEYED_BYTES_MAX) {
            break;
        }
        const uint32_t previous = keyed_at(node, slot)->link.previous;
        if (keyed_at(node, slot)->state == KEYED_ANSWERED) {
            keyed_forget(node, slot);
        }
        slot = previous;
    }
    return keys->count < KEYED_MAX && keys->bytes <= KEYED_BYTES_MAX;
}

uint32_t keyed_add(struct node *node, const struct keyed *given)
{
    struct keys *keys = &node->keys;
    if (!make_room(node) || map_get(&keys->by_key, place_of(given->key)) != MAP_NONE ||
        map_get(&keys->by_job, job_key(given->job)) != MAP_NONE) {
        return POOL_NONE;
    }
    const uint32_t slot = pool_take(&node->pools->keyed);
    ASSERT(slot != POOL_NONE);
    *keyed_at(node, slot) = *given;
    slot_list_insert(&keys->list, keyed_links(node), /* before */ POOL_NONE, slot);
    map_put(&keys->by_key, place_of(given->key), slot);
    map_put(&keys->by_job, job_key(given->job), slot);
    keys->count++;
    keyed_weigh(node, slot);
    audit_start(node);
    return slot;
}

void keyed_rename(struct node *node, uint32_t slot, struct job_id job)
{
    struct keyed *entry = keyed_at(node, slot);
    (void)map_remove(&node->keys.by_job, job_key(entry->job));
    entry->job = job;
    map_put(&node->keys.by_job, job_key(job), slot);
}

void keyed_wait(struct node *node, uint32_t slot)
{
    struct keyed *entry = keyed_at(node, slot);
    if (entry->client == CLIENT_NONE) {
        entry->receipt = keys_receipt(node, job_edition(entry->job));
    }
    entry->state = KEYED_WAITING;
    entry->is_recalled = false;
    keyed_rename(node, slot, entry->receipt);
}

struct message keyed_settled(const struct keyed *entry, enum weft_status status, enum reason reason)
{
    return (struct message){
        .kind = MESSAGE_SETTLED,
        .job = entry->job,
        .workflow = entry->workflow,
        .deputy = {.key = entry->key, .status = status_code(status), .reason = reason},
    };
}

struct message keyed_taken(const struct keyed *entry, struct job_id job)
{
    return (struct message){
        .kind = MESSAGE_TAKEN,
        .job = job,
        .workflow = entry->workflow,
        .deputy = {.key = entry->key},
    };
}

void keyed_unfollow(struct keyed *entry, uint32_t peer)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < entry->follower_count; i++) {
        if (entry->followers[i] != peer) {
            entry->followers[kept++] = entry->followers[i];
        }
    }
    entry->follower_count = kept;
}

void keyed_follow(struct node *node, uint32_t slot, uint32_t peer)
{
    struct keyed *entry = keyed_at(node, slot);
    keyed_unfollow(entry, peer);
    if (entry->follower_count == KEYED_FOLLOWERS_MAX) {
        const uint32_t first = entry->followers[0];
        const struct message settled = keyed_settled(entry, WEFT_CANCELLED, REASON_DUPLICATE);
        if (members_is_up(node->view.members, first)) {
            outbox_send(node, first, &settled);
        }
        keyed_unfollow(entry, first);
    }
    entry->followers[entry->follower_count++] = peer;
}

void keyed_put_output(struct node *node, uint32_t slot, uint32_t number, uint32_t tensor)
{
    struct keyed *entry = keyed_at(node, slot);
    for (uint32_t at = entry->outputs; at != POOL_NONE; at = input_at(node, at)->next) {
        if (input_at(node, at)->number == number) {
            tensor_release(node, tensor);
            return;
        }
    }
    const uint32_t output = pool_take_raw(&node->pools->inputs);
    ASSERT(output != POOL_NONE);
    *input_at(node, output) =
        (struct input){.next = entry->outputs, .number = number, .tensor = tensor};
    entry->outputs = output;
    entry->output_count++;
    keyed_weigh(node, slot);
}

uint32_t keyed_show_outputs(
    const struct node *node, const struct keyed *entry, struct handle *outputs)
{
    uint32_t count = 0;
    for (uint32_t at = entry->outputs; at != POOL_NONE; at = input_at(node, at)->next) {
        const struct input *output = input_at(node, at);
        outputs[output->number] = tensor_at(node, output->tensor)->handle;
        count++;
    }
    return count;
}

static uint64_t rank_of(struct request_key key, uint32_t node)
{
    return hash_mix(place_of(key), node);
}

bool keyed_outranks(struct request_key key, uint32_t a, uint32_t b)
{
    const uint64_t rank_a = rank_of(key, a);
    const uint64_t rank_b = rank_of(key, b);
    return rank_a > rank_b || (rank_a == rank_b && a > b);
}

uint32_t keyed_first_but(const struct node *node, struct request_key key, uint32_t other)
{
    const struct members *members = node->view.members;
    uint32_t best = NODE_NONE;
    for (uint32_t member = 0; member < members->node_count; member++) {
        if (member != other && members_is_in_reach(node, member) &&
            (best == NODE_NONE || keyed_outranks(key, member, best))) {
            best = member;
        }
    }
    return best;
}

bool keyed_is_orphan(const struct node *node, const struct keyed *entry)
{
    const struct job_id job = entry->job;
    return members_has_lost(node, job.node, job.incarnation, entry->touched_ns) ||
           (keyed_is_wanted(entry) && members_is_silent(node, job.node));
}

bool keyed_has_lost_deputy(const struct node *node, const struct keyed *entry)
{
    const struct members *members = node->view.members;
    return entry->deputy == NODE_NONE || !members_is_up(members, entry->deputy) ||
           members_incarnation(members, entry->deputy) > entry->deputy_incarnation ||
           members_is_silent(node, entry->deputy);
}
