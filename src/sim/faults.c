/* faults.c - what breaks, and how the others come to know of it. */
#include "sim/inside.h"

#include <string.h>

/* The next member list: who is up now, and since when. */
struct members *faults_members(struct sim *sim, const struct members *before)
{
    const uint32_t node_count = sim->options.fleet->node_count;
    struct members *members = arena_alloc(&sim->arena, sizeof(*members));
    uint64_t *up = arena_alloc(&sim->arena, bitset_words(node_count) * sizeof(uint64_t));
    uint64_t *since = arena_alloc(&sim->arena, node_count * sizeof(uint64_t));
    members->epoch = before == NULL ? 1 : before->epoch + 1;
    members->node_count = node_count;
    for (uint32_t node = 0; node < node_count; node++) {
        const bool is_up = before == NULL || sim->nodes[node].node != NULL;
        if (is_up) {
            bitset_add(up, node);
            members->up_count++;
        }
        since[node] = before == NULL ? members->epoch : before->since[node];
        if (before != NULL && is_up && sim->nodes[node].fresh) {
            since[node] = members->epoch;
        }
        sim->nodes[node].fresh = false;
    }
    members->up = up;
    members->since = since;
    return members;
}

void faults_boot(struct sim *sim, uint32_t node)
{
    const struct node_options options = {
        .node = node,
        .incarnation = sim->nodes[node].incarnation,
        .fleet = sim->options.fleet,
        .catalogue = sim->options.catalogue,
        .profile = sim->options.profile,
        .policies = sim->options.policies,
        .members = sim->members,
        .board = &sim->board,
        .pools = &sim->pools,
        .meter = &sim->meter,
        .seed = sim->options.seed,
        .row_load_ns = sim->options.row_load_ns,
        .row_cache_ns = sim->options.row_cache_ns,
    };
    sim->nodes[node].node = node_create(&sim->arena, &options);
    node_prepare(sim->nodes[node].node);
    node_start(sim->nodes[node].node, sim->now_ns, &sim->effects);
    sim_perform(sim, node);
}

void faults_start(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->options.fault_count; i++) {
        happen(sim, sim->options.faults[i].at_ns, payload_of(HAPPENS_FAULT, 0, 0, i));
    }
}

/* Clients of a crashed owner get no answer: their jobs have failed. */
static void fail_tickets(struct sim *sim, uint32_t node)
{
    for (uint32_t slot = 0; slot < sim->tickets.capacity; slot++) {
        if ((pool_generation(&sim->tickets, slot) & 1) == 0) {
            continue;
        }
        const struct ticket ticket = *(struct ticket *)pool_at(&sim->tickets, slot);
        if (ticket.node != node) {
            continue;
        }
        const struct record record = {
            .at_ns = sim->now_ns,
            .job = ticket.job,
            .value = sim->now_ns - ticket.arrived_ns,
            .node = node,
            .task = TASK_NONE,
            .worker = WORKER_NONE,
            .workflow = (uint16_t)ticket.workflow,
            .model = RECORD_NONE,
            .kind = RECORD_ANSWERED,
            .reason = REASON_OWNER_LOST,
        };
        sim_record(sim, &record);
        sim->answered++;
        pool_give(&sim->tickets, slot);
    }
}

static void crash(struct sim *sim, uint32_t node)
{
    if (sim->nodes[node].node == NULL) {
        return;
    }
    node_destroy(sim->nodes[node].node);
    sim->nodes[node].node = NULL;
    sim->nodes[node].incarnation++;
    sim->nodes[node].handles = 0;
    device_lost(sim, node);
    fail_tickets(sim, node);
    happen(sim, sim->now_ns + FAULT_HINT_NS, payload_of(HAPPENS_HINT, 0, 0, node));
    happen(sim, sim->now_ns + FAULT_VERDICT_NS, payload_of(HAPPENS_VERDICT, 0, 0, node));
}

static void restart(struct sim *sim, uint32_t node)
{
    if (sim->nodes[node].node != NULL) {
        return;
    }
    sim->nodes[node].fresh = true;
    faults_boot(sim, node);
    faults_verdict(sim); /* It joins the directory itself. */
}

void faults_happen(struct sim *sim, uint32_t number)
{
    const struct fault *fault = &sim->options.faults[number];
    switch (fault->kind) {
    case FAULT_CRASH:
        crash(sim, fault->node);
        return;
    case FAULT_RESTART:
        restart(sim, fault->node);
        return;
    case FAULT_DRAIN:
        if (sim->nodes[fault->node].node != NULL) {
            struct event event = {.kind = EVENT_DRAIN};
            sim_step(sim, fault->node, &event);
        }
        return;
    }
    ASSERT(false);
}

void faults_hint(struct sim *sim, uint32_t crashed)
{
    if (sim->nodes[crashed].node != NULL) {
        return; /* Back already. */
    }
    for (uint32_t node = 0; node < sim->options.fleet->node_count; node++) {
        if (sim->nodes[node].node != NULL) {
            struct event event = {.kind = EVENT_PEER_HINT};
            event.peer.node = crashed;
            event.peer.hint = PEER_BROKEN;
            sim_step(sim, node, &event);
        }
    }
}

void faults_verdict(struct sim *sim)
{
    sim->members = faults_members(sim, sim->members);
    for (uint32_t node = 0; node < sim->options.fleet->node_count; node++) {
        if (sim->nodes[node].node != NULL) {
            struct event event = {.kind = EVENT_MEMBERS};
            event.members = sim->members;
            sim_step(sim, node, &event);
        }
    }
}
