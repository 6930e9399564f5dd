#include "node/home.h"

#include "base/hash.h"
#include "base/numbers.h"
#include "node/access.h"
#include "node/claims.h"
#include "node/dispatch.h"
#include "node/give_up.h"
#include "node/outbox.h"
#include "node/pressing.h"
#include "node/rows.h"
#include "node/tickets.h"
#include "policy/choose.h"

/* Whether @member can keep queues, as far as this node knows. No other node has to agree. */
static bool can_keep(const struct node *node, uint32_t member)
{
    return members_is_up(node->view.members, member) &&
           view_is_usable(&node->view, node->fleet->nodes[member].worker_first);
}

/* Rendezvous hashing: the loss of a member moves only the queues that it kept. */
static uint32_t find_home(const struct node *node, uint32_t queue)
{
    uint32_t best = node->id;
    uint64_t best_hash = 0;
    for (uint32_t member = 0; member < node->fleet->node_count; member++) {
        const uint64_t hash = hash_mix(hash_mix(/* seed */ 0, queue), member);
        if (hash > best_hash && can_keep(node, member)) {
            best = member;
            best_hash = hash;
        }
    }
    return best;
}

uint32_t home_of(struct node *node, uint32_t queue)
{
    struct home *home = &node->home;
    if (home->epoch != node->view.members->epoch) {
        home->epoch = node->view.members->epoch;
        for (uint32_t i = 0; i < node->catalogue->queue_count; i++) {
            home->homes[i] = NODE_NONE;
        }
    }
    if (home->homes[queue] == NODE_NONE || !can_keep(node, home->homes[queue])) {
        home->homes[queue] = find_home(node, queue);
    }
    return home->homes[queue];
}

void home_offered(struct node *node, const struct message *message)
{
    const uint32_t queue = workflow_at(node, message->workflow)->queue_first + message->task;
    rows_said(node, message, message->offer.free);
    if (tickets_join(node, message)) {
        node->home.queues[queue].due = true;
    }
}

void home_gone(struct node *node, const struct message *message)
{
    if (!tickets_leave(node, message)) {
        claims_drop(node, message);
    }
}

void home_freed(struct node *node)
{
    for (uint32_t i = 0; i < node->home.active_count; i++) {
        node->home.queues[node->home.active[i]].due = true;
    }
}

void home_ended(struct node *node, const struct message *message)
{
    const uint32_t slot = claims_find(node, message);
    if (slot != POOL_NONE) {
        claims_ended(node, slot, message);
        home_freed(node);
    }
}

/* What the policy is told of queue @number. */
static void find_facts(const struct node *node, uint32_t number, struct queue_facts *facts_out)
{
    const struct home_queue *queue = &node->home.queues[number];
    const struct ticket *head = ticket_at(node, queue->list.first);
    *facts_out = (struct queue_facts){
        .worker = WORKER_NONE,
        .workflow = head->workflow,
        .task = head->task,
        /* What was put off fills no batch of what is in time: it would take longer. */
        .waiting = queue->count - (is_put_off(head) ? 0 : queue->late_count),
        .items = queue->items - (is_put_off(head) ? 0 : queue->late_items),
        .head_items = head->items,
        .head_ready_ns = head->ready_ns,
        .head_deadline_ns = head->deadline_ns,
        .head_arrived_ns = head->arrived_ns,
        .head_priority = head->priority,
        .rechecks = queue->rechecks,
        .put_off = queue->late_count == queue->count,
    };
    uint32_t holders[QUEUE_LOOKS_MAX];
    uint32_t counts[QUEUE_LOOKS_MAX];
    uint32_t holder_count = 0;
    uint32_t most = 0;
    uint32_t slot = queue->list.first;
    for (uint32_t looks = 0; looks < QUEUE_LOOKS_MAX && slot != POOL_NONE; looks++) {
        const struct ticket *ticket = ticket_at(node, slot);
        if (is_put_off(ticket) != is_put_off(head)) {
            break;
        }
        if (ticket->arrived_ns < facts_out->head_arrived_ns) {
            facts_out->head_arrived_ns = ticket->arrived_ns;
            facts_out->head_deadline_ns = ticket->deadline_ns;
        }
        facts_out->holders[facts_out->look_count++] = ticket->holder;
        uint32_t i = 0;
        while (i < holder_count && holders[i] != ticket->holder) {
            i++;
        }
        if (i == holder_count) {
            holders[i] = ticket->holder;
            counts[i] = 0;
            holder_count++;
        }
        counts[i]++;
        most = counts[i] > counts[most] ? i : most;
        slot = ticket->link.next;
    }
    ASSERT(holder_count > 0);
    facts_out->holder = holders[most]; /* In a tie, the first to have so many. */
}

