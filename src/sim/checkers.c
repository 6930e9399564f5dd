/*
 * checkers.c - what must hold whatever the policy, the load and the faults.
 *
 * Device memory and shares, answers that come once and rows that move forward are
 * watched where they happen, always. These are the checks that cost more.
 */
#include "base/numbers.h"
#include "profile/need.h"
#include "sim/inside.h"

enum { FLOWS_FEW = 256, FLOWS_LOOK = 64 };

/* In use of the memory that @worker has, alone or with others. */
static uint64_t memory_bytes(const struct sim *sim, uint32_t worker)
{
    return sim->workers[fleet_first_sharer(sim->options.fleet, worker)].memory_bytes;
}

/*
 * A node's books of its workers agree with this host's own. The node counts a batch that
 * still waits for its share, the device does not: hence not equal, but at least.
 */
void checkers_step(const struct sim *sim, uint32_t node)
{
    const struct fleet_node *spec = &sim->options.fleet->nodes[node];
    for (uint32_t i = 0; i < spec->worker_count; i++) {
        const uint32_t worker = spec->worker_first + i;
        const struct worker_counts counts = node_worker_counts(sim->nodes[node].node, worker);
        ASSERT(counts.gpu_used >= sim->workers[worker].gpu_used);
        ASSERT(counts.memory_used_bytes >= memory_bytes(sim, worker));
        ASSERT(counts.memory_used_bytes <= sim->options.fleet->workers[worker].memory_bytes);
    }
    ASSERT(sim->answered <= sim->arrived);
}

/* A node that has nothing left to do promises nothing, and holds nothing but its models. */
static void check_idle(const struct sim *sim, uint32_t number)
{
    const struct fleet_node *spec = &sim->options.fleet->nodes[number];
    const struct node *node = sim->nodes[number].node;
    if (node == NULL) {
        return;
    }
    const struct node_counts counts = node_counts(node);
    ASSERT(counts.reservations == 0 || sim_may_list_late(&sim->options));
    ASSERT(counts.cpu_used == 0);
    for (uint32_t i = 0; i < spec->worker_count; i++) {
        const uint32_t worker = spec->worker_first + i;
        const struct worker_counts held = node_worker_counts(node, worker);
        ASSERT(held.promised_ns == 0);
        ASSERT(held.gpu_used == 0);
        ASSERT(held.memory_used_bytes == memory_bytes(sim, worker));
    }
}

/* No task runs before its inputs: all of them are there, on its own node. */
void checkers_launch(const struct sim *sim, uint32_t node, const struct effect_launch *launch)
{
    const struct workflow *workflow = sim->options.catalogue->workflows[launch->workflow];
    const uint32_t in_count = workflow->tasks[launch->task].in_count;
    const struct need need =
        need_of(sim->options.profile, &workflow->tasks[launch->task], launch->items);
    ASSERT(need_is_met(need, &sim->options.fleet->workers[launch->worker])); /* There at all. */
    ASSERT(launch->task_count == 1 || launch->items <= launch->config.batch);
    for (uint32_t i = 0; i < workflow->tasks[launch->task].model_count; i++) {
        const uint32_t model = workflow->tasks[launch->task].models[i];
        ASSERT(model_set_has(&sim->workers[launch->worker].ready, model));
    }
    for (uint32_t i = 0; i < launch->task_count; i++) {
        const struct node *host = sim->nodes[node].node;
        const struct batch_task task = node_batch_task(host, launch->batch, i);
        ASSERT(task.input_count == (in_count == 0 ? 1 : in_count));
        for (uint32_t input = 0; input < task.input_count; input++) {
            const struct handle tensor = node_batch_input(host, launch->batch, i, input);
            ASSERT(map_get(&sim->tensors, tensor.id) == node);
        }
    }
}

/*
 * Rates are what they should be: after transfers have come or gone. A look costs as much as there
 * are transfers, so that of thousands not every change is looked at.
 */
