#include "policy/weft_haste.h"

#include "base/numbers.h"
#include "policy/compass_cost.h"
#include "policy/weft_home.h"
#include "policy/weft_options.h"

/* All units of devices are idle. */
enum { IDLE_ONE = 1024 };

/*
 * Haste where nothing is charged: not quite all, as the last units gain least and are missed most.
 */
static const double FREE_HASTE = 0.9375;

/* Units of devices that are free, of all, in 1024ths: as of up to 100 µs for each worker ago. */
static int64_t idle_share(const struct policy_input *input)
{
    const struct view *view = input->view;
    struct weft_state *state = input->state;
    const uint32_t count = view->fleet->worker_count;
    uint64_t idle = 0;
    uint64_t all = 0;
    if (state->idle_at_ns != 0 && view->now_ns - state->idle_at_ns < INT64_C(100000) * count) {
        return state->idle;
    }
    for (uint32_t worker = 0; worker < count; worker++) {
        if (view_is_usable(view, worker)) {
            idle += view_free_units(view, worker).gpu;
            all += view->fleet->workers[worker].gpu_units;
        }
    }
    state->idle_at_ns = view->now_ns;
    state->idle = (int64_t)(idle * IDLE_ONE / (all > 0 ? all : 1));
    return state->idle;
}

/* How soon the head of @queue and the rest of its group can end. */
static int64_t soonest_ns(const struct queue_facts *queue, const struct esg_queue *known)
{
    const struct configs *configs = &known->configs;
    const uint32_t head = min_u32(queue->head_items, known->batch_max);
    const uint32_t most = max_u32(queue->items, head);
    uint32_t i = 0;
    while (i + 1 < configs->count &&
           (configs->weights[i].batch < head || configs->weights[i].batch > most)) {
        i++;
    }
    return configs->weights[i].time_ns + known->stage.extra_ns + known->rest.points[0].time_ns;
}

int64_t weft_haste_ns(
    const struct policy_input *input, const struct queue_facts *queue,
    const struct esg_queue *known, int64_t target_ns)
{
    const bool is_free = input->view->fleet->prices.gpu == 0;
    const double haste = input->options[WEFT_HASTE];
    const int64_t part = compass_64ths(haste > 0 && is_free ? FREE_HASTE : haste);
    if (part == 0) {
        return target_ns;
    }
    const int64_t soonest = soonest_ns(queue, known);
    if (queue->head_deadline_ns == INT64_MAX) { /* Due as in worker queues. */
        target_ns = soonest / 64 * compass_64ths(max_double(input->options[WEFT_PATH], 1));
    }
    if (target_ns < soonest) {
        return target_ns; /* It cannot even be met. */
    }
    const int64_t spare_ns = target_ns - soonest;
    return target_ns - spare_ns / (IDLE_ONE * 64) * idle_share(input) * part;
}
