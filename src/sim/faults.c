/* faults.c - what breaks, and how the others come to know of it. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "node/bounds.h"
#include "sim/editions.h"
#include "sim/inside.h"
#include "sim/retries.h"

/* What @options say, and what is drawn. Returns how many there are, of FAULTS_MAX. */
static uint32_t plan(const struct sim_options *options, struct fault *faults_out)
{
    ASSERT(options->fault_count <= FAULTS_MAX);
    for (uint32_t i = 0; i < options->fault_count; i++) {
        faults_out[i] = options->faults[i];
    }
    return options->fault_count +
           fault_draw_all(
               options->fault_randoms, options->fault_random_count, options->fleet, options->seed,
               faults_out + options->fault_count, FAULTS_MAX - options->fault_count);
}

bool sim_may_list_late(const struct sim_options *options)
{
    struct fault *faults = memory_zeroed(FAULTS_MAX, sizeof(*faults));
    const uint32_t count = plan(options, faults);
    int64_t away_ns = 0; /* At most: some may be at the same time. */
    for (uint32_t i = 0; i < count; i++) {
        away_ns += faults[i].kind == FAULT_NO_DIRECTORY ? faults[i].for_ns : 0;
    }
    free(faults);
    return away_ns > 0 && away_ns + options->members_after_ns >= AUDIT_NS;
}

bool sim_may_be_silent(const struct sim_options *options)
{
    const uint32_t silent = 1u << FAULT_STOP | 1u << FAULT_PARTITION | 1u << FAULT_LOSS;
    uint32_t kinds = 0;
    for (uint32_t i = 0; i < options->fault_count; i++) {
        kinds |= 1u << options->faults[i].kind;
    }
    for (uint32_t i = 0; i < options->fault_random_count; i++) {
        kinds |= options->fault_randoms[i].kinds;
    }
    return (kinds & silent) != 0 || sim_may_list_late(options);
}

void faults_start(struct sim *sim)
{
    uint32_t partitions = 0;
    sim->fault_list = arena_alloc(&sim->arena, FAULTS_MAX * sizeof(*sim->fault_list));
    sim->fault_count = plan(&sim->options, sim->fault_list);
    for (uint32_t i = 0; i < sim->fault_count; i++) {
        const struct fault *fault = &sim->fault_list[i];
        schedule(sim, fault->at_ns, payload_of(TIMED_FAULT, 0, 0, i));
        sim->has_stops = sim->has_stops || fault->kind == FAULT_STOP;
        sim->has_cuts =
            sim->has_cuts || fault->kind == FAULT_PARTITION || fault->kind == FAULT_LOSS;
        partitions += fault->kind == FAULT_PARTITION ? 1 : 0;
        if (fault->for_ns > 0) {
            schedule(sim, fault->at_ns + fault->for_ns, payload_of(TIMED_FAULT_OVER, 0, 0, i));
        }
    }
    editions_init(sim);
    board_allow_cuts(&sim->board, &sim->arena, partitions);
}

void faults_answer_lost(struct sim *sim, struct job_id job, uint32_t workflow, int64_t arrived_ns)
{
    const struct record record = {
        .at_ns = sim->now_ns,
        .job = job,
        .value = sim->now_ns - arrived_ns,
        .node = job.node,
        .task = TASK_NONE,
        .worker = WORKER_NONE,
        .workflow = (uint16_t)workflow,
        .model = RECORD_NONE,
        .kind = RECORD_ANSWERED,
        .reason = REASON_OWNER_LOST,
    };
    sim_record(sim, &record);
}

