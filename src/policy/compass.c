/*
 * compass.c - plan the whole job at arrival, adjust it on the way, keep models warm.
 *
 * Rule: the node that receives a job takes its tasks by upward rank and puts each where it
 * ends first, counting queues, promises, transfers and the loads of models that are not
 * there. A load that makes others leave costs more, the more so the longer the queues, and with
 * `keep` the more so the sooner they are used again; one into free memory costs less. When a task
 * is about to be sent and its worker is busy, the same is asked again for that task alone; what is
 * only promised to a worker then counts the less the longer the queues are, as the task comes
 * before it. In a fork with more branches than workers the other branches count in full. Eviction
 * takes what is needed last, and of what no task needs the cheapest to bring back for the time it
 * has been idle.
 * Source: Compass (arXiv 2402.17652) as rebuilt from its authors' code; `original=1` keeps
 * that code's behaviour: queues without loads and reservations, fetches that wait for the
 * worker, a model planned for this job counted as absent, 64 models, one kind of device,
 * joins never moved, adjustment that pays nothing for the copies it makes.
 * Ignores: deadlines, batches, shares, congestion of links.
 * Not for: jobs under an SLO that needs batching; networks that are the bottleneck.
 */
#include "base/assert.h"
#include "base/numbers.h"
#include "policy/choose.h"
#include "policy/compass_cache.h"
#include "policy/compass_plan.h"
#include "policy/compass_siblings.h"
#include "policy/demand.h"
#include "policy/registry.h"
#include "policy/weighed.h"

/* The task in question, and where its inputs are. */
struct hop {
    const struct policy_input *input;
    const struct task_facts *facts;
    struct compass_prices prices;
    struct compass_task task;
    int64_t cross_ns[WORKFLOW_TASKS_MAX]; /* Of each input, to another machine. */
    int64_t arrive_ns;                    /* Where none of them is. */
    int64_t least_run_ns;                 /* The task runs no shorter anywhere. */
};

/* When the inputs can be on @node. */
static int64_t arrive_ns(const struct hop *hop, uint32_t node)
{
    const struct fleet_worker *workers = hop->input->view->fleet->workers;
    int64_t sum_ns = hop->arrive_ns;
    for (uint32_t i = 0; i < hop->facts->input_count; i++) {
        sum_ns -= workers[hop->facts->inputs[i].worker].node == node ? hop->cross_ns[i] : 0;
    }
    return sum_ns;
}

static void open_hop(
    struct hop *hop, const struct policy_input *input, const struct task_facts *facts)
{
    const struct fleet *fleet = input->view->fleet;
    hop->input = input;
    hop->facts = facts;
    hop->arrive_ns = input->view->now_ns;
    compass_task_open(&hop->task, input, &facts->job->graph->tasks[facts->task], facts->items);
    for (uint32_t i = 0; i < facts->input_count; i++) {
        hop->cross_ns[i] =
            fleet->node_count < 2 ? 0 : fleet_transfer_ns(fleet, 0, 1, facts->inputs[i].bytes);
        hop->arrive_ns += hop->cross_ns[i];
    }
    hop->least_run_ns =
        profile_fastest_ns(input->profile, hop->task.kind->run, /* items */ 1, fleet->device_count);
}

/* What the task costs on @worker, which is free at @free_ns. */
static int64_t score_ns(struct hop *hop, uint32_t worker, int64_t free_ns)
{
    const struct fleet_worker *spec = &hop->input->view->fleet->workers[worker];
    const struct row_cache *cache = view_cache(hop->input->view, worker);
    const struct compass_times *times = compass_times_on(&hop->task, spec);
    struct compass_worker believed = {
        .spec = spec,
        .free_ns = free_ns,
        .arrive_ns = arrive_ns(hop, spec->node),
        .room_bytes = cache->free_bytes,
        .held = compass_held(&hop->prices, cache),
    };
    if (times->run_ns == COMPASS_NEVER) {
        return COMPASS_NOT_USABLE_NS;
    }
    if (hop->prices.original) { /* As published, the inputs wait for the worker, too. */
        believed.free_ns += believed.arrive_ns - hop->input->view->now_ns;
    }
    return compass_weigh(&hop->prices, &hop->task, times, &believed).score_ns;
}

