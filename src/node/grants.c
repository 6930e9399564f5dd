#include "node/grants.h"

#include "base/numbers.h"
#include "node/access.h"
#include "node/audit.h"
#include "node/batches.h"
#include "node/home.h"
#include "node/model_cache.h"
#include "node/offers.h"
#include "node/outbox.h"
#include "node/room.h"
#include "node/rows.h"
#include "node/visits.h"

const struct workflow_task *grants_kind(const struct node *node, uint32_t slot)
{
    const struct batch *batch = batch_at(node, grant_at(node, slot)->batch);
    return batch->state == BATCH_GATHERING ? &workflow_at(node, batch->workflow)->tasks[batch->task]
                                           : NULL;
}

/* The grant of claim @number of the home that has sent @message. */
static uint32_t find(
    const struct node *node, const struct worker *worker, const struct message *message,
    uint64_t number)
{
    uint32_t slot = worker->grants;
    while (slot != POOL_NONE) {
        const struct grant *grant = grant_at(node, slot);
        if (grant->home == message->from && grant->number == number &&
            grant->home_incarnation == message->from_incarnation) {
            return slot;
        }
        slot = grant->next;
    }
    return POOL_NONE;
}

static void touch(const struct node *node, struct grant *grant)
{
    grant->touched_ns = now_ns(node);
    grant->sought = false;
}

/* Entry @index of @grant is settled, one way or the other. */
static void settle(struct node *node, struct grant *grant, uint32_t index, enum entry_state to)
{
    const uint8_t from = grant->entries[index].state;
    grant->open -= from == ENTRY_UNKNOWN || from == ENTRY_AWAITED ? 1 : 0;
    grant->entries[index].state = (uint8_t)to;
    own_worker(node, grant->worker)->touched = true;
}

/* A home as of one of its claims. */
struct claimant {
    uint32_t node;
    uint32_t incarnation;
};

/* What the home must be told: @outcome of a claim for @worker, and what is free of it now. */
static void tell_home(
    struct node *node, struct worker *worker, enum message_kind kind, struct claimant home,
    struct message_outcome outcome)
{
    struct message message = {
        .kind = kind,
        .to_incarnation = home.incarnation,
        .job = {.node = node->id},
        .worker = worker->id,
        .outcome = outcome,
    };
    if (members_is_up(node->view.members, home.node) &&
        members_incarnation(node->view.members, home.node) <= home.incarnation) {
        message.sequence =
            rows_say(node, worker, home.node, home.incarnation, &message.outcome.free);
        outbox_send(node, home.node, &message);
    }
}

static struct claimant sender_of(const struct message *message)
{
    return (struct claimant){.node = message->from, .incarnation = message->from_incarnation};
}

/* Why the claim of @message cannot be granted; REASON_NONE if it can. */
static enum reason obstacle(
    const struct node *node, const struct worker *worker, const struct message *message)
{
    const struct workflow_task *kind = &workflow_at(node, message->workflow)->tasks[message->task];
    if (node->draining && message->from != node->id) {
        return REASON_DRAIN;
    }
    if (!can_run_edition(node, message->job)) {
        return REASON_EDITION;
    }
    const uint32_t items =
        message->claim.count == 1 ? message->claim.items : 1; /* More can be left out. */
    const enum reason reason = cache_obstacle(node, worker, kind, items);
    if (reason != REASON_NONE) {
        return reason;
    }
    const uint32_t gpu = message->claim.gpu;
    const bool fits = gpu == sharing_round(worker->spec, gpu) &&
                      sharing_fits(worker->spec, &worker->shares, gpu) &&
                      message->claim.cpu <= node->cpu_free;
    return fits ? REASON_NONE : REASON_BUSY;
}

