#include "policy/weft_copy.h"

#include "base/bitset.h"
#include "base/numbers.h"
#include "policy/choose.h"
#include "policy/esg_warm.h"
#include "policy/weft_home.h"
#include "policy/weft_options.h"
#include "policy/weft_warm.h"

/* A model of workflows whose jobs are under way. */
struct wanted_copy {
    uint32_t model;
    uint32_t holders; /* Workers that hold it, or will. */
    struct need need; /* Of one item of the first task that needs it. */
    uint64_t bytes;   /* Of as many items as are looked at. */
    bool is_due;      /* Tasks that need it have come, or their inputs are held up on their way. */
};

/* No model. */
enum { NOTHING = UINT16_MAX };

_Static_assert((int)MODELS_MAX <= (int)NOTHING, "a model has 16 bits, with one value for none");

/* What the option `copy` says by default. */
enum { COPY_BY_RACK = 1 };

struct copies {
    const struct policy_input *input;
    uint64_t all_bytes; /* Of all models of the catalogue. */
    uint32_t count;
    struct wanted_copy wanted[MODELS_MAX];
    uint16_t planned[WORKERS_MAX]; /* By worker: what it will load, or NOTHING. */
};

void weft_copy_note(const struct policy_input *input, const struct task_facts *task)
{
    struct weft_state *state = input->state;
    const uint32_t number = task->job->graph->queue_first + task->task;
    if (number < ESG_QUEUES_MAX) {
        esg_pace_note(&state->placed[number], max_u32(task->items, 1), input->view->now_ns);
    }
}

/* Whether tasks of queue @number have come to this home, or were placed by this node, of late. */
static bool is_used(const struct policy_input *input, uint32_t number)
{
    const struct weft_state *state = input->state;
    const struct esg_pace *paces = input->binds ? state->esg.paces : state->placed;
    const struct esg_pace *pace = &paces[number % ESG_QUEUES_MAX];
    return number < ESG_QUEUES_MAX && pace->gap_ns != 0 &&
           input->view->now_ns - pace->last_ns <= 32 * pace->gap_ns;
}

/* Whether jobs of @workflow are under way, as far as this home knows: all its tasks will come. */
static bool is_under_way(const struct policy_input *input, const struct workflow *workflow)
{
    bool is_any_used = false;
    for (uint32_t task = 0; task < workflow->task_count && !is_any_used; task++) {
        is_any_used = is_used(input, workflow->queue_first + task);
    }
    return is_any_used;
}

/* Whether a transfer takes a noticeable part of a task's time, so that it should not have to. */
static bool is_held_up(const struct policy_input *input, uint32_t number)
{
    const struct weft_plan *plan = input->plan;
    const struct esg_queue *known = &plan->esg->queues[number];
    return known->transfer_ns > known->configs.choices[0].run_ns / 16;
}

static uint32_t count_holders(const struct view *view, uint32_t model)
{
    uint32_t count = 0;
    for (uint32_t worker = 0; worker < view->fleet->worker_count; worker++) {
        count += view_holds_model(view, worker, model) ? 1 : 0;
    }
    return count;
}

/* Whether copies in other racks help those here less, as tensors must cross the core for them. */
static bool is_by_rack(const struct policy_input *input)
{
    return input->options[WEFT_COPY] == COPY_BY_RACK &&
           input->view->fleet->network.kind == NETWORK_TWO_TIER;
}

/* Workers of the rack of @worker that hold, or are about to load, @model. */
static uint32_t count_near(const struct copies *copies, uint32_t worker, uint32_t model)
{
    const struct view *view = copies->input->view;
    const struct fleet *fleet = view->fleet;
    const uint32_t rack = fleet_rack(fleet, fleet->workers[worker].node);
    uint32_t count = 0;
    for (uint32_t other = 0; other < fleet->worker_count; other++) {
        const bool is_near = fleet_rack(fleet, fleet->workers[other].node) == rack;
        const bool will_hold = copies->planned[other] == model;
        count += is_near && (will_hold || view_holds_model(view, other, model)) ? 1 : 0;
    }
    return count;
}

static void want(
    struct copies *copies, const struct workflow_task *task, uint32_t model, bool is_due)
{
    uint32_t i = 0;
    while (i < copies->count && copies->wanted[i].model != model) {
        i++;
    }
    struct wanted_copy *wanted = &copies->wanted[i];
    if (i < copies->count) {
        wanted->is_due = wanted->is_due || is_due;
        return;
    }
    const struct profile *profile = copies->input->profile;
    *wanted = (struct wanted_copy){
        .model = model,
        .holders = count_holders(copies->input->view, model),
        .need = need_of(profile, task, /* items */ 1),
        .bytes = need_bytes(profile, task, QUEUE_LOOKS_MAX),
        .is_due = is_due,
    };
    copies->count++;
}

