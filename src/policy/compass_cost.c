#include "policy/compass_cost.h"

#include "base/assert.h"
#include "base/error.h"
#include "base/numbers.h"
#include "base/units.h"
#include "policy/demand.h"
#include "policy/registry.h"
#include "profile/fresh.h"

/* Beyond this many tasks per worker nothing is learnt from one more. */
#define WAITING_MAX 5

static bool has(const struct policy_input *input, enum compass_option option)
{
    return input->options[option] != 0;
}

enum weft_status compass_check(const double *values, uint32_t given, struct weft_error *error)
{
    static const enum compass_option corrected[] = {COMPASS_THRESHOLD, COMPASS_EVICTION,
                                                    COMPASS_CROWD,     COMPASS_SPREAD,
                                                    COMPASS_JITTER,    COMPASS_KEEP};
    for (uint32_t i = 0; i < ARRAY_COUNT(corrected); i++) {
        if (values[COMPASS_ORIGINAL] != 0 && (given >> corrected[i] & 1) != 0) {
            return error_set(
                error, WEFT_INVALID,
                "option '%s' does not apply to 'compass:original'; adjust, load and cache do",
                policy_compass.options[corrected[i]].name);
        }
    }
    return WEFT_OK;
}

double compass_waiting(int64_t backlog_ns, int64_t run_ns)
{
    return run_ns > 0 ? min_double((double)backlog_ns / (double)run_ns, WAITING_MAX) : 0;
}

int64_t compass_jitter_ns(double share, int64_t run_ns)
{
    return (int64_t)min_double(share * (double)run_ns / 65536, 0x1p34);
}

struct compass_prices compass_prices(
    const struct policy_input *input, int64_t backlog_ns, int64_t run_ns)
{
    const double *options = input->options;
    const double waiting = compass_waiting(backlog_ns, run_ns);
    const bool original = has(input, COMPASS_ORIGINAL);
    const int64_t jitter_ns = original ? 0 : compass_jitter_ns(options[COMPASS_JITTER], run_ns);
    const double patience = min_double(waiting, 1); /* Idle machines wait for work. */
    return (struct compass_prices){
        .eviction_64ths =
            compass_64ths(options[COMPASS_EVICTION] + options[COMPASS_CROWD] * waiting),
        .spread_64ths = compass_64ths(options[COMPASS_SPREAD]),
        .promised_64ths = compass_64ths(1 / (1 + waiting)),
        .patience_64ths = compass_64ths(options[COMPASS_THRESHOLD] * patience),
        .jitter_ns = jitter_ns,
        .draw = jitter_ns > 0 ? rng_next(input->rng) : 0,
        .keep_64ths = original ? 0 : compass_64ths(options[COMPASS_KEEP]),
        .original = original,
    };
}

int64_t compass_mean_run_ns(
    const struct policy_input *input, const struct workflow *graph, uint32_t worker)
{
    const uint32_t device = input->view->fleet->workers[worker].device;
    int64_t sum_ns = 0;
    ASSERT(graph->task_count > 0);
    for (uint32_t task = 0; task < graph->task_count; task++) {
        const uint32_t model = graph->tasks[task].run;
        const uint32_t kinds = profile_kinds(input->profile, model);
        const bool can_run = profile_kinds_have(kinds, device);
        const uint32_t kind = can_run ? device : (uint32_t)__builtin_ctz(kinds);
        sum_ns += profile_run_one_ns(input->profile, model, kind);
    }
    return sum_ns / graph->task_count;
}

int64_t compass_loss_ns(
    const struct compass_prices *prices, const struct compass_task *task,
    const struct compass_worker *worker)
{
    const struct view *view = task->input->view;
    const struct fleet *fleet = view->fleet;
    const uint32_t sharers = fleet_sharers(fleet, (uint32_t)(worker->spec - fleet->workers));
    const struct demand_place place = {
        .profile = task->input->profile,
        .worker = worker->spec,
        .held = &worker->held,
        .kind = task->kind,
        .memory_count = max_u32(fleet->worker_count / sharers, 1),
        .now_ns = view->now_ns,
    };
    return demand_least_loss_ns(task->demand, &place) / 64 * prices->keep_64ths;
}

int64_t compass_eviction_at_ns(
    const struct compass_prices *prices, const struct compass_task *task, uint32_t worker,
    int64_t absent_ns)
{
    const struct view *view = task->input->view;
    const struct compass_worker believed = {
        .spec = &view->fleet->workers[worker],
        .held = compass_held(prices, view_cache(view, worker)),
    };
    return compass_eviction_ns(prices, task, &believed, absent_ns);
}

struct model_set compass_held(const struct compass_prices *prices, const struct row_cache *cache)
{
    if (prices->original) {
        return (struct model_set){{cache->resident.words[0]}};
    }
    return model_set_union(&cache->resident, &cache->loading);
}

void compass_task_init(
    struct compass_task *task, const struct policy_input *input, const struct workflow_task *kind,
    uint32_t items)
{
    task->input = input;
    task->demand = NULL;
    task->kind = kind;
    task->items = items;
    task->need = need_of(input->profile, kind, items);
    task->one_kind = false;
    task->loads_count = true;
    task->known = 0;
    for (uint32_t i = 0; i < kind->model_count; i++) {
        task->bytes[i] = input->profile->models[kind->models[i]].resident_bytes;
    }
}

void compass_task_open(
    struct compass_task *task, const struct policy_input *input, const struct workflow_task *kind,
    uint32_t items)
{
    compass_task_init(task, input, kind, items);
    task->demand = input->state;
    task->one_kind = has(input, COMPASS_ORIGINAL);
    task->loads_count = has(input, COMPASS_CACHE);
}

void compass_times_make(struct compass_task *task, const struct fleet_worker *spec)
{
    struct compass_times *times = &task->times[spec->device];
    ASSERT(spec->device < DEVICE_KINDS_MAX);
    task->known |= UINT32_C(1) << spec->device;
    times->bus_bytes_per_s = spec->bus_bytes_per_s;
    times->memory_bytes = spec->memory_bytes;
    /* As published, one kind of device is all there is, and runs everything. */
    const bool is_first = task->one_kind && profile_kinds_have(task->need.kinds, 0);
    times->run_ns = profile_run_alone_ns(
        task->input->profile, task->kind->run, is_first ? 0 : spec->device, task->items);
    if (!need_is_met(task->need, spec)) {
        times->run_ns = COMPASS_NEVER;
    }
    for (uint32_t i = 0; i < task->kind->model_count; i++) {
        const struct profile *profile = task->input->profile;
        const uint32_t model = task->kind->models[i];
        times->load_ns[i] = task->loads_count ? profile_load_ns(profile, model, spec) : 0;
        times->first_run_ns[i] =
            task->loads_count ? profile_first_run_ns(profile, model, spec->device) : 0;
    }
}