/* Clients of a crashed owner get no answer: their jobs have failed. Those with keys ask again. */
static void fail_clients(struct sim *sim, uint32_t node)
{
    retries_lose(sim, node);
    for (uint32_t slot = 0; slot < sim->clients.capacity; slot++) {
        if (!pool_is_taken(&sim->clients, slot)) {
            continue;
        }
        const struct client client = *(struct client *)pool_at(&sim->clients, slot);
        if (client.job.node != node || retries_is_away(sim, slot)) {
            continue;
        }
        if (sim->options.has_deputies) {
            retries_leave(sim, slot, NODE_NONE, FAULT_HINT_NS);
            continue;
        }
        faults_answer_lost(sim, client.job, client.workflow, client.arrived_ns);
        sim->answered++;
        pool_give(&sim->clients, slot);
    }
}

/* Node @at notices then that its connection to @about broke, or is back. */
static void schedule_hint(struct sim *sim, int64_t at_ns, uint32_t at, uint32_t about, bool broken)
{
    const uint32_t hint = about << 1 | (broken ? 1 : 0);
    schedule(sim, at_ns, payload_of(TIMED_HINT, /* incarnation */ 0, at, hint));
}

/* The connection between @a and @b breaks, or comes back: both notice. */
static void connection(struct sim *sim, uint32_t a, uint32_t b, bool broken, int64_t after_ns)
{
    schedule_hint(sim, sim->now_ns + after_ns, a, b, broken);
    schedule_hint(sim, sim->now_ns + after_ns, b, a, broken);
}

/*
 * A tensor has to be there to the end; a message without one has left at once. And its
 * receiver is gone.
 */
static bool is_cut_short(const struct parcel *parcel, uint32_t node, uint32_t none)
{
    (void)none;
    return parcel->to == node || (parcel->from == node && parcel->has_tensor);
}

/* Between nodes from @first on and those before it. */
static bool is_across(const struct parcel *parcel, uint32_t first, uint32_t none)
{
    (void)none;
    return (parcel->from < first) != (parcel->to < first);
}

static bool is_between(const struct parcel *parcel, uint32_t a, uint32_t b)
{
    return (parcel->from == a && parcel->to == b) || (parcel->from == b && parcel->to == a);
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
    sim->nodes[node].timers = 0;
    sim->nodes[node].idle_timers = 0;
    device_lost(sim, node);
    network_lose(sim, is_cut_short, node, NODE_NONE);
    fail_clients(sim, node);
    for (uint32_t other = 0; other < sim->options.fleet->node_count; other++) {
        if (other != node) {
            connection(sim, other, node, /* broken */ true, FAULT_HINT_NS);
        }
    }
    schedule(sim, sim->now_ns + FAULT_VERDICT_NS, payload_of(TIMED_VERDICT, 0, 0, node));
}

static void restart(struct sim *sim, uint32_t node)
{
    if (sim->nodes[node].node != NULL) {
        return;
    }
    sim->nodes[node].fresh = true;
    nodes_boot(sim, node);
    editions_join(sim, node);
    faults_verdict(sim); /* It joins the directory itself. */
}

/* Nodes from @first on cannot reach those before it, or can again. */
static void partition(struct sim *sim, uint32_t first, bool broken)
{
    const uint32_t node_count = sim->options.fleet->node_count;
    if (broken) {
        network_lose(sim, is_across, first, NODE_NONE);
        board_cut(&sim->board, &sim->arena, first, sim->now_ns);
    } else {
        board_heal(&sim->board, first, sim->now_ns);
    }
    for (uint32_t far = first; far < node_count; far++) {
        sim->nodes[far].cuts = broken ? sim->nodes[far].cuts + 1 : sim->nodes[far].cuts - 1;
        sim->nodes[far].fresh = sim->nodes[far].fresh || !broken;
        for (uint32_t near = 0; near < first; near++) {
            connection(sim, near, far, broken, FAULT_HINT_NS);
        }
    }
    /* The directory is on the near side. */
    schedule(
        sim, sim->now_ns + (broken ? FAULT_VERDICT_NS : FAULT_HINT_NS),
        payload_of(TIMED_VERDICT, 0, 0, first));
}