/* When @worker is taken to be free: promises count in part, and planners are kept apart. */
static int64_t expect_ns(const struct hop *hop, uint32_t worker, const struct compass_row *row)
{
    const int64_t promised_ns = row->promised_ns / 64 * hop->prices.promised_64ths;
    const int64_t noise_ns =
        worker == hop->facts->planned ? 0 : compass_noise_ns(&hop->prices, worker);
    return row->free_ns + promised_ns + noise_ns;
}

/* The best of the usable workers, if it is better than @best. */
static uint32_t search(
    struct hop *hop, const struct compass_row *rows, uint32_t count, uint32_t best, int64_t best_ns)
{
    const bool skips = hop->input->weighed == NULL; /* Otherwise all are to be weighed. */
    for (uint32_t worker = 0; worker < count; worker++) {
        /* With no promises, and all models and inputs there, it could not end before this. */
        if (rows[worker].free_ns + hop->least_run_ns >= best_ns &&
            (skips || rows[worker].free_ns == COMPASS_NOT_USABLE_NS)) {
            continue;
        }
        const int64_t free_ns = expect_ns(hop, worker, &rows[worker]);
        if (free_ns + hop->least_run_ns >= best_ns && skips) {
            continue;
        }
        const int64_t end_ns = score_ns(hop, worker, free_ns);
        if (end_ns < COMPASS_NOT_USABLE_NS) {
            weigh(hop->input, hop->facts->job->graph, hop->facts->task, worker, end_ns);
        }
        if (end_ns < best_ns) { /* Strict: the lowest index wins a tie. */
            best = worker;
            best_ns = end_ns;
        }
    }
    return best;
}

/* Read all rows and what to weigh with. False if no worker is usable. */
static bool read_rows(struct hop *hop, struct compass_row *rows_out, uint32_t count)
{
    const struct policy_input *input = hop->input;
    int64_t backlog_ns = 0;
    uint32_t usable = 0;
    for (uint32_t worker = 0; worker < count; worker++) {
        struct compass_row *row = &rows_out[worker];
        if (compass_read(input, worker, row)) {
            backlog_ns += row->free_ns + row->promised_ns - input->view->now_ns;
            usable++;
        } else {
            *row = (struct compass_row){.free_ns = COMPASS_NOT_USABLE_NS};
        }
    }
    if (usable > 0) {
        const int64_t run_ns = compass_mean_run_ns(input, hop->facts->job->graph, 0);
        hop->prices = compass_prices(input, backlog_ns / usable, run_ns);
        if (!hop->prices.original) { /* As published, only what has reached a worker counts. */
            compass_count_siblings(input, hop->facts, hop->prices.promised_64ths, rows_out);
        }
    }
    return usable > 0;
}

/* A worker for a task that has none it could use. */
static uint32_t place_anew(const struct policy_input *input, const struct task_facts *facts)
{
    const uint32_t count = input->view->fleet->worker_count;
    struct compass_row rows[WORKERS_MAX];
    struct hop hop;
    open_hop(&hop, input, facts);
    if (!read_rows(&hop, rows, count)) {
        return WORKER_NONE;
    }
    return search(&hop, rows, count, WORKER_NONE, COMPASS_NOT_USABLE_NS);
}

/* Whether the task would wait on its planned worker at all, for what is there or promised. */
static bool must_wait(struct hop *hop, int64_t run_ns)
{
    struct compass_row row;
    const bool usable = compass_read(hop->input, hop->facts->planned, &row);
    ASSERT(usable);
    return row.free_ns > hop->input->view->now_ns || row.promised_ns > run_ns;
}

static uint32_t adjust(const struct policy_input *input, const struct task_facts *facts)
{
    const uint32_t planned = facts->planned;
    const uint32_t count = input->view->fleet->worker_count;
    struct compass_row rows[WORKERS_MAX];
    struct hop hop;
    open_hop(&hop, input, facts);
    const int64_t run_ns =
        compass_times_on(&hop.task, &input->view->fleet->workers[planned])->run_ns;
    if (!must_wait(&hop, run_ns)) {
        return planned;
    }
    const bool any = read_rows(&hop, rows, count);
    ASSERT(any && planned < count);
    /* That the task itself is promised to its worker is not a reason to leave it. */
    rows[planned].promised_ns = compass_later(rows[planned].promised_ns - run_ns, 0);
    const int64_t free_ns = expect_ns(&hop, planned, &rows[planned]);
    if (free_ns - input->view->now_ns <= run_ns / 64 * hop.prices.patience_64ths) {
        return planned;
    }
    return search(&hop, rows, count, planned, score_ns(&hop, planned, free_ns));
}

