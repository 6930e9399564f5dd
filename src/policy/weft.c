/*
 * weft.c - place each task when it is ready, where it ends first and harms others least.
 *
 * Rule: a task of whole devices goes to the worker with the smallest score, of the node's own, of
 * the node to which its output returns and of a few drawn from the own rack and from the others,
 * with the models and without:
 *
 *     score = end + return + toll + price of a load
 *     end   = max(free + doubt, inputs there, models there) + run
 *
 * Free is the worker when it has done what comes before the task in its queue (weft_ahead.h).
 * Inputs wait for what the node has put on its link before. Doubt is the work that others send to
 * a busy cluster's worker while the inputs travel. What a row says fades: the longer a worker may
 * have changed unseen, the more it is believed to have as much to do as all on average, and the
 * more it is left to chance which of such workers is taken (weft_fade.h). An output that is
 * gathered elsewhere has to return there. The toll is what the transfers cost others on their links
 * (weft_links.h). Loads hide behind the queue; one that evicts a model costs the more, the sooner
 * that model is used again (weft_keep.h). Among equals the node's own worker is taken, then the
 * next after it: if all nodes took the lowest, those with the same rows would meet there.
 *
 * A branch makes room for branches of its fork that would lose more by leaving. Where there are
 * more tasks than workers, all but sources stay where their inputs are (weft_stay.h). Workers are
 * told of a task at once, so that others see it before its inputs have arrived. An idle worker asks
 * the one of its rack with the longest queue for a task.
 *
 * Queues are in the order of deadlines; a job without one is due `path` times its critical path
 * after its arrival, so that short jobs do not wait for long ones. What can no longer be in time
 * gives way to what can (weft_give_up.h). What is evicted is chosen as by compass. Batches are made
 * where they pay, on parts of a device if those cost nothing (weft_batch.h). Tasks that were
 * measured on shares of several devices, or in batches on whole ones, wait in home queues instead
 * (weft_home.h). Of shares they may be placed by what a worker costs those that come after them,
 * too (weft_onward.h).
 *
 * Source: our own; costs of models as in compass, tolls as marginal waits of a queue (Nona),
 * configs of shares and batches as in esg.
 * Ignores: the spread of run times, and on whole devices which models are slow.
 * Not for: jobs whose clients know better where they should run.
 */
#include <string.h>

#include "base/arena.h"
#include "base/assert.h"
#include "base/numbers.h"
#include "model/graph.h"
#include "policy/choose.h"
#include "policy/compass_cache.h"
#include "policy/compass_cost.h"
#include "policy/compose.h"
#include "policy/registry.h"
#include "policy/weft_ahead.h"
#include "policy/weft_batch.h"
#include "policy/weft_copy.h"
#include "policy/weft_ended.h"
#include "policy/weft_fade.h"
#include "policy/weft_give_up.h"
#include "policy/weft_home.h"
#include "policy/weft_hop.h"
#include "policy/weft_keep.h"
#include "policy/weft_onward.h"
#include "policy/weft_options.h"
#include "policy/weft_sources.h"
#include "policy/weft_stay.h"
#include "policy/weighed.h"

/* By which part of the way that is left to go the keys of branches of a job differ. */
enum { BRANCHES_APART = 1024 };

static int64_t mean_of(const int64_t *all_ns, uint32_t count)
{
    int64_t sum_ns = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum_ns += all_ns[i] / count;
    }
    return sum_ns;
}

/* The critical path of each workflow on the fastest devices. */
static const void *plan(struct arena *arena, const struct plan_input *input)
{
    const uint32_t count = input->catalogue->workflow_count;
    struct weft_plan *plan = arena_alloc(arena, sizeof(*plan));
    int64_t *path_ns = arena_alloc(arena, (count + 1) * sizeof(*path_ns));
    int64_t *ranks_ns = arena_alloc(arena, (input->catalogue->queue_count + 1) * sizeof(*ranks_ns));
    plan->has_slos = false;
    bool has_others = false;
    for (uint32_t i = 0; i < count; i++) {
        const struct workflow *graph = input->catalogue->workflows[i];
        plan->has_slos = plan->has_slos || graph->slo_ns != 0;
        has_others = has_others || graph->slo_ns == 0;
        int64_t run_ns[WORKFLOW_TASKS_MAX];
        int64_t *rank_ns = ranks_ns + graph->queue_first;
        for (uint32_t task = 0; task < graph->task_count; task++) {
            const uint32_t model = graph->tasks[task].run;
            const int64_t one_ns = profile_fastest_ns(
                input->profile, model, /* items */ 1, input->fleet->device_count);
            run_ns[task] = one_ns == INT64_MAX ? 0 : one_ns;
        }
        path_ns[i] = graph_longest_path(graph, run_ns, rank_ns);
    }
    plan->is_mixed = plan->has_slos && has_others;
    plan->path_ns = path_ns;
    plan->ranks_ns = ranks_ns;
    plan->path_mean_ns = mean_of(path_ns, count);
    plan->has_all = weft_keep_have_all(input, /* part */ 1);
    plan->is_short = weft_keep_plan(input);
    weft_home_plan(arena, input, plan);
    return plan;
}

