#include "policy/weft_inputs.h"

#include "base/numbers.h"

/* A way is free if it keeps no link busy for more than one part in this many of a run. */
enum { SHORT_WAY = 16 };

static const struct fleet *fleet_of(const struct weft_inputs *inputs)
{
    return inputs->ask->input->view->fleet;
}

static int64_t now_ns(const struct weft_inputs *inputs)
{
    return inputs->ask->input->view->now_ns;
}

static uint64_t node_bit(uint32_t node)
{
    return UINT64_C(1) << node % 64;
}

static uint32_t rack_of(const struct fleet *fleet, uint32_t node)
{
    return fleet_rack(fleet, node) % WEFT_RACKS;
}

/* For how long the inputs of an item keep links busy. */
static int64_t up_use_ns(const struct weft_inputs *inputs, uint32_t node)
{
    const struct fleet *fleet = fleet_of(inputs);
    return fleet_bytes_ns(inputs->ask->bytes_per_item, fleet_up_rate(fleet, node));
}

static int64_t down_use_ns(const struct weft_inputs *inputs, uint32_t node)
{
    const struct fleet *fleet = fleet_of(inputs);
    return fleet_bytes_ns(inputs->ask->bytes_per_item, fleet_down_rate(fleet, node));
}

static int64_t core_use_ns(const struct weft_inputs *inputs)
{
    const struct fleet_network *network = &fleet_of(inputs)->network;
    return network->kind == NETWORK_STAR
               ? 0
               : fleet_bytes_ns(inputs->ask->bytes_per_item, network->core_bytes_per_s);
}

uint32_t weft_inputs_node(const struct weft_inputs *inputs, uint32_t index)
{
    const struct queue_facts *queue = inputs->ask->queue;
    const uint32_t holder = index < queue->look_count ? queue->holders[index] : queue->holder;
    const struct fleet *fleet = fleet_of(inputs);
    return holder < fleet->worker_count ? fleet->workers[holder].node : NODE_NONE;
}

static const struct weft_source *source_of(const struct weft_inputs *inputs, uint32_t index)
{
    return &inputs->sources[min_u32(index, inputs->ask->queue->look_count)];
}

static struct weft_source look_at_source(const struct weft_inputs *inputs, uint32_t node)
{
    const struct weft_brought *brought = inputs->brought;
    const struct weft_link *up = &brought->up[node % WEFT_MACHINES];
    const struct weft_link *out = &brought->out[rack_of(fleet_of(inputs), node)];
    return (struct weft_source){
        .node = node,
        .machine_ns = weft_link_toll_ns(up, up_use_ns(inputs, node), now_ns(inputs)),
        .rack_ns = weft_link_toll_ns(out, core_use_ns(inputs), now_ns(inputs)),
    };
}

/* Whether the inputs of an item keep no link that they leave by busy for long beside @run_ns. */
static bool are_near(const struct weft_inputs *inputs, int64_t run_ns)
{
    const uint32_t rates =
        fleet_of(inputs)->network.has_own_rates ? inputs->ask->queue->look_count + 1 : 1;
    bool are_near = core_use_ns(inputs) <= run_ns / SHORT_WAY;
    for (uint32_t i = 0; i < rates && are_near; i++) {
        const uint32_t node = weft_inputs_node(inputs, i);
        are_near = up_use_ns(inputs, node == NODE_NONE ? 0 : node) <= run_ns / SHORT_WAY;
    }
    return are_near;
}

void weft_inputs_find(
    struct weft_inputs *inputs_out, const struct fit_ask *ask, const struct weft_brought *brought,
    int64_t run_ns)
{
    inputs_out->ask = ask;
    inputs_out->brought = brought;
    inputs_out->are_together = true;
    inputs_out->holders = 0;
    inputs_out->are_near = are_near(inputs_out, run_ns);
    for (uint32_t i = 0; i <= ask->queue->look_count; i++) {
        const uint32_t node = weft_inputs_node(inputs_out, i);
        inputs_out->are_together = inputs_out->are_together && node != NODE_NONE &&
                                   node == weft_inputs_node(inputs_out, 0);
        inputs_out->holders |= node == NODE_NONE ? UINT64_MAX : node_bit(node);
        if (!inputs_out->are_near) {
            inputs_out->sources[i] = node == NODE_NONE ? (struct weft_source){.node = node}
                                                       : look_at_source(inputs_out, node);
        }
    }
}

/* Of @items tasks, those whose inputs are not at @to: those nearby are taken first. */
static uint32_t count_far(const struct weft_inputs *inputs, uint32_t items, uint32_t to)
{
    uint32_t far = items;
    if ((inputs->holders & node_bit(to)) != 0) {
        const uint32_t looks = max_u32(inputs->ask->queue->look_count, items);
        for (uint32_t i = 0; i < looks && far > 0; i++) {
            const uint32_t node = weft_inputs_node(inputs, i);
            far -= node == to || node == NODE_NONE ? 1 : 0;
        }
        const uint32_t head = weft_inputs_node(inputs, 0);
        far = head != to && head != NODE_NONE ? max_u32(far, 1) : far;
    }
    return far;
}

