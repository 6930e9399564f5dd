#include "policy/weft_keep.h"

#include "base/numbers.h"
#include "policy/compass_cost.h"
#include "policy/weft_home.h"
#include "policy/weft_options.h"
#include "profile/fresh.h"

/* In loads, beside what is lost with what leaves. */
enum { EVICTION_WEIGHT = 2 };

bool weft_keep_have_all(const struct plan_input *input, uint32_t part)
{
    uint64_t bytes = 0;
    bool have_all = true;
    for (uint32_t model = 0; model < input->profile->model_count; model++) {
        bytes += input->profile->models[model].resident_bytes;
    }
    for (uint32_t worker = 0; worker < input->fleet->worker_count && have_all; worker++) {
        have_all = bytes <= input->fleet->workers[worker].memory_bytes / part;
    }
    return have_all;
}

bool weft_keep_plan(const struct plan_input *input)
{
    return input->fleet->has_slots || !weft_keep_have_all(input, /* part */ 2);
}

/* Whether models that leave are missed. */
static bool is_on(const struct policy_input *input)
{
    const struct weft_plan *plan = input->plan;
    return input->options[WEFT_KEEP] > 0 && plan->is_short;
}

/* What is lost with a model that leaves @worker for those of @kind. */
static int64_t loss_ns(
    const struct policy_input *input, const struct workflow_task *kind, uint32_t worker)
{
    return is_on(input) ? weft_keep_eviction_ns(input, kind, worker, /* absent_ns */ 0) : 0;
}

int64_t weft_keep_cost_ns(
    const struct policy_input *input, const struct workflow_task *kind, uint32_t worker,
    int64_t load_ns)
{
    if (load_ns == 0 || view_cache(input->view, worker)->free_bytes >=
                            need_bytes(input->profile, kind, /* items */ 1)) {
        return 0;
    }
    return load_ns / 64 * compass_64ths(EVICTION_WEIGHT) + loss_ns(input, kind, worker);
}

void weft_keep_arrived(const struct policy_input *input, const struct job_facts *job)
{
    struct weft_state *state = input->state;
    if (is_on(input)) {
        demand_note_job(&state->demand, job->graph, input->view->now_ns);
    }
}

void weft_keep_note(
    const struct policy_input *input, const struct workflow_task *kind, uint32_t worker)
{
    struct weft_state *state = input->state;
    uint64_t room_bytes = view_cache(input->view, worker)->free_bytes;
    for (uint32_t i = 0; i < kind->model_count && is_on(input); i++) {
        const uint64_t bytes = input->profile->models[kind->models[i]].resident_bytes;
        if (view_holds_model(input->view, worker, kind->models[i])) {
            continue;
        }
        if (bytes > room_bytes) {
            demand_note_load(&state->demand, input->view->now_ns);
        }
        room_bytes -= min_u64(bytes, room_bytes);
    }
}

int64_t weft_keep_eviction_ns(
    const struct policy_input *input, const struct workflow_task *kind, uint32_t worker,
    int64_t absent_ns)
{
    const struct weft_state *state = input->state;
    const struct compass_prices prices = {
        .keep_64ths = compass_64ths(input->options[WEFT_KEEP]),
    };
    const struct compass_task task = {.input = input, .demand = &state->demand, .kind = kind};
    return compass_eviction_at_ns(&prices, &task, worker, absent_ns);
}

int64_t weft_keep_load_ns(
    const struct profile *profile, const struct workflow_task *kind,
    const struct fleet_worker *spec)
{
    int64_t load_ns = 0;
    for (uint32_t i = 0; i < kind->model_count; i++) {
        load_ns += profile_absent_ns(profile, kind->models[i], spec);
    }
    return load_ns;
}

bool weft_keep_is_once(const struct weft_plan *plan, int64_t load_ns, double due_ns)
{
    return plan->has_all && (double)load_ns <= due_ns;
}

/* Of such a load so much is forgiven: what is left lets an idle worker that needs none win. */
#define ONCE_FOR_ALL (63.0 / 64)

double weft_keep_spread(const struct policy_input *input, const struct task_facts *facts)
{
    const struct weft_plan *plan = input->plan;
    const struct workflow_task *kind = &facts->job->graph->tasks[facts->task];
    const struct fleet_worker *own = &input->view->fleet->workers[input->view->worker_first];
    const double due_ns = input->options[WEFT_PATH] * (double)plan->path_ns[facts->job->workflow];
    const int64_t load_ns = weft_keep_load_ns(input->profile, kind, own);
    return weft_keep_is_once(plan, load_ns, due_ns) ? ONCE_FOR_ALL : input->options[WEFT_SPREAD];
}