static bool waits(const void *plan, uint32_t number)
{
    return ((const struct weft_plan *)plan)->waits[number];
}

static bool copies(const void *plan)
{
    return ((const struct weft_plan *)plan)->copies;
}

static bool learns(const double *values)
{
    return values[WEFT_LEARN] != 0;
}

static bool pools(const double *values)
{
    return values[WEFT_POOL] != 0;
}

static struct weft_state *state_of(const struct policy_input *input)
{
    return input->state;
}

static bool task_waits(const struct policy_input *input, const struct ready_facts *task)
{
    return input->binds && waits(input->plan, task->job->graph->queue_first + task->task);
}

static void queued(const struct policy_input *input, const struct ready_facts *task)
{
    if (task_waits(input, task)) {
        weft_home_queued(input, task);
    }
}

/* The key of @task of @job in the queue of a worker. */
static int64_t key_of(const struct policy_input *input, const struct job_facts *job, uint32_t task)
{
    const struct weft_plan *plan = input->plan;
    /* Of the branches of a job those with the longest way to go come first. */
    const int64_t before_ns = plan->ranks_ns[job->graph->queue_first + task] / BRANCHES_APART;
    const int64_t due_ns = job->arrived_ns + weft_home_whole_ns(input, job);
    return due_ns + weft_home_later_ns(input, job) - before_ns;
}

static int64_t order(const struct policy_input *input, const struct ready_facts *task)
{
    return task_waits(input, task) ? weft_home_order(input, task)
                                   : key_of(input, task->job, task->task);
}

/* Where the output of the task is gathered, as far as that is known. */
static void find_return(struct weft_hop *hop)
{
    const struct task_facts *facts = hop->facts;
    const struct workflow *graph = facts->job->graph;
    const struct fleet *fleet = hop->input->view->fleet;
    hop->return_node = NODE_NONE;
    hop->return_bytes = 0;
    for (uint32_t i = 0; i < graph->tasks[facts->task].out_count; i++) {
        const struct workflow_edge *edge = workflow_out(graph, facts->task, i);
        if (!workflow_is_join(graph, edge->to) || graph->tasks[edge->to].dominator == facts->task) {
            continue;
        }
        const uint32_t owner = facts->job->ingress;
        const uint32_t worker = facts->placement == NULL
                                    ? owner
                                    : workflow_rendezvous(graph, facts->placement, edge->to, owner);
        hop->return_node = fleet->workers[worker].node;
        hop->return_bytes += workflow_edge_bytes(edge, facts->items);
    }
}

/* Whether what goes to @worker crosses no link that many machines share. */
static bool is_in_rack(const struct view *view, uint32_t worker)
{
    const struct fleet *fleet = view->fleet;
    return !weft_crosses_core(fleet, view->node, fleet->workers[worker].node);
}

/* Whether @worker holds, or loads, all models of the task. */
static bool holds_all(const struct weft_hop *hop, uint32_t worker)
{
    const struct workflow_task *kind = hop->task.kind;
    bool holds = true;
    for (uint32_t i = 0; i < kind->model_count && holds; i++) {
        holds = view_holds_model(hop->input->view, worker, kind->models[i]);
    }
    return holds;
}

/* The group of @worker, which can be used. */
static uint8_t group_of(const struct weft_hop *hop, uint32_t worker)
{
    const uint32_t rack = is_in_rack(hop->input->view, worker) ? WEFT_GROUP_IN_RACK : 0;
    const uint32_t holder = holds_all(hop, worker) ? WEFT_GROUP_HOLDER : 0;
    return (uint8_t)(rack | holder);
}

