/*
 * nona.c - where a job goes is drawn from probabilities that were solved for ahead.
 *
 * Rule: one draw gives a job the workers of all its tasks, from the mixture of placements
 * that the scenario names, or that was solved for the rates it expects. Queues are not
 * looked at. A task whose producer has just run on the same worker goes on at once, before
 * all that waits; otherwise queues are in the order of arrival. If a drawn worker cannot
 * be used the draw is repeated, and at last another takes its tasks. Workflows that the
 * mixture does not know go to one worker, whole, drawn evenly.
 * Every node measures how many jobs of each workflow come to it. If what that means for
 * the cluster is far from the rates that were last solved for, or other machines are members
 * now, the program is solved again, beside the decisions, and the mixture is exchanged when it
 * is there. Nodes that know of the same members and rates get the same mixture.
 * Source: Nona (CloudNet 2024), rebuilt from its description (papers: Nona, section 1):
 * patterns of whole jobs in place of pairs of tasks.
 * Ignores: queues and all else that is happening right now, models in memory, deadlines.
 * Not for: loads that change faster than they can be measured, bursts, or few requests.
 */
#include "base/bitset.h"
#include "base/units.h"
#include "mixture/drift.h"
#include "mixture/mixture.h"
#include "mixture/mixture_copy.h"
#include "mixture/program.h"
#include "policy/choose.h"
#include "policy/registry.h"

enum { OPTION_DRIFT, OPTION_WINDOW_S, OPTION_RESTARTS };

enum {
    DRAWS_MAX = 4,  /* Until all workers of a pattern are usable. */
    SCALES_MAX = 24 /* For rates that nothing can serve: 0.9^24 is a twelfth of them. */
};

#define TICK_NS      NS_PER_S
#define SCALE_STEP   0.9
#define RESTARTS_MAX 1000

/* Rates are those of all nodes together, per second. All bytes count: no padding. */
struct nona_question {
    double rates[WORKFLOWS_MAX];
    uint64_t away[NODES_MAX / 64]; /* Machines that are not members: a bit each. */
};

struct nona_state {
    const struct mixture *mixture; /* Of the last search; NULL: that of the plan. */
    bool is_searching;
    bool has_drifted;                /* Rates are to be solved for as measured. */
    struct nona_question asked;      /* What was solved for last. */
    double measured[WORKFLOWS_MAX];  /* At this node alone: exponentially weighted. */
    double nodes;                    /* That took requests then. */
    uint32_t arrived[WORKFLOWS_MAX]; /* Since the last tick. */
};

/*
 * Solve for @rates on the machines that are not @away, or for the largest part of them that can be
 * served. NULL if a task can run nowhere, or no jobs come.
 */
static struct mixture *solve_for(
    const struct plan_input *input, const double *rates, const uint64_t *away,
    const struct mixture *start)
{
    double scaled[WORKFLOWS_MAX];
    const struct program_input program = {
        .catalogue = input->catalogue,
        .profile = input->profile,
        .fleet = input->fleet,
        .rates_per_s = scaled,
        .away = away,
    };
    const struct program_options options = {
        .seed = input->seed,
        .restarts = (uint32_t)input->options[OPTION_RESTARTS],
        .start = start,
    };
    double scale = 1;
    for (uint32_t i = 0; i < SCALES_MAX; i++, scale *= SCALE_STEP) {
        struct mixture *mixture = NULL;
        for (uint32_t k = 0; k < input->catalogue->workflow_count; k++) {
            scaled[k] = rates[k] * scale;
        }
        const enum weft_status status =
            program_solve(&program, &options, &mixture, /* report_out */ NULL, /* error */ NULL);
        if (status == WEFT_OK) {
            return mixture;
        }
        if (status != WEFT_REFUSED) {
            return NULL;
        }
    }
    return NULL;
}

static const void *plan(struct arena *arena, const struct plan_input *input)
{
    if (input->mixture != NULL || input->rates == NULL) {
        return input->mixture;
    }
    struct mixture *solved = solve_for(input, input->rates, /* away */ NULL, /* start */ NULL);
    const struct mixture *kept = solved == NULL ? NULL : mixture_copy_to(arena, solved);
    mixture_destroy(solved);
    return kept;
}

/* How many nodes take requests. */
static double node_count(const struct view *view)
{
    return view->members == NULL ? view->fleet->node_count : view->members->up_count;
}

static void init(const struct policy_input *input)
{
    struct nona_state *state = input->state;
    const struct mixture *mixture = input->plan;
    state->nodes = node_count(input->view);
    for (uint32_t i = 0; mixture != NULL && i < mixture->workflow_count; i++) {
        state->asked.rates[i] = mixture->workflows[i].rate_per_s;
        state->measured[i] = state->asked.rates[i] / state->nodes;
    }
}

