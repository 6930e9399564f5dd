#include "sim/retries.h"

#include "base/hash.h"
#include "sim/editions.h"

#define RETRY_NS (100 * NS_PER_MS) /* Between two tries of a client that finds no node. */

enum { AGAIN_EVERY = 4, AGAIN_MS_MAX = 2000 }; /* Who asks once more, and when at the latest. */

static struct keyed_client *keyed_at(const struct sim *sim, uint32_t slot)
{
    ASSERT(sim->options.has_deputies);
    return pool_at(&sim->clients, slot);
}

/* The key of the request that came as number @number. */
static struct request_key key_of(const struct sim *sim, uint64_t number)
{
    return (struct request_key){{hash_mix(sim->options.seed, number), number + 1}};
}

struct request_key retries_key(const struct sim *sim, uint32_t slot)
{
    return key_of(sim, keyed_at(sim, slot)->client.number);
}

void retries_begin(struct sim *sim, uint32_t slot, const struct arrival *arrival)
{
    struct keyed_client *keyed = keyed_at(sim, slot);
    keyed->retry_ns = 0;
    keyed->items = arrival->items;
    keyed->deadline_ns = arrival->deadline_ns;
    keyed->deputy = NODE_NONE;
    keyed->has_asked = false;
    keyed->is_again = false;
    struct poison *poison = &sim->poison;
    if (poison->fault != NULL && !poison->has_come && arrival->workflow == poison->fault->victim) {
        poison->has_come = true;
        poison->number = keyed->client.number;
    }
}

bool retries_has_asked(const struct sim *sim, uint32_t slot)
{
    return keyed_at(sim, slot)->has_asked;
}

/* Whether @owner can mean the present life of @deputy: not if it died, and may be back, since. */
static bool is_meant(const struct sim *sim, uint32_t owner, uint32_t deputy)
{
    const struct sim_node *peer = &sim->nodes[deputy];
    return peer->node != NULL &&
           node_has_heard_of(sim->nodes[owner].node, deputy, peer->incarnation);
}

void retries_accepted(struct sim *sim, uint32_t slot, struct job_id job, uint32_t deputy)
{
    struct keyed_client *keyed = keyed_at(sim, slot);
    keyed->deputy = deputy != NODE_NONE && is_meant(sim, job.node, deputy) ? deputy : NODE_NONE;
    if (keyed->deputy != NODE_NONE) {
        keyed->deputy_incarnation = sim->nodes[deputy].incarnation;
        keyed->edition = job_edition(job);
    }
}

void retries_leave(struct sim *sim, uint32_t slot, uint32_t node, int64_t after_ns)
{
    struct keyed_client *keyed = keyed_at(sim, slot);
    const uint32_t to = node == NODE_NONE ? PAYLOAD_SMALL_MAX : node;
    keyed->retry_ns = sim->now_ns + (after_ns > 0 ? after_ns : 1);
    schedule(sim, keyed->retry_ns, payload_of(TIMED_RETRY, 0, to, slot));
}

bool retries_is_away(const struct sim *sim, uint32_t slot)
{
    return sim->options.has_deputies && keyed_at(sim, slot)->retry_ns != 0;
}

/* Whether all nodes can ask @member: none of them has still to hear that it is there. */
static bool is_known_to_all(const struct sim *sim, uint32_t member)
{
    for (uint32_t i = 0; i < sim->options.fleet->node_count; i++) {
        const struct node *node = sim->nodes[i].node;
        if (node != NULL && !node_has_heard_of(node, member, sim->nodes[member].incarnation)) {
            return false;
        }
    }
    return true;
}

/*
 * A member that keeps the answer of client @slot, and that all others can reach as long as it
 * lives. NODE_NONE: there is none, or that cannot be said.
 */
static uint32_t find_keeper(const struct sim *sim, uint32_t slot)
{
    if (!sim->options.check || sim->has_cuts || sim->has_stops) {
        return NODE_NONE;
    }
    for (uint32_t i = 0; i < sim->options.fleet->node_count; i++) {
        if (sim->nodes[i].node != NULL && members_is_up(sim->members, i) &&
            node_keeps(sim->nodes[i].node, retries_key(sim, slot)) && is_known_to_all(sim, i)) {
            return i;
        }
    }
    return NODE_NONE;
}