/* The last node of a cluster drains: it alone can finish what is here. */
static bool is_last(const struct node *node)
{
    return node->draining && choose_first_usable(&node->view) == WORKER_NONE;
}

/* Whether @worker, if this is the last node, is one of its own that still works. */
static bool is_resort(const struct node *node, uint32_t worker)
{
    return view_is_own(&node->view, worker) &&
           !node->workers[worker - node->view.worker_first].lost && is_last(node);
}

/* The worker of the last node that meets @need. WORKER_NONE: none, or this is not the last. */
static uint32_t find_resort(const struct node *node, struct need need)
{
    for (uint32_t i = 0; i < node->worker_count; i++) {
        const uint32_t worker = node->view.worker_first + i;
        if (is_resort(node, worker) && can_run(node, need, worker)) {
            return worker;
        }
    }
    return WORKER_NONE;
}

/* Whether this node cannot run the edition of the head of queue @number. */
static bool is_foreign(const struct node *node, uint32_t number)
{
    const uint32_t head = node->home.queues[number].list.first;
    return !can_run_edition(node, ticket_at(node, head)->job);
}

/* Whether a worker of another node meets @need. */
static bool is_met_elsewhere(const struct node *node, struct need need)
{
    for (uint32_t worker = 0; worker < node->fleet->worker_count; worker++) {
        if (!view_is_own(&node->view, worker) && choose_can_use(&node->view, worker, need)) {
            return true;
        }
    }
    return false;
}

/* Own workers do not fit what this node would decline at once: it would be claimed without end. */
static bool fits(
    const struct node *node, uint32_t number, struct need need, uint32_t worker,
    const struct config *config)
{
    if (view_is_own(&node->view, worker) && is_foreign(node, number)) {
        return false;
    }
    const bool usable = view_is_usable(&node->view, worker) || is_resort(node, worker);
    return usable && can_run(node, need, worker) &&
           view_fits(&node->view, worker, config->cpu, config->gpu);
}

/* Claim the first of @answer that fits and meets @need. Returns how many tasks; 0 if none does. */
static uint32_t claim_first(
    struct node *node, uint32_t number, struct need need, const struct dispatch_answer *answer,
    bool *declined_out)
{
    for (uint32_t i = 0; i < answer->count; i++) {
        const struct wanted wanted = {
            .worker = answer->workers[i],
            .config = answer->configs[i],
            .reason = answer->unplanned ? REASON_UNPLANNED : REASON_NONE,
            .near_first = answer->near_first,
        };
        if (fits(node, number, need, wanted.worker, &wanted.config) &&
            !(node->seat.yields && pressing_keeps(node, number, wanted.worker))) {
            return claims_make(node, number, &wanted, declined_out);
        }
    }
    return 0;
}

/* A head that has waited for too long runs alone on the first device that is all free. */
static uint32_t claim_starved(
    struct node *node, uint32_t number, struct need need, const struct queue_facts *facts,
    bool *declined_out)
{
    struct wanted alone = {.config = {.batch = facts->head_items}, .reason = REASON_STARVED};
    const struct ticket *head = ticket_at(node, node->home.queues[number].list.first);
    const int64_t patience_ns = is_put_off(head) ? PUT_OFF_STARVED_NS : STARVED_NS;
    if (now_ns(node) - facts->head_ready_ns < patience_ns) {
        return 0;
    }
    for (uint32_t worker = 0; worker < node->fleet->worker_count; worker++) {
        alone.worker = worker;
        if (fits(node, number, need, worker, &alone.config)) {
            return claims_make(node, number, &alone, declined_out);
        }
    }
    return 0;
}