static uint32_t open_grant(struct node *node, struct worker *worker, const struct message *message)
{
    const struct message_claim *claim = &message->claim;
    const struct config config = {.batch = claim->batch, .cpu = claim->cpu, .gpu = claim->gpu};
    const uint32_t slot = pool_take(&node->pools->grants);
    ASSERT(slot != POOL_NONE);
    struct grant *grant = grant_at(node, slot);
    grant->next = POOL_NONE;
    grant->worker = worker->id;
    grant->home = message->from;
    grant->home_incarnation = message->from_incarnation;
    grant->number = claim->number;
    grant->count = claim->count;
    grant->open = claim->count;
    grant->epoch = node->view.members->epoch;
    grant->config = config;
    grant->granted_ns = now_ns(node);
    uint32_t *link = &worker->grants;
    while (*link != POOL_NONE) {
        link = &grant_at(node, *link)->next;
    }
    *link = slot;
    node->grant_count++;
    audit_start(node);

    grant->batch = batches_open(node, worker, message->workflow, message->task, config);
    struct batch *batch = batch_at(node, grant->batch);
    batch_state_move(&batch->state, BATCH_GATHERING);
    batch->grant = slot;
    batch->items = claim->items == 0 ? 1 : claim->items;
    batch->ends_at_ns = now_ns(node) + batches_estimate(node, batch).run_ns;
    batches_changed(node, worker, grant->batch);
    cache_want(worker, grants_kind(node, slot), +1);
    return slot;
}

/* The claim's next task is known: fetch it. */
static void await(struct node *node, uint32_t slot, const struct message *message)
{
    struct grant *grant = grant_at(node, slot);
    const uint32_t index = message->claim.index;
    const uint32_t holder = node_of_worker(node, message->claim.holder);
    if (index >= grant->count || grant->entries[index].state != ENTRY_UNKNOWN) {
        return;
    }
    touch(node, grant);
    grant->entries[index].job = message->job;
    grant->entries[index].holder = (uint16_t)holder;
    grant->entries[index].state = ENTRY_AWAITED;
    const bool is_alike = job_edition(message->job) == job_edition(grant->entries[0].job);
    if (!members_is_up(node->view.members, holder) || !is_alike) {
        settle(node, grant, index, ENTRY_GONE);
        return;
    }
    const struct message pull = {
        .kind = MESSAGE_PULL,
        .job = message->job,
        .workflow = message->workflow,
        .task = message->task,
        .worker = message->worker,
        .attempt = message->attempt,
    };
    outbox_send(node, holder, &pull);
}

void grants_claim(struct node *node, const struct message *message)
{
    struct worker *worker = own_worker(node, message->worker);
    uint32_t slot = find(node, worker, message, message->claim.number);
    if (slot == POOL_NONE && message->claim.index == 0) {
        const enum reason reason = obstacle(node, worker, message);
        if (reason != REASON_NONE) {
            const struct message_outcome no = {.number = message->claim.number, .reason = reason};
            tell_home(node, worker, MESSAGE_DECLINE, sender_of(message), no);
            rows_load_changed(node, worker); /* The home waits for its next row. */
            return;
        }
        slot = open_grant(node, worker, message);
    }
    rows_notice(node, message);
    if (slot != POOL_NONE && batch_at(node, grant_at(node, slot)->batch)->task == message->task) {
        await(node, slot, message);
    }
}

/* The entry of a batch of @worker that waits for this task; its grant through @slot_out. */
static uint32_t find_awaited(
    const struct node *node, const struct worker *worker, struct job_id job, uint32_t task,
    uint32_t *slot_out)
{
    for (uint32_t slot = worker->grants; slot != POOL_NONE; slot = grant_at(node, slot)->next) {
        const struct grant *grant = grant_at(node, slot);
        if (grant->open == 0 || batch_at(node, grant->batch)->task != task) {
            continue;
        }
        for (uint32_t i = 0; i < grant->count; i++) {
            if (grant->entries[i].state == ENTRY_AWAITED && job_equal(grant->entries[i].job, job)) {
                *slot_out = slot;
                return i;
            }
        }
    }
    return UINT32_MAX;
}

