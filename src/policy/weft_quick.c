#include "policy/weft_quick.h"

#include "base/numbers.h"
#include "policy/weft_home.h"
#include "policy/weft_options.h"

/* What nothing is worth: no unit would be left. */
#define FULL_TOLL 1e3

/* Workers are looked at anew once so much time has passed for each: decisions are more frequent. */
#define LOOK_NS INT64_C(30000)

bool weft_quick_is_on(const struct policy_input *input, const struct queue_facts *queue)
{
    const struct weft_plan *plan = input->plan;
    const uint32_t number = input->catalogue->workflows[queue->workflow]->queue_first + queue->task;
    return input->view->fleet->prices.gpu == 0 && !plan->has_slos && plan->shares[number] &&
           queue->head_deadline_ns == INT64_MAX;
}

const struct weft_quick *weft_quick_look(const struct policy_input *input)
{
    const struct view *view = input->view;
    const struct fleet *fleet = view->fleet;
    struct weft_state *state = input->state;
    struct weft_quick *quick = &state->quick;
    if (quick->at_ns != 0 && view->now_ns - quick->at_ns < LOOK_NS * fleet->worker_count) {
        return quick;
    }
    quick->at_ns = view->now_ns;
    quick->all = 0;
    quick->idle = 0;
    quick->slower = 0;
    quick->usable = 0;
    for (uint32_t device = 0; device < fleet->device_count; device++) {
        quick->kinds[device] = (struct weft_quick_kind){0};
    }
    for (uint32_t worker = 0; worker < fleet->worker_count; worker++) {
        if (!view_is_usable(view, worker)) {
            continue;
        }
        const struct fleet_worker *spec = &fleet->workers[worker];
        struct weft_quick_kind *kind = &quick->kinds[spec->device];
        kind->cpu = fleet->nodes[spec->node].cpu_units;
        kind->devices = fleet->nodes[spec->node].worker_count;
        kind->units = spec->gpu_units;
        kind->all += spec->gpu_units;
        kind->idle += view_free_units(view, worker).gpu;
        quick->slower += view_slower(view, worker);
        quick->usable++;
    }
    for (uint32_t device = 0; device < fleet->device_count; device++) {
        quick->all += quick->kinds[device].all;
        quick->idle += quick->kinds[device].idle;
    }
    return quick;
}

/* What @config holds of a device of @kind, in units: of these or of CPU, whichever is the more. */
static double held_of(const struct weft_quick_kind *kind, const struct config *config)
{
    const double cpu = (double)max_u32(kind->cpu, 1) / kind->devices;
    const double gpu = config->gpu == 0 ? kind->units : config->gpu;
    return max_double(gpu, config->cpu / cpu * kind->units);
}

double weft_quick_toll(
    const struct policy_input *input, const struct weft_quick_kind *kind,
    const struct config *config)
{
    const double held = held_of(kind, config);
    const double left = kind->idle - held;
    const double toll = left > 0 ? min_double((kind->all - left) / left, FULL_TOLL) : FULL_TOLL;
    const double part = held / kind->units / config->batch;
    return 1 + input->options[WEFT_TOLL] * part * toll;
}

int64_t weft_quick_ns(
    const struct policy_input *input, const struct queue_facts *queue,
    const struct esg_queue *known)
{
    const struct configs *configs = &known->configs;
    const uint32_t head = min_u32(queue->head_items, known->batch_max);
    const uint32_t most = esg_most_items(known, queue);
    const struct weft_quick *seen = weft_quick_look(input);
    int64_t end_ns = INT64_MAX;
    double best = 0;
    for (uint32_t i = 0; i < configs->count; i++) {
        const struct search_choice *weights = &configs->weights[i];
        const struct configs_choice *choice = &configs->choices[i];
        const struct weft_quick_kind *kind = &seen->kinds[choice->device];
        if (kind->units == 0 || weights->batch < head || weights->batch > most) {
            continue;
        }
        const double toll = weft_quick_toll(input, kind, &choice->config);
        const double score = (double)weights->time_ns * toll;
        if (end_ns == INT64_MAX || score < best) {
            best = score;
            end_ns = weights->time_ns + known->stage.extra_ns +
                     known->rests[weights->front].points[0].time_ns;
        }
    }
    return end_ns;
}
