#include "policy/weft_inputs.h"

#include "base/numbers.h"

static uint64_t node_bit(uint32_t node)
{
    return UINT64_C(1) << node % 64;
}

void weft_inputs_find(struct weft_inputs *inputs_out, const struct fit_ask *ask)
{
    *inputs_out = (struct weft_inputs){0};
    for (uint32_t i = 0; i <= ask->queue->look_count; i++) { /* The last stands for all others. */
        const uint32_t node = weft_inputs_node(ask, i);
        inputs_out->holders |= node == NODE_NONE ? UINT64_MAX : node_bit(node);
    }
}

uint32_t weft_inputs_node(const struct fit_ask *ask, uint32_t index)
{
    const struct queue_facts *queue = ask->queue;
    const uint32_t holder = index < queue->look_count ? queue->holders[index] : queue->holder;
    const struct fleet *fleet = ask->input->view->fleet;
    return holder < fleet->worker_count ? fleet->workers[holder].node : NODE_NONE;
}

int64_t weft_inputs_arrive_ns(
    const struct weft_inputs *inputs, const struct fit_ask *ask, uint32_t items, uint32_t to)
{
    const struct fleet *fleet = ask->input->view->fleet;
    uint32_t from = weft_inputs_node(ask, items - 1);
    uint32_t far = items;
    if ((inputs->holders & node_bit(to)) != 0) {
        const uint32_t looks = max_u32(ask->queue->look_count, items);
        for (uint32_t i = 0; i < looks && far > 0; i++) { /* Those nearby are taken first. */
            const uint32_t node = weft_inputs_node(ask, i);
            const bool is_far = node != to && node != NODE_NONE;
            from = is_far ? node : from;
            far -= is_far ? 0 : 1;
        }
        const uint32_t head = weft_inputs_node(ask, 0);
        far = head != to && head != NODE_NONE ? max_u32(far, 1) : far;
    }
    return far == 0 ? 0 : fleet_transfer_ns(fleet, from, to, far * ask->bytes_per_item);
}