static void stop(struct sim *sim, const struct fault *fault)
{
    struct sim_node *node = &sim->nodes[fault->victim];
    node->stopped_at_ns = sim->now_ns;
    node->stopped_until_ns = sim->now_ns + fault->for_ns;
    if (fault->for_ns > FAULT_VERDICT_NS) { /* Its lease runs out meanwhile. */
        schedule(sim, sim->now_ns + FAULT_VERDICT_NS, payload_of(TIMED_VERDICT, 0, 0, 0));
        schedule(sim, node->stopped_until_ns, payload_of(TIMED_VERDICT, 0, 0, 0));
    }
}

/* Node @at, which has heard of all members, cannot reach those that have died since. */
static void hint_of_unmet(struct sim *sim, uint32_t at)
{
    for (uint32_t about = 0; about < sim->options.fleet->node_count; about++) {
        const struct sim_node *peer = &sim->nodes[about];
        const bool is_there =
            peer->node != NULL && peer->incarnation == members_incarnation(sim->members, about);
        if (members_is_up(sim->members, about) && !is_there) {
            struct event event = {.kind = EVENT_PEER_HINT};
            event.peer.node = about;
            event.peer.hint = PEER_UNMET;
            sim_step(sim, at, &event);
        }
    }
}

void faults_tell(struct sim *sim, uint32_t node)
{
    const struct sim_node *told = &sim->nodes[node];
    if (told->node != NULL && told->cuts == 0 && told->stopped_until_ns <= sim->now_ns) {
        struct event event = {.kind = EVENT_MEMBERS};
        event.members = sim->members;
        sim_step(sim, node, &event);
        hint_of_unmet(sim, node);
    }
}

/* Begin (@on) or end a fault that leaves a mark on a node or worker. */
static void mark(struct sim *sim, const struct fault *fault, bool on)
{
    const double factor = on ? fault->factor : 0;
    switch (fault->kind) {
    case FAULT_SLOW:
        sim->workers[fault->victim].faults.slowness = factor;
        return;
    case FAULT_FAIL_LOADS:
        sim->workers[fault->victim].faults.failing_loads = factor;
        return;
    case FAULT_FAIL_BATCHES:
        sim->workers[fault->victim].faults.failing_batches = factor;
        return;
    case FAULT_LOSE_DEVICE:
        sim->workers[fault->victim].faults.lost = on;
        return;
    case FAULT_LOSS:
        sim->nodes[fault->victim].loss = factor;
        return;
    case FAULT_PARTITION:
        partition(sim, fault->victim, on);
        return;
    case FAULT_STOP:
        if (fault->for_ns > FAULT_VERDICT_NS) { /* It has to join again, now and not before. */
            sim->nodes[fault->victim].fresh = true;
        }
        faults_tell(sim, fault->victim); /* It may have missed some. */
        return;
    case FAULT_CRASH:
    case FAULT_RESTART:
    case FAULT_DRAIN:
    case FAULT_NO_DIRECTORY:
    case FAULT_POISON:
    case FAULT_VERSION:
    case FAULT_KIND_COUNT:
        return; /* These are over by themselves. */
    }
}

static void drain(struct sim *sim, uint32_t node)
{
    if (sim->nodes[node].node != NULL) {
        struct event event = {.at_ns = sim->now_ns, .kind = EVENT_DRAIN};
        sim_event(sim, node, &event);
    }
}

