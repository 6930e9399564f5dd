#include "node/audit.h"

#include "base/numbers.h"
#include "node/access.h"
#include "node/early.h"
#include "node/grants.h"
#include "node/home.h"
#include "node/jobs.h"
#include "node/keys.h"
#include "node/keys_table.h"
#include "node/members.h"
#include "node/outbox.h"
#include "node/placing.h"
#include "node/visits.h"

enum { AUDIT_EFFECTS_SPARE = 64, AUDIT_PATIENCE_SHIFT_MAX = 6 };

void audit_start(struct node *node)
{
    if (!node->audit_timer) {
        node->audit_timer = true;
        wake_at(node, now_ns(node) + AUDIT_NS, TIMER_AUDIT, WORKER_NONE);
    }
}

bool audit_has_room(const struct node *node, uint32_t messages)
{
    const struct effects *effects = node->effects;
    const uint32_t wanted = 2 * messages + AUDIT_EFFECTS_SPARE;
    return effects->count + wanted <= effects->capacity &&
           effects->record_count + wanted <= effects->capacity;
}

/* Whether the job of @visit has ended, as far as this node knows: its owner need not be asked. */
static bool is_over(const struct node *node, const struct visit *visit)
{
    if (visit->job.node == node->id) {
        return jobs_find(node, visit->job) == MAP_NONE;
    }
    const uint32_t slot = keyed_find_job(node, visit->job);
    return slot != POOL_NONE && keyed_at(node, slot)->state == KEYED_ANSWERED;
}

/* False if that is too much for one step: those that were asked about are not silent any more. */
static bool query_owners(struct node *node)
{
    uint32_t offered = 0;
    uint32_t next = node->visit_list.first;
    while (next != POOL_NONE) {
        const uint32_t slot = next;
        struct visit *visit = visit_at(node, slot);
        const uint32_t task_count = workflow_at(node, visit->workflow)->task_count;
        next = visit->link.next;
        if (now_ns(node) - visit->touched_ns < AUDIT_NS) {
            continue;
        }
        if (offered >= OFFERS_PER_REPAIR || !audit_has_room(node, 4 * task_count)) {
            return false;
        }
        const int64_t since_ns = visit->touched_ns;
        visit->touched_ns = now_ns(node);
        offered += visits_offer_again(node, slot, /* all */ true); /* Tickets are messages, too. */
        if (is_over(node, visit)) {
            visits_cancel(node, visit->job, REASON_STALE);
            continue;
        }
        if (visit->job.node == node->id) {
            continue;
        }
        /* It came after the verdict, or of a life that has ended before it was heard of. */
        if (members_has_lost(node, visit->job.node, visit->job.incarnation, since_ns)) {
            visits_cancel(node, visit->job, REASON_OWNER_LOST);
            continue;
        }
        const struct message query = {
            .kind = MESSAGE_QUERY,
            .job = visit->job,
            .workflow = visit->workflow,
        };
        outbox_send(node, visit->job.node, &query);
    }
    return true;
}

/* Ask those who have moved a task of @job elsewhere, and have none of it themselves. */
static void probe_movers(struct node *node, struct job *job, const struct message *message)
{
    const uint32_t task_count = workflow_at(node, job->workflow)->task_count;
    const uint16_t *movers = job_movers(node, job);
    for (uint32_t i = 0; i < task_count; i++) {
        const uint32_t peer = movers[i] - 1u; /* Without one: no node. */
        if (movers[i] != 0 && peer != node->id && members_is_up(node->view.members, peer) &&
            !jobs_is_placed_on(node, job, peer)) {
            outbox_send(node, peer, message);
        }
    }
}

/* Ask every worker of the placement, each node once, and who may still be sending something. */
static void probe(struct node *node, struct job *job)
{
    const struct message message = {
        .kind = MESSAGE_PROBE,
        .job = job->id,
        .workflow = job->workflow,
        .attempt = job->attempt,
    };
    jobs_tell(node, job, &message);
    probe_movers(node, job, &message);
    outbox_send(node, node->id, &message); /* What waits to be claimed, or to leave, is here. */
}

