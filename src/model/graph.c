#include "model/graph.h"

#include <string.h>

#include "base/assert.h"
#include "base/numbers.h"

void graph_upward_rank(
    const struct workflow *workflow, const int64_t *run_ns, const int64_t *edge_ns,
    int64_t *rank_out)
{
    ASSERT(workflow->sealed);

    for (uint32_t i = workflow->task_count; i-- > 0;) {
        const uint32_t task = workflow->order[i];
        const struct workflow_task *shape = &workflow->tasks[task];
        int64_t after_ns = 0;
        for (uint32_t j = 0; j < shape->out_count; j++) {
            const uint32_t edge = workflow->edges_out[shape->out_first + j];
            int64_t way_ns = rank_out[workflow->edges[edge].to];
            if (edge_ns != NULL) {
                way_ns += edge_ns[edge];
            }
            after_ns = max_i64(way_ns, after_ns);
        }
        rank_out[task] = run_ns[task] + after_ns;
    }
}

/* Merge two runs of @from into @to: [first, middle) and [middle, end). The left wins ties. */
static void merge_runs(
    const int64_t *rank, const uint32_t *from, uint32_t *to, uint32_t first, uint32_t middle,
    uint32_t end)
{
    uint32_t left = first;
    uint32_t right = middle;

    for (uint32_t i = first; i < end; i++) {
        const bool takes_left =
            left < middle && (right == end || rank[from[left]] >= rank[from[right]]);
        to[i] = takes_left ? from[left++] : from[right++];
    }
}

void graph_rank_order(const struct workflow *workflow, const int64_t *rank, uint32_t *order_out)
{
    uint32_t merged[WORKFLOW_TASKS_MAX];
    const uint32_t count = workflow->task_count;

    ASSERT(workflow->sealed);
    memcpy(order_out, workflow->order, count * sizeof(*order_out));
    for (uint32_t width = 1; width < count; width *= 2) {
        for (uint32_t first = 0; first < count; first += 2 * width) {
            const uint32_t middle = first + width < count ? first + width : count;
            const uint32_t end = middle + width < count ? middle + width : count;
            merge_runs(rank, order_out, merged, first, middle, end);
        }
        memcpy(order_out, merged, count * sizeof(*order_out));
    }
}

int64_t graph_longest_path(
    const struct workflow *workflow, const int64_t *run_ns, int64_t *rank_scratch)
{
    int64_t longest_ns = 0;

    graph_upward_rank(workflow, run_ns, /* edge_ns */ NULL, rank_scratch);
    for (uint32_t i = 0; i < workflow->source_count; i++) {
        const int64_t way_ns = rank_scratch[workflow->sources[i]];
        longest_ns = max_i64(way_ns, longest_ns);
    }
    return longest_ns;
}