bool grants_take(struct node *node, uint32_t slot)
{
    struct task *task = task_at(node, slot);
    const struct visit *visit = visit_at(node, task->visit);
    struct worker *worker = own_worker(node, task->worker);
    uint32_t grant_slot = POOL_NONE;
    const uint32_t index = find_awaited(node, worker, visit->job, task->number, &grant_slot);
    if (index == UINT32_MAX ||
        batch_at(node, grant_at(node, grant_slot)->batch)->workflow != visit->workflow) {
        return false;
    }
    struct grant *grant = grant_at(node, grant_slot);
    touch(node, grant);
    grant->entries[index].task = slot;
    settle(node, grant, index, ENTRY_HERE);
    task_state_move(&task->state, TASK_CLAIMED);
    task->batch = grant->batch;
    task->arrival = ++node->arrival;
    trace_task(node, RECORD_QUEUED, visit, task)->value = task->items;
    return true;
}

void grants_leave(struct node *node, uint32_t slot)
{
    const struct task *task = task_at(node, slot);
    ASSERT(task->state == TASK_CLAIMED);
    struct grant *grant = grant_at(node, batch_at(node, task->batch)->grant);
    for (uint32_t i = 0; i < grant->count; i++) {
        if (grant->entries[i].state == ENTRY_HERE && grant->entries[i].task == slot) {
            settle(node, grant, i, ENTRY_GONE);
            return;
        }
    }
    ASSERT(false);
}

void grants_miss(struct node *node, const struct message *message)
{
    for (uint32_t i = 0; i < node->worker_count && node->grant_count > 0; i++) {
        uint32_t slot = POOL_NONE;
        const uint32_t index =
            find_awaited(node, &node->workers[i], message->job, message->task, &slot);
        if (index == UINT32_MAX) {
            continue;
        }
        struct grant *grant = grant_at(node, slot);
        settle(node, grant, index, ENTRY_GONE);
    }
}

/* Settle as gone all open entries of @grant for which @is says so. */
static void give_up(
    struct node *node, struct grant *grant,
    bool (*is)(const struct node *node, const struct grant *grant, uint32_t index))
{
    for (uint32_t i = 0; i < grant->count && grant->open > 0; i++) {
        const uint8_t state = grant->entries[i].state;
        if ((state == ENTRY_UNKNOWN || state == ENTRY_AWAITED) && is(node, grant, i)) {
            settle(node, grant, i, ENTRY_GONE);
            grant->short_of = true;
        }
    }
}

void grants_forget(struct node *node, struct job_id job)
{
    for (uint32_t i = 0; i < node->worker_count && node->grant_count > 0; i++) {
        uint32_t slot = node->workers[i].grants;
        for (; slot != POOL_NONE; slot = grant_at(node, slot)->next) {
            struct grant *grant = grant_at(node, slot);
            for (uint32_t k = 0; k < grant->count && grant->open > 0; k++) {
                if (grant->entries[k].state == ENTRY_AWAITED &&
                    job_equal(grant->entries[k].job, job)) {
                    settle(node, grant, k, ENTRY_GONE);
                }
            }
        }
    }
}

/* A batch that gathers is given up: nothing of it is left. */
static void close(struct node *node, struct worker *worker, uint32_t slot)
{
    const uint32_t batch = grant_at(node, slot)->batch;
    cache_want(worker, grants_kind(node, slot), -1);
    cache_drop_unwanted(node, worker);
    batches_close(node, worker, batch);
    pool_give(&node->pools->batches, batch);
    grants_ended(node, slot, /* run_ns */ 0, /* completed */ false);
}

/*
 * Put together what fits the device of the tasks that are here. What does not is offered
 * again, from here. Returns the items of the rest; 0 if nothing is left.
 */
