#include "node/claims.h"

#include "base/numbers.h"
#include "node/access.h"
#include "node/audit.h"
#include "node/outbox.h"
#include "node/rows.h"
#include "node/tickets.h"

enum { STRANGERS_MAX = 8 }; /* In turn, without the edition of a task: its owner is told. */

/* How many items of @kind fit @worker together, as the profile says: at least one task's. */
static uint32_t items_max(
    const struct node *node, uint32_t worker, const struct workflow_task *kind)
{
    const uint64_t all = node->fleet->workers[worker].memory_bytes;
    const uint64_t each = node->profile->models[kind->run].workspace_bytes_per_item;
    uint64_t bytes = profile_workspace_bytes(node->profile, kind->run, /* items */ 0);
    for (uint32_t i = 0; i < kind->model_count; i++) {
        bytes += node->profile->models[kind->models[i]].resident_bytes;
    }
    const uint64_t items = each == 0 ? UINT32_MAX : (bytes < all ? all - bytes : 0) / each;
    return items < UINT32_MAX ? (uint32_t)items : UINT32_MAX;
}

/*
 * The first ticket of @queue whose inputs are where @claim runs, if there is one among those that
 * are looked at one by one and are about as urgent as the first; else the first.
 */
static uint32_t find_near(
    const struct node *node, const struct home_queue *queue, const struct claim *claim)
{
    const uint32_t here = node_of_worker(node, claim->worker);
    const struct ticket *head = ticket_at(node, queue->list.first);
    uint32_t slot = queue->list.first;
    for (uint32_t looks = 0; looks < QUEUE_LOOKS_MAX && slot != POOL_NONE; looks++) {
        const struct ticket *ticket = ticket_at(node, slot);
        if (ticket->key - PRIORITY_LEVEL_NS / 2 > head->key ||
            is_put_off(ticket) != is_put_off(head)) {
            break;
        }
        if (node_of_worker(node, ticket->holder) == here) {
            return slot;
        }
        slot = ticket->link.next;
    }
    return queue->list.first;
}

/* Move tickets of one edition from the head of @queue into @claim, in their order. */
static void fill(
    struct node *node, struct home_queue *queue, struct claim *claim, uint32_t batch,
    bool near_first)
{
    const uint32_t edition = job_edition(ticket_at(node, queue->list.first)->job);
    const bool put_off = is_put_off(ticket_at(node, queue->list.first));
    uint32_t *link = &claim->tickets;
    *link = POOL_NONE;
    while (queue->count > 0 && claim->task_count < BATCH_TASKS_MAX) {
        const bool is_head = claim->task_count == 0 || !near_first;
        const uint32_t slot = is_head ? queue->list.first : find_near(node, queue, claim);
        struct ticket *ticket = ticket_at(node, slot);
        if (claim->task_count > 0 &&
            (claim->items + ticket->items > batch || job_edition(ticket->job) != edition ||
             is_put_off(ticket) != put_off)) {
            break;
        }
        tickets_take(node, slot);
        if (!put_off) {
            tickets_count(node, slot, /* put_off */ false);
        }
        claim->task_count++;
        claim->items += ticket->items;
        *link = slot;
        link = &ticket->link.next;
    }
}

static uint32_t open_claim(struct node *node, uint32_t number, const struct wanted *wanted)
{
    struct home *home = &node->home;
    const struct ticket *head = ticket_at(node, home->queues[number].list.first);
    const struct workflow_task *kind = &workflow_at(node, head->workflow)->tasks[head->task];
    const uint32_t slot = pool_take(&node->pools->claims);
    ASSERT(slot != POOL_NONE);
    struct claim *claim = claim_at(node, slot);
    home->claim_number++;
    *claim = (struct claim){
        .number = home->claim_number,
        .worker = wanted->worker,
        .workflow = head->workflow,
        .task = head->task,
        .config = wanted->config,
        .epoch = node->view.members->epoch,
        .touched_ns = now_ns(node),
    };
    claim->config.gpu = sharing_round(&node->fleet->workers[wanted->worker], wanted->config.gpu);
    const uint32_t most = min_u32(items_max(node, wanted->worker, kind), wanted->config.batch);
    fill(node, &home->queues[number], claim, most, wanted->near_first);
    slot_list_insert(&home->claim_list, claim_links(node), /* before */ POOL_NONE, slot);
    map_put(&home->claims, claim->number, slot);
    audit_start(node);
    return slot;
}