void faults_begin(struct sim *sim, uint32_t number)
{
    const struct fault *fault = &sim->fault_list[number];
    switch (fault->kind) {
    case FAULT_CRASH:
        crash(sim, fault->victim);
        return;
    case FAULT_RESTART:
        restart(sim, fault->victim);
        return;
    case FAULT_DRAIN:
        drain(sim, fault->victim);
        return;
    case FAULT_STOP:
        stop(sim, fault);
        return;
    case FAULT_NO_DIRECTORY:
        sim->directory_away_until_ns = sim->now_ns + fault->for_ns;
        return;
    case FAULT_POISON:
        sim->poison = (struct poison){.fault = fault};
        return;
    case FAULT_VERSION:
        editions_begin(sim, fault->victim, fault->for_ns);
        return;
    case FAULT_SLOW:
    case FAULT_PARTITION:
    case FAULT_LOSS:
    case FAULT_FAIL_LOADS:
    case FAULT_FAIL_BATCHES:
    case FAULT_LOSE_DEVICE:
        mark(sim, fault, /* on */ true);
        return;
    case FAULT_KIND_COUNT:
        break;
    }
    ASSERT(false);
}

void faults_over(struct sim *sim, uint32_t number)
{
    mark(sim, &sim->fault_list[number], /* on */ false);
}

/* Whether @at can be connected to @about: it greets none but lives that it has heard of. */
static bool is_connected(const struct sim *sim, uint32_t at, uint32_t about)
{
    const struct sim_node *peer = &sim->nodes[about];
    return sim->nodes[at].node != NULL && peer->node != NULL && sim->nodes[at].cuts == peer->cuts &&
           node_has_heard_of(sim->nodes[at].node, about, peer->incarnation);
}

void faults_hint(struct sim *sim, uint32_t at, uint32_t about, bool broken)
{
    if (sim->nodes[at].node == NULL || (!broken && !is_connected(sim, at, about))) {
        return; /* No node is there to notice, or nothing has changed. */
    }
    struct event event = {.kind = EVENT_PEER_HINT};
    event.peer.node = about;
    event.peer.hint = broken ? PEER_BROKEN : PEER_RESTORED;
    sim_step(sim, at, &event);
    if (broken && is_connected(sim, at, about)) { /* It was only a moment: they try again. */
        schedule_hint(sim, sim->now_ns + FAULT_HINT_NS, at, about, /* broken */ false);
    }
}

/* Directories do not reach all nodes at once, but who has just joined has read the list. */
static void tell_later(struct sim *sim, uint32_t node)
{
    if (sim->options.members_after_ns == 0 || sim->members->since[node] == sim->members->epoch) {
        faults_tell(sim, node);
        return;
    }
    const double part = rng_unit(&sim->news);
    const int64_t after_ns = (int64_t)(part * (double)sim->options.members_after_ns);
    schedule(sim, sim->now_ns + after_ns, payload_of(TIMED_MEMBERS, 0, node, 0));
}

void faults_verdict(struct sim *sim)
{
    if (sim->directory_away_until_ns > sim->now_ns) {
        schedule(sim, sim->directory_away_until_ns, payload_of(TIMED_VERDICT, 0, 0, 0));
        return;
    }
    sim->members = nodes_members(sim, sim->members);
    for (uint32_t node = 0; node < sim->options.fleet->node_count; node++) {
        tell_later(sim, node);
    }
    if (sim->options.check && sim->options.has_deputies) {
        retries_check(sim);
    }
}

bool faults_swallow(struct sim *sim, uint32_t from, uint32_t to, uint32_t life)
{
    const struct sim_node *sender = &sim->nodes[from];
    const struct sim_node *receiver = &sim->nodes[to];
    if (!node_has_heard_of(sender->node, to, life)) {
        return true; /* A net greets no life that its list does not name. */
    }
    if (sender->cuts != receiver->cuts) { /* The sender notices that no answer comes. */
        schedule_hint(sim, sim->now_ns + FAULT_HINT_NS, from, to, /* broken */ true);
        return true;
    }
    const double loss = max_double(sender->loss, receiver->loss);
    if (loss == 0 || rng_unit(&sim->faults) >= loss) {
        return false;
    }
    /* A reliable transport loses messages only with their connection, and all others on it. */
    network_lose(sim, is_between, from, to);
    connection(sim, from, to, /* broken */ true, FAULT_HINT_NS);
    return true;
}

