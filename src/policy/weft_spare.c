#include "policy/weft_spare.h"

#include "policy/weft_haste.h"
#include "policy/weft_home.h"

uint64_t weft_spare_bytes(const struct policy_input *input, uint32_t worker, uint32_t units_free)
{
    const struct weft_plan *plan = input->plan;
    const struct view *view = input->view;
    const struct fleet_worker *device = &view->fleet->workers[worker];
    if (!plan->is_short || units_free >= device->gpu_units ||
        weft_idle_share(input) < WEFT_IDLE_ONE / 2) {
        return UINT64_MAX;
    }
    uint64_t bytes = 0;
    for (uint32_t model = 0; model < input->profile->model_count; model++) {
        const bool is_there = view_holds_model(view, worker, model);
        bytes += is_there ? input->profile->models[model].resident_bytes : 0;
    }
    return bytes < device->memory_bytes ? device->memory_bytes - bytes : 0;
}