/* What made @kept, an answer. */
static uint32_t kept_made(const struct sim *sim, struct kept_answer kept)
{
    return kept.output.id == 0 ? 0 : editions_made(sim, kept.output);
}

/* All members that keep the answer of client @slot keep the same one. */
static void check_keepers(const struct sim *sim, uint32_t slot)
{
    const struct keyed_client *keyed = keyed_at(sim, slot);
    for (uint32_t i = 0; i < sim->options.fleet->node_count; i++) {
        const struct node *node = sim->nodes[i].node;
        if (node != NULL && members_is_up(sim->members, i)) {
            const struct kept_answer kept = node_kept(node, retries_key(sim, slot));
            ASSERT(
                kept.since_ns < 0 ||
                (kept.status == keyed->kept.status && kept.reason == keyed->kept.reason &&
                 kept_made(sim, kept) == keyed->made));
        }
    }
}

/* Whether the answer that client @slot has asked for once more is still kept, and no later one. */
static bool is_kept(const struct sim *sim, uint32_t slot)
{
    const struct keyed_client *keyed = keyed_at(sim, slot);
    const struct sim_node *keeper = keyed->keeper == NODE_NONE ? NULL : &sim->nodes[keyed->keeper];
    return keeper != NULL && keeper->node != NULL &&
           keeper->incarnation == keyed->keeper_incarnation &&
           node_kept(keeper->node, retries_key(sim, slot)).since_ns == keyed->kept.since_ns;
}

bool retries_answered(struct sim *sim, uint32_t slot, const struct effect_answer *answer)
{
    struct keyed_client *keyed = keyed_at(sim, slot);
    const uint32_t made = answer->output_count > 0 ? editions_made(sim, answer->outputs[0]) : 0;
    if (keyed->is_again) { /* What was said first may be lost, with who said it: a deputy ran it. */
        ASSERT(
            answer->status == WEFT_REFUSED || !is_kept(sim, slot) ||
            (answer->status == keyed->kept.status && answer->reason == keyed->kept.reason &&
             made == keyed->made));
        return false;
    }
    if (!sim->options.is_asked_twice || answer->status != WEFT_OK ||
        keyed->client.number % AGAIN_EVERY != 0) {
        return false;
    }
    keyed->client.hangs_up_ns = 0;
    keyed->deputy = NODE_NONE;
    keyed->is_again = true;
    const uint32_t after_ms = rng_below(&sim->retries, AGAIN_MS_MAX);
    retries_leave(sim, slot, NODE_NONE, after_ms * NS_PER_MS);
    return true;
}

void retries_again(struct sim *sim, uint32_t slot, uint32_t wanted)
{
    struct keyed_client *keyed = keyed_at(sim, slot);
    if (!pool_is_taken(&sim->clients, slot) || keyed->retry_ns != sim->now_ns) {
        return; /* It has hung up. */
    }
    const uint32_t node_count = sim->options.fleet->node_count;
    if (ingress_owner(&sim->ingress, 0) == NODE_NONE) { /* It gives up. */
        pool_give(&sim->clients, slot);
        sim->answered++;
        return;
    }
    const uint32_t node =
        wanted == PAYLOAD_SMALL_MAX ? rng_below(&sim->retries, node_count) : wanted;
    if (sim->nodes[node].node == NULL) {
        retries_leave(sim, slot, NODE_NONE, RETRY_NS);
        return;
    }
    if (sim->nodes[node].stopped_until_ns > sim->now_ns) { /* The client waits, too. */
        retries_leave(sim, slot, node, sim->nodes[node].stopped_until_ns - sim->now_ns);
        return;
    }
    const struct arrival arrival = {
        .workflow = keyed->client.workflow,
        .items = keyed->items,
        .deadline_ns = keyed->deadline_ns,
    };
    keyed->retry_ns = 0;
    keyed->has_asked = true;
    keyed->keeper = keyed->is_again ? find_keeper(sim, slot) : NODE_NONE;
    if (keyed->keeper != NODE_NONE) {
        const struct sim_node *keeper = &sim->nodes[keyed->keeper];
        keyed->keeper_incarnation = keeper->incarnation;
        keyed->kept = node_kept(keeper->node, retries_key(sim, slot));
        keyed->made = kept_made(sim, keyed->kept);
        check_keepers(sim, slot);
    }
    sim_ask(sim, slot, node, &arrival);
}

