#include "node/members.h"

#include "node/access.h"
#include "node/grants.h"
#include "node/home.h"
#include "node/jobs.h"
#include "node/keys.h"
#include "node/outbox.h"
#include "node/rows.h"
#include "node/visits.h"
#include "view/cells.h"

/* What was promised to the workers of @peer, and what they said, counts rows that will not come. */
static void forget_workers(struct node *node, uint32_t peer)
{
    const struct fleet_node *gone = &node->fleet->nodes[peer];
    for (uint32_t i = 0; i < gone->worker_count; i++) {
        reservations_forget(&node->view.reservations, gone->worker_first + i);
        news_forget(&node->view.news, gone->worker_first + i);
    }
}

/* Life @incarnation of @peer, and those before it, are over. */
static void lose(struct node *node, uint32_t peer, uint32_t incarnation)
{
    trace(node, RECORD_NODE_LOST, REASON_NONE)->value = peer;
    suspects_remove(&node->unmet, peer);
    forget_workers(node, peer);
    outbox_forget(node, peer, incarnation);
    for (uint32_t i = 0; i < node->worker_count; i++) {
        node->workers[i].asked = false; /* The one that was asked may be gone. */
    }
}

void members_look_again(struct node *node)
{
    node->repair_job = node->job_list.first;
    node->repair_visit = node->visit_list.first;
    node->keys.repair = node->keys.list.first;
    if (!node->repair_timer) {
        node->repair_timer = true;
        wake_at(node, now_ns(node), TIMER_REPAIR, WORKER_NONE);
    }
}

void members_look_later(struct node *node, int64_t at_ns)
{
    if (!node->stale_timer) {
        node->stale_timer = true;
        wake_at(node, at_ns, TIMER_STALE, WORKER_NONE);
    }
}

void members_waited(struct node *node)
{
    node->stale_timer = false;
    members_look_again(node);
}

bool members_divide(struct node *node)
{
    const struct members *members = node->view.members;
    struct suspects *far = &node->view.far;
    const uint32_t cells = cells_count(members, node->view.cell_nodes);
    const uint32_t known = far->count;
    for (uint32_t peer = 0; peer < members->node_count; peer++) {
        const bool is_far = cells_of(peer, cells) != cells_of(node->id, cells);
        (is_far ? suspects_add : suspects_remove)(far, peer);
    }
    return far->count != known;
}

/* Show all rows to nodes that were of another cell. */
static void show_again(struct node *node)
{
    for (uint32_t i = 0; i < node->worker_count; i++) {
        rows_load_changed(node, &node->workers[i]);
        rows_cache_changed(node, &node->workers[i]);
    }
}

void members_changed(struct node *node, const struct members *members)
{
    const struct members *old = node->view.members;
    if (members->epoch <= old->epoch) {
        return;
    }
    node->view.members = members;
    if (members_divide(node)) {
        show_again(node);
    }
    bool lost = false;
    bool joined = false;
    for (uint32_t peer = 0; peer < members->node_count; peer++) {
        const bool was_up = members_is_up(old, peer);
        if (peer == node->id) {
            continue;
        }
        if (was_up && !members_is_same(members, peer, old->epoch)) {
            lose(node, peer, members_incarnation(old, peer));
            lost = true;
        }
        const bool is_new = !was_up || members->since[peer] > old->epoch;
        if (is_new && members_is_up(members, peer)) {
            trace(node, RECORD_NODE_BACK, REASON_NONE)->value = peer;
            suspects_remove(&node->view.suspects, peer);
            outbox_heard(node, peer);
            keys_returned(node, peer);
            joined = true;
        }
    }
    /* Who joined may be first in rank for a key, or have had a life that this node never saw. */
    if (lost || (joined && (node->keys.is_on || node->visit_count > 0))) {
        members_look_again(node);
    }
    if (lost) {
        grants_repair(node);
        home_repair(node);
    }
}

/* Requests with keys wait for their deputies: one that says nothing must not hold them up. */
static void look_for_deputies(struct node *node)
{
    if (node->keys.list.first != POOL_NONE) {
        members_look_again(node);
    }
}

bool members_is_silent(const struct node *node, uint32_t peer)
{
    return suspects_has(&node->view.suspects, peer) &&
           now_ns(node) - node->broken_ns[peer] >= SILENT_NS;
}

/* Come back when the first of the suspected peers that are not silent yet will be. */
static void listen_later(struct node *node)
{
    int64_t first_ns = INT64_MAX;
    for (uint32_t peer = 0; peer < node->fleet->node_count; peer++) {
        if (suspects_has(&node->view.suspects, peer) && !members_is_silent(node, peer)) {
            first_ns = min_i64(first_ns, node->broken_ns[peer] + SILENT_NS);
        }
    }
    if (first_ns < INT64_MAX && !node->silence_timer) {
        node->silence_timer = true;
        wake_at(node, first_ns, TIMER_SILENCE, WORKER_NONE);
    }
}

void members_listen(struct node *node)
{
    bool is_any = false;
    for (uint32_t peer = 0; peer < node->fleet->node_count; peer++) {
        is_any = is_any || members_is_silent(node, peer);
    }
    if (is_any) {
        members_look_again(node);
    }
    node->silence_timer = false;
    listen_later(node);
}

static void suspect(struct node *node, uint32_t peer)
{
    trace(node, RECORD_SUSPECTED, REASON_NONE)->value = peer;
    if (!suspects_has(&node->view.suspects, peer)) {
        node->broken_ns[peer] = now_ns(node);
    }
    suspects_add(&node->view.suspects, peer);
    forget_workers(node, peer);
    look_for_deputies(node);
    listen_later(node);
}

void members_return_later(struct node *node)
{
    if (!node->return_timer) {
        node->return_timer = true;
        wake_at(node, now_ns(node) + RETURN_NS, TIMER_RETURN, WORKER_NONE);
    }
}

void members_hint(struct node *node, uint32_t peer, enum peer_hint hint)
{
    switch (hint) {
    case PEER_UNMET:
        suspects_add(&node->unmet, peer);
        suspect(node, peer);
        return;
    case PEER_BROKEN:
        suspect(node, peer);
        return;
    case PEER_RESTORED:
        suspects_remove(&node->unmet, peer);
        suspects_remove(&node->view.suspects, peer);
        outbox_block(node, peer, /* blocked */ false);
        keys_returned(node, peer); /* What it owned may have been taken over. */
        if (node->keys.list.first != POOL_NONE) {
            members_return_later(node); /* A link that comes and goes is not filled each time. */
        }
        return;
    case PEER_BLOCKED:
        outbox_block(node, peer, /* blocked */ true);
        return;
    }
    ASSERT(false);
}

void members_returned(struct node *node)
{
    node->return_timer = false;
    look_for_deputies(node);
}

void members_ready(struct node *node, uint32_t peer)
{
    outbox_block(node, peer, /* blocked */ false);
    look_for_deputies(node); /* Answers may wait to be handed over. */
}

void members_repair(struct node *node)
{
    node->repairs_left = REPAIRS_PER_STEP;
    const bool visits_left = visits_repair(node);
    const bool jobs_left = jobs_repair(node);
    const bool keys_left = keys_repair(node);
    node->repair_timer = visits_left || jobs_left || keys_left;
    if (node->repair_timer) {
        wake_at(node, now_ns(node), TIMER_REPAIR, WORKER_NONE);
    }
}