/* Whether @task can run where the mixture has it: that solves for kinds of devices, not memory. */
static bool can_use(
    const struct policy_input *input, const struct job_facts *job, const uint16_t *placement,
    uint32_t task)
{
    return choose_can_use(input->view, placement[task], choose_plan_need(input, job, task));
}

static bool can_use_all(
    const struct policy_input *input, const struct job_facts *job, const uint16_t *placement)
{
    for (uint32_t task = 0; task < job->graph->task_count; task++) {
        if (!can_use(input, job, placement, task)) {
            return false;
        }
    }
    return true;
}

static uint32_t draw_usable(const struct policy_input *input, struct need need)
{
    const uint32_t usable_count = choose_usable_count(input->view, need);
    if (usable_count == 0) {
        return WORKER_NONE;
    }
    return choose_usable_at(input->view, need, rng_below(input->rng, usable_count));
}

/*
 * Let another worker do @first, and what else of its worker's tasks, or of those that have
 * none, it can run. What no worker can run stays unbound.
 */
static void substitute(
    const struct policy_input *input, const struct job_facts *job, uint32_t first,
    uint16_t *placement)
{
    const uint16_t lost = placement[first];
    const uint32_t other = draw_usable(input, choose_plan_need(input, job, first));
    placement[first] = other == WORKER_NONE ? PLACEMENT_UNBOUND : (uint16_t)other;
    for (uint32_t task = 0; other != WORKER_NONE && task < job->graph->task_count; task++) {
        if (placement[task] == lost &&
            choose_can_run(input->view, other, choose_plan_need(input, job, task))) {
            placement[task] = (uint16_t)other;
        }
    }
}

/* Copy @drawn, with others in place of workers that cannot be used. */
static void place_drawn(
    const struct policy_input *input, const struct job_facts *job, const uint16_t *drawn,
    uint16_t *placement_out)
{
    memcpy(placement_out, drawn, job->graph->task_count * sizeof(*placement_out));
    for (uint32_t task = 0; task < job->graph->task_count; task++) {
        if (!can_use(input, job, placement_out, task)) {
            substitute(input, job, task, placement_out);
        }
    }
}

/* All of it on one worker, whichever, or on as few as can run all of it. */
static void place_whole(
    const struct policy_input *input, const struct job_facts *job, uint16_t *placement)
{
    for (uint32_t task = 0; task < job->graph->task_count; task++) {
        if (placement[task] == PLACEMENT_UNBOUND) {
            substitute(input, job, task, placement);
        }
    }
}

static void arrived(const struct policy_input *input, const struct job_facts *job)
{
    struct nona_state *state = input->state;
    state->arrived[job->workflow]++;
}

static void place_job(
    const struct policy_input *input, const struct job_facts *job, uint16_t *placement_out)
{
    const struct nona_state *state = input->state;
    const struct mixture *mixture = state->mixture != NULL ? state->mixture : input->plan;
    if (mixture == NULL || !mixture_has(mixture, job->workflow)) {
        place_whole(input, job, placement_out);
        return;
    }
    const uint16_t *drawn = mixture_draw(mixture, job->workflow, input->rng);
    for (uint32_t i = 1; i < DRAWS_MAX && !can_use_all(input, job, drawn); i++) {
        drawn = mixture_draw(mixture, job->workflow, input->rng);
    }
    place_drawn(input, job, drawn, placement_out);
}

/* Jobs that have been here go ahead, the oldest first: if they took turns all would be late. */
static int64_t order(const struct policy_input *input, const struct ready_facts *task)
{
    return task->continues ? INT64_MIN + task->job->arrived_ns : input->view->now_ns;
}

/* How much the last second counts in the averages. */
static double newest_part(const struct policy_input *input)
{
    return 1 / input->options[OPTION_WINDOW_S];
}

/* Which machines are no members now. */
static void find_away(const struct view *view, uint64_t *away_out)
{
    const uint32_t words = bitset_words(view->fleet->node_count);
    memset(away_out, 0, words * sizeof(*away_out));
    for (uint32_t i = 0; view->members != NULL && i < view->fleet->node_count; i++) {
        if (!members_is_up(view->members, i)) {
            bitset_add(away_out, i);
        }
    }
}