/* The deputy of a request goes on with the edition that its owner has accepted it under. */
static void check_taken_over(const struct sim *sim, const struct record *record)
{
    for (uint32_t slot = 0; slot < sim->clients.capacity; slot++) {
        const struct keyed_client *keyed = keyed_at(sim, slot);
        if (pool_is_taken(&sim->clients, slot) && keyed->deputy == record->node &&
            keyed->deputy_incarnation == sim->nodes[record->node].incarnation &&
            node_owns(sim->nodes[record->node].node, record->job, retries_key(sim, slot))) {
            ASSERT(keyed->edition == job_edition(record->job));
        }
    }
}

/* What was answered does not run again, as long as a node keeps the answer. */
static void check_new(const struct sim *sim, const struct record *record)
{
    for (uint32_t slot = 0; slot < sim->clients.capacity; slot++) {
        ASSERT(
            !pool_is_taken(&sim->clients, slot) || !keyed_at(sim, slot)->is_again ||
            retries_is_away(sim, slot) || !is_kept(sim, slot) ||
            !node_owns(sim->nodes[record->node].node, record->job, retries_key(sim, slot)));
    }
}

void retries_note(struct sim *sim, const struct record *record)
{
    const uint64_t key = job_key(record->job);
    if (record->kind == RECORD_ARRIVED) {
        if (sim->options.check && sim->options.is_asked_twice) {
            check_new(sim, record);
        }
        (void)pool_reserve(&sim->open_jobs, 1);
        (void)map_reserve(&sim->open_slots, 1);
        const uint32_t slot = pool_take_raw(&sim->open_jobs);
        *(struct open_job *)pool_at(&sim->open_jobs, slot) = (struct open_job){
            .job = record->job,
            .arrived_ns = record->at_ns,
            .workflow = record->workflow,
            .is_poison = sim->poison.has_come && node_owns(
                                                     sim->nodes[record->node].node, record->job,
                                                     key_of(sim, sim->poison.number)),
        };
        map_put(&sim->open_slots, key, slot);
    } else if (record->kind == RECORD_TAKEN_OVER && sim->options.check) {
        check_taken_over(sim, record);
    } else if (record->kind == RECORD_ANSWERED) {
        ASSERT(
            record->reason != REASON_NONE ||
            !node_answered_early(sim->nodes[record->node].node, record->job));
        pool_give(&sim->open_jobs, map_get(&sim->open_slots, key));
        (void)map_remove(&sim->open_slots, key);
    }
}

bool retries_is_poison(const struct sim *sim, struct job_id job)
{
    const uint32_t slot = map_get(&sim->open_slots, job_key(job));
    const struct open_job *open = slot == MAP_NONE ? NULL : pool_at(&sim->open_jobs, slot);
    return open != NULL && job_equal(open->job, job) && open->is_poison;
}

bool retries_is_counted(const struct sim *sim)
{
    const struct request_key key = key_of(sim, sim->poison.number);
    bool is_counted = false;
    for (uint32_t i = 0; i < sim->options.fleet->node_count && !is_counted; i++) {
        const struct node *node = sim->nodes[i].node;
        is_counted = node != NULL && node_answers_for(node, key);
    }
    return is_counted;
}

void retries_lose(struct sim *sim, uint32_t node)
{
    for (uint32_t slot = 0; slot < sim->open_jobs.capacity; slot++) {
        if (!pool_is_taken(&sim->open_jobs, slot)) {
            continue;
        }
        const struct open_job lost = *(struct open_job *)pool_at(&sim->open_jobs, slot);
        if (lost.job.node == node) {
            faults_answer_lost(sim, lost.job, lost.workflow, lost.arrived_ns);
        }
    }
}

void retries_check(const struct sim *sim)
{
    for (uint32_t slot = 0; slot < sim->clients.capacity; slot++) {
        if (!pool_is_taken(&sim->clients, slot)) {
            continue;
        }
        const struct keyed_client *keyed = keyed_at(sim, slot);
        bool is_known = keyed->deputy == NODE_NONE || sim->nodes[keyed->deputy].node == NULL ||
                        sim->nodes[keyed->deputy].incarnation != keyed->deputy_incarnation;
        for (uint32_t i = 0; i < sim->options.fleet->node_count && !is_known; i++) {
            is_known = sim->nodes[i].node != NULL &&
                       node_knows(sim->nodes[i].node, retries_key(sim, slot));
        }
        ASSERT(is_known);
    }
}