static int64_t patience_ns(const struct job *job)
{
    return AUDIT_NS << job->audits;
}

static void probe_workers(struct node *node)
{
    uint32_t next = node->job_list.first;
    while (next != POOL_NONE) {
        const uint32_t slot = next;
        struct job *job = job_at(node, slot);
        next = job->link.next;
        const uint32_t task_count = workflow_at(node, job->workflow)->task_count;
        if (now_ns(node) - job->touched_ns < patience_ns(job) || jobs_is_complete(node, job) ||
            !audit_has_room(node, 2 * task_count)) {
            continue;
        }
        if (!job->probed) {
            job->probed = true;
            probe(node, job);
        } else if (node->repairs_left > 0) { /* No node has answered since. */
            node->repairs_left--;
            job->audits = (uint8_t)min_u32(job->audits + 1u, AUDIT_PATIENCE_SHIFT_MAX);
            job->touched_ns = now_ns(node);
            placing_silent(node, slot);
        }
    }
}

void audit_run(struct node *node)
{
    if (!query_owners(node)) {
        wake_at(node, now_ns(node), TIMER_AUDIT, WORKER_NONE);
        return; /* The rest in steps of its own. */
    }
    node->audit_timer = false;
    node->repairs_left = REPAIRS_PER_STEP;
    probe_workers(node);
    home_audit(node);
    grants_audit(node);
    keys_audit(node);
    outbox_audit(node);
    if (node->parked_count > 0 || node->keys.list.first != POOL_NONE || node->visit_count > 0 ||
        node->job_count > 0 || node->home.claims.count > 0 || node->grant_count > 0) {
        audit_start(node);
    }
}

void audit_probed(struct node *node, const struct message *message)
{
    const uint32_t visit = visits_of(node, message->job);
    uint32_t slot = visit == MAP_NONE ? POOL_NONE : visit_at(node, visit)->tasks;
    while (slot != POOL_NONE && task_at(node, slot)->state < TASK_OFFERED) {
        slot = task_at(node, slot)->next_of_visit;
    }
    if (slot != POOL_NONE) {
        audit_under_way(node, message->job, message->from);
        return;
    }
    audit_find(node, message);
}

void audit_find(struct node *node, const struct message *message)
{
    if (outbox_has(node, message->job)) { /* It has not even left. */
        audit_under_way(node, message->job, message->from);
        return;
    }
    struct effect *effect = effect_add(node, EFFECT_FIND);
    effect->find.job = message->job;
    effect->find.asker = message->from;
}

void audit_under_way(struct node *node, struct job_id job, uint32_t asker)
{
    const struct message alive = {.kind = MESSAGE_ALIVE, .job = job};
    if (asker == node->id || members_is_up(node->view.members, asker)) {
        outbox_send(node, asker, &alive);
    }
}

void audit_arrived(struct node *node, const struct visit *visit)
{
    const uint32_t owner = visit->job.node;
    if (now_ns(node) - visit->arrived_ns < AUDIT_NS || !audit_has_room(node, /* messages */ 1) ||
        (owner != node->id && !members_is_up(node->view.members, owner))) {
        return; /* Nearly always it is so young that its owner cannot have asked. */
    }
    const struct message alive = {.kind = MESSAGE_ALIVE, .job = visit->job, .can_wait = true};
    outbox_send(node, owner, &alive);
}

void audit_alive(struct node *node, const struct message *message)
{
    const uint32_t slot = jobs_find(node, message->job);
    if (slot != MAP_NONE) {
        struct job *job = job_at(node, slot);
        if (!jobs_is_known_to(node, job, message->from)) {
            early_keep(node, message); /* It has an input, and its sender is not heard yet. */
            return;
        }
        job->touched_ns = now_ns(node);
        job->probed = false;
    }
    grants_alive(node, message);
}