/* @node comes back after what the poison says. */
static void restart_later(struct sim *sim, uint32_t node)
{
    const int64_t at_ns = sim->now_ns + sim->poison.fault->for_ns;
    if (sim->poison.fault->for_ns == 0 || sim->fault_count == FAULTS_MAX) {
        return;
    }
    sim->fault_list[sim->fault_count] =
        (struct fault){.at_ns = at_ns, .kind = FAULT_RESTART, .victim = node};
    schedule(sim, at_ns, payload_of(TIMED_FAULT, 0, 0, sim->fault_count));
    sim->fault_count++;
}

bool faults_poisons(struct sim *sim, const struct run *run)
{
    bool is_poison = false;
    for (uint32_t i = 0; i < run->task_count && sim->poison.has_come && !is_poison; i++) {
        const struct batch_task task = node_batch_task(sim->nodes[run->node].node, run->batch, i);
        is_poison = retries_is_poison(sim, task.job);
    }
    if (is_poison) {
        const bool was_counted = retries_is_counted(sim);
        sim->poison.crashes++;
        crash(sim, run->node);
        sim->poison.forgotten += was_counted && !retries_is_counted(sim) ? 1 : 0;
        restart_later(sim, run->node);
    }
    return is_poison;
}

double faults_slowness(const struct sim *sim, uint32_t worker)
{
    const double slowness = sim->workers[worker].faults.slowness;
    return max_double(slowness, 1);
}

static enum weft_status status_of(struct sim *sim, uint32_t worker, double failing)
{
    if (sim->workers[worker].faults.lost) {
        return WEFT_LOST;
    }
    if (failing == 0 || rng_unit(&sim->faults) >= failing) {
        return WEFT_OK;
    }
    return WEFT_FAILED;
}

enum weft_status faults_load_status(struct sim *sim, uint32_t worker)
{
    return status_of(sim, worker, sim->workers[worker].faults.failing_loads);
}

enum weft_status faults_batch_status(struct sim *sim, uint32_t worker)
{
    return status_of(sim, worker, sim->workers[worker].faults.failing_batches);
}

/* The node that a timed event is for; NODE_NONE if it is for the host itself. */
static uint32_t receiver_of(
    const struct sim *sim, enum timed_kind kind, uint32_t small, uint32_t large)
{
    switch (kind) {
    case TIMED_TIMER:
        return large >> 8;
    case TIMED_CROSSED:
    case TIMED_UNLOADED:
    case TIMED_SHAPED:
        return sim->options.fleet->workers[small].node;
    case TIMED_BATCH_DONE:
        return runs_node(sim, large);
    case TIMED_DELIVERED:
        return ((const struct parcel *)pool_at(&sim->parcels, large))->to;
    case TIMED_SCRIPT:
        return ((const struct scripted *)pool_at(&sim->scripted, large))->node;
    case TIMED_HINT:
    case TIMED_MEMBERS:
    case TIMED_EDITION:
        return small;
    case TIMED_ARRIVAL:
    case TIMED_REQUEST:
    case TIMED_CANCEL:
    case TIMED_HANG_UP:
    case TIMED_RETRY:
    case TIMED_AT_SWITCH:
    case TIMED_PASSED:
    case TIMED_BACKGROUND:
    case TIMED_FAULT:
    case TIMED_FAULT_OVER:
    case TIMED_VERDICT:
        return NODE_NONE;
    }
    return NODE_NONE;
}

bool faults_defer(struct sim *sim, uint64_t payload)
{
    const uint32_t node =
        receiver_of(sim, payload_kind(payload), payload_small(payload), payload_large(payload));
    ASSERT(node == NODE_NONE || node < sim->options.fleet->node_count);
    if (node == NODE_NONE || sim->nodes[node].stopped_until_ns <= sim->now_ns) {
        return false;
    }
    schedule(sim, sim->nodes[node].stopped_until_ns, payload);
    return true;
}