static void close_claim(struct node *node, uint32_t slot)
{
    const struct claim *claim = claim_at(node, slot);
    struct home *home = &node->home;
    slot_list_remove(&home->claim_list, claim_links(node), slot);
    (void)map_remove(&home->claims, claim->number);
    pool_give(&node->pools->claims, slot);
}

/* Count the claim's units until the row of its worker does. */
static void reserve(struct node *node, struct claim *claim)
{
    const struct fleet_worker *spec = &node->fleet->workers[claim->worker];
    const uint32_t run = workflow_at(node, claim->workflow)->tasks[claim->task].run;
    struct config shares = claim->config;
    shares.gpu = shares.gpu == spec->gpu_units ? 0 : shares.gpu;
    const struct units units = {.gpu = claim->config.gpu, .cpu = claim->config.cpu};
    if (!view_is_own(&node->view, claim->worker)) { /* Own rows are fresh. */
        claim->sequence = reservations_claim(
            &node->view.reservations, claim->worker,
            profile_run(node->profile, run, spec->device, claim->items, shares).run_ns, units);
    }
}

static void trace_claimed(
    struct node *node, const struct claim *claim, const struct ticket *ticket, enum reason reason)
{
    struct record *record = trace(node, RECORD_CLAIMED, reason);
    record->job = ticket->job;
    record->workflow = (uint16_t)claim->workflow;
    record->task = claim->task;
    record->worker = claim->worker;
    record->value = claim->items;
    record->batch = (uint16_t)claim->task_count;
    record->gpu = (uint16_t)claim->config.gpu;
    record->cpu = (uint16_t)claim->config.cpu;
}

uint32_t claims_make(
    struct node *node, uint32_t number, const struct wanted *wanted, bool *declined_out)
{
    const uint32_t slot = open_claim(node, number, wanted);
    reserve(node, claim_at(node, slot));
    const struct claim claim = *claim_at(node, slot); /* Declined at once, it is gone. */
    struct ticket tickets[BATCH_TASKS_MAX];
    uint32_t count = 0;
    for (uint32_t at = claim.tickets; at != POOL_NONE; at = tickets[count - 1].link.next) {
        tickets[count] = *ticket_at(node, at);
        if (count == 0) {
            trace_weighed(node, tickets[0].job, claim.workflow, claim.task);
        }
        trace_claimed(node, &claim, &tickets[count], wanted->reason);
        count++;
    }
    for (uint32_t i = 0; i < count && !*declined_out; i++) {
        const struct message message = {
            .kind = MESSAGE_CLAIM,
            .job = tickets[i].job,
            .workflow = claim.workflow,
            .task = claim.task,
            .worker = claim.worker,
            .attempt = tickets[i].attempt,
            .sequence = i == 0 ? claim.sequence : 0,
            .claim =
                {
                    .number = claim.number,
                    .index = i,
                    .count = count,
                    .items = claim.items,
                    .batch = claim.config.batch,
                    .cpu = claim.config.cpu,
                    .gpu = claim.config.gpu,
                    .holder = tickets[i].holder,
                },
        };
        outbox_send(node, node_of_worker(node, claim.worker), &message);
        *declined_out = map_get(&node->home.claims, claim.number) == MAP_NONE;
    }
    return count;
}

uint32_t claims_find(const struct node *node, const struct message *message)
{
    const uint32_t slot = map_get(&node->home.claims, message->outcome.number);
    const bool is_its = slot != MAP_NONE && claim_at(node, slot)->worker == message->worker;
    return is_its ? slot : POOL_NONE;
}

void claims_drop(struct node *node, const struct message *message)
{
    uint32_t slot = node->home.claim_list.first;
    for (; slot != POOL_NONE; slot = claim_at(node, slot)->link.next) {
        struct claim *claim = claim_at(node, slot);
        uint32_t *link = &claim->tickets;
        while (*link != POOL_NONE && claim->workflow == message->workflow &&
               claim->task == message->task) {
            const uint32_t at = *link;
            struct ticket *ticket = ticket_at(node, at);
            if (job_equal(ticket->job, message->job)) {
                *link = ticket->link.next;
                tickets_forget(node, at);
                return;
            }
            link = &ticket->link.next;
        }
    }
}

/* What to do with the tickets of a claim that is over. */
enum fate { FATE_FORGET, FATE_PUT_BACK, FATE_REFUSE };