/* A job has come: what the usable workers of this node have to do then, on average of late. */
static void note_own_work(const struct weft_hop *hop)
{
    const struct view *view = hop->input->view;
    struct weft_state *state = state_of(hop->input);
    int64_t sum_ns = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < view->worker_count; i++) {
        const uint32_t worker = view->worker_first + i;
        if ((hop->groups[worker] & WEFT_GROUP_NOT_USABLE) == 0) {
            sum_ns += min_i64(view_row_free_at_ns(view, worker) - view->now_ns, DURATION_NS_MAX);
            count++;
        }
    }
    state->own_ns += (sum_ns / max_u32(count, 1) - state->own_ns) / WEFT_FADE_JOBS;
}

/* Workers of @node, if there is one, are looked at in any case. */
static void mark_near(struct weft_hop *hop, uint32_t node)
{
    const struct fleet *fleet = hop->input->view->fleet;
    const uint32_t count = node == NODE_NONE ? 0 : fleet->nodes[node].worker_count;
    for (uint32_t i = 0; i < count; i++) {
        hop->groups[fleet->nodes[node].worker_first + i] |= WEFT_GROUP_NEAR;
    }
}

/* Look at all rows once. */
static void look_at_rows(struct weft_hop *hop)
{
    const struct view *view = hop->input->view;
    const struct need need = hop->task.need;
    const bool is_calm = compass_is_calm(view);
    int64_t sum_ns = 0;
    uint32_t busy = 0;
    for (uint32_t worker = 0; worker < view->fleet->worker_count; worker++) {
        const struct row_load *load = view_load(view, worker);
        hop->groups[worker] = WEFT_GROUP_NOT_USABLE;
        if (need_is_met(need, &view->fleet->workers[worker]) &&
            (is_calm ? load->accepting != 0 : view_is_usable(view, worker))) {
            hop->groups[worker] = group_of(hop, worker);
            hop->alike[hop->groups[worker]]++;
            sum_ns += min_i64(load->queued_ns, DURATION_NS_MAX);
            busy += view_free_ns(view, worker, load) > view->now_ns ? 1 : 0;
        }
    }
    for (uint32_t i = 0; i < WEFT_GROUPS; i++) {
        hop->usable += hop->alike[i];
    }
    hop->busy = busy;
    hop->mean_ns = sum_ns / max_u32(hop->usable, 1);
    mark_near(hop, view->node);
    mark_near(hop, hop->return_node);
}

/* @groups is room for one of each worker. */
static void open_hop(
    struct weft_hop *hop, const struct policy_input *input, const struct task_facts *facts,
    uint16_t *groups)
{
    const struct weft_plan *plan = input->plan;
    hop->input = input;
    hop->facts = facts;
    hop->prices = (struct compass_prices){
        .spread_64ths = compass_64ths(weft_keep_spread(input, facts)),
        .keep_64ths = compass_64ths(input->options[WEFT_KEEP]),
    };
    compass_task_init(&hop->task, input, &facts->job->graph->tasks[facts->task], facts->items);
    hop->task.demand = &state_of(input)->demand;
    hop->is_of_shares = plan->shares[facts->job->graph->queue_first + facts->task];
    hop->key_ns = policy_advance(key_of(input, facts->job, facts->task), facts->job->priority);
    hop->bytes = 0;
    for (uint32_t i = 0; i < facts->input_count; i++) {
        hop->bytes += facts->inputs[i].bytes;
    }
    find_return(hop);
    hop->sample = (uint32_t)input->options[WEFT_SAMPLE];
    hop->groups = groups;
    hop->usable = 0;
    hop->there = (struct weft_ways){0};
    hop->back = (struct weft_ways){0};
    memset(hop->alike, 0, sizeof(hop->alike));
    look_at_rows(hop);
}

/* What others may send to a worker while inputs travel for @late_ns. */
static int64_t doubt_ns(const struct weft_hop *hop, int64_t late_ns)
{
    const int64_t factor_64ths = compass_64ths(hop->input->options[WEFT_DOUBT]);
    return late_ns / hop->usable * hop->busy / 64 * factor_64ths;
}

static struct weft_links *links_of(const struct policy_input *input)
{
    return &state_of(input)->links;
}

