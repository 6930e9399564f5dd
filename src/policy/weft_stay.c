#include "policy/weft_stay.h"

#include "base/numbers.h"
#include "model/graph.h"
#include "policy/choose.h"
#include "policy/weft_links.h"

/* In a crowd a task stays on its node unless that has so many times as much to do as others. */
enum { BEHIND_MAX = 4 };

/* What task @task, whose input of @bytes is here, loses at least if it must run elsewhere. */
static int64_t leave_ns(const struct weft_hop *hop, uint32_t task, uint64_t bytes)
{
    const struct view *view = hop->input->view;
    const struct fleet *fleet = view->fleet;
    const struct workflow *graph = hop->facts->job->graph;
    const uint32_t other = view->node == 0 ? fleet->node_count - 1 : 0;
    int64_t sum_ns = weft_transfer(fleet, view->node, other, bytes).whole_ns;
    for (uint32_t i = 0; i < graph->tasks[task].out_count; i++) {
        const struct workflow_edge *edge = workflow_out(graph, task, i);
        if (workflow_is_join(graph, edge->to)) {
            const uint64_t back = workflow_edge_bytes(edge, hop->facts->items);
            sum_ns += weft_transfer(fleet, other, view->node, back).whole_ns;
        }
    }
    return sum_ns;
}

bool weft_is_wanted_more(
    const struct weft_hop *hop, int64_t loss_ns, int64_t wait_ns, int64_t run_ns)
{
    const struct task_facts *facts = hop->facts;
    const struct view *view = hop->input->view;
    const struct workflow *graph = facts->job->graph;
    if (graph->tasks[facts->task].in_count != 1 || facts->placement == NULL) {
        return false;
    }
    const uint32_t from = workflow_in(graph, facts->task, 0)->from;
    uint32_t rivals = 0;
    for (uint32_t i = 0; i < graph->tasks[from].out_count; i++) {
        const struct workflow_edge *edge = workflow_out(graph, from, i);
        if (edge->to == facts->task || workflow_is_join(graph, edge->to) ||
            facts->placement[edge->to] != PLACEMENT_UNBOUND) {
            continue;
        }
        const int64_t leaves_ns = leave_ns(hop, edge->to, workflow_edge_bytes(edge, facts->items));
        rivals += min_i64(leaves_ns - wait_ns, run_ns) > loss_ns ? 1 : 0;
    }
    uint32_t idle = 0;
    for (uint32_t i = 0; i < view->worker_count; i++) {
        const uint32_t worker = view->worker_first + i;
        idle += view_free_at_ns(view, worker) <= view->now_ns ? 1 : 0;
    }
    return rivals > 0 && rivals >= idle;
}

/*
 * Whether workers of other nodes have more tasks than there are workers, and each on average at
 * least a BEHIND_MAXth of @wait_ns to do.
 */
static bool is_crowded(const struct weft_hop *hop, int64_t wait_ns)
{
    const struct view *view = hop->input->view;
    uint32_t tasks = 0;
    uint32_t others = 0;
    int64_t sum_ns = 0;
    for (uint32_t worker = 0; worker < view->fleet->worker_count; worker++) {
        if (view_is_own(view, worker) || !choose_can_use(view, worker, hop->task.need)) {
            continue;
        }
        const bool is_busy = view_row_free_at_ns(view, worker) > view->now_ns;
        tasks += is_busy ? 1 + view_load(view, worker)->queued_items : 0;
        sum_ns += min_i64(view_free_at_ns(view, worker) - view->now_ns, DURATION_NS_MAX);
        others++;
    }
    return tasks >= hop->usable && wait_ns / BEHIND_MAX <= sum_ns / max_u32(others, 1);
}

bool weft_stays(struct weft_hop *hop)
{
    const struct view *view = hop->input->view;
    const struct task_facts *facts = hop->facts;
    const uint32_t worker = facts->here;
    const int64_t wait_ns = view_free_at_ns(view, worker) - view->now_ns;
    if (facts->job->graph->tasks[facts->task].in_count == 0 || wait_ns <= 0 ||
        !weft_hop_is_holder(hop, worker)) {
        return false;
    }
    const int64_t run_ns = compass_mean_run_ns(hop->input, facts->job->graph, worker);
    return leave_ns(hop, facts->task, hop->bytes) >= run_ns / 16 && is_crowded(hop, wait_ns);
}