void checkers_links(const struct sim *sim)
{
    if (sim->network.fair.flows.used < FLOWS_FEW || sim->steps % FLOWS_LOOK == 0) {
        links_fair_check(&sim->network.fair);
    }
}

/* A FIFO link is given out in the order in which it is reached, which may be ahead of time. */
void checkers_reach(struct sim *sim, uint32_t link, int64_t at_ns)
{
    ASSERT(at_ns >= sim->network.reached_ns[link]);
    sim->network.reached_ns[link] = at_ns;
}

/* Nothing arrives earlier than it could if it had all links of its route to itself. */
void checkers_deliver(const struct sim *sim, const struct parcel *parcel)
{
    const struct network *network = &sim->network;
    struct route route = {0};
    int64_t wire_ns = 0;
    if (parcel->has_tensor) {
        links_route(sim->options.fleet, network->rates, parcel->from, parcel->to, &route);
    }
    for (uint32_t i = 0; i < route.count; i++) {
        const int64_t ns =
            fleet_bytes_ns(parcel->message.work.bytes, network->rates[route.links[i]]);
        wire_ns = max_i64(ns, wire_ns);
    }
    ASSERT(sim->now_ns >= parcel->sent_ns + sim->options.fleet->network.latency_ns + wire_ns);
}

/*
 * How often a request that crashes nodes may be tried where nothing else breaks: five times that
 * its owners count, and once before its first deputy knew of it. Two tasks of it may crash owner
 * and deputy at once; then it is new to the next.
 */
enum { POISON_ATTEMPTS_MAX = 6 };

static void check_poison(const struct sim *sim)
{
    const struct poison *poison = &sim->poison;
    if (poison->fault != NULL && sim->options.fault_count == 1) {
        const uint32_t workflow = poison->fault->victim;
        const uint32_t task_count = sim->options.catalogue->workflows[workflow]->task_count;
        const uint32_t lives = 1 + poison->forgotten;
        ASSERT(poison->crashes <= POISON_ATTEMPTS_MAX * task_count * lives);
    }
}

/* When nothing is left to happen, nothing is left. */
void checkers_end(const struct sim *sim)
{
    const struct policy *ticker = sim->policies.roles[ROLE_TICK].policy;
    const bool is_ticking = ticker != NULL;                    /* For ever. */
    const bool may_rest = is_ticking && ticker->waits != NULL; /* Not while no task waits. */
    check_poison(sim);
    ASSERT(sim->answered == sim->arrived); /* Every request has been answered. */
    ASSERT(sim->clients.used == 0);        /* Once. */
    ASSERT(sim->parcels.used == 0);
    ASSERT(map_count(&sim->network.carried.counts) == 0);
    ASSERT(sim->runs.used == 0);
    ASSERT(sim->crossings.used == 0);
    ASSERT(sim->pools.jobs.used == 0);
    ASSERT(sim->pools.visits.used == 0);
    ASSERT(sim->pools.tasks.used == 0);
    ASSERT(sim->pools.inputs.used == 0);
    ASSERT(sim->pools.tensors.used == 0);
    ASSERT(sim->pools.batches.used == 0);
    ASSERT(sim->pools.tickets.used == 0);
    ASSERT(sim->pools.claims.used == 0);
    ASSERT(sim->pools.grants.used == 0);
    ASSERT(sim->pools.parked.used == 0);
    ASSERT(sim->pools.keyed.used == 0);
    for (uint32_t node = 0; node < sim->options.fleet->node_count; node++) {
        ASSERT(sim->nodes[node].handles == 0);
        const bool ticks = is_ticking && sim->nodes[node].node != NULL &&
                           !node_counts(sim->nodes[node].node).resting;
        const uint32_t timers = sim->nodes[node].timers - sim->nodes[node].idle_timers;
        ASSERT(timers == (ticks ? 1 : 0) || (timers == 0 && (sim->has_stopped_ticks || may_rest)));
        ASSERT(sim->nodes[node].idle_timers <= sim->options.fleet->nodes[node].worker_count + 1);
        check_idle(sim, node);
    }
}
