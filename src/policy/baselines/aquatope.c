/*
 * aquatope.c - one config for every task, found by Bayesian optimisation before a job runs.
 *
 * Rule: a workflow is tried with seventy sets of configs, ten at random and the others where
 * two Gaussian processes, of cost and of latency, expect most (policy/baselines/bayes.h). A trial
 * is what the profile says, with noise. The cheapest set that keeps the SLO is how every job runs.
 * Source: Aquatope (ASPLOS 2023), its published code; batches and shares are dimensions as in
 * the comparison of ESG. Its learnt predictor of container counts is not here: models stay
 * loaded as the node's cache decides.
 * Ignores: queues, what is free, where inputs are, anything that happens after the start.
 * Not for: rates that differ from those planned for; workflows of more than sixteen tasks,
 * whose configs are then tied to one another.
 */
#include "base/attributes.h"
#include "base/error.h"
#include "base/exact.h"
#include "base/numbers.h"
#include "policy/baselines/bayes.h"
#include "policy/baselines/planned.h"
#include "policy/registry.h"

enum { OPTION_RANDOM, OPTION_ROUNDS, OPTION_BATCH, OPTION_NOISE };

/* Tasks with configs of their own: three dimensions each. */
enum { TASKS_MAX = 16 };

/* However it is disturbed, no trial measures less than nothing. */
#define FACTOR_MIN 0.01

struct trials {
    const struct planned_problem *problem;
    uint32_t free_count; /* Tasks with configs of their own. */
    double noise;
    struct rng rng;
};

static uint32_t choice_at(const struct trials *trials, uint32_t task, const double *point)
{
    const struct grid *grid = &trials->problem->grids[task];
    struct grid_point at;
    for (uint32_t axis = 0; axis < GRID_AXES; axis++) {
        const double x = point[task % trials->free_count * GRID_AXES + axis];
        at.steps[axis] = (uint16_t)(x * grid->counts[axis]);
    }
    return grid_choice(grid, at);
}

/* Run a job by the profile: the longest way through it, and what all tasks cost. */
static struct bayes_trial try_point(void *context, const double *point)
{
    struct trials *trials = context;
    const struct planned_problem *problem = trials->problem;
    const struct workflow *workflow = problem->workflow;
    double ends_ns[WORKFLOW_TASKS_MAX];
    double last_ns = 0;
    double cost = 0;
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        const uint32_t task = workflow->order[i];
        const uint32_t number = choice_at(trials, task, point);
        const struct configs_choice *choice = &problem->tables[task].choices[number];
        const double drawn = 1 + trials->noise * exact_normal(&trials->rng);
        const double noise = max_double(drawn, FACTOR_MIN);
        double ready_ns = 0;
        for (uint32_t in = 0; in < workflow->tasks[task].in_count; in++) {
            const double from_ns = ends_ns[workflow_in(workflow, task, in)->from];
            ready_ns = max_double(from_ns, ready_ns);
        }
        ends_ns[task] = ready_ns + (double)choice->run_ns * noise +
                        (double)planned_fill_ns(choice, problem->gap_ns);
        cost += (double)problem->tables[task].weights[number].cost * noise;
        last_ns = max_double(ends_ns[task], last_ns);
    }
    return (struct bayes_trial){
        .cost = exact_log(1 + cost), /* Costs span orders of magnitude. */
        .excess = last_ns / (double)problem->slo_ns - 1,
    };
}

static void optimise(const struct planned_problem *problem, uint32_t *choices_out)
{
    const double *options = problem->input->options;
    const uint32_t task_count = problem->workflow->task_count;
    struct trials trials = {
        .problem = problem,
        .free_count = min_u32(task_count, TASKS_MAX),
        .noise = options[OPTION_NOISE],
        .rng = rng_stream(problem->input->seed, RNG_POLICY, 2 * problem->number),
    };
    struct bayes_problem search = {
        .dims = trials.free_count * GRID_AXES,
        .try_point = try_point,
        .context = &trials,
        .random_count = (uint32_t)options[OPTION_RANDOM],
        .round_count = (uint32_t)options[OPTION_ROUNDS],
        .batch = (uint32_t)options[OPTION_BATCH],
        .rng = rng_stream(problem->input->seed, RNG_POLICY, 2 * problem->number + 1),
    };
    double point[TASKS_MAX * GRID_AXES];
    (void)bayes_search(&search, point); /* With no feasible one, the fastest. */
    for (uint32_t task = 0; task < task_count; task++) {
        choices_out[task] = choice_at(&trials, task, point);
    }
}

static const void *plan(struct arena *arena, const struct plan_input *input)
{
    return planned_make(arena, input, optimise);
}

/* The work of a search is bounded by its trials. */
static enum weft_status check(
    const double *values, ATTR_UNUSED uint32_t given, struct weft_error *error)
{
    const double all = values[OPTION_RANDOM] + values[OPTION_ROUNDS] * values[OPTION_BATCH];
    if (all <= BAYES_TRIALS_MAX) {
        return WEFT_OK;
    }
    return error_set(
        error, WEFT_INVALID,
        "options of policy 'aquatope' ask for %g trials, random + rounds * batch; the most is %d",
        all, BAYES_TRIALS_MAX);
}

static const struct policy_option options[] = {
    [OPTION_RANDOM] = {"random", 10, 1, BAYES_TRIALS_MAX, true, "random trials"},
    [OPTION_ROUNDS] =
        {"rounds", 20, 0, BAYES_TRIALS_MAX - 1, true,
         "rounds after them; at most 90 trials in all"},
    [OPTION_BATCH] = {"batch", 3, 1, BAYES_BATCH_MAX, true, "trials of each round"},
    [OPTION_NOISE] = {"noise", 0.05, 0, 1, false, "relative deviation of what a trial measures"},
    {.name = NULL},
};

const struct policy policy_aquatope = {
    .name = "aquatope",
    .summary = "configs fixed before a job runs, found by Bayesian optimisation in 70 trials",
    .source = "Aquatope (ASPLOS 2023), from its published code, with batches and shares",
    .ignores = "queues, what is free, where inputs are",
    .binds = true,
    .options = options,
    .check = check,
    .plan = plan,
    .dispatch = planned_dispatch,
};
