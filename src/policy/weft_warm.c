#include "policy/weft_warm.h"

#include "base/numbers.h"
#include "policy/choose.h"
#include "policy/fit.h"
#include "policy/weft_haste.h"
#include "policy/weft_home.h"
#include "policy/weft_keep.h"

/* Waits count in full while one unit in so many is idle: while none is, a copy is no help. */
enum { IDLE_ENOUGH = 4 };

/* So many items count at most: their waits can be summed up without overflow. */
enum { WAITING_MAX = 4096 };

void weft_warm_note(
    const struct policy_input *input, const struct queue_facts *queue, uint32_t number,
    const struct dispatch_answer *answer)
{
    const struct weft_plan *plan = input->plan;
    struct weft_state *state = input->state;
    if (number >= ESG_QUEUES_MAX || !plan->is_short) {
        return;
    }
    struct weft_wait *wait = &state->waits[number];
    if (wait->asked_ns != 0) {
        const int64_t idle = min_i64(weft_idle_share(input) * IDLE_ENOUGH, WEFT_IDLE_ONE);
        const int64_t passed_ns = min_i64(input->view->now_ns - wait->asked_ns, DURATION_NS_MAX);
        const int64_t more_ns = wait->items * passed_ns / WEFT_IDLE_ONE * idle;
        wait->sum_ns = min_i64(wait->sum_ns + more_ns, DURATION_NS_MAX);
    }
    const struct workflow_task *kind =
        &input->catalogue->workflows[queue->workflow]->tasks[queue->task];
    /* What a worker loads is no reason to load more. */
    const bool waits = answer->count == 0 && answer->waits_for != WORKER_NONE && !queue->put_off &&
                       choose_has_models(input->view, answer->waits_for, kind);
    wait->asked_ns = waits ? input->view->now_ns : 0;
    wait->items = min_u32(queue->items, WAITING_MAX);
}

/* Where loading the models of @kind costs others least, if that is less than @limit_ns. */
static uint32_t find_worker(
    const struct policy_input *input, const struct workflow_task *kind, int64_t limit_ns)
{
    const struct view *view = input->view;
    const struct need need = need_of(input->profile, kind, /* items */ 1);
    uint32_t best = WORKER_NONE;
    int64_t best_ns = limit_ns;
    for (uint32_t at = 0; at < view->fleet->worker_count; at++) {
        const uint32_t worker = choose_round(view, at);
        if (!choose_can_use(view, worker, need) || view_free_units(view, worker).gpu == 0 ||
            !model_set_is_empty(&view_cache(view, worker)->loading)) {
            continue;
        }
        const int64_t load_ns = fit_load_ns(input, kind, worker);
        const int64_t cost_ns = load_ns + weft_keep_cost_ns(input, kind, worker, load_ns);
        if (load_ns > 0 && cost_ns < best_ns) {
            best_ns = cost_ns;
            best = worker;
        }
    }
    return best;
}

/* How long a model that is loaded now will stay, at all workers alike. */
static int64_t stay_ns(const struct policy_input *input)
{
    const struct view *view = input->view;
    const struct weft_state *state = input->state;
    uint32_t held = 0;
    for (uint32_t worker = 0; worker < view->fleet->worker_count; worker++) {
        held += model_set_count(&view_cache(view, worker)->resident);
    }
    return demand_stay_ns(&state->demand, held, view->fleet->node_count, view->now_ns);
}

/* A copy would not have stayed for ever: what it would have saved by now counts ever less. */
static void forget(struct weft_wait *wait, int64_t passed_ns, int64_t left_ns)
{
    const double gone = (double)passed_ns / (double)(left_ns + passed_ns + 1);
    wait->sum_ns -= (int64_t)((double)wait->sum_ns * gone);
}

static void warm_queue(
    const struct policy_input *input, const struct workflow_task *kind, struct weft_wait *wait,
    struct tick_answer *answer)
{
    const uint32_t worker = wait->sum_ns > 0 ? find_worker(input, kind, wait->sum_ns) : WORKER_NONE;
    if (worker == WORKER_NONE) {
        return;
    }
    for (uint32_t i = 0; i < kind->model_count && answer->warm_count < TICK_WARMS_MAX; i++) {
        if (!view_holds_model(input->view, worker, kind->models[i])) {
            answer->warms[answer->warm_count++] =
                (struct warm){.worker = worker, .model = kind->models[i]};
        }
    }
    weft_keep_note(input, kind, worker);
    wait->sum_ns = 0;
}

static void leave_out_evictions(const struct policy_input *input, struct tick_answer *answer)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < answer->warm_count; i++) {
        const struct warm warm = answer->warms[i];
        const uint64_t bytes = input->profile->models[warm.model].resident_bytes;
        if (view_cache(input->view, warm.worker)->free_bytes >= bytes) {
            answer->warms[count++] = warm;
        }
    }
    answer->warm_count = count;
}

void weft_warm_tick(const struct policy_input *input, struct tick_answer *answer)
{
    const struct weft_plan *plan = input->plan;
    const struct catalogue *catalogue = input->catalogue;
    struct weft_state *state = input->state;
    if (!plan->is_short) {
        return;
    }
    leave_out_evictions(input, answer);
    const int64_t now_ns = input->view->now_ns;
    const int64_t passed_ns = min_i64(now_ns - state->warm_at_ns, DURATION_NS_MAX);
    const int64_t left_ns = stay_ns(input);
    state->warm_at_ns = now_ns;
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        const struct workflow *workflow = catalogue->workflows[i];
        for (uint32_t task = 0; task < workflow->task_count; task++) {
            const uint32_t number = workflow->queue_first + task;
            if (number < ESG_QUEUES_MAX) {
                forget(&state->waits[number], passed_ns, left_ns);
                warm_queue(input, &workflow->tasks[task], &state->waits[number], answer);
            }
        }
    }
}
