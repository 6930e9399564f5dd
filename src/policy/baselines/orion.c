/*
 * orion.c - one config for every task, sized for the 95th percentile before a job runs.
 *
 * Rule: before it runs, a workflow is sized as a whole: from the smallest configs on, one step
 * at a time, until the 95th percentile of its time is within the SLO, and then for cost
 * (policy/baselines/sizing.h). Every job runs like that; nothing is planned again on the way. When
 * a batch starts, the model of the task after it is loaded in time for its end. Source: Orion (OSDI
 * 2022), its published code; batches and shares are dimensions as in the comparison of ESG. As all
 * jobs of a workflow have the same SLO, they have the same plan. Ignores: queues, what is free,
 * where inputs are, anything that happens after a job arrived. Not for: rates that differ from
 * those planned for.
 */
#include "base/units.h"
#include "policy/baselines/planned.h"
#include "policy/baselines/sizing.h"
#include "policy/registry.h"

enum { OPTION_SHARE, OPTION_SPREAD, OPTION_WORK };

#define TICK_NS (20 * NS_PER_MS)

enum { WARMS_MAX = 64 };

/* A model that a running batch will need next. */
struct due {
    uint32_t worker;
    uint32_t model;
    int64_t at_ns; /* When; 0: this entry is free. */
};

struct orion_state {
    struct due dues[WARMS_MAX];
    uint32_t next;
};

static void size(const struct planned_problem *problem, uint32_t *choices_out)
{
    const double *options = problem->input->options;
    const struct sizing_problem sizes = {
        .workflow = problem->workflow,
        .tables = problem->tables,
        .grids = problem->grids,
        .target_ns = problem->slo_ns,
        .gap_ns = problem->gap_ns,
        .share = options[OPTION_SHARE],
        .spread = options[OPTION_SPREAD],
        .work_max = (uint32_t)options[OPTION_WORK],
    };
    struct sizing sizing;
    sizing_search(&sizes, choices_out, &sizing);
}

static const void *plan(struct arena *arena, const struct plan_input *input)
{
    return planned_make(arena, input, size);
}

/* Note which models the batch that was just answered will make wanted, and when. */
static void note_next(
    const struct policy_input *input, const struct queue_facts *queue,
    const struct dispatch_answer *answer)
{
    const struct planned *plan = input->plan;
    const struct workflow *workflow = input->catalogue->workflows[queue->workflow];
    const struct planned_queue *known = &plan->queues[workflow->queue_first + queue->task];
    struct orion_state *state = input->state;
    if (answer->count == 0 || known->next == UINT32_MAX || queue->worker != WORKER_NONE) {
        return;
    }
    const struct workflow_task *next = &workflow->tasks[known->next - workflow->queue_first];
    const int64_t run_ns = known->configs.choices[known->choice].run_ns;
    for (uint32_t i = 0; i < next->model_count; i++) {
        state->dues[state->next++ % WARMS_MAX] = (struct due){
            .worker = answer->workers[0],
            .model = next->models[i],
            .at_ns = input->view->now_ns + run_ns,
        };
    }
}

static void dispatch(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    planned_dispatch(input, queue, answer_out);
    note_next(input, queue, answer_out);
}

/* Load what will be wanted by the time a load would take. */
static void tick(const struct policy_input *input, struct tick_answer *answer_out)
{
    struct orion_state *state = input->state;
    const struct view *view = input->view;
    answer_out->rests = true;
    for (uint32_t i = 0; i < WARMS_MAX; i++) {
        struct due *due = &state->dues[i];
        if (due->at_ns == 0) {
            continue;
        }
        if (answer_out->warm_count == TICK_WARMS_MAX) {
            answer_out->rests = false;
            continue;
        }
        const struct fleet_worker *worker = &view->fleet->workers[due->worker];
        const int64_t load_ns = profile_load_ns(input->profile, due->model, worker);
        if (view->now_ns + TICK_NS < due->at_ns - load_ns) {
            answer_out->rests = false;
            continue;
        }
        if (view_is_usable(view, due->worker) && !view_holds_model(view, due->worker, due->model)) {
            answer_out->warms[answer_out->warm_count++] =
                (struct warm){.worker = due->worker, .model = due->model};
        }
        due->at_ns = 0;
    }
}

static const struct policy_option options[] = {
    [OPTION_SHARE] =
        {"percentile", 0.95, 0, 1, false,
         "percentile of the workflow's time that must be within the SLO"},
    [OPTION_SPREAD] =
        {"spread", 0.05, 0, 10, false, "deviation of run times where the profile has none"},
    [OPTION_WORK] = {"work", 20000, 1, 1e9, true, "convolutions after which the search ends"},
    {.name = NULL},
};

const struct policy policy_orion = {
    .name = "orion",
    .summary = "sizes fixed before a job runs, for the 95th percentile of the whole workflow",
    .source = "Orion (OSDI 2022), from its published code, with batches and shares",
    .ignores = "queues, what is free, where inputs are",
    .state_bytes = sizeof(struct orion_state),
    .binds = true,
    .options = options,
    .plan = plan,
    .dispatch = dispatch,
    .tick_ns = TICK_NS,
    .tick = tick,
};