static uint32_t trim(struct node *node, struct worker *worker, uint32_t slot)
{
    const struct workflow_task *kind = grants_kind(node, slot);
    const uint32_t items_max = cache_items_max(node, worker, kind);
    struct grant *grant = grant_at(node, slot);
    uint32_t items = 0;
    for (uint32_t i = 0; i < grant->count; i++) {
        if (grant->entries[i].state != ENTRY_HERE) {
            continue;
        }
        const uint32_t task = grant->entries[i].task;
        const uint32_t more = task_at(node, task)->items;
        const enum reason reason = can_run_edition(node, grant->entries[i].job)
                                       ? cache_obstacle(node, worker, kind, more)
                                       : REASON_EDITION; /* It was long under way. */
        if (reason != REASON_NONE) {
            visits_fail(node, task, reason); /* It leaves by itself. */
        } else if (items > 0 && items + more > items_max) {
            settle(node, grant, i, ENTRY_GONE);
            offers_make(node, task);
        } else {
            items += more == 0 ? 1 : more;
        }
    }
    return items;
}

static void start(struct node *node, struct worker *worker, uint32_t slot, uint32_t items)
{
    const struct grant *grant = grant_at(node, slot);
    struct batch *batch = batch_at(node, grant->batch);
    cache_want(worker, grants_kind(node, slot), -1);
    batch->items = items;
    for (uint32_t i = 0; i < grant->count; i++) {
        if (grant->entries[i].state == ENTRY_HERE) {
            task_state_move(&task_at(node, grant->entries[i].task)->state, TASK_RUNNING);
            batch->tasks[batch->task_count] = grant->entries[i].task;
            batch->task_count++;
        }
    }
    batches_start(node, worker, grant->batch);
}

void grants_start(struct node *node, struct worker *worker)
{
    uint32_t next = worker->grants;
    while (next != POOL_NONE) {
        const uint32_t slot = next;
        const struct workflow_task *kind = grants_kind(node, slot);
        next = grant_at(node, slot)->next;
        if (kind == NULL || grant_at(node, slot)->open > 0) {
            continue;
        }
        const uint32_t items = trim(node, worker, slot);
        if (items == 0) {
            close(node, worker, slot);
        } else if (
            cache_is_ready(worker, kind) &&
            room_make(
                node, worker, profile_workspace_bytes(node->profile, kind->run, items), kind)) {
            start(node, worker, slot, items);
        }
    }
}

/* Units that a batch held while it did not run cost as much as while it did. */
static void trace_released(struct node *node, const struct grant *grant, int64_t run_ns)
{
    struct record *record = trace(node, RECORD_RELEASED, REASON_NONE);
    record->worker = grant->worker;
    record->value = now_ns(node) - grant->granted_ns - run_ns;
    record->value = max_i64(record->value, 0);
    record->batch = (uint16_t)grant->count;
    record->gpu = (uint16_t)grant->config.gpu;
    record->cpu = (uint16_t)grant->config.cpu;
}

void grants_ended(struct node *node, uint32_t slot, int64_t run_ns, bool completed)
{
    const struct grant grant = *grant_at(node, slot);
    struct worker *worker = own_worker(node, grant.worker);
    uint32_t *link = &worker->grants;
    while (*link != slot) {
        link = &grant_at(node, *link)->next;
    }
    *link = grant.next;
    pool_give(&node->pools->grants, slot);
    node->grant_count--;
    trace_released(node, &grant, completed ? run_ns : 0);
    const struct message_outcome outcome = {
        .number = grant.number,
        .run_ns = run_ns,
        .reason = completed        ? REASON_NONE
                  : grant.short_of ? REASON_STALE
                                   : REASON_BATCH_FAILED,
    };
    const struct claimant home = {.node = grant.home, .incarnation = grant.home_incarnation};
    tell_home(node, worker, MESSAGE_ENDED, home, outcome);
    home_freed(node);         /* Its own rows show it at once. */
    room_freed(node, worker); /* Even if it never ran: what it needed could not leave. */
}

void grants_asked(struct node *node, const struct message *message)
{
    struct worker *worker = own_worker(node, message->worker);
    const struct message_outcome stale = {.number = message->asked, .reason = REASON_STALE};
    if (find(node, worker, message, message->asked) == POOL_NONE) {
        tell_home(node, worker, MESSAGE_DECLINE, sender_of(message), stale);
    }
}

