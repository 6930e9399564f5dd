#include "node/keys.h"

#include "base/hash.h"
#include "node/access.h"
#include "node/audit.h"
#include "node/jobs.h"
#include "node/outbox.h"
#include "node/visits.h"

#define ANSWER_KEPT_NS (60 * NS_PER_S) /* A client asks again within seconds, or never. */

static struct keyed *keyed_at(const struct node *node, uint32_t slot)
{
    return pool_at(&node->pools->keyed, slot);
}

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

static uint32_t find_job(const struct node *node, struct job_id job)
{
    const uint32_t slot = node->keys.is_on ? map_get(&node->keys.by_job, job_key(job)) : MAP_NONE;
    return slot != MAP_NONE && job_equal(keyed_at(node, slot)->job, job) ? slot : POOL_NONE;
}

/* Give back what request @slot holds, and forget it. */
static void forget(struct node *node, uint32_t slot)
{
    const struct keyed entry = *keyed_at(node, slot);
    if (entry.inputs != POOL_NONE) {
        tensor_release(node, entry.inputs);
    }
    for (uint32_t at = entry.outputs; at != POOL_NONE;) {
        const struct input output = *input_at(node, at);
        tensor_release(node, output.tensor);
        pool_give(&node->pools->inputs, at);
        at = output.next;
    }
    (void)map_remove(&node->keys.by_key, place_of(entry.key));
    (void)map_remove(&node->keys.by_job, job_key(entry.job));
    slot_list_remove(&node->keys.list, keyed_links(node), slot);
    pool_give(&node->pools->keyed, slot);
}

/* As @given, which becomes known. POOL_NONE if its key or job is too much like another's. */
static uint32_t add(struct node *node, const struct keyed *given)
{
    struct keys *keys = &node->keys;
    if (map_get(&keys->by_key, place_of(given->key)) != MAP_NONE ||
        map_get(&keys->by_job, job_key(given->job)) != MAP_NONE) {
        return POOL_NONE;
    }
    const uint32_t slot = pool_take(&node->pools->keyed);
    ASSERT(slot != POOL_NONE);
    *keyed_at(node, slot) = *given;
    slot_list_insert(&keys->list, keyed_links(node), /* before */ POOL_NONE, slot);
    map_put(&keys->by_key, place_of(given->key), slot);
    map_put(&keys->by_job, job_key(given->job), slot);
    audit_start(node);
    return slot;
}

/* The first in rank for @key among the members but @other; NODE_NONE if there is none. */
static uint32_t first_but(const struct node *node, struct request_key key, uint32_t other)
{
    const struct members *members = node->view.members;
    uint32_t best = NODE_NONE;
    uint64_t best_hash = 0;
    for (uint32_t member = 0; member < members->node_count; member++) {
        const uint64_t hash = hash_mix(place_of(key), member);
        if (hash >= best_hash && member != other && members_is_up(members, member) &&
            !suspects_has(&node->view.suspects, member)) {
            best = member;
            best_hash = hash;
        }
    }
    return best;
}

static bool is_orphan(const struct node *node, const struct keyed *entry)
{
    const struct members *members = node->view.members;
    return !members_is_up(members, entry->job.node) ||
           members_incarnation(members, entry->job.node) > entry->job.incarnation;
}

static void redirect(struct node *node, uint64_t client, uint32_t to)
{
    trace(node, RECORD_REDIRECTED, REASON_NONE)->value = to;
    struct effect *effect = effect_add(node, EFFECT_REDIRECT);
    effect->redirect.client = client;
    effect->redirect.node = to;
}

/* The client that waits for request @slot, a job of this node, hears who knows of it. */
static void accept(struct node *node, uint32_t slot)
{
    const struct keyed *entry = keyed_at(node, slot);
    const struct job *job = job_at(node, jobs_find(node, entry->job));
    if (job->client == CLIENT_NONE) {
        return;
    }
    struct effect *effect = effect_add(node, EFFECT_ACCEPT);
    effect->accept.client = job->client;
    effect->accept.job = job->id;
    effect->accept.deputy = entry->is_known ? entry->deputy : NODE_NONE;
}