/* As published: a queue above a fixed threshold, and nothing that holds the task there. */
static uint32_t adjust_original(const struct policy_input *input, const struct task_facts *facts)
{
    const uint32_t count = input->view->fleet->worker_count;
    struct compass_row rows[WORKERS_MAX];
    struct hop hop;
    open_hop(&hop, input, facts);
    const bool any = read_rows(&hop, rows, count);
    ASSERT(any && facts->planned < count);
    const int64_t wait_ns = rows[facts->planned].free_ns - input->view->now_ns;
    const int64_t run_ns =
        compass_times_on(&hop.task, &input->view->fleet->workers[facts->planned])->run_ns;
    if (wait_ns <= run_ns + run_ns / 2) {
        return facts->planned;
    }
    return search(&hop, rows, count, WORKER_NONE, COMPASS_NOT_USABLE_NS);
}

static uint32_t place_task(const struct policy_input *input, const struct task_facts *facts)
{
    const struct workflow_task *task = &facts->job->graph->tasks[facts->task];
    const uint32_t in_count = task->in_count;
    const struct need need = choose_need(input, facts);
    if (facts->planned == WORKER_NONE || !choose_can_use(input->view, facts->planned, need)) {
        return place_anew(input, facts);
    }
    if (input->options[COMPASS_ADJUST] == 0 || in_count == 0) {
        return facts->planned; /* A source has been planned just now. */
    }
    if (input->options[COMPASS_ORIGINAL] != 0) {
        return in_count > 1 ? facts->planned : adjust_original(input, facts);
    }
    return adjust(input, facts);
}

static int64_t eviction_ns(
    const struct policy_input *input, const struct workflow_task *kind, uint32_t worker,
    int64_t absent_ns)
{
    const struct compass_prices prices = {
        .eviction_64ths = compass_64ths(input->options[COMPASS_EVICTION]),
        .keep_64ths = compass_64ths(input->options[COMPASS_KEEP]),
    };
    const struct compass_task task = {.input = input, .demand = input->state, .kind = kind};
    return compass_eviction_at_ns(&prices, &task, worker, absent_ns);
}

static bool pools(const double *values)
{
    return values[COMPASS_POOL] != 0;
}

static const struct policy_option options[] = {
    [COMPASS_ORIGINAL] =
        {"original", 0, 0, 1, true, "1: the rule as published, with its shortcuts"},
    [COMPASS_ADJUST] = {"adjust", 1, 0, 1, true, "0: plans never change"},
    [COMPASS_THRESHOLD] =
        {"threshold", 1, 0, 100, false, "tolerated wait under load, in run times"},
    [COMPASS_LOAD] = {"load", 1, 0, 1, true, "0: ignore load"},
    [COMPASS_CACHE] = {"cache", 1, 0, 1, true, "0: ignore models"},
    [COMPASS_EVICTION] =
        {"eviction", 1, 0, 100, false, "cost of an eviction, in loads of the incoming model"},
    [COMPASS_CROWD] =
        {"crowd", 1, 0, 100, false, "the same, per task that a worker has on average"},
    [COMPASS_SPREAD] =
        {"spread", 0.5, 0, 1, false, "how much of a load into free memory is forgiven"},
    [COMPASS_JITTER] =
        {"jitter", 0.1, 0, 100, false, "noise on free times, in mean run times of the job's tasks"},
    [COMPASS_POOL] =
        {"pool", 0, 0, 1, true, "1: idle workers take what waits at others of their node"},
    [COMPASS_KEEP] =
        {"keep", 0, 0, 100, false,
         "cost of an eviction, in what is lost with the model that leaves"},
    {.name = NULL},
};

const struct policy policy_compass = {
    .name = "compass",
    .summary = "plan the job for the earliest finish with warm models, adjust it as it runs",
    .source = "Compass (arXiv 2402.17652), its flaws corrected; compass:original is as published",
    .ignores = "deadlines, batches, shares, congestion of links",
    .options = options,
    .state_bytes = sizeof(struct demand),
    .check = compass_check,
    .pools = pools,
    .eviction_ns = eviction_ns,
    .place_job = compass_plan,
    .place_task = place_task,
    .victim = compass_victim,
    .prefetch = compass_prefetch,
};
