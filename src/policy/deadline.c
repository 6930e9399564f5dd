/*
 * deadline.c - jobs that cannot be in time are refused when they arrive.
 *
 * Rule: a job is expected to wait as long as the least loaded worker that can run it has work or,
 * where jobs are not planned when they come and are more than workers, for a worker's share of what
 * was admitted earlier and is not done, which no row shows; and then to take the longest way
 * through its tasks. It is admitted if that is in time, or if nothing is ahead of it, to correct
 * what is expected. A job with neither deadline nor SLO may wait for up to `bound_s`. Jobs of lower
 * priority, and later ones where queues go by deadlines, are not ahead of it.
 *
 * What was expected is compared with what came of it, by workflow: the wait and the run are each
 * multiplied by a ratio, which grows quickly while jobs are late. So batches, workers that run
 * several things at once, work that no row shows yet and profiles that are wrong need no option.
 *
 * Who asks for a margin wants to be sure. Then that share of admitted work is expected to be ahead
 * wherever tasks wait, a job that will not be in time is only tried if no other is open, and a job
 * that ends close to its deadline, or later, multiplies the forecasts of all workflows for some
 * jobs: the machine may be slower for all.
 *
 * Before a task that has waited starts, the fastest rest of its job is compared with what is
 * left of its deadline: past that the job is hopeless. That is believed the less, the more jobs of
 * the workflow were given up in a row.
 *
 * Source: admission by predicted response time; ratios follow what is seen by small steps, as in
 * stochastic approximation (Robbins and Monro, 1951).
 * Ignores: transfers, and what other nodes have admitted beyond what their rows show.
 * Not for: comparisons in which every job has to run.
 */
#include "base/assert.h"
#include "base/numbers.h"
#include "base/units.h"
#include "model/graph.h"
#include "policy/choose.h"
#include "policy/deadline_learn.h"
#include "policy/registry.h"

enum { OPTION_BOUND, OPTION_STRICT, OPTION_GIVE_UP, OPTION_LEARN, OPTION_MARGIN };

static const struct policy_option options[] = {
    {"bound_s", 30, 0, 86400, false, "how long a job without deadline and SLO may wait"},
    {"strict", 0, 0, 1, true, "1: an SLO is a deadline; a later answer is worthless"},
    {"give_up", 1, 0, 1, true, "0: jobs that can no longer be in time still run"},
    {"learn", 1, 0, 1, true, "0: use profile and rows as they are"},
    {"margin", 0, 0, 0.9, false, "the part of its time that a job is expected to have left over"},
    {.name = NULL},
};

/* @part of @ns, where @part is at most @whole. */
static int64_t share(int64_t ns, int64_t part, int64_t whole)
{
    while (whole > INT32_MAX) { /* Sums of work; the last bits do not matter. */
        whole >>= 1;
        part >>= 1;
    }
    return whole == 0 ? ns : ns / whole * part + ns % whole * part / whole;
}

static void init(const struct policy_input *input)
{
    struct deadline_state *state = input->state;
    state->caution = RATIO_ONE;
    for (uint32_t i = 0; i < WORKFLOWS_MAX; i++) {
        deadline_learn_init(&state->flows[i]);
    }
}

/* Who asks for a margin wants to be sure of what is admitted. */
static bool is_careful(const struct policy_input *input)
{
    return input->options[OPTION_MARGIN] > 0;
}

/* Whether this node has admitted more jobs than are its share of the workers. */
static bool is_crowded(const struct policy_input *input)
{
    const struct deadline_state *state = input->state;
    return state->open * input->view->fleet->node_count >
           choose_usable_count(input->view, NEED_NOTHING);
}

static uint32_t level_of(const struct job_facts *job)
{
    return min_u32(job->priority, PRIORITY_MAX);
}

/* How long @job may take in all. */
static int64_t target_ns(const struct policy_input *input, const struct job_facts *job)
{
    const int64_t bound_ns = (int64_t)(input->options[OPTION_BOUND] * NS_PER_S);
    return job->deadline_ns == INT64_MAX ? bound_ns : job->deadline_ns - job->arrived_ns;
}

/* The items of a task: the most that an input brings, at the middle of what that may give. */
static uint32_t expect_items(const struct job_facts *job, uint32_t task, const uint32_t *items)
{
    const struct workflow *graph = job->graph;
    uint32_t most = graph->tasks[task].in_count == 0 ? job->items : 0;
    for (uint32_t i = 0; i < graph->tasks[task].in_count; i++) {
        const uint32_t from = workflow_in(graph, task, i)->from;
        const struct items_rule gives = graph->tasks[from].gives;
        const uint32_t given =
            gives.high == 0 ? items[from] : gives.low + (gives.high - gives.low) / 2;
        most = max_u32(given, most);
    }
    return most;
}