/* The next task from @index on whose inputs have to travel to @to. */
static uint32_t next_far(const struct weft_inputs *inputs, uint32_t to, uint32_t index)
{
    uint32_t node = weft_inputs_node(inputs, index);
    while ((node == to || node == NODE_NONE) && index < inputs->ask->queue->look_count) {
        index++;
        node = weft_inputs_node(inputs, index);
    }
    return index;
}

int64_t weft_inputs_arrive_ns(const struct weft_inputs *inputs, uint32_t items, uint32_t to)
{
    const uint32_t far = count_far(inputs, items, to);
    uint32_t last = items - 1;
    for (uint32_t i = 0, at = 0; i < far && far < items; i++) {
        last = next_far(inputs, to, at);
        at = last + 1;
    }
    return far == 0 ? 0
                    : fleet_transfer_ns(
                          fleet_of(inputs), weft_inputs_node(inputs, last), to,
                          far * inputs->ask->bytes_per_item);
}

int64_t weft_inputs_toll_ns(const struct weft_inputs *inputs, uint32_t items, uint32_t to)
{
    if (inputs->are_near) {
        return 0;
    }
    const struct fleet *fleet = fleet_of(inputs);
    const struct weft_link *down = &inputs->brought->down[to % WEFT_MACHINES];
    const struct weft_link *in = &inputs->brought->in[rack_of(fleet, to)];
    const int64_t down_ns = weft_link_toll_ns(down, down_use_ns(inputs, to), now_ns(inputs));
    const int64_t in_ns = weft_link_toll_ns(in, core_use_ns(inputs), now_ns(inputs));
    const uint32_t far = count_far(inputs, items, to);
    int64_t toll_ns = 0;
    for (uint32_t i = 0, at = 0; i < far; i++, at++) {
        at = next_far(inputs, to, at);
        const struct weft_source *from = source_of(inputs, at);
        int64_t dearest_ns = from->node == NODE_NONE ? 0 : max_i64(from->machine_ns, down_ns);
        if (from->node != NODE_NONE && weft_crosses_core(fleet, from->node, to)) {
            dearest_ns = max_i64(dearest_ns, max_i64(from->rack_ns, in_ns));
        }
        toll_ns += dearest_ns;
    }
    return toll_ns;
}

/* So many nodes bring as much as this one. */
static uint32_t count_homes(const struct policy_input *input)
{
    return min_u32(input->catalogue->queue_count, input->view->fleet->node_count);
}

int64_t weft_brought_toll_ns(
    const struct weft_brought *brought, const struct policy_input *input, uint32_t to,
    uint64_t bytes)
{
    const struct fleet *fleet = input->view->fleet;
    return weft_link_toll_ns(
        &brought->down[to % WEFT_MACHINES], fleet_bytes_ns(bytes, fleet_down_rate(fleet, to)),
        input->view->now_ns);
}

void weft_brought_note(
    struct weft_brought *brought, const struct policy_input *input, uint32_t to, uint64_t bytes)
{
    const struct fleet *fleet = input->view->fleet;
    weft_link_send(
        &brought->down[to % WEFT_MACHINES], fleet_bytes_ns(bytes, fleet_down_rate(fleet, to)),
        count_homes(input), input->view->now_ns);
}

void weft_inputs_bring(
    const struct weft_inputs *inputs, uint32_t items, uint32_t to, struct weft_brought *brought)
{
    const struct fleet *fleet = fleet_of(inputs);
    const int64_t at_ns = now_ns(inputs);
    const int64_t core_ns = core_use_ns(inputs);
    const uint32_t homes = count_homes(inputs->ask->input);
    const uint32_t far = inputs->are_near ? 0 : count_far(inputs, items, to);
    for (uint32_t i = 0, at = 0; i < far; i++, at++) {
        at = next_far(inputs, to, at);
        const uint32_t from = source_of(inputs, at)->node;
        if (from == NODE_NONE) {
            continue;
        }
        struct weft_link *up = &brought->up[from % WEFT_MACHINES];
        struct weft_link *down = &brought->down[to % WEFT_MACHINES];
        weft_link_send(up, up_use_ns(inputs, from), homes, at_ns);
        weft_link_send(down, down_use_ns(inputs, to), homes, at_ns);
        if (weft_crosses_core(fleet, from, to)) {
            weft_link_send(&brought->out[rack_of(fleet, from)], core_ns, homes, at_ns);
            weft_link_send(&brought->in[rack_of(fleet, to)], core_ns, homes, at_ns);
        }
    }
}