/* Tell a deputy of request @slot, a job of this node, if there is one to tell. */
static void depute(struct node *node, uint32_t slot)
{
    struct keyed *entry = keyed_at(node, slot);
    const struct job *job = job_at(node, jobs_find(node, entry->job));
    const struct tensor *inputs = tensor_at(node, job->inputs);
    entry->deputy = first_but(node, entry->key, node->id);
    entry->touched_ns = now_ns(node);
    entry->is_known = false;
    if (entry->deputy == NODE_NONE) {
        return;
    }
    const struct message message = {
        .kind = MESSAGE_DEPUTE,
        .job = job->id,
        .workflow = job->workflow,
        .deputy =
            {
                .items = job->items,
                .priority = job->priority,
                .firm = job->firm,
                .left_ns = left_ns(node, job->deadline_ns),
                .bytes = inputs->bytes,
                .key = entry->key,
                .inputs_hash = entry->inputs_hash,
                .losses = job->losses,
            },
    };
    tensor_hold(node, job->inputs);
    outbox_move(node, entry->deputy, &message, job->inputs);
}

void keys_opened(struct node *node, uint32_t job_slot, const struct event_request *request)
{
    const struct job *job = job_at(node, job_slot);
    const struct keyed given = {
        .key = request->key,
        .inputs_hash = request->inputs_hash,
        .job = job->id,
        .inputs = POOL_NONE,
        .outputs = POOL_NONE,
        .workflow = job->workflow,
        .state = KEYED_OWNED,
    };
    const uint32_t slot = add(node, &given);
    if (slot != POOL_NONE) {
        depute(node, slot);
    }
}

/* The owner of request @slot is lost: it is a job of this node from now on. */
static void take_over(struct node *node, uint32_t slot)
{
    struct keyed *entry = keyed_at(node, slot);
    const struct event_request request = {
        .client = CLIENT_NONE,
        .workflow = entry->workflow,
        .items = entry->items,
        .priority = entry->priority,
        .slo_ns = entry->firm ? 1 : 0, /* It is firm; when, the entry says. */
        .inputs = tensor_at(node, entry->inputs)->handle,
        .bytes = tensor_at(node, entry->inputs)->bytes,
    };
    const uint32_t job_slot = jobs_adopt(node, &request, entry->deadline_ns);
    if (job_slot == POOL_NONE) {
        return; /* The audit tries again. */
    }
    struct job *job = job_at(node, job_slot);
    (void)tensor_pass(node, entry->inputs); /* The job has it. */
    (void)map_remove(&node->keys.by_job, job_key(entry->job));
    entry->inputs = POOL_NONE;
    entry->former = entry->job;
    entry->job = job->id;
    entry->state = KEYED_OWNED;
    job->losses = (uint8_t)min_u32(entry->losses + 1, JOB_ATTEMPTS_MAX);
    map_put(&node->keys.by_job, job_key(entry->job), slot);
    struct record *record = trace(node, RECORD_TAKEN_OVER, REASON_OWNER_LOST);
    record->job = job->id;
    record->workflow = job->workflow;
    record->value = entry->former.node;
    if (job->losses >= JOB_ATTEMPTS_MAX) {
        jobs_end(node, job_slot, WEFT_FAILED, REASON_ATTEMPTS);
        return;
    }
    depute(node, slot);
    jobs_place(node, job_slot);
}

/* The client of @request waits for request @slot, a job of this node, from now on. */
static void attach(struct node *node, uint32_t slot, const struct event_request *request)
{
    struct job *job = job_at(node, jobs_find(node, keyed_at(node, slot)->job));
    if (job->client != CLIENT_NONE) { /* It has asked again, elsewhere. */
        effect_add(node, EFFECT_ANSWER)->answer = (struct effect_answer){
            .client = job->client,
            .job = job->id,
            .status = WEFT_CANCELLED,
            .reason = REASON_DUPLICATE,
        };
    }
    job->client = request->client;
    accept(node, slot);
}