/*
 * What the job would take on the least loaded workers as rows show them. False if some task
 * has none: others will say so.
 */
static bool expect(
    const struct policy_input *input, const struct job_facts *job, struct forecast *forecast_out)
{
    const struct view *view = input->view;
    const struct workflow *graph = job->graph;
    int64_t run_ns[WORKFLOW_TASKS_MAX];
    int64_t rank_ns[WORKFLOW_TASKS_MAX];
    uint32_t items[WORKFLOW_TASKS_MAX];
    int64_t load_ns = 0;
    uint32_t kinds = 0;
    uint32_t worker = WORKER_NONE;
    *forecast_out = (struct forecast){0};
    for (uint32_t i = 0; i < graph->task_count; i++) {
        const uint32_t task = graph->order[i];
        const struct need need = choose_plan_need(input, job, task);
        if (worker == WORKER_NONE || need.kinds != kinds || !choose_can_run(view, worker, need)) {
            kinds = need.kinds;
            worker = choose_least_work(view, need);
        }
        if (worker == WORKER_NONE) {
            return false;
        }
        const int64_t wait_ns = bounded(view_free_at_ns(view, worker) - view->now_ns);
        forecast_out->wait_ns = max_i64(wait_ns, forecast_out->wait_ns);
        const uint32_t device = view->fleet->workers[worker].device;
        items[task] = expect_items(job, task, items);
        run_ns[task] = bounded(
            profile_run_alone_ns(input->profile, graph->tasks[task].run, device, items[task]));
        load_ns = bounded(load_ns + choose_missing_load_ns(input, &graph->tasks[task], worker));
        forecast_out->work_ns = bounded(forecast_out->work_ns + run_ns[task]);
    }
    forecast_out->run_ns = bounded(load_ns + graph_longest_path(graph, run_ns, rank_ns));
    return true;
}

/* Work of admitted jobs that come before @job where queues go by deadlines. */
static int64_t admitted_before(
    const struct policy_input *input, const struct job_facts *job, int64_t left_ns)
{
    const struct deadline_state *state = input->state;
    int64_t ahead_ns = 0;
    for (uint32_t i = 0; i < input->catalogue->workflow_count; i++) {
        const struct flow *flow = &state->flows[i];
        /* Those due later than @job came lately: of evenly spread ones, the last part. */
        ahead_ns += i == job->workflow || flow->target_ns <= left_ns
                        ? flow->admitted_ns
                        : share(flow->admitted_ns, left_ns, flow->target_ns);
    }
    return ahead_ns;
}

/* How much of the wait is for jobs that do not come after @job. */
static int64_t wait_ahead(
    const struct policy_input *input, const struct job_facts *job, const struct forecast *forecast,
    int64_t left_ns)
{
    const struct deadline_state *state = input->state;
    int64_t all_ns = 0;
    int64_t level_ns = 0;
    for (uint32_t level = 0; level <= PRIORITY_MAX; level++) {
        all_ns += state->admitted_ns[level];
        level_ns += level >= level_of(job) ? state->admitted_ns[level] : 0;
    }
    int64_t wait_ns = forecast->wait_ns;
    const uint32_t worker_count = choose_usable_count(input->view, NEED_NOTHING);
    if ((!input->plans || is_careful(input)) && state->open > worker_count) {
        /* Each worker has a job in hand. It is half done; of one task, rows know better. */
        const int64_t done_ns = forecast->work_ns / (job->graph->task_count > 1 ? 2 : 1);
        const int64_t hidden_ns = bounded(all_ns / worker_count - done_ns);
        wait_ns = max_i64(hidden_ns, wait_ns);
    }
    int64_t ahead_ns = share(wait_ns, level_ns, all_ns);
    if (input->by_deadline) {
        ahead_ns = share(ahead_ns, admitted_before(input, job, left_ns), all_ns);
    }
    /* What runs is not stopped. */
    const int64_t least_ns = min_i64(wait_ns, forecast->run_ns);
    return max_i64(ahead_ns, least_ns);
}

/* How long @job, which runs for @run_ns, may wait. Less than nothing: it will be late anyway. */
static int64_t allowed_wait_ns(
    const struct policy_input *input, const struct job_facts *job, int64_t run_ns)
{
    if (job->deadline_ns == INT64_MAX) {
        return (int64_t)(input->options[OPTION_BOUND] * NS_PER_S);
    }
    const int64_t spare_ns =
        (int64_t)(input->options[OPTION_MARGIN] * (double)target_ns(input, job));
    const int64_t left_ns = job->deadline_ns - input->view->now_ns - spare_ns;
    const bool is_firm = job->firm || input->options[OPTION_STRICT] != 0;
    /* A target that cannot be met even alone still says how long is too long. */
    return is_firm || left_ns > run_ns ? left_ns - run_ns : left_ns;
}

