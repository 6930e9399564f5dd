#include "view/cells.h"

static bool is_like(const struct fleet *fleet, const struct fleet_node *left, uint32_t right)
{
    const struct fleet_node *other = &fleet->nodes[right];
    if (left->worker_count != other->worker_count) {
        return false;
    }
    for (uint32_t i = 0; i < left->worker_count; i++) {
        const struct fleet_worker *mine = &fleet->workers[left->worker_first + i];
        const struct fleet_worker *its = &fleet->workers[other->worker_first + i];
        if (mine->device != its->device || mine->memory_bytes != its->memory_bytes ||
            mine->gpu_units != its->gpu_units || mine->sharing != its->sharing) {
            return false;
        }
    }
    return true;
}

bool cells_are_alike(const struct fleet *fleet)
{
    if (fleet->has_slots) { /* A node that joins may differ. */
        return false;
    }
    for (uint32_t node = 1; node < fleet->node_count; node++) {
        if (!is_like(fleet, &fleet->nodes[0], node)) {
            return false;
        }
    }
    return true;
}
