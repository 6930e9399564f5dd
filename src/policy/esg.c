/*
 * esg.c - the cheapest configs that keep deadlines, chosen again before every task.
 *
 * Rule: a deadline is divided among the tasks of a workflow (configs/budget.h), and of each
 * group the cheapest configs that end in time are searched (configs/search.h) when its head is
 * to run, with the time and the queue as they are then. Each goes to the worker where it can
 * start first (fit.h); those that would be late there come after those that would not. What
 * fits nowhere waits for something to end; after a few rounds more configs are asked for, and
 * at last the smallest. A queue may wait for more items while the head keeps its target.
 * Within a queue the earliest deadline comes first: what meets the head's target meets the
 * targets of all that run with it. A job that cannot be in time any more goes behind others,
 * by one whole deadline, and runs in a config that would keep them in time.
 * Source: ESG (HPDC 2024), from summaries of it: AFW queues, ESG_1Q, ESG_Dispatch; the rules
 * for batches to wait for, late jobs and the choice of workers are our own.
 * Ignores: other queues, except through what is free; the spread of run times beyond a margin.
 * Not for: models that were never measured with shares and batches.
 */
#include "base/numbers.h"
#include "policy/esg_order.h"
#include "policy/esg_plan.h"
#include "policy/esg_search.h"
#include "policy/esg_warm.h"
#include "policy/fit.h"
#include "policy/registry.h"
#include "policy/weighed.h"

static void queued(const struct policy_input *input, const struct ready_facts *task)
{
    esg_warm_note(input, task->job->graph->queue_first + task->task, task->items);
}

static uint32_t path_count(const struct policy_input *input, uint32_t rechecks)
{
    return rechecks > input->options[ESG_RECHECK] ? SEARCH_PATHS_MAX
                                                  : (uint32_t)input->options[ESG_K];
}

/* An answer in the making: candidates in time by cost, then the others by when they end. */
struct draft {
    struct dispatch_answer *answer;
    int64_t keys[DISPATCH_CANDIDATES_MAX]; /* When each ends; -1: in time. */
};

static void add(struct draft *draft, const struct config *config, uint32_t worker, int64_t key)
{
    struct dispatch_answer *answer = draft->answer;
    uint32_t at = answer->count;
    while (at > 0 && draft->keys[at - 1] > key) {
        at--;
    }
    if (at >= DISPATCH_CANDIDATES_MAX) {
        return;
    }
    answer->count += answer->count < DISPATCH_CANDIDATES_MAX ? 1 : 0;
    for (uint32_t i = answer->count - 1; i > at; i--) {
        answer->configs[i] = answer->configs[i - 1];
        answer->workers[i] = answer->workers[i - 1];
        draft->keys[i] = draft->keys[i - 1];
    }
    answer->configs[at] = *config;
    answer->workers[at] = worker;
    draft->keys[at] = key;
}

/* Put @trial, of path @path, where it can start first. */
static void place_one(
    const struct fit_ask *ask, const struct esg_queue *known, const struct esg_found *found,
    const struct search_path *path, const struct fit_trial *trial, struct draft *draft)
{
    const struct fit_choice best = trial->best;
    if (best.worker == WORKER_NONE) {
        return;
    }
    const int64_t end_ns = path->time_ns + best.delay_ns;
    if (ask->input->weighed != NULL) {
        weighed_note(
            ask->input, ask->task, ask->queue->task, best.worker, &trial->config,
            ask->input->view->now_ns + known->configs.choices[path->first].run_ns + best.delay_ns);
    }
    const bool in_time =
        found->rule >= ESG_HURRIED ? best.delay_ns == 0 : end_ns <= found->target_ns;
    add(draft, &trial->config, best.worker, in_time ? -1 : end_ns);
}

/*
 * Put each config where it can start first. Mostly the first one is in time, and is then taken: the
 * others are looked for only if it is not, or to be shown.
 */
static void place(
    const struct fit_ask *ask, const struct esg_queue *known, const struct esg_found *found,
    struct draft *draft)
{
    const uint32_t count = found->answer.count;
    struct fit_trial trials[SEARCH_PATHS_MAX];
    for (uint32_t i = 0; i < count; i++) {
        const struct configs_choice *choice = &known->configs.choices[found->answer.paths[i].first];
        trials[i].config = esg_cut(choice->config, ask->queue->items);
        trials[i].device = choice->device;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (i < 2) { /* The first alone, then all others at once. */
            fit_find(ask, &trials[i], i == 0 ? 1 : count - 1);
        }
        place_one(ask, known, found, &found->answer.paths[i], &trials[i], draft);
        const bool is_in_time = draft->answer->count > 0 && draft->keys[0] == -1;
        if (is_in_time && ask->input->weighed == NULL) {
            return;
        }
    }
}