static struct weft_way way_of(const struct weft_hop *hop, const struct weft_transfer *transfer)
{
    const struct policy_input *input = hop->input;
    const int64_t toll_ns = weft_toll_ns(links_of(input), transfer, input->view->now_ns);
    return (struct weft_way){
        .whole_ns = transfer->whole_ns,
        .toll_ns = toll_ns / 64 * compass_64ths(input->options[WEFT_TOLL]),
    };
}

/* What it takes to bring @bytes from node @from to @to; @known is what was found before. */
static struct weft_way find_way(
    const struct weft_hop *hop, uint32_t from, uint32_t to, uint64_t bytes, struct weft_ways *known)
{
    const struct fleet *fleet = hop->input->view->fleet;
    if (from == to || bytes == 0) {
        return (struct weft_way){0};
    }
    const uint32_t crosses = weft_crosses_core(fleet, from, to) ? 1 : 0;
    if (fleet->network.has_own_rates || !known->is_known[crosses]) {
        const struct weft_transfer transfer = weft_transfer(fleet, from, to, bytes);
        known->ways[crosses] = way_of(hop, &transfer);
        known->is_known[crosses] = true;
    }
    return known->ways[crosses];
}

/* When @worker has done what comes before the task, and what it may have got since its row. */
static int64_t free_at_ns(
    const struct weft_hop *hop, uint32_t worker, int64_t run_ns, int64_t faded)
{
    const struct view *view = hop->input->view;
    int64_t free_ns = view_free_at_ns(view, worker) + weft_sources_ns(hop, worker);
    free_ns += weft_fade_ns(view, free_ns, hop->mean_ns, faded);
    if (hop->input->orders && hop->input->options[WEFT_AHEAD] != 0) {
        free_ns -= weft_ahead_ns(view, worker, hop->key_ns, run_ns);
    }
    return max_i64(free_ns, view->now_ns);
}

/*
 * What it costs others to run a task of shares on @worker: those that come after it, and those
 * whose inputs take the same link to it. How busy that is can only be guessed by what this node
 * sends there. Tasks of whole devices, of which many are sent, choose worse by such a guess.
 */
static int64_t beyond_ns(const struct weft_hop *hop, uint32_t worker)
{
    const struct policy_input *input = hop->input;
    const uint32_t to = input->view->fleet->workers[worker].node;
    if (!hop->is_of_shares) {
        return 0;
    }
    const int64_t toll_ns =
        to == input->view->node
            ? 0
            : weft_brought_toll_ns(&state_of(input)->brought, input, to, hop->bytes);
    return weft_onward_ns(hop, worker) + toll_ns / 64 * compass_64ths(input->options[WEFT_TOLL]);
}

/* The score of @worker, which can be used, and of whose row a part has faded. */
static int64_t score_ns(struct weft_hop *hop, uint32_t worker, int64_t faded)
{
    const struct policy_input *input = hop->input;
    const struct view *view = input->view;
    const struct fleet_worker *spec = &view->fleet->workers[worker];
    const struct row_cache *cache = view_cache(view, worker);
    const struct compass_times *times = compass_times_on(&hop->task, spec);
    const struct weft_way there = find_way(hop, view->node, spec->node, hop->bytes, &hop->there);
    int64_t free_ns = free_at_ns(hop, worker, times->run_ns, faded);
    int64_t arrive_ns = view->now_ns;
    int64_t extra_ns = there.toll_ns;
    if (there.whole_ns > 0) {
        const int64_t link_ns = input->options[WEFT_LINKS] != 0 ? links_of(input)->up.free_ns : 0;
        arrive_ns = max_i64(arrive_ns, link_ns) + there.whole_ns;
        free_ns = max_i64(free_ns, arrive_ns) + doubt_ns(hop, arrive_ns - view->now_ns);
    }
    if (input->options[WEFT_RETURN] != 0 && hop->return_bytes > 0) {
        const struct weft_way back =
            find_way(hop, spec->node, hop->return_node, hop->return_bytes, &hop->back);
        extra_ns += back.whole_ns + back.toll_ns;
    }
    extra_ns += beyond_ns(hop, worker);
    if (input->options[WEFT_LEARN] != 0) {
        extra_ns += view_slowed_ns(view, worker, times->run_ns) - times->run_ns;
    }
    const struct compass_worker believed = {
        .spec = spec,
        .free_ns = free_ns,
        .arrive_ns = arrive_ns,
        .room_bytes = cache->free_bytes,
        .held = compass_held(&hop->prices, cache),
    };
    return compass_weigh(&hop->prices, &hop->task, times, &believed).score_ns + extra_ns;
}