/* Show the outputs that @entry keeps, by sink, in @outputs. How many there are. */
static uint32_t show_outputs(
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

/* Give the answer that was kept to the client of @request. */
static void answer(struct node *node, uint32_t slot, const struct event_request *request)
{
    const struct keyed *entry = keyed_at(node, slot);
    struct handle *outputs = node->outputs + node->output_count;
    const uint32_t count = show_outputs(node, entry, outputs);
    node->output_count += count;
    effect_add(node, EFFECT_ANSWER)->answer = (struct effect_answer){
        .client = request->client,
        .job = entry->job,
        .status = entry->status,
        .reason = entry->reason,
        .output_count = count,
        .outputs = outputs,
        .is_kept = true,
    };
}

bool keys_request(struct node *node, const struct event_request *request)
{
    const uint32_t slot = keys_find(node, request->key);
    if (slot == POOL_NONE) {
        const uint32_t owner = first_but(node, request->key, NODE_NONE);
        if (owner == node->id || owner == NODE_NONE) {
            return false;
        }
        redirect(node, request->client, owner);
    } else if (
        keyed_at(node, slot)->inputs_hash != request->inputs_hash ||
        keyed_at(node, slot)->workflow != request->workflow) {
        jobs_refuse(node, request, REASON_KEY_REUSED, /* retry_after_ns */ 0);
        return true;
    } else {
        if (keyed_at(node, slot)->state == KEYED_DEPUTED && is_orphan(node, keyed_at(node, slot))) {
            take_over(node, slot);
        }
        const struct keyed *entry = keyed_at(node, slot);
        if (entry->state == KEYED_OWNED) {
            attach(node, slot, request);
        } else if (entry->state == KEYED_ANSWERED) {
            answer(node, slot, request);
        } else {
            redirect(node, request->client, is_orphan(node, entry) ? node->id : entry->job.node);
        }
    }
    if (request->inputs.id != 0) {
        effect_add(node, EFFECT_RELEASE)->release = request->inputs;
    }
    return true;
}

bool keys_ended(
    struct node *node, struct job *job, enum weft_status status, enum reason reason,
    struct handle *outputs, uint32_t *count_out)
{
    const uint32_t slot = find_job(node, job->id);
    if (slot == POOL_NONE) {
        return false;
    }
    struct keyed *entry = keyed_at(node, slot);
    const struct message settled = {
        .kind = MESSAGE_SETTLED, .job = job->id, .workflow = job->workflow};
    if (entry->deputy != NODE_NONE && members_is_up(node->view.members, entry->deputy)) {
        outbox_send(node, entry->deputy, &settled);
    }
    if (status == WEFT_CANCELLED && reason != REASON_LATE) { /* No client will ask again. */
        forget(node, slot);
        return false;
    }
    entry->state = KEYED_ANSWERED;
    entry->status = status;
    entry->reason = reason;
    entry->touched_ns = now_ns(node);
    if (status != WEFT_OK) {
        return false;
    }
    entry->outputs = job->outputs;
    job->outputs = POOL_NONE;
    *count_out = show_outputs(node, entry, outputs);
    return true;
}

static void reply(struct node *node, const struct message *message, enum message_kind kind)
{
    const struct message said = {
        .kind = kind,
        .to_incarnation = message->from_incarnation,
        .job = message->job,
        .workflow = message->workflow,
    };
    outbox_send(node, message->from, &said);
}

void keys_depute(struct node *node, const struct message *message, uint32_t tensor)
{
    const struct message_deputy *said = &message->deputy;
    const uint32_t known = keys_find(node, said->key);
    if (known != POOL_NONE && keyed_at(node, known)->state != KEYED_DEPUTED) {
        tensor_release(node, tensor);
        reply(node, message, MESSAGE_TAKEN);
        return;
    }
    if (known != POOL_NONE) { /* The last word counts. */
        forget(node, known);
    }
    const struct keyed given = {
        .key = said->key,
        .inputs_hash = said->inputs_hash,
        .job = message->job,
        .deputy = NODE_NONE,
        .losses = said->losses,
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
    if (!node->keys.is_on || !request_key_is_set(said->key) || add(node, &given) == POOL_NONE) {
        tensor_release(node, tensor);
        return;
    }
    reply(node, message, MESSAGE_DEPUTED);
}

/* The request that @message of its deputy is about. POOL_NONE: it is not such a message. */
static uint32_t find_of_deputy(const struct node *node, const struct message *message)
{
    const uint32_t slot = find_job(node, message->job);
    return slot != POOL_NONE && keyed_at(node, slot)->state == KEYED_OWNED &&
                   keyed_at(node, slot)->deputy == message->from
               ? slot
               : POOL_NONE;
}

void keys_deputed(struct node *node, const struct message *message)
{
    const uint32_t slot = find_of_deputy(node, message);
    if (slot == POOL_NONE) {
        return;
    }
    struct record *record = trace(node, RECORD_DEPUTED, REASON_NONE);
    record->job = message->job;
    record->value = message->from;
    keyed_at(node, slot)->is_known = true;
    accept(node, slot);
}

void keys_taken(struct node *node, const struct message *message)
{
    const uint32_t slot = find_of_deputy(node, message);
    if (slot == POOL_NONE) {
        return;
    }
    const uint32_t job_slot = jobs_find(node, message->job);
    struct job *job = job_at(node, job_slot);
    if (job->client != CLIENT_NONE) {
        redirect(node, job->client, message->from);
        job->client = CLIENT_NONE;
    }
    keyed_at(node, slot)->deputy = NODE_NONE; /* It has no use for the news of the end. */
    jobs_end(node, job_slot, WEFT_CANCELLED, REASON_DUPLICATE);
}

void keys_settled(struct node *node, struct job_id job)
{
    const uint32_t slot = find_job(node, job);
    if (slot != POOL_NONE && keyed_at(node, slot)->state == KEYED_DEPUTED) {
        forget(node, slot);
    }
}

/* Whether the deputy of @entry, a job of this node, is gone. */
static bool lacks_deputy(const struct node *node, const struct keyed *entry)
{
    return entry->state == KEYED_OWNED && entry->deputy != NODE_NONE &&
           !members_is_up(node->view.members, entry->deputy);
}

bool keys_repair(struct node *node)
{
    uint32_t repaired = 0;
    uint32_t next = node->keys.list.first;
    while (next != POOL_NONE && repaired < REPAIRS_PER_STEP) {
        const uint32_t slot = next;
        const struct keyed *entry = keyed_at(node, slot);
        next = entry->link.next;
        if (entry->state == KEYED_DEPUTED && is_orphan(node, entry)) {
            take_over(node, slot);
            repaired++;
        } else if (lacks_deputy(node, entry)) {
            depute(node, slot);
            repaired++;
        }
    }
    return repaired == REPAIRS_PER_STEP;
}

void keys_returned(struct node *node, uint32_t peer)
{
    const uint32_t incarnation = members_incarnation(node->view.members, peer);
    uint32_t slot = node->keys.list.first;
    for (; slot != POOL_NONE; slot = keyed_at(node, slot)->link.next) {
        const struct keyed *entry = keyed_at(node, slot);
        if (entry->former.number != 0 && entry->former.node == peer &&
            entry->former.incarnation == incarnation && audit_has_room(node, /* messages */ 1)) {
            const struct message taken = {
                .kind = MESSAGE_TAKEN, .job = entry->former, .workflow = entry->workflow};
            outbox_send(node, peer, &taken);
        }
    }
}

void keys_audit(struct node *node)
{
    uint32_t next = node->keys.list.first;
    while (next != POOL_NONE && audit_has_room(node, /* messages */ 4)) {
        const uint32_t slot = next;
        struct keyed *entry = keyed_at(node, slot);
        next = entry->link.next;
        const int64_t silent_ns = now_ns(node) - entry->touched_ns;
        if (entry->state == KEYED_ANSWERED && silent_ns >= ANSWER_KEPT_NS) {
            forget(node, slot);
        } else if (entry->state == KEYED_OWNED && !entry->is_known && silent_ns >= AUDIT_NS) {
            depute(node, slot); /* What was said, or the answer to it, is lost. */
        } else if (
            entry->state == KEYED_DEPUTED && silent_ns >= AUDIT_NS && !is_orphan(node, entry)) {
            entry->touched_ns = now_ns(node);
            const struct message query = {
                .kind = MESSAGE_QUERY, .job = entry->job, .workflow = entry->workflow};
            outbox_send(node, entry->job.node, &query);
        }
    }
    (void)keys_repair(node); /* What there was no room for. */
}