static void want_workflow(struct copies *copies, const struct workflow *workflow)
{
    const struct policy_input *input = copies->input;
    const bool under_way = is_under_way(input, workflow);
    for (uint32_t i = 0; i < workflow->task_count && under_way; i++) {
        const struct workflow_task *task = &workflow->tasks[i];
        const uint32_t number = workflow->queue_first + i;
        const bool is_due = is_used(input, number) || is_held_up(input, number);
        for (uint32_t k = 0; k < task->model_count; k++) {
            want(copies, task, task->models[k], is_due);
        }
    }
}

static void find_wanted(const struct policy_input *input, struct copies *copies_out)
{
    const struct catalogue *catalogue = input->catalogue;
    copies_out->input = input;
    copies_out->all_bytes = 0;
    copies_out->count = 0;
    for (uint32_t model = 0; model < catalogue->model_count; model++) {
        copies_out->all_bytes += input->profile->models[model].resident_bytes;
    }
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        want_workflow(copies_out, catalogue->workflows[i]);
    }
}

/*
 * What fewest workers of its rack hold, and of that fewest of all, of what @worker has room for;
 * NULL: nothing. Where memory has room for
 * all models only those that are due are copied. Where it is too small loads are what jobs wait
 * for, and no memory is left empty until the first task asks for it.
 */
static struct wanted_copy *find_rarest(struct copies *copies, uint32_t worker)
{
    const struct view *view = copies->input->view;
    const bool is_large = copies->all_bytes <= view->fleet->workers[worker].memory_bytes;
    const uint64_t room = view_cache(view, worker)->free_bytes;
    const bool by_rack = is_by_rack(copies->input);
    struct wanted_copy *best = NULL;
    uint32_t best_near = 0;
    for (uint32_t i = 0; i < copies->count; i++) {
        struct wanted_copy *wanted = &copies->wanted[i];
        if (wanted->bytes > room || (is_large && !wanted->is_due) ||
            !choose_can_run(view, worker, wanted->need) ||
            view_holds_model(view, worker, wanted->model)) {
            continue;
        }
        const uint32_t near = by_rack ? count_near(copies, worker, wanted->model) : 0;
        if (best == NULL || near < best_near ||
            (near == best_near && wanted->holders < best->holders)) {
            best = wanted;
            best_near = near;
        }
    }
    return best;
}

/* Nothing is planned yet but what @answer says already. */
static void plan_warms(struct copies *copies, const struct tick_answer *answer)
{
    const uint32_t count = copies->input->view->fleet->worker_count;
    for (uint32_t worker = 0; worker < count; worker++) {
        copies->planned[worker] = NOTHING;
    }
    for (uint32_t i = 0; i < answer->warm_count; i++) {
        copies->planned[answer->warms[i].worker] = (uint16_t)answer->warms[i].model;
    }
}

/*
 * What a home wants is loaded anywhere. Where no task waits in one, every node copies what it
 * places tasks of, to its own workers only. All plan for all workers, in the same order: nodes with
 * the same rows would else all take the same model for the rarest.
 */
void weft_copy_tick(const struct policy_input *input, struct tick_answer *answer_out)
{
    const struct view *view = input->view;
    const struct policy_input asked = weft_home_as_esg(input);
    struct copies copies;
    if (input->binds) {
        esg_warm_tick(&asked, answer_out);
        weft_warm_tick(input, answer_out);
    }
    if (input->options[WEFT_COPY] == 0) {
        return;
    }
    find_wanted(input, &copies);
    plan_warms(&copies, answer_out);
    for (uint32_t at = 0; at < view->fleet->worker_count && copies.count > 0; at++) {
        const uint32_t worker = input->binds ? choose_round(view, at) : at;
        if (answer_out->warm_count == TICK_WARMS_MAX || !view_is_usable(view, worker) ||
            !model_set_is_empty(&view_cache(view, worker)->loading)) {
            continue; /* It loads something already, as its row says. */
        }
        struct wanted_copy *rarest = find_rarest(&copies, worker);
        if (rarest == NULL) {
            continue;
        }
        rarest->holders++;
        copies.planned[worker] = (uint16_t)rarest->model;
        if (input->binds || view_is_own(view, worker)) {
            answer_out->warms[answer_out->warm_count++] =
                (struct warm){.worker = worker, .model = rarest->model};
        }
    }
}
