/*
 * heft.c - plan the whole job for the earliest finish, as if the fleet were idle.
 *
 * Rule: take tasks by upward rank, costliest way to a sink first; put each on the usable
 * worker where it ends first, counting transfers between machines and the run time of
 * that kind of device; the lowest index wins a tie. A worker is taken from one task of
 * the job to the next without filling gaps. Decided at arrival and never changed.
 * Source: HEFT (Topcuoglu et al., 2002), as the baseline of Compass (papers: Compass,
 * sections 2 and 7.4): every worker counts as free now and as holding every model.
 * Ignores: other jobs and their queues, models in memory, deadlines.
 * Not for: any load to speak of: all jobs of a shape get the same workers, and the more
 * so the fewer tasks run side by side.
 */
#include "base/assert.h"
#include "base/numbers.h"
#include "model/graph.h"
#include "policy/choose.h"
#include "policy/registry.h"
#include "policy/weighed.h"

#define RUN_UNKNOWN INT64_C(-1)

__extension__ typedef __int128 heft_sum;

/*
 * The table of one planning, about 280 KiB of stack. It is not declared as state, which
 * would be kept for every node while only one of them plans at a time.
 */
struct plan {
    const struct policy_input *input;
    const struct workflow *graph;
    uint32_t usable_count;
    struct need_room room;                  /* Of the usable workers. */
    uint32_t kind_counts[DEVICE_KINDS_MAX]; /* Usable workers of each kind of device. */
    uint16_t usable[WORKERS_MAX];           /* Ascending. */
    int64_t free_ns[WORKERS_MAX];           /* By position in usable. */
    uint32_t items_in[WORKFLOW_TASKS_MAX];
    uint32_t items_out[WORKFLOW_TASKS_MAX];
    struct need needs[WORKFLOW_TASKS_MAX];
    int64_t run_ns[WORKFLOW_TASKS_MAX]; /* The mean over the usable workers. */
    int64_t rank[WORKFLOW_TASKS_MAX];
    uint32_t order[WORKFLOW_TASKS_MAX];
    int64_t finish_ns[WORKFLOW_TASKS_MAX];
    int64_t edge_ns[WORKFLOW_EDGES_MAX]; /* What crossing to another machine takes. */
};

/* When one input of a task can be used: on the node that has it, and on any other. */
struct arrival {
    uint32_t node;
    int64_t here_ns;
    int64_t elsewhere_ns;
};

static void find_usable(struct plan *plan, const struct view *view)
{
    const struct fleet *fleet = view->fleet;
    plan->usable_count = 0;
    plan->room.kinds = 0;
    for (uint32_t kind = 0; kind < DEVICE_KINDS_MAX; kind++) {
        plan->kind_counts[kind] = 0;
    }
    for (uint32_t worker = 0; worker < fleet->worker_count; worker++) {
        if (view_is_usable(view, worker)) {
            plan->kind_counts[fleet->workers[worker].device]++;
            need_room_add(&plan->room, &fleet->workers[worker]);
            plan->free_ns[plan->usable_count] = view->now_ns;
            plan->usable[plan->usable_count++] = (uint16_t)worker;
        }
    }
}

/* Items are known as producers end; until then, the middle of what they may give. */
static void expect_items(struct plan *plan, uint32_t items)
{
    const struct workflow *graph = plan->graph;
    for (uint32_t i = 0; i < graph->task_count; i++) {
        const uint32_t task = graph->order[i];
        const struct workflow_task *vertex = &graph->tasks[task];
        uint32_t in = vertex->in_count == 0 ? items : 0;
        for (uint32_t k = 0; k < vertex->in_count; k++) {
            const uint32_t from_items = plan->items_out[workflow_in(graph, task, k)->from];
            in = max_u32(from_items, in);
        }
        const struct items_rule gives = vertex->gives;
        plan->items_in[task] = in;
        plan->items_out[task] =
            gives.low == 0 && gives.high == 0 ? in : gives.low + (gives.high - gives.low) / 2;
    }
}

/* What @task needs with the items that are expected; if no worker can hold those, with fewer. */
static struct need need_expected(
    const struct plan *plan, const struct job_facts *job, uint32_t task)
{
    const struct need expected =
        need_of(plan->input->profile, &plan->graph->tasks[task], plan->items_in[task]);
    return need_room_meets(&plan->room, expected) ? expected
                                                  : choose_plan_need(plan->input, job, task);
}

/* The run time of @task on each kind of usable device that can run it; else RUN_UNKNOWN. */
static void run_by_kind(const struct plan *plan, uint32_t task, int64_t run_out[])
{
    const struct profile *profile = plan->input->profile;
    const uint32_t model = plan->graph->tasks[task].run;
    const uint32_t items = plan->items_in[task];
    for (uint32_t kind = 0; kind < DEVICE_KINDS_MAX; kind++) {
        run_out[kind] = RUN_UNKNOWN;
        if (need_room_has(&plan->room, plan->needs[task], kind)) {
            const struct config config = {.batch = items};
            run_out[kind] = profile_run(profile, model, kind, items, config).run_ns;
        }
    }
}

/* Whether each task has a usable worker that can run it. */
static bool can_run_all(const struct plan *plan, const struct job_facts *job)
{
    for (uint32_t task = 0; task < plan->graph->task_count; task++) {
        if (!need_room_meets(&plan->room, choose_plan_need(plan->input, job, task))) {
            return false;
        }
    }
    return true;
}