uint32_t grants_find(
    const struct node *node, const struct worker *worker, uint32_t model, uint64_t arrival)
{
    for (uint32_t slot = worker->grants; slot != POOL_NONE; slot = grant_at(node, slot)->next) {
        const struct workflow_task *kind = grants_kind(node, slot);
        const struct grant *grant = grant_at(node, slot);
        if (kind == NULL || (model != MODEL_NONE && !workflow_task_needs(kind, model))) {
            continue;
        }
        for (uint32_t i = 0; i < grant->count; i++) {
            if (grant->entries[i].state == ENTRY_HERE &&
                task_at(node, grant->entries[i].task)->arrival <= arrival) {
                return grant->entries[i].task;
            }
        }
    }
    return POOL_NONE;
}

static bool always(const struct node *node, const struct grant *grant, uint32_t index)
{
    (void)node;
    (void)grant;
    (void)index;
    return true;
}

/* Its home has not said which task it is, and will not any more. */
static bool is_unknown(const struct node *node, const struct grant *grant, uint32_t index)
{
    (void)node;
    return grant->entries[index].state == ENTRY_UNKNOWN;
}

static bool holder_is_lost(const struct node *node, const struct grant *grant, uint32_t index)
{
    if (grant->entries[index].state == ENTRY_UNKNOWN) { /* The home will not say any more. */
        return !members_is_same(node->view.members, grant->home, grant->epoch);
    }
    return !members_is_same(node->view.members, grant->entries[index].holder, grant->epoch);
}

void grants_abandon(struct node *node, struct worker *worker)
{
    for (uint32_t slot = worker->grants; slot != POOL_NONE; slot = grant_at(node, slot)->next) {
        give_up(node, grant_at(node, slot), always);
    }
}

void grants_repair(struct node *node)
{
    for (uint32_t i = 0; i < node->worker_count; i++) {
        uint32_t slot = node->workers[i].grants;
        for (; slot != POOL_NONE; slot = grant_at(node, slot)->next) {
            give_up(node, grant_at(node, slot), holder_is_lost);
        }
    }
}

/* Ask the holders of what @grant waits for: by the next audit they have answered. */
static void seek(struct node *node, struct grant *grant)
{
    const struct batch *batch = batch_at(node, grant->batch);
    grant->sought = true;
    for (uint32_t i = 0; i < grant->count && grant->open > 0; i++) {
        const uint32_t holder = grant->entries[i].holder;
        if (grant->entries[i].state == ENTRY_AWAITED && audit_has_room(node, /* messages */ 4) &&
            members_is_up(node->view.members, holder)) {
            const struct message sought = {
                .kind = MESSAGE_SEEK,
                .job = grant->entries[i].job,
                .workflow = batch->workflow,
                .task = batch->task,
                .worker = grant->worker,
            };
            outbox_send(node, holder, &sought);
        }
    }
}

void grants_audit(struct node *node)
{
    for (uint32_t i = 0; i < node->worker_count; i++) {
        uint32_t slot = node->workers[i].grants;
        for (; slot != POOL_NONE; slot = grant_at(node, slot)->next) {
            struct grant *grant = grant_at(node, slot);
            if (now_ns(node) - grant->touched_ns >= AUDIT_NS) {
                give_up(node, grant, grant->sought ? always : is_unknown);
            }
            seek(node, grant);
        }
    }
}

void grants_alive(struct node *node, const struct message *message)
{
    for (uint32_t i = 0; i < node->worker_count && node->grant_count > 0; i++) {
        uint32_t slot = node->workers[i].grants;
        for (; slot != POOL_NONE; slot = grant_at(node, slot)->next) {
            struct grant *grant = grant_at(node, slot);
            for (uint32_t k = 0; k < grant->count && grant->open > 0; k++) {
                if (grant->entries[k].state == ENTRY_AWAITED &&
                    grant->entries[k].holder == message->from &&
                    job_equal(grant->entries[k].job, message->job)) {
                    touch(node, grant);
                }
            }
        }
    }
}