/* Whether a worker of @group is looked at: all where there are few, or where the data is. */
static bool is_drawn(const struct weft_hop *hop, uint32_t group)
{
    const uint32_t sample = hop->sample;
    if ((group & (WEFT_GROUP_NEAR | WEFT_GROUP_NOT_USABLE)) != 0) {
        return (group & WEFT_GROUP_NOT_USABLE) == 0;
    }
    const uint32_t of = hop->alike[group];
    return of <= sample + sample / 2 || rng_below(hop->input->rng, of) < sample;
}

/* The best of some workers. */
struct pick {
    uint32_t worker;   /* WORKER_NONE: there is none yet. */
    uint32_t at;       /* When it was looked at: the first of equals wins. */
    int64_t score_ns;  /* By which it is compared with the best of others. */
    int64_t chosen_ns; /* By which it was chosen: rows that have faded leave it to chance. */
};

static bool is_better(const struct pick *pick, const struct pick *than)
{
    return pick->score_ns < than->score_ns ||
           (pick->score_ns == than->score_ns && pick->at < than->at);
}

/* Let @worker, number @at in turn, be the best of some if it is. */
static void try_worker(struct weft_hop *hop, uint32_t worker, uint32_t at, struct pick *best)
{
    const struct policy_input *input = hop->input;
    const struct fleet_worker *spec = &input->view->fleet->workers[worker];
    const int64_t run_ns = compass_times_on(&hop->task, spec)->run_ns;
    const int64_t faded =
        input->options[WEFT_FADE] == 0 ? 0 : weft_faded(input->view, worker, run_ns);
    const int64_t score = score_ns(hop, worker, faded);
    const int64_t chance_ns =
        input->options[WEFT_CHANCE] == 0 ? 0 : weft_chance_ns(input->rng, hop->mean_ns, faded);
    weigh(input, hop->facts->job->graph, hop->facts->task, worker, score);
    if (score + chance_ns < best->chosen_ns) { /* Strict: the first wins a tie. */
        *best = (struct pick){worker, at, score, score + chance_ns};
    }
}

/* Find the best of the node's own workers, if @is_kept of no others, and the best of others. */
static void choose(struct weft_hop *hop, bool is_kept, struct pick *own_out, struct pick *away_out)
{
    const struct view *view = hop->input->view;
    const struct fleet *fleet = view->fleet;
    const struct pick none = {
        .worker = WORKER_NONE, .at = UINT32_MAX, .score_ns = INT64_MAX, .chosen_ns = INT64_MAX};
    struct pick others[WEFT_GROUPS] = {none, none, none, none};
    const bool is_round = hop->input->options[WEFT_ROUND] != 0;
    const uint32_t count = is_kept && is_round ? view->worker_count : fleet->worker_count;
    *own_out = none;
    *away_out = none;
    for (uint32_t at = 0; at < count; at++) {
        const uint32_t worker = is_round ? choose_round(view, at) : at;
        const uint32_t group = hop->groups[worker];
        const bool is_own = view_is_own(view, worker);
        if ((is_own || !is_kept) && is_drawn(hop, group)) {
            try_worker(hop, worker, at, is_own ? own_out : &others[group % WEFT_GROUPS]);
        }
    }
    for (uint32_t i = 0; i < WEFT_GROUPS; i++) {
        if (is_better(&others[i], away_out)) {
            *away_out = others[i];
        }
    }
}

/* The task goes to @worker: what it brings to links and memory. */
static void note_placed(struct weft_hop *hop, uint32_t worker)
{
    const struct policy_input *input = hop->input;
    const struct view *view = input->view;
    const struct fleet *fleet = view->fleet;
    const uint32_t node = fleet->workers[worker].node;
    if (!weft_hop_is_holder(hop, worker)) {
        weft_keep_note(input, hop->task.kind, worker);
    }
    const struct weft_transfer sent = weft_transfer(fleet, view->node, node, hop->bytes);
    weft_links_send(links_of(input), &sent, weft_links_rack(fleet), view->now_ns);
    if (hop->is_of_shares && !input->binds) {
        weft_copy_note(input, hop->facts);
    }
    if (hop->is_of_shares && node != view->node) {
        weft_brought_note(&state_of(input)->brought, input, node, hop->bytes);
    }
    if (hop->return_bytes > 0) { /* It will cross the core again, and its sender counts it not. */
        struct weft_transfer back = weft_transfer(fleet, node, hop->return_node, hop->return_bytes);
        back.up_ns = 0;
        weft_links_send(links_of(input), &back, weft_links_rack(fleet), view->now_ns);
    }
}

