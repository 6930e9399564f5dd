/*
 * jit.c - decide at the last moment, and only if the planned worker is busy.
 *
 * Rule: place by hash. When a task is ready and its planned worker would make it wait,
 * move it to the usable worker with the smallest free time plus time to load the models
 * missing there; the lowest index wins a tie. An idle planned worker keeps its task even
 * if it must load the model. Joins are decided once their inputs are gathered.
 * Source: the baseline JIT of Compass (papers: Compass, section 7.4).
 * Ignores: transfers, unless the option says so; run times; deadlines; what a move does
 * to the tasks that follow.
 * Not for: workflows that move much data, or memory so small that the moves themselves
 * push models out.
 */
#include "base/units.h"
#include "policy/choose.h"
#include "policy/registry.h"
#include "policy/weighed.h"

enum { OPTION_THRESHOLD_MS, OPTION_TRANSFER };

static void place_job(
    const struct policy_input *input, const struct job_facts *job, uint16_t *placement_out)
{
    choose_placement_by_hash(input, job, placement_out);
}

/* Inputs share the links of the worker that gathers them, so their times add up. */
static int64_t transfer_ns(
    const struct policy_input *input, const struct task_facts *task, uint32_t worker)
{
    const struct fleet *fleet = input->view->fleet;
    const uint32_t node = fleet->workers[worker].node;
    int64_t sum_ns = 0;
    for (uint32_t i = 0; i < task->input_count; i++) {
        const struct input_facts *from = &task->inputs[i];
        const uint32_t from_node = fleet->workers[from->worker].node;
        if (from_node != node) {
            sum_ns += fleet_transfer_ns(fleet, from_node, node, from->bytes);
        }
    }
    return sum_ns;
}

static uint32_t earliest_start(const struct policy_input *input, const struct task_facts *task)
{
    const struct view *view = input->view;
    const struct workflow_task *vertex = &task->job->graph->tasks[task->task];
    const bool with_transfer = input->options[OPTION_TRANSFER] > 0;
    const struct need need = choose_need(input, task);
    uint32_t best = WORKER_NONE;
    int64_t best_ns = INT64_MAX;
    for (uint32_t worker = 0; worker < view->fleet->worker_count; worker++) {
        int64_t start_ns = view_free_at_ns(view, worker);
        const bool is_later = start_ns >= best_ns && input->weighed == NULL;
        if (is_later || !choose_can_use(view, worker, need)) {
            continue; /* It only gets later from here. */
        }
        start_ns += choose_missing_load_ns(input, vertex, worker);
        if (with_transfer) {
            start_ns += transfer_ns(input, task, worker);
        }
        if (input->weighed != NULL) {
            const int64_t run_ns = profile_run_alone_ns(
                input->profile, vertex->run, view->fleet->workers[worker].device, task->items);
            weigh(input, task->job->graph, task->task, worker, start_ns + run_ns);
        }
        if (start_ns < best_ns) { /* Strict: the lowest index wins a tie. */
            best = worker;
            best_ns = start_ns;
        }
    }
    return best;
}

/* In whole nanoseconds, because no comparison of doubles decides. */
static int64_t threshold_ns(const struct policy_input *input)
{
    return (int64_t)(input->options[OPTION_THRESHOLD_MS] * NS_PER_MS);
}

static uint32_t place_task(const struct policy_input *input, const struct task_facts *task)
{
    const struct view *view = input->view;
    const struct need need = choose_need(input, task);
    if (task->planned != WORKER_NONE && choose_can_use(view, task->planned, need)) {
        const int64_t wait_ns = view_free_at_ns(view, task->planned) - view->now_ns;
        if (wait_ns <= threshold_ns(input)) {
            return task->planned;
        }
    }
    return earliest_start(input, task);
}

static const struct policy_option options[] = {
    [OPTION_THRESHOLD_MS] =
        {"threshold_ms", 0, 0, 1e9, false, "how long a task may wait where it was planned"},
    [OPTION_TRANSFER] = {"transfer", 0, 0, 1, true, "1: count the time to move the inputs as well"},
    {.name = NULL},
};

const struct policy policy_jit = {
    .name = "jit",
    .summary = "place by hash; move a task whose worker is busy to the earliest start",
    .source = "Compass, baseline JIT",
    .ignores = "transfers unless asked, run times, deadlines, tasks that follow",
    .options = options,
    .place_job = place_job,
    .place_task = place_task,
};