static struct admission admit(const struct policy_input *input, const struct job_facts *job)
{
    struct deadline_state *state = input->state;
    struct flow *flow = &state->flows[job->workflow];
    struct forecast forecast;
    if (!expect(input, job, &forecast)) {
        return (struct admission){.admitted = true};
    }
    const int64_t left_ns =
        job->deadline_ns == INT64_MAX ? TIME_MAX : bounded(job->deadline_ns - job->arrived_ns);
    forecast.wait_ns = wait_ahead(input, job, &forecast, left_ns);
    const int64_t wait_ns =
        times(bounded(times(forecast.wait_ns, flow->wait_ratio)), state->caution);
    const int64_t run_ns = times(bounded(times(forecast.run_ns, flow->run_ratio)), state->caution);
    const int64_t allowed_ns = allowed_wait_ns(input, job, run_ns);
    /* Nothing is ahead of it: it is tried, as the profile may be wrong. */
    const bool is_tried = forecast.wait_ns == 0 &&
                          (!is_careful(input) || (state->open == 0 && deadline_may_try(flow)));
    if (is_tried || wait_ns <= allowed_ns) {
        deadline_admitted(flow);
    } else if (!deadline_starves(flow)) {
        return (struct admission){.retry_after_ns = wait_ns - max_i64(allowed_ns, 0)};
    }
    flow->target_ns = left_ns;
    flow->admitted_ns += forecast.work_ns;
    state->admitted_ns[level_of(job)] += forecast.work_ns;
    state->open += forecast.work_ns > 0 ? 1 : 0;
    return (struct admission){.admitted = true, .forecast = forecast};
}

static void answered(const struct policy_input *input, const struct answered_facts *job)
{
    struct deadline_state *state = input->state;
    struct flow *flow = &state->flows[job->job->workflow];
    flow->admitted_ns -= job->forecast.work_ns;
    state->admitted_ns[level_of(job->job)] -= job->forecast.work_ns;
    state->open -= job->forecast.work_ns > 0 ? 1 : 0;
    ASSERT(flow->admitted_ns >= 0 && state->admitted_ns[level_of(job->job)] >= 0);
    if (input->options[OPTION_LEARN] != 0 && (job->completed || job->cut || job->late) &&
        job->forecast.run_ns > 0) {
        const int64_t due_ns = bounded(target_ns(input, job->job));
        if (is_careful(input)) {
            deadline_learn_caution(state, flow, job, due_ns);
        }
        deadline_learn(flow, job, due_ns);
    }
}

/* The fastest run of @model on any kind of device that the cluster has. */
static int64_t fastest_ns(const struct policy_input *input, uint32_t model, uint32_t items)
{
    const uint32_t device_count = input->view->fleet->device_count;
    const int64_t run_ns = profile_fastest_ns(input->profile, model, items, device_count);
    return run_ns == INT64_MAX ? 0 : bounded(run_ns);
}

static bool is_hopeless(const struct policy_input *input, const struct ready_facts *task)
{
    const struct job_facts *job = task->job;
    const struct deadline_state *state = input->state;
    const int64_t now_ns = input->view->now_ns;
    const bool is_firm = job->firm || input->options[OPTION_STRICT] != 0;
    if (!is_firm || input->options[OPTION_GIVE_UP] == 0) {
        return false;
    }
    if (job->deadline_ns < now_ns) {
        return true;
    }
    /* Where no other task wants the worker, or jobs are few, it may prove us wrong. */
    if (task->ready_ns == now_ns || (is_careful(input) && !is_crowded(input))) {
        return false;
    }
    const struct workflow *graph = job->graph;
    int64_t run_ns[WORKFLOW_TASKS_MAX];
    int64_t rank_ns[WORKFLOW_TASKS_MAX];
    for (uint32_t i = 0; i < graph->task_count; i++) {
        run_ns[i] = fastest_ns(input, graph->tasks[i].run, i == task->task ? task->items : 1);
    }
    graph_upward_rank(graph, run_ns, /* edge_ns */ NULL, rank_ns);
    const int64_t ratio = deadline_rest_ratio(&state->flows[job->workflow]);
    const int64_t rest_ns = times(bounded(rank_ns[task->task]), ratio);
    return rest_ns > job->deadline_ns - now_ns;
}

static enum hope hope(const struct policy_input *input, const struct ready_facts *task)
{
    return is_hopeless(input, task) ? HOPE_NONE : HOPE_GOOD;
}

const struct policy policy_deadline = {
    .name = "deadline",
    .summary = "refuse jobs that cannot be in time, and give up those that no longer can",
    .source = "admission by predicted delay; ratios learnt as by Robbins and Monro (1951)",
    .ignores = "transfers, promises of other nodes that no row shows",
    .state_bytes = sizeof(struct deadline_state),
    .options = options,
    .init = init,
    .admit = admit,
    .answered = answered,
    .hope = hope,
};