/* Whether other machines are members than those that were solved for, at rates that are known. */
static bool has_others(const struct policy_input *input)
{
    const struct nona_state *state = input->state;
    const uint32_t words = bitset_words(input->view->fleet->node_count);
    uint64_t away[NODES_MAX / 64];
    double rate = 0;
    for (uint32_t i = 0; i < input->catalogue->workflow_count; i++) {
        rate += state->asked.rates[i];
    }
    find_away(input->view, away);
    return rate > 0 && memcmp(away, state->asked.away, words * sizeof(*away)) != 0;
}

/* Clients of a node that has gone ask the others, and some ask one that has come. */
static void share_among(struct nona_state *state, double nodes, uint32_t workflow_count)
{
    for (uint32_t i = 0; nodes != state->nodes && i < workflow_count; i++) {
        state->measured[i] *= state->nodes / nodes;
    }
    state->nodes = nodes;
}

/* Take the last second into the averages. True: some rate is far from what was solved for. */
static bool measure(const struct policy_input *input)
{
    struct nona_state *state = input->state;
    const double part = newest_part(input);
    const double nodes = node_count(input->view);
    bool is_far = false;
    share_among(state, nodes, input->catalogue->workflow_count);
    for (uint32_t i = 0; i < input->catalogue->workflow_count; i++) {
        state->measured[i] += part * (state->arrived[i] - state->measured[i]);
        state->arrived[i] = 0;
        const double expected = state->asked.rates[i] / nodes;
        is_far = is_far ||
                 drift_is_real(state->measured[i], expected, part, input->options[OPTION_DRIFT]);
    }
    return is_far;
}

static void tick(const struct policy_input *input, struct tick_answer *answer_out)
{
    struct nona_state *state = input->state;
    const bool is_far = measure(input);
    if (state->is_searching || input->options[OPTION_DRIFT] <= 0) {
        return;
    }
    state->has_drifted = is_far;
    answer_out->solve = is_far || has_others(input);
    state->is_searching = answer_out->solve;
}

/* Of other members alone the rates stay: those that all nodes have asked for. */
static void question(
    const struct policy_input *input, ATTR_UNUSED uint64_t problem, void *question_out)
{
    struct nona_state *state = input->state;
    struct nona_question *asked = question_out;
    *asked = state->asked;
    for (uint32_t i = 0; state->has_drifted && i < input->catalogue->workflow_count; i++) {
        asked->rates[i] = drift_round(state->measured[i] * node_count(input->view));
    }
    find_away(input->view, asked->away);
    state->asked = *asked;
}

/* Whether @asked is what @plan is for: all machines, and its rates. */
static bool is_planned(
    const struct plan_input *input, const struct mixture *plan, const struct nona_question *asked)
{
    bool is_same =
        plan != NULL && bitset_count(asked->away, bitset_words(input->fleet->node_count)) == 0;
    for (uint32_t i = 0; is_same && i < plan->workflow_count; i++) {
        is_same = asked->rates[i] == plan->workflows[i].rate_per_s;
    }
    return is_same;
}

static void *solve(
    const struct plan_input *input, const void *plan, ATTR_UNUSED uint64_t problem,
    const void *question)
{
    const struct nona_question *asked = question;
    if (is_planned(input, plan, asked)) {
        return mixture_copy(plan);
    }
    struct mixture *solved = solve_for(input, asked->rates, asked->away, plan);
    void *result = solved == NULL ? NULL : mixture_copy(solved);
    mixture_destroy(solved);
    return result;
}

static void solved(
    const struct policy_input *input, ATTR_UNUSED uint64_t problem, const void *result)
{
    struct nona_state *state = input->state;
    state->is_searching = false;
    if (result != NULL) {
        state->mixture = result;
    }
}

static const struct policy_option options[] = {
    [OPTION_DRIFT] =
        {"drift", 0.3, 0, 100, false, "solve again if a rate is off by this share; 0: never"},
    [OPTION_WINDOW_S] = {"window_s", 60, 1, 1e6, false, "seconds over which rates are measured"},
    [OPTION_RESTARTS] =
        {"restarts", 0, 0, RESTARTS_MAX, true, "starts of the solver; 0: its default"},
    {.name = NULL},
};

const struct policy policy_nona = {
    .name = "nona",
    .summary = "draw placements from probabilities solved ahead",
    .source = "Nona (CloudNet 2024)",
    .ignores = "queues, models in memory, deadlines",
    .state_bytes = sizeof(struct nona_state),
    .options = options,
    .plan = plan,
    .init = init,
    .arrived = arrived,
    .place_job = place_job,
    .order = order,
    .tick_ns = TICK_NS,
    .tick = tick,
    .solve = solve,
    .question_bytes = sizeof(struct nona_question),
    .question = question,
    .solved = solved,
};
