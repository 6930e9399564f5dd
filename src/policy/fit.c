/*
 * fit.c - which worker runs a config of a home queue.
 */
#include "policy/fit.h"

#include "base/assert.h"
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

/* A trial under way. */
struct search {
    uint64_t bytes; /* What its batch needs. */
    struct merits best;
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
    return a->cpu_left < b->cpu_left; /* Strict: the first wins a tie. */
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

struct fit_place fit_look(const struct view *view, uint32_t worker)
{
    return (struct fit_place){
        .worker = worker,
        .device = &view->fleet->workers[worker],
        .room = view_free_units(view, worker),
    };
}

uint64_t fit_bytes(const struct fit_ask *ask, const struct config *config)
{
    /* A task with more items than a config has runs with that config all the same, alone. */
    const uint32_t items = max_u32(config->batch, ask->queue->head_items);
    return need_bytes(ask->input->profile, ask->task, items);
}

/*
 * Units that are free may still not form a legal instance; a device smaller than others of its
 * kind may never hold the config.
 */
bool fit_has_room(
    const struct fit_ask *ask, const struct fit_place *place, const struct config *config,
    uint64_t bytes)
{
    const struct view *view = ask->input->view;
    const uint32_t gpu = sharing_round(place->device, config->gpu);
    return gpu <= place->room.gpu && config->cpu <= place->room.cpu &&
           configs_can_hold(view->fleet, place->worker, config, bytes) &&
           (place->device->sharing != SHARES_MIG ||
            view_fits(view, place->worker, config->cpu, gpu));
}

struct config fit_own(const struct view *view, uint32_t worker, struct config config)
{
    const struct fleet_worker *device = &view->fleet->workers[worker];
    const uint32_t cpu_units = view->fleet->nodes[device->node].cpu_units;
    config.gpu = min_u32(config.gpu, device->gpu_units);
    config.cpu = min_u32(config.cpu, cpu_units);
    return config;
}

/* @place, where the models take @load_ns to load, is one more for @trial. */
static void consider(
    const struct fit_ask *ask, const struct fit_place *place, int64_t load_ns,
    struct fit_trial *trial, struct search *search)
{
    if (load_ns > search->best.delay_ns) {
        return; /* Whatever inputs take. */
    }
    const struct merits merits = {
        .delay_ns = load_ns + transfer_ns(ask, trial->config.batch, place->worker),
        .far = view_is_own(ask->input->view, place->worker) ? 0 : 1,
        .gpu_left = place->room.gpu - sharing_round(place->device, trial->config.gpu),
        .cpu_left = place->room.cpu - trial->config.cpu,
    };
    const struct fit_choice here = {.worker = place->worker, .delay_ns = merits.delay_ns};
    if (is_better(&merits, &search->best)) {
        trial->best = here;
        search->best = merits;
    }
}

/* @worker is one more for @count trials. */
static void try_all(
    const struct fit_ask *ask, uint32_t worker, struct fit_trial *trials, struct search *searches,
    uint32_t count)
{
    const struct fit_place place = fit_look(ask->input->view, worker);
    int64_t load_ns = -1;
    for (uint32_t i = 0; i < count; i++) {
        if (place.device->device == trials[i].device &&
            fit_has_room(ask, &place, &trials[i].config, searches[i].bytes)) {
            load_ns = load_ns < 0 ? fit_load_ns(ask->input, ask->task, worker) : load_ns;
            consider(ask, &place, load_ns, &trials[i], &searches[i]);
        }
    }
}

/* The node with the inputs, if they take time to any other; NODE_NONE: it makes no difference. */
static uint32_t near_of(const struct fit_ask *ask)
{
    const struct fleet *fleet = ask->input->view->fleet;
    const bool takes_time = ask->bytes_per_item > 0 || fleet->network.latency_ns > 0;
    const uint32_t holder = ask->queue->holder;
    return ask->locality && takes_time && holder < fleet->worker_count ? fleet->workers[holder].node
                                                                       : NODE_NONE;
}

/* Whether @worker may be able to start something that needs @units. */
static bool may_start(const struct view *view, uint32_t worker, uint32_t units)
{
    return units <= view_gpu_at_most(view, worker) && view_is_usable(view, worker);
}

/* Whether every trial has a place where it waits for nothing. */
static bool start_at_once(const struct search *searches, uint32_t count)
{
    bool at_once = true;
    for (uint32_t i = 0; i < count && at_once; i++) {
        at_once = searches[i].best.delay_ns == 0;
    }
    return at_once;
}

void fit_find(const struct fit_ask *ask, struct fit_trial *trials, uint32_t count)
{
    const struct view *view = ask->input->view;
    struct search searches[SEARCH_PATHS_MAX];
    uint32_t least = UINT32_MAX; /* Units that any of them needs. */
    ASSERT(count <= SEARCH_PATHS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        trials[i].best.worker = WORKER_NONE;
        searches[i] = (struct search){
            .bytes = fit_bytes(ask, &trials[i].config),
            .best.delay_ns = INT64_MAX,
        };
        least = min_u32(trials[i].config.gpu, least);
    }
    const uint32_t near = near_of(ask);
    for (uint32_t i = 0; near != NODE_NONE && i < view->fleet->nodes[near].worker_count; i++) {
        const uint32_t worker = view->fleet->nodes[near].worker_first + i;
        if (may_start(view, worker, least)) {
            try_all(ask, worker, trials, searches, count);
        }
    }
    if (near != NODE_NONE && start_at_once(searches, count)) {
        return;
    }
    for (uint32_t i = 0; i < view->fleet->worker_count; i++) {
        const uint32_t worker = choose_round(view, i);
        if (view->fleet->workers[worker].node != near && may_start(view, worker, least)) {
            try_all(ask, worker, trials, searches, count);
        }
    }
}

struct fit_choice fit_find_one(
    const struct fit_ask *ask, const struct config *config, uint32_t device)
{
    struct fit_trial trial = {.config = *config, .device = device};
    fit_find(ask, &trial, 1);
    return trial.best;
}

uint64_t fit_bytes_per_item(const struct workflow *workflow, uint32_t task)
{
    const struct workflow_task *vertex = &workflow->tasks[task];
    uint64_t bytes =
        vertex->in_count == 0 ? workflow_part_bytes(workflow, task, workflow->input_bytes) : 0;
    for (uint32_t in = 0; in < vertex->in_count; in++) {
        bytes += workflow_edge_bytes(workflow_in(workflow, task, in), /* items */ 1);
    }
    return bytes;
}