/* None can run the head, for @reason: tell its owner. */
static void turn_away(struct node *node, uint32_t number, enum reason reason)
{
    const uint32_t slot = node->home.queues[number].list.first;
    tickets_take(node, slot);
    tickets_refuse(node, slot, reason);
}

/* Look again at @at_ns, if not before. */
static void look_at(struct node *node, struct home_queue *queue, int64_t at_ns)
{
    queue->look_ns = at_ns;
    if (at_ns < node->home.wake_ns) {
        node->home.wake_ns = at_ns;
        wake_at(node, at_ns, TIMER_HOME, WORKER_NONE);
    }
}

static void recheck(struct node *node, struct home_queue *queue)
{
    int64_t pause_ns = RECHECK_FIRST_NS;
    for (uint32_t i = 0; i < queue->rechecks && pause_ns < RECHECK_LAST_NS; i++) {
        pause_ns *= 2;
    }
    pause_ns = min_i64(pause_ns, RECHECK_LAST_NS);
    queue->rechecks++;
    look_at(node, queue, now_ns(node) + pause_ns);
}

/* @queue waits for @worker: it is looked at again when that is to be free, if not before. */
static void look_when_free(struct node *node, struct home_queue *queue, uint32_t worker)
{
    const int64_t free_ns = view_free_at_ns(&node->view, worker);
    const int64_t soonest_ns = now_ns(node) + RECHECK_FIRST_NS;
    look_at(node, queue, min_i64(queue->look_ns, max_i64(free_ns, soonest_ns)));
}

/*
 * A claim of @queue was declined: ask again. News of what is free is kept for a limited number of
 * workers, so that two of many could be claimed in turn without end.
 */
static void look_soon(struct node *node, struct home_queue *queue)
{
    if (now_ns(node) - queue->declined_ns >= RECHECK_FIRST_NS) {
        queue->declined_ns = now_ns(node);
        queue->declines = 0;
    }
    queue->declines++;
    if (queue->declines <= DECLINES_IN_A_ROW) {
        queue->due = true;
    } else {
        recheck(node, queue);
    }
}

void home_declined(struct node *node, const struct message *message)
{
    const uint32_t slot = claims_find(node, message);
    if (slot == POOL_NONE || message->outcome.reason >= REASON_COUNT) {
        return;
    }
    const struct claim claim = *claim_at(node, slot);
    const uint32_t queue = workflow_at(node, claim.workflow)->queue_first + claim.task;
    struct record *record = trace(node, RECORD_DECLINED, (enum reason)message->outcome.reason);
    record->workflow = (uint16_t)claim.workflow;
    record->task = claim.task;
    record->worker = claim.worker;
    record->value = claim.task_count;
    claims_declined(node, slot, message);
    look_soon(node, &node->home.queues[queue]);
}