/* One more node does not have the edition of ticket @slot. Whether it seems that none has. */
static bool meet_stranger(struct node *node, uint32_t slot)
{
    struct ticket *ticket = ticket_at(node, slot);
    ticket->strange_count++;
    return ticket->strange_count >= STRANGERS_MAX;
}

/* Claim @slot is over: tell the policy, and settle its tickets. */
static void finish(
    struct node *node, uint32_t slot, const struct ended_facts *said, enum fate fate,
    enum reason reason)
{
    const struct claim claim = *claim_at(node, slot);
    struct ended_facts facts = *said;
    facts.workflow = claim.workflow;
    facts.task = claim.task;
    facts.worker = claim.worker;
    facts.items = claim.items;
    facts.config = claim.config;
    close_claim(node, slot);
    policy_ended(&node->seat, &facts);
    uint32_t next = claim.tickets;
    while (next != POOL_NONE) {
        const uint32_t at = next;
        next = ticket_at(node, at)->link.next;
        const bool is_nowhere = reason == REASON_EDITION && meet_stranger(node, at);
        if (fate == FATE_PUT_BACK && !is_nowhere) {
            tickets_put_back(node, at);
        } else if (fate != FATE_FORGET) {
            tickets_refuse(node, at, reason);
        } else {
            tickets_forget(node, at);
        }
    }
}

/* The claim is over: what its worker says is free does not count it any more. */
static void take_back(struct node *node, const struct claim *claim)
{
    if (claim->sequence != 0) {
        (void)reservations_remove(&node->view.reservations, claim->worker, claim->sequence);
    }
}

void claims_declined(struct node *node, uint32_t slot, const struct message *message)
{
    const struct claim *claim = claim_at(node, slot);
    const struct ended_facts facts = {.completed = false};
    const enum reason reason = (enum reason)message->outcome.reason;
    const bool never = reason == REASON_TOO_LARGE || reason == REASON_UNAVAILABLE;
    struct message_units free = message->outcome.free;
    take_back(node, claim);
    if (reason == REASON_DRAIN) {
        free.gpu = 0;
    } else if (!never && reason != REASON_STALE) { /* Whatever the obstacle was. */
        const struct fleet_worker *device = &node->fleet->workers[claim->worker];
        const uint32_t wanted = sharing_round(device, claim->config.gpu);
        free.gpu = min_u32(free.gpu, wanted - min_u32(wanted, 1));
    }
    rows_said(node, message, free);
    finish(node, slot, &facts, never ? FATE_REFUSE : FATE_PUT_BACK, reason);
}

void claims_ended(struct node *node, uint32_t slot, const struct message *message)
{
    const struct ended_facts facts = {
        .run_ns = message->outcome.run_ns,
        .completed = message->outcome.reason == REASON_NONE,
    };
    take_back(node, claim_at(node, slot));
    rows_said(node, message, message->outcome.free);
    /* What failed, its owner knows of; what never came may still wait where it was. */
    finish(
        node, slot, &facts, message->outcome.reason == REASON_STALE ? FATE_PUT_BACK : FATE_FORGET,
        REASON_NONE);
}

void claims_repair(struct node *node)
{
    uint32_t next = node->home.claim_list.first;
    while (next != POOL_NONE) {
        const uint32_t slot = next;
        const struct claim *claim = claim_at(node, slot);
        next = claim->link.next;
        const uint32_t peer = node_of_worker(node, claim->worker);
        if (!members_is_same(node->view.members, peer, claim->epoch)) {
            const struct ended_facts facts = {.completed = false};
            finish(node, slot, &facts, FATE_PUT_BACK, REASON_NONE);
        }
    }
}

void claims_audit(struct node *node)
{
    uint32_t next = node->home.claim_list.first;
    while (next != POOL_NONE) {
        struct claim *claim = claim_at(node, next);
        next = claim->link.next;
        const uint32_t peer = node_of_worker(node, claim->worker);
        if (now_ns(node) - claim->touched_ns < AUDIT_NS ||
            !members_is_up(node->view.members, peer) || !audit_has_room(node, /* messages */ 4)) {
            continue;
        }
        claim->touched_ns = now_ns(node);
        const struct message ask = {
            .kind = MESSAGE_ASK,
            .job = {.node = node->id},
            .worker = claim->worker,
            .asked = claim->number,
        };
        outbox_send(node, peer, &ask);
    }
}