static uint32_t place_task(const struct policy_input *input, const struct task_facts *facts)
{
    const struct view *view = input->view;
    struct weft_hop hop;
    uint16_t groups[WORKERS_MAX];
    struct pick own;
    struct pick away;
    open_hop(&hop, input, facts, groups);
    if (facts->job->graph->tasks[facts->task].in_count == 0) {
        note_own_work(&hop);
    }
    hop.mean_ns = max_i64(hop.mean_ns, state_of(input)->own_ns);
    choose(&hop, input->options[WEFT_STAY] != 0 && weft_stays(&hop), &own, &away);
    uint32_t best = is_better(&away, &own) ? away.worker : own.worker;
    if (best == own.worker && away.worker != WORKER_NONE && input->options[WEFT_FORK] != 0 &&
        weft_is_wanted_more(
            &hop, away.score_ns - own.score_ns, view_free_at_ns(view, best) - view->now_ns,
            compass_times_on(&hop.task, &view->fleet->workers[best])->run_ns)) {
        best = away.worker;
    }
    if (best == WORKER_NONE) {
        return choose_first(view, hop.task.need);
    }
    note_placed(&hop, best);
    return best;
}

/*
 * Whose queue in the rack is longest, by time. It gives what would end sooner at @worker. Where no
 * task waits at another node, there is nothing to ask for.
 */
static uint32_t steal(const struct policy_input *input, uint32_t worker)
{
    const struct view *view = input->view;
    uint32_t best = WORKER_NONE;
    int64_t best_ns = 0;
    if (input->options[WEFT_STEAL] == 0 || !view_may_wait(view) ||
        view_row_free_at_ns(view, worker) > view->now_ns) { /* Work is on its way to it. */
        return WORKER_NONE;
    }
    for (uint32_t other = 0; other < view->fleet->worker_count; other++) {
        const struct row_load *load = view_load(view, other);
        if (load->queued_items == 0 || other == worker) {
            continue;
        }
        const int64_t wait_ns = view_row_free_ns(view, other, load) - view->now_ns;
        if (wait_ns > best_ns && is_in_rack(view, other) && view_is_usable(view, other)) {
            best = other;
            best_ns = wait_ns;
        }
    }
    return best;
}

static void dispatch(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    const struct weft_plan *plan = input->plan;
    const struct workflow *graph = input->catalogue->workflows[queue->workflow];
    if (queue->worker == WORKER_NONE || plan->shares[graph->queue_first + queue->task]) {
        weft_home_dispatch(input, queue, answer_out);
    } else {
        answer_out->configs[0] = weft_batch(input, queue);
        answer_out->count = 1;
    }
}

const struct policy policy_weft = {
    .name = "weft",
    .summary = "run tasks where they end first and cost models and links least",
    .source = "our own; costs of models as in compass, tolls as in Nona, configs as in ESG",
    .ignores = "the spread of run times, and on whole devices which models are slow",
    .state_bytes = sizeof(struct weft_state),
    .admits_all = true,
    .by_deadline = true,
    .announces = true,
    .learns = learns,
    .pools = pools,
    .binds = true,
    .yields = true,
    .options = weft_options,
    .plan = plan,
    .admit = weft_admit,
    .answered = weft_answered,
    .hope = weft_hope,
    .eviction_ns = weft_keep_eviction_ns,
    .arrived = weft_keep_arrived,
    .place_task = place_task,
    .waits = waits,
    .queued = queued,
    .order = order,
    .dispatch = dispatch,
    .ended = weft_ended_home,
    .ran = weft_ended_here,
    .steal = steal,
    .victim = compass_victim,
    .prefetch = compass_prefetch,
    .tick_ns = ESG_TICK_NS,
    .tick = weft_copy_tick,
    .ticks = copies,
};