/* The choice with the fewest units. */
static const struct configs_choice *smallest(const struct esg_queue *known)
{
    const struct configs_choice *best = &known->configs.choices[0];
    for (uint32_t i = 1; i < known->configs.count; i++) {
        const struct config *config = &known->configs.choices[i].config;
        const uint32_t left[] = {config->gpu, config->cpu, config->batch};
        const uint32_t right[] = {best->config.gpu, best->config.cpu, best->config.batch};
        uint32_t at = 0;
        while (at < 2 && left[at] == right[at]) {
            at++;
        }
        best = left[at] < right[at] ? &known->configs.choices[i] : best;
    }
    return best;
}

/* Whether it is better to wait for room where the models are than to start late elsewhere. */
static bool is_worth_waiting(
    const struct policy_input *input, const struct queue_facts *queue, const struct draft *draft,
    enum esg_rule rule)
{
    return draft->answer->count > 0 && draft->keys[0] != -1 && rule < ESG_HURRIED &&
           queue->rechecks <= input->options[ESG_RECHECK];
}

static void dispatch_home(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    const struct workflow *workflow = input->catalogue->workflows[queue->workflow];
    const struct esg_queue *known = esg_queue(input, queue->workflow, queue->task);
    const struct fit_ask ask = {
        .input = input,
        .queue = queue,
        .task = &workflow->tasks[queue->task],
        .bytes_per_item = known->bytes_per_item,
        .locality = input->options[ESG_LOCALITY] != 0,
    };
    struct esg_found found;
    struct draft draft = {.answer = answer_out};
    const struct esg_wish wish = {
        .path_count = path_count(input, queue->rechecks),
        .target_ns = esg_target_ns(input, queue),
        .end_ns = ESG_ANY_TIME_NS,
    };
    esg_search(input, queue, &wish, &found);
    if (input->options[ESG_WAIT] != 0) {
        answer_out->wake_at_ns = esg_warm_wait(input, queue, &found);
        if (answer_out->wake_at_ns != 0) {
            return;
        }
    }
    place(&ask, known, &found, &draft);
    if (is_worth_waiting(input, queue, &draft, found.rule)) {
        answer_out->count = 0;
    } else if (answer_out->count == 0 && queue->rechecks > input->options[ESG_RECHECK]) {
        const struct configs_choice *choice = smallest(known);
        const struct config config = esg_cut(choice->config, queue->items);
        const struct fit_choice best = fit_find_one(&ask, &config, choice->device);
        if (best.worker != WORKER_NONE) {
            add(&draft, &config, best.worker, -1);
        }
    }
}

static void dispatch(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    if (queue->worker == WORKER_NONE) {
        dispatch_home(input, queue, answer_out);
    } else {
        const struct queue_facts facts =
            esg_with_inputs(queue, esg_queue(input, queue->workflow, queue->task));
        esg_dispatch_own(input, &facts, ESG_ANY_TIME_NS, /* hurries */ false, answer_out);
    }
}

static const struct policy_option options[] = {
    [ESG_K] = {"k", 5, 1, SEARCH_PATHS_MAX, true, "configs to choose from"},
    [ESG_GROUP] = {"group", 3, 1, SEARCH_STAGES_MAX, true, "tasks that are searched together"},
    [ESG_SHARE] = {"share", 1, 0, 1, true, "0: whole devices only"},
    [ESG_BATCH] = {"batch", 1, 0, 1, true, "0: one item at a time"},
    [ESG_ADAPT] = {"adapt", 1, 0, 1, true, "0: configs are planned once, before the first job"},
    [ESG_SPLIT] = {"split", 1, 0, 1, true, "0: each task has the same part of the deadline"},
    [ESG_LOCALITY] = {"locality", 1, 0, 1, true, "0: ignore where inputs are"},
    [ESG_RECHECK] =
        {"recheck", 0, 0, 1000000, true, "rounds to wait for room before other configs are tried"},
    [ESG_WAIT] = {"wait", 1, 0, 1, true, "0: never wait for more items"},
    [ESG_PREWARM] = {"prewarm", 1, 0, 1, true, "0: models are loaded only when they are needed"},
    [ESG_MARGIN] =
        {"margin", 0.13, 0, 10, false, "margin on measured run times, as a share of them"},
    [ESG_TRANSFERS] = {"transfers", 0, 0, 1, true, "1: budgets count a transfer for each task"},
    {.name = NULL},
};

const struct policy policy_esg = {
    .name = "esg",
    .summary = "the cheapest batch and shares that keep the deadline, chosen before every task",
    .source = "ESG (HPDC 2024), with our rules where its text was not at hand",
    .ignores = "other queues except through what is free, the spread of run times",
    .state_bytes = sizeof(struct esg_state),
    .by_deadline = true,
    .binds = true,
    .options = options,
    .plan = esg_plan,
    .queued = queued,
    .order = esg_order,
    .dispatch = dispatch,
    .tick_ns = ESG_TICK_NS,
    .tick = esg_warm_tick,
};
