/* nodes.c - the life of nodes: booting one, and the list of those that are members. */
#include "sim/inside.h"

/* Whether a node's lease holds: it is there, reachable, and has not stood still for long. */
static bool is_member(const struct sim_node *node, int64_t now_ns)
{
    const bool stands = node->stopped_until_ns > now_ns;
    return node->node != NULL && node->cuts == 0 &&
           (!stands || now_ns - node->stopped_at_ns < FAULT_VERDICT_NS);
}

/* The next member list: who is up now, and since when. */
struct members *nodes_members(struct sim *sim, const struct members *before)
{
    const uint32_t node_count = sim->options.fleet->node_count;
    struct members *members = arena_alloc(&sim->arena, sizeof(*members));
    uint64_t *up = arena_alloc(&sim->arena, bitset_words(node_count) * sizeof(uint64_t));
    uint64_t *since = arena_alloc(&sim->arena, node_count * sizeof(uint64_t));
    uint32_t *incarnations = arena_alloc(&sim->arena, node_count * sizeof(uint32_t));
    members->epoch = before == NULL ? 1 : before->epoch + 1;
    members->node_count = node_count;
    for (uint32_t node = 0; node < node_count; node++) {
        const bool is_up = before == NULL || is_member(&sim->nodes[node], sim->now_ns);
        if (is_up) {
            bitset_add(up, node);
            members->up_count++;
        }
        since[node] = before == NULL ? members->epoch : before->since[node];
        if (before != NULL && is_up && sim->nodes[node].fresh) {
            since[node] = members->epoch;
        }
        incarnations[node] = is_up ? sim->nodes[node].incarnation : before->incarnations[node];
        sim->nodes[node].fresh = sim->nodes[node].fresh && !is_up;
    }
    members->up = up;
    members->since = since;
    members->incarnations = incarnations;
    return members;
}

void nodes_boot(struct sim *sim, uint32_t node)
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
        .cell_nodes = sim->options.cell_nodes,
        .has_deputies = sim->options.has_deputies,
    };
    sim->nodes[node].node = node_create(&sim->arena, &options);
    node_prepare(sim->nodes[node].node);
    node_start(sim->nodes[node].node, sim->now_ns, &sim->effects);
    sim_perform(sim, node);
}