/* Ask and claim until nothing more fits. Returns how many tasks have left the queue. */
static uint32_t serve(struct node *node, uint32_t number)
{
    struct home_queue *queue = &node->home.queues[number];
    uint32_t left = 0;
    while (queue->count > 0 && left < HOME_TASKS_PER_STEP) {
        if (node->seat.gives_up && !give_up_tickets(node, number)) {
            return queue->count > 0 ? HOME_TASKS_PER_STEP : left; /* Enough for this step. */
        }
        if (node->seat.yields && pressing_yields(node, number)) {
            recheck(node, queue);
            break;
        }
        struct queue_facts facts;
        find_facts(node, number, &facts);
        const struct need need = need_at(node, facts.workflow, facts.task, facts.head_items);
        const bool is_met = choose_first(&node->view, need) != WORKER_NONE;
        const uint32_t resort = is_met ? WORKER_NONE : find_resort(node, need);
        struct dispatch_answer answer;
        bool declined = false;
        if (!is_met && resort == WORKER_NONE) {
            turn_away(node, number, why_none(node, need));
            left++;
            continue;
        }
        if (is_foreign(node, number) && !is_met_elsewhere(node, need)) {
            turn_away(node, number, REASON_EDITION);
            left++;
            continue;
        }
        policy_dispatch(&node->seat, &facts, &answer);
        if (!is_met && answer.count == 0) {
            answer.configs[0] = (struct config){.batch = facts.head_items};
            answer.workers[0] = resort;
            answer.count = 1;
        }
        const uint32_t claimed = claim_first(node, number, need, &answer, &declined);
        left += claimed;
        if (claimed == 0) {
            const uint32_t starved = claim_starved(node, number, need, &facts, &declined);
            left += starved;
            if (starved > 0 && !declined) {
                queue->rechecks++; /* None of its candidates fitted: the policy is told. */
                continue;
            }
        }
        queue->waits = claimed == 0 && answer.wake_at_ns == 0;
        queue->waits_for = answer.count == 0 ? answer.waits_for : WORKER_NONE;
        if (claimed > 0 && !declined) {
            queue->rechecks = 0;
        } else if (answer.count == 0 && answer.wake_at_ns > now_ns(node)) {
            look_at(node, queue, answer.wake_at_ns);
            break;
        } else {
            recheck(node, queue);
            if (queue->waits_for != WORKER_NONE) {
                look_when_free(node, queue, queue->waits_for);
            }
            break;
        }
    }
    return left;
}

/* The due queue whose head comes first; UINT32_MAX if none is due. */
static uint32_t next_due(const struct node *node)
{
    const struct home *home = &node->home;
    uint32_t best = UINT32_MAX;
    const struct ticket *best_head = NULL;
    for (uint32_t i = 0; i < home->active_count; i++) {
        const uint32_t number = home->active[i];
        const struct ticket *head = ticket_at(node, home->queues[number].list.first);
        if (home->queues[number].due &&
            (best_head == NULL || tickets_comes_before(head, best_head))) {
            best = number;
            best_head = head;
        }
    }
    return best;
}

bool home_is_due(const struct node *node)
{
    return next_due(node) != UINT32_MAX;
}

void home_serve(struct node *node)
{
    uint32_t left = 0;
    uint32_t number = next_due(node);
    while (number != UINT32_MAX && left < HOME_TASKS_PER_STEP) {
        struct home_queue *queue = &node->home.queues[number];
        queue->due = false;
        left += serve(node, number);
        queue->due = queue->due || (queue->count > 0 && left >= HOME_TASKS_PER_STEP);
        number = next_due(node); /* What is left of a full step is for the next. */
    }
    if (node->seat.yields) {
        pressing_say(node);
    }
}

void home_linger(struct node *node)
{
    const uint32_t number = next_due(node);
    if (number != UINT32_MAX) {
        look_at(node, &node->home.queues[number], now_ns(node));
    }
}

void home_timer(struct node *node)
{
    struct home *home = &node->home;
    int64_t next_ns = INT64_MAX;
    if (now_ns(node) < home->wake_ns) {
        return; /* One that was set before an earlier one: it would be set again for ever. */
    }
    home->wake_ns = INT64_MAX;
    for (uint32_t i = 0; i < home->active_count; i++) {
        struct home_queue *queue = &home->queues[home->active[i]];
        if (queue->look_ns <= now_ns(node)) {
            queue->due = true;
        } else if (queue->look_ns < next_ns) {
            next_ns = queue->look_ns;
        }
    }
    if (next_ns != INT64_MAX) {
        home->wake_ns = next_ns;
        wake_at(node, next_ns, TIMER_HOME, WORKER_NONE);
    }
}

void home_repair(struct node *node)
{
    claims_repair(node);
    tickets_repair(node);
    home_freed(node);
}

void home_audit(struct node *node)
{
    claims_audit(node);
}
