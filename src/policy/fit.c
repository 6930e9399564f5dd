/*
 * fit.c - which worker runs a config of a home queue.
 */
#include "policy/fit.h"

#include "base/numbers.h"
#include "configs/configs.h"
#include "model/sharing.h"
#include "policy/choose.h"

/* What is compared, the most important first. */
struct merits {
    int64_t delay_ns;
    uint32_t far; /* 0 on the home's own node. */
    uint32_t gpu_left;
    uint32_t cpu_left;
};

static bool is_better(const struct merits *a, const struct merits *b)
{
    if (a->delay_ns != b->delay_ns) {
        return a->delay_ns < b->delay_ns;
    }
    if (a->far != b->far) {
        return a->far < b->far;
    }
    if (a->gpu_left != b->gpu_left) {
        return a->gpu_left < b->gpu_left;
    }
    return a->cpu_left < b->cpu_left; /* Strict: the lowest index wins a tie. */
}

int64_t fit_load_ns(
    const struct policy_input *input, const struct workflow_task *task, uint32_t worker)
{
    return choose_missing_load_ns(input, task, worker);
}

static int64_t transfer_ns(const struct fit_ask *ask, uint32_t items, uint32_t worker)
{
    const struct fleet *fleet = ask->input->view->fleet;
    const uint32_t holder = ask->queue->holder;
    if (!ask->locality || holder >= fleet->worker_count) {
        return 0;
    }
    const uint32_t from = fleet->workers[holder].node;
    const uint32_t to = fleet->workers[worker].node;
    return from == to ? 0 : fleet_transfer_ns(fleet, from, to, ask->bytes_per_item * items);
}

struct config fit_room(const struct view *view, uint32_t worker)
{
    return (struct config){
        .cpu = view_cpu_free(view, worker),
        .gpu = view_gpu_free(view, worker),
    };
}

/* A task with more items than a config has runs with that config all the same, alone. */
static bool holds_head(const struct fit_ask *ask, uint32_t worker)
{
    const uint64_t bytes = need_bytes(ask->input->profile, ask->task, ask->queue->head_items);
    return bytes <= ask->input->view->fleet->workers[worker].memory_bytes;
}

/*
 * Whether @config could start on @worker now, and what would be left there. Units that are free
 * may still not form a legal instance; a device smaller than others of its kind may never hold it.
 */
static bool has_room(
    const struct fit_ask *ask, uint32_t worker, const struct config *config,
    struct merits *merits_out)
{
    const struct view *view = ask->input->view;
    const struct fleet_worker *device = &view->fleet->workers[worker];
    const struct config room = fit_room(view, worker);
    const uint32_t gpu = sharing_round(device, config->gpu);
    if (gpu > room.gpu || config->cpu > room.cpu ||
        !configs_can_hold(view->fleet, ask->input->profile, ask->task, worker, config) ||
        !holds_head(ask, worker) ||
        (device->sharing == SHARES_MIG && !view_fits(view, worker, config->cpu, gpu))) {
        return false;
    }
    merits_out->gpu_left = room.gpu - gpu;
    merits_out->cpu_left = room.cpu - config->cpu;
    return true;
}

bool fit_has_room(const struct fit_ask *ask, uint32_t worker, const struct config *config)
{
    struct merits merits;
    return has_room(ask, worker, config, &merits);
}

struct config fit_own(const struct view *view, uint32_t worker, struct config config)
{
    const struct fleet_worker *device = &view->fleet->workers[worker];
    const uint32_t cpu_units = view->fleet->nodes[device->node].cpu_units;
    config.gpu = min_u32(config.gpu, device->gpu_units);
    config.cpu = min_u32(config.cpu, cpu_units);
    return config;
}

struct fit_choice fit_find_but(
    const struct fit_ask *ask, const struct config *config, uint32_t device, uint32_t other)
{
    const struct view *view = ask->input->view;
    struct fit_choice best = {.worker = WORKER_NONE};
    struct merits best_merits = {.delay_ns = INT64_MAX};
    for (uint32_t worker = 0; worker < view->fleet->worker_count; worker++) {
        struct merits merits = {.far = view_is_own(view, worker) ? 0 : 1};
        if (view->fleet->workers[worker].device != device || worker == other ||
            !has_room(ask, worker, config, &merits) || !view_is_usable(view, worker)) {
            continue;
        }
        merits.delay_ns = fit_load_ns(ask->input, ask->task, worker);
        merits.delay_ns += transfer_ns(ask, config->batch, worker);
        if (is_better(&merits, &best_merits)) {
            best = (struct fit_choice){.worker = worker, .delay_ns = merits.delay_ns};
            best_merits = merits;
        }
    }
    return best;
}

struct fit_choice fit_find(const struct fit_ask *ask, const struct config *config, uint32_t device)
{
    return fit_find_but(ask, config, device, WORKER_NONE);
}

uint64_t fit_bytes_per_item(const struct workflow *workflow, uint32_t task)
{
    const struct workflow_task *vertex = &workflow->tasks[task];
    uint64_t bytes = vertex->in_count == 0 ? workflow->input_bytes : 0;
    for (uint32_t in = 0; in < vertex->in_count; in++) {
        bytes += workflow_edge_bytes(workflow_in(workflow, task, in), /* items */ 1);
    }
    return bytes;
}