static int64_t mean_run_ns(const struct plan *plan, uint32_t task)
{
    int64_t run_ns[DEVICE_KINDS_MAX];
    run_by_kind(plan, task, run_ns);
    heft_sum sum_ns = 0; /* The longest run time on the largest fleet passes 64 bits. */
    uint32_t count = 0;
    for (uint32_t kind = 0; kind < DEVICE_KINDS_MAX; kind++) {
        if (run_ns[kind] != RUN_UNKNOWN) {
            sum_ns += (heft_sum)run_ns[kind] * plan->kind_counts[kind];
            count += plan->kind_counts[kind];
        }
    }
    ASSERT(count > 0);
    return (int64_t)(sum_ns / count);
}

/* Between two machines: all pairs are alike, so any two will do. */
static int64_t transfer_ns(const struct plan *plan, uint64_t bytes)
{
    const struct fleet *fleet = plan->input->view->fleet;
    return fleet->node_count < 2 ? 0 : fleet_transfer_ns(fleet, 0, 1, bytes);
}

/* Topcuoglu 2002, equations 3 to 5: ranks from mean run times and mean transfers. */
static void rank_tasks(struct plan *plan)
{
    const struct workflow *graph = plan->graph;
    for (uint32_t task = 0; task < graph->task_count; task++) {
        plan->run_ns[task] = mean_run_ns(plan, task);
    }
    for (uint32_t edge = 0; edge < graph->edge_count; edge++) {
        const struct workflow_edge *crossed = &graph->edges[edge];
        plan->edge_ns[edge] =
            transfer_ns(plan, workflow_edge_bytes(crossed, plan->items_out[crossed->from]));
    }
    graph_upward_rank(graph, plan->run_ns, plan->edge_ns, plan->rank);
    graph_rank_order(graph, plan->rank, plan->order);
}

/* Where and when the inputs of @task are. A task without predecessors needs the request. */
static uint32_t list_arrivals(
    const struct plan *plan, const struct job_facts *job, uint32_t task, const uint16_t *placement,
    struct arrival *arrivals_out)
{
    const struct workflow *graph = plan->graph;
    const struct fleet_worker *workers = plan->input->view->fleet->workers;
    const uint32_t count = graph->tasks[task].in_count;
    if (count == 0) {
        const int64_t now_ns = plan->input->view->now_ns;
        arrivals_out[0] = (struct arrival){
            .node = workers[job->ingress].node,
            .here_ns = now_ns,
            .elsewhere_ns =
                now_ns + transfer_ns(plan, workflow_part_bytes(graph, task, graph->input_bytes)),
        };
        return 1;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct workflow_edge *edge = workflow_in(graph, task, i);
        const int64_t finish_ns = plan->finish_ns[edge->from];
        ASSERT(placement[edge->from] != PLACEMENT_UNBOUND); /* Ranks fall along every edge. */
        arrivals_out[i] = (struct arrival){
            .node = workers[placement[edge->from]].node,
            .here_ns = finish_ns,
            .elsewhere_ns = finish_ns + plan->edge_ns[edge - graph->edges],
        };
    }
    return count;
}

static int64_t arrive_ns(const struct arrival *arrivals, uint32_t count, uint32_t node)
{
    int64_t latest_ns = INT64_MIN;
    for (uint32_t i = 0; i < count; i++) {
        const int64_t at_ns =
            arrivals[i].node == node ? arrivals[i].here_ns : arrivals[i].elsewhere_ns;
        latest_ns = max_i64(at_ns, latest_ns);
    }
    return latest_ns;
}

static void place_earliest(
    struct plan *plan, const struct job_facts *job, uint32_t task, uint16_t *placement_out)
{
    const struct fleet_worker *workers = plan->input->view->fleet->workers;
    int64_t run_ns[DEVICE_KINDS_MAX];
    struct arrival arrivals[WORKFLOW_TASKS_MAX];
    run_by_kind(plan, task, run_ns);
    const uint32_t count = list_arrivals(plan, job, task, placement_out, arrivals);

    uint32_t best = 0;
    int64_t best_ns = INT64_MAX;
    for (uint32_t i = 0; i < plan->usable_count; i++) {
        const struct fleet_worker *worker = &workers[plan->usable[i]];
        if (!need_is_met(plan->needs[task], worker)) {
            continue;
        }
        const int64_t input_ns = arrive_ns(arrivals, count, worker->node);
        const int64_t start_ns = max_i64(input_ns, plan->free_ns[i]);
        const int64_t end_ns = start_ns + run_ns[worker->device];
        weigh(plan->input, plan->graph, task, plan->usable[i], end_ns);
        if (end_ns < best_ns) { /* Strict: the lowest index wins a tie. */
            best = i;
            best_ns = end_ns;
        }
    }
    ASSERT(best_ns != INT64_MAX);
    plan->free_ns[best] = best_ns;
    plan->finish_ns[task] = best_ns;
    placement_out[task] = plan->usable[best];
}

static void place_job(
    const struct policy_input *input, const struct job_facts *job, uint16_t *placement_out)
{
    struct plan plan;
    plan.input = input;
    plan.graph = job->graph;
    find_usable(&plan, input->view);
    if (plan.usable_count == 0 || !can_run_all(&plan, job)) {
        return;
    }
    expect_items(&plan, job->items);
    for (uint32_t task = 0; task < job->graph->task_count; task++) {
        plan.needs[task] = need_expected(&plan, job, task);
    }
    rank_tasks(&plan);
    for (uint32_t i = 0; i < job->graph->task_count; i++) {
        place_earliest(&plan, job, plan.order[i], placement_out);
    }
}

const struct policy policy_heft = {
    .name = "heft",
    .summary = "plan each job for its earliest finish on an idle fleet",
    .source = "HEFT (Topcuoglu et al., 2002); a baseline of Compass",
    .ignores = "other jobs and queues, models in memory, deadlines",
    .place_job = place_job,
};
